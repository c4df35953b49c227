/* Communicators with names of all lengths. */
#include <mpi.h>
int main(int argc, char *argv[])
{
    int token = 0, other;
    MPI_Comm comms[6] = {MPI_COMM_WORLD};
    MPI_Init(&argc, &argv);
    for (int i = 1; i < 6; i++)
        MPI_Comm_split(comms[i - 1], 0, 0, &comms[i]);
    for (int i = 0; i < 6; i++) {
        MPI_Sendrecv(&token, 1, MPI_INT, 0, 30000, &other, 1, MPI_INT, 0, 30000, comms[i], MPI_STATUS_IGNORE);
        MPI_Reduce_scatter_block(MPI_IN_PLACE, &token, 1, MPI_INT, MPI_SUM, comms[i]);
    }
    MPI_Finalize();
    return 0;
}
