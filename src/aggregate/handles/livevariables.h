/*
 * Variables that exist only for MPI_T, and not in run files and summaries. A read computes them from existing data, so
 * they cost no call anything. The exception: variables of windows and files are counted in the call while a handle is
 * started.
 *
 * Totals: variables of the process that are sums of variables of communicators.
 *
 *   mpit_send_count (bound)  ──>  mpit_send_count_total (not bound)     the sum over all communicators, freed ones too
 *
 * There is one for each counter, sum, timer and level of a communicator, except those by peer: ranks of different
 * communicators are different processes. A read walks through the cells of all communicators (sample.c). The walk must
 * not meet a slot that moves from a freed communicator to a new one (commreuse.h). It notices that, and begins again. A
 * signal handler that has interrupted such a move would begin again forever. So a thread blocks signals while it moves
 * a slot, once a handle of a total was made (book.totals_wanted).
 *
 * Threads: the live state of each thread of the process, for a thread that watches the others. There is one element for
 * each thread (moment.h). A handle has elements for the threads that exist when it is allocated, and for some more.
 */
#ifndef MPIT_AGGREGATE_LIVEVARIABLES_H
#define MPIT_AGGREGATE_LIVEVARIABLES_H

#include "figures/variables.h"

/* How many there are. The first call makes them. 0 without memory. */
size_t live_variable_count(void);
const struct variable *live_variable_at(size_t index);
/* mpit_pending_recvs_total. */
uint64_t live_receives_pending(void);

#endif
