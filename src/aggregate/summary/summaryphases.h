/*
 * The part of a summary for phases of MPI_Pcontrol, and for regions of other libraries: a line for each phase or
 * region, and process.
 */
#ifndef MPIT_AGGREGATE_SUMMARYPHASES_H
#define MPIT_AGGREGATE_SUMMARYPHASES_H

#include "clock/clock.h"
#include "summary/summary.h"

/* Returns the number of lines, from the first on, that are of the same phase or region. */
size_t summary_phase_lines(const struct summary *summary, size_t first);
/* These return 0, or -1 without memory. `name` is the region's. */
int summary_phase_fill(struct summary *summary, const char *name, bool phase, int32_t rank,
                       const struct region_cells *sum, struct clock_scale scale);
int summary_phase_add(struct summary *summary, const struct summary_phase *phase);
int summary_phases_merge(struct summary *summary, const struct summary *other);
/* False if they are not in order, as merging needs. Cleans their texts. */
bool summary_phases_are_sound(struct summary *summary);

#endif
