/*
 * MPI time below functions of the program: of a function, the time in MPI of all calls that it led to.
 *
 *   solve            70 %
 *     exchange       50 %     has calls of MPI
 *     dot            20 %     likewise
 *
 * Wrappers are left out (symbols/siteplaces.h), and functions where 90 % is below one function that they call. A function
 * in which a call of MPI has its place is there in any case.
 */
#ifndef MPIT_TOOLS_SUMMARY_BELOW_H
#define MPIT_TOOLS_SUMMARY_BELOW_H

#include "summary/summary.h"

#include <jansson.h>
#include <stdio.h>

/* The functions with the most time, as a table in 80 columns. Prints nothing if there are less than two. */
void summary_below_print(const struct summary *summary, size_t most, FILE *out);
json_t *summary_below_json(const struct summary *summary);

#endif
