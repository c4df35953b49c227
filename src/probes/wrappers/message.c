#include "wrappers/message.h"

#include "requests/completion.h"
#include "wrappers/posting.h"

static void sent_emit(struct probe *probe, enum fold_shape shape, enum call kind, int result, int dest, int tag,
                      uint64_t bytes)
{
    struct view *view = probe->view;
    struct event event = {
        .kind = (uint16_t)(kind | size_flag(bytes)), .peer = peer_rank(dest), .tag = tag, .bytes = bytes};
    if (view && event.peer >= 0)
        view_page_select(view, event.peer);
    probe_leave(probe, shape, 0, view, result, event, 0);
}

void leave_send(struct probe *probe, enum call kind, MPI_Comm comm, int result, int dest, int tag, int64_t count,
                MPI_Datatype type)
{
    view_settle(probe, result, comm);
    sent_emit(probe, FOLD_SEND, kind, result, dest, tag, sent_bytes(probe->log, result, dest, count, type));
}

/* Returns the bytes of a receive that was truncated. UINT64_MAX: not truncated, and the status has the bytes. */
static uint64_t room_of(int result, int64_t count, MPI_Datatype type)
{
    return result != MPI_SUCCESS && receive_arrived(result) ? native_bytes(count, type) : UINT64_MAX;
}

/* Fills in the received message from its status. Some libraries leave the status of a receive from MPI_PROC_NULL as it
 * was. So the requested source decides. */
HOT void received_event(struct event *event, struct view *view, int source, uint64_t room, const MPI_Status *status)
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

/* Raises the error of a receive that was truncated: the message has arrived, but the call has returned an error. */
HOT void cut_raise(const struct probe *probe, enum call kind, int result)
{
    if (__builtin_expect(result == MPI_SUCCESS, 1) || !receive_arrived(result) || probe_is_quiet(probe))
        return;
    raise_error(probe->log, probe->view, kind, result);
    raise_finish(probe->log);
}

void leave_recv(struct probe *probe, enum call kind, MPI_Comm comm, int result, int source, int64_t count,
                MPI_Datatype type, const MPI_Status *status)
{
    struct event event = {.kind = (uint16_t)kind, .peer = PEER_NONE};
    bool arrived = receive_arrived(result);
    view_settle(probe, arrived ? MPI_SUCCESS : result, comm);
    if (arrived)
        received_event(&event, probe->view, source, room_of(result, count, type), status);
    probe_leave(probe, FOLD_RECV, 0, probe->view, arrived ? MPI_SUCCESS : result, event, 0);
    cut_raise(probe, kind, result);
}

void leave_sendrecv(struct probe *probe, enum call kind, MPI_Comm comm, int result, int dest, int tag, int64_t count,
                    MPI_Datatype type, int source, int64_t recvcount, MPI_Datatype recvtype, const MPI_Status *status)
{
    uint64_t begin = probe->begin;
    struct log *log = probe->log;
    view_settle(probe, result, comm);
    struct view *view = probe->view;
    struct event received = {.begin = begin, .kind = RECORD_RECEIVE, .peer = PEER_NONE};
    bool arrived = receive_arrived(result);
    uint64_t bytes = arrived ? sent_bytes(log, MPI_SUCCESS, dest, count, type) : 0;
    sent_emit(probe, FOLD_SENDRECV, kind, arrived ? MPI_SUCCESS : result, dest, tag, bytes);
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
    log_record(log, view, &received, 0);
    cut_raise(probe, kind, result);
}

void leave_probe(struct probe *probe, enum call kind, MPI_Comm comm, int result, int source, int tag)
{
    view_settle(probe, result, comm);
    struct event event = {.kind = (uint16_t)kind, .peer = peer_rank(source), .tag = tag};
    probe_leave(probe, FOLD_P2P, 0, probe->view, result, event, 0);
}

/* ---- matched messages -------------------------------------------------------------------------------------------- */

static bool message_is_one(const MPI_Message *message)
{
    return *message != native.message_null && !message_is_no_process(message);
}

void leave_mprobe(struct probe *probe, enum call kind, MPI_Comm comm, int result, int source, int tag, bool found,
                  const MPI_Message *message, const MPI_Status *status)
{
    view_settle(probe, result, comm);
    if (result == MPI_SUCCESS && found && message_is_one(message)) {
        struct posted posted = {.view = probe->view,
                                .begin = probe->begin,
                                .where = message,
                                .peer = peer_rank(status->MPI_SOURCE),
                                .tag = status->MPI_TAG,
                                .kind = (uint16_t)kind,
                                .type = REQUEST_MATCHED,
                                .quiet = probe_is_quiet(probe)};
        request_post(probe, &posted, message_key(message));
    }
    leave_probe(probe, kind, comm, result, source, tag);
    posted_finish(probe->log);
}

void matched_begin(struct probe *probe, struct matched *matched, enum call kind, const MPI_Message *message)
{
    struct log *log = probe->log;
    *matched = (struct matched){.no_process = message_is_no_process(message), .peer = PEER_NONE};
    matched->handle = message ? message_key(message) : 0;
    probe->view = NULL;
    if (message && !matched->no_process && *message != native.message_null)
        matched->request = request_take(matched->handle, message);
    if (matched->request) {
        request_hold(matched->request);
        probe->view = request_view(log, matched->request);
        matched->peer = matched->request->posted.peer;
        matched->tag = matched->request->posted.tag;
    }
    probe_begin(probe, kind, probe->view ? probe->view->slot : 0, matched->peer);
}

/* The message is received, or a request has taken it over. Otherwise the program keeps it. Returns the request to
 * release when the call's event is written. Until then it holds the communicator. */
static struct request *matched_settle(const struct probe *probe, const struct matched *matched, int result,
                                      const MPI_Message *message)
{
    bool gone = receive_arrived(result) || (message && message_key(message) != matched->handle);
    if (matched->request && !gone)
        request_put(matched->request, matched->handle);
    if (!probe->view && !matched->no_process && result == MPI_SUCCESS)
        run_lost(&book.run, LOSS_UNKNOWN_COMM, 1);
    return gone ? matched->request : NULL;
}

void leave_mrecv(struct probe *probe, const struct matched *matched, enum call kind, int result, int64_t count,
                 MPI_Datatype type, const MPI_Message *message, const MPI_Status *status)
{
    struct event event = {.kind = (uint16_t)kind, .peer = PEER_NONE};
    bool arrived = receive_arrived(result);
    struct request *over = matched_settle(probe, matched, result, message);
    if (arrived)
        received_event(&event, probe->view, matched->no_process ? MPI_PROC_NULL : 0, room_of(result, count, type),
                       status);
    probe_leave(probe, FOLD_RECV, 0, probe->view, arrived ? MPI_SUCCESS : result, event, 0);
    cut_raise(probe, kind, result);
    if (over)
        request_release(over);
}

void leave_imrecv(struct probe *probe, const struct matched *matched, enum call kind, int result, int64_t count,
                  MPI_Datatype type, const MPI_Message *message, const MPI_Request *request)
{
    struct event event = {.kind = (uint16_t)kind, .peer = matched->peer, .tag = matched->tag};
    if (matched->no_process)
        event.peer = PEER_PROC_NULL;
    struct request *over = matched_settle(probe, matched, result, message);
    if (result == MPI_SUCCESS) {
        event.bytes = log_bytes(probe->log, count, type);
        message_post(probe, kind, REQUEST_RECV, &event, request);
    }
    probe_leave(probe, FOLD_POST_RECV, 0, probe->view, result, event, 0);
    posted_finish(probe->log);
    if (over)
        request_release(over);
}
