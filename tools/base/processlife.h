/*
 * Whether the process of a run file still exists, and the current time.
 *
 *   header.boot            the kernel. Processes of another kernel cannot be seen from here
 *   header.pid_namespace   where header.pid is its number. In another one (a container's) that is the number of
 *                          another process, or of none. If this tool sees it, it has another number here.
 */
#ifndef MPIT_TOOLS_PROCESSLIFE_H
#define MPIT_TOOLS_PROCESSLIFE_H

#include "format/runfile.h"

#include <stdbool.h>
#include <sys/types.h>

enum process_life {
    LIFE_GONE,
    LIFE_HERE,   /* it exists, and is not a zombie */
    LIFE_UNSEEN, /* it has not recorded an end, and this tool cannot see whether it lives */
};

/* Returns whether it ran under the present kernel, and so with the same clocks. */
bool process_has_this_kernel(const struct run_header *header);
/* The same, and header.pid is its number in this tool's namespace. Also true if the file does not name a namespace. */
bool process_is_here(const struct run_header *header);
/* Returns whether it ran on this host before the last boot. */
bool process_is_of_earlier_boot(const struct run_header *header);
/* Returns whether it is on this node, exists, and is not a zombie. */
bool process_lives(const struct run_header *header);
/* Returns whether it is the process with the number `pid` in this tool's namespace, which has another number in its
 * own. */
bool process_is_at(const struct run_header *header, pid_t pid);
/* Returns whether it has ended in some PID namespace of this kernel: it no longer holds its live file. */
bool process_has_let_go(const struct run_header *header, const char *path);
/* Returns whether the process of a live file has ended, or is gone. One that cannot be seen from here counts as running. The last
 * process of a job may still exist, because it waits for its results. */
bool run_file_has_ended(const struct run_header *header, const char *path);
/* Returns all that is known about it, without a look at its file. */
enum process_life process_life(const struct run_header *header);
/* Nanoseconds since the epoch. */
uint64_t realtime_now(void);
/* The same, as if the clock had not been set since the process began: for durations. On another kernel the clock of this
 * one has to do. */
uint64_t process_now(const struct run_header *header);
/* The present in the ticks of its kernel, which is this one. */
uint64_t process_ticks_now(const struct run_header *header);

#endif
