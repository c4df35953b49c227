/*
 * Moves traces that exceed the limit of the spool to the output directory, while the program runs.
 *
 *   live file            | header | arena | (drained) | packed | ring | (drained) | packed |     node-local
 *   OUTPUT/NAME.mpit.part                | packed    |                | packed    |              at the same offsets
 *
 * Drained chunks stay as a CHUNK_FREE with a mark, and their memory is freed. Adjacent ones become one chunk. When the
 * process has ended, the rest is copied to the same offsets (drain_finish), and all of it becomes a section of the job file.
 * The recorder finds the free space from header.drained.
 */
#ifndef MPIT_TOOLS_DRAIN_H
#define MPIT_TOOLS_DRAIN_H

#include "collect/spools.h"

#include <stdbool.h>

/* Drains the spools of an output directory until no process uses them. Returns 0, or -1 if another process already does
 * so. */
int drain_run(const char *output);

/* Copies the rest of a live file to the file to which it was drained. That is a live file of its own then. Returns 0, or
 * -1 with errno. */
int drain_finish(const char *live, const char *part);

/* Copies what was drained to where the results go, if that is another directory. Returns as above. */
int drain_move(const struct spool *spool, const char *name);

/* Returns the name of the file to which a live file is drained, in an output directory. */
void drain_part_path(const char *output, const char *name, char path[PATH_MAX]);

#endif
