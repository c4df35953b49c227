/*
 * Who asks for figures that cost something to measure: started handles of variables, options, monitors.
 *
 *   demand_change(+1) ─┐
 *   demand_change(+1) ─┼─> how many ask ── 0 <-> 1 ──> demand_changed: the service begins or ends to measure
 *   demand_change(-1) ─┘
 *
 * Who may run with whom: any thread and signal handler may call any of it at any time. All of it is lock-free.
 */
#ifndef MPIT_AGGREGATE_DEMAND_H
#define MPIT_AGGREGATE_DEMAND_H

#include "base/linkage.h"

#include <stdbool.h>

enum demand { DEMAND_NONE, DEMAND_FABRIC, DEMAND_OS, DEMAND_COUNTERS, DEMAND_OBJECTS, DEMANDS };

/* One more asks (+1), one of them no longer (-1). Of DEMAND_NONE: nothing happens. */
void demand_change(enum demand demand, int change);
bool demand_now(enum demand demand);

/* Called when the first one asks and when the last one has ceased to, by whoever did that; it may be called again with
 * what it knows, by several threads at once, and the last of these calls is with what holds. Lock-free,
 * async-signal-safe. NULL: nobody measures that. */
extern LIBRARY_LOCAL void (*demand_changed[DEMANDS])(bool wanted);

/* Sets a service's hook, and calls it when somebody asks already. */
void demand_serve(enum demand demand, void (*changed)(bool wanted));

/* For descriptions: what calls cost while something is measured; measured on one processor of 2 to 3 GHz. */
#define COST_OS                                                                                                        \
    "Each MPI call takes some 0.05 microseconds longer meanwhile. The kernel is asked once in 50 microseconds of a "   \
    "thread, on average: what short calls in a row have counted is an estimate by their time, the sum is exact."
#define COST_FABRIC                                                                                                    \
    "Each MPI call takes some 0.05 to 0.1 microseconds longer meanwhile, and each operation or poll below it two "     \
    "readings of the clock."
#define COST_UMQ                                                                                                       \
    "Each MPI call takes some 0.05 microseconds longer meanwhile, one that may receive some 0.1 for each process of "  \
    "the communicator on this node."
#define COST_OBJECTS                                                                                                   \
    "Each call on a window or file takes some 50 nanoseconds longer while a handle of such a variable is started."

#endif
