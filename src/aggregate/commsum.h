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

/* Adds what `from` has counted, which then is as when nothing has been. The numbers of segments (windows.h) go on. */
void comm_cells_move(struct comm_cells *to, struct comm_cells *from);
void peer_cells_move(struct peer_cells *to, struct peer_cells *from);

void shared_cells_sum(struct shared_cells *to, const struct shared_cells *from);
void shared_cells_clear(struct shared_cells *cells);

/* The name of the sum that a communicator of this name belongs to: with '*' for what tells it from those of its kind.
 */
void comm_pattern(char pattern[COMM_NAME_BYTES], const char *name);
/* Is it the one that comm_pattern makes of the name? False also of some names that were too long. */
bool comm_pattern_fits(const char *pattern, const char *name);

#endif
