/*
 * The metrics of the observed jobs: families of metrics with their labels, limited to the requested number of series.
 *
 * A series that was exported once is exported again as long as its object exists. New series are added only while there
 * is room (seriesroom.h). First come the series of each job and process, then variables with one value, sizes of messages, and variables with
 * many slots.
 */
#ifndef MPIT_TOOLS_METRICS_H
#define MPIT_TOOLS_METRICS_H

#include "exporter/observation.h"
#include "exporter/openmetrics.h"
#include "exporter/seriesroom.h"

enum metrics_by { BY_JOB, BY_RANK, BY_COMM };

/* A call that has lasted this long is named. */
#define CALL_NAMED_NS UINT64_C(1000000000)

struct metrics_choice {
    enum metrics_by by;
    size_t series_most;
    bool shared;    /* by the jobs of several users (seriesroom.h) */
    bool all_sizes; /* every bucket of sizes, and not every second */
};

/* Facts of the exporter about itself. */
struct exporter_facts {
    uint64_t look_ns;   /* that this look took */
    uint64_t users_cut; /* livefind.h */
    uint64_t start_ns;  /* since the epoch */
    uint64_t scrapes;
};

/* Fills the exposition. Without memory the exposition is marked as failed. */
void metrics_make(struct exposition *exposition, struct observation *observation, const struct metrics_choice *choice,
                  const struct exporter_facts *facts);

#endif
