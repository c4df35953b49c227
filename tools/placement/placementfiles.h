/*
 * A better order of ranks, in a new directory, as launchers read it:
 *
 *   rankfile          Open MPI: mpirun --rankfile FILE. The k-th rank of a node is bound to its k-th core
 *   hosts             the node of rank 0, of rank 1, ... Open MPI: --map-by seq --hostfile FILE (and binds as it likes).
 *                     Slurm: SLURM_HOSTFILE=FILE srun --distribution=arbitrary. MPICH: mpiexec -f FILE
 *   MPICH_RANK_ORDER  Cray MPICH: MPICH_RANK_REORDER_METHOD=3, and the file in the directory of the job: ranks in the
 *                     order of places, node by node
 */
#ifndef MPIT_TOOLS_PLACEMENTFILES_H
#define MPIT_TOOLS_PLACEMENTFILES_H

#include "base/outputfile.h"
#include "job/rundir.h"

/* Returns 0, or -1 with the reason in `error`. The job's placement is filled in. */
int placement_files_write(const struct run_job *job, const char *directory, char error[OUTPUT_ERROR_BYTES]);

#endif
