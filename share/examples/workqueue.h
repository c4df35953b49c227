/* A queue of numbers with instruments of its own: an example of a library that uses <mpit/instrument.h>. */
#ifndef WORKQUEUE_H
#define WORKQUEUE_H

#include <mpi.h>

#if defined(__cplusplus)
extern "C" {
#endif

enum workqueue_state { WORKQUEUE_IDLE, WORKQUEUE_FILLING, WORKQUEUE_DRAINING };

/* Returns 0, or -1 when it is full: over the control variable workqueue_capacity, or out of room. */
int workqueue_put(int number);
/* Takes the oldest; returns 0, or -1 when there is none. */
int workqueue_take(int *number);

/* Sends all that is in the queue to a process, which puts it into its own; both take part in `comm`. */
void workqueue_send(int rank, MPI_Comm comm);
void workqueue_receive(int rank, MPI_Comm comm);

#if defined(__cplusplus)
}
#endif

#endif
