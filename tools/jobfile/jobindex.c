#include "jobfile/jobindex.h"

#include "base/array.h"
#include "base/invariant.h"
#include "format/runfile.h"
#include "reader/regularfile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SECTIONS_MOST = 1 << 23 };

static bool bytes_read(int fd, void *to, size_t bytes, uint64_t at)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t got = pread(fd, (char *)to + done, bytes - done, (off_t)(at + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        done += (size_t)got;
    }
    return true;
}

/* The whole section at `begin`, checked, in memory of its own. NULL with a reason. */
static struct section_header *section_load(int fd, uint64_t begin, uint64_t end, uint64_t most, char error[128])
{
    struct section_header head;
    if (begin > end || end - begin < sizeof head || !bytes_read(fd, &head, sizeof head, begin) ||
        !section_is_sound(&head, end - begin)) {
        snprintf(error, 128, "is damaged or truncated: there is no whole section at byte %llu",
                 (unsigned long long)begin);
        return NULL;
    }
    struct section_header *section = head.bytes <= most ? malloc(head.bytes) : NULL;
    if (!section) {
        snprintf(error, 128, "has a section that does not fit into memory (%llu bytes)",
                 (unsigned long long)head.bytes);
        return NULL;
    }
    if (bytes_read(fd, section, head.bytes, begin) && memcmp(section, &head, sizeof head) == 0)
        return section;
    free(section);
    snprintf(error, 128, "cannot be read");
    return NULL;
}

/* ---- the sections of a file -------------------------------------------------------------------------------------- */

static bool entry_is_sound(const struct section_entry *entry, uint64_t end)
{
    return entry->kind >= SECTION_PROCESS && entry->kind < SECTION_INDEX && entry->begin >= sizeof(struct job_header) &&
           entry->begin % SECTION_ALIGN == 0 && entry->begin <= end && entry->bytes <= end - entry->begin &&
           entry->bytes >= sizeof(struct section_header);
}

/* Takes the list from the section of the index, which is where the tail says. */
static bool list_take(struct job_index *index, int fd, uint64_t begin, uint64_t end)
{
    char error[128];
    size_t bytes = 0;
    const uint64_t most = SECTIONS_MOST * sizeof *index->list;
    struct section_header *section = section_load(fd, begin, end, most, error);
    bool is_index = section && section->kind == SECTION_INDEX && begin + section->bytes == end;
    index->list = is_index ? section_unpack(section, most, &bytes, error) : NULL;
    index->count = bytes / sizeof *index->list;
    index->end = begin;
    bool good = index->list && bytes % sizeof *index->list == 0;
    uint64_t place = 0; /* behind the section before: what is read is not more than the file */
    for (size_t i = 0; good && i < index->count; i++) {
        good = entry_is_sound(&index->list[i], begin) && index->list[i].begin >= place;
        place = index->list[i].begin + index->list[i].bytes;
    }
    free(section);
    return good;
}

static bool index_take(struct job_index *index, int fd, uint64_t file_bytes)
{
    struct job_tail tail;
    if (file_bytes < sizeof(struct job_header) + sizeof tail ||
        !bytes_read(fd, &tail, sizeof tail, file_bytes - sizeof tail) || !job_tail_is_sound(&tail))
        return false;
    if (list_take(index, fd, tail.index, file_bytes - sizeof tail))
        return true;
    job_index_release(index);
    return false;
}

/* Finds the sections one after the other, without the index. Returns false without memory. */
static bool sections_walk(struct job_index *index, int fd, uint64_t file_bytes)
{
    struct section_header head;
    index->cut = true;
    index->end = sizeof(struct job_header);
    while (index->count < SECTIONS_MOST && file_bytes - index->end >= sizeof head &&
           bytes_read(fd, &head, sizeof head, index->end) && section_is_sound(&head, file_bytes - index->end) &&
           head.kind < SECTION_INDEX) {
        if (!ARRAY_GROWN(index->list, index->count))
            return false;
        index->list[index->count++] = (struct section_entry){
            .kind = head.kind, .begin = index->end, .bytes = head.bytes, .process = head.process};
        index->end += head.bytes;
    }
    return true;
}

