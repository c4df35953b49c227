/*
 * The libraries of an executable. The executable is not run: its dynamic loader lists the libraries, and libelf reads
 * the file. Any file may be passed.
 */
#ifndef MPIT_TOOLS_ELFKIND_H
#define MPIT_TOOLS_ELFKIND_H

#include <stdbool.h>

struct elf_kind {
    bool other_machine;     /* has another word size or byte order than mpit. Nothing else is known of it then */
    bool openmpi_launcher;  /* loads the run time of Open MPI 4 (libopen-rte) and no MPI library */
    bool prrte_launcher;    /* the same for Open MPI 5 and later (libprrte) */
    bool static_mpi;        /* has MPI_Init inside, so no preloaded library can see its calls */
    bool linked_statically; /* no library can be preloaded */
    char library[256];      /* the MPI library that it loads, or "" */
    char below[64];         /* libfabric's or UCX's if linked to one, or "" */
};

/* Returns 0, or -1 if the path is not an ELF executable. */
int elf_kind_read(struct elf_kind *kind, const char *path);

#endif
