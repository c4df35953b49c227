/*
 * Intervals of handles on extremes, called windows here: the largest (smallest, first) value while the window was open,
 * for any number of windows.
 *
 *   comm.extremes[extreme] ── turn      (operation in progress, or none; number of the current segment)
 *                          ├─ windows ──> window ──> ...             one a handle; used again, never freed
 *                          └─ intervals ─> interval ──> ...          used again, never freed
 *
 *   window.current ──> the interval that it is in: from one operation on the window to the next
 *   interval           open or closed, and the extreme of its recorded values so far
 *
 * The recorder keeps one extreme, of the current segment. That costs one compare an event. It is in a pair with the
 * number of the segment (cells.h). Every operation on a window (start, stop, reset, ...) ends the segment and replaces
 * the window's current interval with a fresh one. It announces itself in `turn`. A thread that meets an operation in
 * progress finishes it first. Each step is a compare-and-swap that succeeds once:
 *
 *   1  drain    for each cell of segment s: give its extreme to all intervals that are open since s or before, then
 *               swap (extreme, s) for (neutral, s + 1); again if the recorder has changed it meanwhile
 *   2  close    the window's current interval: its extreme is final
 *   3  begin    the fresh one: its starting value is the level at this moment, after the drain; open since s + 1
 *   4  switch   window.current from the one to the other
 *   5  end      turn: none, s + 1
 *
 * So an event counts for exactly the windows that were open when it was recorded. A delayed helper changes nothing: the
 * numbers of segments grow, and it finds larger ones than its own. The recorder may be between its look at the cell and
 * its store. Then the event falls on one side of the boundary or the other. Both are right, since it was recording.
 *
 * The value of a window is its interval's extreme joined with the cells. The cells are read first, because a drain
 * moves their values to the interval before.
 *
 * All of it is lock-free and async-signal-safe. Memory grows with the number of windows in use and of operations in
 * progress at once, not with their number over time.
 *
 * The window of EXTREME_SPAN_FIRST is the window of mpit_comm_span. Its value is a time in nanoseconds, from the first
 * begin in an interval (not before the interval's own) to the last end, summed over the intervals since its reset.
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
