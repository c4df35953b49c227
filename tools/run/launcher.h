/*
 * The programs that start MPI processes: how they are recognised, and where one stands in a command.
 */
#ifndef MPIT_TOOLS_LAUNCHER_H
#define MPIT_TOOLS_LAUNCHER_H

#include "run/elfkind.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

enum launcher_kind {
    LAUNCHER_NONE,
    LAUNCHER_OPENMPI, /* orterun, prterun: forwards what -x names */
    LAUNCHER_HYDRA,   /* MPICH's, Intel's and MVAPICH's: forwards its environment */
    LAUNCHER_SLURM,   /* forwards its environment; says nothing about the MPI */
    LAUNCHER_OTHER,
};

/* Finds a command as execvp does. Returns 0 with its path, or ENOENT, or EACCES. */
int program_find(const char *word, char path[PATH_MAX]);

/* The part of a path behind its last slash. */
const char *path_name(const char *path);

/* Whether a program of this name usually is a launcher. */
bool launcher_named(const char *word);

/* Whether a command of this name runs the rest of its own command line (env, timeout, ...). */
bool prefix_named(const char *word);

/*
 * What kind of launcher an executable is. One of a usual name that is not linked to Open MPI's run time is asked with
 * --version, for a few seconds at the most. A name that only begins like a launcher's may be the user's own: a program
 * that uses MPI is none (mpiexec-bench), and a script is read and not run; it is what it hands all its words to.
 */
enum launcher_kind launcher_identify(const char *path);

/* The MPI that a launcher of the kind belongs to; ABI_NONE where it does not say. */
enum mpi_abi launcher_abi(enum launcher_kind kind);

/*
 * The word that is the launcher: the first one, or one behind a command that runs another (env, timeout, ...).
 * *kind is LAUNCHER_NONE when the command is none.
 */
size_t launcher_word(char *const words[], enum launcher_kind *kind);

#endif
