/* The model of mpit-top, from a run file that grows between two looks: efficiencies of the interval, and who has none. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "calls.h"
#include "runfixture.h"
#include "top/topmodel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PAUSE_MS = 20, MPI_NS = 5000000 };

static struct fixture fixture;
static struct live live;
static struct top_model model;

static int setup(void **state)
{
    (void)state;
    fixture_open(&fixture);
    fixture_comm_add(&fixture, 1, 2, "MPI_COMM_WORLD");
    fixture_thread_add(&fixture, 0, 64);
    fixture.run.header->phase = RUN_RUNNING;
    fixture.run.header->timed = 1;
    fixture.run.header->begin_realtime_ns = UINT64_C(1000000000000);
    const char *path = fixture.directory;
    assert_int_equal(live_files_open(&live, &path, 1), 0);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    top_model_release(&model);
    live_close(&live);
    fixture_remove(&fixture);
    return 0;
}

static const struct top_job *look(void)
{
    char error[512];
    nanosleep(&(struct timespec){0, PAUSE_MS * 1000000}, NULL);
    assert_int_equal(live_look(&live, error), 0);
    assert_int_equal(top_model_update(&model, &live), 0);
    assert_int_equal(model.job_count, 1);
    assert_int_equal(model.jobs[0].rank_count, 1);
    return &model.jobs[0];
}

/* A call of MPI_NS, which the counters have at the next look. */
static void call(void)
{
    fixture_emit(&fixture, 0,
                 (struct event){.begin = FIXTURE_BEGIN_TICKS, .duration = MPI_NS, .kind = CALL_MPI_Barrier, .comm = 1},
                 NULL);
}

static void useful_time_is_the_interval_without_calls(void **state)
{
    (void)state;
    look();
    call();
    const struct top_job *job = look();
    const struct top_rank *rank = job->ranks[0];
    assert_true(rank->measured && job->efficiency.known);
    assert_true(rank->interval_ns >= PAUSE_MS * UINT64_C(1000000));
    assert_true(fabs(rank->part.run - (double)rank->interval_ns) < 1);
    assert_true(fabs(rank->part.useful - (double)(rank->interval_ns - MPI_NS)) < 1000);
    assert_true(fabs(job->efficiency.parallel - rank->part.useful / rank->part.run) < 1e-9);
    assert_true(fabs(job->efficiency.load_balance - 1) < 1e-9);
    assert_int_equal(job->sharing, 1);
    assert_true(strncmp(job->finding, "nothing", 7) == 0 || strncmp(job->finding, "the ranks", 9) == 0);
    assert_string_equal(job->directory, fixture.directory);
    assert_true(job->begin_ns == UINT64_C(1000000000000));
}

static void time_that_is_not_recorded_is_not_useful(void **state)
{
    (void)state;
    look();
    fixture.run.header->off_since = 1;
    fixture.run.header->off_count = 1;
    assert_false(look()->efficiency.known);
    fixture.run.header->off_since = 0; /* on again: a part of this interval was off */
    fixture.run.header->off_count = 2;
    assert_false(look()->efficiency.known);
    assert_true(look()->efficiency.known);
    strcpy(fixture.run.header->filter, "MPI_Send");
    assert_false(look()->efficiency.known);
}

static void first_look_leaves_init_out(void **state)
{
    (void)state;
    /* a process that has been in MPI_Init for all of its life but the last moment */
    const struct top_job *job = look();
    assert_true(job->efficiency.known);
    double whole = job->ranks[0]->part.run;
    top_model_release(&model);
    fixture.run.header->init_ticks += (uint64_t)(whole / 2);
    job = look();
    assert_true(job->ranks[0]->part.run < (double)job->ranks[0]->interval_ns - whole / 2 + 1000);
}

static void ranks_in_init_and_finalize_have_no_efficiency(void **state)
{
    (void)state;
    fixture.run.header->phase = RUN_STARTING;
    fixture.run.header->init_ticks = 0;
    look();
    const struct top_job *job = look();
    assert_false(job->efficiency.known);
    assert_int_equal(job->sharing, 0);
    fixture.run.header->phase = RUN_RUNNING;
    fixture.run.header->init_ticks = FIXTURE_BEGIN_TICKS;
    assert_true(look()->efficiency.known);
    fixture.run.header->finalize_ticks = FIXTURE_BEGIN_TICKS + 1;
    assert_false(look()->efficiency.known);
}

static void times_that_are_not_measured_are_unknown(void **state)
{
    (void)state;
    fixture.run.header->timed = 0;
    look();
    const struct top_job *job = look();
    assert_false(job->efficiency.known);
    assert_string_equal(job->finding, "");
    assert_int_equal(job->sharing, 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
#define MODEL_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        MODEL_TEST(useful_time_is_the_interval_without_calls),
        MODEL_TEST(time_that_is_not_recorded_is_not_useful),
        MODEL_TEST(first_look_leaves_init_out),
        MODEL_TEST(ranks_in_init_and_finalize_have_no_efficiency),
        MODEL_TEST(times_that_are_not_measured_are_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
