/*
 * Segments: the computation of a thread between two of its MPI calls, by the places of these calls (callplaces.h).
 *
 *   (from, to) ──> number 1, 2, ...      number, rank ──> struct segment_sum
 */
#ifndef MPIT_TOOLS_SEGMENTS_H
#define MPIT_TOOLS_SEGMENTS_H

#include "base/keytable.h"

#include <stdbool.h>

enum { SEGMENTS_MOST = 1 << 24 }; /* their numbers are in the keys of the critical path */

struct segment_sum {
    struct keyed keyed; /* number, rank */
    uint64_t count, ns;
    uint64_t before;      /* visits before the first of these (analysis_last.c) */
    uint64_t off_ns;      /* without a processor */
    uint64_t critical_ns; /* on the critical path */
    uint64_t blamed_ns;   /* of waits of other ranks for this rank that it came before */
    uint64_t sends_ns;    /* of these, for late sends */
    uint64_t roots_ns;    /* and for the root of a collective that goes from one to all */
};

struct segment_pair {
    struct keyed keyed; /* from, to */
    uint32_t number;
};

/* The visits of all ranks to a segment: the k-th of each rank. */
struct segment_visit {
    double ns, most_ns; /* of all, and of one rank */
    uint32_t ranks;
};

struct segment_course {
    struct segment_visit *visits;
    size_t count, capacity;
};

struct segments {
    struct keytable pairs, sums;
    struct segment_course *courses; /* by number */
    size_t course_capacity;
    uint64_t visits; /* in all courses */
    bool no_memory;
};

/* A segment over all ranks that have it. The times are sums over the visits of a rank. */
struct segment_figures {
    uint32_t number, from, to;
    int32_t max_rank;
    uint32_t ranks;
    uint64_t count, sum_ns, min_ns, max_ns;
    uint64_t critical_ns, blamed_ns, off_ns;
};

/* The number of a segment. 0: there is no memory, or there are too many. */
uint32_t segment_find(struct segments *segments, uint32_t from, uint32_t to);
/* NULL: there is none with this number. */
const struct segment_pair *segment_pair_of(const struct segments *segments, uint32_t number);
/* The sums of a rank, to add to. NULL: number 0, or no memory. */
struct segment_sum *segment_of_rank(struct segments *segments, uint32_t number, int32_t rank);
/* Adds a visit of a rank that was there `visit` times before to the course. */
void segment_visit_add(struct segments *segments, uint32_t number, uint64_t visit, double ns);
/* NULL: none is kept. */
const struct segment_course *segment_course_of(const struct segments *segments, uint32_t number);
/* All segments, those with the longest time of a rank first, which the caller frees. NULL: none, or no memory. */
struct segment_figures *segments_by_cost(const struct segments *segments, size_t *count);
void segments_release(struct segments *segments);

#endif
