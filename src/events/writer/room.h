/*
 * What mpit may take of the memory of its node. That memory is the program's: mpit takes a part of what is left.
 *
 * The file system of the live files keeps a reserve: a quarter of it, on a disk 1 GiB at most. Below that no live file
 * grows. All traces of a job on a node may hold a quarter of what is left there, in the node, and in the memory cgroups.
 */
#ifndef MPIT_EVENTS_ROOM_H
#define MPIT_EVENTS_ROOM_H

#include "format/runfile.h"

/* ROOM_FIRST_BYTES: a live file begins with less. A trace begins to move to the output directory when a process holds
 * ROOM_MOVE_BYTES of it, or a quarter of its share. */
enum { ROOM_FIRST_BYTES = 1 << 20, ROOM_MOVE_BYTES = 4 << 20, ROOM_PART = 4 };

/* The end of the header's page, where no field of the header is. Readers do not look at it. */
struct room {
    uint64_t
        drained_end; /* where the last chunk ends in the file that the trace is drained to. 0: there is no such file */
    uint64_t appended; /* bytes of chunks of the trace and of samples, including the drained ones */
    uint64_t share; /* bytes that the process may hold now. 0: all. mpit-collect --drain writes it, and `drained_end` */
};
_Static_assert(sizeof(struct run_header) + sizeof(struct room) <= RUN_PAGE_BYTES, "both are in one page");

static inline struct room *room_in(void *page)
{
    return (struct room *)((char *)page + RUN_PAGE_BYTES) - 1;
}

/* True if a live file may begin in this directory. Not in a small /dev/shm that nobody has named: MPI may need all of
 * the 64 MB that a container has. */
bool room_is_enough(const char *base, bool named);

/* Returns how many bytes files may still take in the file system of the descriptor, or if fd < 0, of the path. */
uint64_t room_of_files(int fd, const char *path);

/* Returns the memory of the node, or the limit of the process's cgroup, or of one above it. Reads some files of /proc and
 * /sys. */
uint64_t room_of_node(void);

/* Returns how many bytes of its trace each of `processes` may hold, which now hold `held`. Never 0. Reads some files of
 * /proc and /sys: not for the path of a call. */
uint64_t room_share(const char *spool, uint64_t held, uint64_t processes);

#endif
