/*
 * The number of the job: the same in all processes of one MPI_COMM_WORLD on all nodes, without asking any of them.
 */
#ifndef MPIT_PROBES_JOB_H
#define MPIT_PROBES_JOB_H

#include <stdbool.h>
#include <stdint.h>

/*
 * From the run directory ("" = none) and the launcher's name for the job: PMIx's, the PMI's or Slurm's out of the
 * environment; hydra's out of the command line of the proxy above this process. Where there is none of these, the
 * process that started this one stands for it: the same on a node; MPI_Finalize makes it one for all nodes. A world of
 * one process (`size` 1) is named after that and its time: its environment and the processes above may be those of
 * another job that started it. So is a process below one that is recorded and of that job: it has inherited the name.
 */
uint64_t job_number(const char *directory, int size);

/* What the launcher that goes with this MPI told the process before MPI_Init can: its rank, -1: nothing; and of how
 * many, 0: nothing. */
struct launch {
    int32_t rank, size;
    int32_t local_rank, local_size; /* among those of the job on this node; -1: not known */
    int32_t nodes;                  /* -1: not known */
};
struct launch job_launch(void);
/* The launcher says that the job has processes on several nodes. */
bool job_launch_is_wide(const struct launch *launch);

/* That of the job whose processes spawned this one's, where the launcher tells (Open MPI's does); 0: none, or not
 * known. */
uint64_t job_parent_number(const char *directory);

/* Was this world spawned by other processes? The first time it must be asked while MPI is initialized. */
bool world_is_spawned(void);

#endif
