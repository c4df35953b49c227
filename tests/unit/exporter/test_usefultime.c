/* Run time and useful time of a process between looks: they grow, and count no time that is not known. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "calls.h"
#include "exporter/usefultime.h"
#include "runfixture.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { PAUSE_NS = 20000000, MPI_NS = 5000000 };

static struct fixture fixture;
static struct live live;
static struct useful_time measured;
static struct live_thread threads[2];

static int setup(void **state)
{
    (void)state;
    fixture_open(&fixture);
    fixture_comm_add(&fixture, 1, 2, "MPI_COMM_WORLD");
    fixture_thread_add(&fixture, 0, 64);
    fixture.run.header->phase = RUN_RUNNING;
    fixture.run.header->timed = 1;
    const char *path = fixture.directory;
    assert_int_equal(live_files_open(&live, &path, 1), 0);
    measured = (struct useful_time){.known = false};
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    live_close(&live);
    fixture_remove(&fixture);
    return 0;
}

/* Returns how much both times have grown since the last look. */
static struct useful_time look(void)
{
    char error[512];
    struct useful_time before = measured;
    nanosleep(&(struct timespec){0, PAUSE_NS}, NULL);
    assert_int_equal(live_look(&live, error), 0);
    assert_int_equal(live.job_count, 1);
    useful_time_take(&measured, &live.jobs[0].processes[0], threads);
    assert_true(measured.run_ns >= before.run_ns && measured.useful_ns >= before.useful_ns);
    return (struct useful_time){.known = measured.known,
                                .run_ns = measured.run_ns - before.run_ns,
                                .useful_ns = measured.useful_ns - before.useful_ns};
}

/* A call that has returned. */
static void call(unsigned kind)
{
    fixture_emit(&fixture, 0,
                 (struct event){.begin = FIXTURE_BEGIN_TICKS, .duration = MPI_NS, .kind = (uint16_t)kind, .comm = 1},
                 NULL);
}

static void useful_time_is_run_time_without_calls(void **state)
{
    (void)state;
    struct useful_time first = look();
    assert_true(first.known && first.run_ns > PAUSE_NS && first.useful_ns == first.run_ns);
    call(CALL_MPI_Barrier);
    call(CALL_MPI_Barrier);
    struct useful_time grown = look();
    assert_true(grown.run_ns > PAUSE_NS);
    assert_int_equal(grown.run_ns - grown.useful_ns, 2 * MPI_NS);
}

static void call_under_way_is_not_useful(void **state)
{
    (void)state;
    look();
    struct thread_state *there = &fixture.threads[0].record->state;
    there->since = live.jobs[0].processes[0].now_ticks;
    there->call = CALL_MPI_Barrier;
    struct useful_time grown = look();
    assert_true(grown.run_ns > PAUSE_NS);
    assert_int_equal(grown.useful_ns, 0);
    there->call = 0; /* it has returned, and took as long as it seems to have */
    there->since = 0;
    fixture_emit(
        &fixture, 0,
        (struct event){.begin = FIXTURE_BEGIN_TICKS, .duration = grown.run_ns, .kind = CALL_MPI_Barrier, .comm = 1},
        NULL);
    grown = look();
    assert_int_equal(grown.useful_ns, grown.run_ns);
}

static void begin_and_end_of_mpi_are_outside(void **state)
{
    (void)state;
    call(CALL_MPI_Init);
    struct useful_time first = look();
    assert_int_equal(first.useful_ns, first.run_ns);
    fixture.run.header->finalize_ticks = live.jobs[0].processes[0].now_ticks;
    struct thread_state *there = &fixture.threads[0].record->state;
    there->since = fixture.run.header->finalize_ticks;
    there->call = CALL_MPI_Finalize;
    struct useful_time grown = look();
    assert_true(grown.run_ns < 1000000 && grown.useful_ns == grown.run_ns);
    call(CALL_MPI_Finalize);
    there->call = 0;
    grown = look();
    assert_true(grown.run_ns == 0 && grown.useful_ns == 0);
}

static void time_switched_off_is_in_neither(void **state)
{
    (void)state;
    look();
    uint64_t now = live.jobs[0].processes[0].now_ticks;
    fixture.run.header->off_since = now;
    struct useful_time grown = look();
    assert_true(grown.run_ns == 0 && grown.useful_ns == 0);
    fixture.run.header->off_ticks = live.jobs[0].processes[0].now_ticks - now;
    fixture.run.header->off_since = 0;
    grown = look();
    assert_true(grown.run_ns >= PAUSE_NS && grown.useful_ns == grown.run_ns);
}

static void threads_count_with_their_mean(void **state)
{
    (void)state;
    fixture_thread_add(&fixture, 1, 64);
    look();
    call(CALL_MPI_Barrier);
    struct useful_time grown = look();
    assert_int_equal(grown.run_ns - grown.useful_ns, MPI_NS / 2);
}

static void times_that_are_not_known(void **state)
{
    (void)state;
    fixture.run.header->timed = 0;
    assert_false(look().known);
    fixture.run.header->timed = 1;
    strcpy(fixture.run.header->filter, "MPI_Send");
    assert_false(look().known);
    fixture.run.header->filter[0] = '\0';
    fixture.run.header->init_ticks = 0;
    assert_false(look().known);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
#define TIME_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TIME_TEST(useful_time_is_run_time_without_calls), TIME_TEST(call_under_way_is_not_useful),
        TIME_TEST(begin_and_end_of_mpi_are_outside),      TIME_TEST(time_switched_off_is_in_neither),
        TIME_TEST(threads_count_with_their_mean),         TIME_TEST(times_that_are_not_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
