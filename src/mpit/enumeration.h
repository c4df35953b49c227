/*
 * Own enumerations: the names of the slots of some variables.
 */
#ifndef MPIT_MPIT_ENUMERATION_H
#define MPIT_MPIT_ENUMERATION_H

#include "native.h"
#include "variables.h"

/* MPI_T_ENUM_NULL for NAMES_NONE. */
MPI_T_enum enumeration_of(enum variable_names names);

#endif
