/*
 * Hints: info objects that go to the tool and come from it.
 *
 * MPIs of before version 4 have info objects only between MPI_Init and MPI_Finalize: at other times MPI_INFO_NULL is
 * returned in their place, and what the tool passes is not looked at.
 */
#ifndef MPIT_MPIT_HINT_H
#define MPIT_MPIT_HINT_H

#include "native.h"

#define HINT_THRESHOLD "mpit_threshold"

/* A new info object without keys, or with one; MPI_INFO_NULL where there is none to be had. */
MPI_Info hint_none_info(void);
MPI_Info hint_number_info(const char *key, uint64_t value);
/* The number under `key`; false: no such key, or no number. */
bool hint_number(MPI_Info info, const char *key, uint64_t *value);

#endif
