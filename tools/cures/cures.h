/*
 * Cures: what would have made a run shorter, and by how much.
 *
 *   figures of the first reading ──> candidates ──> one world each (worlds.h) ──> the one with the largest gain
 *                                        ^                                          │
 *                                        └──────── the rest, after this cure <──────┘
 *
 * So gains add up, and what follows from a cause never stands beside it. Of cures with about the same gain the smallest
 * change comes first.
 */
#ifndef MPIT_TOOLS_CURES_H
#define MPIT_TOOLS_CURES_H

#include "analysis/analysis.h"

/* The next number for each change of what is found: stored findings of another number are found anew. */
enum { CURES_ENGINE = 9 };

/* Of the time of all ranks: work of calls whose needs are not known. With more of it no replay is the run. */
#define UNKNOWN_MOST 0.05

/* Fills in the cures of summary->traced. Reads the trace of an open analysis up to CURES_KEPT times more. The first of these
 * readings measures the passes of the beat, too (passfigures.h). Returns 0, or -1 without memory. Cures are not known where the
 * needs of calls are not, or where clocks of hosts differ. */
int cures_find(const struct analysis *analysis, const struct beat *beat, struct summary *summary);

#endif
