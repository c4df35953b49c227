/*
 * The state of a thread in MPI (include/mpit/collector.h): not in it, at work, or stalled for a reason.
 *
 * The probes of the progress engine (src/probes/progress/stall.h) tell when a call begins to find nothing to do, and
 * when it goes on. The purpose of the call is the reason.
 */
#ifndef MPIT_AGGREGATE_STATE_H
#define MPIT_AGGREGATE_STATE_H

#include "calls.h"
#include "mpit/collector.h"

enum { STATE_COUNT = MPIT_STATE_STALL_OTHER + 1 };

static inline enum mpit_state stall_reason(const struct call_description *call)
{
    switch (call->fold) {
    case FOLD_SEND:
    case FOLD_POST_SEND:
        return MPIT_STATE_STALL_SEND;
    case FOLD_RECV:
    case FOLD_POST_RECV:
    case FOLD_SENDRECV:
    case FOLD_P2P:
        return MPIT_STATE_STALL_RECV;
    case FOLD_COLL:
    case FOLD_POST_COLL:
    case FOLD_COLL_INIT:
        return MPIT_STATE_STALL_COLL;
    case FOLD_COMPLETION:
        return MPIT_STATE_STALL_WAIT;
    case FOLD_CALL:
        return call->class == CLASS_P2P ? MPIT_STATE_STALL_SEND : MPIT_STATE_STALL_OTHER; /* MPI_Buffer_detach */
    default:
        return MPIT_STATE_STALL_OTHER;
    }
}

#endif
