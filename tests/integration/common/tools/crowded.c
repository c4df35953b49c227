/* crowded COMMUNICATORS: a ring of messages on each of so many copies of MPI_COMM_WORLD, 1 + number % 3 messages of each rank.
 * The message of each number has a call path of its own. */
#include <mpi.h>
#include <stdlib.h>

enum { DEPTH = 6 };

/* The path has a call for each bit, from the first or from the second place. */
static __attribute__((noinline)) void exchange_along(unsigned bits, int depth, MPI_Comm comm)
{
    int rank, size, in, out = 1;
    if (depth == 0) {
        PMPI_Comm_rank(comm, &rank);
        PMPI_Comm_size(comm, &size);
        MPI_Sendrecv(&out, 1, MPI_INT, (rank + 1) % size, 1, &in, 1, MPI_INT, (rank + size - 1) % size, 1, comm,
                     MPI_STATUS_IGNORE);
    } else if (bits & 1) {
        exchange_along(bits >> 1, depth - 1, comm);
        __asm__ volatile("nop"); /* so that the compiler does not make one call of both */
    } else {
        exchange_along(bits >> 1, depth - 1, comm);
        __asm__ volatile("");
    }
}

int main(int argc, char **argv)
{
    int count = argc > 1 ? atoi(argv[1]) : 50;
    MPI_Init(&argc, &argv);
    for (int i = 0; i < count; i++) {
        MPI_Comm comm;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        for (int message = 0; message < 1 + i % 3; message++)
            exchange_along((unsigned)i, DEPTH, comm);
    }
    MPI_Finalize();
    return 0;
}
