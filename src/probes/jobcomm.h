/*
 * A communicator of mpit's own, of all processes of the world, for what they tell each other: clocks, the summary.
 *
 * MPI_COMM_WORLD itself may not serve for collective operations any more at the end of a program that met errors, or
 * left nonblocking collectives behind: a split of it then hangs on Open MPI, and ends the process on MPICH. So with
 * Open MPI ours is made when MPI_Init ends. With MPICH it is made when MPI_Finalize begins, from a group, with messages
 * alone: MPICH 4.0.2 hangs in neighbourhood collectives of some programs when one more communicator is there from the
 * beginning (natively, too). Where several nodes have their clocks measured, it is there from the beginning on both.
 */
#ifndef MPIT_PROBES_JOBCOMM_H
#define MPIT_PROBES_JOBCOMM_H

#include "native.h"

#include <stdbool.h>

/* One part may still receive when others are at the next. */
enum job_tag { JOB_TAG_PING = 1, JOB_TAG_PONG, JOB_TAG_SYNC, JOB_TAG_SIZE, JOB_TAG_PART };

/* All processes of the world call these where they may talk (reduction_possible): when MPI_Init ends, before
 * MPI_Finalize begins. */
void job_comm_make_early(void);
void job_comm_make_late(void);
/* MPI_COMM_NULL: there is none. */
MPI_Comm job_comm(void);
void job_comm_free(void);

#endif
