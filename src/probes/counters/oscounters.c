#include "counters/oscounters.h"

#include "registry/book.h"
#include "clock/clock.h"
#include "native.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>

enum { OS_INTERVAL_NS = 50000, OS_READINGS_SAVED = 32 };

static bool wanted, checked;

void os_counters_switch(bool on)
{
    __atomic_store_n(&wanted, on, __ATOMIC_SEQ_CST);
}

bool os_counters_on(void)
{
    return __atomic_load_n(&wanted, __ATOMIC_RELAXED);
}

static uint64_t time_ns(struct timeval time)
{
    return ((uint64_t)time.tv_sec * 1000000 + (uint64_t)time.tv_usec) * 1000;
}

static bool os_read(uint64_t now[COUNTER_OS_END])
{
    struct rusage usage;
    if (getrusage(RUSAGE_THREAD, &usage) != 0)
        return false;
    now[COUNTER_OS_TIME] = time_ns(usage.ru_stime);
    now[COUNTER_SWITCHES_VOLUNTARY] = (uint64_t)usage.ru_nvcsw;
    now[COUNTER_SWITCHES_INVOLUNTARY] = (uint64_t)usage.ru_nivcsw;
    now[COUNTER_FAULTS_MINOR] = (uint64_t)usage.ru_minflt;
    now[COUNTER_FAULTS_MAJOR] = (uint64_t)usage.ru_majflt;
    return true;
}

/* 0 until the clock is calibrated: then each reading is due. */
static uint64_t interval(void)
{
    static uint64_t ticks;
    uint64_t known = __atomic_load_n(&ticks, __ATOMIC_RELAXED);
    if (__builtin_expect(!known, 0)) {
        known = clock_ticks(clock_calibrated(), OS_INTERVAL_NS);
        __atomic_store_n(&ticks, known, __ATOMIC_RELAXED);
    }
    return known;
}

/* Each reading uses up an interval of the time that has passed. */
static void reading_pay(struct os_counters *os, uint64_t now)
{
    uint64_t ticks = interval(), saved = OS_READINGS_SAVED * ticks;
    if (now > os->due && now - os->due > saved)
        os->due = now - saved;
    os->due += ticks;
}

/* Adds the rest of the rounding to the place with the largest share. */
static void value_share(const struct os_counters *os, uint64_t value, uint64_t all, uint64_t counts[PLACE_COUNT])
{
    uint64_t rest = value;
    unsigned most = PLACE_OUTSIDE;
    for (unsigned place = 0; place < PLACE_COUNT; place++) {
        uint64_t share = (uint64_t)((unsigned __int128)value * os->spent[place] / all);
        counts[place] += share;
        rest -= share;
        if (os->spent[place] > os->spent[most])
            most = place;
    }
    counts[most] += rest;
}

static void all_share(struct os_counters *os, const uint64_t now[COUNTER_OS_END], uint64_t counts[][PLACE_COUNT])
{
    uint64_t all = 0;
    for (unsigned place = 0; place < PLACE_COUNT; place++)
        all += os->spent[place];
    for (unsigned i = 0; i < COUNTER_OS_END; i++)
        if (now[i] > os->last[i])
            value_share(os, now[i] - os->last[i], all ? all : 1, counts[i]);
}

bool os_counters_read(struct os_counters *os, uint64_t now, uint64_t counts[][PLACE_COUNT])
{
    uint64_t values[COUNTER_OS_END];
    int error = errno;
    bool known = os->known;
    os->known = os_counters_on() && os_read(values);
    errno = error;
    if (!os->known)
        return false;
    if (known)
        all_share(os, values, counts);
    reading_pay(os, now);
    memset(os->spent, 0, sizeof os->spent);
    memcpy(os->last, values, sizeof os->last);
    return true;
}

/* Checks how exact a thread's time in the kernel is. It spins for a moment of processor time outside of the kernel,
 * then in it. Some kernels look at each tick where a thread is, and share out the time by these looks. */
enum { CHECK_NS = 400000 };

static uint64_t cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static double kernel_share(bool calls)
{
    struct rusage before, after;
    getrusage(RUSAGE_THREAD, &before);
    uint64_t begin = cpu_ns(), end = begin;
    while (end - begin < CHECK_NS) {
        if (calls)
            for (int i = 0; i < 64; i++)
                sched_getscheduler(0);
        else
            for (volatile int i = 0; i < 20000; i++)
                ;
        end = cpu_ns();
    }
    getrusage(RUSAGE_THREAD, &after);
    return (double)(time_ns(after.ru_stime) - time_ns(before.ru_stime)) / (double)(end - begin);
}

void os_counters_check(void)
{
    if (!os_counters_on() || __atomic_load_n(&checked, __ATOMIC_RELAXED) ||
        __atomic_exchange_n(&checked, true, __ATOMIC_RELAXED))
        return;
    double outside = kernel_share(false), inside = kernel_share(true);
    bool exact = outside < 0.1 && inside > 0.2;
    if (!exact && book.run.header->world_rank <= 0)
        native_say("mpit: mpit_os_time is an estimate on this kernel (share/doc/counters.md)");
}
