/*
 * The definitions that stand behind the wrappers: another tool's, or the library's. A wrapper calls the next definition
 * of its own symbol and not PMPI_*, so that a PMPI tool behind mpit is still called.
 */
#ifndef MPIT_PROBES_NEXT_H
#define MPIT_PROBES_NEXT_H

#include "linkage.h"

#include "native.h"
#include "next_calls.h"

struct next {
#define NEXT_FIELD(name) __typeof__(&name) name;
    NEXT_CALLS(NEXT_FIELD)
#undef NEXT_FIELD
};

extern LIBRARY_LOCAL struct next next;

/* Finds all of them; ends the program with a message when there is none for a call that was made. */
void next_find(const char *wanted);

#define NEXT(name) (*(__builtin_expect(next.name != NULL, 1) ? next.name : (next_find(#name), next.name)))

#endif
