/*
 * Many messages between all pairs of processes, each as fast as can be: a message that seems to arrive before it was
 * sent is what a wrong clock looks like.
 * Usage: messages PER_RANK [BARRIERS [NAP_US [killed]]]: with so many barriers of all between, and a nap at each; rank
 * 1 is killed in the middle
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char *argv[])
{
    int rank, size;
    long many = argc > 1 ? atol(argv[1]) : 1000, barriers = argc > 2 ? atol(argv[2]) : 0;
    useconds_t nap = argc > 3 ? (useconds_t)atol(argv[3]) : 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    long between = barriers ? many / barriers : 0, got = 0;
    for (long i = 0; i < many; i++) {
        int shift = 1 + (int)(i / 16 % (size - 1)), to = (rank + shift) % size, from = (rank + size - shift) % size;
        int word = (int)i, other = -1;
        if (rank % 2 == i % 2 || size % 2) { /* one of the two that talk may be late */
            MPI_Request request;
            MPI_Irecv(&other, 1, MPI_INT, from, 7, MPI_COMM_WORLD, &request);
            MPI_Send(&word, 1, MPI_INT, to, 7, MPI_COMM_WORLD);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        } else {
            MPI_Send(&word, 1, MPI_INT, to, 7, MPI_COMM_WORLD);
            MPI_Recv(&other, 1, MPI_INT, from, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        got += other == word;
        if (argc > 4 && rank == 1 && i == many / 2)
            raise(SIGKILL);
        if (between && i % between == between - 1) {
            usleep(nap);
            MPI_Barrier(MPI_COMM_WORLD);
        }
    }
    MPI_Finalize();
    if (got != many)
        fprintf(stderr, "rank %d: %ld of %ld messages\n", rank, got, many);
    return got != many;
}
