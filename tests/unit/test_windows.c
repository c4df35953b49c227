/* Windows on extremes: alone, several on one extreme, and with a writer and other windows at the same time. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "effort.h"
#include "ledgerfixture.h"
#include "windows.h"

#include <pthread.h>
#include <string.h>

static uint64_t handle_last = 0x1000;
static struct ledger *ledger;
static struct comm *comm;
static struct view *view;

static int book_setup(void **state)
{
    (void)state;
    struct run_problem problem;
    clock_open();
    book.scale.mult = UINT64_C(1) << 32; /* ticks are nanoseconds here */
    return run_open(&book.run, NULL, UINT64_C(1) << 30, 0, &problem) != 0 ? -1 : book_open();
}

static int comm_setup(void **state)
{
    (void)state;
    handle_last += 0x40;
    ledger = ledger_make(1);
    comm = book_comm_add(&(struct comm_facts){.handle = handle_last, .size = 4, .name = "test"});
    view = view_of(ledger, comm);
    view_page_select(view, 1);
    return 0;
}

static void message_in(struct view *into, uint64_t bytes)
{
    struct event event = {.begin = 10, .duration = 1, .kind = CALL_MPI_Send, .peer = 1, .bytes = bytes};
    view_page_select(into, 1);
    fold(&ledger->tally, &into->tally, &event, NULL);
}

static void message(uint64_t bytes)
{
    message_in(view, bytes);
}

static void sends_change(int by)
{
    if (by > 0)
        level_add(false, &comm->shared->sends, (uint64_t)by);
    else
        level_subtract(false, &comm->shared->sends, (uint64_t)-by);
}

enum { OWNER = 7 };

static struct window *window_new(enum extreme extreme)
{
    struct window *window = window_acquire(comm, extreme, OWNER);
    assert_non_null(window);
    return window;
}

static uint64_t value_read(struct window *window)
{
    uint64_t value = 4711;
    assert_int_equal(window_read(window, OWNER, &value), WINDOW_DONE);
    return value;
}

static void window_opens(struct window *window)
{
    assert_int_equal(window_start(window, OWNER), WINDOW_DONE);
}

static void window_closes(struct window *window)
{
    assert_int_equal(window_stop(window, OWNER), WINDOW_DONE);
}

static void window_resets(struct window *window)
{
    assert_int_equal(window_reset(window, OWNER), WINDOW_DONE);
}

static uint64_t value_of(const char *name, enum variable_class class)
{
    uint64_t values[2] = {0, 0};
    for (size_t i = 0; i < variable_count; i++)
        if (variables[i].record.class == class && strcmp(variables[i].record.name, name) == 0)
            book_values(&variables[i], comm, values, 1);
    return values[0];
}

static void new_window_is_closed_with_its_starting_value(void **state)
{
    (void)state;
    message(100);
    sends_change(3);
    assert_int_equal(value_read(window_new(EXTREME_MESSAGE_HIGH)), 0);
    assert_true(value_read(window_new(EXTREME_MESSAGE_LOW)) == LOW_NEUTRAL);
    assert_int_equal(value_read(window_new(EXTREME_SENDS_HIGH)), 3);
    assert_int_equal(value_read(window_new(EXTREME_SENDS_LOW)), 3);
    struct window *window = window_new(EXTREME_MESSAGE_HIGH);
    message(200);
    assert_int_equal(value_read(window), 0);
}

static void window_that_goes_to_another_is_new_to_it(void **state)
{
    (void)state;
    uint64_t value = 0;
    struct window *window = window_new(EXTREME_MESSAGE_HIGH);
    window_opens(window);
    message(100);
    window_release(window, OWNER);
    assert_ptr_equal(window_acquire(comm, EXTREME_MESSAGE_HIGH, OWNER + 1), window);
    message(200);
    assert_int_equal(window_read(window, OWNER + 1, &value), WINDOW_DONE);
    assert_int_equal(value, 0);
    assert_int_equal(window_start(window, OWNER + 1), WINDOW_DONE);
    assert_int_equal(window_reset(window, OWNER), WINDOW_STALE);
    assert_int_equal(window_stop(window, OWNER), WINDOW_STALE);
    assert_int_equal(window_read(window, OWNER, &value), WINDOW_STALE);
    assert_int_equal(window_readreset(window, OWNER, &value), WINDOW_STALE);
    message(300);
    assert_int_equal(window_read(window, OWNER + 1, &value), WINDOW_DONE);
    assert_int_equal(value, 300);
}

