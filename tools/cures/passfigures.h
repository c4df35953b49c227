/*
 * What a summary says of the program's loop (analysis/passes.h): how long its passes take, and which of them take longer.
 *
 *   time of a pass   ▁▁▁▁▁▁▁▁▁▁▃▃▃▃▃▁▁▁▁▁▁    slow passes: the row that costs most, and takes half as long again
 *                    ▁▁▁▁▁▂▂▂▂▂▃▃▃▃▃▄▄▄▄▄▅    or they drift: each quarter takes longer than the one before
 */
#ifndef MPIT_TOOLS_PASSFIGURES_H
#define MPIT_TOOLS_PASSFIGURES_H

#include "analysis/analysis.h"

/* Fills in summary->traced.passes from a reading that has measured them (analysis_replay). */
void pass_figures_take(struct summary *summary, const struct analysis *reading);

/* Finds the passes that take longer: `ns` has the times of `count` passes, the first one of pass 2. Fills in first, last, drifts,
 * ns and usual_ns. `run_ns`: of all that was read. Returns false without memory. */
bool slow_passes_find(struct slow_passes *slow, const double *ns, size_t count, double run_ns);

#endif
