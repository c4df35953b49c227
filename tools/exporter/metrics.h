/*
 * What is told of the jobs that were observed: families of metrics with their labels, and not more series than wanted.
 *
 * A series that was told once is told again as long as what it is about is there; new ones only as far as there is
 * room: first what is told of each process, then variables with one value, sizes of messages, variables with many
 * slots.
 */
#ifndef MPIT_TOOLS_METRICS_H
#define MPIT_TOOLS_METRICS_H

#include "exporter/observation.h"
#include "exporter/openmetrics.h"

enum metrics_by { BY_JOB, BY_RANK, BY_COMM };

/* A call that has lasted so long is named. */
#define CALL_NAMED_NS UINT64_C(1000000000)

struct metrics_choice {
    enum metrics_by by;
    size_t series_most;
    bool all_sizes; /* each bucket of sizes, and not every second */
};

/* What the exporter tells of itself. */
struct exporter_facts {
    double look_seconds;  /* that this look took */
    double start_seconds; /* since the epoch */
    uint64_t scrapes;
};

/* Fills the exposition; without memory that has failed. */
void metrics_make(struct exposition *exposition, struct observation *observation, const struct metrics_choice *choice,
                  const struct exporter_facts *facts);

#endif
