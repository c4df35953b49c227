/* The threads of OpenMP: their time, and the parallel regions of the program. */
#ifndef MPIT_TOOLS_SUMMARY_OPENMP_H
#define MPIT_TOOLS_SUMMARY_OPENMP_H

#include "report/summary_sites.h"
#include "summary/summaryopenmp.h"

#include <jansson.h>
#include <stdio.h>

/* "solve.c:40 step", of a site of summary.parallel. */
const char *parallel_place_text(const struct summary *summary, const struct summary_site *site,
                                char text[SITE_PLACE_BYTES]);

/* The processors that a process with several threads used while it was outside of MPI. The calls of MPI may have slept, so both bounds
 * are known. most = 0: it has one thread, OpenMP tells more, or nothing is known. */
struct cores_used {
    double least, most;
};
struct cores_used cores_used_of(const struct summary *summary, const struct summary_row *row);

/* null: likewise. */
json_t *cores_used_json(const struct summary *summary, const struct summary_row *row);

/* Prints nothing if no process has several threads. */
void summary_openmp_print(const struct summary *summary, FILE *out);
json_t *summary_parallel_json(const struct summary *summary);

#endif
