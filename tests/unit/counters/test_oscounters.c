/* When the system's counters are read, and where what they have counted goes. */
#define _GNU_SOURCE
#include "unittest.h"

#include "clock/clock.h"
#include "counters/oscounters.h"

#include <string.h>
#include <sys/resource.h>

static struct rusage usage;
static int readings;

/* The kernel's. */
int getrusage(__rusage_who_t who, struct rusage *to)
{
    assert_int_equal(who, RUSAGE_THREAD);
    *to = usage;
    readings++;
    return 0;
}

static uint64_t counts[COUNTER_COUNT][PLACE_COUNT];
static struct os_counters os;
static uint64_t interval, now;

FIXTURE(begin)
{
    memset(counts, 0, sizeof counts);
    memset(&os, 0, sizeof os);
    memset(&usage, 0, sizeof usage);
    interval = clock_ticks(clock_calibrate(), 50000);
    now = 1000 * interval;
    os_counters_switch(true);
    os_counters_pass(&os, PLACE_OUTSIDE, now);
    os_counters_read(&os, now, counts);
    readings = 0;
}

/* The thread is there for so long. */
static bool stay(enum counter_place place, uint64_t ticks)
{
    now += ticks;
    return os_counters_pass(&os, place, now);
}

static uint64_t sum(enum counter counter)
{
    uint64_t all = 0;
    for (unsigned place = 0; place < PLACE_COUNT; place++)
        all += counts[counter][place];
    return all;
}

TESTS_EACH(begin, NULL)

TEST(shares_are_by_time)
{
    usage.ru_minflt = 1000;
    usage.ru_nvcsw = 1;
    usage.ru_stime.tv_usec = 7;
    stay(PLACE_OUTSIDE, interval / 10);
    stay(PLACE_P2P, interval / 10 * 6);
    stay(PLACE_OUTSIDE, interval / 10);
    stay(PLACE_COMPLETION, interval / 10 * 2);
    assert_true(os_counters_read(&os, now, counts));
    assert_in_range(counts[COUNTER_FAULTS_MINOR][PLACE_P2P], 599, 602);
    assert_in_range(counts[COUNTER_FAULTS_MINOR][PLACE_OUTSIDE], 199, 200);
    assert_in_range(counts[COUNTER_FAULTS_MINOR][PLACE_COMPLETION], 199, 200);
    assert_int_equal(sum(COUNTER_FAULTS_MINOR), 1000);
    assert_int_equal(counts[COUNTER_SWITCHES_VOLUNTARY][PLACE_P2P], 1); /* it had the largest share */
    assert_int_equal(sum(COUNTER_SWITCHES_VOLUNTARY), 1);
    assert_int_equal(sum(COUNTER_OS_TIME), 7000);
    usage.ru_minflt = 1003;
    stay(PLACE_COLLECTIVE, interval);
    assert_true(os_counters_read(&os, now, counts));
    assert_int_equal(counts[COUNTER_FAULTS_MINOR][PLACE_COLLECTIVE], 3); /* alone since then */
    assert_int_equal(sum(COUNTER_FAULTS_MINOR), 1003);
}

TEST(readings_are_few_where_calls_are_short)
{
    enum { PASSES = 100000 };
    for (int i = 0; i < PASSES; i++)
        if (stay(i % 2 ? PLACE_P2P : PLACE_OUTSIDE, interval / 100))
            os_counters_read(&os, now, counts);
    assert_in_range(readings, PASSES / 100, PASSES / 100 + 32);
    usage.ru_minflt = 300;
    assert_true(stay(PLACE_P2P, interval)); /* a long one is read at its end */
    assert_true(os_counters_read(&os, now, counts));
    assert_in_range(counts[COUNTER_FAULTS_MINOR][PLACE_P2P], 150, 300);
}

TEST(each_end_is_read_where_calls_are_seldom)
{
    for (int round = 0; round < 100; round++) {
        stay(PLACE_OUTSIDE, 40 * interval);
        for (int i = 0; i < 32; i++) {
            assert_true(stay(i % 2 ? PLACE_OUTSIDE : PLACE_P2P, interval / 100));
            os_counters_read(&os, now, counts);
        }
    }
    assert_int_equal(readings, 3200);
}

TEST(nobody_asks)
{
    os_counters_switch(false);
    usage.ru_minflt = 500;
    assert_true(stay(PLACE_P2P, 2 * interval));
    assert_false(os_counters_read(&os, now, counts));
    assert_int_equal(readings, 0);
    os_counters_switch(true);
    stay(PLACE_P2P, 2 * interval);
    assert_true(os_counters_read(&os, now, counts));
    assert_int_equal(sum(COUNTER_FAULTS_MINOR), 0); /* it counts from here */
    usage.ru_minflt = 501;
    stay(PLACE_P2P, 2 * interval);
    os_counters_read(&os, now, counts);
    assert_int_equal(counts[COUNTER_FAULTS_MINOR][PLACE_P2P], 1);
}

AT_START(clock_start, clock_open())
