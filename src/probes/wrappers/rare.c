/*
 * The rare side of the wrappers, out of line: calls that failed, inside of other calls, on communicators that were made
 * out of sight; and shapes that no program is in a hurry with.
 */
#include "wrappers/caller.h"
#include "registry/commreuse.h"
#include "thread/raising.h"
#include "wrappers/shapes.h"

HOT void sent_emit(struct probe *probe, enum fold_shape shape, enum call kind, struct view *view, int result, int dest,
                   int tag, uint64_t bytes)
{
    struct event event = {
        .kind = (uint16_t)(kind | size_flag(bytes)), .peer = peer_rank(dest), .tag = tag, .bytes = bytes};
    if (view && event.peer >= 0)
        view_page_select(view, event.peer);
    probe_leave(probe, shape, 0, view, result, event, 0);
}

void sent_leave(struct probe *probe, enum call kind, MPI_Comm comm, struct view *view, int result, int dest, int tag,
                int64_t count, MPI_Datatype type)
{
    view_settle(probe, result, comm, &view);
    sent_emit(probe, FOLD_SEND, kind, view, result, dest, tag, sent_bytes(probe, result, dest, count, type));
}

/* What a receive that was cut off has brought; UINT64_MAX: it was not. */
uint64_t room_of(int result, int64_t count, MPI_Datatype type)
{
    return result != MPI_SUCCESS && receive_arrived(result) ? native_bytes(count, type) : UINT64_MAX;
}

/* Fills what a status tells of a received message. Some libraries leave the status of a receive from MPI_PROC_NULL as
 * it was: what was asked for decides. */
void received_event(struct event *event, struct view *view, int source, uint64_t room, const MPI_Status *status)
{
    event->peer = source == MPI_PROC_NULL ? PEER_PROC_NULL : peer_rank(status->MPI_SOURCE);
    event->tag = status->MPI_TAG;
    if (event->peer < 0)
        return;
    event->bytes = room == UINT64_MAX ? abi_status_bytes(status) : room;
    event->kind |= size_flag(event->bytes);
    if (view)
        view_page_select(view, event->peer);
}

void cut_raise(const struct probe *probe, enum call kind, const struct view *view, int result)
{
    if (result == MPI_SUCCESS || !receive_arrived(result) || probe_is_quiet(probe))
        return;
    raise_error(probe->log, view, kind, result);
    raise_finish(probe->log);
}

void received_leave(struct probe *probe, enum call kind, MPI_Comm comm, struct view *view, int result, int source,
                    int64_t count, MPI_Datatype type, const MPI_Status *status)
{
    struct event event = {.kind = (uint16_t)kind, .peer = PEER_NONE};
    bool arrived = receive_arrived(result);
    view_settle(probe, arrived ? MPI_SUCCESS : result, comm, &view);
    if (arrived)
        received_event(&event, view, source, room_of(result, count, type), status);
    probe_leave(probe, FOLD_RECV, 0, view, arrived ? MPI_SUCCESS : result, event, 0);
    cut_raise(probe, kind, view, result);
}

/* There was no memory for it: its levels go down at once. */
static void unkept_add(struct log *log, const struct posted *posted, bool receives)
{
    log->unkept[log->unkept_count++ % 2] = (struct event){.begin = posted->begin,
                                                          .duration = posted->kind,
                                                          .kind = RECORD_FREED | EVENT_FAILED,
                                                          .comm = posted->view ? (uint16_t)posted->view->slot : 0,
                                                          .peer = posted->peer,
                                                          .tag = receives,
                                                          .bytes = posted->bytes};
}

void request_keep(const struct probe *probe, struct request *request, uint64_t handle)
{
    if (probe->outer.call != CALL_NONE ||
        probe_is_quiet(probe)) /* the call around this one may have completed the handle's last request */
        request_put(request, handle);
    else
        request_put_new(probe->log, request, handle);
}

