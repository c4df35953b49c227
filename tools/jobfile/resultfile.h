/*
 * Files of results in the output directory. Each is written beside its place, and then gets its name (result_show). Later
 * it is flushed to the disk, which may take long.
 *
 *   DIRECTORY/STEM.mpit, or DIRECTORY/STEM.N.mpit where others of that name are there already
 *
 * A file that is written has a name of its own with ".part-", and is locked. So whoever can lock it knows that its writer
 * was killed.
 */
#ifndef MPIT_TOOLS_RESULTFILE_H
#define MPIT_TOOLS_RESULTFILE_H

#include "base/linkage.h"
#include "format/jobfile.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

struct result {
    int fd;
    char temporary[PATH_MAX], path[PATH_MAX];
};

/* The path of result number N of a stem. Returns 0, or -1 with errno. */
MUST_CHECK int result_path(const char *directory, const char *stem, unsigned number, char path[PATH_MAX]);
/* Makes an empty file beside its place. Returns 0, or -1 with errno. result->path is a path for messages in both cases. */
MUST_CHECK int result_begin(struct result *result, const char *directory, const char *stem);
/* Gives the file the first free name: result->path. Returns as above. */
MUST_CHECK int result_show(struct result *result, const char *directory, const char *stem);
/* Removes the file and closes it. */
void result_drop(const struct result *result);

/* Renames a file, if the new name is free. Returns 0, or -1 with errno: EEXIST if it is not. */
MUST_CHECK int result_name(const char *old, const char *path);
/* Makes a temporary file, like mkostemp. Returns it locked, or -1 with errno. */
MUST_CHECK int part_make(char *template);
/* Removes such files of killed processes from the directory. */
void parts_remove(const char *directory);
/* Returns whether it is the name of a result. *part: of one that was not completed. */
bool result_has_name(const char *name, bool *part);

#endif
