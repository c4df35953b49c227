/*
 * fabriccolls KINDS BARRIER: what mpit's variables say of the layer below MPI, beside what the traffic must have been.
 *
 * KINDS "seen": the transport is libfabric or UCX; "+others": and the library progresses nonblocking collectives in a
 * callback of its progress engine; "+acks": and the receiver of a synchronous message answers with one more; "none":
 * nothing of either is used. BARRIER "doubling" or "dissemination": the
 * barrier's algorithm; broadcasts are binomial, allgathers go around a ring. Whoever starts this has made the library
 * use these.
 *
 * All handles are started and stopped together, so that what they count is what the run has of it. The closing lines
 * are the sums over all ranks, for the summary to be compared with.
 */
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROUNDS = 5, SLOTS = 1024, EAGER = 40, EAGER_BYTES = 100, LARGE_BYTES = 3 << 20, SYNCHRONOUS = 7 };
typedef unsigned long long wide;

/* Those of a communicator are counted for `other_comm`, in which nothing else happens. */
enum {
    OPS,
    BYTES,
    POLLS,
    EMPTY,
    AGAIN,
    ERRORS,
    TIME,
    POLL_TIME,
    CALL_TIME,
    OTHER,
    P2P,
    TRANSFER_TIME,
    COLL_TIME,
    COMM_TIME,
    COMM_FABRIC_TIME,
    VARIABLES
};
static const struct {
    const char *name;
    int class, on_comm;
} variables[VARIABLES] = {
    [OPS] = {"mpit_fabric_ops", MPI_T_PVAR_CLASS_COUNTER, 0},
    [BYTES] = {"mpit_fabric_bytes", MPI_T_PVAR_CLASS_AGGREGATE, 0},
    [POLLS] = {"mpit_fabric_polls", MPI_T_PVAR_CLASS_COUNTER, 0},
    [EMPTY] = {"mpit_fabric_empty_polls", MPI_T_PVAR_CLASS_COUNTER, 0},
    [AGAIN] = {"mpit_fabric_again", MPI_T_PVAR_CLASS_COUNTER, 0},
    [ERRORS] = {"mpit_fabric_errors", MPI_T_PVAR_CLASS_COUNTER, 0},
    [TIME] = {"mpit_fabric_time", MPI_T_PVAR_CLASS_TIMER, 0},
    [POLL_TIME] = {"mpit_fabric_poll_time", MPI_T_PVAR_CLASS_TIMER, 0},
    [CALL_TIME] = {"mpit_call_fabric_time", MPI_T_PVAR_CLASS_TIMER, 0},
    [OTHER] = {"mpit_fabric_other", MPI_T_PVAR_CLASS_COUNTER, 0},
    [P2P] = {"mpit_coll_p2p_count", MPI_T_PVAR_CLASS_COUNTER, 1},
    [TRANSFER_TIME] = {"mpit_coll_transfer_time", MPI_T_PVAR_CLASS_TIMER, 1},
    [COLL_TIME] = {"mpit_coll_time", MPI_T_PVAR_CLASS_TIMER, 1},
    [COMM_TIME] = {"mpit_comm_time", MPI_T_PVAR_CLASS_TIMER, 1},
    [COMM_FABRIC_TIME] = {"mpit_comm_fabric_time", MPI_T_PVAR_CLASS_TIMER, 1},
};

static int rank, size, checks, failures;
static bool seen, others_told, acknowledged;
static MPI_Comm comm, other_comm;
static MPI_T_pvar_session session;
static MPI_T_pvar_handle handles[VARIABLES];
static int counts[VARIABLES];
static int slot_send = -1, slot_inject = -1, slot_recv = -1;
static wide before[VARIABLES][SLOTS], now[VARIABLES][SLOTS];

static void check(const char *what, bool good, wide got, wide expected)
{
    checks++;
    if (!good) {
        failures++;
        printf("rank %d: %s: %llu, %llu expected\n", rank, what, got, expected);
    }
}

static void same(const char *what, wide got, wide expected)
{
    check(what, got == expected, got, expected);
}

static void at_most(const char *what, wide got, wide limit)
{
    check(what, got <= limit, got, limit);
}

/* Each figure is ticks made into nanoseconds: a difference of two may be one off, a sum of some by as many. */
static void time_at_most(const char *what, wide got, wide limit)
{
    at_most(what, got, limit + 20);
}

