/* The team of the tool as an MPI program: built once for each MPI. Only the thread that joined it calls MPI. */
#include "archive/team.h"

#include <mpi.h>
#include <otf2/OTF2_MPI_Collectives.h>

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

enum { COUNT_MOST = 1 << 28 }; /* values a call of MPI, which counts in int */

static struct team team;
static bool working;
static int errors_before = -1; /* the former standard error, before it was silenced */

static void values_reduce(uint64_t *values, size_t count, MPI_Op op)
{
    for (size_t part; count; count -= part, values += part) {
        part = count < COUNT_MOST ? count : COUNT_MOST;
        MPI_Allreduce(MPI_IN_PLACE, values, (int)part, MPI_UINT64_T, op, MPI_COMM_WORLD);
    }
}

static void sum(uint64_t *values, size_t count)
{
    values_reduce(values, count, MPI_SUM);
}

static void largest(uint64_t *values, size_t count)
{
    values_reduce(values, count, MPI_MAX);
}

static void spread(void *bytes, size_t count, int from)
{
    for (size_t part; count; count -= part, bytes = (char *)bytes + part) {
        part = count < COUNT_MOST ? count : COUNT_MOST;
        MPI_Bcast(bytes, (int)part, MPI_BYTE, from, MPI_COMM_WORLD);
    }
}

static int archive_prepare(OTF2_Archive *archive)
{
    return OTF2_MPI_Archive_SetCollectiveCallbacks(archive, MPI_COMM_WORLD, MPI_COMM_NULL) != OTF2_SUCCESS;
}

/* Ends all processes, because others may be waiting for this one, and it would wait for them. */
static void leave(void)
{
    if (working)
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Finalize();
}

/* Silences this process, because one process prints the messages for all. */
static void hush(void)
{
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    errors_before = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
    if (nowhere < 0)
        return;
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
    close(nowhere);
}

const struct team *team_join(int *argc, char ***argv)
{
    int provided;
    MPI_Comm node;
    MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided);
    team = (struct team){.mpi = true, .sum = sum, .largest = largest, .spread = spread, .prepare = archive_prepare};
    MPI_Comm_rank(MPI_COMM_WORLD, &team.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &team.size);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &team.neighbours);
    MPI_Comm_free(&node);
    atexit(leave);
    if (team.rank)
        hush();
    return &team;
}

void team_work(bool on)
{
    if (on && errors_before >= 0)
        dup2(errors_before, STDERR_FILENO);
    else if (team.rank)
        hush();
    working = on;
}
