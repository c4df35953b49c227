/* What is read from the variables of batch systems and launchers, as their documents have them. */
#include "unittest.h"

#include "recorder/batch.h"

#include <stdlib.h>
#include <string.h>

static const char tree[] = "/logs/%Y/%m/%d/%u-%p-%j";

/* The process has these variables, "NAME=VALUE NAME=VALUE", and no others. */
static void variables_set(const char *text)
{
    char words[512], *rest = words;
    clearenv();
    assert_true(strlen(text) < sizeof words);
    strcpy(words, text);
    for (char *word; (word = strsep(&rest, " "));) {
        char *equals = strchr(word, '=');
        assert_non_null(equals);
        *equals = '\0';
        setenv(word, equals + 1, 1);
    }
}

/* The number that two processes have in common, or not. */
static uint64_t number_of(const char *text, const char *directory)
{
    variables_set(text);
    const char *name = launch_name();
    uint64_t number = batch_hash(directory);
    for (; name && *name; name++)
        number = number * 31 + (unsigned char)*name;
    return number;
}

static void one_job(const char *a, const char *b)
{
    assert_int_equal(number_of(a, tree), number_of(b, tree));
}

static void two_jobs(const char *a, const char *b)
{
    assert_int_not_equal(number_of(a, tree), number_of(b, tree));
}

static void job_is(const char *variables, const char *expected)
{
    char text[ORIGIN_JOB_BYTES];
    variables_set(variables);
    batch_job(text);
    assert_string_equal(text, expected);
}

TEST(names)
{
    job_is("PATH=/bin", "");
    job_is("SLURM_JOB_ID=4711", "slurm 4711");
    job_is("SLURM_JOB_ID=", "");
    job_is("SLURM_JOB_ID=4714 SLURM_ARRAY_JOB_ID=4711 SLURM_ARRAY_TASK_ID=3", "slurm 4711_3");
    job_is("SLURM_JOB_ID=4711 SLURM_RESTART_COUNT=2", "slurm 4711");
    job_is("PBS_JOBID=4711.server", "pbs 4711.server");
    job_is("PBS_JOBID=4711[3].server PBS_ARRAY_INDEX=3 PBS_ARRAY_ID=4711[].server", "pbs 4711[3].server");
    job_is("PBS_JOBID=4711[3].host PBS_ARRAYID=3", "pbs 4711[3].host");
    job_is("LSB_JOBID=4711 LSB_JOBINDEX=0", "lsf 4711");
    job_is("LSB_JOBID=4711 LSB_JOBINDEX=3", "lsf 4711[3]");
    job_is("FLUX_JOB_ID=f4WxyZ", "flux f4WxyZ");
    job_is("PALS_APID=b1e5-7 PBS_JOBID=4711.server", "pbs 4711.server");
    job_is("PALS_APID=b1e5-7", "pals b1e5-7");
    job_is("JOB_ID=4711 SGE_TASK_ID=undefined", "sge 4711");
    job_is("JOB_ID=4711 SGE_TASK_ID=3", "sge 4711.3");
}

TEST(slurm)
{
    one_job("SLURM_JOB_ID=4711 SLURM_STEP_ID=0 SLURM_PROCID=0 SLURM_NODEID=0",
            "SLURM_JOB_ID=4711 SLURM_STEP_ID=0 SLURM_PROCID=9 SLURM_NODEID=1");
    two_jobs("SLURM_JOB_ID=4711 SLURM_STEP_ID=0", "SLURM_JOB_ID=4711 SLURM_STEP_ID=1");
    two_jobs("SLURM_JOB_ID=4711 SLURM_STEP_ID=0", "SLURM_JOB_ID=4712 SLURM_STEP_ID=0");
    /* queued again: the number, the step and the launcher's name are the same */
    two_jobs("SLURM_JOB_ID=4711 PMIX_NAMESPACE=slurm.pmix.4711.0",
             "SLURM_JOB_ID=4711 PMIX_NAMESPACE=slurm.pmix.4711.0 SLURM_RESTART_COUNT=1");
    two_jobs("SLURM_JOB_ID=4711 PMI_JOBID=4711.0 SLURM_RESTART_COUNT=2",
             "SLURM_JOB_ID=4711 PMI_JOBID=4711.0 SLURM_RESTART_COUNT=1");
    two_jobs("SLURM_JOB_ID=471 SLURM_STEP_ID=0 SLURM_RESTART_COUNT=1", "SLURM_JOB_ID=4711 SLURM_STEP_ID=0");
    /* Cray's PMI_JOBID has no step */
    two_jobs("SLURM_JOB_ID=4711 PMI_JOBID=4711 PALS_APID=4711.0 SLURM_STEP_ID=0",
             "SLURM_JOB_ID=4711 PMI_JOBID=4711 PALS_APID=4711.1 SLURM_STEP_ID=1");
    /* Open MPI's mpirun starts its daemons on other nodes as a step of their own */
    one_job("SLURM_JOB_ID=4711 PMIX_NAMESPACE=3141", "SLURM_JOB_ID=4711 PMIX_NAMESPACE=3141 SLURM_STEP_ID=0");
}

