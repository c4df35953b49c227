/* The number of the job: the same in all processes of one MPI_COMM_WORLD on all nodes. No process is asked. */
#ifndef MPIT_PROBES_JOB_H
#define MPIT_PROBES_JOB_H

#include "recorder/batch.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Makes the number from the output directory ("" = none) and the launcher's name for the job. PMIx, the PMI and Slurm have
 * the name in the environment. Hydra has a socket that all processes of a node share. On several nodes its proxies have
 * mpiexec's address in their command lines. Without all that, the process that started this one is used instead. A world of one process (`size` 1) is named after that process and its time, because its environment and the
 * processes above may belong to another job that started it. The same holds for a process below a recorded process of
 * that job: it has inherited the name.
 */
uint64_t job_number(const char *directory, int size);

/* What the launcher of this MPI tells before MPI_Init can. */
struct launch job_launch(void);
/* True if the launcher says that the job has processes on several nodes. */
bool job_launch_is_wide(const struct launch *launch);

/* Returns the number of the job that spawned this one, if the launcher tells (Open MPI's does). 0: none, or not
 * known. */
uint64_t job_parent_number(const char *directory);

/* True if other processes spawned this world. The first call must be made while MPI is initialized. */
bool world_is_spawned(void);

#endif