/* Posts a plain send or receive: in front where there is a place, else behind. */
void request_post(struct probe *probe, struct view *view, enum call kind, enum request_type type,
                  const struct event *event, const MPI_Request *where)
{
    uint64_t handle = abi_handle_of_request(*where);
    struct posted posted = posted_of(probe, view, kind, type, event, where);
    if (front_keeps(probe, &posted, handle))
        return;
    struct request *request = request_of(probe, &posted);
    if (request)
        request_keep(probe, request, handle);
    else if (!probe_is_quiet(probe))
        unkept_add(probe->log, &posted, type == REQUEST_RECV);
}

void isent_leave(struct probe *probe, enum call kind, MPI_Comm comm, struct view *view, int result, int dest, int tag,
                 int64_t count, MPI_Datatype type, const MPI_Request *request)
{
    uint64_t bytes = sent_bytes(probe, result, dest, count, type);
    struct event event = {
        .kind = (uint16_t)(kind | size_flag(bytes)), .peer = peer_rank(dest), .tag = tag, .bytes = bytes};
    view_settle(probe, result, comm, &view);
    if (result == MPI_SUCCESS) {
        if (view && event.peer >= 0)
            view_page_select(view, event.peer);
        request_post(probe, view, kind, REQUEST_SEND, &event, request);
    }
    probe_leave(probe, FOLD_POST_SEND, 0, view, result, event, 0);
    posted_finish(probe->log);
}

void ireceive_leave(struct probe *probe, enum call kind, MPI_Comm comm, struct view *view, int result, int source,
                    int tag, int64_t count, MPI_Datatype type, const MPI_Request *request)
{
    struct event event = {.kind = (uint16_t)kind, .peer = peer_rank(source), .tag = tag};
    view_settle(probe, result, comm, &view);
    if (result == MPI_SUCCESS) {
        event.bytes = log_bytes(probe->log, count, type); /* the room in the program's buffer */
        request_post(probe, view, kind, REQUEST_RECV, &event, request);
    }
    probe_leave(probe, FOLD_POST_RECV, 0, view, result, event, 0);
    posted_finish(probe->log);
}

void exchanged_leave(struct probe *probe, enum call kind, MPI_Comm comm, struct view *view, int result, int dest,
                     int tag, int64_t count, MPI_Datatype type, int source, int64_t recvcount, MPI_Datatype recvtype,
                     const MPI_Status *status)
{
    uint64_t begin = probe->begin;
    struct log *log = probe->log;
    view_settle(probe, result, comm, &view);
    struct event received = {.begin = begin, .kind = RECORD_RECEIVE, .peer = PEER_NONE};
    bool arrived = receive_arrived(result);
    uint64_t bytes = arrived ? sent_bytes(probe, MPI_SUCCESS, dest, count, type) : 0;
    sent_emit(probe, FOLD_SENDRECV, kind, view, arrived ? MPI_SUCCESS : result, dest, tag, bytes);
    if (probe_is_quiet(probe))
        return;
    partner_set(probe, MPI_PROC_NULL);
    if (!arrived) {
        raise_finish(log);
        return;
    }
    received_event(&received, view, source, room_of(result, recvcount, recvtype), status);
    if (begin && log->own.tally.end - begin > RELAXED_LOAD(&knob_timeout_ticks))
        received.kind |= EVENT_TIMEOUT;
    log->own.tally.message_weight = probe_weight(probe);
    LOG_RECORD(log, view, &received, 0, fold_receive(&log->own.tally, &view->tally, &received));
    log->own.tally.message_weight = 1;
    cut_raise(probe, kind, view, result);
}

struct request *request_of(struct probe *probe, const struct posted *posted)
{
    struct request *request = request_make(probe->log), *more;
    if (!request)
        return NULL;
    request_fill(request, posted);
    request->quiet = probe_is_quiet(probe);
    request->lot = probe_weight(probe) > 1 ? request_lot(probe_weight(probe)) : 0;
    if (probe_weight(probe) > 1 && !request->lot)
        request->posted.begin = 0; /* it counts as not timed */
    if (posted->type < REQUEST_MORE) {
        request_hold(request);
        return request;
    }
    more = request_make(probe->log);
    if (!more) {
        request_release_one(probe->log, request);
        return NULL;
    }
    request->posted.more = request_number(more);
    *request_more(request) = (struct request_more){.spare = NULL};
    request_hold(request);
    return request;
}

