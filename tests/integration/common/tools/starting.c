/* A job of which rank 1 gets into trouble before MPI_Init, or within it: `never` called, `dies` or `hangs` in it. */
#include "within.h"

#include <mpi.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char *argv[])
{
    int rank;
    if (strcmp(argv[1], "never") == 0 && launched_as() == 1) {
        sleep(2);
        raise(SIGKILL);
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 2)
        MPI_Recv(&rank, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
