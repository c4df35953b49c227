#define _GNU_SOURCE
#include "run/installation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef MPIT_LIBDIR_FROM_BINDIR
#define MPIT_LIBDIR_FROM_BINDIR "../lib"
#endif
#ifndef MPIT_LIBEXECDIR_FROM_BINDIR
#define MPIT_LIBEXECDIR_FROM_BINDIR "../libexec"
#endif

/* Searches the directories in turn, each relative to the tool's own. If none has the file, the last path stays.
 */
static bool search(const char *const directories[], const char *prefix, const char *stem, const char *suffix,
                   char path[PATH_MAX])
{
    char own[PATH_MAX], file[PATH_MAX];
    ssize_t bytes = readlink("/proc/self/exe", own, sizeof own - 1);
    path[0] = '\0';
    if (bytes <= 0)
        return false;
    own[bytes] = '\0';
    char *slash = strrchr(own, '/');
    *slash = '\0';
    for (; *directories; directories++) {
        int length = snprintf(file, sizeof file, "%s/%s/%s%s%s", own, *directories, prefix, stem, suffix);
        if (length < (int)sizeof file && realpath(file, path))
            return true;
    }
    snprintf(path, PATH_MAX, "%s", file);
    return false;
}

static const char *const lib_directories[] = {MPIT_LIBDIR_FROM_BINDIR, "../lib/x86_64-linux-gnu", "../lib64", "../lib",
                                              NULL};

bool installed_preload(char path[PATH_MAX])
{
    return search(lib_directories, "libmpit", "", ".so", path);
}

bool installed_sampler(char path[PATH_MAX])
{
    return search(lib_directories, "libmpit-", "sampler", ".so", path);
}

bool installed_library(enum mpi_abi abi, char path[PATH_MAX])
{
    return search(lib_directories, "libmpit-", mpi_abi_name(abi), ".so", path);
}

static const char *const libexec_directories[] = {MPIT_LIBEXECDIR_FROM_BINDIR "/mpit", "../libexec/mpit", NULL};

bool installed_walker(enum mpi_abi abi, char path[PATH_MAX])
{
    return search(libexec_directories, "mpit-list-walk-", mpi_abi_name(abi), "", path);
}

bool installed_dump(char path[PATH_MAX])
{
    return search((const char *const[]){".", NULL}, "mpit-", "dump", "", path);
}

bool installed_agent(char path[PATH_MAX])
{
    return search(libexec_directories, "mpit-", "fork-agent", "", path);
}
