#define _GNU_SOURCE
#include "run/elfkind.h"

#include "run/elffile.h"
#include "run/loadpath.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Limits for the libraries of one program. Real programs have a few dozen. */
enum { LIBRARIES_MAX = 1024, DEPTH_MAX = 32 };

/* The names so far, so that each library is read once. */
struct walk {
    struct elf_kind *kind;
    char *names[LIBRARIES_MAX];
    size_t name_count;
};

static const struct backend {
    const char *name, *title, *marker, *libraries, *fortran; /* lists of words, each followed by a space */
} backends[ABI_COUNT] = {
    [ABI_NONE] = {.name = "none", .title = "no MPI"},
#define BACKEND(id, name, title, marker, libraries, fortran, cplusplus, runtimes)                                      \
    [ABI_##id] = {name, title, marker, libraries, fortran},
    BACKENDS(BACKEND)
#undef BACKEND
        [ABI_UNKNOWN] = {.name = "unknown", .title = "an unknown MPI"},
};

const char *mpi_abi_name(enum mpi_abi abi)
{
    return backends[abi].name;
}

const char *mpi_abi_title(enum mpi_abi abi)
{
    return backends[abi].title;
}

enum mpi_abi mpi_abi_named(const char *name)
{
    for (int abi = ABI_FIRST; abi <= ABI_LAST; abi++)
        if (strcmp(name, backends[abi].name) == 0)
            return (enum mpi_abi)abi;
    return ABI_NONE;
}

const char *mpi_abi_choices(void)
{
    static char text[256];
    text[0] = '\0';
    for (int abi = ABI_FIRST; abi <= ABI_LAST; abi++) {
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s%s", abi == ABI_FIRST ? "" : " or ", backends[abi].name);
    }
    return text;
}

/* The names of C and Fortran MPI libraries begin like this for all builders, and so do mpit's own. */
static bool may_be_mpi(const char *soname)
{
    return text_begins(soname, "libmpi") && !text_begins(soname, "libmpit-");
}

/* Returns whether the name begins with a word of the list. */
static bool begins_with_any(const char *name, const char *words)
{
    for (size_t bytes; *words; words += bytes + 1) {
        bytes = strcspn(words, " ");
        if (bytes && strncmp(name, words, bytes) == 0)
            return true;
    }
    return false;
}

/* For a library that is not on this machine (the program runs elsewhere): only its name is known. */
static enum mpi_abi soname_abi(const char *soname)
{
    for (int abi = ABI_FIRST; abi <= ABI_LAST; abi++)
        if (begins_with_any(soname, backends[abi].libraries) || begins_with_any(soname, backends[abi].fortran))
            return (enum mpi_abi)abi;
    return text_begins(soname, "libmpi.so") ? ABI_UNKNOWN : ABI_NONE;
}

/*
 * Exported symbols decide before the name: libmpi.so.12 may be Open MPI 1.10 or Intel MPI. The markers are symbols that
 * mpi.h refers to, so that all libraries of a family have them.
 */
static enum mpi_abi library_abi(const struct elf_file *file, const char *soname)
{
    for (int abi = ABI_FIRST; abi <= ABI_LAST; abi++)
        if (*backends[abi].marker && elf_defines(file, backends[abi].marker))
            return (enum mpi_abi)abi;
    if (!elf_defines(file, "MPI_Init"))
        return ABI_NONE; /* a binding or helper. Its own libraries tell more */
    enum mpi_abi named = soname_abi(soname);
    return named == ABI_NONE ? ABI_UNKNOWN : named;
}

/* Returns whether the name is new. */
static bool walk_mark(struct walk *walk, const char *name)
{
    for (size_t i = 0; i < walk->name_count; i++)
        if (strcmp(walk->names[i], name) == 0)
            return false;
    if (walk->name_count == LIBRARIES_MAX || !(walk->names[walk->name_count] = strdup(name)))
        return false;
    walk->name_count++;
    return true;
}

static void found_mpi(struct elf_kind *kind, enum mpi_abi abi, const char *soname)
{
    if (abi == ABI_NONE || (kind->abi != ABI_NONE && kind->abi != ABI_UNKNOWN))
        return;
    kind->abi = abi;
    snprintf(kind->library, sizeof kind->library, "%s", soname);
}

static void libraries_walk(struct walk *walk, const struct load_origin *origin, int depth)
{
    for (size_t i = 0; i < origin->file->dynamic_count && origin->file->dynamic[i].d_tag != DT_NULL; i++) {
        const char *name = elf_dynamic_text(origin->file, i, DT_NEEDED);
        if (!name || !walk_mark(walk, name))
            continue;
        if (text_begins(name, "libfabric.so") || text_begins(name, "libucp.so"))
            snprintf(walk->kind->below, sizeof walk->kind->below, "%s", name);
        if (text_begins(name, "libopen-rte.so") || text_begins(name, "libprrte.so"))
            walk->kind->openmpi_launcher = true;
        char path[PATH_MAX];
        struct elf_file file;
        if (library_find(name, origin, path) != 0 || elf_open(&file, path) != 0) {
            found_mpi(walk->kind, soname_abi(name), name);
            continue;
        }
        if (may_be_mpi(name))
            found_mpi(walk->kind, library_abi(&file, name), name);
        struct load_origin next = {.file = &file, .path = path, .needed_by = origin};
        if (depth < DEPTH_MAX)
            libraries_walk(walk, &next, depth + 1);
        elf_close(&file);
    }
}

int elf_kind_read(struct elf_kind *kind, const char *path)
{
    *kind = (struct elf_kind){0};
    struct elf_file file;
    if (elf_open(&file, path) != 0)
        return -1;
    struct walk *walk = calloc(1, sizeof *walk);
    if (!walk) {
        elf_close(&file);
        return -1;
    }
    walk->kind = kind;
    struct load_origin program = {.file = &file, .path = path, .needed_by = NULL};
    libraries_walk(walk, &program, 0);
    if (kind->abi != ABI_NONE)
        kind->openmpi_launcher = false; /* every Open MPI program loads the run time */
    else
        kind->static_mpi = elf_defines(&file, "MPI_Init");
    kind->linked_statically = elf_is_static(&file);
    elf_close(&file);
    for (size_t i = 0; i < walk->name_count; i++)
        free(walk->names[i]);
    free(walk);
    return 0;
}