static enum job_index_kind sections_find(struct job_index *index, int fd, uint64_t file_bytes, char error[128])
{
    struct job_header header;
    if (file_bytes < sizeof header || !bytes_read(fd, &header, sizeof header, 0) ||
        memcmp(header.magic, JOB_MAGIC, sizeof header.magic) != 0)
        return JOB_INDEX_NONE;
    index->job = header.job;
    index->parts = header.parts;
    if (header.byte_order != RUN_BYTE_ORDER)
        snprintf(error, 128, "was written on a machine of the other byte order");
    else if (header.version != JOB_VERSION)
        snprintf(error, 128, "has job file version %u, but this mpit reads version %d; use the mpit that wrote it",
                 header.version, JOB_VERSION);
    else if (!job_header_is_sound(&header))
        snprintf(error, 128, "is damaged: its header has a wrong checksum");
    else if (!index_take(index, fd, file_bytes) && !sections_walk(index, fd, file_bytes))
        snprintf(error, 128, "cannot be read: no memory");
    else if (!index->count)
        snprintf(error, 128, "is damaged or truncated: it has no whole section");
    else
        return JOB_INDEX_READ;
    job_index_release(index);
    return JOB_INDEX_BROKEN;
}

enum job_index_kind job_index_read_at(struct job_index *index, int fd, char error[128])
{
    struct stat st;
    *index = (struct job_index){0};
    if (fstat(fd, &st) != 0)
        return JOB_INDEX_NONE;
    index->file = regular_file(&st);
    index->owner = st.st_uid;
    return sections_find(index, fd, (uint64_t)st.st_size, error);
}

enum job_index_kind job_index_read(struct job_index *index, const char *path, struct run_extent which, char error[128])
{
    struct stat st;
    *index = (struct job_index){0};
    int fd = regular_open(path, which, &st);
    enum job_index_kind kind = fd >= 0 ? job_index_read_at(index, fd, error) : JOB_INDEX_NONE;
    if (fd >= 0)
        close(fd);
    return kind;
}

void job_index_release(struct job_index *index)
{
    free(index->list);
    index->list = NULL;
    index->count = 0;
}

static bool job_header_read(const char *path, struct run_extent which, struct job_header *header)
{
    struct stat st;
    int fd = regular_open(path, which, &st);
    bool begins = fd >= 0 && bytes_read(fd, header, sizeof *header, 0) &&
                  memcmp(header->magic, JOB_MAGIC, sizeof header->magic) == 0;
    if (fd >= 0)
        close(fd);
    return begins;
}

uint64_t job_file_parts(const char *path, struct run_extent which)
{
    struct job_header header;
    return !job_header_read(path, which, &header) ? 0 : header.parts ? header.parts : 1;
}

bool job_file_is_of(const char *path, uint64_t job)
{
    struct job_header header;
    return job_header_read(path, (struct run_extent){0}, &header) && header.job == job;
}

static bool job_index_is_valid(const struct job_index *index)
{
    const struct section_entry *last = index->list + index->count - 1;
    return !index->count || (index->list && last->begin <= index->end && last->bytes <= index->end - last->begin);
}

const struct section_entry *job_index_find(const struct job_index *index, enum section_kind kind)
{
    MPIT_ASSERT(job_index_is_valid(index));
    for (size_t i = 0; i < index->count; i++)
        if (index->list[i].kind == kind)
            return &index->list[i];
    return NULL;
}

const struct section_entry *job_index_total(const struct job_index *index)
{
    const struct section_entry *total = NULL;
    for (size_t i = 0; i < index->count; i++)
        total = index->list[i].kind == SECTION_TOTAL ? &index->list[i] : total;
    return total || job_index_find(index, SECTION_PROCESS) ? total : job_index_find(index, SECTION_SUMMARY);
}

struct run_extent job_index_extent(const struct job_index *index, const struct section_entry *entry)
{
    struct run_extent extent = index->file;
    MPIT_ASSERT(job_index_is_valid(index) && entry >= index->list && entry < index->list + index->count);
    extent.begin = entry->begin;
    extent.bytes = entry->bytes;
    return extent;
}

void *job_section_read_at(int fd, struct run_extent extent, size_t most, size_t *bytes, char error[128])
{
    struct section_header *section = section_load(fd, extent.begin, extent.begin + extent.bytes, most, error);
    void *data = section ? section_unpack(section, most, bytes, error) : NULL;
    free(section);
    return data;
}

void *job_section_read(const char *path, struct run_extent extent, size_t most, size_t *bytes, uid_t *owner,
                       char error[128])
{
    struct stat st;
    int fd = regular_open(path, extent, &st);
    if (fd < 0) {
        regular_problem(errno, error, 128);
        return NULL;
    }
    *owner = st.st_uid;
    void *data = job_section_read_at(fd, extent, most, bytes, error);
    close(fd);
    return data;
}
