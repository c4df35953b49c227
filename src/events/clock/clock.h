/*
 * The clock of a run: ticks inside, nanoseconds only in results.
 *
 * Ticks are the invariant time stamp counter if the kernel itself trusts it (current_clocksource is tsc). Otherwise
 * they are CLOCK_MONOTONIC in nanoseconds. The factor between the two is measured once, over the program's start
 * (clock_open .. clock_calibrate). It never changes in a run, so a timer never runs backwards.
 */
#ifndef MPIT_EVENTS_CLOCK_H
#define MPIT_EVENTS_CLOCK_H

#include "base/linkage.h"

#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

enum clock_kind { CLOCK_KIND_MONOTONIC = 1, CLOCK_KIND_TSC = 2 };

/* ns = ticks * mult / 2^32 */
struct clock_scale {
    uint64_t mult;
};

/* One instant on both time lines. */
struct clock_pair {
    uint64_t ticks;
    uint64_t realtime_ns; /* since the epoch */
};

extern LIBRARY_LOCAL bool clock_is_counter; /* set by clock_open, constant afterwards */

/* The counter itself. Only if clock_is_counter. */
static inline uint64_t clock_counter(void)
{
#if defined(__x86_64__)
    return __rdtsc();
#elif defined(__aarch64__)
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
    return 0;
#endif
}

static inline uint64_t clock_now(void)
{
    if (__builtin_expect(clock_is_counter, 1))
        return clock_counter();
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline uint64_t clock_ns(struct clock_scale scale, uint64_t ticks)
{
    return (uint64_t)(((unsigned __int128)ticks * scale.mult) >> 32);
}

static inline uint64_t clock_ticks(struct clock_scale scale, uint64_t ns)
{
    if (!scale.mult) /* nothing was timed yet */
        return 0;
    unsigned __int128 ticks = ((unsigned __int128)ns << 32) / scale.mult;
    return ticks > UINT64_MAX ? UINT64_MAX : (uint64_t)ticks;
}

/* Chooses the clock and takes the first calibration point. Call once, early. */
void clock_open(void);
/* Ends the calibration, after it has lasted at least 2 ms. Later calls return the same factor. */
struct clock_scale clock_calibrate(void);
/* The result of clock_calibrate. Its factor is 0 before that call. Async-signal-safe. */
struct clock_scale clock_calibrated(void);
enum clock_kind clock_kind(void);
/* The tightest of a few attempts to read both time lines at once. */
struct clock_pair clock_pair_read(void);

#endif
