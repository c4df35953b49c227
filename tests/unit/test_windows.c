/* Windows on extremes: alone, several on one extreme, and with a writer and other windows at the same time. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

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
    return run_open(&book.run, NULL, UINT64_C(1) << 30, 0, &problem) != 0 ? -1 : book_open();
}

static int comm_setup(void **state)
{
    (void)state;
    handle_last += 0x40;
    ledger = book_thread_add(1);
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

/* A window is linked for good: none may live on a stack. */
static struct window *window_new(enum extreme extreme)
{
    enum { WINDOWS = 256 };
    static struct window made[WINDOWS];
    static unsigned used;
    assert_true(used < WINDOWS);
    struct window *window = &made[used++];
    window_tie(window, comm, extreme);
    return window;
}

static uint64_t value_of(const char *name, enum variable_class class)
{
    uint64_t values[2] = {0, 0};
    for (size_t i = 0; i < variable_count; i++)
        if (variables[i].record.class == class && strcmp(variables[i].record.name, name) == 0)
            book_values(&variables[i], comm, values, 1);
    return values[0];
}

static void tied_window_is_closed_with_its_starting_value(void **state)
{
    (void)state;
    message(100);
    sends_change(3);
    assert_int_equal(window_read(window_new(EXTREME_MESSAGE_HIGH)), 0);
    assert_true(window_read(window_new(EXTREME_MESSAGE_LOW)) == LOW_NEUTRAL);
    assert_int_equal(window_read(window_new(EXTREME_SENDS_HIGH)), 3);
    assert_int_equal(window_read(window_new(EXTREME_SENDS_LOW)), 3);
    struct window *window = window_new(EXTREME_MESSAGE_HIGH);
    message(200);
    assert_int_equal(window_read(window), 0);
}

static void window_that_is_tied_again_is_closed(void **state)
{
    (void)state;
    struct window *window = window_new(EXTREME_MESSAGE_HIGH);
    window_open(window);
    message(100);
    window_tie(window, comm, EXTREME_MESSAGE_HIGH);
    message(200);
    assert_int_equal(window_read(window), 0);
}

static void window_sees_the_largest_since_it_was_opened(void **state)
{
    (void)state;
    struct window *high = window_new(EXTREME_MESSAGE_HIGH), *low = window_new(EXTREME_MESSAGE_LOW);
    message(5000);
    message(1);
    window_open(high);
    window_open(low);
    assert_int_equal(window_read(high), 0);
    assert_true(window_read(low) == LOW_NEUTRAL);
    message(100);
    message(300);
    message(200);
    assert_int_equal(window_read(high), 300);
    assert_int_equal(window_read(low), 100);
    assert_int_equal(window_read(high), 300);
}

static void closed_window_keeps_its_value_and_sees_no_more(void **state)
{
    (void)state;
    struct window *window = window_new(EXTREME_MESSAGE_HIGH);
    window_open(window);
    message(100);
    window_close(window);
    message(900);
    assert_int_equal(window_read(window), 100);
    window_open(window);
    assert_int_equal(window_read(window), 100);
    message(50);
    assert_int_equal(window_read(window), 100);
    message(400);
    assert_int_equal(window_read(window), 400);
}

static void reset_window_begins_again(void **state)
{
    (void)state;
    struct window *window = window_new(EXTREME_MESSAGE_HIGH);
    window_open(window);
    message(100);
    window_reset(window);
    assert_int_equal(window_read(window), 0);
    message(7);
    assert_int_equal(window_read(window), 7);
    window_close(window);
    window_reset(window);
    assert_int_equal(window_read(window), 0);
}

static void windows_on_one_extreme_do_not_disturb_each_other(void **state)
{
    (void)state;
    struct window *whole = window_new(EXTREME_MESSAGE_HIGH), *early = window_new(EXTREME_MESSAGE_HIGH);
    struct window *late = window_new(EXTREME_MESSAGE_HIGH);
    window_open(whole);
    message(10);
    window_open(early);
    message(500);
    window_close(early);
    window_open(late);
    message(300);
    assert_int_equal(window_read(whole), 500);
    assert_int_equal(window_read(early), 500);
    assert_int_equal(window_read(late), 300);
    window_reset(late);
    message(20);
    assert_int_equal(window_read(whole), 500);
    assert_int_equal(window_read(late), 20);
    window_reset(early);
    assert_int_equal(window_read(whole), 500);
    window_close(whole);
    assert_int_equal(window_read(whole), 500);
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
    window_open(high);
    window_open(low);
    window_open(level);
    message(40);
    window_reset(high);
    window_close(low);
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
    window_reset(high);
    window_reset(low);
    window_open(high);
    window_open(low);
    assert_int_equal(window_read(high), 5);
    assert_int_equal(window_read(low), 5);
    sends_change(2);
    sends_change(-6);
    assert_int_equal(window_read(high), 7);
    assert_int_equal(window_read(low), 1);
    window_reset(high);
    window_reset(low);
    assert_int_equal(window_read(high), 1);
    assert_int_equal(window_read(low), 1);
}

static void window_that_goes_on_sees_the_level_that_it_finds(void **state)
{
    (void)state;
    struct window *high = window_new(EXTREME_SENDS_HIGH), *low = window_new(EXTREME_SENDS_LOW);
    window_open(low);
    window_open(high);
    window_close(high);
    sends_change(8);
    window_open(high);
    assert_int_equal(window_read(high), 8);
    assert_int_equal(window_read(low), 0);
}

