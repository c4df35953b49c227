/*
 * Requests for figures that are expensive to measure, from started handles of variables, options, monitors.
 *
 *   demand_change(+1) ─┐
 *   demand_change(+1) ─┼─> number of requests ── 0 <-> 1 ──> demand_changed: the service begins or ends to measure
 *   demand_change(-1) ─┘
 *
 * Who may run with whom: any thread and signal handler may call these functions at any time. All are lock-free.
 */
#ifndef MPIT_AGGREGATE_DEMAND_H
#define MPIT_AGGREGATE_DEMAND_H

#include "base/linkage.h"

#include <stdbool.h>

enum demand { DEMAND_NONE, DEMAND_FABRIC, DEMAND_OS, DEMAND_COUNTERS, DEMAND_OBJECTS, DEMANDS };

/* Adds a request (+1), or removes one (-1). Nothing happens for DEMAND_NONE. */
void demand_change(enum demand demand, int change);
bool demand_now(enum demand demand);

/* Called when the first request comes and when the last one goes, by the requesting thread. It may be called again
 * with an unchanged value, and by several threads at once. The last of these calls has the current value. Lock-free,
 * async-signal-safe. May be NULL. */
extern LIBRARY_LOCAL void (*demand_changed[DEMANDS])(bool wanted);

/* Sets a service's hook, and calls it if there are requests already. */
void demand_serve(enum demand demand, void (*changed)(bool wanted));

/* For descriptions: the cost of a call while something is measured, on one processor of 2 to 3 GHz. */
#define COST_OS                                                                                                        \
    "Each MPI call then takes some 0.05 microseconds longer. The kernel is asked once in 50 microseconds of a "        \
    "thread, on average. So the figures of short calls in a row are estimates by their time. The sum is exact."
#define COST_FABRIC                                                                                                    \
    "Each MPI call then takes some 0.05 to 0.1 microseconds longer. Each operation or poll below MPI reads the clock " \
    "twice."
#define COST_UMQ                                                                                                       \
    "Each MPI call then takes some 0.05 microseconds longer. A call that may receive takes some 0.1 microseconds "     \
    "longer for each process of the communicator on this node."
#define COST_OBJECTS                                                                                                   \
    "Each call on a window or file takes some 50 nanoseconds longer while a handle of such a variable is started."

#endif
