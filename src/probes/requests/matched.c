/* Matched messages (shapes_matched.h). */
#include "wrappers/shapes.h"

static bool is_no_process(const MPI_Message *message)
{
    return message && *message == native.message_no_proc;
}

void mprobed_leave(struct probe *probe, enum call kind, MPI_Comm comm, struct view *view, int result, int source,
                   int tag, bool found, const MPI_Message *message, const MPI_Status *status)
{
    view_settle(probe, result, comm, &view);
    if (result == MPI_SUCCESS && found && message_is_one(message)) {
        struct posted posted = {.view = view,
                                .begin = probe->begin,
                                .where = message,
                                .peer = peer_rank(status->MPI_SOURCE),
                                .tag = status->MPI_TAG,
                                .kind = (uint16_t)kind,
                                .type = REQUEST_MATCHED};
        uint64_t key = message_key(message);
        struct request *made = front_keeps(probe, &posted, key) ? NULL : request_of(probe, &posted);
        if (made)
            request_keep(probe, made, key);
    }
    probed_leave(probe, kind, comm, view, result, source, tag);
    posted_finish(probe->log);
}

bool matched_enter(struct probe *probe, struct matched *matched, enum call kind, const MPI_Message *message)
{
    if (!probe_open(probe))
        return false;
    struct log *log = probe->log;
    *matched = (struct matched){.no_process = is_no_process(message), .peer = PEER_NONE};
    matched->handle = message ? message_key(message) : 0;
    if (message && !matched->no_process && *message != native.message_null)
        matched->request = request_take(log, matched->handle, message);
    if (matched->request) {
        request_hold(matched->request); /* one that lived in front did not */
        matched->view = request_view(log, matched->request);
        matched->peer = matched->request->posted.peer;
        matched->tag = matched->request->posted.tag;
    }
    probe_begin(probe, kind, matched->view ? matched->view->slot : 0, matched->peer);
    return true;
}

/* The message is received, or a request stands for it; else the program keeps it. Returns what is to be released when
 * the call's event is written: until then it holds the communicator. */
static struct request *matched_settle(const struct matched *matched, int result, const MPI_Message *message)
{
    bool gone = receive_arrived(result) || (message && message_key(message) != matched->handle);
    if (matched->request && !gone)
        request_put(matched->request, matched->handle);
    if (!matched->view && !matched->no_process && result == MPI_SUCCESS)
        run_lost(&book.run, LOSS_UNKNOWN_COMM, 1);
    return gone ? matched->request : NULL;
}

void mreceived_leave(struct probe *probe, const struct matched *matched, enum call kind, int result, int64_t count,
                     MPI_Datatype type, const MPI_Message *message, const MPI_Status *status)
{
    struct event event = {.kind = (uint16_t)kind, .peer = PEER_NONE};
    bool arrived = receive_arrived(result);
    struct request *over = matched_settle(matched, result, message);
    if (arrived)
        received_event(&event, matched->view, matched->no_process ? MPI_PROC_NULL : 0, room_of(result, count, type),
                       status);
    probe_leave(probe, FOLD_RECV, 0, matched->view, arrived ? MPI_SUCCESS : result, event, 0);
    cut_raise(probe, kind, matched->view, result);
    if (over)
        request_release(probe->log, over);
}

void imreceive_leave(struct probe *probe, const struct matched *matched, enum call kind, int result, int64_t count,
                     MPI_Datatype type, const MPI_Message *message, const MPI_Request *request)
{
    struct event event = {.kind = (uint16_t)kind, .peer = matched->peer, .tag = matched->tag};
    if (matched->no_process)
        event.peer = PEER_PROC_NULL;
    struct request *over = matched_settle(matched, result, message);
    if (result == MPI_SUCCESS) {
        event.bytes = log_bytes(probe->log, count, type);
        request_post(probe, matched->view, kind, REQUEST_RECV, &event, request);
    }
    probe_leave(probe, FOLD_POST_RECV, 0, matched->view, result, event, 0);
    posted_finish(probe->log);
    if (over)
        request_release(probe->log, over);
}
