/* steps.c MESSAGES MICROSECONDS: ranks 0 and 1 exchange so many messages of 64 bytes; rank 1 sleeps before each. */
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((noinline)) static void exchange(int rank, char *data)
{
    if (rank == 0)
        MPI_Recv(data, 64, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else if (rank == 1)
        MPI_Send(data, 64, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    int rank;
    char data[64] = "";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < atoi(argv[1]); i++) {
        if (rank == 1)
            usleep((useconds_t)atoi(argv[2]));
        exchange(rank, data);
    }
    MPI_Finalize();
    return 0;
}
