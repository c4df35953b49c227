/*
 * Clocks measured with messages of MPI, for users who know that all processes of the world have mpit and take part. A
 * process without mpit would make the others wait for good.
 *
 * Over mpit's own communicator (jobcomm.h). One process of each running kernel, its lowest rank, measures once along a
 * tree (clocksync.h). It sends the result to the others of its kernel, so that each run file has all that a reader
 * needs. A process keeps only its own place in the tree: its parent, its children, and the processes of its kernel.
 */
#ifndef MPIT_PROBES_CLOCKS_MPI_H
#define MPIT_PROBES_CLOCKS_MPI_H

#include <stdbool.h>

/* All processes of the world call each of these. It measures if there are several nodes and one process wants it. Begin
 * returns true if barriers are to be counted. */
bool clocks_mpi_begin(bool wanted);
/* Call it after a barrier of all. */
void clocks_mpi_barrier(void);
void clocks_mpi_end(bool wanted);

#endif
