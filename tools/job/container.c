#define _GNU_SOURCE
#include "job/container.h"

#include "base/text.h"
#include "format/runfile.h"
#include "format/sealed.h"
#include "reader/regularfile.h"
#include "summary/summary.h"
#include "symbols/storednames.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Names become paths when a container is unpacked. */
static bool name_is_valid(const struct container_member *member)
{
    const char *name = member->name;
    if (!memchr(name, '\0', sizeof member->name) || name[0] == '\0' || name[0] == '.' || strchr(name, '/'))
        return false;
    return text_ends(name, RUN_FILE_SUFFIX) || text_ends(name, SUMMARY_SUFFIX) || text_ends(name, NAMES_SUFFIX) ||
           strcmp(name, CONTAINER_TOTAL) == 0;
}

/* Takes the place of a member. It may be beyond the end of a truncated file. */
static bool member_place(struct container_member *member, uint64_t members)
{
    const uint64_t most = INT64_MAX / 4;
    bool valid = name_is_valid(member) && member->bytes > 0 && member->bytes < most && member->begin < most &&
                 member->begin % CONTAINER_ALIGN == 0;
    member->begin += members;
    return valid;
}

static int bytes_read(int fd, void *to, size_t bytes, uint64_t at)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t got = pread(fd, (char *)to + done, bytes - done, (off_t)(at + done));
        if (got <= 0)
            return -1;
        done += (size_t)got;
    }
    return 0;
}

/* The unpacked table, or NULL with a reason. */
static void *table_read(int fd, const struct container_header *header, uint64_t file_bytes, size_t *bytes,
                        char error[128])
{
    enum { MOST = sizeof(struct container_head) + CONTAINER_MEMBERS_MOST * sizeof(struct container_member) };
    void *packed = NULL, *table = NULL;
    if (header->table_bytes > file_bytes || header->table_bytes > MOST)
        snprintf(error, 128, "is damaged or truncated: its table is not in the file");
    else if (!(packed = malloc(header->table_bytes + 1)))
        snprintf(error, 128, "cannot be read: no memory");
    else if (bytes_read(fd, packed, header->table_bytes, sizeof *header) != 0)
        snprintf(error, 128, "cannot be read");
    else if (!sealed_is(packed, header->table_bytes))
        snprintf(error, 128, "is damaged: its table is not valid");
    else
        table = sealed_unpack(packed, header->table_bytes, MOST, bytes, error);
    free(packed);
    return table;
}

static enum container_kind table_take(struct container *container, const char *table, size_t bytes, uint64_t members,
                                      char error[128])
{
    struct container_head head = {0};
    if (bytes >= sizeof head)
        memcpy(&head, table, sizeof head);
    bool good = bytes >= sizeof head && head.count <= CONTAINER_MEMBERS_MOST &&
                bytes == sizeof head + head.count * sizeof(struct container_member) && members < INT64_MAX / 4 &&
                members % CONTAINER_ALIGN == 0;
    container->job = head.job;
    container->count = good ? head.count : 0;
    container->members = malloc(container->count * sizeof *container->members + 1);
    if (!container->members) {
        snprintf(error, 128, "cannot be read: no memory");
        return CONTAINER_BROKEN;
    }
    if (container->count)
        memcpy(container->members, table + sizeof head, container->count * sizeof *container->members);
    for (size_t i = 0; good && i < container->count; i++)
        good = member_place(&container->members[i], members);
    if (good)
        return CONTAINER_READ;
    container_release(container);
    snprintf(error, 128, "is damaged: its table is not valid");
    return CONTAINER_BROKEN;
}

static bool header_read(int fd, struct container_header *header)
{
    return bytes_read(fd, header, sizeof *header, 0) == 0 &&
           memcmp(header->magic, CONTAINER_MAGIC, sizeof header->magic) == 0;
}

bool container_begins(const char *path, struct run_extent which)
{
    struct stat st;
    struct container_header header;
    int fd = regular_open(path, which, &st);
    bool begins = fd >= 0 && header_read(fd, &header);
    if (fd >= 0)
        close(fd);
    return begins;
}

enum container_kind container_read(struct container *container, const char *path, struct run_extent which,
                                   char error[128])
{
    struct stat st;
    struct container_header header;
    enum container_kind kind = CONTAINER_NONE;
    *container = (struct container){0};
    int fd = regular_open(path, which, &st);
    if (fd >= 0 && header_read(fd, &header)) {
        size_t bytes;
        container->file = regular_file(&st);
        void *table = table_read(fd, &header, (uint64_t)st.st_size, &bytes, error);
        container->owner = st.st_uid;
        kind = table ? table_take(container, table, bytes, header.members, error) : CONTAINER_BROKEN;
        free(table);
    }
    if (fd >= 0)
        close(fd);
    return kind;
}

void container_release(struct container *container)
{
    free(container->members);
    container->members = NULL;
    container->count = 0;
}

int container_member_order(const void *one, const void *other)
{
    return strcmp(((const struct container_member *)one)->name, ((const struct container_member *)other)->name);
}

int64_t modified_ns(const struct stat *st)
{
    return (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
}

const struct container_member *container_find(const struct container *container, const char *name)
{
    for (size_t i = 0; i < container->count; i++)
        if (strcmp(container->members[i].name, name) == 0)
            return &container->members[i];
    return NULL;
}
