/*
 * A communicator of mpit's own, of all processes of the world, for what they tell each other: clocks, the summary.
 *
 * It is made when MPI_Init ends, and not when it is needed: at the end of a program that met errors, or left
 * nonblocking collectives behind, MPI_COMM_WORLD itself may not serve for collective operations any more, and one made
 * from it would never come to be.
 */
#ifndef MPIT_PROBES_JOBCOMM_H
#define MPIT_PROBES_JOBCOMM_H

#include "native.h"

#include <stdbool.h>

/* One part may still receive when others are at the next. */
enum job_tag { JOB_TAG_PING = 1, JOB_TAG_PONG, JOB_TAG_SYNC, JOB_TAG_SIZE, JOB_TAG_PART };

/* All processes of the world call it where they may talk (reduction_possible). */
void job_comm_make(void);
/* MPI_COMM_NULL: there is none. */
MPI_Comm job_comm(void);
void job_comm_free(void);

#endif
