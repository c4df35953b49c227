/* A run directory as a SQLite database (share/doc/sqlite.md). */
#ifndef MPIT_TOOLS_DATABASE_WRITE_H
#define MPIT_TOOLS_DATABASE_WRITE_H

#include "base/outputfile.h"
#include "job/rundir.h"

/* Writes all jobs of the directory. Returns 0, or -1 with the reason in `error`. Then there is no file. */
int database_write(const struct run_dir *dir, const char *path, char error[OUTPUT_ERROR_BYTES]);

#endif
