/*
 * Reads the files of a run directory: job files, live files, names of functions.
 */
#ifndef MPIT_TOOLS_RUNPIECES_H
#define MPIT_TOOLS_RUNPIECES_H

#include "job/rundir.h"

/* Reads the files of the directory, and its files in the spools of this node that were not collected yet. `path` may also
 * be one file. Returns 0, or -1 with a reason. */
int run_pieces_read(struct run_dir *dir, const char *path, char error[512]);
/* Reads the names that are stored with a job. They may be missing. */
void run_pieces_read_names(struct run_dir *dir, struct run_job *job);

#endif
