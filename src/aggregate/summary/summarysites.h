/*
 * Call sites of a job: the counters of call paths, summed over ranks.
 *
 *   site ──> frames ──> module (path, build id), texts (function, file)
 *
 * A path is a list of places in files. So it does not depend on where a process had them loaded, and paths of several
 * ranks can be merged. A frame has its names only after site_names_find (tools/symbols/sitenames.h). From then on
 * the summary needs no program. A place in an inlined function has several frames, one a function.
 */
#ifndef MPIT_AGGREGATE_SUMMARYSITES_H
#define MPIT_AGGREGATE_SUMMARYSITES_H

#include "reader/reader.h"
#include "summary/summary.h"

/* The sites that a summary file keeps. The others share one site, whose hash is SITE_OTHERS. */
enum { SUMMARY_SITES_MAX = 1024 };
#define SITE_OTHERS 0

/* The hash of a path. It is the same in all processes that took the path. */
uint64_t summary_path_hash(const struct run_reader *reader, const struct path_record *path);
/* Appends the site of a path, with its frames and without counters. `known` has PATH_MODULES_MOST zeros before the
 * first path of a reader. NULL: no memory. */
struct summary_site *summary_path_append(struct summary_sites *sites, const struct run_reader *reader,
                                         const struct path_record *path, uint32_t *known);

/* The counters of a process by path, of all of its threads, which the caller frees: reader->path_count of them. NULL: no memory. */
struct path_cells *paths_sum(const struct run_reader *reader);

/* The site with this hash. NULL: none. */
const struct summary_site *summary_site_of(const struct summary_sites *sites, uint64_t hash);

/* Orders them by hash, and adds up those with the same one. Call it after the last append. */
void summary_sites_sort(struct summary_sites *sites);

/* Adds the paths of a process. Returns 0, or -1 without memory. */
int summary_sites_fill(struct summary *summary, const struct run_reader *reader);
/* Adds the sites and the parallel regions of another summary. Likewise. */
int summary_sites_merge(struct summary *summary, const struct summary *other);
/* Keeps the costliest ones. The others share one site. */
void summary_sites_trim(struct summary *summary, size_t most);
/* True if data from a file fit together. */
bool summary_sites_are_sound(const struct summary *summary);
void summary_sites_release(struct summary *summary);

/* The place of a text, which is added if it is missing. 0 is "": also without memory. */
uint32_t summary_text_add(struct summary_sites *sites, const char *text);
/* NULL: not known. */
const char *summary_text(const struct summary_sites *sites, uint32_t place);
/* The file that a frame's code was loaded from, or its source in Python. NULL: not known. */
const char *summary_frame_module(const struct summary_sites *sites, const struct summary_frame *frame);
bool summary_frame_is_python(const struct summary_sites *sites, const struct summary_frame *frame);

#endif
