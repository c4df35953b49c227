/*
 * The directory that a run is recorded in: made and tried before the program starts, because what is missing afterwards
 * cannot be recorded again.
 */
#ifndef MPIT_TOOLS_OUTPUTDIR_H
#define MPIT_TOOLS_OUTPUTDIR_H

#include "launched.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

struct output_dir {
    char path[PATH_MAX];  /* absolute */
    char given[PATH_MAX]; /* as the user would write it */
    char spool[PATH_MAX]; /* where the processes of this node have their live files (spool.h); "": not known */
    size_t made; /* bytes of `given` up to the end of the first directory that was not there before; 0: all were */
    bool shared; /* by the mpit-runs of a job: launched.h */
};

/*
 * `wanted` NULL: a new one in the working directory. Ends the tool with 2 and a message if the directory cannot be
 * made or written, or holds a run already, or if the file `summary` (NULL: none; "-": none either) could not be
 * written; it may lie in the directory. Nothing that was made stays behind then. `launched` (NULL: it is not): mpit-run
 * is one of several in a job, and the directory may have been made, and have run files, by the others.
 */
void output_dir_make(struct output_dir *dir, const char *wanted, bool with_archive, const char *summary,
                     const struct launched *launched);
/* Removes what was made of it, if nothing has been put there, and no others may be going to. */
void output_dir_drop(const struct output_dir *dir);

#endif
