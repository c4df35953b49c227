/*
 * Who calls PMPI_*: the library's Fortran layer, or somebody else.
 */
#ifndef MPIT_PROBES_CALLER_H
#define MPIT_PROBES_CALLER_H

#include "base/linkage.h"

#include <stdbool.h>
#include <stdint.h>

enum { CALLER_PLACES = 8 };

/* Where a library that called is loaded. Written once: `size` last, and 0 until then. */
struct caller_library {
    uintptr_t begin, size;
    bool fortran;
};

/* The Fortran layer in the first place, as soon as it is known; the others behind. */
extern LIBRARY_LOCAL struct caller_library caller_libraries[CALLER_PLACES];

bool caller_look(const void *return_address);

/* Is the return address in a library that binds MPI to Fortran? Thread-safe; not for signal handlers. */
static inline bool caller_is_fortran(const void *return_address)
{
    const struct caller_library *first = &caller_libraries[0];
    uintptr_t size = __atomic_load_n(&first->size, __ATOMIC_ACQUIRE);
    return __builtin_expect((uintptr_t)return_address - first->begin < size, 1) || caller_look(return_address);
}

/* Is it in the first other library that has called, mostly the program? False: caller_is_fortran knows. */
static inline bool caller_is_program(const void *return_address)
{
    const struct caller_library *program = &caller_libraries[1];
    uintptr_t size = __atomic_load_n(&program->size, __ATOMIC_ACQUIRE);
    return (uintptr_t)return_address - program->begin < size && !program->fortran;
}

/*
 * Does the call of the function `name` (MPI_Comm_rank) come from where the program's does? Not if it is one of the
 * Fortran layer's own, which it makes to do something else: there the calling function has another name. Thread-safe;
 * not for signal handlers.
 */
bool caller_asks_for(const void *return_address, const char *name);

#endif
