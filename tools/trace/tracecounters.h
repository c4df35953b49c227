/*
 * Counters of the system and of PAPI in an archive. Each counter is a metric, with values at the Enter and the Leave of
 * each outermost call. A value is the thread's total until then, so that values only grow.
 */
#ifndef MPIT_TOOLS_TRACECOUNTERS_H
#define MPIT_TOOLS_TRACECOUNTERS_H

#include "format/counter.h"
#include "reader/reader.h"

struct trace_counter {
    char name[COUNTER_NAME_BYTES];
    char unit[VARIABLE_UNIT_BYTES];
    bool asked; /* by name */
};

enum { TRACE_COUNTERS_MOST = 64 };

/* The counters of all ranks, by name. Number i is metric first + i of the archive. */
struct trace_counters {
    struct trace_counter list[TRACE_COUNTERS_MOST];
    uint32_t count;
};

enum { NO_COUNTER = 0xff };

/* Adds the counters of one run file. */
void trace_counters_add(struct trace_counters *counters, const struct run_reader *run);
/* By counter of the run file: which of the archive it is, or NO_COUNTER. */
void trace_counters_places(const struct trace_counters *counters, const struct run_reader *run,
                           uint8_t places[COUNTER_COUNT]);

#endif