/* A send and a receive under one request. */
void isendrecv_leave(struct probe *probe, enum call kind, MPI_Comm comm, struct view *view, int result,
                     struct halves halves, const MPI_Request *request)
{
    struct log *log = probe->log;
    view_settle(probe, result, comm, &view);
    struct event call = {.kind = (uint16_t)kind, .tag = 1, .peer = result == MPI_SUCCESS ? 2 : 0};
    struct event sends = halves.send, receives = halves.receive;
    if (result == MPI_SUCCESS) {
        struct posted posted = posted_of(probe, view, kind, REQUEST_PAIR, &receives, request);
        struct request *made = request_of(probe, &posted);
        if (made) {
            struct request_more *more = request_more(made);
            more->dest = sends.peer;
            more->tag = sends.tag;
            more->bytes_out = sends.bytes;
            more->recvtag = receives.tag;
            request_keep(probe, made, abi_handle_of_request(*request));
        } else if (!probe_is_quiet(probe)) {
            unkept_add(log, &posted, true);
            posted = posted_of(probe, view, kind, REQUEST_PAIR, &sends, request);
            unkept_add(log, &posted, false);
        }
    }
    probe_leave(probe, FOLD_START, 0, NULL, result, call, 0);
    if (result == MPI_SUCCESS && !probe_is_quiet(probe)) {
        sends.kind = RECORD_SEND_POSTED | size_flag(sends.bytes);
        receives.kind = RECORD_RECV_POSTED;
        sends.begin = receives.begin = probe->begin;
        sends.duration = receives.duration = kind;
        if (view && sends.peer >= 0)
            view_page_select(view, sends.peer);
        LOG_RECORD(log, view, &sends, 0, fold_send_posted(&log->own.tally, &view->tally, &sends));
        LOG_RECORD(log, view, &receives, 0, fold_recv_posted(&log->own.tally, &view->tally, &receives));
    }
    posted_finish(log);
    probe_finish(probe);
}

void grequest_leave(struct probe *probe, enum call kind, int result, const MPI_Request *request)
{
    struct event event = {.kind = (uint16_t)kind};
    struct posted posted = posted_of(probe, NULL, kind, REQUEST_GENERAL, &event, request);
    struct request *made = result == MPI_SUCCESS ? request_of(probe, &posted) : NULL;
    if (made)
        request_keep(probe, made, abi_handle_of_request(*request));
    probe_leave(probe, FOLD_COMPLETION, 0, NULL, result, event, 0);
    posted_finish(probe->log);
    probe_finish(probe);
}

void named_leave(struct probe *probe, enum call kind, int result, uint64_t begin)
{
    struct event event = {.kind = (uint16_t)kind, .tag = 1, .bytes = begin};
    probe_leave(probe, FOLD_COMPLETION, 0, NULL, result, event, 0);
    probe_finish(probe);
}

void icollective_keep(struct probe *probe, const struct posted *posted, uint64_t bytes_out, MPI_Request request)
{
    struct request *made = request_of(probe, posted);
    if (!made)
        return;
    request_more(made)->bytes_out = bytes_out;
    request_keep(probe, made, abi_handle_of_request(request));
}

void persistent_keep(struct probe *probe, const struct posted *posted, uint64_t bytes_out, MPI_Request request)
{
    struct posted idle = *posted;
    uint64_t handle = abi_handle_of_request(request);
    idle.type |= POSTED_PERSISTENT | POSTED_IDLE;
    if (posted->type == REQUEST_COLL)
        idle.tag = (int32_t)bytes_out;
    if (bytes_out <= INT32_MAX && front_keeps(probe, &idle, handle))
        return;
    struct request *made = request_of(probe, posted);
    if (!made)
        return;
    if (posted->type == REQUEST_COLL)
        request_more(made)->bytes_out = bytes_out;
    made->persistent = true;
    made->active = false;
    request_keep(probe, made, handle);
}

