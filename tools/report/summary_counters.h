/* Counters of the system and of PAPI in the summary. */
#ifndef MPIT_TOOLS_SUMMARY_COUNTERS_H
#define MPIT_TOOLS_SUMMARY_COUNTERS_H

#include "summary/summary.h"

#include <jansson.h>
#include <stdio.h>

void summary_counters_print(const struct summary *summary, FILE *out);
json_t *summary_counters_json(const struct summary *summary);

#endif
