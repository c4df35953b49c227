/*
 * Around a poll of the progress engine (stall.h). Nearly every poll is one of a call that does not wait, or a first few
 * in vain of one that does: these cost some loads and compares, here; what a stall needs is out of line.
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

/* NULL: the thread is in no call that may wait. */
HOT struct log *poll_begin(void)
{
    struct log *log = stall_waiting();
    if (log && log->stall.depth++ == 0) {
        log->stall.found = false;
        if (__builtin_expect(log->stall.since != 0, 0))
            stall_poll_begin(log);
    }
    return log;
}

/* `found`: it was not in vain. */
HOT void poll_end(struct log *log, bool found)
{
    struct stall *stall = &log->stall;
    stall->found |= found;
    if (stall->depth == 0 || --stall->depth)
        return;
    if (__builtin_expect(stall->call != log->state->since, 0)) {
        stall->call = stall->working = log->state->since;
        stall->vain = 0;
        stall->moved = false;
    }
    if (stall->found) {
        stall->moved = true;
        stall->vain = 0;
        if (__builtin_expect(stall->since != 0, 0))
            stall_pause(log, stall->poll);
    } else if (stall->since == 0) {
        if (__builtin_expect(++stall->vain > stall->patience, 0))
            stall_patience_end(log);
    }
}

#endif
