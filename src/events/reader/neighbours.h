/*
 * The run files of the other processes of this job on this node: mapped read-only, read while they are written.
 *
 *   neighbours ──> neighbour ──> neighbour ──> ...      one a file in the spool, never unmapped, never freed
 *
 * A run without a file lives in memory of the same form. It is found in /proc among the open files of the user's
 * processes.
 *
 * A neighbor's file is untrusted: every offset is checked against the file's real size before it is followed. Space for
 * it to grow is mapped with it. So later data can be read with one fstat whenever the file has grown, and no other call
 * into the kernel.
 *
 * Who may run with whom: neighbours_look maps and allocates. It takes a lock and is not for signal handlers. Everything
 * else is wait-free and async-signal-safe.
 */
#ifndef MPIT_EVENTS_NEIGHBOURS_H
#define MPIT_EVENTS_NEIGHBOURS_H

#include "writer/run.h"

#include <stdbool.h>
#include <sys/types.h>

struct neighbour {
    struct neighbour *next;
    const char *base; /* NULL: not a file of this job on this node */
    uint64_t mapped_bytes;
    uint64_t file_bytes; /* known size of the file, which grows */
    int fd;
    dev_t device;
    ino_t inode;
    uint32_t kinship; /* enum neighbour_kinship */
};

/* Whether a file is of this job is known once its process has returned from MPI_Init. */
enum neighbour_kinship { KINSHIP_UNKNOWN, KINSHIP_MINE, KINSHIP_NONE };

/* Searches the directory of `run`, or /proc if it has none, for files that are not mapped yet. */
void neighbours_look(const struct run *run);

/* The first file of the list. `next` leads to the others. New files are added at the front. */
struct neighbour *neighbours_first(void);

/* True if it is another process of the job of `header`. */
bool neighbour_is_mine(struct neighbour *neighbour, const struct run_header *header);

/* The object of `bytes` at `offset` of its file, or NULL if it is not in the file. */
const void *neighbour_at(struct neighbour *neighbour, uint64_t offset, uint64_t bytes);

#endif
