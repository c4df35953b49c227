#define _GNU_SOURCE
#include "recorder/batch.h"

#include "base/hash.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns NULL if the variable is not set or empty. */
static const char *environment_text(const char *name)
{
    const char *text = *name ? getenv(name) : NULL;
    return text && *text ? text : NULL;
}

void batch_job(char text[ORIGIN_JOB_BYTES])
{
    static const struct {
        const char *name, *job;
        const char *array, *task; /* the number that all tasks of an array have, and the one of this task */
        const char *begin, *end;  /* around the task */
        const char *none;         /* the value of a job that is no task */
    } systems[] = {{"slurm", "SLURM_JOB_ID", "SLURM_ARRAY_JOB_ID", "SLURM_ARRAY_TASK_ID", "_", "", ""},
                   {"pbs", "PBS_JOBID", "", "", "", "", ""}, /* 4711[3].server has the task */
                   {"lsf", "LSB_JOBID", "LSB_JOBID", "LSB_JOBINDEX", "[", "]", "0"},
                   {"flux", "FLUX_JOB_ID", "", "", "", "", ""},
                   {"pals", "PALS_APID", "", "", "", "", ""},
                   {"sge", "JOB_ID", "JOB_ID", "SGE_TASK_ID", ".", "", "undefined"}};
    text[0] = '\0';
    for (size_t i = 0; i < sizeof systems / sizeof systems[0]; i++) {
        const char *job = environment_text(systems[i].job), *array = environment_text(systems[i].array),
                   *task = environment_text(systems[i].task);
        if (!job)
            continue;
        if (array && task && strcmp(task, systems[i].none) != 0)
            snprintf(text, ORIGIN_JOB_BYTES, "%s %s%s%s%s", systems[i].name, array, systems[i].begin, task,
                     systems[i].end);
        else
            snprintf(text, ORIGIN_JOB_BYTES, "%s %s", systems[i].name, job);
        return;
    }
}

uint64_t batch_hash(const char *directory)
{
    const char *slurm = getenv("SLURM_JOB_ID"), *starts = getenv("SLURM_RESTART_COUNT");
    uint64_t hash = hash_text(hash_text(HASH_BEGIN, directory), slurm);
    char job[ORIGIN_JOB_BYTES];
    if (slurm && starts) /* the job is queued again, and keeps its number */
        return hash_text(hash_add(hash, '/'), starts);
    if (slurm || !strchr(directory, '%'))
        return hash;
    batch_job(job);
    return hash_text(hash, job);
}

/*
 * Flux and PALS may have started what then called mpiexec. Hydra's name comes before theirs, and is not in the
 * environment. All its processes have MPI_LOCALNRANKS. PMI_JOBID of Cray's systems has no step: PALS_APID has it.
 */
const char *launch_name(void)
{
    static const char *const names[] = {"PALS_APID", "PMI_JOBID", "SLURM_STEP_ID", "FLUX_JOB_ID"};
    const char *name = getenv("PMIX_NAMESPACE");
    for (size_t i = 0; !name && !getenv("MPI_LOCALNRANKS") && i < sizeof names / sizeof names[0]; i++)
        name = getenv(names[i]);
    return name;
}

/* Returns -1 if it is not set to a number. */
static int32_t number_set(const char *name)
{
    const char *text = getenv(name);
    char *end = NULL;
    errno = 0;
    long number = text && *text >= '0' && *text <= '9' ? strtol(text, &end, 10) : -1;
    return number < 0 || *end || errno || number > INT32_MAX ? -1 : (int32_t)number;
}

struct launch launch_told(const char *family)
{
    static const struct {
        const char *family;  /* that it launches. NULL: any */
        const char *starter; /* is set in its processes. NULL: by an MPI's own launcher */
        const char *rank, *size, *local_rank, *local_size, *nodes;
    } names[] = {
        {"Open MPI", NULL, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
         "OMPI_COMM_WORLD_LOCAL_SIZE", ""},
        {"MPICH", NULL, "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", ""},
        {NULL, "PALS_APID", "PMI_RANK", "PMI_SIZE", "PMI_LOCAL_RANK", "PMI_LOCAL_SIZE", ""},
        {NULL, "SLURM_STEP_ID", "PMI_RANK", "PMI_SIZE", "SLURM_LOCALID", "", "SLURM_STEP_NUM_NODES"},
        {NULL, "SLURM_STEP_ID", "PMIX_RANK", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "", "SLURM_STEP_NUM_NODES"},
        {NULL, "FLUX_JOB_ID", "FLUX_TASK_RANK", "FLUX_JOB_SIZE", "FLUX_TASK_LOCAL_ID", "", "FLUX_JOB_NNODES"}};
    bool started = getenv("SLURM_STEP_ID") || getenv("PALS_APID") || getenv("FLUX_JOB_ID");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct launch launch = {.rank = number_set(names[i].rank),
                                .size = number_set(names[i].size),
                                .local_rank = number_set(names[i].local_rank),
                                .local_size = number_set(names[i].local_size),
                                .nodes = number_set(names[i].nodes)};
        bool fits = names[i].family ? strcmp(names[i].family, family) == 0 : getenv(names[i].starter) != NULL;
        bool local = launch.local_rank >= 0 || launch.nodes >= 0;
        if (fits && launch.rank >= 0 && launch.size > launch.rank && (local || !started || !names[i].family))
            return launch;
    }
    return (struct launch){-1, 0, -1, -1, -1};
}
