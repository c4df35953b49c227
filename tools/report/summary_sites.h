/* Call sites in the summary. */
#ifndef MPIT_TOOLS_SUMMARY_SITES_H
#define MPIT_TOOLS_SUMMARY_SITES_H

#include "base/units.h"
#include "summary/summarysites.h"

#include <jansson.h>
#include <stdio.h>

enum { SITE_PLACE_BYTES = 256 };
/* The place of a frame: "halo.c:72 exchange", or what is known of it. */
const char *frame_place_text(const struct summary_sites *sites, const struct summary_frame *frame,
                             char text[SITE_PLACE_BYTES]);
/* The frame that a user takes for the place of the call: the innermost one of the program. NULL: the path has none. */
const struct summary_frame *site_frame(const struct summary_sites *sites, const struct summary_site *site);

/* Sets what JSON tells of the place of a site: "mpi", "function", "file", "line", "path", "cut". */
void site_place_json(json_t *json, const struct summary_sites *sites, const struct summary_site *site);

/* The sites by time, the costliest first, which the caller frees. NULL without memory. */
const struct summary_site **sites_by_time(const struct summary_sites *sites);

/* The stalled share of the time of calls of a kind, "-" if it is not known. */
const char *stalled_text(const struct summary *summary, unsigned kind, uint64_t stall_ns, uint64_t time_ns,
                         char text[UNIT_TEXT_BYTES]);

/* The first sites as a table. */
void summary_sites_print(const struct summary *summary, size_t most, FILE *out);
/* The costliest ones between MPI_Init and MPI_Finalize, in 80 columns. */
void summary_costly_print(const struct summary *summary, size_t most, FILE *out);
/* All sites as a tree from main on. */
void summary_callpaths_print(const struct summary *summary, FILE *out);
json_t *summary_sites_json(const struct summary *summary);

#endif
