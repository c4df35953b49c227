/*
 * One time line for the processes of a job. Processes on one kernel share its counter, so their ticks compare exactly;
 * for the others the wall clock at the begin of each run is all there is.
 */
#ifndef MPIT_TOOLS_TIMELINE_H
#define MPIT_TOOLS_TIMELINE_H

#include "reader.h"

struct timeline {
    const struct run_reader *reference;
    int64_t first_ns; /* the earliest begin of a process, seen from the reference's */
};

void timeline_open(struct timeline *line, const struct run_reader *files, size_t count);
/* Nanoseconds since the job's first process began to record. */
int64_t timeline_ns(const struct timeline *line, const struct run_reader *file, uint64_t ticks);

#endif