TEST(others)
{
    /* jsrun counts the launches of a job; Open MPI's mpirun has few numbers */
    two_jobs("LSB_JOBID=4711 LSB_JOBINDEX=0 PMIX_NAMESPACE=3", "LSB_JOBID=4712 LSB_JOBINDEX=0 PMIX_NAMESPACE=3");
    two_jobs("LSB_JOBID=4711 LSB_JOBINDEX=2 PMIX_NAMESPACE=3", "LSB_JOBID=4711 LSB_JOBINDEX=3 PMIX_NAMESPACE=3");
    two_jobs("PBS_JOBID=4711.server PMIX_NAMESPACE=3", "PBS_JOBID=4712.server PMIX_NAMESPACE=3");
    two_jobs("PBS_JOBID=4711[1].server PMIX_NAMESPACE=3", "PBS_JOBID=4711[2].server PMIX_NAMESPACE=3");
    one_job("PBS_JOBID=4711.server PALS_APID=b1e5-7 PALS_NODEID=0",
            "PBS_JOBID=4711.server PALS_APID=b1e5-7 PALS_NODEID=1");
    two_jobs("PBS_JOBID=4711.server PALS_APID=b1e5-7", "PBS_JOBID=4711.server PALS_APID=b1e5-8");
    one_job("FLUX_JOB_ID=f4WxyZ FLUX_TASK_RANK=0 PMI_RANK=0", "FLUX_JOB_ID=f4WxyZ FLUX_TASK_RANK=7 PMI_RANK=7");
    two_jobs("FLUX_JOB_ID=f4WxyZ", "FLUX_JOB_ID=f4Wxza");
    /* hydra in a task of Flux: its name is not in the environment */
    variables_set("FLUX_JOB_ID=f4WxyZ MPI_LOCALNRANKS=2");
    assert_null(launch_name());
}

/* A launcher that starts processes by ssh does not pass on the job of the batch system. The directory of one run tells
 * its job from all others. */
TEST(directory_of_one_run)
{
    assert_int_equal(number_of("PBS_JOBID=4711.server PMIX_NAMESPACE=3", "/home/ann/run"),
                     number_of("PMIX_NAMESPACE=3", "/home/ann/run"));
}

static void launch_is(const char *variables, const char *family, int rank, int size, int local, int nodes)
{
    variables_set(variables);
    struct launch launch = launch_told(family);
    EQUALS({launch.rank, rank}, {launch.size, size}, {launch.local_rank, local}, {launch.nodes, nodes});
}

TEST(ranks)
{
    launch_is("PATH=/bin", "MPICH", -1, 0, -1, -1);
    launch_is("PMI_RANK=1 PMI_SIZE=4 MPI_LOCALRANKID=1 MPI_LOCALNRANKS=4", "MPICH", 1, 4, 1, -1);
    launch_is("PMI_RANK=1 PMI_SIZE=4", "MPICH", 1, 4, -1, -1);
    launch_is("PMI_RANK=3 PMI_SIZE=4 SLURM_STEP_ID=0 SLURM_LOCALID=1 SLURM_STEP_NUM_NODES=2", "MPICH", 3, 4, 1, 2);
    launch_is("PMIX_RANK=3 SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=4 SLURM_LOCALID=1 SLURM_STEP_NUM_NODES=2", "Open MPI",
              3, 4, 1, 2);
    launch_is(
        "PMI_RANK=3 PMI_SIZE=4 FLUX_JOB_ID=f4W FLUX_TASK_RANK=3 FLUX_JOB_SIZE=4 FLUX_TASK_LOCAL_ID=1 FLUX_JOB_NNODES=2",
        "MPICH", 3, 4, 1, 2);
    launch_is("PMI_RANK=3 PMI_SIZE=4 PALS_APID=b1e5-7 PALS_RANKID=3 PMI_LOCAL_RANK=1 PMI_LOCAL_SIZE=2", "MPICH", 3, 4,
              1, -1);
    launch_is("PMI_RANK=4 PMI_SIZE=4", "MPICH", -1, 0, -1, -1);
    launch_is("PMI_RANK=x PMI_SIZE=4", "MPICH", -1, 0, -1, -1);
}
