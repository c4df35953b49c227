/*
 * Samples as folded stacks, for flamegraph.pl, speedscope and similar tools. There is a line for each stack, with the
 * time of its samples in microseconds:
 *
 *     rank 0;app 4711;main;solve;MPI_Recv;[stall recv] 120000
 */
#ifndef MPIT_TOOLS_FOLDED_H
#define MPIT_TOOLS_FOLDED_H

#include "profile/stacks.h"

#include <stdio.h>

/* Returns 0, or -1 without memory. `title` comes before the ranks if there are several jobs, else it is "". */
int folded_write(struct stacks *stacks, const char *title, FILE *out);

#endif
