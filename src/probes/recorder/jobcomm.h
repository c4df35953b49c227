/*
 * A communicator of mpit's own, of all processes of the world, for clocks that are measured with MPI (clocks_mpi.h). It
 * is made only where the user says that all processes take part: mpit_clock_sync is "mpi".
 */
#ifndef MPIT_PROBES_JOBCOMM_H
#define MPIT_PROBES_JOBCOMM_H

#include "native.h"

#include <stdbool.h>

/* One part may still receive when others are at the next. */
enum job_tag { JOB_TAG_PING = 1, JOB_TAG_PONG, JOB_TAG_SYNC };

/* All processes of the world call it, when MPI_Init ends or before MPI_Finalize begins. */
void job_comm_make_early(void);
/* Returns MPI_COMM_NULL if there is none. */
MPI_Comm job_comm(void);
void job_comm_free(void);

#endif
