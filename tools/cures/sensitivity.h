/*
 * What a run is sensitive to: how much longer it would take with a slower network (network.h).
 */
#ifndef MPIT_TOOLS_SENSITIVITY_H
#define MPIT_TOOLS_SENSITIVITY_H

#include "analysis/analysis.h"

#include <jansson.h>
#include <stdio.h>

struct sensitivity {
    const char *unknown;        /* why nothing is known, or NULL */
    double latency_ns, byte_ns; /* of the network. 0: not known */
    double run_ns;              /* as recorded */
    double microsecond_ns;      /* the run takes so much longer with a microsecond more latency, */
    double percent_ns;          /* and if a byte takes a percent longer. Below 0: not known */
    double tolerance_ns; /* the run takes a percent longer with so much more latency. 0: with none that was tried */
};

/* Replays the trace of an open analysis once. Returns 0, or -1 without memory. */
int sensitivity_find(struct sensitivity *sensitivity, const struct analysis *analysis);
void sensitivity_print(const struct sensitivity *sensitivity, FILE *out);
/* NULL: no memory. */
json_t *sensitivity_json(const struct sensitivity *sensitivity);

#endif
