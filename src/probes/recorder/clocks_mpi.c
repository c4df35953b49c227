#define _GNU_SOURCE
#include "recorder/clocks_mpi.h"

#include "registry/book.h"
#include "recorder/clocks_own.h"
#include "clock/clocksync.h"
#include "recorder/jobcomm.h"
#include "settings/knobs.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum { PING_GO_ON = 1, PING_ENOUGH };
/* As long as the result gets better, within bounds. */
enum { ECHOES_WITHOUT_GAIN = 40, ECHOES_MOST = 2000, ECHOES_LEAST = 4, ECHO_ROOM_NS = 10000 };
#define BURST_USUAL_NS UINT64_C(20000000)
#define BURST_MOST_NS UINT64_C(300000000)

static struct place {
    bool made, follows, leads; /* follows: barriers are counted. leads: it measures for its kernel */
    MPI_Comm comm;
    uint32_t node, nodes;
    int parent;                      /* it measures against this one. -1: its clock is the reference */
    int children[CLOCK_ROUNDS_MOST]; /* they measure against this one, by round. -1: none */
    int teller, told[CLOCK_ROUNDS_MOST];
    int told_count;
    uint64_t barriers;
} place;

/* ---- who is where ------------------------------------------------------------------------------------------------ */

struct seat {
    uint64_t kernel;
    int rank;
};

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

/* `seats` of all processes, by rank. `leaders` is room for as many. */
static void seat_find(struct seat *seats, int *leaders, int size, int rank)
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

/* Finds the kernel of each process. `table` has room for as many numbers. */
static bool place_make(uint64_t *table, struct seat *seats, int *leaders, int size, uint64_t kernel)
{
    int rank = 0;
    unsigned long long own = kernel;
    native.Comm_rank(place.comm, &rank);
    place.made = native.Allgather(&own, 1, native.unsigned_long_long, table, 1, native.unsigned_long_long,
                                  place.comm) == MPI_SUCCESS;
    if (!place.made)
        return false;
    for (int i = 0; i < size; i++)
        seats[i] = (struct seat){table[i], i};
    seat_find(seats, leaders, size, rank);
    return true;
}

/* True if there is more than one kernel, one process wants it, and all can. One collective operation of a few words. */
static bool all_agree(bool wanted, bool able, uint64_t kernel, uint64_t every)
{
    enum { WANTED, UNABLE, KERNEL, NOT_KERNEL, EVERY, NOT_EVERY, WORDS };
    unsigned long long mine[WORDS] = {wanted, !able, kernel, ~kernel, every, ~every}, all[WORDS];
    if (native.Allreduce(mine, all, WORDS, native.unsigned_long_long, native.max, place.comm) != MPI_SUCCESS) {
        clock_own_say(CLOCK_WAY_NONE, CLOCK_TROUBLE_MPI);
        return false;
    }
    place.follows = all[EVERY] && all[EVERY] == ~all[NOT_EVERY];
    return all[WANTED] && !all[UNABLE] && all[KERNEL] != ~all[NOT_KERNEL];
}

/* True: there are several nodes, and this process knows its place among them. */
static bool place_take(bool wanted)
{
    int size = 1;
    place.comm = job_comm();
    if (place.comm == native.comm_null || !native.Allreduce)
        return false;
    native.Comm_size(place.comm, &size);
    uint64_t kernel = clock_own_kernel();
    uint64_t *table = malloc((size_t)size * sizeof *table);
    struct seat *seats = malloc((size_t)size * sizeof *seats);
    int *leaders = malloc((size_t)size * sizeof *leaders);
    bool able = table && seats && leaders && native.Allgather && native.Iprobe;
    bool good = all_agree(wanted, able, kernel, knob_load(KNOB_CLOCK_SYNC_BARRIERS)) &&
                place_make(table, seats, leaders, size, kernel);
    free(table);
    free(seats);
    free(leaders);
    if (good)
        clock_own_open();
    return good;
}

/* ---- a measurement ----------------------------------------------------------------------------------------------- */

/* Waits until a message is there. Waiting processes leave the processors to the ones that measure. */
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
    clock_own_keep(sync, place.parent < 0);
}

/* Receives the next message of a burst. If there are fewer processors than processes, the other side may need this
 * one. */
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

/* Returns the possible error of the time that this process gives. */
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
        answer[0] = clock_map_ns(clock_own_map(), arrived);
        answer[2] = error_now(own, answer[0]);
        answer[1] = clock_map_ns(clock_own_map(), clock_now());
        if (native.Send(answer, 3, native.unsigned_long_long, child, JOB_TAG_PONG, place.comm) != MPI_SUCCESS)
            return;
    }
}

static bool burst_goes_on(const struct clock_burst *burst, unsigned gainless, uint64_t begin)
{
    if (burst->count < ECHOES_LEAST)
        return true;
    /* such a long echo met a busy processor: a quiet moment is awaited */
    uint64_t lasts = clock_ns(clock_own_map()->scale, clock_now() - begin);
    return gainless < ECHOES_WITHOUT_GAIN && lasts < (burst->room < ECHO_ROOM_NS ? BURST_USUAL_NS : BURST_MOST_NS);
}

/* Measures against the parent. False: MPI failed. */
static bool echoes_take(struct clock_sync *sync)
{
    struct clock_burst burst;
    unsigned gainless = 0, tries = 0;
    int word = PING_GO_ON;
    uint64_t begin = clock_now();
    clock_burst_begin(&burst, clock_own_map()->scale);
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

/* Sends it to the other processes of this kernel. */
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
        sync = clock_own_now();
    }
    if (good)
        sync_keep(sync);
    clock_own_say(good ? CLOCK_WAY_MPI : CLOCK_WAY_NONE, place.leads && !good ? CLOCK_TROUBLE_MPI : CLOCK_TROUBLE_NONE);
    for (unsigned round = 0; place.leads && round < clock_tree_rounds(place.nodes); round++)
        if (place.children[round] >= 0)
            echoes_give(place.children[round], &sync);
    sync_tell(&sync, good);
}

/* ---- when -------------------------------------------------------------------------------------------------------- */

bool clocks_mpi_begin(bool wanted)
{
    job_comm_make_early(); /* first of all: no other message may meet a message of the program */
    if (place.made || !place_take(wanted))
        return false;
    clocks_measure();
    return place.follows;
}

void clocks_mpi_barrier(void)
{
    if (place.made && ++place.barriers % knob_load(KNOB_CLOCK_SYNC_BARRIERS) == 0)
        clocks_measure();
}

void clocks_mpi_end(bool wanted)
{
    if (place.made || place_take(wanted))
        clocks_measure();
    place.made = false;
    job_comm_free();
}
