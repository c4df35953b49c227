/*
 * The calls that programs make most: MPI_Send, MPI_Recv, MPI_Sendrecv, MPI_Isend, MPI_Irecv, MPI_Wait, MPI_Waitall. The
 * hot case of nearly all such calls is here, in as few instructions as possible.
 *
 *     before the call   The thread has a log and is in no other call. Its last call was on the same communicator, or
 *                       its request is the first in its bucket.
 *     after the call    It succeeded and did not take long. Its peer is a rank. Its message is not large.
 *
 * If a condition before the call fails, the call goes to the body of the wrapper. If a condition after it fails, it
 * goes to that body's leave. Both do all that is done here, and the rest. So only speed is lost. A listener sets
 * knob_rare_ticks to 0, so each call takes long. A call that is not recorded as usual does not come here, nor does any
 * call while threads run at once or while the clock is not the processor's counter (switchboard.h). A thread may open a
 * session while a call of another thread is here. So the leave of a call on requests asks whether threads run at once.
 * Messages without requests have no part in what threads share. With mpit_timing 0 a call on one message comes here, and
 * reads no clock. `timed` is a constant.
 */
#ifndef MPIT_PROBES_HOT_H
#define MPIT_PROBES_HOT_H

#include "requests/completion.h"
#include "requests/ending.h"
#include "wrappers/completing.h"
#include "wrappers/message.h"
#include "wrappers/posting.h"

/* Stays in registers. */
struct hot {
    bool timed;
    struct log *log;
    struct view *view;
    uint64_t begin;          /* 0: it is not timed */
    uint64_t saved;          /* in a wait: the handle before the call, */
    struct request *request; /* and its request */
};

HOT void hot_begin(struct hot *hot, enum call kind, uint32_t comm, int32_t peer)
{
    stall_call_begin(&hot->log->stall);
    path_enter(hot->log, kind, wrapper_called());
    hot->begin = hot->timed ? clock_counter() : 0;
    if (hot->timed)
        computation_end(hot->log, hot->begin);
    state_set(hot->log->state, kind, comm, peer, hot->begin);
}

/* Enters a call on a communicator. False: the call must take the body. */
HOT bool hot_enter(struct hot *hot, enum call kind, MPI_Comm comm, int32_t peer)
{
    struct log *log = hot->log = thread_log_or_none;
    if (!log_in_usually(log))
        return false;
    if (__builtin_expect(COMPARED_LOAD(&log->own.last.handle) != abi_handle_of_comm(comm), 0))
        return log_out(log, 0), false;
    hot->view = log->own.last.view;
    hot_begin(hot, kind, hot->view->slot, peer);
    return true;
}

HOT bool hot_enter_to(struct hot *hot, enum call kind, MPI_Comm comm, int dest)
{
    return __builtin_expect(dest >= 0, 1) && hot_enter(hot, kind, comm, dest);
}

HOT bool hot_enter_from(struct hot *hot, enum call kind, MPI_Comm comm, int source)
{
    if (__builtin_expect(source >= 0, 1))
        return hot_enter(hot, kind, comm, source);
    return source == MPI_ANY_SOURCE && hot_enter(hot, kind, comm, PEER_ANY);
}

/* Returns the bytes of data of a call that succeeded, so its count is not negative. False: not a predefined type. */
HOT bool hot_bytes(struct log *log, int64_t count, MPI_Datatype type, uint64_t *bytes)
{
#if ABI_HANDLES_ARE_SYMBOLS /* then the size is in a table */
    uint32_t size = log->type.bytes;
    if (__builtin_expect(log->type.handle != type, 0)) {
        if (!abi_type_size(type, &size))
            return false;
        log->type.handle = type;
        log->type.bytes = size;
    }
#else
    uint32_t size;
    (void)log;
    if (__builtin_expect(!abi_type_size(type, &size), 0))
        return false;
#endif
    *bytes = (uint64_t)count * size;
    return true;
}

