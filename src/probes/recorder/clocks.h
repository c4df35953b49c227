/*
 * The clocks of the job's nodes, measured when MPI_Init ends, and again around MPI_Finalize, in a way that the user
 * chooses (mpit_clock_sync):
 *
 *    tcp    leaders of nodes connect to each other (clocks_tcp.h). No message of MPI, and a bound on each wait.
 *    mpi    all processes take part with messages of MPI, on a communicator of their own (clocks_mpi.h).
 *    none   not at all.
 *
 * One process of each running kernel measures. Readers take its measurements for all processes of the kernel
 * (tools/report/timeline.h).
 */
#ifndef MPIT_PROBES_CLOCKS_H
#define MPIT_PROBES_CLOCKS_H

#include "base/linkage.h"
#include "native.h"

#include <stdbool.h>

/* Call these in order: before and after the library's MPI_Init, before and after its MPI_Finalize. Only for a process
 * with MPIT_OUTPUT set. `traced`: it keeps events. */
void clocks_expect(bool traced);
void clocks_begin(bool traced);
void clocks_end(bool traced);
void clocks_ended(void);

extern LIBRARY_LOCAL bool clocks_following;

/* True if barriers are counted. */
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
