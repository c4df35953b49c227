/*
 * The part of a summary for other libraries' instruments (instrument.h). Its lines are in the order of name, class,
 * communicator and element.
 */
#ifndef MPIT_AGGREGATE_SUMMARYINSTRUMENTS_H
#define MPIT_AGGREGATE_SUMMARYINSTRUMENTS_H

#include "figures/figures.h"
#include "summary/summary.h"

/* Adds a line to the one of its key. Returns 0, or -1 without memory. Over the limit it is counted as left out. */
int summary_instrument_add(struct summary *summary, const struct summary_instrument *line);

/* What this process's register or a run file has. Returns 0, or -1 without memory. */
int summary_instruments_fill(struct summary *summary, const struct figures *from, int32_t rank);

/* Texts of a line that came from a file end, wherever its NULs were. */
void summary_instrument_sanitize(struct summary_instrument *line);

#endif
