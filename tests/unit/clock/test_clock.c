#include "unittest.h"

#include "clock/clock.h"

#include <stdlib.h>
#include <string.h>

static uint64_t now_ns(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

FIXTURE(clock_start)
{
    clock_open();
}

static int opened_at(void **state)
{
    static uint64_t opened;
    clock_open();
    opened = now_ns(CLOCK_MONOTONIC_RAW) - 1000000; /* clock_open came a little earlier */
    *state = &opened;
    return 0;
}

TEST_WITH(calibration_lasts_two_milliseconds_and_stays, opened_at, NULL)
{
    uint64_t opened = *(uint64_t *)*state;
    struct clock_scale scale = clock_calibrate();
    if (clock_is_counter)
        assert_true(now_ns(CLOCK_MONOTONIC_RAW) - opened >= 2000000);
    assert_true(scale.mult > 0);
    struct timespec nap = {.tv_nsec = 3000000};
    nanosleep(&nap, NULL);
    assert_true(clock_calibrate().mult == scale.mult);
    clock_open();
    assert_true(clock_calibrate().mult == scale.mult);
}

TEST_WITH(ticks_never_run_backwards, clock_start, NULL)
{
    uint64_t last = clock_now(), first = last;
    for (int i = 0; i < 200000; i++) {
        uint64_t now = clock_now();
        assert_true(now >= last);
        last = now;
    }
    assert_true(last > first);
}

TEST_WITH(ticks_become_the_nanoseconds_that_have_passed, clock_start, NULL)
{
    struct clock_scale scale = clock_calibrate();
    uint64_t ticks = clock_now(), ns = now_ns(CLOCK_MONOTONIC_RAW);
    struct timespec nap = {.tv_nsec = 100000000};
    nanosleep(&nap, NULL);
    ticks = clock_now() - ticks;
    ns = now_ns(CLOCK_MONOTONIC_RAW) - ns;
    double ratio = (double)clock_ns(scale, ticks) / (double)ns;
    assert_true(ratio > 0.98 && ratio < 1.02);
}

TEST(nanoseconds_and_ticks_are_inverse)
{
    const uint64_t mults[] = {UINT64_C(1) << 32, 1431655765 /* 3 GHz */, UINT64_C(4) << 32 /* 250 MHz */};
    for (unsigned m = 0; m < sizeof mults / sizeof mults[0]; m++) {
        struct clock_scale scale = {mults[m]};
        for (uint64_t ns = 1; ns < UINT64_C(1) << 60; ns = ns * 7 + 3) {
            uint64_t back = clock_ns(scale, clock_ticks(scale, ns));
            uint64_t tick_ns = (mults[m] >> 32) + 1;
            assert_true(back <= ns && ns - back <= tick_ns);
        }
    }
    assert_int_equal(clock_ns((struct clock_scale){UINT64_C(1) << 31}, 10), 5);
    assert_int_equal(clock_ticks((struct clock_scale){UINT64_C(1) << 31}, 5), 10);
}

TEST(scale_does_not_overflow_in_a_year)
{
    struct clock_scale scale = {1431655765};
    uint64_t year = UINT64_C(365) * 86400 * 3000000000u;
    uint64_t ns = clock_ns(scale, year);
    assert_true(ns > UINT64_C(31535999) * 1000000000u && ns < UINT64_C(31536001) * 1000000000u);
}

TEST(too_many_nanoseconds_are_the_most_ticks)
{
    assert_true(clock_ticks((struct clock_scale){1}, UINT64_MAX) == UINT64_MAX);
    assert_true(clock_ticks((struct clock_scale){UINT64_C(1) << 31}, UINT64_MAX) == UINT64_MAX);
}

TEST(pair_is_one_instant_on_both_time_lines)
{
    struct clock_scale scale = clock_calibrate();
    uint64_t ticks_before = clock_now(), real_before = now_ns(CLOCK_REALTIME);
    struct clock_pair first = clock_pair_read();
    uint64_t real_after = now_ns(CLOCK_REALTIME), ticks_after = clock_now();
    assert_in_range(first.ticks, ticks_before, ticks_after);
    assert_in_range(first.realtime_ns, real_before, real_after);
    struct timespec nap = {.tv_nsec = 50000000};
    nanosleep(&nap, NULL);
    struct clock_pair second = clock_pair_read();
    double ratio =
        (double)clock_ns(scale, second.ticks - first.ticks) / (double)(second.realtime_ns - first.realtime_ns);
    assert_true(ratio > 0.95 && ratio < 1.05);
}

TEST(fallback_is_the_monotonic_clock_in_nanoseconds)
{
    bool counter = clock_is_counter;
    assert_int_equal(clock_kind(), counter ? CLOCK_KIND_TSC : CLOCK_KIND_MONOTONIC);
    clock_is_counter = false;
    uint64_t before = now_ns(CLOCK_MONOTONIC), now = clock_now(), after = now_ns(CLOCK_MONOTONIC);
    enum clock_kind kind = clock_kind();
    clock_is_counter = counter;
    assert_in_range(now, before, after);
    assert_int_equal(kind, CLOCK_KIND_MONOTONIC);
}
