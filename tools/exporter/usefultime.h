/*
 * The useful time of a process: outside of MPI, the mean of its threads that call MPI. Efficiencies are made of it
 * (efficiency.h). It lies between MPI_Init and MPI_Finalize, and so does the run time beside it. Time that
 * MPI_Pcontrol switched off is in neither.
 *
 *   useful = run - (time in MPI, with the calls under way) / threads
 *
 * Both grow from look to look, and never fall: each look adds the change since the look before.
 */
#ifndef MPIT_TOOLS_USEFULTIME_H
#define MPIT_TOOLS_USEFULTIME_H

#include "live/live.h"

struct useful_time {
    bool known; /* false: calls are not timed, or not recorded, or the process is in MPI_Init */
    uint64_t run_ns, useful_ns;
    uint64_t seen_run_ns, seen_mpi_ns, seen_threads; /* at the last look */
};

/* Reads the threads, and adds what has changed since the last look. Updates the time of the process. */
void useful_time_take(struct useful_time *time, struct live_process *process, struct live_thread *threads);

#endif
