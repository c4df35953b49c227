/*
 * Enumerations: own ones, which name the slots of some variables, enumerations of other libraries, and copies of native
 * ones. A tool gets the address of a struct enumeration. Any other address is never followed.
 *
 * Native ones are copied because Open MPI frees an enumeration with the component that made it. Tools may keep the
 * handle as long as the variable's index, which is forever.
 */
#ifndef MPIT_MPIT_ENUMERATION_H
#define MPIT_MPIT_ENUMERATION_H

#include "native.h"
#include "figures/variables.h"

/* MPI_T_ENUM_NULL for NAMES_NONE. */
MPI_T_enum enumeration_of(enum variable_names names);

/* An enumeration with these items. Returns an existing one with the same name and items. Copies the texts.
 * MPI_T_ENUM_NULL without memory. */
MPI_T_enum enumeration_add(const char *name, int count, const int *values, const char *const *names);

/*
 * A copy of a native one. MPI_T_ENUM_NULL for MPI_T_ENUM_NULL, and for an enumeration that the library does not
 * describe.
 */
MPI_T_enum enumeration_copy(MPI_T_enum native);

#endif