/* Folds and keeps the event. False: the call took long, and nothing was done. */
HOT bool hot_leave(const struct hot *hot, enum fold_shape shape, struct event event)
{
    struct log *log = hot->log;
    struct tally tally = tally_unseen(log);
    uint64_t duration = hot->timed ? clock_counter() - hot->begin : 0;
    bool large = shape == FOLD_POST_RECV && !event_bytes_fit(event.bytes);
    if (__builtin_expect(duration >= COMPARED_LOAD(&knob_rare_ticks) || log->stall.returns || large, 0))
        return false;
    event.begin = hot->timed ? hot->begin : cell_load(&log->own.tally.end);
    event.duration = (uint32_t)duration;
    event.comm = (uint16_t)hot->view->slot;
    fold_call(shape, 0, &tally, &hot->view->tally, &event, NULL, hot->timed);
    cell_store(&log->own.tally.end, tally.end);
    log_commit_call(log, &event);
    RELAXED_STORE(&log->state->call, CALL_NONE);
    return true;
}

/* Returns a probe for the leave of the body, as if the call had entered there. */
HOT struct probe hot_probe(const struct hot *hot)
{
    return (struct probe){
        .log = hot->log, .begin = hot->begin, .view = hot->view, .mode = hot->timed ? 0 : MODE_UNTIMED};
}

#define COLD static __attribute__((noinline))

/* ---- blocking messages ------------------------------------------------------------------------------------------- */

COLD void hot_sent_cold(struct hot hot, enum call kind, MPI_Comm comm, int result, int dest, int tag, int64_t count,
                        MPI_Datatype type)
{
    struct probe probe = hot_probe(&hot);
    leave_send(&probe, kind, comm, result, dest, tag, count, type);
}

HOT void hot_leave_send(const struct hot *hot, enum call kind, MPI_Comm comm, int result, int dest, int tag,
                        int64_t count, MPI_Datatype type)
{
    struct event event = {.kind = (uint16_t)kind, .peer = dest, .tag = tag};
    bool plain =
        result == MPI_SUCCESS && hot_bytes(hot->log, count, type, &event.bytes) && bytes_are_small(event.bytes);
    if (__builtin_expect(plain, 1))
        view_page_select(hot->view, dest);
    if (__builtin_expect(!plain, 0) || !hot_leave(hot, FOLD_SEND, event))
        hot_sent_cold(*hot, kind, comm, result, dest, tag, count, type);
}

COLD void hot_received_cold(struct hot hot, enum call kind, MPI_Comm comm, int result, int source, int64_t count,
                            MPI_Datatype type, const MPI_Status *status)
{
    struct probe probe = hot_probe(&hot);
    leave_recv(&probe, kind, comm, result, source, count, type, status);
}

/* Leaves a receive that succeeded. After a failed call the status may be invalid. */
HOT bool hot_received(const struct hot *hot, enum call kind, const MPI_Status *status)
{
    struct event event = {.kind = (uint16_t)kind, .peer = status->MPI_SOURCE, .tag = status->MPI_TAG};
    event.bytes = abi_status_bytes(status);
    if (__builtin_expect(event.peer < 0 || !bytes_are_small(event.bytes), 0))
        return false;
    view_page_select(hot->view, event.peer);
    return hot_leave(hot, FOLD_RECV, event);
}

HOT void hot_leave_recv(const struct hot *hot, enum call kind, MPI_Comm comm, int result, int source, int64_t count,
                        MPI_Datatype type, const MPI_Status *status)
{
    if (__builtin_expect(result != MPI_SUCCESS, 0) || !hot_received(hot, kind, status))
        hot_received_cold(*hot, kind, comm, result, source, count, type, status);
}

COLD void hot_exchanged_cold(struct hot hot, enum call kind, MPI_Comm comm, int result, int dest, int tag,
                             int64_t count, MPI_Datatype type, int source, int64_t recvcount, MPI_Datatype recvtype,
                             const MPI_Status *status)
{
    struct probe probe = hot_probe(&hot);
    leave_sendrecv(&probe, kind, comm, result, dest, tag, count, type, source, recvcount, recvtype, status);
}

