/* The runs of mpit-dump --scaling. */
#ifndef MPIT_TOOLS_SCALEDRUNS_H
#define MPIT_TOOLS_SCALEDRUNS_H

#include <stdbool.h>

struct scaling_request {
    char *const *runs;
    unsigned count;
    bool weak, json;
    const char *page; /* write this page. NULL: text, or JSON */
};

/* Reads the runs, and prints how the program scales, or makes a page of it. Warns about runs that do not fit together. Returns the status of
 * the tool. Ends it if a run cannot be read, is of another program, or if all runs have the same number of ranks. */
int scaling_run(const struct scaling_request *request);

#endif
