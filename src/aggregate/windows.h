/*
 * Windows on extremes: what was the largest (smallest, first) since the window was opened, for any number of windows.
 *
 * The recorder keeps one extreme, of the current segment, at one compare an event (cells.h). Opening, closing or
 * resetting a window ends the segment: its extreme is given to every open window of that variable and communicator and
 * to the cell of all closed segments, and then taken out of its cell by a compare-and-swap that leaves the neutral
 * value; if the cell has changed meanwhile, that is done again. A window's value is what it was given joined with the
 * current segment.
 *
 * Why the swap is right beside a writer that does load, compare, store: a writer that loaded before the swap and stores
 * behind it puts its value into the new segment; it was recording while the window was opened, so either segment is
 * right. A writer that does not store had a value that the taken extreme covers.
 *
 * All of it is lock-free and async-signal-safe. Windows are linked once and never unlinked. What is recorded in the
 * very moment in which two windows of one variable are opened or reset may count for both.
 */
#ifndef MPIT_AGGREGATE_WINDOWS_H
#define MPIT_AGGREGATE_WINDOWS_H

#include "book.h"
#include "variables.h"

struct window {
    struct window *next;
    const struct comm *comm;
    uint32_t extreme; /* enum extreme */
    bool linked, open;
    uint64_t value;
};

/* Ties the window to a variable of a communicator; it is closed then, with the starting value. */
void window_tie(struct window *window, const struct comm *comm, enum extreme extreme);
/* Begins, or goes on after a close: the extreme so far is kept. */
void window_open(struct window *window);
void window_close(struct window *window);
/* Back to the starting value: the level at this moment, or the neutral value where there is no level. */
void window_reset(struct window *window);
uint64_t window_read(const struct window *window);

#endif
