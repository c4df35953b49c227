/*
 * The directory of a recording. It is made and tried before the program starts, so that errors are reported then, and
 * not after hours.
 */
#ifndef MPIT_TOOLS_OUTPUTDIR_H
#define MPIT_TOOLS_OUTPUTDIR_H

#include "run/launched.h"
#include "run/runrefusal.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

struct output_dir {
    char path[PATH_MAX];  /* absolute */
    char given[PATH_MAX]; /* in the user's form */
    char spool[PATH_MAX]; /* place of the live files of this node's processes (spool.h), or "" if unknown */
    size_t made; /* bytes of `given` up to the end of the first directory that did not exist, or 0 if all existed */
    bool shared; /* by the mpit-runs of a job: launched.h */
};

/* The requirements for the directory. */
struct output_wish {
    const char *directory;           /* NULL for a new one in the working directory */
    const char *summary;             /* a file to write at the end, "-", or NULL */
    bool archive;                    /* it gets an OTF2 archive */
    const struct launched *launched; /* mpit-run is one of several in a job (launched.h), or NULL */
    struct refusal refusal;
};

/*
 * Finds, makes and tries the directory. If the wished directory holds another run, has an archive or belongs to another
 * job, takes the first free one of DIR.1, DIR.2, ... All processes of a job take the same one. Returns true if the
 * directory is ready, and false if none can be used. Reports all problems, also with the summary's file, and if other
 * users can change the directory. Strict: any problem ends the tool, and removes the new directories.
 */
bool output_dir_make(struct output_dir *dir, const struct output_wish *wish);
/* Removes the new directories, if they are empty, and if no other process may use them. */
void output_dir_drop(const struct output_dir *dir);

#endif
