/*
 * Samples as pprof reads them: a gzip-compressed protocol buffer (pprof.proto).
 *
 * Each stack has two values: how many samples, and what they stand for in nanoseconds. In MPI its innermost frame is
 * the state. Labels: rank, thread, state.
 */
#ifndef MPIT_TOOLS_PPROF_H
#define MPIT_TOOLS_PPROF_H

#include "profile/stacks.h"

#include <stdio.h>

/* Returns 0, or -1: no memory. What cannot be written is the file's error. */
int pprof_write(struct stacks *stacks, FILE *out);

#endif
