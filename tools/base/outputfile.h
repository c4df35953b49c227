/*
 * An output file that appears only when it is complete. It is written next to its place, under a temporary name, and
 * renamed at the end. After an interrupt (SIGINT, SIGTERM, SIGHUP) or a failure, no file is left. "-" is standard
 * output, and so is a path of the same file. A file that is not regular, or that has the name of a descriptor, is
 * written directly. Only one output file may be open at a time.
 */
#ifndef MPIT_TOOLS_OUTPUTFILE_H
#define MPIT_TOOLS_OUTPUTFILE_H

#include <stdio.h>

enum { OUTPUT_ERROR_BYTES = 512 };

/* Returns NULL with the reason in `error`. */
FILE *output_file_open(const char *path, char error[OUTPUT_ERROR_BYTES]);
/* Renames the file to its place. If `failed` is true or a write has failed, it removes the file. Returns 0, or -1 with
 * the reason in `error`. A reason that is already there stays. */
int output_file_close(FILE *file, const char *path, int failed, char error[OUTPUT_ERROR_BYTES]);

/* Makes a directory, which must be new. Returns 0, or -1 with the reason in `error`. */
int output_directory_make(const char *directory, char error[OUTPUT_ERROR_BYTES]);
/* The same two for a file in it. The close takes no failure. */
FILE *output_file_open_in(const char *directory, const char *name, char error[OUTPUT_ERROR_BYTES]);
int output_file_close_in(FILE *file, const char *directory, const char *name, char error[OUTPUT_ERROR_BYTES]);

/* For a library that opens files by their names. The file must be new. Returns its temporary name: an empty file, which
 * is removed after an interrupt. NULL: error has the reason. */
const char *output_name_open(const char *path, char error[OUTPUT_ERROR_BYTES]);
/* Renames or removes the closed file, as above. */
int output_name_close(const char *path, int failed, char error[OUTPUT_ERROR_BYTES]);

/* Says on standard output that the file or directory was written. Says nothing of standard output, pipes and devices. */
void output_say(const char *path);

/* If a mapped file loses a part, the tool ends with a message and status 1, and no output file is left. */
void output_guard(void);

#endif