static void every_level_has_its_own_windows(void **state)
{
    (void)state;
    struct level_cells *levels[] = {&comm->shared->sends, &comm->shared->recvs, &comm->shared->bytes};
    for (unsigned l = 0; l < 3; l++) {
        struct window *high = window_new((enum extreme)(EXTREME_SENDS_HIGH + 2 * l));
        struct window *low = window_new((enum extreme)(EXTREME_SENDS_LOW + 2 * l));
        window_open(high);
        window_open(low);
        level_add(false, levels[l], 10 + l);
        level_subtract(false, levels[l], 4);
        assert_int_equal(window_read(high), 10 + l);
        assert_int_equal(window_read(low), 0);
        window_reset(low);
        level_add(false, levels[l], 1);
        assert_int_equal(window_read(low), 6 + l);
    }
}

static void first_begin_of_a_window_is_the_first_behind_it(void **state)
{
    (void)state;
    struct window *window = window_new(EXTREME_SPAN_FIRST);
    message(1);
    window_open(window);
    assert_true(window_read(window) == LOW_NEUTRAL);
    struct event event = {.begin = 700, .duration = 1, .kind = CALL_MPI_Recv, .peer = 1};
    fold(&ledger->tally, &view->tally, &event, NULL);
    event.begin = 900;
    fold(&ledger->tally, &view->tally, &event, NULL);
    assert_int_equal(window_read(window), 700);
}

static void window_sees_all_threads_and_no_other_communicator(void **state)
{
    (void)state;
    struct window *window = window_new(EXTREME_MESSAGE_HIGH);
    struct comm *other = book_comm_add(&(struct comm_facts){.handle = ++handle_last, .size = 4, .name = "other"});
    struct ledger *late = book_thread_add(1);
    window_open(window);
    message_in(view_of(ledger, other), 9999);
    message(10);
    assert_int_equal(window_read(window), 10);
    message_in(view_of(late, comm), 20);
    assert_int_equal(window_read(window), 20);
    window_close(window);
    assert_int_equal(window_read(window), 20);
}

/* ---- at the same time -----------------------------------------------------------------------------------------------
 */

enum { MESSAGES = 1000000, OTHERS = 2 };

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
        window_open(own);
        window_reset(own);
        window_read(own);
        window_close(own);
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
    window_open(first);
    window_open(second);
    stir(watch_nothing, NULL);
    assert_int_equal(window_read(first), MESSAGES);
    window_close(second);
    assert_int_equal(window_read(second), MESSAGES);
    assert_int_equal(value_of("mpit_message_bytes", VARIABLE_HIGHWATERMARK), MESSAGES);
}

static uint64_t falls, highest;

static void watch_value(struct window *window)
{
    uint64_t now = window_read(window);
    falls += now < highest;
    highest = now > highest ? now : highest;
}

static void open_window_never_falls_while_others_reset(void **state)
{
    (void)state;
    struct window *window = window_new(EXTREME_MESSAGE_HIGH);
    window_open(window);
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
    window_reset(window);
    window_open(window);
    uint64_t before = recorded(), most = before;
    while (most == before && !__atomic_load_n(&ended, __ATOMIC_ACQUIRE))
        most = recorded();
    window_close(window);
    wrong += most > before && window_read(window) < most;
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
    window_reset(window);
    for (int i = 0; i < 3; i++) {
        uint64_t now = window_read(window);
        wrong += now != 0 && now <= before;
    }
}

static void reset_window_has_nothing_from_before(void **state)
{
    (void)state;
    struct window *window = window_new(EXTREME_MESSAGE_HIGH);
    window_open(window);
    wrong = 0;
    stir(watch_reset, window);
    assert_int_equal(wrong, 0);
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
        window_open(high);
        window_open(low);
        window_reset(high);
        window_reset(low);
        uint64_t most = window_read(high), least = window_read(low);
        wrong += most < 50 || most > 250 || least < 50 || least > 250;
        window_close(high);
        window_close(low);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(writers[i], NULL);
    assert_int_equal(wrong, 0);
    window_reset(high);
    window_reset(low);
    assert_int_equal(window_read(high), 50);
    assert_int_equal(window_read(low), 50);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, comm_setup)
    const struct CMUnitTest tests[] = {
        TEST(tied_window_is_closed_with_its_starting_value),
        TEST(window_that_is_tied_again_is_closed),
        TEST(window_sees_the_largest_since_it_was_opened),
        TEST(closed_window_keeps_its_value_and_sees_no_more),
        TEST(reset_window_begins_again),
        TEST(windows_on_one_extreme_do_not_disturb_each_other),
        TEST(windows_leave_the_whole_runs_extremes_as_they_were),
        TEST(window_of_a_level_starts_at_the_level_of_this_moment),
        TEST(window_that_goes_on_sees_the_level_that_it_finds),
        TEST(every_level_has_its_own_windows),
        TEST(first_begin_of_a_window_is_the_first_behind_it),
        TEST(window_sees_all_threads_and_no_other_communicator),
        TEST(no_maximum_is_lost_while_others_reset),
        TEST(open_window_never_falls_while_others_reset),
        TEST(closed_window_has_all_that_came_before_its_close),
        TEST(reset_window_has_nothing_from_before),
        TEST(level_windows_stay_between_the_bounds),
    };
    return cmocka_run_group_tests(tests, book_setup, NULL);
}
