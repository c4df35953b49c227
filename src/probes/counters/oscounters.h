/*
 * The system's counters of a thread (getrusage), which cost too much to read at each call.
 *
 *   call begins, returns ── the clock ──> spent[place] += now - mark
 *                                │ a reading is due
 *                                v
 *              what has come since the last reading is shared over the places by the time spent in each
 *
 * Readings are due every OS_INTERVAL_NS on average. A thread that has read seldom may make up to OS_READINGS_SAVED of
 * them in a row. So the figures of long or rare calls are exact. The figures of short calls in a row are estimates. The
 * sum over the places is exact.
 *
 * Who may run with whom: an os_counters belongs to its thread. Any thread and any signal handler may turn the switch.
 */
#ifndef MPIT_PROBES_OSCOUNTERS_H
#define MPIT_PROBES_OSCOUNTERS_H

#include "format/counter.h"

#include <stdbool.h>
#include <stdint.h>

/* The system's counters of a thread. */
struct os_counters {
    uint64_t mark;               /* `spent` is complete up to this time */
    uint64_t due;                /* time of the next reading */
    uint64_t spent[PLACE_COUNT]; /* ticks since the last reading */
    bool known;                  /* there was a reading */
    uint64_t last[COUNTER_OS_END];
};

void os_counters_switch(bool on);
bool os_counters_on(void);
/* Finds out once how exact mpit_os_time is on this kernel, and warns. */
void os_counters_check(void);

/* The thread has been at `place` until `now`. True: a reading is due. */
static inline bool os_counters_pass(struct os_counters *os, enum counter_place place, uint64_t now)
{
    if (__builtin_expect(now > os->mark, 1)) {
        os->spent[place] += now - os->mark;
        os->mark = now;
    }
    return now >= os->due;
}

/* Reads the counters, and adds the counts since the last reading. False: there is no reader. Keeps errno. */
bool os_counters_read(struct os_counters *os, uint64_t now, uint64_t counts[][PLACE_COUNT]);

#endif
