/* A matched message that is received when its communicator has been freed, and others have come and gone on its place.
 */
#include <mpi.h>

#include <stdio.h>

int main(int argc, char *argv[])
{
    int out = 1, in, sum = 0;
    MPI_Comm comm;
    MPI_Message message;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    for (int i = 0; i < 3; i++) {
        MPI_Comm_dup(MPI_COMM_SELF, &comm);
        MPI_Isend(&out, 1, MPI_INT, 0, 0, comm, &request);
        MPI_Mprobe(0, 0, comm, &message, MPI_STATUS_IGNORE);
        MPI_Comm_free(&comm);
        MPI_Mrecv(&in, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        sum += in;
    }
    for (int i = 0; i < 600; i++) {
        MPI_Comm_dup(MPI_COMM_SELF, &comm);
        MPI_Comm_free(&comm);
    }
    printf("%d messages\n", sum);
    MPI_Finalize();
    return 0;
}
