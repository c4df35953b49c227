#define _GNU_SOURCE
#include "clocks.h"

#include "book.h"
#include "clockmap.h"
#include "clocksync.h"
#include "jobcomm.h"
#include "knobs.h"
#include "switchboard.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum { PING_GO_ON = 1, PING_ENOUGH };
/* As long as the result gets better, within bounds. */
enum { ECHOES_WITHOUT_GAIN = 40, ECHOES_MOST = 2000, ECHOES_LEAST = 4, ECHO_ROOM_NS = 10000 };
#define BURST_USUAL_NS UINT64_C(20000000)
#define BURST_MOST_NS UINT64_C(300000000)

bool clocks_following;

static struct place {
    bool made, leads; /* leads: it measures for its kernel */
    MPI_Comm comm;
    uint32_t node, nodes;
    int parent;                      /* that it measures against; -1: its clock is the reference */
    int children[CLOCK_ROUNDS_MOST]; /* that measure against it, by round; -1: none */
    int teller, told[CLOCK_ROUNDS_MOST];
    int told_count;
    uint64_t barriers;
} place;

static struct clock_map map;     /* of this kernel, as far as it is known here */
static struct clock_syncs *kept; /* in the run file */

/* ---- who is where ------------------------------------------------------------------------------------------------ */

struct seat {
    uint64_t kernel;
    int rank;
};

