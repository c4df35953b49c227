/* Polls of Open MPI's progress engine: when the watch over them rests, and what ends that. */
#include "unittest.h"

#include "fakeopal.h"
#include "progress/polling.h"
#include "preload.h"

#include <string.h>

enum { ENOUGH = 16, UNWATCHED_MOST = 64 + 8 };

static struct log own;
static struct thread_record record;
static uint64_t since = 1000;
static int asked, finds, finds_socket;

static int component(void)
{
    asked++;
    if (finds_socket)
        poll_found();
    return finds;
}

static int component_later(void)
{
    return component();
}

static void call_begin(uint32_t call)
{
    stall_forget(&own);
    record.state.call = call;
    record.state.since = since += 10;
    stall_call_begin(&own.stall);
}

static void polls(int n)
{
    for (int i = 0; i < n; i++)
        opal_progress();
}

static void short_calls(int n)
{
    for (int i = 0; i < n; i++) {
        call_begin(CALL_MPI_Recv);
        polls(3);
    }
}

/* How many polls in vain are no stall. */
static int polls_to_a_stall(void)
{
    int n = 0;
    for (; !own.stall.since && n < 1000; n++)
        opal_progress();
    return n;
}

static void rest_reach(void)
{
    for (int i = 0; i < 1 << 12 && !stall_rest.rests; i++)
        short_calls(1);
    assert_true(stall_rest.rests);
}

static int setup(void **state)
{
    (void)state;
    clock_open();
    stall_open();
    stall_scale(&own, (struct clock_scale){0}, false); /* so that what is learned does not depend on time */
    own.own.record = &record;
    own.state = &record.state;
    own.stall.patience = PATIENCE_LEAST;
    thread_log = &own;
    mpit_preload.recorded = true;
    return opal_progress_register(component);
}

TESTS_ALL(setup, NULL)

TEST(without_leave_it_does_not_rest)
{
    short_calls(10 * ENOUGH);
    assert_false(stall_rest.rests);
    stall_opal_rest(true);
}

TEST(it_rests_when_waits_are_short)
{
    call_begin(CALL_MPI_Recv);
    assert_in_range(polls_to_a_stall(), PATIENCE_LEAST, UNWATCHED_MOST + PATIENCE_LEAST + 1);
    short_calls(ENOUGH);
    assert_false(stall_rest.rests);
    short_calls(1);
    assert_true(stall_rest.rests);
    asked = 0;
    call_begin(CALL_MPI_Recv);
    polls(7);
    assert_int_equal(asked, 7); /* whether it is watched or not */
    assert_int_equal(own.stall.left, PATIENCE_LEAST);
    assert_true(stall_rest.rests);
}

TEST(a_stall_among_them_keeps_it_up)
{
    rest_reach();
    for (int i = 0; i < 20; i++) {
        call_begin(CALL_MPI_Recv);
        assert_in_range(polls_to_a_stall(), PATIENCE_LEAST, UNWATCHED_MOST + PATIENCE_LEAST + 1);
        assert_false(stall_rest.rests);
        short_calls(ENOUGH);
        assert_false(stall_rest.rests);
    }
}

TEST(a_long_wait_ends_the_rest_and_is_a_stall)
{
    rest_reach();
    call_begin(CALL_MPI_Recv);
    while (stall_rest.rests)
        polls(1);
    assert_int_equal(own.stall.times, 0);
    finds = 1; /* which it notices now */
    polls(1);
    finds = 0;
    EQUALS({own.stall.left, PATIENCE_LEAST}, {own.stall.moved, since});
    assert_int_equal(polls_to_a_stall(), PATIENCE_LEAST + 1);
    finds = 1;
    polls(1);
    finds = 0;
    EQUALS({own.stall.since, 0}, {own.stall.times, 1});
}

TEST(what_does_not_wait_may_poll_as_long_as_it_likes)
{
    rest_reach();
    call_begin(CALL_MPI_Test);
    polls(1000);
    assert_true(stall_rest.rests);
    record.state.call = CALL_NONE;
    polls(1000);
    assert_true(stall_rest.rests);
    assert_int_equal(own.stall.times, 0);
}

TEST(polls_of_calls_before_it_do_not_count)
{
    rest_reach();
    short_calls(1000);
    assert_true(stall_rest.rests);
}

TEST(a_sleep_ends_it)
{
    rest_reach();
    call_begin(CALL_MPI_Recv);
    struct log *log = sleep_begin();
    assert_ptr_equal(log, &own);
    assert_false(stall_rest.rests);
    sleep_end(log);
    assert_int_equal(own.stall.times, 1);
    short_calls(ENOUGH + 1);
    assert_false(stall_rest.rests); /* it has to be sure now */
    rest_reach();
}

TEST(what_a_socket_moves_ends_it)
{
    rest_reach();
    record.state.call = CALL_NONE;
    poll_found(); /* a socket of the program's own */
    assert_true(stall_rest.rests);
    assert_true(poll_is_quick(&own));
    call_begin(CALL_MPI_Recv);
    finds_socket = 1;
    polls(1);
    finds_socket = 0;
    assert_false(stall_rest.rests);
    assert_int_equal(own.stall.moved, since);
    assert_int_equal(polls_to_a_stall(), PATIENCE_LEAST + 1);
}

TEST(a_component_that_comes_later_rests_and_is_watched_too)
{
    assert_int_equal(opal_progress_unregister(component), 0);
    rest_reach();
    assert_int_equal(opal_progress_register(component_later), 0);
    asked = 0;
    finds = 1; /* as others do, it rests */
    short_calls(100);
    assert_true(stall_rest.rests);
    assert_int_equal(asked, 300);
    finds = 0;
    call_begin(CALL_MPI_Recv);
    while (stall_rest.rests)
        polls(1);
    finds = 1;
    polls(1);
    finds = 0;
    assert_int_equal(own.stall.moved, since);
}

/* A session was opened, whose threads may be others. */
TEST(several_threads_end_it_for_good)
{
    rest_reach();
    stall_opal_rest(false);
    assert_false(stall_rest.rests);
    asked = 0;
    short_calls(100000);
    assert_int_equal(asked, 300000);
    assert_false(stall_rest.rests);
    call_begin(CALL_MPI_Recv);
    assert_int_equal(polls_to_a_stall(), PATIENCE_LEAST + 1);
}
