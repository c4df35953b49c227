/*
 * The fold: the only code that turns events into numbers.
 *
 * The recorder calls it for each event that it emits. The reader calls it for each event that it replays. So live
 * counters and a replayed trace are equal, cell for cell. The fold is pure: no clock, no allocation, no MPI, no lock.
 * The caller provides the communicator's cells, and in comm_tally.page the page of the event's peer.
 *
 * The records after a completion call (RECORD_*_DONE) use tally.end, .share and .remainder: the end of the call, and
 * their share of its time. The event of the call has just set these.
 *
 * With mpit_timing 0 calls are not timed. The begin of such a call is then the end of the last timed call, and its
 * duration is 0. A record of a message whose posting was not timed has begin 0. While a trace is kept every call is
 * timed, so a replay has timed calls alone.
 */
#ifndef MPIT_AGGREGATE_FOLD_H
#define MPIT_AGGREGATE_FOLD_H

#include "calls.h"
#include "figures/cells.h"
#include "format/event.h"

#include <stdbool.h>
#include <stddef.h>

/* The counters of one thread for a provider, and the levels that all threads change together. */
struct fabric_tally {
    struct fabric_cells *cells;                /* NULL: none */
    struct level_cells *pending, *pending_all; /* operations of the provider, and of all */
};

/* The counters of one thread, and the state that the fold keeps from a call to the records after it. */
struct tally {
    struct thread_cells *cells;
    uint64_t end;                   /* of the call */
    uint64_t share;                 /* of the call's time, for each request that it completed or started */
    uint64_t remainder;             /* for the first of them */
    bool concurrent;                /* several threads may be in MPI at once: shared cells need locked instructions */
    struct region_cells *region;    /* of the next event's region */
    struct counter_cells *counters; /* NULL: the thread has none */
    struct path_cells *path;        /* of the path of the last call. NULL: none is recorded */
    bool shared;                    /* one of these is set: */
    uint64_t stall_share;           /* of its stall, likewise */
    uint64_t stall_remainder;
    uint64_t fabric_share; /* of the call's time below MPI */
    uint64_t fabric_remainder;
    struct fabric_tally fabric; /* of the next event's provider */
    struct fabric_call_cells *fabric_calls;
    bool unseen; /* a copy on the stack of one thread: it needs no atomic stores */
};

/* The counters of one thread for one communicator. */
struct comm_tally {
    struct comm_cells *cells;
    struct shared_cells *shared;
    struct peer_cells *page; /* of the next event's peer */
    uint32_t page_number;
    uint32_t peers; /* size of the (remote) group */
};

#define FOLD static inline __attribute__((always_inline))

FOLD void cell_raise(uint64_t *cell, uint64_t value)
{
    if (value > COMPARED_LOAD(cell))
        cell_store(cell, value);
}

FOLD void cell_lower(uint64_t *cell, uint64_t value)
{
    if (value < COMPARED_LOAD(cell))
        cell_store(cell, value);
}

/* Another thread may say so at any time (book_share). */
FOLD bool tally_is_shared(const struct tally *tally)
{
    return COMPARED_LOAD(&tally->concurrent);
}

/* Out of line, only under MPI_THREAD_MULTIPLE. */
void level_change_locked(struct level_cells *level, uint64_t delta);

FOLD void level_add(bool concurrent, struct level_cells *level, uint64_t delta)
{
    if (__builtin_expect(concurrent, 0)) {
        level_change_locked(level, delta);
        return;
    }
    uint64_t now = cell_load(&level->now) + delta;
    cell_store(&level->now, now);
    cell_raise(&level->high, now);
}

FOLD void level_subtract(bool concurrent, struct level_cells *level, uint64_t delta)
{
    if (__builtin_expect(concurrent, 0)) {
        level_change_locked(level, -delta);
        return;
    }
    uint64_t now = cell_load(&level->now) - delta;
    cell_store(&level->now, now);
    cell_lower(&level->low, now);
}

FOLD bool event_is_message(const struct event *event)
{
    return event->peer >= 0 && !(event->kind & EVENT_FAILED);
}

FOLD void fold_span(struct comm_tally *comm, uint64_t begin, uint64_t end)
{
    cell_store(&comm->cells->span_last, end); /* first: a window that takes the begin then finds its end */
    cell_lower(&comm->cells->span_first, begin);
}

