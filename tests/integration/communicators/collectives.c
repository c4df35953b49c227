/*
 * collectives [BOOK]
 *
 * Collectives, and those that are persistent or among neighbours: every call is counted by the program itself, with its
 * bytes, and held against mpit's variables. Exit status 0: all agree; 1: they do not; 77: mpit is not there, the calls
 * were made all the same. What each process counted on its first communicator is written into BOOK.RANK.
 */
#include "../common/callcount.h"
#include "neighborhood.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { N = 10, RANKS_MOST = 8, P2P = 2 };
enum { OWN_US = 20000, CLOCK_NS = 10000 }; /* MPI_Wtime may be another clock than mpit's */

/*
 * OPERATION(constant, name, name of the nonblocking one, blocks, ARGUMENT...): the blocks of N elements that this process
 * puts in and gets out, which MPI_IN_PLACE does not change. The arguments are those of all forms. The last operation
 * stands apart, see AT_ONCE.
 */
#define EACH(OPERATION)                                                                                                \
    OPERATION(BARRIER, Barrier, barrier, 0, comm)                                                                      \
    OPERATION(BCAST, Bcast, bcast, 1, own, N, MPI_INT, root, comm)                                                     \
    OPERATION(GATHER, Gather, gather, 1 + is_root * p, rooted, N, MPI_INT, out, N, MPI_INT, root, comm)                \
    OPERATION(GATHERV, Gatherv, gatherv, 1 + is_root * p, rooted, N, MPI_INT, out, counts, displs, MPI_INT, root,      \
              comm)                                                                                                    \
    OPERATION(SCATTERV, Scatterv, scatterv, 1 + is_root * p, own, counts, displs, MPI_INT, scattered, N, MPI_INT,      \
              root, comm)                                                                                              \
    OPERATION(ALLGATHER, Allgather, allgather, 1 + p, in, N, MPI_INT, out, N, MPI_INT, comm)                           \
    OPERATION(ALLGATHERV, Allgatherv, allgatherv, 1 + p, in, N, MPI_INT, out, counts, displs, MPI_INT, comm)           \
    OPERATION(ALLTOALL, Alltoall, alltoall, 2 * p, own, N, MPI_INT, out, N, MPI_INT, comm)                             \
    OPERATION(ALLTOALLV, Alltoallv, alltoallv, 2 * p, own, counts, displs, MPI_INT, out, counts, displs, MPI_INT,      \
              comm)                                                                                                    \
    OPERATION(ALLTOALLW, Alltoallw, alltoallw, 2 * p, own, counts, bytes_at, types, out, counts, bytes_at, types,      \
              comm)                                                                                                    \
    OPERATION(REDUCE, Reduce, reduce, 1 + is_root, rooted, out, N, MPI_INT, MPI_SUM, root, comm)                       \
    OPERATION(ALLREDUCE, Allreduce, allreduce, 2, in, out, N, MPI_INT, MPI_SUM, comm)                                  \
    OPERATION(REDUCE_SCATTER, Reduce_scatter, reduce_scatter, 1 + p, own, out, counts, MPI_INT, MPI_SUM, comm)         \
    OPERATION(REDUCE_SCATTER_BLOCK, Reduce_scatter_block, reduce_scatter_block, 1 + p, own, out, N, MPI_INT, MPI_SUM,  \
              comm)                                                                                                    \
    OPERATION(SCAN, Scan, scan, 2, in, out, N, MPI_INT, MPI_SUM, comm)                                                 \
    OPERATION(EXSCAN, Exscan, exscan, 1 + (rank > 0), own, out, N, MPI_INT, MPI_SUM, comm)                             \
    OPERATION(SCATTER, Scatter, scatter, 1 + is_root * p, own, N, MPI_INT, scattered, N, MPI_INT, root, comm)

#define CONSTANT(constant, ...) constant,
#define NAME(constant, name, ...) "MPI_" #name,
enum operation { EACH(CONSTANT) OPERATIONS };
static const char *const names[] = {EACH(NAME)};
enum form { BLOCKING, NONBLOCKING, PERSISTENT };

/* Each request has buffers of its own: many are under way at once. */
static struct {
    int in[RANKS_MOST * N], out[RANKS_MOST * N];
} data[OPERATIONS + P2P];
static int counts[RANKS_MOST], displs[RANKS_MOST], bytes_at[RANKS_MOST];
static MPI_Datatype types[RANKS_MOST];
static const MPI_Info info = MPI_INFO_NULL;

