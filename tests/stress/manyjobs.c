/*
 * manyjobs DIRECTORY ROUNDS MESSAGES END      a job that counts for itself and ends as it is told
 *
 * In each round each rank sends MESSAGES messages to the right, and all meet in an Allreduce. Each rank writes
 * DIRECTORY/RANK.START: "MESSAGES BYTES COLLECTIVES SIZE". START is how often Slurm queued the job again. Then the job ends:
 *
 *   normal      MPI_Finalize, 0              exit        MPI_Finalize, and the last rank exits with 3
 *   unfinished  exit(0) without MPI_Finalize _exit       all leave by _exit(4)
 *   abort       rank 0 calls MPI_Abort(5)   segv        the last rank raises SIGSEGV
 *   kill        the last rank dies by SIGKILL, as the OOM killer does
 *   deadlock    ranks 0 and 1 receive from each other; with one rank: a receive from itself
 */
#include <mpi.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BYTES_MOST = 4096 };

static int rank, size;
static char buffer[2][BYTES_MOST];
static long sent, sent_bytes, collectives;

static void round_do(int round, int messages)
{
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    for (int i = 0; i < messages; i++) {
        int bytes = 1 + (round * 37 + i * 101) % BYTES_MOST;
        MPI_Sendrecv(buffer[0], bytes, MPI_CHAR, right, 1, buffer[1], BYTES_MOST, MPI_CHAR, left, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        sent++;
        sent_bytes += bytes;
    }
    MPI_Allreduce(MPI_IN_PLACE, buffer[0], 4, MPI_CHAR, MPI_MAX, MPI_COMM_WORLD);
    collectives++;
}

/* The name appears when the file is whole. */
static void note(const char *directory)
{
    const char *start = getenv("SLURM_RESTART_COUNT");
    char path[4096], ready[4096 + 8];
    snprintf(path, sizeof path, "%s/%d.%s", directory, rank, start ? start : "0");
    snprintf(ready, sizeof ready, "%s.new", path);
    FILE *file = fopen(ready, "w");
    if (!file || fprintf(file, "%ld %ld %ld %d\n", sent, sent_bytes, collectives, size) < 0 || fclose(file) != 0 ||
        rename(ready, path) != 0)
        MPI_Abort(MPI_COMM_WORLD, 99);
}

static void deadlock(void)
{
    if (rank < 2)
        MPI_Recv(buffer[0], 1, MPI_CHAR, size > 1 ? 1 - rank : 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
}

static int end_as(const char *end)
{
    if (strcmp(end, "deadlock") == 0)
        deadlock();
    if (strcmp(end, "unfinished") == 0)
        exit(0);
    if (strcmp(end, "_exit") == 0)
        _exit(4);
    if (strcmp(end, "abort") == 0 && rank == 0)
        MPI_Abort(MPI_COMM_WORLD, 5);
    if (strcmp(end, "segv") == 0 && rank == size - 1)
        raise(SIGSEGV);
    if (strcmp(end, "kill") == 0 && rank == size - 1)
        raise(SIGKILL);
    if (strcmp(end, "normal") != 0 && strcmp(end, "exit") != 0) /* the others wait for the one that is gone */
        MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return strcmp(end, "exit") == 0 && rank == size - 1 ? 3 : 0;
}

int main(int argc, char *argv[])
{
    if (argc != 5)
        return 2;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int round = 0; round < atoi(argv[2]); round++)
        round_do(round, atoi(argv[3]));
    collectives++; /* of the barrier: nobody dies before all have written */
    note(argv[1]);
    MPI_Barrier(MPI_COMM_WORLD);
    return end_as(argv[4]);
}
