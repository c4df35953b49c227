/* Meters: what start, stop, reset, write and readreset make of a value, alone and with others on the same meter. */
#include "unittest.h"

#include "effort.h"
#include "ledgerfixture.h"
#include "handles/meter.h"

#include <pthread.h>
#include <string.h>

static uint64_t handle_last = 0x1000;
static uint32_t owner_last;
static struct ledger *ledger;
static struct comm *comm;
static struct view *view;

static int book_setup(void **state)
{
    (void)state;
    struct run_problem problem;
    clock_open();
    return run_open(&book.run, NULL, UINT64_C(1) << 30, 0, &problem) != 0 ? -1 : book_open();
}

FIXTURE(comm_setup)
{
    handle_last += 0x40;
    ledger = ledger_make(1);
    comm = book_comm_add(&(struct comm_facts){.handle = handle_last, .size = 200, .name = "test"});
    view = view_of(ledger, comm);
    book.scale.mult = UINT64_C(3) << 31; /* 1.5 ns a tick */
}

static void send_to(int peer, uint64_t bytes, uint32_t ticks, uint16_t flags)
{
    struct event event = {.begin = clock_now(), .duration = ticks, .peer = peer, .bytes = bytes};
    event.kind = (uint16_t)(CALL_MPI_Send | flags);
    view_page_select(view, peer);
    fold(&ledger->tally, &view->tally, &event, NULL);
}

static void send(uint64_t bytes)
{
    send_to(1, bytes, 1, 0);
}

static const struct variable *variable(const char *name, enum variable_class class)
{
    for (size_t i = 0; i < variable_count; i++)
        if (variables[i].record.class == class && strcmp(variables[i].record.name, name) == 0)
            return &variables[i];
    fail_msg("there is no %s of class %d", name, (int)class);
    return NULL;
}

struct meter meters_made[64]; /* still known at the end: nothing has leaked */

static struct meter meter_new(const char *name, enum variable_class class)
{
    struct meter meter = {.variable = variable(name, class), .owner = ++owner_last};
    meter.comm = meter.variable->record.bound ? comm : NULL;
    meter.count = (uint32_t)book_value_count(meter.variable, meter.comm);
    assert_true(meter_acquire(&meter));
    meters_made[owner_last % 64] = meter;
    return meter;
}

static uint64_t value(const struct meter *meter)
{
    uint64_t values[1024];
    assert_true(meter_read(meter, values));
    return values[0];
}

TESTS_EACH(comm_setup, NULL)
TESTS_ALL(book_setup, NULL)

TEST(counts_between_start_and_stop)
{
    struct meter meter = meter_new("mpit_send_count", VARIABLE_COUNTER);
    send(1);
    assert_int_equal(value(&meter), 0);
    assert_true(meter_start(&meter));
    assert_int_equal(value(&meter), 0);
    send(1);
    send(1);
    assert_int_equal(value(&meter), 2);
    assert_true(meter_start(&meter)); /* it is started already */
    send(1);
    assert_int_equal(value(&meter), 3);
    assert_true(meter_stop(&meter));
    send(1);
    assert_int_equal(value(&meter), 3);
    assert_true(meter_stop(&meter));
    assert_true(meter_start(&meter));
    send(1);
    assert_int_equal(value(&meter), 4);
}

TEST(reset_is_back_to_0_and_stays_started_or_stopped)
{
    struct meter meter = meter_new("mpit_send_count", VARIABLE_COUNTER);
    meter_start(&meter);
    send(1);
    assert_true(meter_reset(&meter));
    assert_int_equal(value(&meter), 0);
    send(1);
    assert_int_equal(value(&meter), 1);
    meter_stop(&meter);
    meter_reset(&meter);
    send(1);
    assert_int_equal(value(&meter), 0);
}

TEST(every_value_can_be_written_and_overflows)
{
    struct meter meter = meter_new("mpit_send_count", VARIABLE_COUNTER);
    const uint64_t values[] = {0, 1, INT64_MAX, UINT64_C(1) << 63, UINT64_MAX - 1, UINT64_MAX};
    for (unsigned i = 0; i < 2 * sizeof values / sizeof values[0]; i++) {
        bool running = i % 2;
        (running ? meter_start : meter_stop)(&meter);
        assert_true(meter_write(&meter, &values[i / 2]));
        assert_true(value(&meter) == values[i / 2]);
        send(1);
        assert_true(value(&meter) == values[i / 2] + running);
        meter_stop(&meter);
        assert_true(value(&meter) == values[i / 2] + running);
        meter_start(&meter);
        send(1);
        assert_true(value(&meter) == values[i / 2] + running + 1);
    }
}

