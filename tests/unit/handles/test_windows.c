/* Windows on extremes: alone, and several on one extreme. */
#include "windowfixture.h"

TESTS_EACH(comm_setup, NULL)
TESTS_ALL(book_setup, NULL)

TEST(new_window_is_closed_with_its_starting_value)
{
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

TEST(window_that_goes_to_another_is_new_to_it)
{
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

TEST(readreset_ends_one_window_where_the_next_begins)
{
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
TEST(level_that_was_seen_is_in_the_watermark)
{
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

TEST(window_sees_the_largest_since_it_was_opened)
{
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

TEST(closed_window_keeps_its_value_and_sees_no_more)
{
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

TEST(reset_window_begins_again)
{
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

TEST(windows_on_one_extreme_do_not_disturb_each_other)
{
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

TEST(windows_leave_the_whole_runs_extremes_as_they_were)
{
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

TEST(window_of_a_level_starts_at_the_level_of_this_moment)
{
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

TEST(window_that_goes_on_sees_the_level_that_it_finds)
{
    struct window *high = window_new(EXTREME_SENDS_HIGH), *low = window_new(EXTREME_SENDS_LOW);
    window_opens(low);
    window_opens(high);
    window_closes(high);
    sends_change(8);
    window_opens(high);
    assert_int_equal(value_read(high), 8);
    assert_int_equal(value_read(low), 0);
}

TEST(window_that_was_reset_while_closed_begins_anew)
{
    struct window *high = window_new(EXTREME_SENDS_HIGH);
    window_opens(high);
    sends_change(10);
    window_closes(high);
    window_resets(high);
    assert_int_equal(value_read(high), 10);
    sends_change(-8);
    window_opens(high);
    assert_int_equal(value_read(high), 2);
    window_resets(high);
    window_closes(high);
    sends_change(-2);
    window_opens(high);
    assert_int_equal(value_read(high), 2);
}

TEST(every_level_has_its_own_windows)
{
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

TEST(span_is_from_the_first_begin_to_the_last_end)
{
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
TEST(span_goes_on_after_a_stop_without_the_pause)
{
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

TEST(window_sees_all_threads_and_no_other_communicator)
{
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
