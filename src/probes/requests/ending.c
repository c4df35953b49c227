#include "requests/ending.h"

#include "communicators/communicator.h"
#include "requests/completion.h"
#include "thread/raising.h"

/* MPICH (4.0 to 4.2) leaves the status of a nonblocking sendrecv between processes as its last user left it. Only the
 * requested source and the size of the receive buffer are known. */
static bool pair_is_untold(const struct request *request)
{
#if defined(OPEN_MPI)
    (void)request;
    return false;
#else
    return request->type == REQUEST_PAIR && request_more(request)->dest >= 0;
#endif
}

/* A canceled send counts as any other: it was counted when it was posted, and libraries leave parts of its status
 * unset. */
static bool was_cancelled(const struct request *request, const MPI_Status *status)
{
    bool receives = request->type == REQUEST_RECV || request->type == REQUEST_PAIR;
    return receives && status && request->posted.duration != CALL_MPI_Precv_init && !pair_is_untold(request) &&
           abi_status_cancelled(status);
}

/* Fills in a completed receive from its status. Without a status nothing is known. A partitioned receive gets all bytes
 * that it was made for. */
static void request_received_fill(struct event *event, const struct request *request, const MPI_Status *status)
{
    event->kind = RECORD_RECV_DONE;
    bool whole = request->posted.duration == CALL_MPI_Precv_init || pair_is_untold(request);
    if (whole && status && request->posted.peer >= 0) {
        event->kind |= size_flag(event->bytes);
        return;
    }
    if (request->posted.peer == PEER_PROC_NULL || !status)
        event->bytes = 0;
    if (request->posted.peer == PEER_PROC_NULL)
        return;
    if (!status || whole) {
        event->kind |= EVENT_FAILED;
        run_lost(&book.run, LOSS_UNSEEN_COMPLETION, 1);
        return;
    }
    if (status->MPI_SOURCE >= 0) {
        event->peer = status->MPI_SOURCE;
        event->tag = status->MPI_TAG;
    }
    if (abi_status_bytes(status) < event->bytes) /* else it was truncated: the receive buffer is full */
        event->bytes = abi_status_bytes(status);
    event->kind |= size_flag(event->bytes);
}

static void comm_made(struct log *log, const struct request *request, const struct request_more *more)
{
    struct view *parent = request_view(log, request);
    struct comm_origin origin = {
        .operation = "idup", .number = more->number, .path = request->path, .from = native.comm_null, .equal = true};
    comm_created(log, parent, &origin, more->newcomm, (enum call)request->posted.duration, request->quiet);
}

void comm_completed(struct log *log, const struct request *request, const MPI_Status *status, int result)
{
    struct request_more *more = request->type == REQUEST_COMM ? request_more(request) : NULL;
    if (more && !request_failed(status, result))
        comm_made(log, request, more);
}

void comm_told(struct log *log, uint64_t handle)
{
    struct request request;
    struct request_more more;
    if (request_copy_comm(handle, &request, &more))
        comm_made(log, &request, &more);
}

bool request_receives(const struct request *request)
{
    return request->type == REQUEST_RECV || request->type == REQUEST_PAIR;
}

/* Returns an event with the known facts about a request that ends. */
static struct event request_event(const struct request *request)
{
    struct event event = request->posted;
    event.tag = request->type == REQUEST_COLL || request->type == REQUEST_COMM ? 0 : event.tag;
    return event;
}

static uint64_t collective_bytes_out(const struct request *request)
{
    return request->extended ? request_more(request)->bytes_out : (uint32_t)request->posted.tag;
}

static struct event half_event(const struct request *request)
{
    const struct request_more *more = request_more(request);
    return (struct event){.begin = request->posted.begin,
                          .duration = request->posted.duration,
                          .peer = more->dest,
                          .tag = more->tag,
                          .bytes = more->bytes_out};
}

static void record_emit(struct log *log, struct view *view, struct event *event, uint64_t bytes_out)
{
    if (view && event->peer >= 0)
        view_page_select(view, event->peer);
    log_record(log, view, event, bytes_out);
}

static void half_record(struct log *log, struct view *view, const struct request *request, bool failed)
{
    struct event event = half_event(request);
    event.kind = RECORD_HALF_DONE | (failed ? EVENT_FAILED : 0);
    timeout_mark(&event, &log->own.tally);
    record_emit(log, view, &event, 0);
}

/* Fills in how the request ended. Returns the bytes that it got out. */
static uint64_t request_ended_fill(struct event *event, const struct request *request, const MPI_Status *status,
                                   bool failed)
{
    switch ((enum request_type)request->type) {
    case REQUEST_RECV:
    case REQUEST_PAIR:
        request_received_fill(event, request, failed ? NULL : status);
        return 0;
    case REQUEST_SEND:
        event->kind = RECORD_SEND_DONE;
        return 0;
    case REQUEST_RMA:
        event->kind = RECORD_RMA_DONE;
        return 0;
    case REQUEST_IO:
        event->kind = RECORD_IO_DONE;
        event->bytes = status && !failed ? abi_status_bytes(status) : 0;
        return 0;
    case REQUEST_COLL:
        event->kind = RECORD_COLL_DONE;
        return collective_bytes_out(request);
    default:
        event->kind = RECORD_COMM_DONE;
        return 0;
    }
}

