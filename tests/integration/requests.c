/*
 * requests [threads]
 *
 * Requests of all kinds: matched, paired, generalized, persistent, partitioned; inactive and null ones between others,
 * freed and cancelled ones, handles that the library uses again at once; with `threads`, posted by one thread and
 * completed by another. The program counts every call and message itself, and holds that against the variables of two
 * communicators. Exit status 0: all agree; 1: they do not; 77: mpit is not there, the calls were made all the same.
 */
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CALLS = 96, COMMS = 2, TAG = 7 };

static struct {
    const char *name;
    unsigned long long count;
} calls[CALLS];
static pthread_mutex_t calls_lock = PTHREAD_MUTEX_INITIALIZER;

/* What was sent and received, as the catalogue counts it. */
struct book {
    MPI_Comm comm;
    unsigned long long sends, send_bytes, receives, receive_bytes, done;
};

static struct book books[COMMS];
static unsigned long long unseen; /* receives that were freed while active */
static int rank, size, failures, absent, threaded;

static void counted(int code, const char *name)
{
    int i = 0;
    if (code != MPI_SUCCESS) {
        fprintf(stderr, "%d: %s returned %d\n", rank, name, code);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
    pthread_mutex_lock(&calls_lock);
    while (calls[i].name && strcmp(calls[i].name, name) != 0)
        i++;
    calls[i].name = name;
    calls[i].count++;
    pthread_mutex_unlock(&calls_lock);
}

#define CALL(function, ...) counted(function(__VA_ARGS__), #function)

#define ADD(place, value) __atomic_fetch_add(&(place), (unsigned long long)(value), __ATOMIC_RELAXED)

static void sent(struct book *book, size_t bytes, int completed)
{
    ADD(book->sends, 1);
    ADD(book->send_bytes, bytes);
    ADD(book->done, completed);
}

static void received(struct book *book, size_t bytes)
{
    ADD(book->receives, 1);
    ADD(book->receive_bytes, bytes);
    ADD(book->done, 1);
}

static void check(unsigned long long is, unsigned long long expected, const char *part, const char *what)
{
    if (is == expected)
        return;
    failures++;
    printf("process %d, %s: %s is %llu, the program counted %llu\n", rank, part, what, is, expected);
}

/* ---- the variables ----------------------------------------------------------------------------------------------- */

struct watch {
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle;
    int count;
};

static struct watch watch_open(const char *name, int class, MPI_Comm *comm)
{
    struct watch w = {.count = 0};
    int index;
    if (MPI_T_pvar_get_index(name, class, &index) != MPI_SUCCESS) {
        absent = 1;
        return w;
    }
    MPI_T_pvar_session_create(&w.session);
    if (MPI_T_pvar_handle_alloc(w.session, index, comm, &w.handle, &w.count) != MPI_SUCCESS)
        MPI_Abort(MPI_COMM_WORLD, 4);
    if (class != MPI_T_PVAR_CLASS_LEVEL)
        MPI_T_pvar_start(w.session, w.handle);
    return w;
}

static void watch_read(const struct watch *w, unsigned long long *values)
{
    if (MPI_T_pvar_read(w->session, w->handle, values) != MPI_SUCCESS)
        MPI_Abort(MPI_COMM_WORLD, 5);
}

enum { FIGURES = 8 };
static const struct {
    const char *name;
    int aggregate; /* 0: a counter, 1: an aggregate, 2: a level */
} figures[FIGURES] = {
    {"mpit_send_count", 0}, {"mpit_send_bytes", 1},    {"mpit_recv_count", 0},    {"mpit_recv_bytes", 1},
    {"mpit_p2p_count", 0},  {"mpit_pending_sends", 2}, {"mpit_pending_recvs", 2}, {"mpit_pending_bytes", 2},
};
static struct watch of_comm[COMMS][FIGURES], of_calls, of_losses;

static void watches_open(void)
{
    static const int classes[] = {MPI_T_PVAR_CLASS_COUNTER, MPI_T_PVAR_CLASS_AGGREGATE, MPI_T_PVAR_CLASS_LEVEL};
    of_calls = watch_open("mpit_call_count", MPI_T_PVAR_CLASS_COUNTER, NULL);
    of_losses = watch_open("mpit_events_lost", MPI_T_PVAR_CLASS_COUNTER, NULL);
    for (int c = 0; c < COMMS; c++)
        for (int f = 0; f < FIGURES; f++)
            of_comm[c][f] = watch_open(figures[f].name, classes[figures[f].aggregate], &books[c].comm);
}

/* Nothing is pending when a part is over. */
static void part_check(const char *part)
{
    for (int c = 0; c < COMMS && !absent; c++) {
        const struct book *b = &books[c];
        unsigned long long expected[FIGURES] = {b->sends, b->send_bytes, b->receives, b->receive_bytes, b->done, 0, 0,
                                                0};
        for (int f = 0; f < FIGURES; f++) {
            unsigned long long value = 0;
            watch_read(&of_comm[c][f], &value);
            check(value, expected[f], part, figures[f].name);
        }
    }
    if (absent)
        return;
    unsigned long long lost[64] = {0}, all = 0;
    watch_read(&of_losses, lost);
    for (int i = 0; i < of_losses.count && i < 64; i++)
        all += lost[i];
    check(all, unseen, part, "mpit_events_lost");
}

static void calls_check(void)
{
    unsigned long long *seen = calloc((size_t)of_calls.count, sizeof *seen);
    MPI_T_enum list;
    int index, verbosity, class, bind, readonly, continuous, atomic, items;
    MPI_Datatype type;
    char name[128];
    int name_length = 0, text_length = 0;
    watch_read(&of_calls, seen);
    MPI_T_pvar_get_index("mpit_current_call", MPI_T_PVAR_CLASS_STATE, &index);
    MPI_T_pvar_get_info(index, NULL, &name_length, &verbosity, &class, &type, &list, NULL, &text_length, &bind,
                        &readonly, &continuous, &atomic);
    MPI_T_enum_get_info(list, &items, NULL, &name_length);
    for (int c = 0; calls[c].name; c++) {
        int found = 0;
        for (int i = 0; i < items && i < of_calls.count; i++) {
            int value, length = sizeof name;
            MPI_T_enum_get_item(list, i, &value, name, &length);
            if (strcmp(name, calls[c].name) == 0) {
                found = 1;
                check(seen[value], calls[c].count, "at the end", name);
            }
        }
        check((unsigned long long)found, 1, "the recorded functions", calls[c].name);
    }
    free(seen);
}

/* ---- the parts --------------------------------------------------------------------------------------------------- */

static int right(void)
{
    return (rank + 1) % size;
}

static int left(void)
{
    return (rank + size - 1) % size;
}

static int out[4096], in[8][4096];

static void post_send(struct book *book, int count, int tag, MPI_Request *request)
{
    CALL(MPI_Isend, out, count, MPI_INT, right(), tag, book->comm, request);
    sent(book, (size_t)count * sizeof(int), 1);
}

static void nothing_is_pending_check(const MPI_Request *requests, int n)
{
    for (int i = 0; i < n; i++)
        check(requests[i] == MPI_REQUEST_NULL, 1, "requests", "MPI_REQUEST_NULL behind a completion");
}

/* Messages that are matched first and received in another order, out of other variables, into requests or not. */
static void matched(void)
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

#if MPI_VERSION >= 4
/* One request, two messages; or one, or none. */
static void paired(void)
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
static void partitioned(void)
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

static void general(void)
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

/* Inactive and null requests stand between those that complete; some are started, others are not. */
static void persistent(void)
{
    enum { N = 8 };
    MPI_Request r[N];
    MPI_Status statuses[N];
    int indices[N], outcount, index, flag, cancelled;
    struct book *b = &books[0];
    for (int i = 0; i < N; i++)
        r[i] = MPI_REQUEST_NULL;
    for (int i = 0; i < 3; i++) {
        CALL(MPI_Recv_init, in[i], 4096, MPI_INT, left(), TAG + i, b->comm, &r[2 * i]);
        CALL(MPI_Send_init, out, 100 * i, MPI_INT, right(), TAG + i, b->comm, &r[2 * i + 1]);
    }
    CALL(MPI_Test, &r[0], &flag, &statuses[0]);
    CALL(MPI_Wait, &r[1], MPI_STATUS_IGNORE);
    CALL(MPI_Testany, N, r, &index, &flag, &statuses[0]);
    check(flag && index == MPI_UNDEFINED, 1, "persistent", "a test of inactive requests");
    CALL(MPI_Testall, N, r, &flag, statuses);
    CALL(MPI_Waitall, N, r, MPI_STATUSES_IGNORE);
    for (int cycle = 0; cycle < 12; cycle++) {
        int first = cycle % 2, left_over = 4; /* the first two pairs, or the last two */
        CALL(MPI_Startall, 2, r + 2 * first);
        CALL(MPI_Start, &r[2 * first + 2]);
        CALL(MPI_Start, &r[2 * first + 3]);
        while (left_over > 0) {
            outcount = 0;
            if (cycle % 4 == 0) {
                CALL(MPI_Waitsome, N, r, &outcount, indices, cycle == 4 ? MPI_STATUSES_IGNORE : statuses);
            } else if (cycle % 4 == 1) {
                CALL(MPI_Testsome, N, r, &outcount, indices, statuses);
            } else if (cycle % 4 == 2) {
                CALL(MPI_Waitany, N, r, &index, &statuses[0]);
                outcount = 1;
            } else {
                CALL(MPI_Testany, N, r, &index, &flag, MPI_STATUS_IGNORE);
                outcount = flag && index != MPI_UNDEFINED;
            }
            left_over -= outcount;
        }
        for (int i = first; i < first + 2; i++) {
            sent(b, (size_t)(100 * i) * sizeof(int), 1);
            received(b, (size_t)(100 * i) * sizeof(int));
        }
    }
    for (int i = 0; i < 5; i++) { /* cancelled, and started again */
        CALL(MPI_Start, &r[0]);
        CALL(MPI_Cancel, &r[0]);
        CALL(MPI_Wait, &r[0], &statuses[0]);
        MPI_Test_cancelled(&statuses[0], &cancelled);
        check((unsigned long long)cancelled, 1, "persistent", "cancelled receives");
        MPI_Barrier(MPI_COMM_WORLD);
        CALL(MPI_Startall, 2, r);
        CALL(MPI_Waitall, 2, r, statuses);
        sent(b, 0, 1);
        received(b, 0);
    }
    for (int i = 0; i < 6; i++)
        CALL(MPI_Request_free, &r[i]);
}

/* Asked, before another call completes them. */
static void asked(void)
{
    MPI_Request receive, send;
    int flag = 1;
    CALL(MPI_Irecv, in[0], 4096, MPI_INT, left(), TAG, books[0].comm, &receive);
    CALL(MPI_Request_get_status, receive, &flag, MPI_STATUS_IGNORE);
    check((unsigned long long)flag, 0, "asked", "a receive that nobody sends to");
    MPI_Barrier(MPI_COMM_WORLD);
    post_send(&books[0], 17, TAG, &send);
    for (flag = 0; !flag;)
        CALL(MPI_Request_get_status, receive, &flag, MPI_STATUS_IGNORE);
    CALL(MPI_Wait, &receive, MPI_STATUS_IGNORE);
    received(&books[0], 17 * sizeof(int));
    for (flag = 0; !flag;)
        CALL(MPI_Test, &send, &flag, MPI_STATUS_IGNORE);
}

/* Freed while active: of a send nothing is missed but its end; what a receive brings is seen by nobody. Their handles
 * are those of the next requests. */
static void freed(void)
{
    enum { ROUNDS = 50, MOST = 4096 };
    MPI_Request receive, gone, sends[2];
    MPI_Status status;
    int done = 0, count;
    for (int i = 0; i < ROUNDS; i++) {
        CALL(MPI_Irecv, in[0], MOST, MPI_INT, left(), TAG, books[0].comm, &receive);
        CALL(MPI_Isend, out, i, MPI_INT, right(), TAG, books[0].comm, &gone);
        sent(&books[0], (size_t)i * sizeof(int), 0);
        CALL(MPI_Request_free, &gone);
        CALL(MPI_Wait, &receive, &status);
        received(&books[0], (size_t)i * sizeof(int));
    }
#if defined(MPICH_VERSION)
    if (size == 1) /* MPICH 4.0.2 never completes a send to a receive of the same process that was freed */
        return;
#endif
    for (int i = 0; i < ROUNDS; i++) {
        CALL(MPI_Irecv, in[1], 1, MPI_INT, left(), TAG + 1, books[1].comm, &gone);
        CALL(MPI_Request_free, &gone);
        unseen++;
        CALL(MPI_Irecv, in[2], MOST, MPI_INT, left(), TAG + 2, books[0].comm, &receive);
        CALL(MPI_Isend, out, 1, MPI_INT, right(), TAG + 1, books[1].comm, &sends[0]);
        CALL(MPI_Isend, out, 2 * i, MPI_INT, right(), TAG + 2, books[0].comm, &sends[1]);
        sent(&books[1], sizeof(int), 1);
        sent(&books[0], (size_t)(2 * i) * sizeof(int), 1);
        CALL(MPI_Waitall, 2, sends, MPI_STATUSES_IGNORE);
        CALL(MPI_Wait, &receive, &status);
        MPI_Get_count(&status, MPI_INT, &count);
        done += count;
        received(&books[0], (size_t)(2 * i) * sizeof(int));
    }
    check((unsigned long long)done, ROUNDS * (ROUNDS - 1), "freed", "what arrived");
}

/* Messages on both communicators with equal handles, completed from the last to the first and every other way. */
static void equal_handles(void)
{
    enum { N = 48 };
    MPI_Request sends[N], receives[N], copies[N];
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < N; i++)
            CALL(MPI_Irecv, &in[0][i * 16], 16, MPI_INT, left(), TAG + i, books[i % COMMS].comm, &receives[i]);
        for (int i = 0; i < N; i++)
            post_send(&books[i % COMMS], i % 16, TAG + i, &sends[i]);
        memcpy(copies, sends, sizeof sends);
        for (int i = N - 1; i >= 0; i--)
            CALL(MPI_Wait, round == 3 ? &copies[i] : &sends[i], MPI_STATUS_IGNORE);
        for (int i = 0; i < N; i += 2)
            CALL(MPI_Wait, &receives[i], MPI_STATUS_IGNORE);
        CALL(MPI_Waitall, N, receives, MPI_STATUSES_IGNORE); /* half of them are null */
        for (int i = 0; i < N; i++)
            received(&books[i % COMMS], (size_t)(i % 16) * sizeof(int));
    }
}

