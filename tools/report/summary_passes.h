/* Passes of the program's loop (analysis/passes.h), as a sentence, a table and JSON. */
#ifndef MPIT_TOOLS_SUMMARY_PASSES_H
#define MPIT_TOOLS_SUMMARY_PASSES_H

#include "summary/summary.h"

#include <jansson.h>
#include <stdio.h>

/* "200, mostly of 10.1 ms; each ends with MPI_Barrier (heat.c:90 step). Passes 50 to 60 take ...". Prints nothing if they are not
 * known. */
void summary_passes_line_print(const struct summary *summary, FILE *out);
/* What happens in them from the begin to the end, with a heading. Likewise. */
void summary_passes_print(const struct summary *summary, FILE *out);
/* null: not known */
json_t *summary_passes_json(const struct summary *summary);

#endif
