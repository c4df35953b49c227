/*
 * The replay: folds a trace again and compares the result with the live counters.
 */
#ifndef MPIT_AGGREGATE_REPLAY_H
#define MPIT_AGGREGATE_REPLAY_H

#include "reader/reader.h"

#include <stddef.h>

/*
 * Compares every block of counters in the run file with the fold of its thread's events, cell for cell. Levels that
 * several threads change together are compared only in their sums, as the trace does not have their order in time.
 * Returns the number of cells that differ, and names the first few in `report`. Returns -1 if the trace is not whole,
 * with the reason in `report`.
 */
int replay_verify(const struct run_reader *reader, char *report, size_t size);

#endif
