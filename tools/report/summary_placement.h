/* Messages inside and between nodes, and a better order of ranks: as text, and as JSON. */
#ifndef MPIT_TOOLS_SUMMARY_PLACEMENT_H
#define MPIT_TOOLS_SUMMARY_PLACEMENT_H

#include "summary/summary.h"

#include <jansson.h>
#include <stdio.h>

/* Nothing, if the job has one node or its peers are not known. */
void summary_placement_print(const struct summary *summary, FILE *out);
/* null: likewise. NULL: no memory. */
json_t *summary_placement_json(const struct summary *summary);
json_t *summary_links_json(const struct summary *summary);

#endif
