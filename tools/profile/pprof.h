/*
 * Samples for pprof: a gzip-compressed protocol buffer (pprof.proto).
 *
 * Each stack has two values: the number of samples, and their time in nanoseconds. In MPI the innermost frame is the
 * state. Labels: rank, thread, state.
 */
#ifndef MPIT_TOOLS_PPROF_H
#define MPIT_TOOLS_PPROF_H

#include "profile/stacks.h"

#include <stdio.h>

/* Returns 0, or -1 without memory. Write errors are found in the state of `out`. */
int pprof_write(struct stacks *stacks, FILE *out);

#endif
