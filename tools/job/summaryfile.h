/*
 * Summaries in files: NAME.summary, and names that are stored with a job (storednames.h).
 */
#ifndef MPIT_TOOLS_SUMMARYFILE_H
#define MPIT_TOOLS_SUMMARYFILE_H

#include "summary/summary.h"

#include <sys/types.h>

/* Returns 0, or -1 with a reason. *owner is set if the file could be opened. */
int summary_file_read(struct summary *summary, const char *path, uid_t *owner, char error[128]);
/* Writes DIRECTORY/STEM SUFFIX in one step. The stem is the first `stem` bytes of `name`. Returns 0, or -1 with errno.
 * After an error there is no file. */
int summary_file_write(const struct summary *summary, const char *directory, const char *name, int stem,
                       const char *suffix);

#endif
