/*
 * The catalogue of performance variables: own ones first, then native ones, and variables of other libraries, as they
 * appear.
 *
 *   index   0 .. variable_count-1   own (aggregate/figures/variables.c)
 *           then                    totals, threads, windows and files (aggregate/handles/livevariables.h)
 *           then                    native ones, in the order in which their get_info first succeeded, added ones, and
 *                                   own ones of counters (variable_add_counter), in the order of arrival
 *
 * An index never moves, and the answer of get_info for it never changes. A native variable is added with a copy of its
 * own get_info, once that succeeds. A known name and class is not added again. Names are found through a hash table
 * (roster.h), without a walk.
 */
#ifndef MPIT_MPIT_CATALOGUE_H
#define MPIT_MPIT_CATALOGUE_H

#include "native.h"
#include "figures/variables.h"

#include <stdbool.h>

struct catalogue_entry {
    const struct variable *own;    /* NULL: native */
    struct instrument *instrument; /* own, of another library (component.h). NULL: of mpit itself */
    int native_index;              /* -1: not the library's */
    char *name, *description;
    int verbosity, class, bind, readonly, continuous, atomic;
    MPI_Datatype datatype;
    MPI_T_enum enumtype;
    const char *category; /* path of its only category. NULL: found by its properties (category.c), or native */
};

/* Searches for new native variables. Returns the number of entries. */
int catalogue_refresh(void);
/* NULL: no such index. */
const struct catalogue_entry *catalogue_at(int index);
/* -1: no such name and class. */
int catalogue_find(const char *name, int class);
/* The index of a native variable, or -1 when it has not entered. */
int catalogue_of_native(int native_index);
/* MPI's number of a class. */
int catalogue_class(enum variable_class class);
/* Adds a copy of the entry. The data it points to must stay. Returns its index. Returns -1 without memory, or if the
 * name and class exist already. */
int catalogue_add(const struct catalogue_entry *fresh);

#endif
