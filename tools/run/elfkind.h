/*
 * Finds the MPI that an executable loads. The executable is not run: its dynamic loader lists the libraries, and libelf
 * reads them. Any file may be passed.
 */
#ifndef MPIT_TOOLS_ELFKIND_H
#define MPIT_TOOLS_ELFKIND_H

#include "backends.h"

#include <stdbool.h>

/* The kind of handles of an MPI. Intel MPI, MVAPICH and Cray MPICH have the same kind as MPICH. */
#define ABI_OF_BACKEND(id, ...) ABI_##id,
enum mpi_abi { ABI_NONE, BACKENDS(ABI_OF_BACKEND) ABI_UNKNOWN, ABI_COUNT };
#undef ABI_OF_BACKEND
enum { ABI_FIRST = ABI_NONE + 1, ABI_LAST = ABI_UNKNOWN - 1 }; /* the kinds that mpit can be built for */

struct elf_kind {
    enum mpi_abi abi;       /* of the MPI library that it loads, or ABI_NONE */
    bool openmpi_launcher;  /* loads Open MPI's run time (libopen-rte, libprrte) and no MPI library */
    bool static_mpi;        /* has MPI_Init inside, so no preloaded library can see its calls */
    bool linked_statically; /* no library can be preloaded */
    char library[256];      /* the MPI library's name */
    char below[64];         /* libfabric's or UCX's if linked to one, or "" */
};

/* Returns 0, or -1 if the path is not an ELF executable that this machine runs. */
int elf_kind_read(struct elf_kind *kind, const char *path);

/* "openmpi", "mpich" for file names and options. "Open MPI", "MPICH" for messages. */
const char *mpi_abi_name(enum mpi_abi abi);
const char *mpi_abi_title(enum mpi_abi abi);
/* "openmpi or mpich" */
const char *mpi_abi_choices(void);
/* Returns ABI_NONE for an unknown name. */
enum mpi_abi mpi_abi_named(const char *name);

#endif
