/*
 * Phases of MPI_Pcontrol, and regions of other libraries, as text and as JSON: a line for each, over the ranks that had
 * it.
 */
#ifndef MPIT_TOOLS_SUMMARY_PHASES_H
#define MPIT_TOOLS_SUMMARY_PHASES_H

#include "summary/summary.h"

#include <jansson.h>
#include <stdio.h>

/* Print nothing if there are none. */
void summary_phases_print(const struct summary *summary, FILE *out);
void summary_regions_print(const struct summary *summary, FILE *out);
json_t *summary_phases_json(const struct summary *summary);
json_t *summary_regions_json(const struct summary *summary);

#endif
