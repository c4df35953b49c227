/*
 * The clocks of several nodes: who measures against whom, and how a measurement is computed.
 *
 * A node is a running kernel. Nodes are numbered by the lowest rank on each. Node 0's clock is the reference. In round
 * k each node below 2^k has a known clock. The node 2^k above it measures against it:
 *
 *      round 0     0 <- 1
 *      round 1     0 <- 2   1 <- 3
 *      round 2     0 <- 4   1 <- 5   2 <- 6   3 <- 7
 *
 * So each node is measured once, in ceil(log2(nodes)) rounds, and its time has come through at most as many nodes.
 */
#ifndef MPIT_EVENTS_CLOCKSYNC_H
#define MPIT_EVENTS_CLOCKSYNC_H

#include "clock/clock.h"
#include "format/runfile.h"

#include <stddef.h>

/* ---- the tree ---------------------------------------------------------------------------------------------------- */

enum { CLOCK_ROUNDS_MOST = 32 };

unsigned clock_tree_rounds(uint32_t nodes);
/* The round in which node > 0 measures, and the node that it measures against. */
unsigned clock_tree_round(uint32_t node);
uint32_t clock_tree_parent(uint32_t node);
/* The node that measures against this node in this round. 0: none. */
uint32_t clock_tree_child(uint32_t node, unsigned round, uint32_t nodes);

/* ---- one measurement --------------------------------------------------------------------------------------------- */

/* A message to the other clock and back. Sent and returned are in ticks of this clock. The reference times are of
 * its arrival there and of its departure from there, with their error. */
struct clock_echo {
    uint64_t sent_ticks, returned_ticks;
    uint64_t arrived_ns, left_ns, error_ns;
};

/*
 * No message arrives before it is sent. So the way there bounds from above how far the reference clock is ahead, and
 * the way back from below. Uses the tightest bound of each, or both bounds of the fastest echo, whichever leaves the
 * smaller range.
 */
struct clock_burst {
    struct clock_scale scale;
    uint64_t base_ticks, base_ns; /* the zero point of the echoes */
    unsigned count;
    int64_t most, most_at;   /* ns: upper bound of how far ahead, and when it was found */
    int64_t least, least_at; /* at least */
    int64_t fastest_most, fastest_least, fastest_at;
    int64_t room; /* half of the range that the best leaves, ns */
    uint64_t error_ns;
};

void clock_burst_begin(struct clock_burst *burst, struct clock_scale scale);
/* Returns true if it leaves a clearly smaller range than the echoes before. */
bool clock_burst_add(struct clock_burst *burst, const struct clock_echo *echo);
/* Returns false if there was no usable echo. */
bool clock_burst_result(const struct clock_burst *burst, struct clock_sync *sync);

/* How far two clocks may have drifted apart after `ns`, if they were calibrated only briefly. */
static inline uint64_t clock_drift_most(uint64_t ns)
{
    return ns / 5000; /* 200 ppm */
}

/* ---- keeping measurements ---------------------------------------------------------------------------------------- */

/* Stores a measurement. Only the process itself calls it. Other processes may read meanwhile. */
void clock_syncs_add(struct clock_syncs *syncs, struct clock_sync sync);
/* Copies the measurements. Returns how many. */
size_t clock_syncs_copy(const struct clock_syncs *syncs, struct clock_sync list[CLOCK_SYNCS_MOST]);

#endif
