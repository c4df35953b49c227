/*
 * Windows on extremes: what was the largest (smallest, first) while the window was open, for any number of windows.
 *
 *   comm.extremes[extreme] ── turn      (operation in progress, or none; number of the current segment)
 *                          ├─ windows ──> window ──> ...             one a handle; used again, never freed
 *                          └─ intervals ─> interval ──> ...          used again, never freed
 *
 *   window.current ──> the interval that it is in: from one operation on the window to the next
 *   interval           open or closed, and the extreme of what was recorded in it so far
 *
 * The recorder keeps one extreme, of the current segment, at one compare an event, in a pair with the number of the
 * segment (cells.h). Every operation on a window (start, stop, reset, ...) ends the segment and puts a fresh interval
 * in the place of the window's current one. It announces itself in `turn`, and whoever meets an operation in progress
 * finishes it first, each step being a compare-and-swap that succeeds once:
 *
 *   1  drain    for each cell of segment s: give its extreme to all intervals that are open since s or before, then
 *               swap (extreme, s) for (neutral, s + 1); again if the recorder has changed it meanwhile
 *   2  close    the window's current interval: its extreme is final
 *   3  begin    the fresh one: its starting value is the level at this moment, behind the drain; open since s + 1
 *   4  switch   window.current from the one to the other
 *   5  end      turn: none, s + 1
 *
 * So an event counts for exactly the windows that were open when it was recorded. A helper that was delayed changes
 * nothing: the numbers of segments grow, and it finds larger ones than its own. What the recorder does between its look
 * at the cell and its store falls to the one side or the other of the boundary; both are right, it was recording.
 *
 * The value of a window: its interval's extreme joined with the cells. Cells are looked at first: what is taken out of
 * them is in the interval before.
 *
 * All of it is lock-free and async-signal-safe. Memory grows with the number of windows in use and of operations in
 * progress at once, not with their number over time.
 *
 * The window of EXTREME_SPAN_FIRST is that of mpit_comm_span: its value is a time in nanoseconds, from the first begin
 * in an interval (not before the interval's own) to the last end, summed over the intervals since its reset.
 */
#ifndef MPIT_AGGREGATE_WINDOWS_H
#define MPIT_AGGREGATE_WINDOWS_H

#include "registry/book.h"

struct window;

/* Who calls names the owner that the window was acquired for; a window that has gone to another is left alone. */
enum window_result { WINDOW_DONE, WINDOW_STALE, WINDOW_NO_MEMORY };

/* A window, closed, with its starting value; NULL without memory. Callers of acquire and release exclude each other,
 * and are no signal handlers. `owner` is not 0. */
struct window *window_acquire(struct comm *comm, enum extreme extreme, uint64_t owner);
void window_release(struct window *window, uint64_t owner);

/* Begins, or goes on after a stop: the extreme so far is kept. */
enum window_result window_start(struct window *window, uint64_t owner);
enum window_result window_stop(struct window *window, uint64_t owner);
/* Back to the starting value: the level at this moment, or the neutral value where there is no level. */
enum window_result window_reset(struct window *window, uint64_t owner);
enum window_result window_read(struct window *window, uint64_t owner, uint64_t *value);
/* Both at one boundary: every event is in the value or behind the reset. */
enum window_result window_readreset(struct window *window, uint64_t owner, uint64_t *value);
/* Sets the time of a span. */
enum window_result window_write(struct window *window, uint64_t owner, uint64_t value);

/*
 * Takes the begin of the first communication out of the cells, for a reader that keeps it, and gives it to all
 * intervals that are open; the segment goes on. What windows have drained since the last time is in it, too. Of several
 * such readers, one at a time. Returns LOW_NEUTRAL where there is none.
 */
uint64_t windows_span_take(struct comm *comm);

/* A thread's cells for a communicator were linked and hold nothing yet: gives them the number of the segment. */
void windows_view_join(struct view *view);

#endif