/* ---- several threads --------------------------------------------------------------------------------------------- */

enum { THREADS = 3, HANDED = 40, ROUNDS = 6 };

struct hand {
    pthread_t thread;
    int number;
    MPI_Request sends[HANDED], receives[HANDED];
    MPI_Message message;
    int posted, matched; /* turns, with release and acquire */
};

static struct hand hands[THREADS];

static void turn_wait(const int *turn, int value)
{
    while (__atomic_load_n(turn, __ATOMIC_ACQUIRE) != value)
        sched_yield();
}

/* Completes what the other thread has posted, in a way that depends on the round. */
static void hand_complete(struct hand *h, int round, int tag)
{
    int outcount, indices[HANDED], left_over = HANDED, index;
    (void)tag;
    if (round % 3 == 0)
        CALL(MPI_Waitall, HANDED, h->receives, MPI_STATUSES_IGNORE);
    for (; round % 3 == 1 && left_over; left_over -= outcount)
        CALL(MPI_Waitsome, HANDED, h->receives, &outcount, indices, MPI_STATUSES_IGNORE);
    for (; round % 3 == 2 && left_over; left_over--)
        CALL(MPI_Waitany, HANDED, h->receives, &index, MPI_STATUS_IGNORE);
    for (int i = HANDED - 1; i >= 0; i--)
        CALL(MPI_Wait, &h->sends[i], MPI_STATUS_IGNORE);
    for (int i = 0; i < HANDED; i++)
        received(&books[i % COMMS], (size_t)i * sizeof(int));
}