static void readreset_ends_one_window_where_the_next_begins(void **state)
{
    (void)state;
    uint64_t value;
    struct window *window = window_new(EXTREME_MESSAGE_HIGH), *level = window_new(EXTREME_SENDS_HIGH);
    window_opens(window);
    window_opens(level);
    message(100);
    message(70);
    sends_change(4);
    sends_change(-1);
    assert_int_equal(window_readreset(window, OWNER, &value), WINDOW_DONE);
    assert_int_equal(value, 100);
    assert_int_equal(value_read(window), 0);
    assert_int_equal(window_readreset(level, OWNER, &value), WINDOW_DONE);
    assert_int_equal(value, 4);
    assert_int_equal(value_read(level), 3);
    message(30);
    window_closes(window);
    message(900);
    assert_int_equal(window_readreset(window, OWNER, &value), WINDOW_DONE);
    assert_int_equal(value, 30);
    assert_int_equal(value_read(window), 0);
}

/* The recorder was interrupted behind the change of the level, before it looked at the cell of the extreme. */
static void level_that_was_seen_is_in_the_watermark(void **state)
{
    (void)state;
    struct window *high = window_new(EXTREME_SENDS_HIGH), *whole = window_new(EXTREME_SENDS_HIGH);
    window_opens(high);
    window_opens(whole);
    comm->shared->sends.now = 7;
    assert_int_equal(value_read(high), 7);
    window_resets(high);
    comm->shared->sends.now = 2;
    assert_int_equal(value_read(high), 7);
    assert_int_equal(value_read(whole), 7);
    window_resets(high);
    assert_int_equal(value_read(high), 2);
}

static void window_sees_the_largest_since_it_was_opened(void **state)
{
    (void)state;
    struct window *high = window_new(EXTREME_MESSAGE_HIGH), *low = window_new(EXTREME_MESSAGE_LOW);
    message(5000);
    message(1);
    window_opens(high);
    window_opens(low);
    assert_int_equal(value_read(high), 0);
    assert_true(value_read(low) == LOW_NEUTRAL);
    message(100);
    message(300);
    message(200);
    assert_int_equal(value_read(high), 300);
    assert_int_equal(value_read(low), 100);
    assert_int_equal(value_read(high), 300);
}

static void closed_window_keeps_its_value_and_sees_no_more(void **state)
{
    (void)state;
    struct window *window = window_new(EXTREME_MESSAGE_HIGH);
    window_opens(window);
    message(100);
    window_closes(window);
    message(900);
    assert_int_equal(value_read(window), 100);
    window_opens(window);
    assert_int_equal(value_read(window), 100);
    message(50);
    assert_int_equal(value_read(window), 100);
    message(400);
    assert_int_equal(value_read(window), 400);
}

static void reset_window_begins_again(void **state)
{
    (void)state;
    struct window *window = window_new(EXTREME_MESSAGE_HIGH);
    window_opens(window);
    message(100);
    window_resets(window);
    assert_int_equal(value_read(window), 0);
    message(7);
    assert_int_equal(value_read(window), 7);
    window_closes(window);
    window_resets(window);
    assert_int_equal(value_read(window), 0);
}

static void windows_on_one_extreme_do_not_disturb_each_other(void **state)
{
    (void)state;
    struct window *whole = window_new(EXTREME_MESSAGE_HIGH), *early = window_new(EXTREME_MESSAGE_HIGH);
    struct window *late = window_new(EXTREME_MESSAGE_HIGH);
    window_opens(whole);
    message(10);
    window_opens(early);
    message(500);
    window_closes(early);
    window_opens(late);
    message(300);
    assert_int_equal(value_read(whole), 500);
    assert_int_equal(value_read(early), 500);
    assert_int_equal(value_read(late), 300);
    window_resets(late);
    message(20);
    assert_int_equal(value_read(whole), 500);
    assert_int_equal(value_read(late), 20);
    window_resets(early);
    assert_int_equal(value_read(whole), 500);
    window_closes(whole);
    assert_int_equal(value_read(whole), 500);
}

