/*
 * The part of a summary for the libraries below MPI (fabriccalls.h).
 */
#ifndef MPIT_AGGREGATE_SUMMARYFABRIC_H
#define MPIT_AGGREGATE_SUMMARYFABRIC_H

#include "figures/figures.h"
#include "summary/summary.h"

/* Adds the figures of this process or of a run file. */
void summary_fabric_fill(struct summary *summary, const struct figures *from);
void summary_fabric_merge(struct summary *summary, const struct summary *other);

#endif
