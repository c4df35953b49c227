/*
 * The part of a summary for other libraries' instruments (instrument.h). Its lines are in the order of name, class,
 * communicator and element.
 */
#ifndef MPIT_AGGREGATE_SUMMARYINSTRUMENTS_H
#define MPIT_AGGREGATE_SUMMARYINSTRUMENTS_H

#include "figures/figures.h"
#include "summary/summary.h"

/* Adds a line to the line with its key. Returns 0, or -1 without memory. Over the limit it is counted as left out. */
int summary_instrument_add(struct summary *summary, const struct summary_instrument *line);

/* Adds the lines of this process's register or of a run file. Returns 0, or -1 without memory. */
int summary_instruments_fill(struct summary *summary, const struct figures *from, int32_t rank);

/* Ends the texts of a line from a file with NUL. */
void summary_instrument_sanitize(struct summary_instrument *line);

#endif
