/*
 * Sums of many summaries, along a binomial tree: parts[k] has 2^k of them. So a line of a summary is copied log2(number)
 * times, and not once for each later one.
 */
#ifndef MPIT_TOOLS_SUMMARYSUMS_H
#define MPIT_TOOLS_SUMMARYSUMS_H

#include "summary/summary.h"

struct summary_sums {
    struct summary *parts[8 * sizeof(size_t)];
};

/* Merges `part` into `whole`, and returns the sum. Both belong to this function, and may be NULL. Ends the tool without
 * memory. */
struct summary *summary_join(struct summary *whole, struct summary *part);

/* Likewise. Begin with zeros. */
void summary_sums_add(struct summary_sums *sums, struct summary *part);
/* The same, but of two that have the same processes only the larger one stays. A join makes a sum, and then removes the parts.
 * If it is ended between, both are there (join.h). Returns false if the sums had all processes of the part. */
bool summary_sums_add_once(struct summary_sums *sums, struct summary *part);
/* Returns whether the sums have all processes of the summary. */
bool summary_sums_have(const struct summary_sums *sums, const struct summary *part);
/* Adds one process, with its figures if they are wanted. Its file must be awake. */
void summary_sums_add_file(struct summary_sums *sums, const struct run_reader *file, bool figures);
/* Returns the sum of all, or NULL: there was none. */
struct summary *summary_sums_end(struct summary_sums *sums);

/* Sums that were allocated by the first call: the one for *sums, and the end, which frees it. NULL: none. */
struct summary_sums *summary_sums_of(struct summary_sums **sums);
struct summary *summary_sums_take(struct summary_sums **sums);

#endif
