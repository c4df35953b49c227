/*
 * The control variables: one list for the environment, MPI_T and the recorder.
 *
 * Each value is an 8-byte cell; the hot path loads it relaxed, MPI_T stores it relaxed.
 */
#ifndef MPIT_AGGREGATE_KNOBS_H
#define MPIT_AGGREGATE_KNOBS_H

#include "cells.h"
#include "linkage.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum knob_type { KNOB_INT, KNOB_UNSIGNED_LONG_LONG };

enum knob {
    KNOB_TRACE,
    KNOB_FLIGHT_EVENTS,
    KNOB_BUFFER_LIMIT_BYTES,
    KNOB_TRACE_LIMIT_BYTES,
    KNOB_LARGE_MESSAGE_BYTES,
    KNOB_P2P_TIMEOUT_NS,
    KNOB_COUNT
};

struct knob_description {
    const char *name; /* mpit_...; the environment's is the same in upper case */
    enum knob_type type;
    bool run_time; /* may be written while the program runs */
    uint64_t initial, least, most;
    const char *description;
};

extern const struct knob_description knob_table[KNOB_COUNT];
extern LIBRARY_LOCAL uint64_t knobs[KNOB_COUNT];

/* p2p timeout in ticks, derived from KNOB_P2P_TIMEOUT_NS; UINT64_MAX = off. */
extern LIBRARY_LOCAL uint64_t knob_timeout_ticks;
/* Calls and transfers that take longer than this are rare: timeouts, or too long for an event's duration. */
extern LIBRARY_LOCAL uint64_t knob_rare_ticks;

static inline uint64_t knob_load(enum knob knob)
{
    return RELAXED_LOAD(&knobs[knob]);
}

/* Stores a value that was checked against the description. */
void knob_store(enum knob knob, uint64_t value);

/* Derives what depends on the clock's scale; call when that is known. */
void knobs_scale(uint64_t mult);

#endif
