/*
 * The MPI ABIs that mpit can be built for, and their names.
 */
#ifndef MPIT_TOOLS_ABI_H
#define MPIT_TOOLS_ABI_H

#include "backends.h"

/* The kind of handles of an MPI. Intel MPI, MVAPICH and Cray MPICH have the same kind as MPICH. */
#define ABI_OF_BACKEND(id, ...) ABI_##id,
enum mpi_abi { ABI_NONE, BACKENDS(ABI_OF_BACKEND) ABI_COUNT };
#undef ABI_OF_BACKEND
enum { ABI_FIRST = ABI_NONE + 1, ABI_LAST = ABI_COUNT - 1 };

/* "openmpi", "mpich" for file names and options. "Open MPI", "MPICH" for messages. Not for ABI_NONE. */
const char *mpi_abi_name(enum mpi_abi abi);
const char *mpi_abi_title(enum mpi_abi abi);
/* "openmpi or mpich" */
const char *mpi_abi_choices(void);
/* Returns ABI_NONE for an unknown name. */
enum mpi_abi mpi_abi_named(const char *name);

#endif
