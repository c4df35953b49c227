#define _GNU_SOURCE
#include "patched.h"

#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATCH_HEAD = 3 };

static void words_find(struct patched *file)
{
    static const unsigned char zeros[8];
    file->words = malloc((file->count / 8 + 1) * sizeof *file->words);
    if (!file->words)
        err(1, "no memory");
    for (size_t at = 0; at + 8 <= file->count; at += 8)
        if (memcmp(file->sound + at, zeros, 8) != 0)
            file->words[file->word_count++] = at;
}

void patched_open(struct patched *file, const char *path)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0)
        err(1, "%s", path);
    *file = (struct patched){.count = (size_t)st.st_size};
    file->sound = malloc(file->count + 1);
    file->fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (!file->sound || file->fd < 0 || read(fd, file->sound, file->count) != st.st_size ||
        ftruncate(file->fd, st.st_size) != 0)
        err(1, "%s", path);
    close(fd);
    file->bytes = mmap(NULL, file->count, PROT_READ | PROT_WRITE, MAP_SHARED, file->fd, 0);
    if (file->bytes == MAP_FAILED)
        err(1, "%s", path);
    memcpy(file->bytes, file->sound, file->count);
    snprintf(file->path, sizeof file->path, "/proc/self/fd/%d", file->fd);
    words_find(file);
}

static size_t place(const struct patched *file, unsigned head, size_t number)
{
    if (head & 8)
        return number * 8 % file->count;
    size_t at = file->words[number % file->word_count] + (head >> 5);
    return at < file->count ? at : file->count - 1;
}

static void patch(struct patched *file, const uint8_t *data, size_t bytes)
{
    size_t at = place(file, data[0], data[1] | (size_t)data[2] << 8);
    if (at + bytes > file->count)
        bytes = file->count - at;
    unsigned carry = 0;
    for (size_t i = 0; i < bytes; i++) {
        unsigned sum = (data[0] & 16 ? file->bytes[at + i] + carry : 0) + data[PATCH_HEAD + i];
        file->bytes[at + i] = (unsigned char)sum;
        carry = sum >> 8;
    }
    file->dirty[file->dirty_count].at = at;
    file->dirty[file->dirty_count++].count = bytes;
}

void patched_apply(struct patched *file, const uint8_t *data, size_t size)
{
    if (ftruncate(file->fd, (off_t)file->count) != 0) /* what was cut off is 0 now */
        err(1, "ftruncate");
    while (file->dirty_count > 0) {
        file->dirty_count--;
        memcpy(file->bytes + file->dirty[file->dirty_count].at, file->sound + file->dirty[file->dirty_count].at,
               file->dirty[file->dirty_count].count);
    }
    if (file->cut) {
        memcpy(file->bytes + file->cut, file->sound + file->cut, file->count - file->cut);
        file->cut = 0;
    }
    while (size > PATCH_HEAD && file->dirty_count < PATCHES_MOST) {
        size_t bytes = (data[0] & 7) + 1u;
        if (size < PATCH_HEAD + bytes)
            break;
        patch(file, data, bytes);
        data += PATCH_HEAD + bytes;
        size -= PATCH_HEAD + bytes;
    }
    if (size >= 2 && size <= PATCH_HEAD) {
        file->cut = (data[0] | (size_t)data[1] << 8) * 8 % file->count;
        if (file->cut && ftruncate(file->fd, (off_t)file->cut) != 0)
            err(1, "ftruncate");
    }
}