/* Processes that share a counter have the same, and others another one but for chance (64 bits). */
static uint64_t kernel_number(void)
{
    const struct run_header *header = book.run.header;
    uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ (unsigned)clock_kind();
    if (!header)
        return hash;
    for (const char *text = header->boot[0] ? header->boot : header->host; *text; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return hash ^ hash >> 32;
}

static int seat_order(const void *one, const void *other)
{
    const struct seat *a = one, *b = other;
    if (a->kernel != b->kernel)
        return a->kernel < b->kernel ? -1 : 1;
    return (a->rank > b->rank) - (a->rank < b->rank);
}

static int rank_order(const void *one, const void *other)
{
    return seat_order(&(struct seat){0, *(const int *)one}, &(struct seat){0, *(const int *)other});
}

/* Within a kernel: a binomial tree over its processes in the order of their ranks. */
static void tellers_find(const struct seat *mine, int index, int count)
{
    uint32_t own = (uint32_t)index;
    place.leads = index == 0;
    place.teller = index ? mine[clock_tree_parent(own)].rank : -1;
    for (unsigned round = 0; round < clock_tree_rounds((uint32_t)count); round++) {
        uint32_t child = clock_tree_child(own, round, (uint32_t)count);
        if (child)
            place.told[place.told_count++] = mine[child].rank;
    }
}

/* Among the kernels, by their lowest ranks. */
static void node_find(const int *leaders, uint32_t nodes, int leader)
{
    uint32_t node = 0;
    while (node + 1 < nodes && leaders[node] != leader)
        node++;
    place.node = node;
    place.nodes = nodes;
    place.parent = node ? leaders[clock_tree_parent(node)] : -1;
    for (unsigned round = 0; round < clock_tree_rounds(nodes); round++) {
        uint32_t child = clock_tree_child(node, round, nodes);
        place.children[round] = child ? leaders[child] : -1;
    }
}

/* `seats` of all processes, by rank; `leaders` is room for as many. */
static void place_find(struct seat *seats, int *leaders, int size, int rank)
{
    int first = 0, index = 0, count = 0;
    uint32_t nodes = 0;
    uint64_t kernel = seats[rank].kernel;
    qsort(seats, (size_t)size, sizeof *seats, seat_order);
    for (int i = 0; i < size; i++) {
        if (i == 0 || seats[i].kernel != seats[i - 1].kernel)
            leaders[nodes++] = seats[i].rank;
        if (seats[i].kernel != kernel)
            continue;
        first = count++ ? first : i;
        index = seats[i].rank == rank ? i - first : index;
    }
    qsort(leaders, nodes, sizeof *leaders, rank_order);
    tellers_find(&seats[first], index, count);
    node_find(leaders, nodes, seats[first].rank);
}

/* Everybody's kernel. `table` is room for so many. */
static bool place_make(uint64_t *table, struct seat *seats, int *leaders, int size, uint64_t kernel)
{
    int rank = 0;
    unsigned long long own = kernel;
    job_comm_make_early();
    place.comm = job_comm();
    if (place.comm == native.comm_null)
        return false;
    native.Comm_rank(place.comm, &rank);
    place.made = native.Allgather(&own, 1, native.unsigned_long_long, table, 1, native.unsigned_long_long,
                                  place.comm) == MPI_SUCCESS;
    if (!place.made)
        return false;
    for (int i = 0; i < size; i++)
        seats[i] = (struct seat){table[i], i};
    place_find(seats, leaders, size, rank);
    return true;
}

/*
 * Is there more than one kernel, and does anybody want it, and can everybody? One collective operation of a few words,
 * which is all that a job on a single node pays.
 */
static bool all_agree(bool wanted, bool able, uint64_t kernel, uint64_t every, bool *follows)
{
    enum { WANTED, UNABLE, KERNEL, NOT_KERNEL, EVERY, NOT_EVERY, WORDS };
    unsigned long long mine[WORDS] = {wanted, !able, kernel, ~kernel, every, ~every}, all[WORDS];
    MPI_Comm comm = job_comm() != native.comm_null ? job_comm() : native.comm_world;
    if (native.Allreduce(mine, all, WORDS, native.unsigned_long_long, native.max, comm) != MPI_SUCCESS)
        return false;
    *follows = all[EVERY] && all[EVERY] == ~all[NOT_EVERY];
    return all[WANTED] && !all[UNABLE] && all[KERNEL] != ~all[NOT_KERNEL];
}

/* True: there are several nodes, and this process knows its place among them. */
static bool place_take(bool wanted, bool *follows)
{
    int size = 1;
    native.Comm_size(native.comm_world, &size);
    uint64_t kernel = kernel_number();
    uint64_t *table = malloc((size_t)size * sizeof *table);
    struct seat *seats = malloc((size_t)size * sizeof *seats);
    int *leaders = malloc((size_t)size * sizeof *leaders);
    bool able = table && seats && leaders && native.Allgather && native.Allreduce && native.Iprobe;
    bool good = native.Allreduce && all_agree(wanted, able, kernel, knob_load(KNOB_CLOCK_SYNC_BARRIERS), follows) &&
                place_make(table, seats, leaders, size, kernel);
    free(table);
    free(seats);
    free(leaders);
    return good;
}

/* ---- a measurement ----------------------------------------------------------------------------------------------- */

/* Until a message is there: processes that wait leave the processors to those that measure. */
static bool message_await(int source, int tag)
{
    enum { YIELDS = 200, NAP_NS = 20000, NAP_MOST_NS = 500000 };
    struct timespec nap = {.tv_nsec = NAP_NS};
    int there = 0;
    for (int i = 0; native.Iprobe(source, tag, place.comm, &there, MPI_STATUS_IGNORE) == MPI_SUCCESS; i++) {
        if (there)
            return true;
        if (i < YIELDS) {
            sched_yield();
            continue;
        }
        nanosleep(&nap, NULL);
        nap.tv_nsec = nap.tv_nsec * 2 < NAP_MOST_NS ? nap.tv_nsec * 2 : NAP_MOST_NS;
    }
    return false;
}

static void sync_keep(struct clock_sync sync)
{
    struct clock_sync list[CLOCK_SYNCS_MOST];
    uint64_t offset;
    if (!kept && book.run.header) {
        kept = run_alloc(&book.run, sizeof *kept, &offset);
        if (kept)
            clock_syncs_add(kept, sync);
        if (kept && offset)
            __atomic_store_n(&book.run.header->clock_syncs, offset, __ATOMIC_RELEASE);
    } else if (kept) {
        clock_syncs_add(kept, sync);
    }
    if (kept && place.parent >= 0) /* the reference clock is right as it is */
        clock_map_set(&map, list, clock_syncs_copy(kept, list));
    else if (place.parent >= 0)
        clock_map_set(&map, &sync, 1);
}

/* The next message of a burst: where there are fewer processors than processes, the other side may need this one. */
static bool message_next(int source, int tag, void *words, int count, MPI_Datatype type)
{
    enum { POLLS = 100 };
    int there = 0;
    for (int i = 0; !there; i++) {
        if (native.Iprobe(source, tag, place.comm, &there, MPI_STATUS_IGNORE) != MPI_SUCCESS)
            return false;
        if (!there && i >= POLLS)
            sched_yield();
    }
    return native.Recv(words, count, type, source, tag, place.comm, MPI_STATUS_IGNORE) == MPI_SUCCESS;
}

/* How wrong the time that this process gives may be. */
static uint64_t error_now(const struct clock_sync *own, uint64_t now_ns)
{
    if (place.parent < 0)
        return 0;
    return own->error_ns + clock_drift_most(now_ns > own->reference_ns ? now_ns - own->reference_ns : 0);
}

/* Answers the process that measures against this one. */
static void echoes_give(int child, const struct clock_sync *own)
{
    int word = 0;
    if (!message_await(child, JOB_TAG_PING))
        return;
    for (;;) {
        unsigned long long answer[3];
        if (!message_next(child, JOB_TAG_PING, &word, 1, native.int_))
            return;
        uint64_t arrived = clock_now();
        if (word != PING_GO_ON)
            return;
        answer[0] = clock_map_ns(&map, arrived);
        answer[2] = error_now(own, answer[0]);
        answer[1] = clock_map_ns(&map, clock_now());
        if (native.Send(answer, 3, native.unsigned_long_long, child, JOB_TAG_PONG, place.comm) != MPI_SUCCESS)
            return;
    }
}

static bool burst_goes_on(const struct clock_burst *burst, unsigned gainless, uint64_t begin)
{
    if (burst->count < ECHOES_LEAST)
        return true;
    /* an echo that takes that long met a processor that was busy with something else: a quiet moment is waited for */
    uint64_t lasts = clock_ns(map.scale, clock_now() - begin);
    return gainless < ECHOES_WITHOUT_GAIN && lasts < (burst->room < ECHO_ROOM_NS ? BURST_USUAL_NS : BURST_MOST_NS);
}

/* Measures against the parent. False: MPI failed. */
static bool echoes_take(struct clock_sync *sync)
{
    struct clock_burst burst;
    unsigned gainless = 0, tries = 0;
    int word = PING_GO_ON;
    uint64_t begin = clock_now();
    clock_burst_begin(&burst, map.scale);
    while (tries++ < ECHOES_MOST && burst_goes_on(&burst, gainless, begin)) {
        unsigned long long answer[3];
        struct clock_echo echo = {.sent_ticks = clock_now()};
        if (native.Send(&word, 1, native.int_, place.parent, JOB_TAG_PING, place.comm) != MPI_SUCCESS ||
            !message_next(place.parent, JOB_TAG_PONG, answer, 3, native.unsigned_long_long))
            return false;
        echo.returned_ticks = clock_now();
        echo.arrived_ns = answer[0];
        echo.left_ns = answer[1];
        echo.error_ns = answer[2];
        if (tries == 1) /* the parent may have slept */
            continue;
        gainless = clock_burst_add(&burst, &echo) ? 0 : gainless + 1;
    }
    word = PING_ENOUGH;
    native.Send(&word, 1, native.int_, place.parent, JOB_TAG_PING, place.comm);
    return clock_burst_result(&burst, sync);
}

/* The others of this kernel learn it. */
static void sync_tell(struct clock_sync *sync, bool good)
{
    unsigned long long words[4] = {sync->ticks, sync->reference_ns, sync->error_ns, good};
    if (place.teller >= 0) {
        good = message_await(place.teller, JOB_TAG_SYNC) &&
               native.Recv(words, 4, native.unsigned_long_long, place.teller, JOB_TAG_SYNC, place.comm,
                           MPI_STATUS_IGNORE) == MPI_SUCCESS &&
               words[3];
        *sync = (struct clock_sync){words[0], words[1], words[2]};
    }
    for (int i = 0; i < place.told_count; i++)
        native.Send(words, 4, native.unsigned_long_long, place.told[i], JOB_TAG_SYNC, place.comm);
    if (good && !place.leads)
        sync_keep(*sync);
}

static void clocks_measure(void)
{
    struct clock_sync sync = {0};
    bool good = place.leads;
    if (place.leads && place.parent >= 0) {
        good = echoes_take(&sync);
    } else if (place.leads) {
        sync.ticks = clock_now();
        sync.reference_ns = clock_map_ns(&map, sync.ticks);
    }
    if (good)
        sync_keep(sync);
    for (unsigned round = 0; place.leads && round < clock_tree_rounds(place.nodes); round++)
        if (place.children[round] >= 0)
            echoes_give(place.children[round], &sync);
    sync_tell(&sync, good);
}

/* ---- when -------------------------------------------------------------------------------------------------------- */

static bool clocks_prepare(bool wanted, bool *follows)
{
    const struct run_header *header = book.run.header;
    if (!place_take(wanted, follows))
        return false;
    clock_map_open(&map, clock_calibrate(), header ? header->begin_ticks : 0, header ? header->begin_realtime_ns : 0);
    return true;
}

void clocks_begin(void)
{
    bool follows = false;
    if (place.made || !clocks_prepare(true, &follows))
        return;
    clocks_measure();
    if (!follows)
        return;
    __atomic_store_n(&clocks_following, true, __ATOMIC_RELAXED);
    switchboard_set();
}

void clocks_barrier(MPI_Comm comm)
{
    if (comm == native.comm_world && place.made && ++place.barriers % knob_load(KNOB_CLOCK_SYNC_BARRIERS) == 0)
        clocks_measure();
}

void clocks_end(bool traced)
{
    bool follows;
    __atomic_store_n(&clocks_following, false, __ATOMIC_RELAXED);
    if (!place.made && !clocks_prepare(traced, &follows))
        return;
    clocks_measure();
    place.made = false;
}
