/* Persistent exchange in a row of processes, whose ends have no neighbour, completed by MPI_Waitany until it has
 * nothing more to say; MPICH says nothing there of requests to MPI_PROC_NULL. They are started again, all at once and
 * one by one. */
#include <mpi.h>
#include <stdio.h>

static void complete(MPI_Request requests[4], int *completions)
{
    for (int which = 0; which != MPI_UNDEFINED; *completions += which != MPI_UNDEFINED)
        MPI_Waitany(4, requests, &which, MPI_STATUS_IGNORE);
}

int main(int argc, char *argv[])
{
    int rank, size, mine, theirs[2], sum, completions = 0;
    MPI_Request requests[4], all;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int left = rank ? rank - 1 : MPI_PROC_NULL, right = rank < size - 1 ? rank + 1 : MPI_PROC_NULL;
    mine = rank;
    MPI_Send_init(&mine, 1, MPI_INT, left, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Send_init(&mine, 1, MPI_INT, right, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Recv_init(&theirs[0], 1, MPI_INT, left, 1, MPI_COMM_WORLD, &requests[2]);
    MPI_Recv_init(&theirs[1], 1, MPI_INT, right, 0, MPI_COMM_WORLD, &requests[3]);
    for (int i = 0; i < 50; i++) {
        MPI_Startall(4, requests);
        complete(requests, &completions);
        MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &all);
        for (int k = 0; k < 4; k++)
            MPI_Start(&requests[k]);
        complete(requests, &completions);
        MPI_Wait(&all, MPI_STATUS_IGNORE);
    }
    for (int k = 0; k < 4; k++)
        MPI_Request_free(&requests[k]);
    printf("%d completions\n", completions);
    MPI_Finalize();
    return 0;
}
