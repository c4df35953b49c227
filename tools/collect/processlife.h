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
    LIFE_HERE,   /* it is there, and no zombie */
    LIFE_UNSEEN, /* it has not recorded an end, and this tool cannot see whether it lives */
};

/* It ran under the kernel that runs here, whose clocks it had. */
bool process_has_this_kernel(const struct run_header *header);
/* The same, and header.pid is its number in this tool's namespace. Also true if the file does not name a namespace. */
bool process_is_here(const struct run_header *header);
/* It ran on this host before it was started anew. */
bool process_is_of_earlier_boot(const struct run_header *header);
/* It is here, there, and no zombie. */
bool process_lives(const struct run_header *header);
/* It is the process that has the number `pid` in this tool's namespace, and another one in its own. */
bool process_is_at(const struct run_header *header, pid_t pid);
/* All that can be said of it. */
enum process_life process_life(const struct run_header *header);
/* Nanoseconds since the epoch. */
uint64_t realtime_now(void);

#endif