static void *hand_work(void *argument)
{
    struct hand *h = argument;
    MPI_Status status;
    int own[HANDED], tag = 1000 * (h->number + 1);
    for (int round = 0; round < ROUNDS; round++) {
        turn_wait(&h->posted, 2 * round + 1);
        hand_complete(h, round, tag);
        CALL(MPI_Mprobe, left(), tag + 500, books[0].comm, &h->message, &status);
        __atomic_store_n(&h->posted, 2 * round + 2, __ATOMIC_RELEASE);
        CALL(MPI_Sendrecv, own, HANDED, MPI_INT, right(), tag + 501, in[6], HANDED, MPI_INT, left(), tag + 501,
             books[1].comm, MPI_STATUS_IGNORE);
        sent(&books[1], sizeof own, 1);
        received(&books[1], sizeof own);
    }
    return NULL;
}

/* Thread 0 posts for all, and receives what they have matched. */
static void across_threads(void)
{
    static int buffers[THREADS][HANDED][HANDED];
    MPI_Request extra[THREADS];
    for (int t = 0; t < THREADS; t++) {
        hands[t].number = t;
        pthread_create(&hands[t].thread, NULL, hand_work, &hands[t]);
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (int t = 0; t < THREADS; t++) {
            int tag = 1000 * (t + 1);
            for (int i = 0; i < HANDED; i++)
                CALL(MPI_Irecv, buffers[t][i], HANDED, MPI_INT, left(), tag + i, books[i % COMMS].comm,
                     &hands[t].receives[i]);
            for (int i = 0; i < HANDED; i++)
                post_send(&books[i % COMMS], i, tag + i, &hands[t].sends[i]);
            post_send(&books[0], 12, tag + 500, &extra[t]);
            __atomic_store_n(&hands[t].posted, 2 * round + 1, __ATOMIC_RELEASE);
        }
        for (int t = 0; t < THREADS; t++) {
            MPI_Request request;
            turn_wait(&hands[t].posted, 2 * round + 2);
            if (t % 2) {
                CALL(MPI_Mrecv, in[7], 4096, MPI_INT, &hands[t].message, MPI_STATUS_IGNORE);
            } else {
                CALL(MPI_Imrecv, in[7], 4096, MPI_INT, &hands[t].message, &request);
                CALL(MPI_Wait, &request, MPI_STATUS_IGNORE);
            }
            received(&books[0], 12 * sizeof(int));
        }
        CALL(MPI_Waitall, THREADS, extra, MPI_STATUSES_IGNORE);
    }
    for (int t = 0; t < THREADS; t++)
        pthread_join(hands[t].thread, NULL);
}

