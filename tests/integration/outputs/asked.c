/*
 * A program for questions to a run (mpit-dump --what-if): with other arguments it is what was asked for.
 *
 *     asked STEPS COMPUTE_US RANK MORE_US BYTES BARRIERS
 *
 * In each step a rank computes for COMPUTE_US, RANK for MORE_US more, and one rank in turn twice as long. When all had their
 * turn, each exchanges BYTES with its neighbours in a ring, and all sum a number. BARRIERS: each step ends with a barrier.
 */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int rank, size;

static volatile int barriers_done; /* else the barrier would be called from main: a tail call */

__attribute__((noinline)) static void wait_for_all(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    barriers_done++;
}

static void exchange(char *send, char *receive, int bytes)
{
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    MPI_Request requests[2];
    MPI_Irecv(receive, bytes, MPI_CHAR, left, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(send, bytes, MPI_CHAR, right, 0, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

int main(int argc, char *argv[])
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc != 7) {
        fprintf(stderr, "usage: asked STEPS COMPUTE_US RANK MORE_US BYTES BARRIERS\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    int steps = atoi(argv[1]), compute = atoi(argv[2]), bytes = atoi(argv[5]), barriers = atoi(argv[6]);
    int own = compute + (rank == atoi(argv[3]) ? atoi(argv[4]) : 0);
    char *send = calloc(1, (size_t)bytes + 1), *receive = calloc(1, (size_t)bytes + 1);
    double one = 1, sum;
    for (int step = 0; send && receive && step < steps; step++) {
        usleep((useconds_t)(step % size == rank ? 2 * own : own));
        if (barriers)
            wait_for_all();
        if (step % size < size - 1)
            continue;
        exchange(send, receive, bytes);
        MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    free(send);
    free(receive);
    MPI_Finalize();
    return 0;
}
