/*
 * The call paths of a job in the database: one number for a path of the summary, of the trace, and of samples.
 *
 *   hash of the path ──> number       paths are equal if their hashes are (summary_path_hash)
 *
 * Paths of the summary are added first, with their counters. A path of the trace that the summary has not (it keeps the
 * costliest ones) gets a row without counters.
 */
#ifndef MPIT_TOOLS_DATABASE_PATHS_H
#define MPIT_TOOLS_DATABASE_PATHS_H

#include "base/keytable.h"
#include "database/database.h"
#include "report/callplaces.h"
#include "profile/stacks.h"

struct database_paths {
    struct database *database;
    int64_t job;
    int64_t last; /* number of the last path of all jobs */
    struct keytable known;
    int64_t *of_place; /* by number of the place: its path. 0: not asked for yet */
    size_t place_count;
    bool no_memory;
};

/* Adds the paths of a summary, with their counters. */
void database_paths_fill(struct database_paths *paths, const struct summary *summary);
/* Returns the number of the path of a site of this summary. 0: none. */
int64_t database_path_of_site(const struct database_paths *paths, const struct summary_site *site);
/* Returns the number of the path of a place. 0: none. */
int64_t database_path_of_place(struct database_paths *paths, struct call_places *places, uint32_t place);
/* Returns the number of the path of a sample. 0: no memory. */
int64_t database_path_of_sample(struct database_paths *paths, const struct stack_sample *sample);
/* Forgets the paths of the job. `last` stays. */
void database_paths_release(struct database_paths *paths);

#endif