/* Both messages in one go. False: nothing was done. */
HOT bool hot_exchanged(const struct hot *hot, enum call kind, int dest, int tag, int64_t count, MPI_Datatype type,
                       const MPI_Status *status)
{
    struct log *log = hot->log;
    struct view *view = hot->view;
    struct event sent = {.kind = (uint16_t)kind, .peer = dest, .tag = tag};
    struct event received = {
        .kind = RECORD_RECEIVE, .peer = status->MPI_SOURCE, .tag = status->MPI_TAG, .bytes = abi_status_bytes(status)};
    if (__builtin_expect(!hot_bytes(log, count, type, &sent.bytes) || !bytes_are_small(sent.bytes) ||
                             received.peer < 0 || !bytes_are_small(received.bytes),
                         0))
        return false;
    uint64_t duration = clock_counter() - hot->begin;
    if (__builtin_expect(duration >= COMPARED_LOAD(&knob_rare_ticks) || log->stall.returns, 0))
        return false;
    if (hot->begin == 0) /* for the compiler: a call that is timed has begun */
        __builtin_unreachable();
    struct tally tally = tally_unseen(log);
    sent.begin = received.begin = hot->begin;
    sent.duration = (uint32_t)duration;
    sent.comm = received.comm = (uint16_t)view->slot;
    fold_call(FOLD_P2P, 0, &tally, &view->tally, &sent, NULL, true);
    view_page_select(view, dest);
    fold_sent(&tally, &view->tally, &sent);
    view_page_select(view, received.peer);
    fold_received(&tally, &view->tally, &received);
    fold_transfers_exchanged(&tally, &view->tally, hot->begin);
    cell_store(&log->own.tally.end, tally.end);
    log_commit_two(log, &sent, &received);
    RELAXED_STORE(&log->state->partner, 0);
    RELAXED_STORE(&log->state->call, CALL_NONE);
    return true;
}

HOT void hot_leave_sendrecv(const struct hot *hot, enum call kind, MPI_Comm comm, int result, int dest, int tag,
                            int64_t count, MPI_Datatype type, int source, int64_t recvcount, MPI_Datatype recvtype,
                            const MPI_Status *status)
{
    if (__builtin_expect(result != MPI_SUCCESS, 0) || !hot_exchanged(hot, kind, dest, tag, count, type, status))
        hot_exchanged_cold(*hot, kind, comm, result, dest, tag, count, type, source, recvcount, recvtype, status);
}