TEST(readreset_reads_and_begins_anew)
{
    struct meter meter = meter_new("mpit_send_bytes", VARIABLE_AGGREGATE);
    uint64_t got;
    meter_start(&meter);
    send(100);
    assert_true(meter_readreset(&meter, &got));
    assert_int_equal(got, 100);
    assert_int_equal(value(&meter), 0);
    send(7);
    meter_stop(&meter);
    assert_true(meter_readreset(&meter, &got));
    assert_int_equal(got, 7);
    assert_int_equal(value(&meter), 0);
}

/* Each readreset of a timer is in whole nanoseconds, and together they are the whole. */
TEST(nanoseconds_of_many_readresets_add_up)
{
    struct meter whole = meter_new("mpit_p2p_time", VARIABLE_TIMER), parts = meter_new("mpit_p2p_time", VARIABLE_TIMER);
    uint64_t sum = 0, got;
    meter_start(&whole);
    meter_start(&parts);
    for (int i = 0; i < 1001; i++) {
        send_to(1, 1, 1, 0);
        meter_readreset(&parts, &got);
        sum += got;
    }
    assert_in_range(sum, 1501, 1502); /* 1001 ticks of 1.5 ns; where the first began decides */
    assert_int_equal(sum, value(&whole));
}

TEST(elements_are_slots_of_the_variable)
{
    struct meter sizes = meter_new("mpit_send_size_count", VARIABLE_COUNTER);
    struct meter peers = meter_new("mpit_peer_send_bytes", VARIABLE_AGGREGATE);
    uint64_t values[1024];
    send_to(150, 9, 1, 0);
    meter_start(&sizes);
    meter_start(&peers);
    send_to(150, 4, 1, 0);
    send_to(3, 5, 1, 0);
    assert_int_equal(sizes.count, BUCKET_COUNT);
    assert_true(meter_read(&sizes, values));
    for (unsigned i = 0; i < BUCKET_COUNT; i++)
        assert_int_equal(values[i], i == 3 ? 2 : 0);
    assert_int_equal(peers.count, 200);
    assert_true(meter_read(&peers, values));
    for (unsigned i = 0; i < 200; i++)
        assert_int_equal(values[i], i == 150 ? 4 : i == 3 ? 5 : 0);
}

/* For each variable that is a sum: the sample is what the tables say. */
TEST(samples_are_the_values_of_the_book)
{
    unsigned checked = 0;
    for (int i = 0; i < 100; i++)
        send_to(i % 200, (uint64_t)i * 37, (uint32_t)i, i % 3 ? 0 : EVENT_LARGE);
    for (size_t i = 0; i < variable_count; i++) {
        const struct variable *v = &variables[i];
        uint64_t values[1024];
        if (v->record.combine != COMBINE_SUM || v->extreme != EXTREME_NONE)
            continue;
        const struct comm *to = v->record.bound ? comm : NULL;
        size_t count = book_value_count(v, to);
        book_values(v, to, values, count);
        for (size_t slot = 0; slot < count; slot++, checked++)
            if (book_sample(v, to, slot) != values[slot])
                fail_msg("%s, slot %zu: %llu, not %llu", v->record.name, slot,
                         (unsigned long long)book_sample(v, to, slot), (unsigned long long)values[slot]);
    }
    assert_true(checked > 500);
}

/* The room for what was seen of a difference is one for each communicator, and DIFFERENCES for the process. */
TEST(variables_that_are_differences_have_each_a_place)
{
    unsigned differences[2] = {0, 0};
    for (size_t i = 0; i < variable_count; i++) {
        bool is_one = false;
        for (unsigned t = 0; t < VARIABLE_TERMS; t++)
            is_one = is_one || variables[i].record.terms[t].weight < 0;
        if (!is_one)
            continue;
        assert_int_equal(variables[i].record.count, 1);
        assert_int_equal(variables[i].difference, differences[variables[i].record.bound]++);
    }
    EQUALS({differences[0], DIFFERENCES}, {differences[1], 1});
}

/* The recorder was interrupted behind one of the cells of a difference and before the other. */
TEST(difference_does_not_fall_in_the_middle_of_an_event)
{
    struct meter small = meter_new("mpit_small_count", VARIABLE_COUNTER);
    send(1);
    meter_start(&small);
    send(1);
    assert_int_equal(value(&small), 1);
    view->tally.cells->large++;
    assert_int_equal(value(&small), 1);
    meter_reset(&small);
    assert_int_equal(value(&small), 0);
    view->tally.cells->send[5].count++;
    assert_int_equal(value(&small), 0);
    send(1);
    assert_int_equal(value(&small), 1);
}

