/*
 * What the file of an executable says about MPI. Any file may be passed. It is read and not run.
 */
#ifndef MPIT_TOOLS_ELFKIND_H
#define MPIT_TOOLS_ELFKIND_H

#include <stdbool.h>

struct elf_kind {
    bool other_machine;     /* has another word size or byte order than mpit. Nothing else is known of it then */
    bool static_mpi;        /* has MPI_Init inside, so no preloaded library can see its calls */
    bool linked_statically; /* no library can be preloaded */
    char library[256];      /* the MPI library that it is linked to itself, or "" */
    char below[64];         /* the same for libfabric or UCX, or "" */
};

/* Returns 0, or -1 if the path is not an ELF executable. */
int elf_kind_read(struct elf_kind *kind, const char *path);

#endif
