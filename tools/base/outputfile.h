/*
 * A file that is there when it is whole. It is written beside its place, under a name of its own, and gets its name at
 * the end; interrupted (SIGINT, SIGTERM, SIGHUP) or failed, nothing is left. "-" is standard output, as is what it goes
 * to; what is no regular file, or has the name of a descriptor, is written as it is. One at a time.
 */
#ifndef MPIT_TOOLS_OUTPUTFILE_H
#define MPIT_TOOLS_OUTPUTFILE_H

#include <stdio.h>

enum { OUTPUT_ERROR_BYTES = 512 };

/* NULL with the reason in `error`. */
FILE *output_file_open(const char *path, char error[OUTPUT_ERROR_BYTES]);
/* Puts the file in its place, or, if `failed` or something could not be written, takes it away. Returns 0, or -1 with
 * the reason in `error`, which an earlier one keeps. */
int output_file_close(FILE *file, const char *path, int failed, char error[OUTPUT_ERROR_BYTES]);

/* A mapped file of which a part goes away is an end with a word and status 1, and nothing is left, either. */
void output_guard(void);

#endif
