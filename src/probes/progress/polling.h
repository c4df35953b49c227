/*
 * Around a poll of the progress engine (stall.h). Nearly every poll is either a first empty poll, or the poll that ends
 * a short wait. While the call has patience left (`stall.left`), a poll goes the quick way, in any call. It counts, and
 * in the same word it marks the thread as inside of a poll. Nested code changes that word. The kind of the call matters
 * only when no patience is left. (A handler of the program that sleeps between the two accesses to that word may leave
 * a stall on until the call ends.)
 */
#ifndef MPIT_PROBES_POLLING_H
#define MPIT_PROBES_POLLING_H

#include "thread/log.h"

/* Returns the thread's log if the thread is in a call that may wait, else NULL. */
HOT struct log *stall_waiting(void)
{
    struct log *log = thread_log;
    if (!log)
        return NULL;
    uint32_t call = log->state->call;
    return call < CALL_COUNT && stall_may_wait[call] && log->state->since ? log : NULL;
}

/* ---- the quick way ----------------------------------------------------------------------------------------------- */

/* True for a thread that is in no poll, and in no stall. */
HOT bool poll_is_quick(const struct log *log)
{
    return __builtin_expect(log != NULL, 1) && __builtin_expect(log->stall.polling - 1 < UINT32_MAX, 1);
}

/* Nested code then finds a poll of depth 1, which is not quick. Returns the argument of poll_quick_end. */
HOT uint64_t poll_quick_begin(struct log *log)
{
    uint64_t after = log->stall.polling - 1;
    log->stall.polling = after + POLL_INSIDE;
    return after;
}

/* Ends a quick poll that nested code has changed. */
void poll_quick_leave(struct log *log, bool found);

/* A poll of the call has found something. */
HOT void poll_moved(struct log *log)
{
    log->stall.polling = log->stall.patience;
    log->stall.moved = log->state->since;
}

HOT void poll_quick_end(struct log *log, uint64_t after, bool found)
{
    uint64_t now = log->stall.polling - after;
    if (__builtin_expect(now == POLL_INSIDE && !found, 1))
        log->stall.polling = after;
    else if ((now & ~POLL_INSIDE_FOUND) == POLL_INSIDE)
        poll_moved(log);
    else
        poll_quick_leave(log, found);
}

/* ---- all others -------------------------------------------------------------------------------------------------- */

/* Returns NULL if the thread is in no call that may wait. */
HOT struct log *poll_begin(void)
{
    struct log *log = stall_waiting();
    if (log && log->stall.depth++ == 0) {
        log->stall.found = false;
        if (__builtin_expect(log->stall.left == 0, 0))
            stall_poll_begin(log);
    }
    return log;
}

/* Does the same as poll_outermost_end for a call that is at work, and stays so. */
HOT void poll_outermost(struct log *log)
{
    struct stall *stall = &log->stall;
    if (__builtin_expect(stall->since != 0, 0) || __builtin_expect(!stall->found && stall->left == 0, 0))
        poll_outermost_end(log);
    else if (stall->found)
        poll_moved(log);
    else
        stall->left--;
}

/* `found`: the poll was not empty. */
HOT void poll_end(struct log *log, bool found)
{
    log->stall.found |= found;
    if (log->stall.depth && --log->stall.depth == 0)
        poll_outermost(log);
}

#endif