FOLD void fold_message(struct comm_tally *comm, const struct event *event, struct message_cells *by_size,
                       struct message_cells *by_peer)
{
    struct message_cells *size = &by_size[bucket_of(event->bytes)];
    if (event->kind & EVENT_LARGE) { /* first: mpit_small_count is the difference, and is never one too high */
        cell_add(&comm->cells->large, 1);
        cell_order(&comm->cells->large, &size->count);
    }
    cell_add(&size->count, 1);
    cell_add(&size->bytes, event->bytes);
    cell_add(&by_peer->count, 1);
    cell_add(&by_peer->bytes, event->bytes);
    cell_raise(&comm->cells->message_high, event->bytes);
    cell_lower(&comm->cells->message_low, event->bytes);
}

FOLD void fold_path_out(const struct tally *tally, uint64_t bytes)
{
    struct path_cells *path = tally->path;
    if (!path)
        return;
    cell_add(&path->sent, 1);
    cell_add(&path->bytes_out, bytes);
    cell_add(&path->small, bytes < PATH_SMALL_BYTES);
}

FOLD void fold_path_in(const struct tally *tally, uint64_t bytes)
{
    if (!tally->path)
        return;
    cell_add(&tally->path->received, 1);
    cell_add(&tally->path->bytes_in, bytes);
}

/* Bytes that are no message. */
FOLD void fold_path_bytes(const struct tally *tally, uint64_t out, uint64_t in)
{
    if (!tally->path)
        return;
    cell_add(&tally->path->bytes_out, out);
    cell_add(&tally->path->bytes_in, in);
}

/* Bytes of a window or a file. `kind`: of the call that began the transfer. */
FOLD void fold_accessed(const struct tally *tally, unsigned kind, uint64_t *cell, uint64_t bytes)
{
    bool reads = kind < CALL_COUNT && call_table[kind].reads;
    cell_add(cell, bytes);
    fold_path_bytes(tally, reads ? 0 : bytes, reads ? bytes : 0);
}

FOLD void fold_path_call(const struct tally *tally, uint64_t duration)
{
    struct path_cells *path = tally->path;
    if (!path)
        return;
    cell_add(&path->calls, 1);
    cell_add(&path->time, duration);
    cell_raise(&path->longest, duration);
}

/* A completion call that has completed nothing. */
FOLD void fold_path_empty(const struct tally *tally, const struct event *event)
{
    if (event->peer <= 0 && tally->path && call_table[event_kind(event)].tests)
        cell_add(&tally->path->empty, 1);
}

FOLD void fold_sent(const struct tally *tally, struct comm_tally *comm, const struct event *event)
{
    fold_path_out(tally, event->bytes);
    fold_message(comm, event, comm->cells->send, &comm->page->peer[(unsigned)event->peer % PEERS_PER_PAGE].send);
}

FOLD void fold_received(const struct tally *tally, struct comm_tally *comm, const struct event *event)
{
    fold_path_in(tally, event->bytes);
    fold_message(comm, event, comm->cells->recv, &comm->page->peer[(unsigned)event->peer % PEERS_PER_PAGE].recv);
}

FOLD void fold_transfer(struct comm_tally *comm, const struct event *event, uint64_t ticks)
{
    cell_add(&comm->cells->p2p_done, 1);
    cell_add(&comm->cells->transfer_time, ticks);
    if (event->kind & EVENT_TIMEOUT)
        cell_add(&comm->cells->timeouts, 1);
}

/* The time of an operation with a record for its posting: from there to the end of the call. */
FOLD uint64_t posted_ticks(const struct tally *tally, const struct event *event)
{
    return event->begin ? tally->end - event->begin : 0;
}

FOLD void fold_transfer_posted(const struct tally *tally, struct comm_tally *comm, const struct event *event)
{
    fold_transfer(comm, event, posted_ticks(tally, event));
}

/* Both messages of a call that sends and receives take its whole time. Without a begin it is not known. */
FOLD void fold_transfers_exchanged(const struct tally *tally, struct comm_tally *comm, uint64_t begin)
{
    cell_add(&comm->cells->p2p_done, 2);
    if (!begin)
        return;
    cell_add(&comm->cells->transfer_time, 2 * (tally->end - begin));
    fold_span(comm, begin, tally->end);
}

