/* Sends to itself that are cancelled, asked for their end, and freed where the library has cancelled them. */
#include <mpi.h>
#include <stddef.h>

int main(int argc, char *argv[])
{
    MPI_Init(&argc, &argv);
    for (int i = 0; i < 20; i++) {
        MPI_Request request;
        MPI_Status status;
        int ended = 0, gone = 0;
        MPI_Issend(NULL, 0, MPI_BYTE, 0, i, MPI_COMM_SELF, &request);
        MPI_Cancel(&request);
        MPI_Request_get_status(request, &ended, &status);
        if (ended)
            MPI_Test_cancelled(&status, &gone);
        if (gone) {
            MPI_Request_free(&request);
        } else {
            MPI_Recv(NULL, 0, MPI_BYTE, 0, i, MPI_COMM_SELF, MPI_STATUS_IGNORE);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
    }
    MPI_Finalize();
    return 0;
}
