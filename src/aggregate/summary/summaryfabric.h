/*
 * The part of a summary that is of the libraries below MPI (fabriccalls.h).
 */
#ifndef MPIT_AGGREGATE_SUMMARYFABRIC_H
#define MPIT_AGGREGATE_SUMMARYFABRIC_H

#include "figures/figures.h"
#include "summary/summary.h"

/* What this process or a run file has. */
void summary_fabric_fill(struct summary *summary, const struct figures *from);
void summary_fabric_merge(struct summary *summary, const struct summary *other);

#endif
