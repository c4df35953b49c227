/*
 * Calls of all kinds, counted by their lines: calls, messages and bytes. Each process prints
 *
 *     site LINE FUNCTION CALLS SENT BYTES_OUT RECEIVED BYTES_IN
 *
 *     pathcounts ROUNDS FILE
 */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>

enum { LINES_MOST = 200, ELEMENTS = 600 };

static struct site {
    const char *function;
    long calls, sent, bytes_out, received, bytes_in;
} sites[LINES_MOST];
static int rank, size, next, before;
static char out[ELEMENTS * 8 * 8], in[ELEMENTS * 8 * 8];

/* Counts for the call in this line. */
static void count(int line, const char *function, long sent, long bytes_out, long received, long bytes_in)
{
    struct site *site = &sites[line];
    site->function = function;
    site->calls++;
    site->sent += sent;
    site->bytes_out += bytes_out;
    site->received += received;
    site->bytes_in += bytes_in;
}

#define SITE(name, arguments, ...) (count(__LINE__, #name, __VA_ARGS__), name arguments)
#define SAME MPI_COMM_WORLD, MPI_STATUS_IGNORE

static void blocking(int bytes)
{
    if (rank % 2 == 0) {
        SITE(MPI_Send, (out, bytes, MPI_BYTE, next, 1, MPI_COMM_WORLD), 1, bytes, 0, 0);
        SITE(MPI_Recv, (in, bytes + 5, MPI_BYTE, before, 1, SAME), 0, 0, 1, bytes);
    } else {
        SITE(MPI_Recv, (in, bytes, MPI_BYTE, before, 1, SAME), 0, 0, 1, bytes);
        SITE(MPI_Ssend, (out, bytes, MPI_BYTE, next, 1, MPI_COMM_WORLD), 1, bytes, 0, 0);
    }
    SITE(MPI_Sendrecv, (out, bytes, MPI_BYTE, next, 2, in, bytes, MPI_BYTE, before, 2, SAME), 1, bytes, 1, bytes);
    SITE(MPI_Send, (out, bytes, MPI_BYTE, MPI_PROC_NULL, 1, MPI_COMM_WORLD), 0, 0, 0, 0);
}

static void nonblocking(int bytes)
{
    MPI_Request requests[4];
    int flag = 0;
    SITE(MPI_Irecv, (in, bytes, MPI_BYTE, before, 3, MPI_COMM_WORLD, &requests[0]), 0, 0, 0, 0);
    SITE(MPI_Irecv, (in + bytes, bytes, MPI_BYTE, before, 4, MPI_COMM_WORLD, &requests[1]), 0, 0, 0, 0);
    SITE(MPI_Isend, (out, bytes, MPI_BYTE, next, 3, MPI_COMM_WORLD, &requests[2]), 1, bytes, 0, 0);
    SITE(MPI_Isend, (out, bytes / 2, MPI_BYTE, next, 4, MPI_COMM_WORLD, &requests[3]), 1, bytes / 2, 0, 0);
    SITE(MPI_Waitall, (4, requests, MPI_STATUSES_IGNORE), 0, 0, 2, bytes + bytes / 2);

    SITE(MPI_Irecv, (in, bytes, MPI_BYTE, before, 5, MPI_COMM_WORLD, &requests[0]), 0, 0, 0, 0);
    SITE(MPI_Isend, (out, bytes, MPI_BYTE, next, 5, MPI_COMM_WORLD, &requests[1]), 1, bytes, 0, 0);
    SITE(MPI_Wait, (&requests[1], MPI_STATUS_IGNORE), 0, 0, 0, 0);
    while (!flag) {
        MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE), count(__LINE__, "MPI_Test", 0, 0, flag, flag ? bytes : 0);
    }
}

