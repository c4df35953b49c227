/*
 * What the messages of a traced job say about the clocks of its nodes: none arrives before it was sent.
 *
 * Of the messages on MPI_COMM_WORLD from one rank to another on another node, by the time that the k-th of them has
 * been received k have been sent: whatever their tags, and in whatever order they are received. So the k-th end of a
 * receive lies behind the k-th begin of a send, and where the time line says otherwise the clocks are wrong by that
 * much. Knots of the nodes' maps are moved until that is so: those the most that were measured worst, by as little as
 * is needed.
 *
 *    all messages ──> for each pair of nodes, the fastest in each part of the run ──> knots moved     again, until none
 *    is early
 */
#ifndef MPIT_TOOLS_CLOCKMESSAGES_H
#define MPIT_TOOLS_CLOCKMESSAGES_H

#include "report/timeline.h"

/* Does nothing for a single node, for more than 8192 ranks, and leaves out ranks whose events are not all there. Memory
 * grows with the messages between nodes, 8 bytes each. Returns 0, or -1: no memory; the time line is usable all the
 * same. */
int timeline_refine(struct timeline *line);

#endif
