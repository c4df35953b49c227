/*
 * A communicator of mpit's own, of all processes of the world, for what they tell each other: clocks, the summary.
 *
 * It is made when MPI_Finalize begins, so that the program's communicators are those that it would have without mpit:
 * Open MPI 4.1.4 and MPICH 4.0.2 hang in a few programs (distributed graphs; neighbourhood collectives) when one more
 * is there from the beginning, whoever made it. But MPI_COMM_WORLD may not serve for collective operations any more at
 * the end of a program that met errors, or left nonblocking collectives behind: a split of it then hangs on Open MPI,
 * and ends the process on MPICH. So it is made from a group, with messages alone, and those of a tag that no receive
 * matches which the program left behind. A library that has nothing of the kind (native.comm_of_group) gets it when
 * MPI_Init ends, by a split. So do both where several nodes have their clocks measured.
 */
#ifndef MPIT_PROBES_JOBCOMM_H
#define MPIT_PROBES_JOBCOMM_H

#include "native.h"

#include <stdbool.h>

/* One part may still receive when others are at the next. */
enum job_tag { JOB_TAG_PING = 1, JOB_TAG_PONG, JOB_TAG_SYNC, JOB_TAG_SIZE, JOB_TAG_PART };

/* All processes of the world call these where they may talk (reduction_possible): when MPI_Init ends, before
 * MPI_Finalize begins. */
bool job_comm_comes_late(void);
void job_comm_make_early(void);
void job_comm_make_late(void);
/* MPI_COMM_NULL: there is none. */
MPI_Comm job_comm(void);
void job_comm_free(void);

#endif
