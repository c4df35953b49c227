/*
 * The programs that start MPI processes, and how a command finds its programs.
 */
#ifndef MPIT_TOOLS_LAUNCHER_H
#define MPIT_TOOLS_LAUNCHER_H

#include <limits.h>
#include <stdbool.h>

/* Finds a command as execvp does. Returns 0 with its path, or ENOENT, or EACCES. */
int program_find(const char *word, char path[PATH_MAX]);

/* Returns whether a program of this name usually is a launcher. */
bool launcher_named(const char *word);

/* Returns whether a command of this name runs the rest of its own command line (env, timeout, ...). */
bool prefix_named(const char *word);
bool shell_named(const char *word);

/* Returns whether the command is a launcher, or runs one (env, timeout, ...). The name tells, also of the file that a link
 * leads to. */
bool launcher_begins(char *const words[]);

#endif
