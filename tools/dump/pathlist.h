/* The call paths of each process, as they are in its run file. The number of a path is in the events (--csv). */
#ifndef MPIT_TOOLS_PATHLIST_H
#define MPIT_TOOLS_PATHLIST_H

#include "job/rundir.h"

#include <stdio.h>

/* Writes JSON. Returns 0, or -1: no memory, or it cannot be written. */
int pathlist_write_json(const struct run_dir *dir, FILE *out);

#endif
