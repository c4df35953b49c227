/*
 * The catalogue of performance variables: own ones first, then the library's, and those of other components, as they
 * appear.
 *
 *   index   0 .. variable_count-1   own (aggregate/figures/variables.c)
 *           behind                  totals, threads, windows and files (aggregate/handles/livevariables.h)
 *           behind                  native ones, in the order in which their get_info first succeeded, entered ones, and
 *                                   own ones of counters (variable_add_counter), as they came
 *
 * An index that was given out never moves and what get_info says of it never changes: a native variable enters with a
 * copy of what its own get_info says, once that succeeds; a name and class that are there already do not enter again.
 * Names are found through a hash table (roster.h), without a walk.
 */
#ifndef MPIT_MPIT_CATALOGUE_H
#define MPIT_MPIT_CATALOGUE_H

#include "native.h"
#include "figures/variables.h"

#include <stdbool.h>

struct catalogue_entry {
    const struct variable *own;    /* NULL: native */
    struct instrument *instrument; /* own, of another library (component.h); NULL: of mpit itself */
    int native_index;              /* -1: not the library's */
    char *name, *description;
    int verbosity, class, bind, readonly, continuous, atomic;
    MPI_Datatype datatype;
    MPI_T_enum enumtype;
    const char *category; /* path of the one category that it is in; NULL: by what it is (category.c), or native */
};

/* Looks for native variables that have come; returns how many entries there are. */
int catalogue_refresh(void);
/* NULL: no such index. */
const struct catalogue_entry *catalogue_at(int index);
/* -1: no such name and class. */
int catalogue_find(const char *name, int class);
/* The index of a native variable, or -1 when it has not entered. */
int catalogue_of_native(int native_index);
/* MPI's number of a class. */
int catalogue_class(enum variable_class class);
/* Adds a copy of the entry, which keeps what it points to; its index, or -1: no memory, or the name and class are there
 * already. */
int catalogue_add(const struct catalogue_entry *fresh);

#endif
