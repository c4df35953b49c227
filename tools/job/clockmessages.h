/*
 * Corrections of the nodes' clocks from the messages of a traced job. No message arrives before it was sent.
 *
 * This uses messages on MPI_COMM_WORLD between ranks on different nodes. When a rank has received k messages from
 * another, at least k were sent, no matter which tags they have or in which order they are received. So the k-th end of
 * a receive lies after the k-th begin of a send. If the time line contradicts this, the clocks are wrong by at least
 * the difference. The knots of the nodes' maps are moved until no message contradicts it. Knots with the largest errors
 * move most, and all by as little as possible.
 *
 *    all messages ──> for each pair of nodes, the fastest in each part of the run ──> knots moved     again, until none
 *    is early
 */
#ifndef MPIT_TOOLS_CLOCKMESSAGES_H
#define MPIT_TOOLS_CLOCKMESSAGES_H

#include "job/timeline.h"

/* Does nothing for a single node, or for more than 8192 ranks. Leaves out ranks with missing events. Memory grows with
 * the messages between nodes, 8 bytes each. Returns 0, or -1 without memory. The time line is usable in both cases. */
int timeline_refine(struct timeline *line);

#endif