static void windows_leave_the_whole_runs_extremes_as_they_were(void **state)
{
    (void)state;
    struct window *high = window_new(EXTREME_MESSAGE_HIGH), *low = window_new(EXTREME_MESSAGE_LOW);
    struct window *level = window_new(EXTREME_SENDS_HIGH);
    message(500);
    message(3);
    sends_change(9);
    sends_change(-9);
    window_opens(high);
    window_opens(low);
    window_opens(level);
    message(40);
    window_resets(high);
    window_closes(low);
    assert_int_equal(value_of("mpit_message_bytes", VARIABLE_HIGHWATERMARK), 500);
    assert_int_equal(value_of("mpit_message_bytes", VARIABLE_LOWWATERMARK), 3);
    assert_int_equal(value_of("mpit_pending_sends", VARIABLE_HIGHWATERMARK), 9);
}

static void window_of_a_level_starts_at_the_level_of_this_moment(void **state)
{
    (void)state;
    struct window *high = window_new(EXTREME_SENDS_HIGH), *low = window_new(EXTREME_SENDS_LOW);
    sends_change(8);
    sends_change(-3);
    window_resets(high);
    window_resets(low);
    window_opens(high);
    window_opens(low);
    assert_int_equal(value_read(high), 5);
    assert_int_equal(value_read(low), 5);
    sends_change(2);
    sends_change(-6);
    assert_int_equal(value_read(high), 7);
    assert_int_equal(value_read(low), 1);
    window_resets(high);
    window_resets(low);
    assert_int_equal(value_read(high), 1);
    assert_int_equal(value_read(low), 1);
}

static void window_that_goes_on_sees_the_level_that_it_finds(void **state)
{
    (void)state;
    struct window *high = window_new(EXTREME_SENDS_HIGH), *low = window_new(EXTREME_SENDS_LOW);
    window_opens(low);
    window_opens(high);
    window_closes(high);
    sends_change(8);
    window_opens(high);
    assert_int_equal(value_read(high), 8);
    assert_int_equal(value_read(low), 0);
}

static void every_level_has_its_own_windows(void **state)
{
    (void)state;
    struct level_cells *levels[] = {&comm->shared->sends, &comm->shared->recvs, &comm->shared->bytes};
    for (unsigned l = 0; l < 3; l++) {
        struct window *high = window_new((enum extreme)(EXTREME_SENDS_HIGH + 2 * l));
        struct window *low = window_new((enum extreme)(EXTREME_SENDS_LOW + 2 * l));
        window_opens(high);
        window_opens(low);
        level_add(false, levels[l], 10 + l);
        level_subtract(false, levels[l], 4);
        assert_int_equal(value_read(high), 10 + l);
        assert_int_equal(value_read(low), 0);
        window_resets(low);
        level_add(false, levels[l], 1);
        assert_int_equal(value_read(low), 6 + l);
    }
}

/* Tests of spans have nanoseconds for ticks. */
static void communication(uint64_t begin, uint64_t end)
{
    struct event event = {.begin = begin, .duration = (uint32_t)(end - begin), .kind = CALL_MPI_Recv, .peer = 1};
    fold(&ledger->tally, &view->tally, &event, NULL);
}

static void span_is_from_the_first_begin_to_the_last_end(void **state)
{
    (void)state;
    uint64_t value, now = clock_now() + UINT64_C(1000000000000); /* later than any window begins */
    struct window *window = window_new(EXTREME_SPAN_FIRST);
    communication(now, now + 5000);
    window_opens(window);
    assert_int_equal(value_read(window), 0);
    communication(now + 10000, now + 10100);
    assert_int_equal(value_read(window), 100);
    communication(now + 10400, now + 10700);
    assert_int_equal(value_read(window), 700);
    communication(now + 10200, now + 10800);
    assert_int_equal(value_read(window), 800);
    assert_int_equal(window_write(window, OWNER, UINT64_MAX - 9), WINDOW_DONE);
    assert_true(value_read(window) == UINT64_MAX - 9);
    communication(now + 20000, now + 20030);
    assert_int_equal(value_read(window), 20); /* overflowed */
    assert_int_equal(window_readreset(window, OWNER, &value), WINDOW_DONE);
    assert_int_equal(value_read(window), 0);
}

