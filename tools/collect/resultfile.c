#define _GNU_SOURCE
#include "collect/resultfile.h"

#include "base/text.h"
#include "collect/resultfolder.h"
#include "format/runfile.h"
#include "format/sealed.h"
#include "site/setting.h"
#include "summary/summary.h"
#include "summary/summarysites.h"
#include "symbols/storednames.h"

#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

/* Process numbers repeat: in other namespaces, after many processes, or if one process executes the next. */
int result_path(const char *directory, const char *name, int stem, const char *suffix, char path[PATH_MAX])
{
    int length = snprintf(path, PATH_MAX, "%s/%.*s%s", directory, stem, name, suffix);
    for (unsigned i = 1; length < PATH_MAX && i < UINT16_MAX && access(path, F_OK) == 0; i++)
        length = snprintf(path, PATH_MAX, "%s/%.*s.%u%s", directory, stem, name, i, suffix);
    if (length < PATH_MAX)
        return 0;
    errno = ENAMETOOLONG;
    return -1;
}

static int result_begin(struct result *result, const char *directory, const char *name, int stem, const char *suffix)
{
    const int flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    result->only = false;
    if (result_path(directory, name, stem, suffix, result->path) != 0)
        return -1;
    snprintf(result->temporary, sizeof result->temporary, "%s.part", result->path);
    result->fd = open(result->temporary, flags, 0600);
    if (result->fd < 0 && errno == EEXIST) { /* left by a killed process, because this one holds the spool's lock */
        unlink(result->temporary);
        result->fd = open(result->temporary, flags, 0600);
    }
    if (result->fd < 0)
        return -1;
    result_share(result->fd);
    return 0;
}

int result_show(const struct result *result)
{
    return rename(result->temporary, result->path);
}

/* Another process may have put a container in the place of a file that was shown (join.h). */
static bool is_there(const struct result *result, const char *path)
{
    struct stat own, there;
    return fstat(result->fd, &own) == 0 && lstat(path, &there) == 0 && own.st_dev == there.st_dev &&
           own.st_ino == there.st_ino;
}

void result_drop(const struct result *result)
{
    int error = errno;
    if (!result->only)
        unlink(is_there(result, result->path) ? result->path : result->temporary);
    else if (is_there(result, result->path))
        rename(result->path, result->temporary);
    close(result->fd);
    errno = error;
}

int part_make(char *template)
{
    int fd = mkostemp(template, O_CLOEXEC);
    if (fd >= 0)
        flock(fd, LOCK_EX | LOCK_NB); /* where there are no locks, nobody removes it */
    return fd;
}

bool result_has_name(const char *name, bool *part)
{
    char whole[NAME_MAX + 1];
    snprintf(whole, sizeof whole, "%s", name);
    char *end = strrchr(whole, '.');
    *part = end && strncmp(end, ".part", 5) == 0 && (!end[5] || end[5] == '-');
    if (*part)
        *end = '\0';
    return text_ends(whole, RUN_FILE_SUFFIX) || text_ends(whole, SUMMARY_SUFFIX) || text_ends(whole, NAMES_SUFFIX);
}

