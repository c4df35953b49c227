/*
 * Collectives that do not match: as their k-th collective on a communicator, its members came to different functions, or with
 * different roots. Most members are taken to be right.
 */
#ifndef MPIT_TOOLS_MISMATCH_H
#define MPIT_TOOLS_MISMATCH_H

#include "waiting/waiting.h"

#include <stdio.h>

/* Prints a line for each group of members that differs from most of the others, up to `most`. Returns how many lines. Needs
 * waits_find. */
size_t mismatches_print(const struct ward *ward, const char *indent, size_t most, FILE *out);

#endif