static void persistent(int bytes, int rounds)
{
    MPI_Request requests[2];
    SITE(MPI_Recv_init, (in, bytes, MPI_BYTE, before, 6, MPI_COMM_WORLD, &requests[0]), 0, 0, 0, 0);
    SITE(MPI_Send_init, (out, bytes, MPI_BYTE, next, 6, MPI_COMM_WORLD, &requests[1]), 0, 0, 0, 0);
    for (int i = 0; i < rounds; i++) {
        SITE(MPI_Start, (&requests[0]), 0, 0, 0, 0);
        SITE(MPI_Start, (&requests[1]), 1, bytes, 0, 0);
        SITE(MPI_Waitall, (2, requests, MPI_STATUSES_IGNORE), 0, 0, 1, bytes);
        SITE(MPI_Startall, (2, requests), 1, bytes, 0, 0);
        SITE(MPI_Wait, (&requests[0], MPI_STATUS_IGNORE), 0, 0, 1, bytes);
        SITE(MPI_Wait, (&requests[1], MPI_STATUS_IGNORE), 0, 0, 0, 0);
    }
    SITE(MPI_Request_free, (&requests[0]), 0, 0, 0, 0);
    SITE(MPI_Request_free, (&requests[1]), 0, 0, 0, 0);
}

static void collective(int bytes)
{
    MPI_Request request;
    int root = rank == 0;
    SITE(MPI_Barrier, (MPI_COMM_WORLD), 0, 0, 0, 0);
    SITE(MPI_Bcast, (in, bytes, MPI_BYTE, 0, MPI_COMM_WORLD), 0, root ? bytes : 0, 0, root ? 0 : bytes);
    SITE(MPI_Allreduce, (out, in, bytes, MPI_CHAR, MPI_MAX, MPI_COMM_WORLD), 0, bytes, 0, bytes);
    SITE(MPI_Reduce, (out, in, bytes, MPI_CHAR, MPI_MAX, 0, MPI_COMM_WORLD), 0, bytes, 0, root ? bytes : 0);
    SITE(MPI_Alltoall, (out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, MPI_COMM_WORLD), 0, size * bytes, 0, size * bytes);
    SITE(MPI_Iallreduce, (out, in, bytes, MPI_CHAR, MPI_MAX, MPI_COMM_WORLD, &request), 0, 0, 0, 0);
    SITE(MPI_Wait, (&request, MPI_STATUS_IGNORE), 0, bytes, 0, bytes);
}

static void one_sided(MPI_Win window, int bytes)
{
    SITE(MPI_Win_fence, (0, window), 0, 0, 0, 0);
    SITE(MPI_Put, (out, bytes, MPI_BYTE, next, 0, bytes, MPI_BYTE, window), 0, bytes, 0, 0);
    SITE(MPI_Win_fence, (0, window), 0, 0, 0, 0);
    SITE(MPI_Get, (in, bytes / 2, MPI_BYTE, next, 0, bytes / 2, MPI_BYTE, window), 0, 0, 0, bytes / 2);
    SITE(MPI_Win_fence, (0, window), 0, 0, 0, 0);
}

static void file(MPI_File handle, int bytes)
{
    MPI_Offset place = (MPI_Offset)rank * ELEMENTS * 8;
    SITE(MPI_File_write_at, (handle, place, out, bytes, MPI_BYTE, MPI_STATUS_IGNORE), 0, bytes, 0, 0);
    SITE(MPI_File_read_at, (handle, place, in, bytes / 2, MPI_BYTE, MPI_STATUS_IGNORE), 0, 0, 0, bytes / 2);
    SITE(MPI_File_write_at_all, (handle, place, out, bytes, MPI_BYTE, MPI_STATUS_IGNORE), 0, bytes, 0, 0);
}

int main(int argc, char *argv[])
{
    MPI_Win window;
    MPI_File handle;
    MPI_Init(&argc, &argv);
    if (argc != 3)
        MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    next = (rank + 1) % size;
    before = (rank + size - 1) % size;
    MPI_Win_create(in, sizeof in, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_File_open(MPI_COMM_WORLD, argv[2], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &handle);
    for (int i = 0, rounds = atoi(argv[1]); i < rounds; i++) {
        int bytes = 8 + i * 97 % (ELEMENTS * 8 - 8);
        blocking(bytes);
        nonblocking(bytes);
        persistent(bytes, 1 + i % 3);
        collective(bytes);
        one_sided(window, bytes);
        file(handle, bytes);
    }
    for (int line = 0; line < LINES_MOST; line++)
        if (sites[line].calls)
            printf("site %d %s %ld %ld %ld %ld %ld\n", line, sites[line].function, sites[line].calls, sites[line].sent,
                   sites[line].bytes_out, sites[line].received, sites[line].bytes_in);
    MPI_File_close(&handle);
    MPI_Win_free(&window);
    MPI_Finalize();
    return 0;
}
