/* Rank 1 comes to MPI_Finalize when the file that is named is there. */
#include <mpi.h>
#include <unistd.h>
int main(int argc, char *argv[])
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    while (rank == 1 && access(argv[1], F_OK) != 0)
        usleep(10000);
    MPI_Finalize();
    return 0;
}
