/*
 * The clocks of several nodes: who measures against whom, how a measurement is computed, and which of them are kept.
 *
 * A node is a running kernel. Nodes are numbered by the lowest rank on each. Node 0's clock is the reference. In round
 * k each node below 2^k has a known clock. The node 2^k above it measures against it:
 *
 *      round 0     0 <- 1
 *      round 1     0 <- 2   1 <- 3
 *      round 2     0 <- 4   1 <- 5   2 <- 6   3 <- 7
 *
 * So each node is measured once, in ceil(log2(nodes)) rounds, and its time has come through at most so many nodes.
 */
#ifndef MPIT_EVENTS_CLOCKSYNC_H
#define MPIT_EVENTS_CLOCKSYNC_H

#include "clock/clock.h"
#include "format/runfile.h"

#include <stddef.h>

/* ---- the tree ---------------------------------------------------------------------------------------------------- */

enum { CLOCK_ROUNDS_MOST = 32 };

unsigned clock_tree_rounds(uint32_t nodes);
/* The round in which node > 0 measures, and against whom. */
unsigned clock_tree_round(uint32_t node);
uint32_t clock_tree_parent(uint32_t node);
/* Who measures against the node in this round; 0: nobody. */
uint32_t clock_tree_child(uint32_t node, unsigned round, uint32_t nodes);

/* ---- one measurement --------------------------------------------------------------------------------------------- */

/* A message to the other clock and back: sent and returned in ticks of this clock; reference times of its arrival there
 * and of its departure from there, and how wrong those may be. */
struct clock_echo {
    uint64_t sent_ticks, returned_ticks;
    uint64_t arrived_ns, left_ns, error_ns;
};

/*
 * No message arrives before it is sent: the way there says what the reference clock is at most ahead, the way back what
 * at least. The tightest of each, or both of the one echo that was fastest, whichever leaves less room.
 */
struct clock_burst {
    struct clock_scale scale;
    uint64_t base_ticks, base_ns; /* what the echoes are counted from */
    unsigned count;
    int64_t most, most_at;   /* ns: how far ahead at most, and when that was found */
    int64_t least, least_at; /* at least */
    int64_t fastest_most, fastest_least, fastest_at;
    int64_t room; /* half of what the best leaves, ns */
    uint64_t error_ns;
};

void clock_burst_begin(struct clock_burst *burst, struct clock_scale scale);
/* True: it leaves clearly less room than those before. */
bool clock_burst_add(struct clock_burst *burst, const struct clock_echo *echo);
/* False: there was no usable echo. */
bool clock_burst_result(const struct clock_burst *burst, struct clock_sync *sync);

/* Clocks that were calibrated for a moment, and then drift: so much may one be off another after `ns`. */
static inline uint64_t clock_drift_most(uint64_t ns)
{
    return ns / 5000; /* 200 ppm */
}

/* ---- what is kept ------------------------------------------------------------------------------------------------ */

/* Keeps a measurement. The process's own; other processes may read meanwhile. */
void clock_syncs_add(struct clock_syncs *syncs, struct clock_sync sync);
/* What can be relied upon: all, or the first alone while the others are changed (or were, when the process was killed).
 * How many. */
size_t clock_syncs_copy(const struct clock_syncs *syncs, struct clock_sync list[CLOCK_SYNCS_MOST]);

#endif
