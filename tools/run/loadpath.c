#define _GNU_SOURCE
#include "run/loadpath.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define CACHE_PATH "/etc/ld.so.cache"
#define CACHE_MAGIC "glibc-ld.so.cache1.1"

/* The loader's cache in the format of glibc since 2.2: this header, `count` entries, then texts. Offsets count from its
 * start. */
struct cache_header {
    char magic[20]; /* CACHE_MAGIC, without the NUL */
    uint32_t count;
    uint32_t text_bytes;
    uint32_t unused[5];
};

struct cache_entry {
    int32_t flags;
    uint32_t key, value;
    uint32_t os_version;
    uint64_t hardware;
};

/* A library of another class (32 bits and not 64) is skipped, as the loader does. */
static bool loadable(const char *path)
{
    struct elf_file file;
    if (elf_open(&file, path) != 0)
        return false;
    elf_close(&file);
    return true;
}

/* Replaces $ORIGIN, the only token in common use. Returns -1 if the result is too long. */
static int entry_expand(const char *entry, size_t bytes, const char *origin_path, char *out, size_t size)
{
    const char *slash = strrchr(origin_path, '/');
    int length = slash ? (int)(slash - origin_path) : 1;
    const char *directory = slash ? origin_path : ".";
    size_t used = 0;
    for (size_t i = 0; i < bytes;) {
        size_t token = strncmp(entry + i, "$ORIGIN", 7) == 0 ? 7 : strncmp(entry + i, "${ORIGIN}", 9) == 0 ? 9 : 0;
        int written = token ? snprintf(out + used, size - used, "%.*s", length, directory)
                            : snprintf(out + used, size - used, "%c", entry[i]);
        if (written < 0 || (size_t)written >= size - used)
            return -1;
        used += (size_t)written;
        i += token ? token : 1;
    }
    out[used] = '\0';
    return 0;
}

static int list_search(const char *list, const char *name, const char *origin_path, char *found)
{
    while (list && *list) {
        size_t bytes = strcspn(list, ":;");
        char directory[PATH_MAX];
        if (bytes && entry_expand(list, bytes, origin_path, directory, sizeof directory) == 0 &&
            snprintf(found, PATH_MAX, "%s/%s", directory, name) < PATH_MAX && loadable(found))
            return 0;
        list += bytes + (list[bytes] != '\0');
    }
    return -1;
}

static const char *cache_text(const char *base, size_t bytes, uint32_t offset)
{
    return offset < bytes && memchr(base + offset, '\0', bytes - offset) ? base + offset : NULL;
}

static int cache_scan(const char *base, size_t bytes, const char *name, char *found)
{
    const char *start = base; /* old caches have the new format after the old one */
    if (bytes < sizeof(struct cache_header))
        return -1;
    if (memcmp(base, CACHE_MAGIC, sizeof CACHE_MAGIC - 1) != 0)
        start = memmem(base, bytes, CACHE_MAGIC, sizeof CACHE_MAGIC - 1);
    if (!start || (size_t)(base + bytes - start) < sizeof(struct cache_header))
        return -1;
    size_t left = (size_t)(base + bytes - start);
    struct cache_header header;
    memcpy(&header, start, sizeof header);
    if (header.count > (left - sizeof header) / sizeof(struct cache_entry))
        return -1;
    for (uint32_t i = 0; i < header.count; i++) {
        struct cache_entry entry;
        memcpy(&entry, start + sizeof header + i * sizeof entry, sizeof entry);
        const char *key = cache_text(start, left, entry.key), *value = cache_text(start, left, entry.value);
        if (key && value && strcmp(key, name) == 0 && snprintf(found, PATH_MAX, "%s", value) < PATH_MAX &&
            loadable(found))
            return 0;
    }
    return -1;
}

static int cache_search(const char *name, char *found)
{
    int fd = open(CACHE_PATH, O_RDONLY | O_CLOEXEC);
    struct stat st;
    if (fd < 0)
        return -1;
    if (fstat(fd, &st) != 0 || st.st_size == 0) {
        close(fd);
        return -1;
    }
    void *base = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (base == MAP_FAILED)
        return -1;
    int result = cache_scan(base, (size_t)st.st_size, name, found);
    munmap(base, (size_t)st.st_size);
    return result;
}

int library_find(const char *name, const struct load_origin *origin, char *found)
{
    if (strchr(name, '/'))
        return snprintf(found, PATH_MAX, "%s", name) < PATH_MAX && loadable(found) ? 0 : -1;
    const char *runpath = elf_dynamic_first(origin->file, DT_RUNPATH);
    for (const struct load_origin *at = origin; !runpath && at; at = at->needed_by)
        if (!elf_dynamic_first(at->file, DT_RUNPATH) &&
            list_search(elf_dynamic_first(at->file, DT_RPATH), name, at->path, found) == 0)
            return 0;
    if (list_search(getenv("LD_LIBRARY_PATH"), name, origin->path, found) == 0 ||
        list_search(runpath, name, origin->path, found) == 0 || cache_search(name, found) == 0)
        return 0;
    return list_search("/lib64:/usr/lib64:/lib:/usr/lib", name, origin->path, found);
}
