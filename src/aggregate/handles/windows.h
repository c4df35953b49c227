/*
 * Intervals of handles on extremes, called windows here: the largest (smallest, first) value while the window was open,
 * for any number of windows.
 *
 *   comm.extremes[extreme] ── turn      (operation in progress, or none, and number of the current segment)
 *                          ├─ windows ──> window ──> ...             one a handle, reused, never freed
 *                          └─ intervals ─> interval ──> ...          reused, never freed
 *
 *   window.current ──> its interval: from one operation on the window to the next
 *   interval           open or closed, and the extreme of its recorded values so far
 *
 * The recorder keeps one extreme, of the current segment. That costs one compare an event. It is in a pair with the
 * number of the segment (cells.h). Every operation on a window (start, stop, reset, ...) ends the segment and replaces
 * the window's current interval with a fresh one. It announces itself in `turn`. A thread that meets an operation in
 * progress finishes it first. Each step is a compare-and-swap that succeeds once:
 *
 *   1  drain    for each cell of segment s: give its extreme to all intervals that are open since s or before, then
 *               swap (extreme, s) for (neutral, s + 1), and repeat if the recorder has changed it meanwhile
 *   2  close    the window's current interval: its extreme is final
 *   3  begin    the fresh one: its starting value is the level now, after the drain, and it is open since s + 1
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

/* The caller passes the owner that acquired the window. If the window has another owner now, nothing happens. */
enum window_result { WINDOW_DONE, WINDOW_STALE, WINDOW_NO_MEMORY };

/* Returns a closed window with its starting value. NULL without memory. `owner` is not 0. Only one caller may
 * acquire or release at a time, and not from a signal handler. */
struct window *window_acquire(struct comm *comm, enum extreme extreme, uint64_t owner);
void window_release(struct window *window, uint64_t owner);

/* Starts, or continues after a stop and keeps the extreme so far. */
enum window_result window_start(struct window *window, uint64_t owner);
enum window_result window_stop(struct window *window, uint64_t owner);
/* Sets the starting value: the current level, or the neutral value if there is no level. */
enum window_result window_reset(struct window *window, uint64_t owner);
enum window_result window_read(struct window *window, uint64_t owner, uint64_t *value);
/* Both at one boundary: every event is either in the value or after the reset. */
enum window_result window_readreset(struct window *window, uint64_t owner, uint64_t *value);
/* Sets the time of a span. */
enum window_result window_write(struct window *window, uint64_t owner, uint64_t value);

/*
 * Takes the begin of the first communication out of the cells, for a reader that keeps it. Gives it to all open
 * intervals, and the segment goes on. Includes begins that windows have drained since the last time. Only one such
 * reader may call it at a time. Returns LOW_NEUTRAL if there is none.
 */
uint64_t windows_span_take(struct comm *comm);

/* Called when a thread's empty cells for a communicator were linked. Gives them the number of the segment. */
void windows_view_join(struct view *view);

#endif
