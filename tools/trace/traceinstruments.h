/*
 * Measurements of other libraries (instrument records of the run files) in an archive: regions by name, variables as
 * metrics.
 */
#ifndef MPIT_TOOLS_TRACEINSTRUMENTS_H
#define MPIT_TOOLS_TRACEINSTRUMENTS_H

#include "trace/tracereport.h"
#include "reader/reader.h"

#include <mpit/instrument_interface.h>

#include <stdbool.h>

struct trace_metric {
    const struct run_reader *run; /* one that knows it */
    const struct instrument_record *record;
    uint32_t element;
    const char *comm; /* "" = not bound */
};

struct trace_instruments {
    const struct instrument_record **regions; /* by region of the archive: they have the first numbers */
    uint32_t region_count;
    struct trace_metric *metrics; /* by metric of the archive */
    uint32_t metric_count;
};

/* Returns how many elements of a variable are sampled into a trace. */
enum { METRIC_ELEMENTS_MAX = 64 };

/* Adds the instruments of one run file. Returns 0, or -1 without memory. */
int trace_instruments_add(struct trace_instruments *instruments, const struct run_reader *run);
void trace_instruments_release(struct trace_instruments *instruments);

/* Returns the region or metric of an event. Returns false if the file does not name its instrument. */
bool trace_instrument_place(const struct trace_instruments *instruments, const struct run_reader *run,
                            const struct event *event, uint32_t *what);

#endif