FOLD void fold_span_posted(const struct tally *tally, struct comm_tally *comm, const struct event *event)
{
    if (event->begin)
        fold_span(comm, event->begin, tally->end);
}

FOLD void fold_posted_send(const struct tally *tally, struct comm_tally *comm, const struct event *event)
{
    fold_sent(tally, comm, event);
    level_add(tally_is_shared(tally), &comm->shared->sends, 1);
    level_add(tally_is_shared(tally), &comm->shared->bytes, event->bytes);
}

FOLD void fold_collective(const struct tally *tally, struct comm_tally *comm, unsigned op, uint64_t in, uint64_t out,
                          uint64_t ticks)
{
    uint64_t bytes = in + out;
    fold_path_bytes(tally, in, out); /* put in by this process, and got out */
    cell_add(&comm->cells->coll_count[op], 1);
    cell_add(&comm->cells->coll_execution[op], ticks);
    cell_add(&comm->cells->coll_bytes, bytes);
    cell_add(&comm->cells->coll_size_count[bucket_of(bytes)], 1);
}

FOLD uint64_t event_bytes_out(const struct event *event, const struct event_extension *more)
{
    return (event->kind & EVENT_WIDE) && more ? more->bytes_out : (uint32_t)event->tag;
}

FOLD uint64_t fold_share(struct tally *tally)
{
    uint64_t share = tally->share + tally->remainder;
    tally->remainder = 0;
    return share;
}

/* The share of a call's time for a request that it completed. */
FOLD void fold_wait(struct tally *tally, struct comm_tally *comm)
{
    cell_add(&comm->cells->wait_time, fold_share(tally));
    if (__builtin_expect(tally->shared, 0)) {
        cell_add(&comm->cells->stall_time, tally->stall_share + tally->stall_remainder);
        cell_add(&comm->cells->fabric_time, tally->fabric_share + tally->fabric_remainder);
        tally->stall_remainder = tally->fabric_remainder = 0;
    }
}

/*
 * A call's own event. `shape` and `op` follow from its kind. They are arguments so that a wrapper can make them
 * constant.
 */
FOLD void fold_call(enum fold_shape shape, unsigned op, struct tally *tally, struct comm_tally *comm,
                    const struct event *event, const struct event_extension *more, bool timed)
{
    unsigned kind = event_kind(event);
    uint64_t duration = event_duration(event, more);
    uint64_t end = event->begin + duration;
    if (event->kind & EVENT_NESTED) { /* first: mpit_mpi_time is the difference, and is never too high */
        cell_add(&tally->cells->nested_time, duration);
        cell_order(&tally->cells->nested_time, &tally->cells->call_time[kind]);
    }
    cell_add(&tally->cells->call_count[kind], 1);
    cell_add(&tally->cells->call_time[kind], duration);
    fold_path_call(tally, duration);
    if (tally->unseen)
        tally->end = end;
    else
        cell_store(&tally->end, end);
    if (shape == FOLD_COMPLETION || shape == FOLD_START) {
        uint32_t requests = event->peer > 0 ? (uint32_t)event->peer : 1;
        tally->share = requests == 1 ? duration : duration / requests;
        tally->remainder = requests == 1 ? 0 : duration % requests;
        tally->shared = false;
        if (shape == FOLD_COMPLETION)
            fold_path_empty(tally, event);
        return;
    }
    if (shape == FOLD_CALL || !comm)
        return;
    switch (shape) {
    case FOLD_SEND:
    case FOLD_POST_SEND:
    case FOLD_RECV:
    case FOLD_POST_RECV:
    case FOLD_SENDRECV:
    case FOLD_P2P:
        cell_add(&comm->cells->p2p_time, duration);
        break;
    case FOLD_COLL:
    case FOLD_POST_COLL:
    case FOLD_COLL_INIT:
        cell_add(&comm->cells->coll_time[op], duration);
        break;
    case FOLD_RMA:
        cell_add(&comm->cells->rma_time, duration);
        if (!(event->kind & EVENT_FAILED))
            fold_accessed(tally, kind, &comm->cells->rma_bytes, event->bytes);
        return;
    case FOLD_IO:
        cell_add(&comm->cells->io_time, duration);
        if (!(event->kind & EVENT_FAILED))
            fold_accessed(tally, kind, &comm->cells->io_bytes, event->bytes);
        return;
    default:
        cell_add(&comm->cells->comm_time, duration);
        return;
    }
    if (shape == FOLD_P2P || shape == FOLD_COLL_INIT || (event->kind & EVENT_FAILED))
        return;
    if (shape == FOLD_POST_RECV) {
        if (event->peer == PEER_PROC_NULL)
            return;
        level_add(tally_is_shared(tally), &comm->shared->recvs, 1);
    } else if (shape == FOLD_COLL) {
        fold_collective(tally, comm, op, event->bytes, event_bytes_out(event, more), duration);
    } else if (shape != FOLD_POST_COLL) {
        if (event->peer < 0)
            return; /* MPI_PROC_NULL: a call without a message */
        if (shape == FOLD_RECV)
            fold_received(tally, comm, event);
        else if (shape == FOLD_POST_SEND)
            fold_posted_send(tally, comm, event);
        else
            fold_sent(tally, comm, event);
        if (shape != FOLD_POST_SEND)
            fold_transfer(comm, event, duration);
    }
    if (timed)
        fold_span(comm, event->begin, end);
}

