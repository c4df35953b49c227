/* The runs of mpit-dump --scaling. */
#ifndef MPIT_TOOLS_SCALEDRUNS_H
#define MPIT_TOOLS_SCALEDRUNS_H

#include <stdbool.h>

struct scaling_request {
    char *const *runs;
    unsigned count;
    bool weak, json;
};

/* Reads the runs, and prints how the program scales. Warns about runs that do not fit together. Returns the status of
 * the tool. Ends it if a run cannot be read, is of another program, or if all runs have the same number of ranks. */
int scaling_run(const struct scaling_request *request);

#endif
