/*
 * The replay: folds a trace again and compares the result with the live counters.
 */
#ifndef MPIT_AGGREGATE_REPLAY_H
#define MPIT_AGGREGATE_REPLAY_H

#include "reader/reader.h"

#include <stddef.h>

/*
 * Compares cell for cell: every tally block of the run file against the fold of its thread's events; levels that
 * several threads change together only in their sums (their order in time is not in the trace). Returns the number of
 * cells that differ, with the first few named in `report`; -1 when the trace is not whole, with the reason in `report`.
 */
int replay_verify(const struct run_reader *reader, char *report, size_t size);

#endif
