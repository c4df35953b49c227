/*
 * Counters of the system and of PAPI: the list, and the places that they are counted for.
 *
 * A thread's counters are read where its outermost recorded calls begin and end. Counters of the system are read at
 * only some of these places (probes/counters/oscounters.h). The count between begin and end belongs to the class of the
 * call, the rest to outside of MPI. So the sum over the places is the whole count.
 */
#ifndef MPIT_EVENTS_COUNTER_H
#define MPIT_EVENTS_COUNTER_H

#include "calls.h"
#include "format/event.h"

/* enum mpit_papi_place */
enum counter_place {
    PLACE_OUTSIDE,
    PLACE_P2P,
    PLACE_COMPLETION,
    PLACE_COLLECTIVE,
    PLACE_ACCESS, /* windows and files */
    PLACE_OTHER,
    PLACE_COUNT
};

enum counter {
    COUNTER_OS_TIME, /* ns in the kernel */
    COUNTER_SWITCHES_VOLUNTARY,
    COUNTER_SWITCHES_INVOLUNTARY,
    COUNTER_FAULTS_MINOR,
    COUNTER_FAULTS_MAJOR,
    COUNTER_OS_END,
    COUNTER_ASKED = COUNTER_OS_END, /* counters that the user named */
    COUNTER_ASKED_MOST = 16,
    COUNTER_COUNT = COUNTER_ASKED + COUNTER_ASKED_MOST
};

static inline enum counter_place counter_place_of(unsigned kind)
{
    switch (call_table[kind < CALL_COUNT ? kind : CALL_NONE].class) {
    case CLASS_P2P:
        return PLACE_P2P;
    case CLASS_COMPLETION:
        return PLACE_COMPLETION;
    case CLASS_COLLECTIVE:
        return PLACE_COLLECTIVE;
    case CLASS_RMA:
    case CLASS_IO:
        return PLACE_ACCESS;
    default:
        return PLACE_OTHER;
    }
}

static inline struct event counter_event(unsigned counter, unsigned kind, uint64_t begin, uint64_t outside,
                                         uint64_t inside)
{
    return (struct event){.begin = begin,
                          .duration = kind | counter << 16,
                          .kind = RECORD_COUNTER,
                          .peer = (int32_t)(uint32_t)outside,
                          .tag = (int32_t)(uint32_t)(outside >> 32),
                          .bytes = inside};
}

static inline unsigned counter_of(const struct event *event)
{
    return event->duration >> 16;
}

static inline unsigned counter_call(const struct event *event)
{
    return event->duration & 0xffff;
}

static inline uint64_t counter_outside(const struct event *event)
{
    return (uint32_t)event->peer | (uint64_t)(uint32_t)event->tag << 32;
}

#endif
