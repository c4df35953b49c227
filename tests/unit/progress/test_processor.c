/* How long a computation had no processor, with processor times made by hand. A tick is a nanosecond. */
#define _GNU_SOURCE
#include "unittest.h"

#include "progress/processor.h"

#include <time.h>

static uint64_t used;

/* The kernel's. */
int clock_gettime(clockid_t clock, struct timespec *time)
{
    assert_int_equal(clock, CLOCK_THREAD_CPUTIME_ID);
    *time = (struct timespec){(time_t)(used / 1000000000), (long)(used % 1000000000)};
    return 0;
}

enum { MS = 1000000 };
static struct processor processor;

FIXTURE(begin)
{
    processor = (struct processor){0};
    processor_open((struct clock_scale){UINT64_C(1) << 32});
    used = 0;
}

TEST(a_millisecond_is_long)
{
    assert_int_equal(processor_long_ticks, MS);
}

TEST(nothing_is_known_before_the_first_reading)
{
    assert_false(processor_entered(&processor, 0, 10 * MS));
}

TEST(sleep_has_no_processor)
{
    processor_left(&processor, MS);
    used = MS / 2;
    assert_true(processor_entered(&processor, MS, 11 * MS));
    assert_int_equal(processor.off, 10 * MS - MS / 2);
}

TEST(computing_has_one)
{
    processor_left(&processor, MS);
    used = 10 * MS - 1000;
    assert_false(processor_entered(&processor, MS, 11 * MS));
}

/* A short call since the last reading had it: that is not of this computation. */
TEST(a_short_call_before_it_had_one)
{
    processor_left(&processor, MS);
    used = MS / 10;
    assert_true(processor_entered(&processor, MS + MS / 10, 11 * MS + MS / 10));
    assert_int_equal(processor.off, 10 * MS);
}

/* After many of them it is not known when the thread had it. The computation had no more than all. */
TEST(many_short_calls_leave_the_least)
{
    processor_left(&processor, MS);
    used = 4 * MS;
    assert_true(processor_entered(&processor, 3 * MS, 13 * MS));
    assert_int_equal(processor.off, 6 * MS);
}

/* What the recorder does after the call is not of the program. */
TEST(a_reading_after_the_call_begins_the_computation)
{
    processor_left(&processor, 2 * MS);
    used = 9 * MS;
    assert_false(processor_entered(&processor, MS, 11 * MS));
}

TESTS_EACH(begin, NULL)
