/*
 * What batch systems and launchers tell a process in its environment: the number of its job, the name of its launch, its
 * rank. No process is asked. One launch has the same name in all its processes on all nodes, and no other launch has it.
 */
#ifndef MPIT_PROBES_BATCH_H
#define MPIT_PROBES_BATCH_H

#include "format/runfile.h"

#include <stdint.h>

/* Writes the batch system and its number for the job as its users write it: "slurm 4711", "slurm 4711_3" for a task of
 * an array. "": there is none. */
void batch_job(char text[ORIGIN_JOB_BYTES]);

/*
 * Returns a hash of the output directory, of the batch system's job, and of how often that job was started. A directory
 * for one run has no job in its hash, except Slurm's: there a launcher that starts processes by ssh does not pass the
 * job on.
 */
uint64_t batch_hash(const char *directory);

/* Returns the launcher's name for this launch, or NULL: the environment has none. */
const char *launch_name(void);

/* What a launcher tells: the rank (-1: not known), and the number of processes (0: not known). */
struct launch {
    int32_t rank, size;
    int32_t local_rank, local_size; /* among the job's processes on this node. -1: not known */
    int32_t nodes;                  /* -1: not known */
};
struct launch launch_told(const char *family);

#endif