/* Here the times are those of the clock: an interval ends where the next one begins. */
static void span_goes_on_after_a_stop_without_the_pause(void **state)
{
    (void)state;
    struct window *window = window_new(EXTREME_SPAN_FIRST);
    uint64_t begin = clock_now();
    window_opens(window);
    uint64_t opened = clock_now();
    communication(begin, clock_now()); /* was in progress when the window was opened */
    window_closes(window);
    uint64_t first = value_read(window), pause = clock_now();
    assert_in_range(first, 0, pause - begin);
    communication(opened, clock_now());
    assert_int_equal(value_read(window), first);
    window_opens(window);
    assert_int_equal(value_read(window), first);
    uint64_t again = clock_now();
    communication(again, clock_now());
    uint64_t end = clock_now();
    assert_in_range(value_read(window), first, first + (end - again));
    window_resets(window);
    assert_int_equal(value_read(window), 0);
}

static void window_sees_all_threads_and_no_other_communicator(void **state)
{
    (void)state;
    struct window *window = window_new(EXTREME_MESSAGE_HIGH);
    struct comm *other = book_comm_add(&(struct comm_facts){.handle = ++handle_last, .size = 4, .name = "other"});
    struct ledger *late = ledger_make(1);
    window_opens(window);
    message_in(view_of(ledger, other), 9999);
    message(10);
    assert_int_equal(value_read(window), 10);
    message_in(view_of(late, comm), 20);
    assert_int_equal(value_read(window), 20);
    window_closes(window);
    assert_int_equal(value_read(window), 20);
}

/* ---- at the same time -----------------------------------------------------------------------------------------------
 */

enum { MESSAGES = EFFORT(1000000, 4000), OTHERS = 2 };

static bool ended;

/* Larger and larger: a message that is larger than another came later. */
static void *write_messages(void *argument)
{
    (void)argument;
    for (uint64_t i = 1; i <= MESSAGES; i++)
        message(i);
    __atomic_store_n(&ended, true, __ATOMIC_RELEASE);
    return NULL;
}

static void *open_and_reset(void *argument)
{
    struct window *own = argument;
    while (!__atomic_load_n(&ended, __ATOMIC_ACQUIRE)) {
        window_opens(own);
        window_resets(own);
        value_read(own);
        window_closes(own);
    }
    return NULL;
}

/* Runs the writer beside OTHERS threads that open, reset and close windows; meanwhile `watch` is called. */
static void stir(void (*watch)(struct window *), struct window *window)
{
    pthread_t writer, others[OTHERS];
    ended = false;
    for (int i = 0; i < OTHERS; i++)
        pthread_create(&others[i], NULL, open_and_reset, window_new(EXTREME_MESSAGE_HIGH));
    pthread_create(&writer, NULL, write_messages, NULL);
    while (!__atomic_load_n(&ended, __ATOMIC_ACQUIRE))
        watch(window);
    pthread_join(writer, NULL);
    for (int i = 0; i < OTHERS; i++)
        pthread_join(others[i], NULL);
}

static void watch_nothing(struct window *window)
{
    (void)window;
}

static void no_maximum_is_lost_while_others_reset(void **state)
{
    (void)state;
    struct window *first = window_new(EXTREME_MESSAGE_HIGH), *second = window_new(EXTREME_MESSAGE_HIGH);
    window_opens(first);
    window_opens(second);
    stir(watch_nothing, NULL);
    assert_int_equal(value_read(first), MESSAGES);
    window_closes(second);
    assert_int_equal(value_read(second), MESSAGES);
    assert_int_equal(value_of("mpit_message_bytes", VARIABLE_HIGHWATERMARK), MESSAGES);
}

static uint64_t falls, highest;

static void watch_value(struct window *window)
{
    uint64_t now = value_read(window);
    falls += now < highest;
    highest = now > highest ? now : highest;
}

static void open_window_never_falls_while_others_reset(void **state)
{
    (void)state;
    struct window *window = window_new(EXTREME_MESSAGE_HIGH);
    window_opens(window);
    falls = highest = 0;
    stir(watch_value, window);
    assert_int_equal(falls, 0);
}