/* The call completed requests of one communicator alone. They share its whole time. */
FOLD void fold_wait_whole(struct comm_tally *comm, uint64_t duration)
{
    cell_add(&comm->cells->wait_time, duration);
}

/* The records of messages that have ended, without their share of the call's time. */
FOLD void fold_send_ended(const struct tally *tally, struct comm_tally *comm, const struct event *event)
{
    if (event->peer < 0)
        return;
    level_subtract(tally_is_shared(tally), &comm->shared->sends, 1);
    level_subtract(tally_is_shared(tally), &comm->shared->bytes, event->bytes);
    if (!(event->kind & EVENT_FAILED))
        fold_transfer_posted(tally, comm, event);
    fold_span_posted(tally, comm, event);
}

FOLD void fold_recv_ended(const struct tally *tally, struct comm_tally *comm, const struct event *event)
{
    if (event->peer == PEER_PROC_NULL)
        return;
    level_subtract(tally_is_shared(tally), &comm->shared->recvs, 1);
    if (event_is_message(event)) {
        fold_received(tally, comm, event);
        fold_transfer_posted(tally, comm, event);
    }
    fold_span_posted(tally, comm, event);
}

/* The same with their share. */
FOLD void fold_send_done(struct tally *tally, struct comm_tally *comm, const struct event *event)
{
    fold_wait(tally, comm);
    fold_send_ended(tally, comm, event);
}

FOLD void fold_recv_done(struct tally *tally, struct comm_tally *comm, const struct event *event)
{
    fold_wait(tally, comm);
    fold_recv_ended(tally, comm, event);
}

/* The receiving half of a call that sends and receives. */
FOLD void fold_receive(struct tally *tally, struct comm_tally *comm, const struct event *event)
{
    if (event_is_message(event)) {
        fold_received(tally, comm, event);
        fold_transfer_posted(tally, comm, event);
        fold_span_posted(tally, comm, event);
    }
}

FOLD void fold_send_posted(struct tally *tally, struct comm_tally *comm, const struct event *event)
{
    cell_add(&comm->cells->p2p_time, fold_share(tally));
    if (event->peer < 0)
        return;
    fold_posted_send(tally, comm, event);
    fold_span_posted(tally, comm, event);
}

FOLD void fold_recv_posted(struct tally *tally, struct comm_tally *comm, const struct event *event)
{
    cell_add(&comm->cells->p2p_time, fold_share(tally));
    if (event->peer == PEER_PROC_NULL)
        return;
    level_add(tally_is_shared(tally), &comm->shared->recvs, 1);
    fold_span_posted(tally, comm, event);
}

FOLD void fold_coll_posted(struct tally *tally, struct comm_tally *comm, const struct event *event)
{
    if (event->duration < CALL_COUNT)
        cell_add(&comm->cells->coll_time[call_table[event->duration].op], fold_share(tally));
    fold_span_posted(tally, comm, event);
}

FOLD void fold_coll_done(struct tally *tally, struct comm_tally *comm, const struct event *event,
                         const struct event_extension *more)
{
    fold_wait(tally, comm);
    if (!(event->kind & EVENT_FAILED) && event->duration < CALL_COUNT)
        fold_collective(tally, comm, call_table[event->duration].op, event->bytes, event_bytes_out(event, more),
                        posted_ticks(tally, event));
    fold_span_posted(tally, comm, event);
}

