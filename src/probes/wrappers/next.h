/*
 * The definitions that stand behind the wrappers: another tool's, or the library's. A wrapper calls the next definition
 * of its own symbol and not PMPI_*, so that a PMPI tool behind mpit is still called.
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

/* Behind MPI_*, which C calls. */
extern LIBRARY_LOCAL struct next next_of_c;
/* Behind PMPI_*, which the library's Fortran layer calls: a tool's MPI_* would not have been called either. */
extern LIBRARY_LOCAL struct next next_of_fortran;

/* Finds all of them; ends the program with a message when there is none for a call that was made. */
void next_find(const char *wanted);
/* Steps aside for good: from the next call on the program reaches MPI as if nothing were between. */
void next_pass(void);

/* Two threads may make the program's first calls before MPI_Init. A pointer is written at once on the machines that
 * mpit runs on, and an atomic builtin would cost what it costs in cells.h; the thread sanitizer is told the truth. */
#if defined(__SANITIZE_THREAD__)
#define NEXT_LOAD(field) __atomic_load_n(&(field), __ATOMIC_ACQUIRE)
#else
#define NEXT_LOAD(field) (field)
#endif
#define NEXT(next, name)                                                                                               \
    (*(__builtin_expect(NEXT_LOAD((next)->name) != NULL, 1) ? NEXT_LOAD((next)->name)                                  \
                                                            : (next_find(#name), NEXT_LOAD((next)->name))))

#endif
