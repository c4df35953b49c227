/*
 * The end of mpit-run, after the command: the summary, the archive, and messages on present and missing results.
 * Nothing here changes the exit status, which is the command's.
 */
#ifndef MPIT_TOOLS_OUTCOME_H
#define MPIT_TOOLS_OUTCOME_H

#include "run/outputdir.h"

struct outcome {
    const struct output_dir *output;
    char *const *words;       /* the command */
    const char *summary;      /* a file, "-", or NULL for standard error */
    int status, killed_by;    /* the command's: its exit status, the signal that ended it. 0: none */
    bool disabled;            /* MPIT_DISABLE was set */
    bool behind;              /* behind a launcher: processes on other hosts may still be ending */
    const char *sample_ranks; /* to be sampled, or NULL for all, or without sampling */
    bool otf2, quiet;
    bool full; /* not only the first screen of the summary. What --summary asked for always has all */
};

void outcome_show(const struct outcome *outcome);

#endif
