/*
 * The places in the program where the calls of a job were made.
 *
 *   run file, number of a path ──> place 1, 2, ...      one number for all ranks that took the path
 *                                    │
 *                                    └─> struct summary_site ──> frames, with their names when they are first asked for
 *
 * Paths are equal if they have the same function, and the same places in the same files (by build id). The numbers of
 * places stay valid until the end.
 */
#ifndef MPIT_TOOLS_CALLPLACES_H
#define MPIT_TOOLS_CALLPLACES_H

#include "report/summary_sites.h"

struct call_places;
struct stored_names;

/* `stored` (storednames.h) may be NULL, and must exist until call_places_close. NULL: no memory. */
struct call_places *call_places_open(const struct stored_names *stored);
void call_places_close(struct call_places *places);

/* Returns the place of a path of a run. 0: not known, or no memory. */
uint32_t call_place_find(struct call_places *places, const struct run_reader *run, uint32_t path);
/* Returns the places of all paths of a run, by their numbers: run->path_count entries, which the caller frees. NULL: the
 * run has no paths, or there is no memory. */
uint32_t *call_places_of(struct call_places *places, const struct run_reader *run);
/* Finds all places of the runs: the text of a place depends on the others. Returns 0, or -1 without memory. */
int call_places_fill(struct call_places *places, const struct run_reader *runs, size_t count);
/* How many places are known. The last one has this number. */
uint32_t call_places_count(const struct call_places *places);

/* Returns the site of a place, and in *sites the texts and frames that it refers to, valid until the next call of a
 * function of this file. NULL: no memory, or place 0. */
const struct summary_site *call_place_site(struct call_places *places, uint32_t place, struct summary_sites *sites);

/* The hash of its site, without names. SITE_OTHERS: place 0. */
uint64_t call_place_hash(const struct call_places *places, uint32_t place);

/* Returns the same number for all paths to one place (site_place), whoever called its function. It reads names. */
uint32_t call_place_first(struct call_places *places, uint32_t place);

enum { CALL_PLACE_BYTES = 512 };
/* Writes "halo.c:72 (exchange)", or with up to `callers` callers "halo.c:72 (exchange < step < main)". Writes "" for
 * place 0. */
const char *call_place_text(struct call_places *places, uint32_t place, unsigned callers, char text[CALL_PLACE_BYTES]);
/* {"mpi", "function", "file", "line", "path", "cut"} as in the call sites of the summary. null: place 0. */
json_t *call_place_json(struct call_places *places, uint32_t place);

#endif
