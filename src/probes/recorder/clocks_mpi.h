/*
 * Clocks measured with messages of MPI, for users who know that all processes of the world have mpit and take part:
 * those without it would make the others wait for good.
 *
 * Over mpit's own communicator (jobcomm.h); one process of each running kernel, its lowest rank, measures once along a
 * tree (clocksync.h) and tells the others of its kernel, so that each run file has what a reader needs. A process keeps
 * of the tree its own place: whom it measures against, who measures against it, whom it tells.
 */
#ifndef MPIT_PROBES_CLOCKS_MPI_H
#define MPIT_PROBES_CLOCKS_MPI_H

#include <stdbool.h>

/* All processes of the world call each of these. It is measured if there are several nodes and one process wants it.
 * Begin returns true if barriers are to be counted. */
bool clocks_mpi_begin(bool wanted);
/* Behind a barrier of all. */
void clocks_mpi_barrier(void);
void clocks_mpi_end(bool wanted);

#endif
