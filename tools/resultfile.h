/*
 * Files of results in the output directory: each is written beside its place, brought to the disk and renamed.
 *
 *   DIRECTORY/STEM SUFFIX, or DIRECTORY/STEM.N SUFFIX where others of that name are there already
 */
#ifndef MPIT_TOOLS_RESULTFILE_H
#define MPIT_TOOLS_RESULTFILE_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

/* A path that is free. Returns 0, or -1 with errno. */
int result_path(const char *directory, const char *name, int stem, const char *suffix, char path[PATH_MAX]);

/* Writes `data`. The stem is the first `stem` bytes of `name`. Returns 0, or -1 with errno. path[]: of the result. */
int result_write(const char *directory, const char *name, int stem, const char *suffix, const void *data, size_t bytes,
                 char path[PATH_MAX]);

/* Copies the first `bytes` of the file `from`. Likewise. */
int result_copy(const char *directory, const char *name, int stem, const char *suffix, const char *from, uint64_t bytes,
                char path[PATH_MAX]);

#endif
