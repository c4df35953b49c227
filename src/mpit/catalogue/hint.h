/*
 * Hints: info objects that the tool passes or gets.
 *
 * MPIs before version 4 have info objects only between MPI_Init and MPI_Finalize. At other times the tool gets
 * MPI_INFO_NULL, and its own info objects are ignored.
 */
#ifndef MPIT_MPIT_HINT_H
#define MPIT_MPIT_HINT_H

#include "native.h"

#define HINT_THRESHOLD "mpit_threshold"

/* A new info object without keys, or with one. MPI_INFO_NULL if it cannot be made. */
MPI_Info hint_none_info(void);
MPI_Info hint_number_info(const char *key, uint64_t value);
/* Reads the number under `key`. Returns false if there is no such key or number. */
bool hint_number(MPI_Info info, const char *key, uint64_t *value);

#endif
