/*
 * A container: the result files of one job in one file. It has the name of one of them, NAME.mpit.
 *
 *   container_header | table (sealed.h) | members, each from a multiple of CONTAINER_ALIGN on
 *
 * The table is container_head | container_member[]. It comes first, so that a truncated container loses only its last
 * members. Members are exact copies of the files that mpit-collect has written. Their own checksums protect them.
 *
 * A process that joins files may be stopped before it has removed them. So a file beside the container is ignored if a
 * member has its name, its size and its time.
 */
#ifndef MPIT_TOOLS_CONTAINER_H
#define MPIT_TOOLS_CONTAINER_H

#include "reader/reader.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define CONTAINER_MAGIC "mpit-all"
/* The summary of the whole job, for lists of jobs. It has the figures of the other members, and was no file. */
#define CONTAINER_TOTAL "total"
enum {
    CONTAINER_ALIGN = 4096,
    CONTAINER_NAME_BYTES = 112,
    CONTAINER_MEMBERS_MOST = 1 << 22,
};

struct container_header {
    char magic[8];
    uint64_t table_bytes;
    uint64_t members; /* where they begin */
};

struct container_head {
    uint64_t job, count;
};

struct container_member {
    char name[CONTAINER_NAME_BYTES];
    int64_t modified_ns;   /* of the original file */
    uint64_t begin, bytes; /* from the begin of the members on; after container_read from the begin of the file */
};

struct container {
    uint64_t job;
    struct run_extent file;
    uid_t owner;
    size_t count;
    struct container_member *members; /* with names of result files, or CONTAINER_TOTAL */
};

enum container_kind { CONTAINER_NONE, CONTAINER_READ, CONTAINER_BROKEN };

/* CONTAINER_NONE: the file is something else, or cannot be opened. CONTAINER_BROKEN: with a reason. After CONTAINER_READ
 * the caller calls container_release. Any thread may call these functions. */
enum container_kind container_read(struct container *container, const char *path, struct run_extent which,
                                   char error[128]);
void container_release(struct container *container);
/* Returns whether a file begins like a container. */
bool container_begins(const char *path, struct run_extent which);
/* Returns the member, or NULL. */
const struct container_member *container_find(const struct container *container, const char *name);

/* By name, for qsort and trees. */
int container_member_order(const void *one, const void *other);

struct stat;
int64_t modified_ns(const struct stat *st);

#endif
