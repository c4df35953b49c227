/*
 * Whether the process of a run file is there still, which can be told on its own node alone; and what time it is.
 */
#ifndef MPIT_TOOLS_PROCESSLIFE_H
#define MPIT_TOOLS_PROCESSLIFE_H

#include "runfile.h"

#include <stdbool.h>

/* It ran under the kernel that runs here. */
bool process_is_here(const struct run_header *header);
/* It is there, and no zombie. */
bool process_lives(const struct run_header *header);
/* Nanoseconds since the epoch. */
uint64_t realtime_now(void);

#endif
