/* The names of call sites. */
#ifndef MPIT_TOOLS_SITENAMES_H
#define MPIT_TOOLS_SITENAMES_H

#include "summary/summarysites.h"

struct stored_names;

/*
 * Gives the frames of the summary's call sites and parallel regions their functions, files and lines, as far as `stored` (storednames.h) or
 * the files on this machine tell. `stored` may be NULL. A place in an inlined function becomes several frames. Does nothing if they have names already. Returns 0, or
 * -1 without memory; then the sites stay as they were.
 */
int site_names_find(struct summary *summary, const struct stored_names *stored);

/* The same for one site after the other. */
struct site_naming {
    struct symbols *symbols;
    struct summary_sites *sites;
    struct summary_frame *frames; /* with their names */
    uint64_t count;
};

/* Returns 0, or -1 without memory. End it in both cases. */
int site_naming_begin(struct site_naming *naming, struct summary_sites *sites, const struct stored_names *stored);
/* Gives a site its frames with their names: from now on they are in naming->frames. Returns false without memory. */
bool site_name(struct site_naming *naming, struct summary_site *site);
void site_naming_end(struct site_naming *naming);

#endif
