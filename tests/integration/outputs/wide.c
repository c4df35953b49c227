/*
 * Of two processes: receives that complete with a nonblocking collective of 2.25 GiB in one MPI_Waitall, whose record
 * needs an extension. (The data lie upon each other.) Before and behind it messages go to and fro.
 */
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>

static int rank, word;

static void to_and_fro(void)
{
    for (int i = 0; i < 20; i++) {
        int other = 1 - rank, got;
        MPI_Sendrecv(&word, 1, MPI_INT, other, 1, &got, 1, MPI_INT, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        usleep(1000);
    }
}

int main(int argc, char *argv[])
{
    enum { MIB = 1 << 20, MANY = 2304 };
    MPI_Datatype block, all;
    MPI_Request requests[2];
    char *data = calloc(1, MIB);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Type_contiguous(MIB, MPI_CHAR, &block);
    MPI_Type_create_resized(block, 0, 0, &all);
    MPI_Type_commit(&all);
    sleep(1);
    to_and_fro();
    MPI_Ibcast(data, MANY, all, 0, MPI_COMM_WORLD, &requests[0]);
    if (rank == 1) {
        MPI_Irecv(&word, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    } else {
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        usleep(50000);
        MPI_Send(&word, 1, MPI_INT, 1, 2, MPI_COMM_WORLD);
    }
    sleep(1);
    to_and_fro();
    MPI_Finalize();
    free(data);
    return 0;
}
