#include "figures/fold.h"

static void level_extreme(uint64_t *cell, uint64_t value, bool high)
{
    uint64_t seen = cell_load(cell);
    while ((high ? value > seen : value < seen) &&
           !__atomic_compare_exchange_n(cell, &seen, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
}

void level_change_locked(struct level_cells *level, uint64_t delta)
{
    uint64_t now = __atomic_add_fetch(&level->now, delta, __ATOMIC_RELAXED);
    level_extreme(&level->high, now, true);
    level_extreme(&level->low, now, false);
}

/* A request that ends without a message. The level that its posting raised goes down again. */
static void fold_unfinished(struct tally *tally, struct comm_tally *comm, const struct event *event)
{
    unsigned posted = event->duration < CALL_COUNT ? event->duration : CALL_NONE;
    bool missed = event_kind(event) == RECORD_FREED && (event->kind & EVENT_FAILED);
    if (!missed) /* else there was no call that waited */
        fold_wait(tally, comm);
    if (call_table[posted].class != CLASS_P2P)
        return;
    if (event->tag) { /* 1: a receive */
        if (event->peer != PEER_PROC_NULL)
            level_subtract(tally_is_shared(tally), &comm->shared->recvs, 1);
    } else if (event->peer >= 0) {
        level_subtract(tally_is_shared(tally), &comm->shared->sends, 1);
        level_subtract(tally_is_shared(tally), &comm->shared->bytes, event->bytes);
    }
}

/* One half of a request. Its share of the call's time goes to the receive. */
static void fold_half_done(const struct tally *tally, struct comm_tally *comm, const struct event *event)
{
    struct tally none = {.end = tally->end, .concurrent = tally_is_shared(tally), .path = tally->path};
    fold_send_done(&none, comm, event);
}

void fold_record(struct tally *tally, struct comm_tally *comm, const struct event *event,
                 const struct event_extension *more)
{
    switch (event_kind(event)) {
    case RECORD_SEND_DONE:
        fold_send_done(tally, comm, event);
        break;
    case RECORD_RECV_DONE:
        fold_recv_done(tally, comm, event);
        break;
    case RECORD_HALF_DONE:
        fold_half_done(tally, comm, event);
        break;
    case RECORD_RECEIVE:
        fold_receive(tally, comm, event);
        break;
    case RECORD_SEND_POSTED:
        fold_send_posted(tally, comm, event);
        break;
    case RECORD_RECV_POSTED:
        fold_recv_posted(tally, comm, event);
        break;
    case RECORD_COLL_POSTED:
        fold_coll_posted(tally, comm, event);
        break;
    case RECORD_COLL_DONE:
        fold_coll_done(tally, comm, event, more);
        break;
    case RECORD_COMM_DONE:
    case RECORD_RMA_DONE:
        fold_wait(tally, comm);
        break;
    case RECORD_IO_DONE:
        fold_transferred(tally, comm, event);
        break;
    case RECORD_CANCELLED:
    case RECORD_FREED:
        fold_unfinished(tally, comm, event);
        break;
    default:
        break;
    }
}

void fold_fabric_event(const struct tally *tally, const struct event *event, const struct event_extension *more)
{
    switch (event_kind(event)) {
    case EVENT_FABRIC:
        fold_fabric(tally, event, more);
        break;
    case EVENT_FABRIC_AGAIN:
        fold_fabric_again(tally, event);
        break;
    case EVENT_FABRIC_DONE:
        fold_fabric_done(tally, event);
        break;
    case EVENT_FABRIC_POLLS:
        fold_fabric_polls(tally, event);
        break;
    default:
        break;
    }
}
