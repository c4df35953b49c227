/*
 * Sums of communicators: the counts of freed communicators that have lost their slots (commreuse.h).
 *
 * A sum has cells like a communicator. Counts and times are added, and extremes are joined. The end of the last
 * communication is the latest of all. The order of additions does not matter. So a replay, which meets the
 * communicators in another order, gets the same cells.
 */
#ifndef MPIT_AGGREGATE_COMMSUM_H
#define MPIT_AGGREGATE_COMMSUM_H

#include "figures/cells.h"
#include "format/runfile.h"

#include <stdbool.h>

/* Adds the counts of `from`, and sets them to 0. The numbers of segments (windows.h) go on. `messages`: some may
 * have been counted by size. */
void comm_cells_move(struct comm_cells *to, struct comm_cells *from, bool messages);
void peer_cells_move(struct peer_cells *to, struct peer_cells *from);

void shared_cells_sum(struct shared_cells *to, const struct shared_cells *from);
void shared_cells_clear(struct shared_cells *cells);

/* The name of the sum that a communicator of this name belongs to. It has '*' for the parts that differ within a
 * kind. */
void comm_pattern(char pattern[COMM_NAME_BYTES], const char *name);

/* Names like one that had the pattern: equal up to the number of the last operation. `rest` points into the pattern. */
struct comm_kind {
    size_t stem; /* how many bytes of the name are equal. 0: there is no such kind */
    const char *rest;
    char name[COMM_NAME_BYTES];
};

void comm_kind_learn(struct comm_kind *kind, const char *pattern, const char *name);
/* True if its pattern is that one. May be false in this case, too. */
bool comm_kind_has(const struct comm_kind *kind, const char *name);

#endif