static uint64_t recorded(void)
{
    return value_of("mpit_message_bytes", VARIABLE_HIGHWATERMARK);
}

static uint64_t wrong;

/* What came behind the open and before the close belongs to the window. */
static void watch_close(struct window *window)
{
    window_resets(window);
    window_opens(window);
    uint64_t before = recorded(), most = before;
    while (most == before && !__atomic_load_n(&ended, __ATOMIC_ACQUIRE))
        most = recorded();
    window_closes(window);
    wrong += most > before && value_read(window) < most;
}

static void closed_window_has_all_that_came_before_its_close(void **state)
{
    (void)state;
    wrong = 0;
    stir(watch_close, window_new(EXTREME_MESSAGE_HIGH));
    assert_int_equal(wrong, 0);
}

/* What came before the reset does not belong to it. */
static void watch_reset(struct window *window)
{
    uint64_t before = recorded();
    window_resets(window);
    for (int i = 0; i < 3; i++) {
        uint64_t now = value_read(window);
        wrong += now != 0 && now <= before;
    }
}

static void reset_window_has_nothing_from_before(void **state)
{
    (void)state;
    struct window *window = window_new(EXTREME_MESSAGE_HIGH);
    window_opens(window);
    wrong = 0;
    stir(watch_reset, window);
    assert_int_equal(wrong, 0);
}

/* Of a growing sequence, each window has what came behind the one before it, and no two have the same. */
static uint64_t chained;

static void watch_chain(struct window *window)
{
    uint64_t before = recorded(), value = 0;
    assert_int_equal(window_readreset(window, OWNER, &value), WINDOW_DONE);
    wrong += (value != 0 && value <= chained) || (value < before && chained < before);
    chained = value ? value : chained;
}

static void readresets_take_every_maximum_once(void **state)
{
    (void)state;
    struct window *window = window_new(EXTREME_MESSAGE_HIGH);
    window_opens(window);
    wrong = chained = 0;
    stir(watch_chain, window);
    watch_chain(window);
    assert_int_equal(wrong, 0);
    assert_int_equal(chained, MESSAGES);
}

/* A thread that comes while others reset: what it recorded before a read is in it. */
static void *come_late(void *argument)
{
    struct window *window = argument;
    for (int i = 0; i < EFFORT(200, 40); i++) {
        struct ledger *own = ledger_make(1);
        struct view *fresh = view_of(own, comm);
        uint64_t value = 0;
        view_page_select(fresh, 1);
        struct event event = {.begin = 10, .duration = 1, .kind = CALL_MPI_Send, .peer = 1};
        event.bytes = MESSAGES * 2 + (uint64_t)i;
        fold(&own->tally, &fresh->tally, &event, NULL);
        window_read(window, OWNER, &value);
        __atomic_add_fetch(&wrong, value < event.bytes, __ATOMIC_RELAXED);
    }
    __atomic_store_n(&ended, true, __ATOMIC_RELEASE);
    return NULL;
}

static void maximum_of_a_new_thread_is_not_lost(void **state)
{
    (void)state;
    pthread_t late, others[OTHERS];
    struct window *window = window_new(EXTREME_MESSAGE_HIGH);
    window_opens(window);
    wrong = 0;
    ended = false;
    for (int i = 0; i < OTHERS; i++)
        pthread_create(&others[i], NULL, open_and_reset, window_new(EXTREME_MESSAGE_HIGH));
    pthread_create(&late, NULL, come_late, window);
    pthread_join(late, NULL);
    for (int i = 0; i < OTHERS; i++)
        pthread_join(others[i], NULL);
    assert_int_equal(wrong, 0);
}

/* Several threads on the same window: each maximum is in one thread's chain. */
enum { CHAINS = 3 };
static uint64_t taken[CHAINS][4096];

static void *chain(void *argument)
{
    uint64_t *mine = argument, value;
    struct window *window = (struct window *)(uintptr_t)mine[0];
    for (int i = 1; i < 4096;) {
        window_readreset(window, OWNER, &value);
        mine[i] = value;
        if (value)
            i++;
        if (__atomic_load_n(&ended, __ATOMIC_ACQUIRE))
            break;
    }
    return NULL;
}

