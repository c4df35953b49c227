/*
 * Summaries in files: NAME.summary, and names that are stored with a job (storednames.h).
 */
#ifndef MPIT_TOOLS_SUMMARYFILE_H
#define MPIT_TOOLS_SUMMARYFILE_H

#include "reader/reader.h"
#include "summary/summary.h"

#include <limits.h>
#include <sys/types.h>

/* Reads a summary that is a file, or a part of one, as in a container. Returns 0, or -1 with a reason. *owner is set if
 * the file could be opened. */
int summary_part_read(struct summary *summary, const char *path, struct run_extent extent, uid_t *owner,
                      char error[128]);
/* Writes STEM SUFFIX in one step. The stem has the directory. If there is such a file, from another process, it writes
 * STEM.1 SUFFIX, STEM.2 SUFFIX ... Returns as above. */
int summary_file_add(const struct summary *summary, const char *stem, const char *suffix);
/* Writes the path of this file by its number: 0, 1, ... */
void summary_file_path(char path[PATH_MAX], const char *stem, unsigned number, const char *suffix);

#endif
