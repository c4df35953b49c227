/* Rank 0 ends in the middle of the job: by abort(), or with a status. */
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char *argv[])
{
    int rank, token = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        atoi(argv[1]) < 0 ? abort() : _exit(atoi(argv[1]));
    MPI_Recv(&token, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* for what never comes */
    MPI_Finalize();
    return 0;
}