static void request_record_any(struct log *log, const struct request *request, const MPI_Status *status, bool failed)
{
    struct view *view = request_view(log, request);
    struct event event = request_event(request);
    uint64_t bytes_out = 0;
    if (request->type == REQUEST_PAIR)
        half_record(log, view, request, failed);
    if (was_cancelled(request, status)) {
        event.kind = RECORD_CANCELLED;
        event.tag = request_receives(request);
    } else {
        bytes_out = request_ended_fill(&event, request, status, failed);
    }
    if (failed)
        event.kind |= EVENT_FAILED;
    timeout_mark(&event, &log->own.tally);
    record_emit(log, view, &event, bytes_out);
}

/* Fills in a receive that has ended as most do: its status describes the message. False: it has not. */
static bool received_fill(struct event *event, const struct request *request, const MPI_Status *status)
{
    if (request->nobody || event->duration == CALL_MPI_Precv_init || !status || status->MPI_SOURCE < 0 ||
        abi_status_cancelled(status))
        return false;
    event->peer = status->MPI_SOURCE;
    event->tag = status->MPI_TAG;
    event->bytes = abi_status_bytes(status) < event->bytes ? abi_status_bytes(status) : event->bytes;
    event->kind = RECORD_RECV_DONE | size_flag(event->bytes);
    return true;
}

/* Writes the record of a request that has ended as most do. False: it has not. */
static bool request_record_usual(struct log *log, const struct request *request, const MPI_Status *status)
{
    struct tally *tally = &log->own.tally;
    struct view *view = request_view(log, request);
    struct event event = request->posted;
    if (!view || request->extended || event.begin == 0 || tally->end - event.begin > COMPARED_LOAD(&knob_timeout_ticks))
        return false;
    switch (request->type) {
    case REQUEST_SEND:
        LOG_RECORD(log, view, &event, 0, fold_send_done(tally, &view->tally, &event));
        return true;
    case REQUEST_RECV:
        if (!received_fill(&event, request, status))
            return false;
        view_page_select(view, event.peer);
        LOG_RECORD(log, view, &event, 0, fold_recv_done(tally, &view->tally, &event));
        return true;
    case REQUEST_COLL:
        event.kind = RECORD_COLL_DONE;
        LOG_RECORD(log, view, &event, (uint32_t)event.tag, fold_coll_done(tally, &view->tally, &event, NULL));
        return true;
    case REQUEST_RMA:
        event.kind = RECORD_RMA_DONE;
        LOG_RECORD(log, view, &event, 0, fold_wait(tally, &view->tally));
        return true;
    default:
        return false;
    }
}

void request_record(struct log *log, const struct request *request, const MPI_Status *status, bool failed)
{
    if (failed || !request_record_usual(log, request, status))
        request_record_any(log, request, status, failed);
}

void gone_record(struct log *log, const struct request *request, unsigned kind)
{
    struct view *view = request_view(log, request);
    struct event event = request_event(request);
    event.kind = (uint16_t)kind;
    event.tag = request_receives(request);
    log_record(log, view, &event, 0);
    if (request->type == REQUEST_PAIR) {
        event = half_event(request);
        event.kind = RECORD_FREED | EVENT_FAILED;
        event.tag = 0;
        log_record(log, view, &event, 0);
    }
}

void displaced_record(struct log *log)
{
    while (log->requests.displaced) {
        struct request *request = log->requests.displaced;
        log->requests.displaced = request->next;
        if (request->state == REQUEST_ACTIVE && !request->quiet && request->type != REQUEST_GENERAL) {
            run_lost(&book.run, LOSS_UNSEEN_COMPLETION, 1);
            if (request->type != REQUEST_MATCHED)
                gone_record(log, request, RECORD_FREED | EVENT_FAILED);
        }
        request_release(request);
    }
    for (uint32_t i = 0; i < log->requests.unkept_count; i++) {
        struct comm *comm = log->requests.unkept[i].comm ? book.comms[log->requests.unkept[i].comm] : NULL;
        log_record(log, comm ? view_of(&log->own, comm) : NULL, &log->requests.unkept[i], 0);
    }
    log->requests.unkept_count = 0;
    raise_finish(log);
}

/* Returns the class of a request's own error. */
static int request_error_class(const MPI_Status *status, int result)
{
    int class = MPI_SUCCESS;
    if (result != MPI_SUCCESS)
        native.Error_class(result, &class);
    if (class == MPI_ERR_IN_STATUS && status) {
        class = MPI_SUCCESS;
        if (status->MPI_ERROR != MPI_SUCCESS)
            native.Error_class(status->MPI_ERROR, &class);
    }
    return class;
}

bool request_failed(const MPI_Status *status, int result)
{
    int class = request_error_class(status, result);
    return class != MPI_SUCCESS && (class != MPI_ERR_TRUNCATE || !status); /* a truncated message has arrived */
}

bool request_cut_off(const struct request *request, const MPI_Status *status, int result, MPI_Status *corrected)
{
    if (!status || !request_receives(request) || request_error_class(status, result) != MPI_ERR_TRUNCATE)
        return false;
    *corrected = *status;
    abi_status_bytes_set(corrected, request->posted.bytes);
    return true;
}
