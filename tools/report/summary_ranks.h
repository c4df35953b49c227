/* Figures by rank in the summary, and the efficiencies that come from them. */
#ifndef MPIT_TOOLS_SUMMARY_RANKS_H
#define MPIT_TOOLS_SUMMARY_RANKS_H

#include "summary/efficiency.h"
#include "summary/summary.h"

#include <jansson.h>
#include <stdio.h>

/* A table with a line for each rank. A job with many ranks has only those with the most useful and the most MPI time. */
void summary_ranks_print(const struct summary *summary, FILE *out);
/* One line: parallel efficiency and its factors. Prints nothing if they are not known. */
void summary_efficiency_print(const struct summary *summary, FILE *out);

/* null: not known. */
json_t *summary_ranks_json(const struct summary *summary);
json_t *summary_efficiency_json(const struct summary *summary);
json_t *efficiency_json(const struct efficiency *is);

#endif
