/*
 * Where messages of a job go: inside of a node, or between nodes, and an order of ranks that has fewer bytes between nodes.
 *
 *   peers.h ──> bytes by pair of ranks ──> by node, communicator, rank (summary_placement, summary_link)
 *                  └──> rankorder.h ──> row.better_host, if it saves more than a tenth ──> placementfiles.h
 *                                          └──> the world CURE_PLACEMENT (cures.h): the gain
 *
 * Only messages count: the recorder does not know by peer what collectives and windows move.
 */
#ifndef MPIT_TOOLS_PLACEMENT_H
#define MPIT_TOOLS_PLACEMENT_H

#include "job/rundir.h"

/* Fills in summary->traced.placement and what belongs to it, if the job has several nodes, the run files of all ranks,
 * and not too many of them (ORDER_RANKS_MOST): peers grow with their square. */
void placement_fill(const struct run_job *job);

static inline bool placement_is_better(const struct summary_placement *placement)
{
    return placement->known && placement->better_bytes < placement->between_bytes;
}

#endif
