/*
 * Where mpit's own files are, seen from the running tool: in a build tree build/bin, build/lib and build/libexec/mpit,
 * installed the same below a prefix, wherever that has been moved to.
 */
#ifndef MPIT_TOOLS_INSTALLATION_H
#define MPIT_TOOLS_INSTALLATION_H

#include "run/elfkind.h"

#include <limits.h>
#include <stdbool.h>

/* The library to preload, for all MPIs; and the one before it in processes that sample. False: path is where it should
 * be. */
bool installed_preload(char path[PATH_MAX]);
bool installed_sampler(char path[PATH_MAX]);
/* The recorder for an MPI, which the first one loads. False when this mpit was built without it; path then is where it
 * should be. */
bool installed_library(enum mpi_abi abi, char path[PATH_MAX]);
/* The program that lists an MPI's variables, likewise. */
bool installed_walker(enum mpi_abi abi, char path[PATH_MAX]);
/* The program that Open MPI's daemons run in place of the application (mpit-fork-agent), likewise. */
bool installed_agent(char path[PATH_MAX]);

#endif
