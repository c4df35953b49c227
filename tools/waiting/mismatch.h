/*
 * Collectives that do not match. As their k-th collective on a communicator, its members came to different functions,
 * or with different roots, operations or sizes: most members are taken to be right. Or two groups of ranks are in
 * different calls, and each waits for the other.
 */
#ifndef MPIT_TOOLS_MISMATCH_H
#define MPIT_TOOLS_MISMATCH_H

#include "waiting/collsteps.h"

#include <stdio.h>

enum { MISMATCHES_MOST = 8, AGREED_TEXT_BYTES = 96 };

/* `few` processes differ from `many`. The steps of a group are the same call. */
struct mismatch {
    const struct step *few, *many;
    size_t few_count, many_count;
};

struct mismatches {
    struct steps steps;
    struct mismatch list[MISMATCHES_MOST]; /* the first on each communicator */
    size_t count;
};

/* `ward` may be NULL: all processes have ended. Returns 0, or -1 without memory. Release it in both cases. */
int mismatches_find(const struct run_job *job, const struct ward *ward, struct mismatches *found);
void mismatches_release(struct mismatches *found);

/* Writes " with root 1 and MPI_SUM and 80 bytes", of that what is known, and returns it. */
const char *agreed_text(char text[AGREED_TEXT_BYTES], int32_t root, uint32_t reduction, uint64_t bytes);

/* Prints a line for each group of members that differs from most of the others, up to `most`. Returns how many lines. Needs
 * waits_find. */
size_t mismatches_print(const struct ward *ward, const char *indent, size_t most, FILE *out);

#endif
