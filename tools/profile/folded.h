/*
 * Samples as folded stacks, which flamegraph.pl, speedscope and their like read: a line for each stack, with what its
 * samples stand for in microseconds:
 *
 *     rank 0;app 4711;main;solve;MPI_Recv;[stall recv] 120000
 *
 * and as a flame graph: an SVG in which a function is as wide as the time that it and what it called took, on top of
 * who called it. What is not in MPI, work in MPI and stalls have colours of their own.
 */
#ifndef MPIT_TOOLS_FOLDED_H
#define MPIT_TOOLS_FOLDED_H

#include "profile/stacks.h"

#include <stdio.h>

/* Each returns 0, or -1: no memory. `title`: in front of the ranks, of one job of several; else "". */
int folded_write(struct stacks *stacks, const char *title, FILE *out);

struct profile;
void flamegraph_write(const struct profile *profile, const char *title, FILE *out);

#endif
