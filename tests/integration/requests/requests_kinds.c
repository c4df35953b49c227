/* Requests of special kinds: matched, cut off, paired, partitioned, generalized. */
#include "requests.h"
#include "../common/mpi4.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

static void nothing_is_pending_check(const MPI_Request *requests, int n)
{
    for (int i = 0; i < n; i++)
        check(requests[i] == MPI_REQUEST_NULL, 1, "requests", "MPI_REQUEST_NULL behind a completion");
}

/* Messages that are matched first and received in another order, out of other variables, into requests or not. */
void matched(void)
{
    MPI_Request sends[5], receive;
    MPI_Message found[5], moved;
    MPI_Status status;
    int flag = 0, count;
    for (int i = 0; i < 5; i++)
        post_send(&books[i % COMMS], 10 * i + 1, TAG + i, &sends[i]);
    for (int i = 0; i < 4; i++) {
        CALL(MPI_Mprobe, i % 2 ? MPI_ANY_SOURCE : left(), TAG + i, books[i % COMMS].comm, &found[i],
             i == 2 ? MPI_STATUS_IGNORE : &status);
        if (i != 2)
            check((unsigned long long)status.MPI_TAG, TAG + (unsigned)i, "matched", "the tag");
    }
    while (!flag)
        CALL(MPI_Improbe, left(), TAG + 4, books[0].comm, &flag, &found[4], &status);
    CALL(MPI_Imrecv, in[0], 4096, MPI_INT, &found[3], &receive);
    CALL(MPI_Mrecv, in[1], 4096, MPI_INT, &found[1], MPI_STATUS_IGNORE);
    moved = found[0];
    CALL(MPI_Mrecv, in[2], 4096, MPI_INT, &moved, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    check((unsigned long long)count, 1, "matched", "what arrived");
    CALL(MPI_Wait, &receive, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    check((unsigned long long)count, 31, "matched", "what arrived");
    CALL(MPI_Mrecv, in[3], 4096, MPI_INT, &found[4], &status);
    CALL(MPI_Imrecv, in[4], 4096, MPI_INT, &found[2], &receive);
    CALL(MPI_Wait, &receive, MPI_STATUS_IGNORE);
    CALL(MPI_Waitall, 5, sends, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 5; i++)
        received(&books[i % COMMS], (size_t)(10 * i + 1) * sizeof(int));
    CALL(MPI_Mprobe, MPI_PROC_NULL, 0, books[0].comm, &moved, &status);
    CALL(MPI_Mrecv, in[0], 1, MPI_INT, &moved, &status);
    CALL(MPI_Mprobe, MPI_PROC_NULL, 0, books[0].comm, &moved, &status);
    CALL(MPI_Imrecv, in[0], 1, MPI_INT, &moved, &receive);
    CALL(MPI_Wait, &receive, &status);
    CALL(MPI_Improbe, left(), TAG + 99, books[1].comm, &flag, &found[0], &status);
    check((unsigned long long)flag, 0, "matched", "a message that nobody has sent");
}

/* The call has to end with a message that was too long for its buffer. */
static void cut(int code, const char *name)
{
    int class = code;
    MPI_Error_class(code, &class);
    check((unsigned long long)class, MPI_ERR_TRUNCATE, "cut off", name);
    counted(MPI_SUCCESS, name);
}
#define CUT(function, ...) cut(function(__VA_ARGS__), #function)

enum { SENT = 30, ROOM = 10 };

static void cut_blocking(MPI_Comm comm, int way)
{
    MPI_Message found;
    MPI_Status status;
    if (way == 0) {
        CUT(MPI_Recv, in[0], ROOM, MPI_INT, left(), TAG + 1, comm, &status);
    } else if (way == 1) {
        CUT(MPI_Recv, in[0], ROOM, MPI_INT, MPI_ANY_SOURCE, TAG + 1, comm, MPI_STATUS_IGNORE);
    } else if (way == 2) {
        CUT(MPI_Sendrecv, out, 0, MPI_INT, MPI_PROC_NULL, TAG, in[0], ROOM, MPI_INT, left(), TAG + 1, comm, &status);
    } else {
        CALL(MPI_Mprobe, left(), TAG + 1, comm, &found, &status);
        CUT(MPI_Mrecv, in[0], ROOM, MPI_INT, &found, &status);
    }
}

static void cut_nonblocking(MPI_Comm comm, int way)
{
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status statuses[2];
    int flag = 0, index, code = MPI_SUCCESS;
    if (way == 4) {
        CALL(MPI_Recv_init, in[0], ROOM, MPI_INT, left(), TAG + 1, comm, &requests[0]);
        CALL(MPI_Start, &requests[0]);
        CUT(MPI_Wait, &requests[0], &statuses[0]);
        if (requests[0] != MPI_REQUEST_NULL) /* Open MPI frees it */
            CALL(MPI_Request_free, &requests[0]);
        return;
    }
    CALL(MPI_Irecv, in[0], ROOM, MPI_INT, left(), TAG + 1, comm, &requests[0]);
    if (way == 0) {
        CUT(MPI_Wait, &requests[0], MPI_STATUS_IGNORE);
    } else if (way == 1) {
        for (; !flag && code == MPI_SUCCESS; counted(MPI_SUCCESS, "MPI_Test"))
            code = MPI_Test(&requests[0], &flag, &statuses[0]);
        MPI_Error_class(code, &index);
        check((unsigned long long)index, MPI_ERR_TRUNCATE, "cut off", "MPI_Test");
    } else if (way == 2) {
        CUT(MPI_Waitany, 2, requests, &index, &statuses[0]);
    } else { /* beside one that is whole */
        MPI_Request send;
        CALL(MPI_Irecv, in[1], ROOM, MPI_INT, left(), TAG + 2, comm, &requests[1]);
        post_send(&books[0], 3, TAG + 2, &send);
        code = MPI_Waitall(2, requests, statuses);
        MPI_Error_class(code, &index);
        check((unsigned long long)index, MPI_ERR_IN_STATUS, "cut off", "MPI_Waitall");
        counted(MPI_SUCCESS, "MPI_Waitall");
        for (int i = 0; i < 2; i++) /* one that was not complete yet may be left */
            if (requests[i] != MPI_REQUEST_NULL) {
                MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
                counted(MPI_SUCCESS, "MPI_Wait");
            }
        CALL(MPI_Wait, &send, MPI_STATUS_IGNORE);
        received(&books[0], 3 * sizeof(int));
    }
}

/* Messages that are longer than their buffers count with what there was room for, whatever was received into the
 * library's request before. */
void cut_off(void)
{
    const MPI_Comm comms[] = {MPI_COMM_WORLD, MPI_COMM_SELF, books[0].comm};
    MPI_Request request;
    for (int i = 0; i < 3; i++)
        MPI_Comm_set_errhandler(comms[i], MPI_ERRORS_RETURN);
    for (int way = 0; way < 9; way++) {
        post_send(&books[0], 2, TAG, &request);
        CALL(MPI_Recv, in[0], ROOM, MPI_INT, left(), TAG, books[0].comm, MPI_STATUS_IGNORE);
        CALL(MPI_Wait, &request, MPI_STATUS_IGNORE);
        received(&books[0], 2 * sizeof(int));
        post_send(&books[0], SENT, TAG + 1, &request);
        if (way < 4)
            cut_blocking(books[0].comm, way);
        else
            cut_nonblocking(books[0].comm, way - 4);
        CALL(MPI_Wait, &request, MPI_STATUS_IGNORE);
        received(&books[0], ROOM * sizeof(int));
    }
    for (int i = 0; i < 3; i++)
        MPI_Comm_set_errhandler(comms[i], MPI_ERRORS_ARE_FATAL);
}

#if HAS_MPI4
/* One request, two messages; or one, or none. */
void paired(void)
{
    MPI_Request requests[4];
    /* as much as there is room for: no MPICH so far says how much it was when both are processes */
    CALL(MPI_Isendrecv, out, 5, MPI_INT, right(), TAG, in[0], 5, MPI_INT, left(), TAG, books[0].comm, &requests[0]);
    CALL(MPI_Isendrecv_replace, in[1], 3000, MPI_INT, right(), TAG, left(), TAG, books[1].comm, &requests[1]);
    CALL(MPI_Isendrecv, out, 7, MPI_INT, right(), TAG + 1, in[2], 4096, MPI_INT, MPI_PROC_NULL, TAG, books[0].comm,
         &requests[2]);
    CALL(MPI_Isendrecv, out, 7, MPI_INT, MPI_PROC_NULL, TAG, in[3], 4096, MPI_INT, MPI_ANY_SOURCE, TAG + 1,
         books[0].comm, &requests[3]);
    CALL(MPI_Wait, &requests[0], MPI_STATUS_IGNORE);
    CALL(MPI_Waitall, 3, requests + 1, MPI_STATUSES_IGNORE);
    sent(&books[0], 5 * sizeof(int), 1);
    received(&books[0], 5 * sizeof(int));
    sent(&books[1], 3000 * sizeof(int), 1);
    received(&books[1], 3000 * sizeof(int));
    sent(&books[0], 7 * sizeof(int), 1);
    received(&books[0], 7 * sizeof(int));
}

/* A message is one, of all partitions, each time that it is started. */
void partitioned(void)
{
    enum { PARTS = 4, COUNT = 30 };
    MPI_Request both[2];
    MPI_Status statuses[2];
    int list[2] = {1, 3}, flag;
    struct book *b = &books[1];
    CALL(MPI_Psend_init, out, PARTS, COUNT, MPI_INT, right(), TAG, b->comm, MPI_INFO_NULL, &both[0]);
    CALL(MPI_Precv_init, in[0], PARTS, COUNT, MPI_INT, left(), TAG, b->comm, MPI_INFO_NULL, &both[1]);
    for (int cycle = 0; cycle < 5; cycle++) {
        CALL(MPI_Startall, 2, both);
        if (cycle % 2) {
            CALL(MPI_Pready_range, 0, PARTS - 1, both[0]);
        } else {
            CALL(MPI_Pready, 0, both[0]);
            CALL(MPI_Pready, 2, both[0]);
            CALL(MPI_Pready_list, 2, list, both[0]);
        }
        CALL(MPI_Parrived, both[1], 0, &flag);
        if (cycle == 2)
            CALL(MPI_Waitall, 2, both, MPI_STATUSES_IGNORE);
        else if (cycle == 3)
            for (int i = 0; i < 2; i++)
                CALL(MPI_Wait, &both[1 - i], MPI_STATUS_IGNORE);
        else
            CALL(MPI_Waitall, 2, both, statuses);
        sent(b, PARTS * COUNT * sizeof(int), 1);
        received(b, PARTS * COUNT * sizeof(int));
    }
    CALL(MPI_Request_free, &both[0]);
    CALL(MPI_Request_free, &both[1]);
}
#endif

/* What a generalized request's callbacks do to MPI, inside of the call that completes it. */
struct general {
    MPI_Request *posted; /* by free_fn */
    int queries, frees, cancels;
};

/* MPICH 4.0.2 stops the program with an internal error when they do, under MPI_THREAD_MULTIPLE. */
static int callbacks_may_call(void)
{
#if defined(MPICH_VERSION)
    return !threaded;
#else
    return 1;
#endif
}

static int general_query(void *extra, MPI_Status *status)
{
    struct general *g = extra;
    int value = 4;
    g->queries++;
    if (callbacks_may_call()) {
        CALL(MPI_Sendrecv, &value, 1, MPI_INT, rank, TAG + 50, in[5], 1, MPI_INT, rank, TAG + 50, books[1].comm,
             MPI_STATUS_IGNORE);
        sent(&books[1], sizeof(int), 1);
        received(&books[1], sizeof(int));
    }
    MPI_Status_set_elements(status, MPI_INT, 1);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = status->MPI_TAG = MPI_UNDEFINED;
    return MPI_SUCCESS;
}

static int general_free(void *extra)
{
    struct general *g = extra;
    g->frees++;
    if (g->posted)
        CALL(MPI_Irecv, in[6], 4096, MPI_INT, left(), TAG + 51, books[0].comm, g->posted);
    return MPI_SUCCESS;
}

static int general_cancel(void *extra, int complete)
{
    struct general *g = extra;
    (void)complete;
    g->cancels++;
    return MPI_SUCCESS;
}

void general(void)
{
    struct general g = {0};
    MPI_Request requests[4], nested, sends[2];
    MPI_Status status;
    int flag;
    for (int i = 0; i < 10; i++) {
        CALL(MPI_Grequest_start, general_query, general_free, general_cancel, &g, &requests[0]);
        CALL(MPI_Test, &requests[0], &flag, &status);
        check((unsigned long long)flag, 0, "general", "a test before it is complete");
        CALL(MPI_Grequest_complete, requests[0]);
        CALL(MPI_Wait, &requests[0], &status);
    }
    /* between others: a receive, nothing, and one that posts a receive while the call is on its way out */
    for (int i = 0; i < 10; i++) {
        g.posted = callbacks_may_call() ? &nested : NULL;
        CALL(MPI_Irecv, in[0], 4096, MPI_INT, left(), TAG, books[0].comm, &requests[0]);
        requests[1] = MPI_REQUEST_NULL;
        CALL(MPI_Grequest_start, general_query, general_free, general_cancel, &g, &requests[2]);
        CALL(MPI_Irecv, in[1], 4096, MPI_INT, left(), TAG + 1, books[1].comm, &requests[3]);
        CALL(MPI_Grequest_complete, requests[2]);
        CALL(MPI_Isend, out, 9, MPI_INT, right(), TAG, books[0].comm, &sends[0]);
        CALL(MPI_Isend, out, 11, MPI_INT, right(), TAG + 1, books[1].comm, &sends[1]);
        CALL(MPI_Waitall, 4, requests, MPI_STATUSES_IGNORE);
        CALL(MPI_Waitall, 2, sends, MPI_STATUSES_IGNORE);
        sent(&books[0], 9 * sizeof(int), 1);
        sent(&books[1], 11 * sizeof(int), 1);
        received(&books[0], 9 * sizeof(int));
        received(&books[1], 11 * sizeof(int));
        if (g.posted) {
            CALL(MPI_Send, out, 13, MPI_INT, right(), TAG + 51, books[0].comm);
            CALL(MPI_Wait, &nested, MPI_STATUS_IGNORE);
            sent(&books[0], 13 * sizeof(int), 1);
            received(&books[0], 13 * sizeof(int));
        }
        nothing_is_pending_check(requests, 4);
    }
    g.posted = NULL;
    CALL(MPI_Grequest_start, general_query, general_free, general_cancel, &g, &requests[0]);
    CALL(MPI_Cancel, &requests[0]);
    CALL(MPI_Grequest_complete, requests[0]);
    CALL(MPI_Request_free, &requests[0]);
    check((unsigned long long)g.frees, 21, "general", "calls of free_fn");
    check((unsigned long long)g.cancels, 1, "general", "calls of cancel_fn");
}
