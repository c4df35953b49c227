/*
 * Calls functions of MPI 4.0 and 4.1, and counts its calls. newer.py compares.
 *
 *     newer                 two processes. Each prints "call NAME COUNT" and "sent MESSAGES BYTES"
 *     newer --names FILE    which of the functions in FILE a process finds (dlsym)
 */
#define _GNU_SOURCE
#include "newer.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES_MOST = 64, INTS = 64, BUFFER_BYTES = 1 << 16 };

static struct {
    const char *name;
    int count;
} called[NAMES_MOST];

static int sent, sent_bytes;

static void count_call(const char *name)
{
    int i = 0;
    while (called[i].name && strcmp(called[i].name, name) != 0)
        i++;
    called[i].name = name;
    called[i].count++;
}

static void succeed(int result, const char *name)
{
    if (result == MPI_SUCCESS)
        return;
    fprintf(stderr, "%s returned %d\n", name, result);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

#define CALL(name, ...) (count_call(#name), succeed(name(__VA_ARGS__), #name))

static void count_sent(int bytes)
{
    sent++;
    sent_bytes += bytes;
}

static void expect(int good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "wrong: %s\n", what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void large_counts(int rank)
{
    int out[INTS], in[INTS] = {0}, peer = 1 - rank;
    MPI_Request requests[2];
    for (int i = 0; i < INTS; i++)
        out[i] = i;
    if (rank == 0) {
        CALL(MPI_Send_c, out, INTS, MPI_INT, peer, 1, MPI_COMM_WORLD);
        count_sent(sizeof out);
    } else {
        CALL(MPI_Recv_c, in, INTS, MPI_INT, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        expect(in[INTS - 1] == INTS - 1, "data of MPI_Send_c");
    }
    CALL(MPI_Irecv_c, in, INTS, MPI_INT, peer, 2, MPI_COMM_WORLD, &requests[0]);
    CALL(MPI_Isend_c, out, 10, MPI_INT, peer, 2, MPI_COMM_WORLD, &requests[1]);
    count_sent(40);
    CALL(MPI_Waitall, 2, requests, MPI_STATUSES_IGNORE);
    CALL(MPI_Allreduce_c, out, in, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    expect(in[3] == 6, "result of MPI_Allreduce_c");
    MPI_Count counts[2] = {3, 3};
    MPI_Aint places[2] = {0, 3};
    CALL(MPI_Alltoallv_c, out, counts, places, MPI_INT, in, counts, places, MPI_INT, MPI_COMM_WORLD);
    expect(in[3] == 3 * rank, "result of MPI_Alltoallv_c");
}

/* A local function with the most arguments. */
static void large_type(void)
{
    MPI_Count extent = 8;
    int way = MPI_DISTRIBUTE_BLOCK, part = MPI_DISTRIBUTE_DFLT_DARG, processes = 1, size = 0;
    MPI_Datatype type;
    CALL(MPI_Type_create_darray_c, 1, 0, 1, &extent, &way, &part, &processes, MPI_ORDER_C, MPI_INT, &type);
    CALL(MPI_Type_size, type, &size);
    expect(size == 32, "type of MPI_Type_create_darray_c");
    CALL(MPI_Type_free, &type);
}

static void statuses_of_several(int rank)
{
    int out[4] = {1, 2, 3, 4}, in[4], peer = 1 - rank, index = -1, indices[2], flag = 0, count = 0, tag = 0;
    MPI_Request requests[2];
    MPI_Status status, statuses[2];
    CALL(MPI_Irecv, in, 4, MPI_INT, peer, 3, MPI_COMM_WORLD, &requests[0]);
    CALL(MPI_Isend, out, 4, MPI_INT, peer, 3, MPI_COMM_WORLD, &requests[1]);
    count_sent(sizeof out);
    while (!flag)
        CALL(MPI_Request_get_status_all, 2, requests, &flag, MPI_STATUSES_IGNORE);
    CALL(MPI_Request_get_status_any, 2, requests, &index, &flag, &status);
    CALL(MPI_Request_get_status_some, 2, requests, &count, indices, statuses);
    expect(flag && index >= 0 && count == 2, "statuses of complete requests");
    CALL(MPI_Waitall, 2, requests, statuses);
    CALL(MPI_Status_get_tag, &statuses[0], &tag);
    expect(tag == 3, "tag of the receive");
    CALL(MPI_Status_set_tag, &statuses[0], 7);
    expect(statuses[0].MPI_TAG == 7, "tag that was set");
}

/* The communicator is used as soon as its request is said to be complete. */
static void duplicate(void)
{
    MPI_Comm copy;
    MPI_Request request;
    int flag = 0, index;
    CALL(MPI_Comm_idup, MPI_COMM_WORLD, &copy, &request);
    while (!flag)
        CALL(MPI_Request_get_status_any, 1, &request, &index, &flag, MPI_STATUS_IGNORE);
    CALL(MPI_Barrier, copy);
    CALL(MPI_Wait, &request, MPI_STATUS_IGNORE);
    CALL(MPI_Comm_free, &copy);
}

static void send_buffered(int rank, MPI_Request *flush)
{
    int out[4] = {0}, in[4];
    CALL(MPI_Bsend, out, 4, MPI_INT, 1 - rank, 4, MPI_COMM_WORLD);
    count_sent(sizeof out);
    if (flush)
        CALL(MPI_Comm_iflush_buffer, MPI_COMM_WORLD, flush);
    CALL(MPI_Recv, in, 4, MPI_INT, 1 - rank, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void buffers(int rank, char *buffer)
{
    MPI_Request flush;
    void *detached;
    int size;
    CALL(MPI_Comm_attach_buffer, MPI_COMM_WORLD, buffer, BUFFER_BYTES);
    send_buffered(rank, &flush);
    CALL(MPI_Wait, &flush, MPI_STATUS_IGNORE);
    send_buffered(rank, NULL);
    CALL(MPI_Comm_flush_buffer, MPI_COMM_WORLD);
    CALL(MPI_Comm_detach_buffer, MPI_COMM_WORLD, &detached, &size);
    expect(detached == buffer, "detached buffer of a communicator");
    CALL(MPI_Buffer_attach, buffer, BUFFER_BYTES);
    send_buffered(rank, NULL);
    CALL(MPI_Buffer_iflush, &flush);
    CALL(MPI_Waitall, 1, &flush, MPI_STATUSES_IGNORE);
    CALL(MPI_Buffer_flush);
    CALL(MPI_Buffer_detach, &detached, &size);
    expect(detached == buffer, "detached buffer");
}

#if !NEWER_LACKS_BUFFERS
static void session_buffers(char *buffer)
{
    MPI_Session session;
    MPI_Request flush;
    void *detached;
    int size;
    CALL(MPI_Session_init, MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    CALL(MPI_Session_attach_buffer, session, buffer, BUFFER_BYTES);
    CALL(MPI_Session_iflush_buffer, session, &flush);
    CALL(MPI_Wait, &flush, MPI_STATUS_IGNORE);
    CALL(MPI_Session_flush_buffer, session);
    CALL(MPI_Session_detach_buffer, session, &detached, &size);
    expect(detached == buffer, "detached buffer of a session");
    CALL(MPI_Session_finalize, &session);
}
#else
static void session_buffers(char *buffer)
{
    (void)buffer;
}
#endif

static int names_find(const char *path)
{
    char name[128];
    if (dlerror())
        puts("an_error_of_a_search_that_is_not_the_program's"); /* without mpit there has to be one, too */
    FILE *file = fopen(path, "r");
    while (file && fscanf(file, "%127s", name) == 1)
        if (dlsym(RTLD_DEFAULT, name))
            puts(name);
    return !file || fclose(file) != 0;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--names") == 0)
        return names_find(argv[2]);
    int rank, processes;
    char *buffer = malloc(BUFFER_BYTES);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &processes);
    expect(processes == 2 && buffer, "two processes");
    large_counts(rank);
    large_type();
    statuses_of_several(rank);
    duplicate();
    buffers(rank, buffer);
    session_buffers(buffer);
    for (int i = 0; called[i].name; i++)
        printf("call %s %d\n", called[i].name, called[i].count);
    printf("sent %d %d\n", sent, sent_bytes);
    MPI_Finalize();
    free(buffer);
    return 0;
}
