/*
 * The storm without MPI: a timer signal, 10,000 times a second on whichever thread, reads, resets, starts and stops
 * meters and windows while four threads record and two do the same to the same meters and windows; so the signal
 * interrupts all of these. What was counted adds up exactly at the end. Runs under the sanitizers.
 *
 *     test_storm [SECONDS]
 */
#include "unittest.h"

#include "ledgerfixture.h"
#include "handles/meter.h"
#include "handles/windows.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WRITERS = 4, WORKERS = 2, OWNER = 1, PEERS = 70 };

static double seconds = 1;
static struct comm *comm;
static bool ended;

/* What is done to one meter or window, by everybody. */
static struct meter whole, parts, part_sizes, pauses, resets, small;
static struct window *high, *low, *first, *level, *span;

static uint64_t parts_sum, part_sizes_sum[BUCKET_COUNT], small_sum; /* taken by readresets */
static uint64_t high_most, low_least = UINT64_MAX, wrong[8], signals;

static void add(uint64_t *sum, uint64_t value)
{
    __atomic_fetch_add(sum, value, __ATOMIC_RELAXED);
}

static void raise_to(uint64_t *most, uint64_t value)
{
    uint64_t seen = __atomic_load_n(most, __ATOMIC_RELAXED);
    while (value > seen && !__atomic_compare_exchange_n(most, &seen, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
}

static void lower_to(uint64_t *least, uint64_t value)
{
    uint64_t seen = __atomic_load_n(least, __ATOMIC_RELAXED);
    while (value < seen && !__atomic_compare_exchange_n(least, &seen, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
}

static void readresets(void)
{
    uint64_t values[BUCKET_COUNT] = {0};
    meter_readreset(&parts, values);
    add(&parts_sum, values[0]);
    add(&wrong[0], values[0] > UINT64_C(1) << 40);
    meter_readreset(&small, values);
    add(&small_sum, values[0]);
    add(&wrong[1], values[0] > UINT64_C(1) << 40);
    meter_readreset(&part_sizes, values);
    for (unsigned i = 0; i < BUCKET_COUNT; i++)
        add(&part_sizes_sum[i], values[i]);
    window_readreset(high, OWNER, values);
    raise_to(&high_most, values[0]);
    window_readreset(low, OWNER, values);
    lower_to(&low_least, values[0]);
}

static void reads(void)
{
    static uint64_t seen, most;
    uint64_t values[PEERS], before = __atomic_load_n(&seen, __ATOMIC_ACQUIRE);
    uint64_t most_before = __atomic_load_n(&most, __ATOMIC_ACQUIRE);
    meter_read(&whole, values); /* never falls, whoever looks */
    add(&wrong[2], values[0] < before);
    raise_to(&seen, values[0]);
    window_read(first, OWNER, values);
    add(&wrong[3], values[0] < most_before);
    raise_to(&most, values[0]);
    window_read(level, OWNER, values); /* each writer has 2 messages on the way at the most */
    add(&wrong[4], values[0] > 2 * WRITERS);
    meter_read(&pauses, values);
    window_read(span, OWNER, values);
}

static void changes(unsigned what)
{
    switch (what % 8) {
    case 0:
        meter_start(&pauses);
        break;
    case 1:
        meter_stop(&pauses);
        break;
    case 2:
        meter_reset(&resets);
        break;
    case 3:
        window_reset(level, OWNER);
        break;
    case 4:
        window_stop(span, OWNER);
        break;
    case 5:
        window_start(span, OWNER);
        break;
    case 6:
        window_stop(level, OWNER);
        break;
    default:
        window_start(level, OWNER);
        break;
    }
}

static void on_signal(int number)
{
    (void)number;
    uint64_t at = __atomic_fetch_add(&signals, 1, __ATOMIC_RELAXED);
    readresets();
    reads();
    changes((unsigned)at);
    changes((unsigned)(at * 7 / 3));
}

static void event_fold(struct ledger *ledger, struct view *view, unsigned kind, int peer, uint64_t bytes)
{
    uint64_t now = clock_now();
    struct event event = {.begin = now, .duration = 5, .kind = (uint16_t)kind, .peer = peer, .bytes = bytes};
    if (bytes % 3 == 0)
        event.kind |= EVENT_LARGE;
    if (kind == RECORD_SEND_DONE)
        event.kind = RECORD_SEND_DONE;
    view_page_select(view, peer);
    fold(&ledger->tally, &view->tally, &event, NULL);
}

struct writer {
    pthread_t thread;
    uint64_t sends, bytes, small, most;
    uint64_t sizes[BUCKET_COUNT];
};

static void *write_on(void *argument)
{
    struct writer *writer = argument;
    struct ledger *ledger = ledger_make(1);
    ledger->tally.concurrent = true;
    struct view *view = view_of(ledger, comm);
    for (uint64_t i = 1; !__atomic_load_n(&ended, __ATOMIC_ACQUIRE); i++) {
        uint64_t bytes = 1 + i * 2654435761u % 100000;
        bool posted = i % 2;
        event_fold(ledger, view, posted ? CALL_MPI_Isend : CALL_MPI_Send, (int)(i % PEERS), bytes);
        if (posted)
            event_fold(ledger, view, RECORD_SEND_DONE, (int)(i % PEERS), bytes);
        writer->sends++;
        writer->bytes += bytes;
        writer->small += bytes % 3 != 0;
        writer->most = bytes > writer->most ? bytes : writer->most;
        writer->sizes[bucket_of(bytes)]++;
    }
    return NULL;
}

static void *work_on(void *argument)
{
    unsigned at = (unsigned)(uintptr_t)argument;
    while (!__atomic_load_n(&ended, __ATOMIC_ACQUIRE)) {
        changes(at++);
        if (at % 5 == 0)
            readresets();
        reads();
    }
    return NULL;
}

static struct meter meter_new(const char *name, enum variable_class class)
{
    struct meter meter = {.owner = OWNER, .comm = comm};
    for (size_t i = 0; i < variable_count; i++)
        if (variables[i].record.class == class && strcmp(variables[i].record.name, name) == 0)
            meter.variable = &variables[i];
    assert_non_null(meter.variable);
    meter.count = (uint32_t)book_value_count(meter.variable, comm);
    assert_true(meter_acquire(&meter) && meter_start(&meter));
    return meter;
}

static struct window *window_new(enum extreme extreme)
{
    struct window *window = window_acquire(comm, extreme, OWNER);
    assert_non_null(window);
    assert_int_equal(window_start(window, OWNER), WINDOW_DONE);
    return window;
}

static void stage(void)
{
    struct run_problem problem;
    clock_open();
    assert_int_equal(run_open(&book.run, NULL, UINT64_C(1) << 30, 0, &problem), 0);
    assert_int_equal(book_open(), 0);
    book.scale = clock_calibrate();
    book.concurrent = true;
    comm = book_comm_add(&(struct comm_facts){.handle = 0x40, .size = PEERS, .name = "storm"});
    whole = meter_new("mpit_send_count", VARIABLE_COUNTER);
    parts = meter_new("mpit_send_bytes", VARIABLE_AGGREGATE);
    part_sizes = meter_new("mpit_send_size_count", VARIABLE_COUNTER);
    pauses = meter_new("mpit_peer_send_count", VARIABLE_COUNTER);
    resets = meter_new("mpit_p2p_time", VARIABLE_TIMER);
    small = meter_new("mpit_small_count", VARIABLE_COUNTER);
    high = window_new(EXTREME_MESSAGE_HIGH);
    low = window_new(EXTREME_MESSAGE_LOW);
    first = window_new(EXTREME_MESSAGE_HIGH);
    level = window_new(EXTREME_SENDS_HIGH);
    span = window_new(EXTREME_SPAN_FIRST);
}

static timer_t timer_begin(void)
{
    timer_t timer;
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    struct itimerspec every = {.it_interval = {.tv_nsec = 100000}, .it_value = {.tv_nsec = 100000}};
    sigaction(SIGUSR1, &action, NULL);
    assert_int_equal(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
    assert_int_equal(timer_settime(timer, 0, &every, NULL), 0);
    return timer;
}

static void time_pass(void)
{
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((double)(now.tv_sec - begin.tv_sec) + (double)(now.tv_nsec - begin.tv_nsec) * 1e-9 < seconds);
}

static struct writer blow(void)
{
    static struct writer writers[WRITERS];
    struct writer all = {.sends = 0};
    pthread_t workers[WORKERS];
    timer_t timer = timer_begin();
    for (int i = 0; i < WRITERS; i++)
        pthread_create(&writers[i].thread, NULL, write_on, &writers[i]);
    for (int i = 0; i < WORKERS; i++)
        pthread_create(&workers[i], NULL, work_on, (void *)(uintptr_t)(i * 3));
    time_pass();
    __atomic_store_n(&ended, true, __ATOMIC_RELEASE);
    for (int i = 0; i < WRITERS; i++) {
        pthread_join(writers[i].thread, NULL);
        all.sends += writers[i].sends;
        all.bytes += writers[i].bytes;
        all.small += writers[i].small;
        all.most = writers[i].most > all.most ? writers[i].most : all.most;
        for (unsigned b = 0; b < BUCKET_COUNT; b++)
            all.sizes[b] += writers[i].sizes[b];
    }
    for (int i = 0; i < WORKERS; i++)
        pthread_join(workers[i], NULL);
    timer_delete(timer);
    return all;
}

/* All elements of a meter that everybody started and stopped are in one state, and can be started. */
static void pauses_check(void)
{
    uint64_t values[PEERS], again[PEERS];
    struct ledger *ledger = ledger_make(1);
    ledger->tally.concurrent = true;
    struct view *view = view_of(ledger, comm);
    assert_true(meter_read(&pauses, values));
    for (int peer = 0; peer < PEERS; peer++)
        event_fold(ledger, view, CALL_MPI_Send, peer, 1);
    assert_true(meter_read(&pauses, again));
    for (int peer = 0; peer < PEERS; peer++)
        assert_int_equal(again[peer] - values[peer], again[0] - values[0]);
    assert_true(meter_start(&pauses) && meter_reset(&pauses));
    for (int peer = 0; peer < PEERS; peer++)
        event_fold(ledger, view, CALL_MPI_Send, peer, 1);
    assert_true(meter_read(&pauses, again));
    for (int peer = 0; peer < PEERS; peer++)
        assert_int_equal(again[peer], 1);
}

TEST(storm_leaves_every_sum_exact)
{
    uint64_t value[PEERS];
    stage();
    struct writer all = blow();
    readresets(); /* what was left */
    assert_true(meter_read(&whole, value));
    EQUALS({value[0], all.sends}, {parts_sum, all.bytes}, {small_sum, all.small});
    for (unsigned i = 0; i < BUCKET_COUNT; i++)
        assert_int_equal(part_sizes_sum[i], all.sizes[i]);
    assert_int_equal(high_most, all.most);
    assert_in_range(low_least, 1, all.most);
    window_read(first, OWNER, value);
    assert_int_equal(value[0], all.most);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        if (wrong[i])
            fail_msg("%llu values were wrong in check %zu", (unsigned long long)wrong[i], i);
    assert_true(signals > 0 && all.sends > 0);
    print_message("%llu messages, %llu signals\n", (unsigned long long)all.sends, (unsigned long long)signals);
    pauses_check();
}

int main(int argc, char **argv)
{
    if (argc > 1)
        seconds = atof(argv[1]);
    return tests_run();
}
