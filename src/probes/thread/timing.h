/* Which calls of a thread are timed: all, none, or one of each lot of N calls, at random. */
#ifndef MPIT_PROBES_TIMING_H
#define MPIT_PROBES_TIMING_H

#include "settings/knobs.h"

struct timing {
    uint64_t lot;    /* knob_sampling as this thread last read it: one of N calls is timed */
    uint64_t wait;   /* calls until the next timed one, with this one. UINT64_MAX: none is timed */
    uint64_t rest;   /* calls of the same lot after that one */
    uint64_t random; /* state of the random numbers */
};

/* `number` of the thread: threads draw different numbers. */
void timing_begin(struct timing *timing, uint32_t number);
/* Returns how often the time of this call counts. */
uint64_t timing_next(struct timing *timing);

/* True if this call is not timed, another one of its lot is, and the thread knows the size of lots. */
static inline __attribute__((always_inline)) bool timing_waits(const struct timing *timing)
{
    return timing->wait > 1 && timing->lot == COMPARED_LOAD(&knob_sampling) && timing->lot != 1;
}

#endif
