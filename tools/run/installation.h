/*
 * Finds mpit's own files from the running tool. In a build tree they are in build/bin, build/lib and
 * build/libexec/mpit. After installation they have the same places below a prefix, which may have been moved.
 */
#ifndef MPIT_TOOLS_INSTALLATION_H
#define MPIT_TOOLS_INSTALLATION_H

#include "run/abi.h"

#include <limits.h>
#include <stdbool.h>

/* Finds the library to preload, for all MPIs, and the library before it in processes that sample. If it returns false,
 * path is the expected place. */
bool installed_preload(char path[PATH_MAX]);
bool installed_sampler(char path[PATH_MAX]);
/* Finds the recorder for an MPI, which the preloaded library loads. Returns false if this mpit was built without it.
 * path then is the expected place. */
bool installed_library(enum mpi_abi abi, char path[PATH_MAX]);
/* Finds the program that lists an MPI's variables, as above. */
bool installed_walker(enum mpi_abi abi, char path[PATH_MAX]);
/* Finds mpit-dump, as above. */
bool installed_dump(char path[PATH_MAX]);
/* Finds the program that Open MPI's daemons run in place of the application (mpit-fork-agent), as above. */
bool installed_agent(char path[PATH_MAX]);

#endif