TEST(meter_of_another_owner_is_left_alone)
{
    struct meter old = meter_new("mpit_send_count", VARIABLE_COUNTER), stale = old;
    struct meter old_many = meter_new("mpit_send_size_count", VARIABLE_COUNTER), stale_many = old_many;
    uint64_t values[1024] = {77};
    meter_start(&old);
    meter_release(&old);
    meter_release(&old_many);
    assert_false(meter_read(&stale, values));
    struct meter fresh = meter_new("mpit_send_count", VARIABLE_COUNTER);
    struct meter fresh_many = meter_new("mpit_send_size_count", VARIABLE_COUNTER);
    assert_ptr_equal(fresh.pairs, stale.pairs); /* the same memory */
    assert_ptr_equal(fresh_many.pairs, stale_many.pairs);
    meter_start(&fresh);
    send(1);
    const struct meter *both[] = {&stale, &stale_many};
    for (int i = 0; i < 2; i++) {
        assert_false(meter_start(both[i]));
        assert_false(meter_stop(both[i]));
        assert_false(meter_reset(both[i]));
        assert_false(meter_write(both[i], values));
        assert_false(meter_read(both[i], values));
        assert_false(meter_readreset(both[i], values));
    }
    send(1);
    assert_int_equal(value(&fresh), 2);
    assert_int_equal(value(&fresh_many), 0);
}

/* ---- at the same time -------------------------------------------------------------------------------------------- */

enum { SENDS = EFFORT(60000, 1500), READERS = 3, TURNS = EFFORT(300, 60) };
static bool ended;

static void *send_many(void *argument)
{
    (void)argument;
    for (int i = 0; i < SENDS; i++)
        send_to(1, 8, 1, i % 3 ? 0 : EVENT_LARGE);
    __atomic_store_n(&ended, true, __ATOMIC_RELEASE);
    return NULL;
}

struct part {
    const struct meter *meter;
    uint64_t sum, most;
};

static void *take_parts(void *argument)
{
    struct part *part = argument;
    uint64_t got;
    while (!__atomic_load_n(&ended, __ATOMIC_ACQUIRE)) {
        meter_readreset(part->meter, &got);
        part->sum += got;
        part->most = got > part->most ? got : part->most;
    }
    return NULL;
}

static void parts_add_up(const char *name, enum variable_class class, uint64_t whole)
{
    struct meter meter = meter_new(name, class);
    struct part parts[READERS];
    pthread_t writer, readers[READERS];
    uint64_t sum = 0;
    ended = false;
    meter_start(&meter);
    for (int i = 0; i < READERS; i++) {
        parts[i] = (struct part){.meter = &meter};
        pthread_create(&readers[i], NULL, take_parts, &parts[i]);
    }
    pthread_create(&writer, NULL, send_many, NULL);
    pthread_join(writer, NULL);
    for (int i = 0; i < READERS; i++) {
        pthread_join(readers[i], NULL);
        assert_true(parts[i].most <= whole); /* nobody sees a value that has fallen below 0 */
        sum += parts[i].sum;
    }
    assert_int_equal(sum + value(&meter), whole);
}

TEST(readresets_of_several_threads_add_up)
{
    parts_add_up("mpit_p2p_count", VARIABLE_COUNTER, SENDS);
    parts_add_up("mpit_send_count", VARIABLE_COUNTER, SENDS);
    parts_add_up("mpit_send_bytes", VARIABLE_AGGREGATE, 8 * SENDS);
}

TEST(readresets_of_a_difference_add_up)
{
    parts_add_up("mpit_small_count", VARIABLE_COUNTER, SENDS - (SENDS + 2) / 3);
    parts_add_up("mpit_large_count", VARIABLE_COUNTER, (SENDS + 2) / 3);
}

static void *start_and_stop(void *argument)
{
    const struct meter *meter = argument;
    for (int i = 0; i < TURNS; i++)
        (i % 2 ? meter_stop : meter_start)(meter);
    return NULL;
}

/* However starts and stops of several threads fall: when all are through, all elements run or none does. */
TEST(elements_end_in_one_state)
{
    pthread_t threads[READERS];
    struct meter meter = meter_new("mpit_peer_send_count", VARIABLE_COUNTER);
    for (int round = 0; round < 10; round++) {
        uint64_t before[1024], behind[1024];
        for (int i = 0; i < READERS; i++)
            pthread_create(&threads[i], NULL, start_and_stop, &meter);
        for (int i = 0; i < READERS; i++)
            pthread_join(threads[i], NULL);
        assert_true(meter_read(&meter, before));
        for (int peer = 0; peer < 200; peer++)
            send_to(peer, 1, 1, 0);
        assert_true(meter_read(&meter, behind));
        for (int peer = 0; peer < 200; peer++)
            assert_int_equal(behind[peer] - before[peer], behind[0] - before[0]);
        meter_start(&meter);
        for (int peer = 0; peer < 200; peer++)
            send_to(peer, 1, 1, 0);
        assert_true(meter_read(&meter, before));
        for (int peer = 0; peer < 200; peer++)
            assert_int_equal(before[peer] - behind[peer], 1);
    }
}
