/*
 * Samples as folded stacks, for flamegraph.pl, speedscope and similar tools. There is a line for each stack, with the
 * time of its samples in microseconds:
 *
 *     rank 0;app 4711;main;solve;MPI_Recv;[stall recv] 120000
 *
 * Samples are also drawn as a flame graph: an SVG in which the width of a function is its time, including its callees.
 * A function is above its caller. Time outside of MPI, work in MPI, and stalls have their own colors.
 */
#ifndef MPIT_TOOLS_FOLDED_H
#define MPIT_TOOLS_FOLDED_H

#include "profile/stacks.h"

#include <stdio.h>

/* Each returns 0, or -1 without memory. `title` comes before the ranks if there are several jobs, else it is "". */
int folded_write(struct stacks *stacks, const char *title, FILE *out);

struct profile;
void flamegraph_write(const struct profile *profile, const char *title, FILE *out);

#endif