#if MPI_VERSION >= 4
static MPI_Request parts[2];

static void *part_ready(void *argument)
{
    CALL(MPI_Pready, *(int *)argument, parts[0]);
    return NULL;
}

/* Each thread says of one partition that it is ready, while the first waits for all of them. */
static void partitions_of_threads(void)
{
    enum { COUNT = 25, CYCLES = 5 };
    pthread_t threads[THREADS];
    int numbers[THREADS];
    CALL(MPI_Psend_init, out, THREADS, COUNT, MPI_INT, right(), TAG, books[0].comm, MPI_INFO_NULL, &parts[0]);
    CALL(MPI_Precv_init, in[0], THREADS, COUNT, MPI_INT, left(), TAG, books[0].comm, MPI_INFO_NULL, &parts[1]);
    for (int cycle = 0; cycle < CYCLES; cycle++) {
        CALL(MPI_Startall, 2, parts);
        for (int t = 0; t < THREADS; t++) {
            numbers[t] = t;
            pthread_create(&threads[t], NULL, part_ready, &numbers[t]);
        }
        for (int t = 0; t < THREADS; t++)
            pthread_join(threads[t], NULL);
        CALL(MPI_Waitall, 2, parts, MPI_STATUSES_IGNORE);
        sent(&books[0], THREADS * COUNT * sizeof(int), 1);
        received(&books[0], THREADS * COUNT * sizeof(int));
    }
    CALL(MPI_Request_free, &parts[0]);
    CALL(MPI_Request_free, &parts[1]);
}
#endif

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
        int threads;
    } all_parts[] = {
        {"matched", matched, 0},
        {"general", general, 0},
        {"persistent", persistent, 0},
        {"asked", asked, 0},
        {"freed", freed, 0},
        {"equal handles", equal_handles, 0},
#if MPI_VERSION >= 4
        {"paired", paired, 0},
        {"partitioned", partitioned, 0},
#endif
        {"across threads", across_threads, 1},
#if MPI_VERSION >= 4
        {"partitions of threads", partitions_of_threads, 1},
#endif
    };
    int provided, all = 0;
    threaded = argc > 1 && strcmp(argv[1], "threads") == 0;
    MPI_Init_thread(&argc, &argv, threaded ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    if (threaded && provided != MPI_THREAD_MULTIPLE)
        threaded = 0;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int c = 0; c < COMMS; c++)
        MPI_Comm_dup(MPI_COMM_WORLD, &books[c].comm);
    watches_open();
    for (size_t p = 0; p < sizeof all_parts / sizeof *all_parts; p++) {
        if (all_parts[p].threads > threaded)
            continue;
        all_parts[p].run();
        MPI_Barrier(MPI_COMM_WORLD);
        part_check(all_parts[p].name);
    }
    if (!absent)
        calls_check();
    MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d processes%s: %llu messages sent, %d mismatches\n", size, threaded ? ", several threads" : "",
               books[0].sends + books[1].sends, all);
    for (int c = 0; c < COMMS; c++)
        MPI_Comm_free(&books[c].comm);
    MPI_T_finalize();
    MPI_Finalize();
    return absent ? 77 : all != 0;
}
