/* Receives that were too small for their message, freed with the error unseen: that is no error of the program. */
#include <mpi.h>

int main(int argc, char *argv[])
{
    int out[64] = {0}, in[4], failed = 0, done;
    MPI_Init(&argc, &argv);
    for (int i = 0; i < 6; i++) {
        MPI_Request send, receive;
        MPI_Isend(out, 64, MPI_INT, 0, i, MPI_COMM_SELF, &send);
        if (i < 3) {
            MPI_Irecv(in, 4, MPI_INT, 0, i, MPI_COMM_SELF, &receive);
        } else {
            MPI_Recv_init(in, 4, MPI_INT, 0, i, MPI_COMM_SELF, &receive);
            MPI_Start(&receive);
        }
        MPI_Test(&send, &done, MPI_STATUS_IGNORE);
        if (!done)
            MPI_Wait(&send, MPI_STATUS_IGNORE);
        failed += MPI_Request_free(&receive) != MPI_SUCCESS;
    }
    MPI_Finalize();
    return failed;
}
