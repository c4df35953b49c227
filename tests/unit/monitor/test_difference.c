/* Differences of snapshots: what they have, whatever becomes of slots in between. One book serves all. */
#include "unittest.h"

#include "registry/commreuse.h"
#include "monitor/difference.h"
#include "ledgerfixture.h"
#include "runfixture.h"
#include "handles/windows.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALL = 127 };

static char directory[64];
static struct ledger *ledger, *beside;
static struct comm *world;
static uint64_t handle_last = 0x1000;
static struct snapshot a, b, c;
static struct difference difference, other;

FIXTURE(book_setup)
{
    struct run_problem problem;
    clock_open();
    fixture_directory_make(directory);
    assert_false(run_open(&book.run, directory, UINT64_C(4) << 30, 0, &problem) != 0 || book_open() != 0);
    book.scale = clock_calibrate();
    ledger = ledger_make(1);
    beside = ledger_make(2);
    world = book_comm_add(&(struct comm_facts){.handle = 1, .size = 100, .name = "WORLD"});
    assert_true(ledger && beside && world && snapshot_prepare(&a) && snapshot_prepare(&b) && snapshot_prepare(&c));
}

FIXTURE(book_teardown)
{
    run_close(&book.run, RUN_FINALIZED, false);
    fixture_directory_remove(directory);
    snapshot_free(&a);
    snapshot_free(&b);
    snapshot_free(&c);
}

static struct comm *comm_new(void)
{
    static unsigned number;
    char name[64];
    snprintf(name, sizeof name, "WORLD/dup#%u", ++number);
    struct comm *comm = book_comm_add(&(struct comm_facts){
        .handle = handle_last += 0x40, .parent = world->slot, .size = 100, .name = name, .since = clock_now()});
    assert_non_null(comm);
    return comm;
}

static void comm_free(struct comm *comm)
{
    book_comm_retire(comm);
    book_comm_release(comm);
}

/* A send of so many bytes that took so many ticks. */
static void send_taking(struct ledger *from, struct comm *comm, uint64_t bytes, uint64_t begin, uint32_t ticks)
{
    struct view *view = view_of(from, comm);
    struct event event = {.begin = begin,
                          .duration = ticks,
                          .kind = CALL_MPI_Send,
                          .comm = (uint16_t)comm->slot,
                          .peer = 3,
                          .bytes = bytes};
    if (bytes >= 8192)
        event.kind |= EVENT_LARGE;
    view_page_select(view, 3);
    fold(&from->tally, &view->tally, &event, NULL);
}

static void send(struct ledger *from, struct comm *comm, uint64_t bytes)
{
    send_taking(from, comm, bytes, clock_now(), 1000);
}

static void barrier(struct ledger *from, struct comm *comm)
{
    struct view *view = view_of(from, comm);
    struct event event = {
        .begin = clock_now(), .duration = 500, .kind = CALL_MPI_Barrier, .comm = (uint16_t)comm->slot};
    fold(&from->tally, &view->tally, &event, NULL);
}

static void take(struct snapshot *snapshot, const struct comm *only)
{
    snapshot_close(snapshot); /* of a test that has failed */
    snapshot_take(snapshot, only, difference_parts(ALL), SNAPSHOT_BEGIN);
    snapshot_open(snapshot);
}

static void end(struct snapshot *from, struct snapshot *to, const struct comm *only)
{
    snapshot_take(to, only, difference_parts(ALL), SNAPSHOT_END);
    snapshot_close(from);
    difference_make(&difference, from, to, only, ALL);
}

TESTS_ALL(book_setup, book_teardown)

