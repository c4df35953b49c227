/*
 * The figures of one call: what it adds to the counters of its call path, by the recorder's own fold (fold.h). So the sums
 * over calls are equal to the counters.
 */
#ifndef MPIT_TOOLS_CALLFIGURES_H
#define MPIT_TOOLS_CALLFIGURES_H

#include "trace/callstream.h"
#include "figures/cells.h"

struct call_figures;

/* NULL: no memory. */
struct call_figures *call_figures_open(void);
/* Returns the figures of a call and its records, valid until the next call. */
const struct path_cells *call_figures_of(struct call_figures *figures, const struct traced_call *call);
void call_figures_close(struct call_figures *figures);

#endif
