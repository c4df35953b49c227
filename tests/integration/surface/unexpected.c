/*
 * unexpected K: every rank sends K messages to rank 0 (rank 0 to itself, too), which receives them when all are under
 * way; for what the standard's example sees (umq_example.c). Exits with 1 where MPI says that something failed.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        if ((call) != MPI_SUCCESS) {                                                                                   \
            fprintf(stderr, "unexpected: %s failed\n", #call);                                                         \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

int main(int argc, char **argv)
{
    int k = argc > 1 ? atoi(argv[1]) : 1, rank, size, sum = 0;
    CHECK(MPI_Init(&argc, &argv));
    CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    CHECK(MPI_Comm_size(MPI_COMM_WORLD, &size));
    int *values = calloc((size_t)k, sizeof *values);
    MPI_Request *requests = calloc((size_t)k, sizeof *requests);
    for (int i = 0; i < k; i++) {
        values[i] = i;
        CHECK(MPI_Isend(&values[i], 1, MPI_INT, 0, i, MPI_COMM_WORLD, &requests[i]));
    }
    CHECK(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = 0; rank == 0 && i < k * size; i++) {
        int value;
        CHECK(MPI_Recv(&value, 1, MPI_INT, i % size, i / size, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        sum += value;
    }
    CHECK(MPI_Waitall(k, requests, MPI_STATUSES_IGNORE));
    free(requests);
    free(values);
    if (rank == 0)
        printf("%d ranks, %d messages of each, sum %d\n", size, k, sum);
    CHECK(MPI_Finalize());
    return 0;
}