void persistent_leave(struct probe *probe, enum call kind, enum request_type type, MPI_Comm comm, struct view *view,
                      int result, int peer, int tag, uint64_t bytes, const MPI_Request *request)
{
    view_settle(probe, result, comm, &view);
    struct event event = {.kind = (uint16_t)kind, .peer = peer_rank(peer), .tag = tag};
    struct posted posted = posted_of(probe, view, kind, type, &event, request);
    posted.bytes = bytes;
    if (result == MPI_SUCCESS)
        persistent_keep(probe, &posted, 0, *request);
    probe_leave(probe, FOLD_P2P, 0, view, result, event, 0);
    posted_finish(probe->log);
}

/* ---- local functions --------------------------------------------------------------------------------------------- */

bool local_enter(struct probe *probe, enum call kind, const char *name, const void *caller)
{
    if (!knob_load(KNOB_RECORD_LOCAL_CALLS) || (caller && !caller_asks_for(caller, name))) {
        if (thread_log)
            thread_log->entered = 0;
        return false;
    }
    return probe_enter(probe, kind, 0, PEER_NONE);
}

void local_leave(struct probe *probe, enum call kind, int result)
{
    struct event event = {.kind = (uint16_t)kind, .peer = PEER_NONE};
    probe_leave(probe, FOLD_CALL, 0, NULL, result, event, 0);
}

/* ---- the rare ends of plain calls -------------------------------------------------------------------------------- */

struct front_place *plain_place_rare(const MPI_Request *where)
{
    return beside_post(abi_handle_of_request(*where), where);
}

void plain_local_rare(struct log *log, uint64_t begin, enum call kind, int result)
{
    struct probe probe = PROBE_OF_PLAIN;
    local_leave(&probe, kind, result);
}

void plain_sent_rare(struct log *log, uint64_t begin, enum call kind, MPI_Comm comm, struct view *view, int result,
                     int dest, int tag, int64_t count, MPI_Datatype type)
{
    struct probe probe = PROBE_OF_PLAIN;
    sent_leave(&probe, kind, comm, view, result, dest, tag, count, type);
}

void plain_received_rare(struct log *log, uint64_t begin, enum call kind, MPI_Comm comm, struct view *view, int result,
                         int source, int64_t count, MPI_Datatype type, const MPI_Status *status)
{
    struct probe probe = PROBE_OF_PLAIN;
    received_leave(&probe, kind, comm, view, result, source, count, type, status);
}

void plain_exchanged_rare(struct log *log, uint64_t begin, enum call kind, MPI_Comm comm, struct view *view, int result,
                          int dest, int tag, int64_t count, MPI_Datatype type, int source, int64_t recvcount,
                          MPI_Datatype recvtype, const MPI_Status *status)
{
    struct probe probe = PROBE_OF_PLAIN;
    exchanged_leave(&probe, kind, comm, view, result, dest, tag, count, type, source, recvcount, recvtype, status);
}

void plain_isent_rare(struct log *log, uint64_t begin, enum call kind, MPI_Comm comm, struct view *view, int result,
                      int dest, int tag, int64_t count, MPI_Datatype type, const MPI_Request *request)
{
    struct probe probe = PROBE_OF_PLAIN;
    isent_leave(&probe, kind, comm, view, result, dest, tag, count, type, request);
}

void plain_ireceive_rare(struct log *log, uint64_t begin, enum call kind, MPI_Comm comm, struct view *view, int result,
                         int source, int tag, int64_t count, MPI_Datatype type, const MPI_Request *request)
{
    struct probe probe = PROBE_OF_PLAIN;
    ireceive_leave(&probe, kind, comm, view, result, source, tag, count, type, request);
}

