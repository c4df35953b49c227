/*
 * The record of a region that a thread has left: its time, and what the thread did in MPI meanwhile. Phases are regions,
 * too.
 */
#ifndef MPIT_PROBES_REGIONRECORD_H
#define MPIT_PROBES_REGIONRECORD_H

#include "instruments/instrument.h"
#include "thread/log.h"

/* What is needed from the region's begin. */
struct region_begin {
    struct log *log;     /* NULL: nothing was recorded then */
    uint64_t ticks, off; /* the time, and the ticks without recording until then */
    struct call_sums sums;
};

/* What the thread of the log, which is the calling one, has done in MPI so far. */
struct call_sums call_sums(struct log *log);

/* `log`: NULL if nothing is recorded. */
void region_begin(struct region_begin *begin, struct log *log);
/* The region, which began with this log, ends `now`. `nested`: the thread is in it still. */
void region_record(struct log *log, const struct instrument_instance *instance, const struct region_begin *begin,
                   uint64_t now, bool nested);
/* The slot of its communicator, or 0. A library may be late, and its communicator gone. */
uint16_t region_slot(const struct instrument_instance *instance);

#endif
