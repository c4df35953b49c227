/*
 * The definitions after the wrappers: another tool's, or the library's. A wrapper calls the next definition of its own
 * symbol and not PMPI_*. So a PMPI tool after mpit is still called.
 */
#ifndef MPIT_PROBES_NEXT_H
#define MPIT_PROBES_NEXT_H

#include "base/linkage.h"

#include "native.h"
#include "next_calls.h"

struct next {
#define NEXT_FIELD(name) __typeof__(&name) name;
    NEXT_CALLS(NEXT_FIELD)
#undef NEXT_FIELD
};

/* After MPI_*, which C calls. */
extern LIBRARY_LOCAL struct next next_of_c;
/* After PMPI_*, which the library's Fortran layer calls. A tool's MPI_* would not have been called either. */
extern LIBRARY_LOCAL struct next next_of_fortran;

/* Finds all of them. Ends the program with a message if a call was made that has none. */
void next_find(const char *wanted);
/* Steps aside for good: from the next call on the program reaches MPI directly. */
void next_pass(void);

/* Two threads may make the program's first calls before MPI_Init. A pointer is written at once on the machines that
 * mpit runs on. An atomic builtin would have the cost that cells.h describes. Only the thread sanitizer gets
 * atomics. */
#if defined(__SANITIZE_THREAD__)
#define NEXT_LOAD(field) __atomic_load_n(&(field), __ATOMIC_ACQUIRE)
#else
#define NEXT_LOAD(field) (field)
#endif
#define NEXT(next, name)                                                                                               \
    (*(__builtin_expect(NEXT_LOAD((next)->name) != NULL, 1) ? NEXT_LOAD((next)->name)                                  \
                                                            : (next_find(#name), NEXT_LOAD((next)->name))))

#endif