/* A request on a file. Its bytes are known when it is complete. */
FOLD void fold_transferred(struct tally *tally, struct comm_tally *comm, const struct event *event)
{
    fold_wait(tally, comm);
    if (!(event->kind & EVENT_FAILED))
        fold_accessed(tally, event->duration, &comm->cells->io_bytes, event->bytes);
}

/* A region of another library that was left. */
FOLD void fold_region(struct region_cells *region, const struct event *event, const struct event_extension *more)
{
    cell_add(&region->count, 1);
    if (event->kind & EVENT_NESTED)
        return;
    cell_add(&region->time, event_duration(event, more));
    if ((event->kind & (EVENT_CALLS | EVENT_WIDE)) != (EVENT_CALLS | EVENT_WIDE))
        return;
    cell_add(&region->calls, (uint64_t)more->reserved << 32 | (uint32_t)event->tag);
    cell_add(&region->mpi_time, event->bytes);
    cell_add(&region->stall_time, more->bytes_out);
    cell_add(&region->off_time, more->bytes_high);
}

/* A completion call that is not recorded. The records after it have its end and no share of its time. */
FOLD void fold_passed(struct tally *tally, const struct event *event)
{
    cell_store(&tally->end, event->begin);
    tally->share = tally->remainder = 0;
    tally->shared = false;
}

/* The kind of the call, for a record after it. */
FOLD unsigned called_kind(const struct event *event)
{
    return event->duration < CALL_COUNT ? event->duration : CALL_NONE;
}

/* The stalled part of a call. The recorder does this before it applies the call: mpit_work_time is the difference,
 * and is never too high. */
FOLD void fold_stall_time(const struct tally *tally, const struct event *event)
{
    struct thread_cells *cells = tally->cells;
    unsigned kind = called_kind(event);
    if (tally->path)
        cell_add(&tally->path->stall_time, event->bytes);
    cell_add(&cells->stall_time[stall_reason(&call_table[kind])], event->bytes);
    cell_add(&cells->call_stall_time[kind], event->bytes);
    cell_order(&cells->call_stall_time[kind], &cells->call_time[kind]);
}

/* And this after the call. If a call completes requests, their records take their shares. */
FOLD void fold_stall_share(struct tally *tally, struct comm_tally *comm, const struct event *event)
{
    const struct call_description *call = &call_table[called_kind(event)];
    uint64_t ticks = event->bytes;
    if (call->fold == FOLD_COMPLETION || call->fold == FOLD_START) {
        uint32_t requests = event->peer > 0 ? (uint32_t)event->peer : 1;
        tally->shared = true;
        tally->stall_share = ticks / requests;
        tally->stall_remainder = ticks % requests;
        tally->fabric_share = tally->fabric_remainder = 0;
    } else if (comm) {
        cell_add(&comm->cells->stall_time, ticks);
    }
}

/* ---- the libraries below MPI (tally.fabric is of the event's provider) ------------------------------------------- */

FOLD void fold_fabric_level(const struct tally *tally, uint64_t up, uint64_t down)
{
    struct level_cells *const levels[] = {tally->fabric.pending, tally->fabric.pending_all};
    for (unsigned i = 0; i < 2; i++) {
        if (levels[i] && up)
            level_add(tally_is_shared(tally), levels[i], up);
        else if (levels[i])
            level_subtract(tally_is_shared(tally), levels[i], down);
    }
}

/* An operation has begun. */
FOLD void fold_fabric(const struct tally *tally, const struct event *event, const struct event_extension *more)
{
    struct fabric_cells *cells = tally->fabric.cells;
    unsigned function = (unsigned)event->tag % FABRIC_FUNCTION_COUNT;
    uint64_t duration = event_duration(event, more);
    if (!(event->kind & EVENT_NESTED))
        cell_add(&cells->time, duration);
    cell_add(&cells->function[function].time, duration);
    if (event->kind & EVENT_FAILED) {
        cell_add(&cells->errors, 1);
        return;
    }
    cell_add(&cells->function[function].count, 1);
    cell_add(&cells->function[function].bytes, event->bytes);
    cell_add(&cells->kind[fabric_table[function].kind].count, 1);
    cell_add(&cells->kind[fabric_table[function].kind].bytes, event->bytes);
    if (event->kind & EVENT_PENDING) {
        cell_add(&cells->started, 1);
        fold_fabric_level(tally, 1, 0);
    }
}

