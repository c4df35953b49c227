/*
 * The directory that a run is recorded in. It is made and tried before the program starts: what is wrong is said then,
 * and not after hours.
 */
#ifndef MPIT_TOOLS_OUTPUTDIR_H
#define MPIT_TOOLS_OUTPUTDIR_H

#include "run/launched.h"
#include "run/refusal.h"

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

/* What the directory is for. */
struct output_wish {
    const char *directory;           /* NULL: a new one in the working directory */
    const char *summary;             /* a file that is to be written at the end, "-", or NULL */
    bool archive;                    /* it gets an OTF2 archive */
    const struct launched *launched; /* mpit-run is one of several in a job (launched.h); NULL: it is not */
    struct refusal refusal;
};

/*
 * Finds, makes and tries the directory. Where the one that is wished for holds another run, has an archive or belongs
 * to another job, the first free one of DIR.1, DIR.2, ... is taken, by all processes of a job the same. True: it is
 * there. False: none can be used. Either way what is wrong was said, also with the summary's file,
 * and where other users can change the directory.
 * Strict: whatever is wrong ends the tool, and nothing that was made stays behind.
 */
bool output_dir_make(struct output_dir *dir, const struct output_wish *wish);
/* Removes what was made of it, if nothing has been put there, and no others may be going to. */
void output_dir_drop(const struct output_dir *dir);

#endif
