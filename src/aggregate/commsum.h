/*
 * Sums of communicators: what those have counted that were freed and have lost their slots (commreuse.h).
 *
 * A sum has cells like a communicator. Counts and times are added, extremes joined; the end of the last communication
 * is the latest of all. The order in which communicators are added does not matter, so that a replay, which meets them
 * in another one, comes to the same cells.
 */
#ifndef MPIT_AGGREGATE_COMMSUM_H
#define MPIT_AGGREGATE_COMMSUM_H

#include "cells.h"
#include "runfile.h"

#include <stdbool.h>

void comm_cells_sum(struct comm_cells *to, const struct comm_cells *from);
void peer_cells_sum(struct peer_cells *to, const struct peer_cells *from);
void shared_cells_sum(struct shared_cells *to, const struct shared_cells *from);

/* As they are when nothing has been counted. The numbers of segments (windows.h) go on. */
void comm_cells_clear(struct comm_cells *cells);
void peer_cells_clear(struct peer_cells *cells);
void shared_cells_clear(struct shared_cells *cells);

/* The name of the sum that a communicator of this name belongs to: with '*' for what tells it from those of its kind.
 */
void comm_pattern(char pattern[COMM_NAME_BYTES], const char *name);

#endif