TEST(counts_are_those_between)
{
    send(ledger, world, 1 << 20); /* a wide range of sizes before it */
    take(&a, NULL);
    for (unsigned i = 0; i < 10; i++)
        send(i % 2 ? ledger : beside, world, 1u << i);
    send(beside, world, 0);
    send(ledger, world, UINT64_C(1) << 45);
    barrier(ledger, world);
    end(&a, &b, NULL);
    const MPIX_Monitor_figures *sum = &difference.interval.sum;
    EQUALS({sum->sent, 12}, {sum->completed, 12}, {sum->sent_bytes, 1023 + (UINT64_C(1) << 45)}, {sum->large, 1},
           {sum->small, 11}, {sum->collectives, 1});
    for (unsigned i = 0; i <= 10; i++)
        assert_int_equal(sum->sent_size_count[i], 1);
    EQUALS({sum->sent_size_count[21], 0}, {sum->sent_size_count[BUCKET_COUNT - 1], 1},
           {difference.interval.comm_count, 1}, {difference.interval.coll_count, 1});
    assert_string_equal(difference.interval.colls[0].kind, "MPI_Barrier");
    assert_int_equal(difference.interval.colls[0].processes, 100);
    /* less than what 13 calls took after rounding, and no other time */
    assert_true(difference.interval.mpi_time_ns + 3 >= clock_ns(book.scale, 12500));
    assert_true(difference.interval.mpi_time_ns <= clock_ns(book.scale, 12500) + 3);
}

TEST(one_communicator_is_alone)
{
    struct comm *comm = comm_new();
    send(ledger, comm, 4);
    take(&a, comm);
    send(ledger, comm, 4);
    send(ledger, world, 4);
    end(&a, &b, comm);
    EQUALS({difference.interval.sum.sent, 1}, {difference.interval.comm_count, 1});
    assert_string_equal(difference.interval.comms[0].name, comm->name);
    comm_free(comm);
}

TEST(neither_lost_nor_twice_when_slots_move)
{
    struct comm *old = comm_new();
    for (int i = 0; i < 5; i++)
        send(ledger, old, 16);
    take(&a, NULL);
    for (int i = 0; i < 3; i++)
        send(ledger, old, 16);
    barrier(ledger, old);
    comm_free(old);
    uint32_t lives = old->lives, total = 0;
    for (int part = 0; part < 6; part++) {
        snapshot_take(&b, NULL, difference_parts(ALL), SNAPSHOT_BEGIN);
        snapshot_open(&b);
        for (int i = 0; i < 100; i++) {
            struct comm *comm = comm_new();
            send(i % 3 ? ledger : beside, comm, (uint64_t)i);
            comm_free(comm);
        }
        end(&b, &c, NULL);
        EQUALS({difference.interval.sum.sent, 100}, {difference.interval.sum.sent_bytes, 4950});
        total += 100;
    }
    assert_true(old->lives > lives); /* else nothing is shown */
    end(&a, &c, NULL);
    EQUALS({difference.interval.sum.sent, total + 3}, {difference.interval.sum.collectives, 1});
    uint64_t sums = 0, of_comms = 0;
    for (uint32_t i = 0; i < difference.interval.comm_count; i++) {
        sums += !!(difference.interval.comms[i].flags & MPIX_MONITOR_COMM_SUM);
        of_comms += difference.interval.comms[i].figures.sent;
    }
    EQUALS({sums, 1}, {of_comms, total + 3});
}

TEST(periods_add_up)
{
    enum { WORDS = sizeof(MPIX_Monitor_figures) / sizeof(uint64_t) };
    struct snapshot *previous = &b, *latest = &c;
    uint64_t added[WORDS] = {0}, whole[WORDS], mpi = 0;
    take(&a, NULL);
    take(previous, NULL);
    for (unsigned period = 0; period < 50; period++) {
        for (unsigned i = 0; i < period % 7; i++)
            send_taking(ledger, world, i * 1000, clock_now(), 333 + period);
        barrier(beside, world);
        take(latest, NULL);
        snapshot_close(previous);
        difference_make(&other, previous, latest, NULL, ALL);
        uint64_t words[WORDS];
        memcpy(words, &other.interval.sum, sizeof words);
        for (unsigned i = 0; i < WORDS; i++)
            added[i] += words[i] == MPIX_MONITOR_UNKNOWN ? 0 : words[i];
        mpi += other.interval.mpi_time_ns;
        struct snapshot *swap = previous;
        previous = latest;
        latest = swap;
    }
    snapshot_close(previous);
    snapshot_close(&a);
    difference_make(&difference, &a, previous, NULL, ALL);
    memcpy(whole, &difference.interval.sum, sizeof whole);
    for (unsigned i = 0; i < WORDS; i++)
        assert_true(whole[i] == MPIX_MONITOR_UNKNOWN || whole[i] == added[i]);
    assert_true(difference.interval.mpi_time_ns == mpi);
}

