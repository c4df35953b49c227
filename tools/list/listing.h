/*
 * The variables of an MPI in the report of mpit-list-walk: requested, selected, printed.
 */
#ifndef MPIT_TOOLS_LISTING_H
#define MPIT_TOOLS_LISTING_H

#include "run/abi.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

struct listing_choice {
    bool pvars, cvars;
    const char *pattern; /* fnmatch, ignoring case, or NULL for all */
};

/*
 * Runs the walker of an MPI, with mpit's library loaded unless `native`, and returns its report. Returns NULL with a
 * reason in error[512]. `libraries` are files that the walker loads first. NULL ends the list.
 */
json_t *listing_ask(enum mpi_abi abi, bool native, char **libraries, char error[512]);

/* Removes variables that were not chosen. Returns how many variables are left. */
size_t listing_choose(json_t *listing, const struct listing_choice *choice);

void listing_print(const json_t *listing, FILE *out);

#endif
