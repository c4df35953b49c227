/* What the process is doing at this moment: shares of time, event buffers, the last return. */
#include "unittest.h"

#include "ledgerfixture.h"
#include "handles/moment.h"

#include <time.h>

static struct ledger *ledger;

struct book books_made[8]; /* still known at the end: nothing has leaked */

FIXTURE(book_setup)
{
    struct run_problem problem;
    static unsigned used;
    books_made[used++ % 8] = book;
    clock_open();
    book = (struct book){.lock = PTHREAD_MUTEX_INITIALIZER};
    assert_false(run_open(&book.run, NULL, UINT64_C(1) << 30, 0, &problem) != 0 || book_open() != 0);
    book.scale = clock_calibrate();
    ledger = ledger_make(1);
}

static uint64_t pass(uint64_t ticks)
{
    uint64_t until = clock_now() + ticks;
    while (clock_now() < until)
        ;
    return clock_now();
}

enum { SHORT = 2000000 }; /* ticks */

static void call_begin(uint32_t call, uint64_t since)
{
    ledger->record->state.since = since;
    ledger->record->state.call = call;
}

static void call_fold(uint64_t begin, uint64_t end, uint16_t flags)
{
    struct event event = {.begin = begin, .duration = (uint32_t)(end - begin), .peer = PEER_NONE};
    event.kind = (uint16_t)(CALL_MPI_Barrier | flags);
    fold(&ledger->tally, NULL, &event, NULL);
}

static void call_end(void)
{
    ledger->record->state.call = CALL_NONE;
}

/* A measurement that was begun between two looks at the clock. */
struct measurement {
    struct presence then;
    uint64_t earliest, latest;
};

static struct measurement measure(void)
{
    struct measurement m = {.earliest = clock_now()};
    m.then = moment_presence();
    m.latest = clock_now();
    return m;
}

/* The share of `inside` ticks and of those since `since`, if that is not 0, whenever this thread is interrupted. */
static void share_check(struct measurement m, uint64_t inside, uint64_t since)
{
    uint64_t before = clock_now();
    double got = moment_fraction(m.then);
    uint64_t behind = clock_now(), least = inside + (since ? before - since : 0);
    uint64_t most = inside + (since ? behind - since : 0);
    double low = (double)least / (double)(behind - m.earliest), high = (double)most / (double)(before - m.latest);
    if (got < low * 0.999999 || got > high * 1.000001)
        fail_msg("%f, not %f .. %f", got, low, high);
}

TESTS_EACH(book_setup, NULL)

TEST(fraction_is_0_without_calls_and_grows_inside_of_one)
{
    struct measurement m = measure();
    assert_true(moment_fraction(m.then) == 0);
    uint64_t enter = pass(SHORT);
    assert_true(moment_fraction(m.then) == 0);
    call_begin(CALL_MPI_Barrier, enter);
    pass(SHORT);
    share_check(m, 0, enter);
    uint64_t now = pass(3 * SHORT);
    share_check(m, 0, enter);
    call_fold(enter, now, 0); /* it is about to return: not counted twice */
    share_check(m, now - enter, 0);
    call_end();
    share_check(m, now - enter, 0);
    pass(4 * SHORT);
    share_check(m, now - enter, 0);
}

TEST(call_inside_of_a_call_counts_once)
{
    struct measurement m = measure();
    uint64_t outer = pass(SHORT);
    call_begin(CALL_MPI_Barrier, outer);
    for (int i = 0; i < 3; i++) {
        uint64_t inner = pass(SHORT);
        share_check(m, 0, outer);
        moment_nest(ledger, outer);
        call_begin(CALL_MPI_Bcast, inner);
        uint64_t now = pass(SHORT);
        share_check(m, 0, outer);
        moment_inner_end(ledger, now);
        share_check(m, 0, outer);
        call_fold(inner, now, EVENT_NESTED);
        share_check(m, 0, outer);
        call_begin(CALL_MPI_Barrier, outer);
        share_check(m, 0, outer);
    }
    uint64_t end = pass(SHORT);
    call_fold(outer, end, 0);
    share_check(m, end - outer, 0);
    call_end();
    share_check(m, end - outer, 0);
    uint64_t next = pass(SHORT); /* one that has none inside, behind it */
    call_begin(CALL_MPI_Barrier, next);
    pass(SHORT);
    share_check(m, end - outer, next);
}

/* Times are given, and only what passes between two looks at the clock is not known. */
TEST(threads_count_from_their_first_call_to_their_end)
{
    struct ledger *other = ledger_make(2);
    uint64_t before = clock_now(), begun = other->record->begin_ticks;
    struct presence now = moment_presence();
    assert_in_range(now.alive, 2 * before - begun - ledger->record->begin_ticks,
                    2 * clock_now() - begun - ledger->record->begin_ticks);
    moment_thread_end(other, begun + 1000);
    pass(SHORT);
    before = clock_now();
    now = moment_presence();
    assert_in_range(now.alive, before - ledger->record->begin_ticks + 1000,
                    clock_now() - ledger->record->begin_ticks + 1000);
    uint64_t again = clock_now();
    moment_thread_return(other); /* for another thread; the time between is nobody's */
    uint64_t returned = clock_now();
    pass(SHORT);
    before = clock_now();
    now = moment_presence();
    assert_in_range(now.alive, before - ledger->record->begin_ticks + 1000 + before - returned,
                    clock_now() - ledger->record->begin_ticks + 1000 + clock_now() - again);
}

TEST(buffer_fills_and_is_emptied)
{
    assert_true(moment_buffer_fill() == 0);
    moment_buffer_make(ledger, 100);
    assert_true(moment_buffer_fill() == 0);
    ledger->tally.cells->events = 25;
    assert_true(moment_buffer_fill() == 0.25);
    struct ledger *other = ledger_make(2);
    moment_buffer_make(other, 10);
    other->tally.cells->events = 5;
    assert_true(moment_buffer_fill() == 0.5);
    ledger->tally.cells->events = 100;
    assert_true(moment_buffer_fill() == 1);
    moment_buffer_empty(ledger, 100);
    assert_true(moment_buffer_fill() == 0.5);
    ledger->tally.cells->events = 175;
    assert_true(moment_buffer_fill() == 0.75);
    other->tally.cells->events = 12345;
    assert_true(moment_buffer_fill() == 1);
}

TEST(last_return_is_on_the_clock_of_the_world)
{
    struct timespec before, behind;
    assert_true(moment_last_return() == 0);
    clock_gettime(CLOCK_REALTIME, &before);
    uint64_t now = clock_now();
    call_fold(now - 10, now, 0);
    clock_gettime(CLOCK_REALTIME, &behind);
    uint64_t second = UINT64_C(1000000000), slack = second / 100;
    assert_in_range(moment_last_return(), (uint64_t)before.tv_sec * second + (uint64_t)before.tv_nsec - slack,
                    (uint64_t)behind.tv_sec * second + (uint64_t)behind.tv_nsec + slack);
}
