/*
 * Enumerations: own ones, which name the slots of some variables, those of other components, and copies of the
 * library's. A tool gets the address of a struct enumeration; what is no such address is never followed.
 *
 * The library's are copied because Open MPI frees an enumeration with the component that made it, while tools keep the
 * handle for as long as the variable's index, which is for ever.
 */
#ifndef MPIT_MPIT_ENUMERATION_H
#define MPIT_MPIT_ENUMERATION_H

#include "native.h"
#include "figures/variables.h"

/* MPI_T_ENUM_NULL for NAMES_NONE. */
MPI_T_enum enumeration_of(enum variable_names names);

/* An enumeration with these items; the one that is there if it has the same name and items. Copies the texts.
 * MPI_T_ENUM_NULL without memory. */
MPI_T_enum enumeration_add(const char *name, int count, const int *values, const char *const *names);

/* A copy of the library's; MPI_T_ENUM_NULL stays what it is, and is what the library does not explain. */
MPI_T_enum enumeration_copy(MPI_T_enum native);

#endif
