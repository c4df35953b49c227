/* Passes a number around; ends with the status that its argument says, or with a second one by abort(). */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char *argv[])
{
    int rank, size, token = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size > 1)
        MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 0, &token, 1, MPI_INT, (rank + size - 1) % size, 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    printf("rank %d of %d\n", rank, size);
    fflush(stdout);
    if (argc > 2)
        abort();
    MPI_Finalize();
    return argc > 1 ? atoi(argv[1]) : 0;
}
