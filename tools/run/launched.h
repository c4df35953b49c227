/*
 * mpit-run behind the launcher: `mpirun -n 4 mpit-run ./app`, `srun mpit-run ./app`. Each process of the job has an
 * mpit-run of its own then, and they need one directory and one that speaks.
 *
 *   rank 0     runs the program, and shows the outcome when the processes of the job have come to their ends
 *   others     become the program
 *   directory  --output, or mpit-run-ID; the first that comes writes the job's ID and key into it, and the others know
 *              by these that the run files in it are their own job's
 *
 * Launchers tell the rank in the environment:
 *   Open MPI (PRRTE)   OMPI_COMM_WORLD_RANK, _SIZE; ID: PMIX_NAMESPACE
 *   Hydra              PMI_RANK, PMI_SIZE; ID: begin and number of the hydra_pmi_proxy above, where it has all ranks
 *   srun               SLURM_PROCID, SLURM_STEP_NUM_TASKS, SLURM_STEP_ID; ID: job and step
 *
 * IDs come again: that of Open MPI 4 is made from the host's name and the number of the process mpirun, which in each
 * new container are the same; a job of Slurm that is queued again keeps its number. The key tells these apart: the
 * random one that Open MPI 4 gives all processes of a job, how often Slurm has started it.
 */
#ifndef MPIT_TOOLS_LAUNCHED_H
#define MPIT_TOOLS_LAUNCHED_H

#include "run/elfkind.h"

#include <limits.h>
#include <stdbool.h>

enum { LAUNCHED_ID_BYTES = 128, LAUNCHED_KEY_BYTES = 64 };

struct launched {
    int rank, size;               /* size 0 or 1: this is not one of several */
    char id[LAUNCHED_ID_BYTES];   /* of the job, letters that may stand in a file's name; "": not known */
    char key[LAUNCHED_KEY_BYTES]; /* of this start of it, likewise; "": not known */
};

/* True: the environment tells that a launcher started this process as one of several. */
bool launched_find(struct launched *launched);

/*
 * 0: the directory is that of this job: it has the job's ID and key in it, or (`free`) had none and has it from now on.
 * EEXIST: it is somebody else's; other errno values: the ID could not be written, and nothing of it is left.
 */
int launched_claim(const struct launched *launched, const char *directory, bool free);

#endif
