/*
 * What mpit-run does when the command has ended: the summary, the archive, and a word on what there is and what is not.
 * Nothing here changes the exit status: that is the command's.
 */
#ifndef MPIT_TOOLS_OUTCOME_H
#define MPIT_TOOLS_OUTCOME_H

#include "run/abichoice.h"
#include "run/outputdir.h"

struct outcome {
    const struct output_dir *output;
    const struct abi_choice *choice;
    const char *library;      /* that was preloaded */
    const char *summary;      /* a file, "-", or NULL: standard error */
    int status;               /* the command's */
    bool disabled;            /* MPIT_DISABLE was set */
    const char *sample_ranks; /* that were to be sampled; NULL: all, or there is no sampling */
    bool otf2, compact, quiet;
};

void outcome_show(const struct outcome *outcome);

#endif