#define FORMS(constant, name, nonblocking, blocks, ...)                                                                \
    case constant:                                                                                                     \
        if (form == BLOCKING)                                                                                          \
            CALL(MPI_##name, __VA_ARGS__);                                                                             \
        else if (form == NONBLOCKING)                                                                                  \
            CALL(MPI_I##nonblocking, __VA_ARGS__, r);                                                                  \
        else                                                                                                           \
            CALL(MPI_##name##_init, __VA_ARGS__, info, r);                                                             \
        break;

static void operation_call(enum operation op, enum form form, MPI_Comm comm, int root, int in_place, MPI_Request *r)
{
    int *own = data[op].in, *out = data[op].out;
    void *in = in_place ? MPI_IN_PLACE : (void *)own, *rooted = rank == root ? in : (void *)own;
    void *scattered = in_place && rank == root ? MPI_IN_PLACE : (void *)out;
    switch (op) {
        EACH(FORMS)
    default:
        break;
    }
}

/* Bytes that this process puts in and gets out. */
static unsigned long long expected(enum operation op, int root)
{
#define BLOCKS(constant, name, nonblocking, blocks, ...) blocks,
    unsigned long long p = (unsigned long long)size, is_root = rank == root;
    const unsigned long long blocks[] = {EACH(BLOCKS)};
    return blocks[op] * N * sizeof(int);
}

/* Waits or tests until all are complete. What is complete is not asked for again: MPICH 4.0.2 returns inactive
 * persistent collectives from MPI_Waitany and its like for ever. */
static void any_complete(int testing, int several, int n, const MPI_Request *requests)
{
    MPI_Request left[OPERATIONS + P2P];
    memcpy(left, requests, (size_t)n * sizeof *left);
    for (int missing = n; missing > 0;) {
        int flag = 1, some = 1, indices[OPERATIONS + P2P], still = 0;
        if (several && testing)
            CALL(MPI_Testsome, missing, left, &some, indices, MPI_STATUSES_IGNORE);
        else if (several)
            CALL(MPI_Waitsome, missing, left, &some, indices, MPI_STATUSES_IGNORE);
        else if (testing)
            CALL(MPI_Testany, missing, left, &indices[0], &flag, MPI_STATUS_IGNORE);
        else
            CALL(MPI_Waitany, missing, left, &indices[0], MPI_STATUS_IGNORE);
        if (!flag || some <= 0) {
            usleep(100); /* the others need the processor */
            continue;
        }
        for (int i = 0; i < some; i++)
            left[indices[i]] = MPI_REQUEST_NULL;
        for (int i = 0; i < missing; i++)
            if (left[i] != MPI_REQUEST_NULL)
                left[still++] = left[i];
        missing = still;
    }
}

/* Completes all that were started, in one of the ways that MPI has. */
static void all_complete(int way, int n, MPI_Request *requests)
{
    int flag = 0;
    if (way < 4)
        any_complete(way % 2, way / 2, n, requests);
    else if (way == 4)
        for (int i = 0; i < n; i++)
            CALL(MPI_Wait, &requests[i], MPI_STATUS_IGNORE);
    else if (way == 5)
        CALL(MPI_Waitall, n, requests, MPI_STATUSES_IGNORE);
    else
        while (!flag)
            CALL(MPI_Testall, n, requests, &flag, MPI_STATUSES_IGNORE);
}

/*
 * What MPICH 4.0.2 cannot do, natively just as with mpit: MPI_Testall with persistent collectives among other requests,
 * and a second start of MPI_Scatter_init.
 */
#if defined(OPEN_MPI)
enum { COMPLETIONS = 7, AT_ONCE = OPERATIONS + P2P };
#else
enum { COMPLETIONS = 6, AT_ONCE = OPERATIONS + P2P - 1 };
#endif

/* Made, and not started: nothing has been collected, and there is nothing to wait for. MPICH 4.0.2 waits for ever. */
static void inactive_use(int n, MPI_Request *requests)
{
#if defined(OPEN_MPI)
    int flag = 0;
    CALL(MPI_Waitall, n, requests, MPI_STATUSES_IGNORE);
    CALL(MPI_Wait, &requests[0], MPI_STATUS_IGNORE);
    CALL(MPI_Testall, n, requests, &flag, MPI_STATUSES_IGNORE);
    check((unsigned long long)flag, 1, "the flag of inactive requests");
#else
    int flag;
    (void)n;
    CALL(MPI_Test, &requests[0], &flag, MPI_STATUS_IGNORE);
#endif
}

/* A send, the operations but the last one, a receive, the last operation: so they are started. */
static MPI_Request *place_of(MPI_Request *requests, enum operation op)
{
    return &requests[op == OPERATIONS - 1 ? OPERATIONS + 1 : 1 + op];
}

static unsigned rounds_of(enum operation op)
{
    return 1 + (op < OPERATIONS - 1 || AT_ONCE == OPERATIONS + P2P ? COMPLETIONS : 0);
}

struct watches {
    struct watch count, by_op, bytes, sent;
};

/* All operations, made once and started often: alone, and all at once with messages among them. */
static void persistent_run(const struct watch *count, MPI_Comm comm, int root, int in_place)
{
    MPI_Request requests[OPERATIONS + P2P];
    unsigned long long before = absent ? 0 : watch_value(count);
    CALL(MPI_Send_init, data[OPERATIONS].in, N, MPI_INT, (rank + 1) % size, 1, comm, &requests[0]);
    CALL(MPI_Recv_init, data[OPERATIONS + 1].in, N, MPI_INT, (rank + size - 1) % size, 1, comm, &requests[OPERATIONS]);
    for (enum operation op = BARRIER; op < OPERATIONS; op++)
        operation_call(op, PERSISTENT, comm, root, in_place, place_of(requests, op));
    inactive_use(OPERATIONS - 1, requests + 1);
    check(absent ? 0 : watch_value(count) - before, 0, "collectives that were only made");
    for (enum operation op = BARRIER; op < OPERATIONS; op++) {
        CALL(MPI_Start, place_of(requests, op));
        CALL(MPI_Wait, place_of(requests, op), MPI_STATUS_IGNORE);
    }
    for (int way = 0; way < COMPLETIONS; way++) {
        CALL(MPI_Startall, AT_ONCE, requests);
        all_complete(way, AT_ONCE, requests);
    }
    for (int i = 0; i < OPERATIONS + P2P; i++)
        CALL(MPI_Request_free, &requests[i]);
}

static void persistent_use(const struct watches *w, MPI_Comm comm, int root, int in_place)
{
    unsigned long long before[64], after[64], all = 0, all_bytes = 0;
    if (absent) {
        persistent_run(NULL, comm, root, in_place);
        return;
    }
    watch_read(&w->by_op, before);
    unsigned long long bytes = watch_value(&w->bytes), sent = watch_value(&w->sent), count = watch_value(&w->count);
    persistent_run(&w->count, comm, root, in_place);
    watch_read(&w->by_op, after);
    for (enum operation op = BARRIER; op < OPERATIONS; op++) {
        int slot = slot_find("mpit_coll_op_count", MPI_T_PVAR_CLASS_COUNTER, names[op]);
        check(slot < 0 ? 0 : after[slot] - before[slot], rounds_of(op), names[op]);
        all += rounds_of(op);
        all_bytes += rounds_of(op) * expected(op, root);
    }
    check(watch_value(&w->count) - count, all, "mpit_coll_count");
    check(watch_value(&w->bytes) - bytes, all_bytes, "mpit_coll_bytes");
    check(watch_value(&w->sent) - sent, COMPLETIONS, "mpit_send_count");
}

/* Each once as the standard's first versions have it, and once posted: what the persistent ones are held against. */
static void plain_use(const struct watches *w, MPI_Comm comm, int root)
{
    MPI_Request request;
    for (enum operation op = BARRIER; op < OPERATIONS; op++)
        for (int posted = 0; posted < 2; posted++) {
            unsigned long long bytes = absent ? 0 : watch_value(&w->bytes), count = absent ? 0 : watch_value(&w->count);
            operation_call(op, posted ? NONBLOCKING : BLOCKING, comm, root, 0, &request);
            if (posted)
                CALL(MPI_Wait, &request, MPI_STATUS_IGNORE);
            if (absent)
                continue;
            check(watch_value(&w->bytes) - bytes, expected(op, root), names[op]);
            check(watch_value(&w->count) - count, 1, names[op]);
        }
}

/* On a communicator of its own: one operation blocking, one posted, one started; the latter two are completed after
 * some time of the program's own. Their time from start to completion is in no call, but in between. */
static void execution_use(MPI_Comm parent)
{
    MPI_Comm comm;
    CALL(MPI_Comm_dup, parent, &comm);
    struct watch execution = watch_open("mpit_coll_execution_time", MPI_T_PVAR_CLASS_TIMER, &comm);
    struct watch inside = watch_open("mpit_coll_time", MPI_T_PVAR_CLASS_TIMER, &comm);
    operation_call(ALLREDUCE, BLOCKING, comm, 0, 0, NULL);
    check(watch_value(&execution), watch_value(&inside), "a blocking collective's time from start to completion");
    for (int started = 0; started < 2; started++) {
        MPI_Request request;
        if (started)
            operation_call(ALLREDUCE, PERSISTENT, comm, 0, 0, &request);
        unsigned long long before = watch_value(&execution), before_inside = watch_value(&inside);
        double begin = MPI_Wtime();
        if (started)
            CALL(MPI_Start, &request);
        else
            operation_call(ALLREDUCE, NONBLOCKING, comm, 0, 0, &request);
        double posted = MPI_Wtime();
        usleep(OWN_US);
        CALL(MPI_Wait, &request, MPI_STATUS_IGNORE);
        double end = MPI_Wtime();
        unsigned long long seen = watch_value(&execution) - before, seen_inside = watch_value(&inside) - before_inside;
        check(seen >= OWN_US * 999ull, 1, "a collective's time from start to completion, at least");
        check((double)seen <= (end - begin) * 1e9 + CLOCK_NS, 1,
              "a collective's time from start to completion, at most");
        check((double)seen_inside <= (posted - begin) * 1e9 + CLOCK_NS, 1, "the time in the call that starts it");
        if (started)
            CALL(MPI_Request_free, &request);
    }
    CALL(MPI_Comm_free, &comm);
}

/* What is no communication: moves or reduces data within the process, or sets a property together. */
static void data_use(MPI_Comm comm)
{
    static char packed[2 * N * sizeof(int)];
    int in[N], out[N], at = 0;
    MPI_Aint where = 0;
    MPI_Info none;
    for (int i = 0; i < N; i++)
        in[i] = i;
    memset(out, 0, sizeof out);
    CALL(MPI_Pack, in, N, MPI_INT, packed, sizeof packed, &at, comm);
    at = 0;
    CALL(MPI_Unpack, packed, sizeof packed, &at, out, N, MPI_INT, comm);
    check((unsigned long long)out[N - 1], N - 1, "what was packed");
    CALL(MPI_Pack_external, "external32", in, N, MPI_INT, packed, sizeof packed, &where);
    where = 0;
    CALL(MPI_Unpack_external, "external32", packed, sizeof packed, &where, out, N, MPI_INT);
    check((unsigned long long)out[N - 1], N - 1, "what was packed for others");
    CALL(MPI_Reduce_local, in, out, N, MPI_INT, MPI_SUM);
    check((unsigned long long)out[N - 1], 2 * (N - 1), "what was reduced here");
    MPI_Info_create(&none);
    CALL(MPI_Comm_set_info, comm, none);
    MPI_Info_free(&none);
}

/* What collectivesbook.py reads: of each operation, how many were blocking, how many not, and the bytes of all. */
static void book_write(const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s.%d", name, rank);
    FILE *file = fopen(path, "w");
    if (!file)
        MPI_Abort(MPI_COMM_WORLD, 3);
    for (enum operation op = BARRIER; op < OPERATIONS; op++) {
        unsigned long long at_first = 2 + rounds_of(op), at_last = rounds_of(op);
        fprintf(file, "operation %s 1 %u %llu\n", names[op], 1 + 2 * rounds_of(op),
                at_first * expected(op, 0) + at_last * expected(op, size - 1));
    }
    fprintf(file, "calls");
    callcount_print(file);
    fprintf(file, "\n");
    fclose(file);
}

int main(int argc, char **argv)
{
    callcount_begin(&argc, &argv);
    if (size > RANKS_MOST) {
        fprintf(stderr, "collectives: at most %d processes\n", RANKS_MOST);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    for (int i = 0; i < RANKS_MOST; i++) {
        counts[i] = N;
        displs[i] = i * N;
        bytes_at[i] = i * N * (int)sizeof(int);
        types[i] = MPI_INT;
    }
    MPI_Comm comm;
    struct watch calls = watch_open("mpit_call_count", MPI_T_PVAR_CLASS_COUNTER, NULL);
    CALL(MPI_Comm_dup, MPI_COMM_WORLD, &comm);
    struct watches w = {.count = watch_open("mpit_coll_count", MPI_T_PVAR_CLASS_COUNTER, &comm),
                        .by_op = watch_open("mpit_coll_op_count", MPI_T_PVAR_CLASS_COUNTER, &comm),
                        .bytes = watch_open("mpit_coll_bytes", MPI_T_PVAR_CLASS_AGGREGATE, &comm),
                        .sent = watch_open("mpit_send_count", MPI_T_PVAR_CLASS_COUNTER, &comm)};
    plain_use(&w, comm, 0);
    persistent_use(&w, comm, 0, 0);
    persistent_use(&w, comm, size - 1, 1);
    neighborhood_use(comm);
    data_use(comm);
    if (!absent)
        execution_use(comm);
    if (argc > 1)
        book_write(argv[1]);
    if (!absent)
        callcount_compare(&calls);
    MPI_Comm_free(&comm);
    return callcount_end("collectives");
}
