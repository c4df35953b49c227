/*
 * Finds a library like the dynamic loader, without running a program. It searches in the loader's order: the run paths
 * of the files that need it, LD_LIBRARY_PATH, the loader's cache, the system's directories.
 */
#ifndef MPIT_TOOLS_LOADPATH_H
#define MPIT_TOOLS_LOADPATH_H

#include "run/elffile.h"

#include <limits.h>

/* A file that needs a library, and the file that needed it. DT_RPATH is inherited along this chain. */
struct load_origin {
    const struct elf_file *file;
    const char *path;
    const struct load_origin *needed_by; /* NULL: the program */
};

/* Writes the library's path to found[PATH_MAX]. Returns 0, or -1 if it is not found. */
int library_find(const char *name, const struct load_origin *origin, char *found);

#endif