void parts_remove(const char *directory)
{
    bool part;
    DIR *stream = opendir(directory);
    for (struct dirent *entry; stream && (entry = readdir(stream));) {
        if (!result_has_name(entry->d_name, &part) || !part || text_ends(entry->d_name, ".part"))
            continue;
        int fd = openat(dirfd(stream), entry->d_name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
            unlinkat(dirfd(stream), entry->d_name, 0);
        if (fd >= 0)
            close(fd);
    }
    if (stream)
        closedir(stream);
}

int bytes_write(int fd, const char *data, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t n = write(fd, data + done, bytes - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -1;
        done += (size_t)n;
    }
    return 0;
}

/* Bytes that a summary may have besides 40 for each rank. 0: any. */
static uint64_t summary_limit(void)
{
    const char *text = setting("MPIT_SUMMARY_LIMIT_BYTES");
    char place[SETTING_PLACE_BYTES], *end;
    if (!text || !*text)
        return 0;
    errno = 0;
    uint64_t limit = strtoull(text, &end, 10);
    if (*text >= '0' && *text <= '9' && !*end && !errno)
        return limit;
    warnx(
        "%sMPIT_SUMMARY_LIMIT_BYTES=%.60s cannot be used: allowed are whole numbers of bytes; summaries have no limit",
        setting_place("MPIT_SUMMARY_LIMIT_BYTES", place), text);
    return 0;
}

void *result_of_all(const struct summary *summary, size_t *bytes)
{
    size_t flat_bytes;
    void *flat = summary_pack(summary, &flat_bytes);
    bool fits = flat && flat_bytes <= SUMMARY_BYTES_MAX && summary_sites_are_sound(summary);
    void *file = fits ? sealed_pack(flat, flat_bytes, bytes) : NULL;
    free(flat);
    errno = flat && !fits ? EFBIG : ENOMEM;
    return file;
}

void *result_of_summary(struct summary *summary, size_t *bytes)
{
    enum { RANK_BYTES = 40 };
    /* Other nodes may leave out other parts. A line of the sum would lack ranks. */
    bool all_ranks = summary->world_size && summary->row_count >= summary->world_size;
    uint64_t limit = all_ranks ? summary_limit() : 0;
    uint64_t most = limit && limit < SIZE_MAX / 2 ? limit + RANK_BYTES * summary->row_count : SIZE_MAX;
    for (;;) {
        void *file = result_of_all(summary, bytes);
        if (file ? *bytes <= most : errno != EFBIG)
            return file;
        if (!summary_reduce(summary))
            return file;
        free(file);
    }
}

int result_write(struct result *result, const char *directory, const char *name, int stem, const char *suffix,
                 const void *data, size_t bytes)
{
    if (result_begin(result, directory, name, stem, suffix) != 0)
        return -1;
    if (bytes_write(result->fd, data, bytes) == 0)
        return 0;
    result_drop(result);
    return -1;
}

static int range_copy(int to, uint64_t place, int from, off_t begin, off_t end)
{
    enum { PIECE = 1 << 20 };
    if (lseek(to, (off_t)place, SEEK_SET) < 0)
        return -1;
    for (off_t at = begin; at < end;) {
        ssize_t n = sendfile(to, from, &at, end - at < PIECE ? (size_t)(end - at) : PIECE);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        if (n == 0) {
            errno = EIO; /* it became shorter */
            return -1;
        }
    }
    return 0;
}

int extent_copy(int to, uint64_t place, int from, uint64_t begin, uint64_t bytes)
{
    off_t end = (off_t)(begin + bytes);
    if (ftruncate(to, (off_t)(place + bytes)) != 0)
        return -1;
    for (off_t at = (off_t)begin; at < end;) {
        off_t data = lseek(from, at, SEEK_DATA);
        if (data < 0 && errno == ENXIO)
            return 0; /* a hole up to the end */
        off_t hole = data < 0 ? end : lseek(from, data, SEEK_HOLE);
        data = data < 0 ? at : data;
        hole = hole < data || hole > end ? end : hole;
        if (data >= end)
            return 0;
        if (range_copy(to, place + ((uint64_t)data - begin), from, data, hole) != 0)
            return -1;
        at = hole;
    }
    return 0;
}

int result_copy(struct result *result, const char *directory, const char *name, int stem, const char *suffix,
                const char *from, uint64_t bytes)
{
    if (result_begin(result, directory, name, stem, suffix) != 0)
        return -1;
    int source = open(from, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    int copied = source >= 0 ? extent_copy(result->fd, 0, source, 0, bytes) : -1, error = errno;
    if (source >= 0)
        close(source);
    errno = error;
    if (copied == 0)
        return 0;
    result_drop(result);
    return -1;
}
