/* Call sites in the summary. */
#ifndef MPIT_TOOLS_SUMMARY_SITES_H
#define MPIT_TOOLS_SUMMARY_SITES_H

#include "base/units.h"
#include "summary/summarysites.h"
#include "symbols/siteplaces.h"

#include <jansson.h>
#include <stdio.h>

enum { SITE_PLACE_BYTES = 256 };
/* The place of a frame: "halo.c:72 exchange", or what is known of it. */
const char *frame_place_text(const struct summary_sites *sites, const struct summary_frame *frame,
                             char text[SITE_PLACE_BYTES]);
/* The place of a site: "halo.c:72 exchange", or "solve.c:20 solve > my_MPI_Allreduce" of a call in a wrapper. */
const char *site_place_text(const struct summary_sites *sites, const struct summary_site *site,
                            char text[SITE_PLACE_BYTES]);

/* Sets what JSON tells of the place of a site: "mpi", "function", "file", "line", "place", "path", "cut". */
void site_place_json(json_t *json, const struct summary_sites *sites, const struct summary_site *site);

/* The sites by time, the costliest first, which the caller frees. NULL without memory. */
const struct summary_site **sites_by_time(const struct summary_sites *sites);

/* The stalled share of the time of calls of a kind, "-" if it is not known. */
const char *stalled_share_text(const struct summary *summary, unsigned kind, uint64_t stall_ns, uint64_t time_ns,
                               char text[UNIT_TEXT_BYTES]);

/* The place of a site, whoever called its function: equal for the sites of one place. As far as frames have names, a
 * place is a line of a function. */
uint64_t site_place(const struct summary_sites *sites, const struct summary_site *site);
/* By site in the order of sites_by_time: the number there of the first one of its place. The caller frees it. NULL without
 * memory. */
size_t *sites_places(const struct summary_sites *sites, const struct summary_site *const *order);
/* The sum of each place, by time: the counters of its sites, and else what its costliest site has. A rank with an
 * extreme is known if it has that of each site. The caller frees it. NULL: there are none, or no memory. */
struct summary_site *places_by_time(const struct summary_sites *sites, size_t *count);

/* The run time of all threads that call MPI together, in nanoseconds. */
double summary_run_ns(const struct summary *summary);
/* The share of it that calls of a kind take. "-": they lie outside of it, or it is not known. */
const char *share_of_run_text(char text[UNIT_TEXT_BYTES], unsigned kind, uint64_t time_ns, double run_ns);

/* The first sites as a table. */
void summary_sites_print(const struct summary *summary, size_t most, FILE *out);
/* The lines of a hint that summary_costly_print adds: files without names of functions. */
unsigned summary_hint_lines(const struct summary *summary);
/* The costliest ones between MPI_Init and MPI_Finalize, in 80 columns. */
void summary_costly_print(const struct summary *summary, size_t most, FILE *out);
/* All sites as a tree from main on. */
void summary_callpaths_print(const struct summary *summary, FILE *out);
json_t *summary_sites_json(const struct summary *summary);

#endif
