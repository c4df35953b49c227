/*
 * The rare side of the wrappers, out of line: calls that failed, inside of other calls, on communicators that were made
 * out of sight; and shapes that no program is in a hurry with.
 */
#include "shapes.h"

void sent_leave_rare(struct probe *probe, enum call kind, MPI_Comm comm, struct view *view, int result, int dest,
                     int tag, uint64_t bytes)
{
    view_settle(probe, result, comm, &view);
    sent_emit(probe, FOLD_SEND, kind, view, result, dest, tag, bytes, size_flag(bytes));
}

/* How much a receive that was cut off can have brought. */
static uint64_t room_of(int result, int64_t count, MPI_Datatype type)
{
    return result != MPI_SUCCESS && receive_arrived(result) ? native_bytes(count, type) : UINT64_MAX;
}

void received_leave_rare(struct probe *probe, enum call kind, MPI_Comm comm, struct view *view, int result, int source,
                         int64_t count, MPI_Datatype type, const MPI_Status *status)
{
    view_settle(probe, receive_arrived(result) ? MPI_SUCCESS : result, comm, &view);
    received_emit(probe, kind, view, result, source, room_of(result, count, type), status, false);
}

void isent_leave_rare(struct probe *probe, enum call kind, MPI_Comm comm, struct view *view, int result, int dest,
                      int tag, uint64_t bytes, const MPI_Request *request)
{
    view_settle(probe, result, comm, &view);
    isent_emit(probe, kind, view, result, dest, tag, bytes, size_flag(bytes), request);
}

void ireceive_leave_rare(struct probe *probe, enum call kind, MPI_Comm comm, struct view *view, int result, int source,
                         int tag, uint64_t room, const MPI_Request *request)
{
    view_settle(probe, result, comm, &view);
    ireceive_emit(probe, kind, view, result, source, tag, room, request);
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
    sent_emit(probe, FOLD_SENDRECV, kind, view, arrived ? MPI_SUCCESS : result, dest, tag, bytes, size_flag(bytes));
    if (!arrived)
        return;
    received_event(&received, view, source, room_of(result, recvcount, recvtype), status, false);
    if (log->ledger->tally.end - begin > RELAXED_LOAD(&knob_timeout_ticks))
        received.kind |= EVENT_TIMEOUT;
    log_record(log, view, &received, 0);
}

struct request *request_of(struct probe *probe, const struct posted *posted)
{
    struct request *request = request_make(probe->log);
    if (request) {
        request->posted = *posted;
        request->bytes_out = 0;
        request->persistent = false;
        request->active = true;
    }
    return request;
}

void post_behind(struct probe *probe, const struct posted *posted, uint64_t handle)
{
    struct request *request = request_of(probe, posted);
    if (request)
        request_put(request, handle);
}

void persistent_leave(struct probe *probe, enum call kind, enum request_type type, MPI_Comm comm, struct view *view,
                      int result, int peer, int tag, uint64_t bytes, const MPI_Request *request)
{
    view_settle(probe, result, comm, &view);
    struct event event = {.kind = (uint16_t)kind, .peer = peer_rank(peer), .tag = tag};
    struct posted posted = posted_of(probe, view, kind, type, &event, request);
    posted.bytes = bytes;
    struct request *made = result == MPI_SUCCESS ? request_of(probe, &posted) : NULL;
    if (made) {
        made->persistent = true;
        made->active = false;
        request_put(made, abi_handle_of_request(*request));
    }
    probe_leave(probe, FOLD_P2P, 0, view, result, event, 0);
}
