/*
 * From the numbers that windows, files and groups have in the event files of a rank to those of the archive.
 *
 *   set of a rank ──> words ──> (all of the team) ──> set of the archive, rank after rank     definitions
 *                       └──────────────────────────────────────────────────────────────────> mapping tables of the rank
 *
 * So the archive's numbers are in the order of ranks, and within a rank in that of their first use, whoever wrote which
 * rank when.
 */
#ifndef MPIT_TOOLS_OTF2_NUMBERS_H
#define MPIT_TOOLS_OTF2_NUMBERS_H

#include "definitions/otf2_objects.h"
#include "archive/team.h"

/* Keeps what is in the set of a rank. Several threads may, each of a rank of its own. Returns 0, or -1 without memory.
 */
int trace_numbers_keep(struct trace_objects *objects, int32_t world_rank, const struct object_set *set);
/* All of the team, where each has kept its share: gives the archive's numbers. Returns 0, or -1 without memory. */
int trace_numbers_gather(struct trace_objects *objects, const struct team *team, struct otf2_report *report);
/* Of those that this process has kept: no mapping table of a rank has more entries. */
uint64_t trace_numbers_most(const struct trace_objects *objects);
/* Writes the mapping tables of a rank that this process has kept. */
OTF2_ErrorCode trace_numbers_write(struct trace_objects *objects, int32_t world_rank, OTF2_DefWriter *writer);

#endif
