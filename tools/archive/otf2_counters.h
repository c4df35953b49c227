/*
 * Counters of the system and of PAPI in an archive: one metric for each, beside the Enter and the Leave of each call
 * that is in no other. Its values are what the thread had counted until then, so that they only grow.
 */
#ifndef MPIT_TOOLS_OTF2_COUNTERS_H
#define MPIT_TOOLS_OTF2_COUNTERS_H

#include "format/counter.h"
#include "reader/reader.h"

struct trace_counter {
    char name[COUNTER_NAME_BYTES];
    char unit[VARIABLE_UNIT_BYTES];
    bool asked; /* by name */
};

enum { TRACE_COUNTERS_MOST = 64 };

/* Those of all ranks, by name; number i is metric first + i of the archive. */
struct trace_counters {
    struct trace_counter list[TRACE_COUNTERS_MOST];
    uint32_t count;
};

enum { NO_COUNTER = 0xff };

/* Takes in those of one run file. */
void trace_counters_add(struct trace_counters *counters, const struct run_reader *run);
/* By counter of the run file: which of the archive it is, or NO_COUNTER. */
void trace_counters_places(const struct trace_counters *counters, const struct run_reader *run,
                           uint8_t places[COUNTER_COUNT]);

#endif
