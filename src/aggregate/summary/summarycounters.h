/*
 * Counters of the system and of PAPI in the summary. They are merged by name, since processes may count different ones.
 */
#ifndef MPIT_AGGREGATE_SUMMARYCOUNTERS_H
#define MPIT_AGGREGATE_SUMMARYCOUNTERS_H

#include "figures/figures.h"
#include "summary/summary.h"

/* This part's. */
void summary_counters_fill(struct summary *summary, const struct figures *from, int32_t rank);
void summary_counters_merge(struct summary *summary, const struct summary *other);
/* Checks a summary from a file. Returns false if it is impossible. */
bool summary_counters_sanitize(struct summary *summary);
/* Over all places. */
uint64_t summary_counter_total(const struct summary_counter *counter);

#endif
