/*
 * The clocks of the job's nodes, measured with MPI itself: at the end of MPI_Init, before MPI_Finalize begins, and if
 * it is asked for behind every Nth barrier of all.
 *
 * Over mpit's own communicator (jobcomm.h); one process of each running kernel, its lowest rank, measures once along a
 * tree (clocksync.h) and tells the others of its kernel, so that each run file has what a reader needs. A process keeps
 * of the tree its own place: whom it measures against, who measures against it, whom it tells.
 */
#ifndef MPIT_PROBES_CLOCKS_H
#define MPIT_PROBES_CLOCKS_H

#include "linkage.h"
#include "native.h"

#include <stdbool.h>

/* All processes of the world call it, where they may talk (reduction_possible); does nothing on a single node. */
void clocks_begin(void);
/* All processes call it; `traced`: this one keeps events. Measures if any does. */
void clocks_end(bool traced);

extern LIBRARY_LOCAL bool clocks_following;

/* Are barriers counted? */
static inline bool clocks_follow(void)
{
    return __atomic_load_n(&clocks_following, __ATOMIC_RELAXED);
}

void clocks_barrier(MPI_Comm comm);

/* A barrier is over. */
static inline void clocks_passed(MPI_Comm comm)
{
    if (__builtin_expect(clocks_follow(), 0))
        clocks_barrier(comm);
}

#endif
