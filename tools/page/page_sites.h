/*
 * The time of each place that calls MPI by rank. A summary has only sums over ranks. Run files have the rest.
 *
 *   site of the job ──> its place ──> spread: least and most of the ranks that call there
 */
#ifndef MPIT_TOOLS_PAGE_SITES_H
#define MPIT_TOOLS_PAGE_SITES_H

#include "summary/summary.h"

#include <jansson.h>
#include <stdbool.h>

/* A time by rank: the sum, and the ranks with the least and the most. */
struct rank_spread {
    uint64_t ranks;
    uint64_t sum_ns, min_ns, max_ns;
    int32_t min_rank, max_rank;
};

/* `first`: no rank was added before. `counts`: the rank is one of `ranks`. */
void rank_spread_add(struct rank_spread *spread, uint64_t ns, int32_t rank, bool first, bool counts);

struct site_spread;
struct site_spreads {
    struct site_spread *list;
    size_t *places; /* by site in the order of the job: the number of its spread */
    const struct summary_sites *sites;
};

/* Returns 0, or -1 without memory. Release it in both cases. */
int site_spreads_open(struct site_spreads *spreads, const struct summary *job);
/* Adds the sites of one rank. */
void site_spreads_add(struct site_spreads *spreads, const struct summary *part, int32_t rank);
/* Returns a list in the order of "callsites" of the summary: {"min_ns", "min_rank", "max_ns", "max_rank"} of the place, or
 * null. */
json_t *site_spreads_json(const struct site_spreads *spreads);
void site_spreads_release(struct site_spreads *spreads);

#endif
