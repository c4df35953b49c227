/*
 * Moves traces that grow beyond what the spool may hold to the output directory, while the program runs.
 *
 *   live file            | header | arena | (drained) | packed | ring | (drained) | packed |     node-local
 *   OUTPUT/NAME.mpit.part                | packed    |                | packed    |              at the same offsets
 *
 * Drained chunks stay as a CHUNK_FREE with a mark, those that touch each other as one, and their memory is given back.
 * When the process has ended, what is left is copied to the same offsets, and the file gets its name (drain_finish).
 * The recorder sees by header.drained how much there is room for.
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
