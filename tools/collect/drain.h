/*
 * Drains long traces (ROOM_MOVE_BYTES, room.h): their events go to the output directory while the program runs.
 *
 *   live file              | header | arena | (drained) | packed | ring | (drained) | packed |       in the spool
 *   OUTPUT/NAME.mpit.part  | header | columns | columns | columns |                                (jobfile/drained.h)
 *
 * A drained chunk is packed. Then it stays in the live file as a CHUNK_FREE with a mark, and its memory is freed. Adjacent ones
 * become one chunk. When the process has ended, its section of the job file gets a copy of the packed chunks (packing.h). The
 * recorder finds the free space from header.drained.
 */
#ifndef MPIT_TOOLS_DRAIN_H
#define MPIT_TOOLS_DRAIN_H

#include "base/linkage.h"
#include <limits.h>

/* Drains the spools of an output directory until no process uses them. Returns 0, or -1 if another process already does
 * so. */
MUST_CHECK int drain_run(const char *output);

/* Drains the finished chunks of a live file. The caller holds the lock of its spool. If this fails, the other chunks stay. */
void drain_file(const char *live, const char *part);

#endif
