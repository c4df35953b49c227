/*
 * How long a thread has no processor while it computes: it sleeps, reads a file, or others have the processor.
 *
 *   a call that stalled returns      ── processor_left ──> the thread's processor time is read
 *   a call begins, 1 ms after that   ── processor_entered ──> it is read again. What is missing was spent without one
 *   this call returns                ── RECORD_OFF_PROCESSOR (probe_leave_rare)
 *
 * What the thread did between the first reading and the begin of the computation may have had a processor, or not. If that
 * took long, the time without one is the least that it can be.
 *
 * Who may run with whom: all of it belongs to the thread of the log.
 */
#ifndef MPIT_PROBES_PROCESSOR_H
#define MPIT_PROBES_PROCESSOR_H

#include "base/linkage.h"
#include "clock/clock.h"

#include <stdbool.h>
#include <stdint.h>

/* Of a thread, in ticks. */
struct processor {
    uint64_t looked; /* when its processor time was read. 0: never */
    uint64_t had;    /* the processor time then */
    uint64_t off;    /* without one, in the computation before the present call. Valid if stall.off is set */
};

/* A longer computation is measured. */
extern LIBRARY_LOCAL uint64_t processor_long_ticks;

void processor_open(struct clock_scale scale);
/* Returns the processor time of the calling thread, in ticks. Safe in signal handlers. */
uint64_t processor_time(struct clock_scale known);
/* A call has stalled, and has returned. */
void processor_left(struct processor *processor, uint64_t now);
/* A call begins, and the call before it had ended at `end`. Returns true if `off` was set. */
bool processor_entered(struct processor *processor, uint64_t end, uint64_t now);

#endif