static const MPIX_Monitor_comm *of_world(const struct difference *from)
{
    for (uint32_t i = 0; i < from->interval.comm_count; i++)
        if (strcmp(from->interval.comms[i].name, "WORLD") == 0)
            return &from->interval.comms[i];
    return NULL;
}

static uint64_t span_between(uint64_t first, uint64_t last)
{
    return clock_ns(book.scale, last - book.run.header->begin_ticks) -
           clock_ns(book.scale, first - book.run.header->begin_ticks);
}

/* Also when others, and the variable mpit_comm_span, take the begin out of the cells meanwhile. */
TEST(spans_begin_with_the_first_in_each)
{
    struct window *window = window_acquire(world, EXTREME_SPAN_FIRST, 9);
    uint64_t value = 0, begin, next;
    take(&a, NULL);
    window_start(window, 9);
    begin = clock_now();
    send_taking(ledger, world, 1, begin, 10);
    take(&b, NULL);
    next = clock_now();
    send_taking(beside, world, 1, next, 10);
    window_reset(window, 9);
    take(&c, NULL);
    snapshot_close(&c);
    end(&b, &c, NULL);
    assert_non_null(of_world(&difference));
    assert_int_equal(of_world(&difference)->span_ns, span_between(next, next + 10));
    end(&a, &c, NULL);
    assert_int_equal(of_world(&difference)->span_ns, span_between(begin, next + 10));
    assert_int_equal(window_read(window, 9, &value), WINDOW_DONE);
    assert_int_equal(value, 0); /* nothing since its reset */
    window_release(window, 9);
    /* posted before: it begins with the window */
    uint64_t early = clock_now();
    take(&a, NULL);
    send_taking(ledger, world, 1, early, (uint32_t)(clock_now() - early));
    end(&a, &b, NULL);
    assert_true(of_world(&difference)->first_ns == difference.interval.begin_ns);
    /* and nothing is nothing */
    take(&a, world);
    end(&a, &b, world);
    assert_int_equal(of_world(&difference)->span_ns, 0);
}

TEST(calls_under_way_are_told)
{
    struct thread_state *doing = &beside->record->state;
    *doing = (struct thread_state){.since = clock_now(), .call = CALL_MPI_Recv, .comm = world->slot, .peer = 7};
    take(&a, NULL);
    uint64_t begin = doing->since;
    end(&a, &b, NULL);
    EQUALS({difference.interval.before.calls, 1}, {difference.interval.after.calls, 1},
           {difference.interval.mpi_time_ns, 0});
    assert_true(difference.interval.inside_ns <= difference.interval.duration_ns + 1);
    assert_true(difference.interval.inside_ns + 1 >= difference.interval.duration_ns);
    assert_string_equal(difference.interval.calls_before[0].function, "MPI_Recv");
    assert_string_equal(difference.interval.calls_after[0].comm, "WORLD");
    assert_int_equal(difference.interval.calls_after[0].peer, 7);
    assert_int_equal(of_world(&difference)->after.calls, 1);
    take(&a, NULL);
    send_taking(beside, world, 1, begin, (uint32_t)(clock_now() - begin));
    doing->call = CALL_NONE;
    end(&a, &b, NULL);
    assert_int_equal(difference.interval.after.calls, 0);
    assert_true(difference.interval.mpi_time_ns > difference.interval.begun_before_ns);
    assert_true(difference.interval.inside_ns <= difference.interval.duration_ns);
}

