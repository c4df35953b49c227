/*
 * Around a poll of the progress engine (stall.h). Nearly every poll is one of a call that does not wait, or a first few
 * in vain of one that does. The first one of a call finds out which; as long as it is at work, the next ones of the
 * same call go the quick way: one comparison with that call, one word that says what the thread is in, one count.
 */
#ifndef MPIT_PROBES_POLLING_H
#define MPIT_PROBES_POLLING_H

#include "log.h"

/* The thread's log, if it is in a call that may wait. */
HOT struct log *stall_waiting(void)
{
    struct log *log = thread_log;
    if (!log)
        return NULL;
    uint32_t call = log->state->call;
    return call < CALL_COUNT && stall_may_wait[call] && log->state->since ? log : NULL;
}

/* ---- the quick way: a poll in vain of a call that has polled before, and is at work
 * ------------------------------------ */

HOT bool poll_is_quick(const struct log *log)
{
    return __builtin_expect(log != NULL, 1) && __builtin_expect(log->state->since == log->stall.call, 1) &&
           __builtin_expect(log->state->call == log->stall.quick, 1);
}

/* Within, whoever comes by finds a poll that is not quick, of depth 1. */
HOT void poll_quick_begin(struct log *log)
{
    log->stall.inside = POLL_QUICK;
}

/* Somebody came by, or it was not in vain, or it was one too many. */
void poll_quick_leave(struct log *log, bool found);

HOT void poll_quick_end(struct log *log, bool found)
{
    struct stall *stall = &log->stall;
    if (__builtin_expect(found, 0) || __builtin_expect(stall->inside != POLL_QUICK, 0) ||
        __builtin_expect(stall->left == 0, 0)) {
        poll_quick_leave(log, found);
        return;
    }
    stall->left--;
    stall->inside = POLL_AGAIN(log->state->call);
}

/* ---- all others ---------------------------------------------------------------------------------------------------
 */

/* NULL: the thread is in no call that may wait. */
HOT struct log *poll_begin(void)
{
    struct log *log = stall_waiting();
    if (log && log->stall.depth++ == 0) {
        log->stall.quick = POLL_NOT_QUICK;
        log->stall.found = false;
        if (__builtin_expect(log->stall.since != 0, 0))
            stall_poll_begin(log);
    }
    return log;
}

HOT void poll_call_find(struct stall *stall, uint64_t call)
{
    if (stall->call == call)
        return;
    stall->call = stall->working = call;
    stall->left = stall->patience;
    stall->moved = false;
}

/* What poll_outermost_end does for a call that is at work, and goes on to be. */
HOT void poll_outermost(struct log *log)
{
    struct stall *stall = &log->stall;
    uint64_t call = log->state->since;
    if (__builtin_expect(stall->since != 0, 0) ||
        __builtin_expect(!stall->found && stall->call == call && stall->left == 0, 0)) {
        poll_outermost_end(log);
        return;
    }
    poll_call_find(stall, call);
    if (stall->found) {
        stall->moved = true;
        stall->left = stall->patience;
    } else {
        stall->left--;
    }
    stall->quick = log->state->call;
}

/* `found`: it was not in vain. */
HOT void poll_end(struct log *log, bool found)
{
    log->stall.found |= found;
    if (log->stall.depth && --log->stall.depth == 0)
        poll_outermost(log);
}

#endif
