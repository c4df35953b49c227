/*
 * mpit-run after the launcher: `mpirun -n 4 mpit-run ./app`, `srun mpit-run ./app`. Each process of the job then has
 * its own mpit-run. They need one common directory, and only one of them prints messages.
 *
 *   rank 0     runs the program, and shows the outcome when the processes of the job have reached their end
 *   others     become the program
 *   directory  --output, or mpit-run-ID. The first process writes the job's ID and key into it. The others see from
 *              these that the directory belongs to their own job
 *
 * Launchers pass the rank in the environment:
 *   Open MPI (PRRTE)   OMPI_COMM_WORLD_RANK, _SIZE; ID: PMIX_NAMESPACE
 *   Hydra              PMI_RANK, PMI_SIZE; ID: begin and number of the hydra_pmi_proxy above, if it has all ranks
 *   srun               SLURM_PROCID, SLURM_STEP_NUM_TASKS, SLURM_STEP_ID; ID: job and step
 *
 * IDs are not unique. Open MPI makes the ID from the host's name and the number of the process mpirun, which are the
 * same in each new container. A job of Slurm that is queued again keeps its number. The key distinguishes these jobs.
 * With Open MPI 4 it is the random key of all processes of a job. With Slurm it is the count of the job's starts. Open
 * MPI 5 gives nothing that all processes of a job have. There the key is the host and the address of its daemon. On
 * another host a claim is good for minutes.
 */
#ifndef MPIT_TOOLS_LAUNCHED_H
#define MPIT_TOOLS_LAUNCHED_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

enum { LAUNCHED_ID_BYTES = 128, LAUNCHED_KEY_BYTES = 64 };

struct launched {
    int rank, size;               /* size 0 or 1: the only process */
    char id[LAUNCHED_ID_BYTES];   /* of the job, letters for a file name, or "" if unknown */
    char key[LAUNCHED_KEY_BYTES]; /* of this start of the job, likewise, or "" */
    size_t host;                  /* length of the host's name at the begin of the key. 0: the key is of all hosts */
};

/* Returns true if the environment shows that a launcher started this process as one of several. */
bool launched_find(struct launched *launched);

/*
 * Returns 0 if the directory belongs to this job. It has the job's ID and key in it, or (`free`) had none and gets them
 * now. Returns EEXIST if it belongs to another job. Returns another errno value if the ID could not be written. No part
 * of it is then left.
 */
int launched_claim(const struct launched *launched, const char *directory, bool free);

#endif
