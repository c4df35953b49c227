/*
 * The libraries below MPI in the summary, as text and JSON.
 */
#ifndef MPIT_TOOLS_SUMMARY_FABRIC_H
#define MPIT_TOOLS_SUMMARY_FABRIC_H

#include "summary/summary.h"

#include <jansson.h>
#include <stdio.h>

/* Prints nothing if they were not watched. */
void summary_fabric_print(const struct summary *summary, FILE *out);
/* Returns null if they were not watched. */
json_t *summary_fabric_json(const struct summary *summary);

#endif
