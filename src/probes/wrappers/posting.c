#include "wrappers/posting.h"

#include "requests/completion.h"
#include "wrappers/message.h"

struct request *request_post(struct probe *probe, const struct posted *posted, uint64_t handle)
{
    struct request *request = request_make(posted);
    if (!request)
        return NULL;
    if (probe->nested || posted->quiet) /* the call around this one may have completed the handle's last request */
        request_put(request, handle);
    else
        request_put_new(probe->log, request, handle);
    return request;
}

/* There was no memory for it: its levels go down at once. */
static __attribute__((noinline)) void unkept_add(struct log *log, const struct posted *posted, bool receives)
{
    log->requests.unkept[log->requests.unkept_count++ % 2] =
        (struct event){.begin = posted->begin,
                       .duration = posted->kind,
                       .kind = RECORD_FREED | EVENT_FAILED,
                       .comm = posted->view ? (uint16_t)posted->view->slot : 0,
                       .peer = posted->peer,
                       .tag = receives,
                       .bytes = posted->bytes};
}

void message_post(struct probe *probe, enum call kind, enum request_type type, const struct event *event,
                  const MPI_Request *where)
{
    struct posted posted = posted_of(probe, kind, type, event, where);
    if (!request_post(probe, &posted, abi_handle_of_request(*where)) && !posted.quiet)
        unkept_add(probe->log, &posted, type == REQUEST_RECV);
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

void leave_isend(struct probe *probe, enum call kind, MPI_Comm comm, int result, int dest, int tag, int64_t count,
                 MPI_Datatype type, const MPI_Request *request)
{
    uint64_t bytes = sent_bytes(probe->log, result, dest, count, type);
    struct event event = {
        .kind = (uint16_t)(kind | size_flag(bytes)), .peer = peer_rank(dest), .tag = tag, .bytes = bytes};
    view_settle(probe, result, comm);
    if (result == MPI_SUCCESS) {
        if (probe->view && event.peer >= 0)
            view_page_select(probe->view, event.peer);
        message_post(probe, kind, REQUEST_SEND, &event, request);
    }
    probe_leave(probe, FOLD_POST_SEND, 0, probe->view, result, event, 0);
    posted_finish(probe->log);
}

void leave_irecv(struct probe *probe, enum call kind, MPI_Comm comm, int result, int source, int tag, int64_t count,
                 MPI_Datatype type, const MPI_Request *request)
{
    struct event event = {.kind = (uint16_t)kind, .peer = peer_rank(source), .tag = tag};
    view_settle(probe, result, comm);
    if (result == MPI_SUCCESS) {
        event.bytes = log_bytes(probe->log, count, type); /* the room in the program's buffer */
        message_post(probe, kind, REQUEST_RECV, &event, request);
    }
    probe_leave(probe, FOLD_POST_RECV, 0, probe->view, result, event, 0);
    posted_finish(probe->log);
}

void leave_init(struct probe *probe, enum call kind, enum request_type type, MPI_Comm comm, int result, int peer,
                int tag, uint64_t bytes, const MPI_Request *request)
{
    view_settle(probe, result, comm);
    struct event event = {.kind = (uint16_t)kind, .peer = peer_rank(peer), .tag = tag};
    struct posted posted = posted_of(probe, kind, type, &event, request);
    posted.bytes = bytes;
    posted.persistent = true;
    if (result == MPI_SUCCESS)
        request_post(probe, &posted, abi_handle_of_request(*request));
    probe_leave(probe, FOLD_P2P, 0, probe->view, result, event, 0);
    posted_finish(probe->log);
}

/* ---- partitioned messages ---------------------------------------------------------------------------------------- */

void leave_partitioned_init(struct probe *probe, enum call kind, enum request_type type, MPI_Comm comm, int result,
                            int peer, int tag, uint64_t bytes, const MPI_Request *request)
{
    if (view_settle(probe, result, comm))
        book_object_set(&book.partitioned, abi_handle_of_request(*request), probe->view->comm);
    leave_init(probe, kind, type, comm, result, peer, tag, bytes, request);
}

void partition_begin(struct probe *probe, enum call kind, MPI_Request request)
{
    struct comm *comm = book_object_find(&book.partitioned, abi_handle_of_request(request));
    probe->view = comm ? view_of(&probe->log->own, comm) : NULL;
    probe_begin(probe, kind, probe->view ? probe->view->slot : 0, PEER_NONE);
}

void leave_partition(struct probe *probe, enum call kind, int result)
{
    struct event event = {.kind = (uint16_t)kind, .peer = PEER_NONE};
    if (!probe->view && result == MPI_SUCCESS)
        run_lost(&book.run, LOSS_UNKNOWN_COMM, 1);
    probe_leave(probe, FOLD_P2P, 0, probe->view, result, event, 0);
}

/* ---- a send and a receive under one request ---------------------------------------------------------------------- */

struct halves halves_of(struct log *log, int result, int dest, int sendtag, int64_t sendcount, MPI_Datatype sendtype,
                        int source, int recvtag, int64_t recvcount, MPI_Datatype recvtype)
{
    struct halves halves = {.send = {.peer = peer_rank(dest), .tag = sendtag},
                            .receive = {.peer = peer_rank(source), .tag = recvtag}};
    halves.send.bytes = result == MPI_SUCCESS && dest >= 0 ? log_bytes(log, sendcount, sendtype) : 0;
    halves.receive.bytes = result == MPI_SUCCESS ? log_bytes(log, recvcount, recvtype) : 0;
    return halves;
}

static void halves_post(struct probe *probe, enum call kind, const struct halves *halves, const MPI_Request *request)
{
    struct posted posted = posted_of(probe, kind, REQUEST_PAIR, &halves->receive, request);
    struct request *made = request_post(probe, &posted, abi_handle_of_request(*request));
    if (made) {
        struct request_more *more = request_more(made);
        more->dest = halves->send.peer;
        more->tag = halves->send.tag;
        more->bytes_out = halves->send.bytes;
    } else if (!posted.quiet) {
        unkept_add(probe->log, &posted, true);
        posted = posted_of(probe, kind, REQUEST_PAIR, &halves->send, request);
        unkept_add(probe->log, &posted, false);
    }
}

void leave_isendrecv(struct probe *probe, enum call kind, MPI_Comm comm, int result, struct halves halves,
                     const MPI_Request *request)
{
    struct log *log = probe->log;
    view_settle(probe, result, comm);
    struct view *view = probe->view;
    struct event call = {.kind = (uint16_t)kind, .tag = 1, .peer = result == MPI_SUCCESS ? 2 : 0};
    if (result == MPI_SUCCESS)
        halves_post(probe, kind, &halves, request);
    probe_leave(probe, FOLD_START, 0, NULL, result, call, 0);
    if (result == MPI_SUCCESS && !probe_is_quiet(probe)) {
        struct event *sends = &halves.send, *receives = &halves.receive;
        sends->kind = RECORD_SEND_POSTED | size_flag(sends->bytes);
        receives->kind = RECORD_RECV_POSTED;
        sends->begin = receives->begin = probe->begin;
        sends->duration = receives->duration = kind;
        if (view && sends->peer >= 0)
            view_page_select(view, sends->peer);
        LOG_RECORD(log, view, sends, 0, fold_send_posted(&log->own.tally, &view->tally, sends));
        LOG_RECORD(log, view, receives, 0, fold_recv_posted(&log->own.tally, &view->tally, receives));
    }
    posted_finish(log);
    probe_finish(probe);
}

/* Keeps a request that moves no message. */
static void general_post(struct probe *probe, enum call kind, int result, const struct event *event,
                         const MPI_Request *request)
{
    struct posted posted = posted_of(probe, kind, REQUEST_GENERAL, event, request);
    if (result == MPI_SUCCESS)
        request_post(probe, &posted, abi_handle_of_request(*request));
}

void leave_grequest(struct probe *probe, enum call kind, int result, const MPI_Request *request)
{
    struct event event = {.kind = (uint16_t)kind};
    general_post(probe, kind, result, &event, request);
    probe_leave(probe, FOLD_COMPLETION, 0, NULL, result, event, 0);
    posted_finish(probe->log);
    probe_finish(probe);
}

void leave_iflush(struct probe *probe, enum call kind, int result, const MPI_Request *request)
{
    struct event event = {.kind = (uint16_t)kind, .peer = PEER_NONE};
    general_post(probe, kind, result, &event, request);
    probe_leave(probe, FOLD_CALL, 0, NULL, result, event, 0);
    posted_finish(probe->log);
    probe_finish(probe);
}
