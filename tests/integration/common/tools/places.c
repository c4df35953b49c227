/*
 * places late LINES    rank 1 computes for longer than the others before it sends, and prints its lines to the file
 * places hang LINES    rank 1 receives a message that is never sent, while rank 0 waits for it
 *
 * The file gets lines "NAME NUMBER": the line of each call.
 */
#include <mpi.h>

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 5, LATE_MS = 60, SHORT_MS = 10 };

static int rank, size;
static FILE *lines;

/* The line of a call that begins on the line of this macro. */
#define AT(name) (lines && fprintf(lines, "%s %d\n", #name, __LINE__))

static void compute(long ms)
{
    struct timespec now, begin;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - begin.tv_sec) * 1000000000 + now.tv_nsec - begin.tv_nsec < ms * 1000000);
}

static void exchange(void)
{
    int out = rank, in = -1;
    MPI_Request request;
    AT(irecv), MPI_Irecv(&in, 1, MPI_INT, (rank + size - 1) % size, 7, MPI_COMM_WORLD, &request);
    AT(send), MPI_Send(&out, 1, MPI_INT, (rank + 1) % size, 7, MPI_COMM_WORLD);
    AT(wait), MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void late(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        compute(rank == 1 ? LATE_MS : SHORT_MS);
        exchange();
        AT(barrier), MPI_Barrier(MPI_COMM_WORLD);
    }
}

static void hang(void)
{
    int value;
    if (rank == 1)
        AT(recv), MPI_Recv(&value, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        AT(reduce), MPI_Reduce(&rank, &value, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc < 3)
        MPI_Abort(MPI_COMM_WORLD, 2);
    lines = rank == 1 ? fopen(argv[2], "w") : NULL;
    if (lines)
        setvbuf(lines, NULL, _IOLBF, BUFSIZ);
    if (strcmp(argv[1], "hang") == 0)
        hang();
    else
        late();
    MPI_Finalize();
    return 0;
}
