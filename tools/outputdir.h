/*
 * The directory that a run is recorded in: made and tried before the program starts, because what is missing afterwards
 * cannot be recorded again.
 */
#ifndef MPIT_TOOLS_OUTPUTDIR_H
#define MPIT_TOOLS_OUTPUTDIR_H

#include <limits.h>
#include <stdbool.h>

struct output_dir {
    char path[PATH_MAX];  /* absolute */
    char given[PATH_MAX]; /* as the user would write it */
    bool made;            /* it was not there before */
};

/*
 * `wanted` NULL: a new one in the working directory. Ends the tool with 2 and a message if the directory cannot be
 * made or written, or holds a run already.
 */
void output_dir_make(struct output_dir *dir, const char *wanted, bool with_archive);
/* Removes it if it was made for nothing. */
void output_dir_drop(const struct output_dir *dir);

/* Ends the tool with 2 and a message if the file could not be written; "-" always can. */
void output_file_check(const char *path);

#endif