static void must(const char *what, int result)
{
    if (result == MPI_SUCCESS)
        return;
    fprintf(stderr, "rank %d: %s: error %d\n", rank, what, result);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void slots_find(MPI_T_enum names)
{
    int items, length;
    char name[64];
    must("enum", MPI_T_enum_get_info(names, &items, name, (length = sizeof name, &length)));
    for (int i = 0; i < items; i++) {
        int value;
        must("item", MPI_T_enum_get_item(names, i, &value, name, (length = sizeof name, &length)));
        if (strcmp(name, "send") == 0)
            slot_send = value;
        if (strcmp(name, "inject") == 0)
            slot_inject = value;
        if (strcmp(name, "recv") == 0)
            slot_recv = value;
    }
}

static void handles_make(void)
{
    must("session", MPI_T_pvar_session_create(&session));
    for (int i = 0; i < VARIABLES; i++) {
        int index, verbosity, class, bind, readonly, continuous, atomic;
        MPI_Datatype type;
        MPI_T_enum names;
        must(variables[i].name, MPI_T_pvar_get_index(variables[i].name, variables[i].class, &index));
        must(variables[i].name, MPI_T_pvar_get_info(index, NULL, NULL, &verbosity, &class, &type, &names, NULL, NULL,
                                                    &bind, &readonly, &continuous, &atomic));
        same("type", type == MPI_UNSIGNED_LONG_LONG, 1);
        same("bind", bind, variables[i].on_comm ? MPI_T_BIND_MPI_COMM : MPI_T_BIND_NO_OBJECT);
        must(variables[i].name, MPI_T_pvar_handle_alloc(session, index, variables[i].on_comm ? &other_comm : NULL,
                                                        &handles[i], &counts[i]));
        same("it fits", counts[i] <= SLOTS, 1);
        if (i == OPS)
            slots_find(names);
    }
    same("the slots have names", slot_send >= 0 && slot_inject >= 0 && slot_recv >= 0, 1);
}

static void read_into(wide values[VARIABLES][SLOTS])
{
    for (int i = 0; i < VARIABLES; i++)
        must(variables[i].name, MPI_T_pvar_read(session, handles[i], values[i]));
}

static void part_begin(void)
{
    read_into(before);
}

static void part_end(void)
{
    read_into(now);
    for (int i = 0; i < VARIABLES; i++)
        for (int slot = 0; slot < counts[i]; slot++)
            now[i][slot] -= before[i][slot];
}

static wide sum_of(int variable)
{
    wide sum = 0;
    for (int slot = 0; slot < counts[variable]; slot++)
        sum += now[variable][slot];
    return sum;
}

static wide over_ranks(wide mine)
{
    wide all;
    must("sum", MPI_Allreduce(&mine, &all, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, comm));
    return all;
}

static wide sends(int variable)
{
    return now[variable][slot_send] + now[variable][slot_inject];
}

static void bounds(void)
{
    time_at_most("transfers' time and the collectives'", now[TRANSFER_TIME][0], now[COLL_TIME][0]);
    time_at_most("fabric time and the communicator's", now[COMM_FABRIC_TIME][0], now[COMM_TIME][0]);
    at_most("empty polls and polls", now[EMPTY][0], now[POLLS][0]);
    time_at_most("poll time and fabric time", now[POLL_TIME][0], now[TIME][0]);
    time_at_most("time in calls and fabric time", sum_of(CALL_TIME), now[TIME][0]);
    time_at_most("fabric time of the communicator and that of all calls", now[COMM_FABRIC_TIME][0], sum_of(CALL_TIME));
    same("errors", now[ERRORS][0], 0);
}

/* ---- point to point ---------------------------------------------------------------------------------------------- */

static void messages(void)
{
    static char out[LARGE_BYTES], in[LARGE_BYTES];
    int to = (rank + 1) % size, from = (rank + size - 1) % size;
    MPI_Request request;
    part_begin();
    for (int i = 0; i < EAGER; i++) {
        must("irecv", MPI_Irecv(in, EAGER_BYTES, MPI_BYTE, from, i, other_comm, &request));
        must("send", MPI_Send(out, EAGER_BYTES, MPI_BYTE, to, i, other_comm));
        must("wait", MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    must("sendrecv", MPI_Sendrecv(out, LARGE_BYTES, MPI_BYTE, to, 1, in, LARGE_BYTES, MPI_BYTE, from, 1, other_comm,
                                  MPI_STATUS_IGNORE));
    for (int i = 0; i < SYNCHRONOUS; i++) {
        must("issend", MPI_Issend(out, i, MPI_BYTE, to, 2, other_comm, &request));
        must("recv", MPI_Recv(in, i, MPI_BYTE, from, 2, other_comm, MPI_STATUS_IGNORE));
        must("wait", MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    part_end();
    wide messages = EAGER + 1 + SYNCHRONOUS,
         bytes = EAGER * EAGER_BYTES + LARGE_BYTES + SYNCHRONOUS * (SYNCHRONOUS - 1) / 2;
    messages += acknowledged ? SYNCHRONOUS : 0;
    same("sends", sends(OPS), seen ? messages : 0);
    same("bytes sent", sends(BYTES), seen ? bytes : 0);
    same("receives", now[OPS][slot_recv], seen ? messages : 0);
    same("bytes of receives", now[BYTES][slot_recv], seen ? bytes : 0);
    same("transfers in collectives", now[P2P][0], 0);
    same("polls at all", now[POLLS][0] > 0, seen);
    same("time at all", now[TIME][0] > 0 && now[COMM_FABRIC_TIME][0] > 0, seen);
    bounds();
}

/* ---- collectives ------------------------------------------------------------------------------------------------- */

static int log2_up(int n)
{
    int steps = 0;
    while (1 << steps < n)
        steps++;
    return steps;
}

static const char *barrier;

static wide transfers_of(const char *what)
{
    if (strcmp(what, "bcast") == 0)
        return size - 1;
    if (strcmp(what, "allgather") == 0)
        return (wide)size * (size - 1);
    if (strcmp(barrier, "dissemination") == 0)
        return (wide)size * log2_up(size);
    int inner = 1 << log2_up(size), extra; /* doubling: those beyond the power of two are told by a partner */
    inner = inner > size ? inner / 2 : inner;
    extra = size - inner;
    return (wide)inner * log2_up(inner) + 2 * extra;
}

/* The last step of Open MPI's barrier by doubling is synchronous, to those beyond the power of two. */
static wide acks_of(const char *what)
{
    bool some = acknowledged && strcmp(what, "barrier") == 0 && strcmp(barrier, "doubling") == 0;
    int inner = 1 << log2_up(size);
    return some && inner > size ? (wide)(size - inner / 2) : 0;
}

static void collective(const char *what)
{
    static char out[64], in[64 * 16];
    wide all, time;
    part_begin();
    for (int i = 0; i < ROUNDS; i++) {
        if (strcmp(what, "barrier") == 0)
            must(what, MPI_Barrier(other_comm));
        else if (strcmp(what, "bcast") == 0)
            must(what, MPI_Bcast(out, 40, MPI_BYTE, i % size, other_comm));
        else
            must(what, MPI_Allgather(out, 64, MPI_BYTE, in, 64, MPI_BYTE, other_comm));
    }
    part_end();
    bounds();
    all = over_ranks(now[P2P][0]);
    time = over_ranks(now[TRANSFER_TIME][0]);
    if (rank == 0) {
        same(what, all, seen ? ROUNDS * transfers_of(what) : 0);
        same("time of transfers", time > 0, seen);
    }
    all = over_ranks(sends(OPS));
    if (rank == 0)
        same("all of them are sends", all, seen ? ROUNDS * (transfers_of(what) + acks_of(what)) : 0);
}

/* A nonblocking barrier is outstanding, to which rank 0 comes late, while the others are in a blocking one. */
static void outstanding(void)
{
    MPI_Request request;
    wide transfers, other, all;
    must("ibarrier", MPI_Ibarrier(comm, &request)); /* connections are there then */
    must("wait", MPI_Wait(&request, MPI_STATUS_IGNORE));
    part_begin();
    if (rank == 0)
        usleep(200000);
    must("ibarrier", MPI_Ibarrier(comm, &request));
    if (rank == 0)
        usleep(200000);
    must("barrier", MPI_Barrier(other_comm));
    must("wait", MPI_Wait(&request, MPI_STATUS_IGNORE));
    part_end();
    bounds();
    transfers = over_ranks(now[P2P][0]);
    all = over_ranks(sends(OPS));
    other = over_ranks(now[OTHER][0]);
    if (rank != 0)
        return;
    wide apart = (wide)size * log2_up(size) + acks_of("barrier"); /* the nonblocking one is a dissemination */
    same("all transfers", all, seen ? transfers_of("barrier") + apart : 0);
    if (others_told || !seen) {
        same("the blocking barrier's", transfers, seen ? transfers_of("barrier") : 0);
        same("others' at all", other > 0, seen);
    } else {
        check("the blocking barrier's, at least", transfers >= transfers_of("barrier"), transfers,
              transfers_of("barrier"));
        at_most("the blocking barrier's, at most", transfers, transfers_of("barrier") + apart);
    }
}

/* A communicator has the context of one that was freed, whose tags were those of nonblocking collectives: blocking ones
 * of neighbours, which MPICH makes out of the same, belong to their own calls. */
static void context_again(void)
{
    int periodic = 1, out[2] = {rank, rank}, in[2];
    MPI_Comm ring;
    MPI_Request request;
    must("cart", MPI_Cart_create(comm, 1, &size, &periodic, 0, &ring));
    for (int i = 0; i < ROUNDS; i++) {
        must("ibarrier", MPI_Ibarrier(ring, &request));
        must("wait", MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    must("free", MPI_Comm_free(&ring));
    must("cart", MPI_Cart_create(comm, 1, &size, &periodic, 0, &ring));
    part_begin();
    for (int i = 0; i < ROUNDS; i++)
        must("neighbours", MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, ring));
    part_end();
    same("others' in collectives of neighbours", over_ranks(now[OTHER][0]), 0);
    must("free", MPI_Comm_free(&ring));
}

/* ---- off and on -------------------------------------------------------------------------------------------------- */

static void traffic(void)
{
    char byte = 0;
    for (int i = 0; i < 10; i++) {
        must("bcast", MPI_Bcast(&byte, 1, MPI_BYTE, 0, other_comm));
        must("barrier", MPI_Barrier(other_comm));
    }
}

static void unasked(void)
{
    wide last[VARIABLES][SLOTS];
    memcpy(last, now, sizeof last);
    traffic();
    read_into(now);
    for (int i = 0; i < VARIABLES; i++)
        for (int slot = 0; slot < counts[i]; slot++)
            same("stopped", now[i][slot], last[i][slot]);
}

static void report(void)
{
    wide mine[] = {sends(OPS),    sends(BYTES),  now[OPS][slot_recv], now[POLLS][0], now[EMPTY][0],
                   now[AGAIN][0], now[OTHER][0], now[P2P][0],         sum_of(OPS)};
    const char *const names[] = {"sends", "bytes",  "receives",  "polls",     "empty_polls",
                                 "again", "others", "transfers", "operations"};
    for (size_t i = 0; i < sizeof mine / sizeof mine[0]; i++) {
        wide all = over_ranks(mine[i]);
        if (rank == 0)
            printf("%s %llu\n", names[i], all);
    }
}

int main(int argc, char **argv)
{
    int provided;
    if (argc != 3)
        return 2;
    seen = strncmp(argv[1], "seen", 4) == 0;
    others_told = strstr(argv[1], "+others");
    acknowledged = strstr(argv[1], "+acks");
    barrier = argv[2];
    MPI_Init(&argc, &argv);
    must("MPI_T", MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_dup(MPI_COMM_WORLD, &other_comm);
    MPI_Comm_set_name(other_comm, "watched");
    traffic();
    handles_make();
    memset(now, 0, sizeof now);
    must("start", MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES));
    read_into(now);
    for (int i = 0; i < VARIABLES; i++)
        same("nothing was counted before", sum_of(i), 0);
    messages();
    collective("barrier");
    collective("bcast");
    collective("allgather");
    outstanding();
    context_again();
    must("stop", MPI_T_pvar_stop(session, MPI_T_PVAR_ALL_HANDLES));
    read_into(now);
    unasked();
    report();
    int mine[2] = {checks, failures}, all[2];
    MPI_Reduce(mine, all, 2, MPI_INT, MPI_SUM, 0, comm);
    if (rank == 0)
        printf("%d checks, %d failed\n", all[0], all[1]);
    must("session", MPI_T_pvar_session_free(&session));
    MPI_T_finalize();
    MPI_Finalize();
    return failures != 0;
}