static void two_never_take_the_same_maximum(void **state)
{
    (void)state;
    pthread_t writer, chains[CHAINS];
    struct window *window = window_new(EXTREME_MESSAGE_HIGH);
    static uint8_t seen[MESSAGES + 1];
    memset(taken, 0, sizeof taken);
    memset(seen, 0, sizeof seen);
    window_opens(window);
    ended = false;
    for (int i = 0; i < CHAINS; i++) {
        taken[i][0] = (uint64_t)(uintptr_t)window;
        pthread_create(&chains[i], NULL, chain, taken[i]);
    }
    pthread_create(&writer, NULL, write_messages, NULL);
    pthread_join(writer, NULL);
    for (int i = 0; i < CHAINS; i++)
        pthread_join(chains[i], NULL);
    for (int i = 0; i < CHAINS; i++)
        for (int j = 1; j < 4096 && taken[i][j]; j++) {
            assert_in_range(taken[i][j], 1, MESSAGES);
            assert_int_equal(seen[taken[i][j]]++, 0);
            assert_true(j == 1 || taken[i][j] > taken[i][j - 1]);
        }
}

static bool level_up;

static void *change_level(void *argument)
{
    (void)argument;
    for (int i = 0; i < MESSAGES / 4; i++) {
        level_add(true, &comm->shared->bytes, 100);
        level_subtract(true, &comm->shared->bytes, 100);
    }
    __atomic_store_n(&level_up, false, __ATOMIC_RELEASE);
    return NULL;
}

static void level_windows_stay_between_the_bounds(void **state)
{
    (void)state;
    pthread_t writers[2];
    struct window *high = window_new(EXTREME_BYTES_HIGH), *low = window_new(EXTREME_BYTES_LOW);
    level_add(true, &comm->shared->bytes, 50);
    level_up = true;
    for (int i = 0; i < 2; i++)
        pthread_create(&writers[i], NULL, change_level, NULL);
    wrong = 0;
    while (__atomic_load_n(&level_up, __ATOMIC_ACQUIRE)) {
        window_opens(high);
        window_opens(low);
        window_resets(high);
        window_resets(low);
        uint64_t most = value_read(high), least = value_read(low);
        wrong += most < 50 || most > 250 || least < 50 || least > 250;
        window_closes(high);
        window_closes(low);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(writers[i], NULL);
    assert_int_equal(wrong, 0);
    window_resets(high);
    window_resets(low);
    assert_int_equal(value_read(high), 50);
    assert_int_equal(value_read(low), 50);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, comm_setup)
    const struct CMUnitTest tests[] = {
        TEST(new_window_is_closed_with_its_starting_value),
        TEST(window_that_goes_to_another_is_new_to_it),
        TEST(readreset_ends_one_window_where_the_next_begins),
        TEST(level_that_was_seen_is_in_the_watermark),
        TEST(window_sees_the_largest_since_it_was_opened),
        TEST(closed_window_keeps_its_value_and_sees_no_more),
        TEST(reset_window_begins_again),
        TEST(windows_on_one_extreme_do_not_disturb_each_other),
        TEST(windows_leave_the_whole_runs_extremes_as_they_were),
        TEST(window_of_a_level_starts_at_the_level_of_this_moment),
        TEST(window_that_goes_on_sees_the_level_that_it_finds),
        TEST(every_level_has_its_own_windows),
        TEST(span_is_from_the_first_begin_to_the_last_end),
        TEST(span_goes_on_after_a_stop_without_the_pause),
        TEST(window_sees_all_threads_and_no_other_communicator),
        TEST(no_maximum_is_lost_while_others_reset),
        TEST(open_window_never_falls_while_others_reset),
        TEST(closed_window_has_all_that_came_before_its_close),
        TEST(reset_window_has_nothing_from_before),
        TEST(readresets_take_every_maximum_once),
        TEST(maximum_of_a_new_thread_is_not_lost),
        TEST(two_never_take_the_same_maximum),
        TEST(level_windows_stay_between_the_bounds),
    };
    return cmocka_run_group_tests(tests, book_setup, NULL);
}
