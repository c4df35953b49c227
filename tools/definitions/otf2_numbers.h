/*
 * Maps the numbers of windows, files and groups in the event files of a rank to their numbers in the archive.
 *
 *   set of a rank ──> words ──> (all of the team) ──> set of the archive, rank after rank     definitions
 *                       └──────────────────────────────────────────────────────────────────> mapping tables of the rank
 *
 * So the archive's numbers are in the order of ranks, and for one rank in the order of first use. They do not depend on
 * which process writes which rank.
 */
#ifndef MPIT_TOOLS_OTF2_NUMBERS_H
#define MPIT_TOOLS_OTF2_NUMBERS_H

#include "definitions/otf2_objects.h"
#include "archive/team.h"

#include <otf2/otf2.h>

/* Stores the set of a rank. Several threads may call this, each for a different rank. Returns 0, or -1 without memory.
 */
int trace_numbers_keep(struct trace_objects *objects, int32_t world_rank, const struct object_set *set);
/* All processes of the team call this when each has stored its share. Sets the archive's numbers. Returns 0, or -1
 * without memory. */
int trace_numbers_gather(struct trace_objects *objects, const struct team *team, struct otf2_report *report);
/* For the sets that this process has stored: no mapping table of a rank has more entries. */
uint64_t trace_numbers_most(const struct trace_objects *objects);
/* Writes the mapping tables of a rank that this process has stored. */
OTF2_ErrorCode trace_numbers_write(struct trace_objects *objects, int32_t world_rank, OTF2_DefWriter *writer);

#endif
