/*
 * The programs that start MPI processes: how they are recognized, and their place in a command.
 */
#ifndef MPIT_TOOLS_LAUNCHER_H
#define MPIT_TOOLS_LAUNCHER_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

enum launcher_kind {
    LAUNCHER_NONE,
    LAUNCHER_OPENMPI, /* orterun of Open MPI 4: forwards the variables of -x */
    LAUNCHER_PRRTE,   /* prterun of Open MPI 5 and later: likewise */
    LAUNCHER_HYDRA,   /* MPICH's, Intel's and MVAPICH's: forwards its environment */
    LAUNCHER_SLURM,   /* forwards its environment, works with any MPI */
    LAUNCHER_OTHER,
};

/* Finds a command as execvp does. Returns 0 with its path, or ENOENT, or EACCES. */
int program_find(const char *word, char path[PATH_MAX]);

/* Returns the part of a path after its last slash. */
const char *path_name(const char *path);

/* Returns whether a program of this name usually is a launcher. */
bool launcher_named(const char *word);

/* Returns whether a command of this name runs the rest of its own command line (env, timeout, ...). */
bool prefix_named(const char *word);

/*
 * Returns the index of the launcher's word: the first, or a word after a command that runs another (env, timeout, ...).
 * *kind is LAUNCHER_NONE if the command is not a launcher. A program with the name of a launcher is run with --version,
 * for a few seconds at most. No other program is run, and no file is read.
 */
size_t launcher_word(char *const words[], enum launcher_kind *kind);

#endif