FOLD void fold_fabric_again(const struct tally *tally, const struct event *event)
{
    struct fabric_cells *cells = tally->fabric.cells;
    cell_add(&cells->again, event->duration);
    if (!(event->kind & EVENT_NESTED))
        cell_add(&cells->time, event->bytes);
    cell_add(&cells->function[(unsigned)event->tag % FABRIC_FUNCTION_COUNT].time, event->bytes);
}

FOLD void fold_fabric_done(const struct tally *tally, const struct event *event)
{
    struct fabric_cells *cells = tally->fabric.cells;
    cell_add(&cells->errors, (uint32_t)event->tag);
    cell_add(&cells->completed, event->duration);
    fold_fabric_level(tally, 0, event->duration);
}

FOLD void fold_fabric_polls(const struct tally *tally, const struct event *event)
{
    struct fabric_cells *cells = tally->fabric.cells;
    cell_add(&cells->polls, event->duration);
    cell_add(&cells->empty_polls, (uint32_t)event->tag);
    cell_add(&cells->poll_time, event->bytes);
    cell_add(&cells->time, event->bytes);
}

/* After a call: the part of its time below MPI. */
FOLD void fold_fabric_call(struct tally *tally, struct comm_tally *comm, const struct event *event)
{
    const struct call_description *call = &call_table[called_kind(event)];
    uint64_t ticks = event->bytes;
    cell_add(&tally->fabric_calls->time[called_kind(event)], ticks);
    cell_add(&tally->fabric_calls->other, (uint32_t)event->tag);
    if (call->fold == FOLD_COMPLETION || call->fold == FOLD_START) {
        uint32_t requests = event->peer > 0 ? (uint32_t)event->peer : 1;
        if (!tally->shared)
            tally->stall_share = tally->stall_remainder = 0;
        tally->shared = true;
        tally->fabric_share = ticks / requests;
        tally->fabric_remainder = ticks % requests;
    } else if (comm) {
        cell_add(&comm->cells->fabric_time, ticks);
    }
}

FOLD void fold_transfers(struct comm_tally *comm, const struct event *event)
{
    cell_add(&comm->cells->transfers, (uint32_t)event->tag);
    cell_add(&comm->cells->transfer_span, event->bytes);
}

/* Any event of these libraries between calls. */
void fold_fabric_event(const struct tally *tally, const struct event *event, const struct event_extension *more);

/* The count of a counter in a call, and outside before it. */
FOLD void fold_counter(struct tally *tally, const struct event *event)
{
    unsigned counter = counter_of(event), kind = counter_call(event);
    if (!tally->counters || counter >= COUNTER_COUNT)
        return;
    cell_add(&tally->counters->count[counter][PLACE_OUTSIDE], counter_outside(event));
    if (kind != CALL_NONE)
        cell_add(&tally->counters->count[counter][counter_place_of(kind)], event->bytes);
}

/* Any of the less frequent records after a call. */
void fold_record(struct tally *tally, struct comm_tally *comm, const struct event *event,
                 const struct event_extension *more);

/* Any event of the stream. `more` is the extension after it, if event.kind says that there is one. */
static inline void fold(struct tally *tally, struct comm_tally *comm, const struct event *event,
                        const struct event_extension *more)
{
    unsigned kind = event_kind(event);
    if (kind < CALL_COUNT)
        fold_call(call_table[kind].fold, call_table[kind].op, tally, comm, event, more, true);
    else if (kind == RECORD_STALL) {
        fold_stall_time(tally, event);
        fold_stall_share(tally, comm, event);
    } else if (kind == RECORD_COUNTER)
        fold_counter(tally, event);
    else if (kind == EVENT_PASSED)
        fold_passed(tally, event);
    else if (kind == EVENT_REGION && tally->region)
        fold_region(tally->region, event, more);
    else if (kind == RECORD_FABRIC && tally->fabric_calls)
        fold_fabric_call(tally, comm, event);
    else if (kind == RECORD_TRANSFERS && comm)
        fold_transfers(comm, event);
    else if (EVENT_KIND_IS_FABRIC(kind) && tally->fabric.cells)
        fold_fabric_event(tally, event, more);
    else if (comm && kind < RECORD_END)
        fold_record(tally, comm, event, more);
}

#endif
