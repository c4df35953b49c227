/* Tells who calls PMPI_*: the library's Fortran layer, or other code. */
#ifndef MPIT_PROBES_CALLER_H
#define MPIT_PROBES_CALLER_H

#include "base/linkage.h"

#include <stdbool.h>
#include <stdint.h>

enum { CALLER_PLACES = 8 };

/* The address range of a library that called. Written once. `size` is written last, and is 0 until then. */
struct caller_library {
    uintptr_t begin, size;
    bool fortran;
};

/* The first place is for the Fortran layer, as soon as it is known. The others follow. */
extern LIBRARY_LOCAL struct caller_library caller_libraries[CALLER_PLACES];

bool caller_look(const void *return_address);

/* True if the return address is in a library that binds MPI to Fortran. Thread-safe, but not for signal handlers. */
static inline bool caller_is_fortran(const void *return_address)
{
    const struct caller_library *first = &caller_libraries[0];
    uintptr_t size = __atomic_load_n(&first->size, __ATOMIC_ACQUIRE);
    return __builtin_expect((uintptr_t)return_address - first->begin < size, 1) || caller_look(return_address);
}

/* True if it is in the first other library that has called, usually the program. False: ask caller_is_fortran. */
static inline bool caller_is_program(const void *return_address)
{
    const struct caller_library *program = &caller_libraries[1];
    uintptr_t size = __atomic_load_n(&program->size, __ATOMIC_ACQUIRE);
    return (uintptr_t)return_address - program->begin < size && !program->fortran;
}

/*
 * True if the call of the function `name` (MPI_Comm_rank) is made for the program. False if the Fortran layer makes it
 * to do something else: then the calling function has another name. Thread-safe, but not for signal handlers.
 */
bool caller_asks_for(const void *return_address, const char *name);

#endif