/* Out of line, for what plain_other_completed takes needs none of it. */
static __attribute__((noinline)) void completed_rare(struct log *log, uint64_t begin, enum call kind,
                                                     MPI_Request *request, uint64_t saved, int result, bool ended,
                                                     const MPI_Status *status)
{
    struct probe probe = PROBE_OF_PLAIN;
    single_leave(&probe, kind, request, saved, LEFT_THERE, result, ended, status);
}

void plain_completed_rare(struct log *log, uint64_t begin, enum call kind, MPI_Request *request, uint64_t saved,
                          int result, bool ended, const MPI_Status *status)
{
    if (!begin || !ended || result != MPI_SUCCESS ||
        !plain_other_completed(log, begin, kind, request, saved, 1, status))
        completed_rare(log, begin, kind, request, saved, result, ended, status);
}

void plain_collected_rare(struct log *log, uint64_t begin, enum call kind, MPI_Comm comm, struct view *view, int result,
                          int32_t root, struct coll_bytes bytes)
{
    struct probe probe = PROBE_OF_PLAIN;
    view_settle(&probe, result, comm, &view);
    collective_leave(&probe, kind, view, result, root, bytes);
}

void plain_probed_rare(struct log *log, uint64_t begin, enum call kind, MPI_Comm comm, struct view *view, int result,
                       int source, int tag)
{
    struct probe probe = PROBE_OF_PLAIN;
    probed_leave(&probe, kind, comm, view, result, source, tag);
}

void plain_mprobed_rare(struct log *log, uint64_t begin, enum call kind, MPI_Comm comm, struct view *view, int result,
                        int source, int tag, bool found, const MPI_Message *message, const MPI_Status *status)
{
    struct probe probe = PROBE_OF_PLAIN;
    mprobed_leave(&probe, kind, comm, view, result, source, tag, found, message, status);
}

/* When another thread has opened a session meanwhile, it has moved behind. */
void plain_mreceived_rare(struct log *log, uint64_t begin, enum call kind, struct view *view, uint64_t key, int result,
                          int64_t count, MPI_Datatype type, const MPI_Message *message, const MPI_Status *status)
{
    struct probe probe = PROBE_OF_PLAIN;
    struct matched matched = {.handle = key, .view = view, .peer = PEER_NONE};
    matched.request = book.concurrent ? request_take_there(key, message) : request_take(log, key, message);
    if (matched.request)
        request_hold(matched.request);
    mreceived_leave(&probe, &matched, kind, result, count, type, message, status);
}

void plain_icollected_rare(struct log *log, uint64_t begin, enum call kind, MPI_Comm comm, struct view *view,
                           int result, int32_t root, struct coll_bytes bytes, const MPI_Request *request)
{
    struct probe probe = PROBE_OF_PLAIN;
    view_settle(&probe, result, comm, &view);
    icollective_leave(&probe, kind, view, result, root, bytes, request);
}

void plain_started_rare(struct log *log, uint64_t begin, enum call kind, MPI_Request *request, uint64_t saved,
                        int result)
{
    struct probe probe = PROBE_OF_PLAIN;
    start_leave(&probe, kind, request, saved, LEFT_THERE, result);
}

void plain_isendreceived_rare(struct log *log, uint64_t begin, enum call kind, MPI_Comm comm, struct view *view,
                              int result, struct halves halves, const MPI_Request *request)
{
    struct probe probe = PROBE_OF_PLAIN;
    isendrecv_leave(&probe, kind, comm, view, result, halves, request);
}

void plain_partition_rare(struct log *log, uint64_t begin, enum call kind, struct view *view, int result)
{
    struct probe probe = PROBE_OF_PLAIN;
    partition_leave(&probe, kind, view, result);
}

void collective_announce(enum call kind, MPI_Comm comm)
{
    struct log *log = log_get();
    uintptr_t outer;
    if (!log || (call_modes[kind] & MODE_QUIET) || !log_in(log, stack_entered(), &outer))
        return;
    raise_begin(log, comm_view(log, comm), kind);
    log_out(log, outer);
}
