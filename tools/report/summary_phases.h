/*
 * Phases of MPI_Pcontrol, and regions of other libraries, as text and as JSON: a line for each, over the ranks that had
 * it.
 */
#ifndef MPIT_TOOLS_SUMMARY_PHASES_H
#define MPIT_TOOLS_SUMMARY_PHASES_H

#include "summary/summary.h"

#include <jansson.h>
#include <stdio.h>

/* Phases, or regions. Prints nothing if there are none. */
void summary_phases_print(const struct summary *summary, bool regions, FILE *out);
json_t *summary_phases_json(const struct summary *summary, bool regions);

#endif