/* How many warnings say that only another option would tell the transfers. */
static int told(unsigned options)
{
    const char *warnings[WARNINGS_MOST];
    unsigned count = difference_warnings(&difference, &a, &b, options, warnings);
    int found = 0;
    for (unsigned i = 0; i < count; i++)
        found += strstr(warnings[i], "only the option") != NULL;
    return found;
}

/* What costs memory to be told is told as a warning, and as unknown. */
TEST(unknown_is_not_nothing)
{
    const char *warnings[WARNINGS_MOST];
    take(&a, NULL);
    end(&a, &b, NULL);
    assert_true(difference.interval.sum.coll_transfers == MPIX_MONITOR_UNKNOWN);
    assert_true(difference.interval.other.fabric_time_ns == MPIX_MONITOR_UNKNOWN);
    assert_true(difference.interval.other.os_time_ns == MPIX_MONITOR_UNKNOWN);
    assert_true(difference.interval.stall_time_ns == MPIX_MONITOR_UNKNOWN);
    assert_true(difference_warnings(&difference, &a, &b, ALL, warnings) >= 3);
    demand_change(DEMAND_OS, 1);
    take(&a, NULL);
    end(&a, &b, NULL);
    demand_change(DEMAND_OS, -1);
    assert_int_equal(difference.interval.other.os_time_ns, 0);
    take(&a, NULL);
    snapshot_take(&b, NULL, difference_parts(ALL), SNAPSHOT_END);
    snapshot_close(&a);
    difference_make(&difference, &a, &b, NULL, MPIX_MONITOR_PROFILE | MPIX_MONITOR_TRAFFIC);
    assert_int_equal(difference.interval.sum.coll_transfers, 0); /* nobody asks */
    assert_int_equal(told(MPIX_MONITOR_TRAFFIC), 0);
    assert_int_equal(told(MPIX_MONITOR_COLL), 1);
    assert_int_equal(told(MPIX_MONITOR_COLL | MPIX_MONITOR_OTHER), 0); /* another one says why */
}

static bool stop;
enum { ROUNDS_LEAST = 300, MESSAGES_LEAST = 100 };

static void *sender(void *unused)
{
    uint64_t *count = unused;
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        struct comm *comm = comm_new();
        send(beside, comm, 32);
        comm_free(comm);
        __atomic_store_n(count, *count + 1, __ATOMIC_RELAXED);
    }
    return NULL;
}

/* Another thread goes on meanwhile: the windows, one behind the other, have each message once. */
TEST(windows_of_a_busy_process_add_up)
{
    pthread_t thread;
    uint64_t count = 0, sum = 0;
    struct snapshot *previous = &b, *latest = &c;
    book.concurrent = true;
    take(&a, NULL);
    take(previous, NULL);
    pthread_create(&thread, NULL, sender, &count);
    /* the last window is closed when the thread has ended, and it has sent in the others */
    for (int i = 1; !stop; i++) {
        if (i >= ROUNDS_LEAST && __atomic_load_n(&count, __ATOMIC_RELAXED) >= MESSAGES_LEAST) {
            __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
            pthread_join(thread, NULL);
        }
        take(latest, NULL);
        snapshot_close(previous);
        difference_make(&other, previous, latest, NULL, ALL);
        sum += other.interval.sum.sent;
        struct snapshot *swap = previous;
        previous = latest;
        latest = swap;
    }
    snapshot_close(previous);
    snapshot_close(&a);
    difference_make(&difference, &a, previous, NULL, ALL);
    EQUALS({sum, count}, {difference.interval.sum.sent, count}, {difference.interval.sum.sent_bytes, 32 * count});
    assert_true(count >= MESSAGES_LEAST);
    book.concurrent = false;
}
