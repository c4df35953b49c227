/*
 * The figures of a communicator in a monitor report (mpit/monitor_report.h): differences of two records of snapshots
 * (snapshot.h).
 *
 * A figure that did not change costs one comparison. Most communicators of a period were silent in it.
 *
 * Who may run with whom: plain functions of their arguments. Do not take a snapshot anew while its records are in use.
 */
#ifndef MPIT_AGGREGATE_CHANGES_H
#define MPIT_AGGREGATE_CHANGES_H

#include "mpit/monitor_report.h"
#include "monitor/snapshot.h"

/* True if all their counts, and their shapes, are the same. */
bool change_none(const struct comm_snapshot *before, const struct comm_snapshot *after);
/* Adds the difference of the two. `before` NULL: the communicator had counted nothing. `after` NULL: the counts are
 * subtracted, modulo 2^64. Times become nanoseconds before they are subtracted, so that the differences of several
 * intervals add up. */
void change_add(MPIX_Monitor_figures *figures, const struct comm_snapshot *before, const struct comm_snapshot *after);

/* For each kind of collectives. */
struct change_collectives {
    const uint64_t *time_before, *time_after; /* ticks */
    const uint64_t *count_before, *count_after;
    const uint64_t *execution_before, *execution_after; /* ticks */
};

/* Returns false if neither record has any. NULL as above. */
bool change_collectives(const struct comm_snapshot *before, const struct comm_snapshot *after,
                        struct change_collectives *collectives);
bool change_is_zero(const MPIX_Monitor_figures *figures);
void change_sum(MPIX_Monitor_figures *to, const MPIX_Monitor_figures *from);
/* Call it after all additions. Computes the figures that follow from others. */
void change_finish(MPIX_Monitor_figures *figures);
/* Sets figures of no selected option (enum MPIX_Monitor_option) to 0, and unknown ones to UNKNOWN. */
void change_limit(MPIX_Monitor_figures *figures, unsigned options, bool fabric, bool stall);

static inline uint64_t change_ns(uint64_t ticks)
{
    return clock_ns(book.scale, ticks);
}

static inline uint64_t change_time(uint64_t before, uint64_t after)
{
    return before == after ? 0 : change_ns(after) - change_ns(before);
}

#endif
