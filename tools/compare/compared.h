/* The runs of a command line that are compared. */
#ifndef MPIT_TOOLS_COMPARED_H
#define MPIT_TOOLS_COMPARED_H

#include "job/rundir.h"

#include <jansson.h>
#include <stdbool.h>

enum { EXIT_LIMIT = 3 };

/* What mpit-dump --diff was asked for. */
struct diff_request {
    char *const *runs; /* the old ones first */
    unsigned old, new;
    const char *const *limits; /* of --fail */
    unsigned limit_count;
    bool json;
    const char *page; /* a file, or NULL */
};

/* Opens a run, and returns the summary of its only job. Ends the tool if the run cannot be read, or has several jobs. */
const struct summary *compared_open(struct run_dir *dir, const char *path);

/* Compares, prints or writes the page, and judges the limits. Returns the status of the tool: 0, 1 if a run cannot be
 * read or the page cannot be written, EXIT_LIMIT if a limit is broken. */
int diff_run(const struct diff_request *request);

/* The paths of runs, cleaned. */
json_t *run_names_json(char *const *runs, unsigned count);

#endif
