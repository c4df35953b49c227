/* The runs of a command line that are compared. */
#ifndef MPIT_TOOLS_COMPARED_H
#define MPIT_TOOLS_COMPARED_H

#include <stdbool.h>

enum { EXIT_LIMIT = 3 };

/* What mpit-dump --diff was asked for. */
struct diff_request {
    char *const *runs; /* the old ones first */
    unsigned old, new;
    const char *const *limits; /* of --fail */
    unsigned limit_count;
    bool json;
};

/* Compares, prints, and judges the limits. Returns the status of the tool: 0, 1 if a run cannot be read, EXIT_LIMIT
 * if a limit is broken. */
int diff_run(const struct diff_request *request);

#endif