HOT bool hot_enter_sendrecv(struct hot *hot, enum call kind, MPI_Comm comm, int dest, int source)
{
    if (__builtin_expect(dest < 0, 0) || !hot_enter_from(hot, kind, comm, source))
        return false;
    RELAXED_STORE(&hot->log->state->partner, dest + 1);
    return true;
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

/* Leaves a call that has posted a message, and puts the message into the table. False: nothing was done. */
HOT bool hot_posted(const struct hot *hot, enum fold_shape shape, enum request_type type, struct event event,
                    const MPI_Request *where)
{
    struct request *request = request_table.spare, **bucket;
    if (__builtin_expect(!request || book_is_shared(), 0)) /* a session may have come during the call */
        return false;
    if (shape == FOLD_POST_SEND)
        view_page_select(hot->view, event.peer);
    if (!hot_leave(hot, shape, event))
        return false;
    request_table.spare = request->next;
    request->posted.begin = hot->begin;
    request->posted.duration = event.kind;
    request->posted.kind = shape == FOLD_POST_SEND ? RECORD_SEND_DONE : RECORD_RECV_DONE;
    request->posted.comm = (uint16_t)hot->view->slot;
    request->posted.peer = event.peer;
    request->posted.tag = event.tag;
    request->posted.bytes = event.bytes;
    request->where = where;
    request->path = hot->log->path->number;
    request->plain = type;
    request->chain = 0;
    __atomic_signal_fence(__ATOMIC_SEQ_CST); /* for request_pending_visit */
    request->handle = abi_handle_of_request(*where);
    bucket = request_bucket(request->handle);
    if (__builtin_expect(*bucket == NULL, 1))
        *bucket = request;
    else if (request_link(hot->log, request))
        displaced_record(hot->log);
    return true;
}

COLD void hot_isent_cold(struct hot hot, enum call kind, MPI_Comm comm, int result, int dest, int tag, int64_t count,
                         MPI_Datatype type, const MPI_Request *request)
{
    struct probe probe = hot_probe(&hot);
    leave_isend(&probe, kind, comm, result, dest, tag, count, type, request);
}

HOT void hot_leave_isend(const struct hot *hot, enum call kind, MPI_Comm comm, int result, int dest, int tag,
                         int64_t count, MPI_Datatype type, const MPI_Request *request)
{
    struct event event = {.kind = (uint16_t)kind, .peer = dest, .tag = tag};
    if (__builtin_expect(result != MPI_SUCCESS || !hot_bytes(hot->log, count, type, &event.bytes) ||
                             !bytes_are_small(event.bytes),
                         0) ||
        !hot_posted(hot, FOLD_POST_SEND, REQUEST_SEND, event, request))
        hot_isent_cold(*hot, kind, comm, result, dest, tag, count, type, request);
}

COLD void hot_ireceived_cold(struct hot hot, enum call kind, MPI_Comm comm, int result, int source, int tag,
                             int64_t count, MPI_Datatype type, const MPI_Request *request)
{
    struct probe probe = hot_probe(&hot);
    leave_irecv(&probe, kind, comm, result, source, tag, count, type, request);
}

HOT void hot_leave_irecv(const struct hot *hot, enum call kind, MPI_Comm comm, int result, int source, int tag,
                         int64_t count, MPI_Datatype type, const MPI_Request *request)
{
    struct event event = {.kind = (uint16_t)kind, .peer = source >= 0 ? source : PEER_ANY, .tag = tag};
    if (__builtin_expect(result != MPI_SUCCESS || !hot_bytes(hot->log, count, type, &event.bytes), 0) ||
        !hot_posted(hot, FOLD_POST_RECV, REQUEST_RECV, event, request))
        hot_ireceived_cold(*hot, kind, comm, result, source, tag, count, type, request);
}

/* ---- completion -------------------------------------------------------------------------------------------------- */

/* Enters a wait. False: the call must take the body. */
HOT bool hot_enter_wait(struct hot *hot, enum call kind, const MPI_Request *request)
{
    struct log *log = hot->log = thread_log_or_none;
    if (__builtin_expect(!request, 0) || !log_in_usually(log))
        return false;
    hot->saved = abi_handle_of_request(*request);
    hot->request = *request_bucket(hot->saved);
    if (__builtin_expect(!hot->request || hot->request->handle != hot->saved, 0))
        return log_out(log, 0), false;
    hot_begin(hot, kind, 0, PEER_NONE);
    return true;
}

/* True if this is the request of that handle and variable, the only one in its bucket, and a message that was posted
 * once. */
HOT bool hot_is_plain(const struct request *request, uint64_t handle, const MPI_Request *where)
{
    return __builtin_expect(
        request->handle == handle && request_is_plain(request) && (request->where == where || !request_table.crowd), 1);
}

/* Frees a request that is the only one in its bucket. */
HOT void hot_release(struct request **bucket, struct request *request)
{
    *bucket = NULL;
    request->handle = 0;
    request->next = request_table.spare;
    request_table.spare = request;
}

/* Leaves a wait for a message. False: nothing was done. */
HOT bool hot_waited(const struct hot *hot, enum call kind, const MPI_Request *where, const MPI_Status *status)
{
    struct log *log = hot->log;
    struct request *request = hot->request, **bucket = request_bucket(hot->saved);
    struct tally tally = tally_unseen(log);
    if (__builtin_expect(*bucket != request || log->stall.returns || book_is_shared(), 0) ||
        !hot_is_plain(request, hot->saved, where))
        return false;
    uint64_t end = hot->timed ? clock_counter() : 0, posted = request->posted.begin;
    if (__builtin_expect(hot->timed ? end - posted >= COMPARED_LOAD(&knob_rare_ticks)
                                    : posted != 0 || COMPARED_LOAD(&knob_rare_ticks) == 0,
                         0))
        return false;
    if (hot->timed && posted == 0) /* for the compiler: a message that was not timed was posted too long ago */
        __builtin_unreachable();
    struct event call = {.begin = hot->timed ? hot->begin : cell_load(&log->own.tally.end),
                         .duration = (uint32_t)(end - hot->begin),
                         .kind = (uint16_t)kind,
                         .peer = 1,
                         .tag = 1};
    struct event done = request->posted;
    struct view *view = done.comm < log->own.view_count ? log->own.views[done.comm] : NULL;
    if (__builtin_expect(!view || log->limit - log->cursor < 3, 0))
        return false;
    if (request->type == REQUEST_SEND) {
        fold_call(FOLD_COMPLETION, 0, &tally, NULL, &call, NULL, hot->timed);
        fold_send_done(&tally, &view->tally, &done);
    } else {
        done.peer = status->MPI_SOURCE;
        done.tag = status->MPI_TAG;
        done.bytes = abi_status_bytes(status);
        if (__builtin_expect(done.peer < 0 || abi_status_cancelled(status) || !bytes_are_small(done.bytes), 0))
            return false;
        done.kind = RECORD_RECV_DONE; /* for the compiler */
        view_page_select(view, done.peer);
        fold_call(FOLD_COMPLETION, 0, &tally, NULL, &call, NULL, hot->timed);
        fold_recv_done(&tally, &view->tally, &done);
    }
    cell_store(&log->own.tally.end, tally.end);
    event_store_call(log, &log->cursor[0], &call);
    event_store_end(&log->cursor[1], &request->posted, done.peer, done.tag, done.bytes);
    log->cursor += 2;
    events_count(log->own.tally.cells, 2);
    hot_release(bucket, request);
    RELAXED_STORE(&log->state->call, CALL_NONE);
    return true;
}

COLD void hot_waited_cold(struct hot hot, enum call kind, MPI_Request *request, int result, const MPI_Status *status)
{
    struct probe probe = hot_probe(&hot);
    probe.view = NULL;
    single_leave(&probe, kind, request, hot.saved, LEFT_THERE, result, true, status);
}

HOT void hot_leave_wait(const struct hot *hot, enum call kind, MPI_Request *request, int result,
                        const MPI_Status *status)
{
    if (__builtin_expect(result != MPI_SUCCESS, 0) || !hot_waited(hot, kind, request, status))
        hot_waited_cold(*hot, kind, request, result, status);
}

/* The arrays of a call on several requests. A call on more takes the body. */
enum { HOT_MOST = 32 };
struct hot_many {
    uint64_t saved[HOT_MOST];        /* the handles before the call */
    struct request *taken[HOT_MOST]; /* their requests, out of the table */
    MPI_Status statuses[HOT_MOST];   /* in place of MPI_STATUSES_IGNORE */
    struct request *done[HOT_MOST];  /* for hot_all_cold: as in struct completion */
    const MPI_Status *status[HOT_MOST];
};

_Static_assert(HOT_MOST + 1 <= RING_SPARE, "readers leave out records that may be half written");

HOT bool hot_enter_waitall(struct hot *hot, struct hot_many *many, enum call kind, int count,
                           const MPI_Request *requests)
{
    hot->log = thread_log_or_none;
    if (__builtin_expect((unsigned)count - 1 >= HOT_MOST || !requests, 0) || !log_in_usually(hot->log))
        return false;
    for (int i = 0; i < count; i++)
        many->saved[i] = abi_handle_of_request(requests[i]);
    hot_begin(hot, kind, 0, PEER_NONE);
    return true;
}

/* `end`: when the call returned, and its requests were taken out of the table. 0: they are in the table, and the end is not known. */
COLD void hot_all_cold(struct hot hot, enum call kind, int count, MPI_Request *requests, struct hot_many *many,
                       uint64_t end, int result, const MPI_Status *statuses)
{
    struct completion c = {.probe = hot_probe(&hot),
                           .kind = kind,
                           .count = count,
                           .handles = requests,
                           .saved = many->saved,
                           .taken = end ? many->taken : NULL,
                           .done = many->done,
                           .status = many->status};
    completion_flush_all(&c, result, statuses_known(statuses), end);
}

/* True if the message of a receive is not large, and was not canceled. */
HOT bool hot_arrived(const MPI_Status *status)
{
    return status->MPI_SOURCE >= 0 && !abi_status_cancelled(status) && bytes_are_small(abi_status_bytes(status));
}

/* Takes all requests out of the table. Returns whether all are messages on one communicator that ended in the usual
 * way. */
HOT bool hot_all_taken(struct hot_many *many, uint64_t end, int count, const MPI_Request *requests,
                       const MPI_Status *statuses)
{
    bool usual = true;
    unsigned comm = 0;
    for (int i = 0; i < count; i++) {
        uint64_t handle = many->saved[i];
        struct request **bucket = request_bucket(handle), *request = *bucket;
        if (request && hot_is_plain(request, handle, &requests[i])) {
            *bucket = NULL;
            request->handle = 0;
        } else {
            request = request_take(handle, &requests[i]);
        }
        many->taken[i] = request;
        if (__builtin_expect(!request || (request->plain & ~1u), 0)) {
            usual = false;
            continue;
        }
        if (__builtin_expect(request->posted.comm != comm, 0)) {
            usual = usual && !comm;
            comm = request->posted.comm;
        }
        if (__builtin_expect(end - request->posted.begin >= COMPARED_LOAD(&knob_rare_ticks), 0) ||
            (request->type == REQUEST_RECV && __builtin_expect(!hot_arrived(&statuses[i]), 0)))
            usual = false;
    }
    return usual;
}

/* Folds and writes the record of a message, without its share of the call's time, and frees its request. */
HOT void hot_message_ended(const struct log *log, struct view *view, uint64_t end, struct event *at,
                           struct request *request, const MPI_Status *status)
{
    const struct tally tally = {.end = end, .path = log->path->cells};
    struct event done = request->posted;
    if (done.begin == 0) /* for the compiler: a message that was not timed was posted too long ago */
        __builtin_unreachable();
    if (request->type == REQUEST_SEND) {
        done.kind = RECORD_SEND_DONE; /* for the compiler */
        fold_send_ended(&tally, &view->tally, &done);
    } else {
        done.kind = RECORD_RECV_DONE;
        done.peer = status->MPI_SOURCE;
        done.tag = status->MPI_TAG;
        done.bytes = abi_status_bytes(status);
        if (!bytes_are_small(done.bytes) || done.peer < 0) /* for the compiler: hot_all_taken has asked */
            __builtin_unreachable();
        view_page_select(view, done.peer);
        fold_recv_ended(&tally, &view->tally, &done);
    }
    event_store_end(at, &request->posted, done.peer, done.tag, done.bytes);
    request->next = request_table.spare;
    request_table.spare = request;
}

/* Leaves a call whose requests are taken, and are messages. */
HOT void hot_all_waited(const struct hot *hot, const struct hot_many *many, enum call kind, int count,
                        uint64_t duration, struct view *view, const MPI_Status *statuses)
{
    struct log *log = hot->log;
    struct event *first = log->cursor + 1;
    struct tally tally = tally_unseen(log);
    struct event call = {
        .begin = hot->begin, .duration = (uint32_t)duration, .kind = (uint16_t)kind, .peer = count, .tag = count};
    fold_call(FOLD_COMPLETION, 0, &tally, NULL, &call, NULL, true);
    cell_store(&log->own.tally.end, tally.end);
    event_store_call(log, log->cursor, &call);
    fold_wait_whole(&view->tally, duration);
    for (int i = 0; i < count; i++)
        hot_message_ended(log, view, tally.end, &first[i], many->taken[i], &statuses[i]);
    log->cursor += count + 1;
    events_count(log->own.tally.cells, (unsigned)count + 1);
    RELAXED_STORE(&log->state->call, CALL_NONE);
}

HOT void hot_leave_waitall(const struct hot *hot, struct hot_many *many, enum call kind, int count,
                           MPI_Request *requests, int result, const MPI_Status *statuses)
{
    struct log *log = hot->log;
    if (__builtin_expect(result != MPI_SUCCESS || log->stall.returns || book_is_shared() ||
                             log->cursor + count + 1 >= log->limit,
                         0)) {
        hot_all_cold(*hot, kind, count, requests, many, 0, result, statuses);
        return;
    }
    uint64_t end = clock_counter(), duration = end - hot->begin;
    bool usual = hot_all_taken(many, end, count, requests, statuses);
    struct view *view = usual ? request_view(log, many->taken[0]) : NULL;
    if (__builtin_expect(view && duration < COMPARED_LOAD(&knob_rare_ticks), 1))
        hot_all_waited(hot, many, kind, count, duration, view, statuses);
    else
        hot_all_cold(*hot, kind, count, requests, many, end, result, statuses);
}

#endif
