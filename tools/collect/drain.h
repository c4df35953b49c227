/*
 * Moves traces that exceed the limit of the spool to the output directory, while the program runs.
 *
 *   live file            | header | arena | (drained) | packed | ring | (drained) | packed |     node-local
 *   OUTPUT/NAME.mpit.part                | packed    |                | packed    |              at the same offsets
 *
 * Drained chunks stay as a CHUNK_FREE with a mark, and their memory is freed. Adjacent ones become one chunk. When the
 * process has ended, the rest is copied to the same offsets, and the file gets its name (drain_finish). The recorder
 * finds the free space from header.drained.
 */
#ifndef MPIT_TOOLS_DRAIN_H
#define MPIT_TOOLS_DRAIN_H

#include "collect/spools.h"

#include <stdbool.h>

/* Drains the spools of an output directory until no process is at work in them. Returns 0, or -1: another process does
 * that. */
int drain_run(const char *output);

/* The rest of a live file, into OUTPUT/NAME.part, which is to become path[]. Returns 0, or -1 with errno. */
int drain_finish(const char *live, const char *part, const char *path);

/* The name of the file that a live file is drained to. */
void drain_part_path(const struct spool *spool, const char *name, char path[PATH_MAX]);

#endif
