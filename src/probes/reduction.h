/*
 * The summary of the job, reduced over its processes with MPI itself while MPI_Finalize has not begun.
 *
 * A binomial tree over a duplicate of MPI_COMM_WORLD: each process sends its part once, to the process whose rank lacks
 * its lowest bit, after it has taken in those of the ranks above it. Rank 0 writes the file. Messages of the program
 * that are still under way cannot be met, since the duplicate is ours.
 */
#ifndef MPIT_PROBES_REDUCTION_H
#define MPIT_PROBES_REDUCTION_H

#include <stdbool.h>

/* Every process of the world calls this. `recording`: this one has something to tell. True: the summary was written. */
bool reduction_run(bool recording);

#endif
