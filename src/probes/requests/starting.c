/* MPI_Start and MPI_Startall: persistent requests get under way. */
#include "requests/completion.h"
#include "thread/raising.h"
#include "thread/refusal.h"
#include "wrappers/completing.h"

void start_leave(struct probe *probe, enum call kind, MPI_Request *handle, uint64_t saved, struct request *taken,
                 int result)
{
    struct completion c;
    c.probe = *probe;
    completion_set_one(&c, kind, handle, saved, taken);
    completion_started(&c, result);
}

static void started_record(struct completion *c, struct request *request)
{
    struct log *log = c->probe.log;
    struct tally *tally = &log->own.tally;
    struct view *view = request_view(log, request);
    struct event event = {.begin = c->probe.begin, .duration = request->posted.duration, .peer = request->posted.peer};
    if (request->type == REQUEST_COLL) { /* its bytes are counted when it is complete */
        event.kind = RECORD_COLL_POSTED;
    } else {
        bool send = request->type == REQUEST_SEND;
        event.kind = send ? RECORD_SEND_POSTED | size_flag(request->posted.bytes) : RECORD_RECV_POSTED;
        event.tag = request->posted.tag;
        event.bytes = request->posted.bytes;
        if (view && event.peer >= 0)
            view_page_select(view, event.peer);
    }
    request->posted.begin = c->probe.begin;
    if (request->type == REQUEST_COLL)
        LOG_RECORD(log, view, &event, 0, fold_coll_posted(tally, &view->tally, &event));
    else if (request->type == REQUEST_SEND)
        LOG_RECORD(log, view, &event, 0, fold_send_posted(tally, &view->tally, &event));
    else
        LOG_RECORD(log, view, &event, 0, fold_recv_posted(tally, &view->tally, &event));
    request->quiet = false;
    request_state_set(request, REQUEST_ACTIVE);
}

void starting_announce(enum call kind, int count, const MPI_Request *requests, wrapper_call call)
{
    struct log *log = COMPARED_LOAD(&call_modes[kind]) & MODE_QUIET || log_refused() ? NULL : log_get();
    uintptr_t outer;
    if (!log || !log_in(log, stack_entered(), &outer))
        return;
    const struct path_way *before = path_announce(log, kind, call);
    for (int i = 0; requests && i < count; i++) {
        uint64_t handle = abi_handle_of_request(requests[i]);
        const struct request *request = request_take_idle(handle, false);
        if (request && request->type == REQUEST_COLL)
            raise_begin(log, request_view(log, request), request->posted.duration);
    }
    path_restore(log, before);
    log_out(log, outer);
}

/* Returns the request that the call has started, or NULL: not known. If the last message of a persistent request is not
 * quite gone, Open MPI starts a new request, under a new handle. */
static struct request *request_of_start(struct completion *c, int index)
{
    uint64_t now = abi_handle_of_request(c->handles[index]);
    struct request *request = c->taken ? c->taken[index] : request_take_idle(c->saved[index], false);
    if (request && now != c->saved[index])
        request_rename(request, now);
    return request;
}

/* Started by a call that is not recorded. */
static void started_quiet(struct request *request)
{
    request->posted.begin = 0;
    request->quiet = true;
    request_state_set(request, REQUEST_ACTIVE);
}

void completion_started(struct completion *c, int result)
{
    for (int i = 0; result == MPI_SUCCESS && i < c->count; i++) {
        struct request *request = request_of_start(c, i);
        if (request)
            c->done[c->done_count++] = request;
        else
            run_lost(&book.run, LOSS_UNKNOWN_REQUEST, 1);
    }
    struct event event = {.kind = (uint16_t)c->kind, .peer = c->done_count, .tag = c->count};
    probe_leave(&c->probe, FOLD_START, 0, NULL, result, event, 0);
    for (int i = 0; i < c->done_count; i++)
        if (probe_is_quiet(&c->probe))
            started_quiet(c->done[i]);
        else
            started_record(c, c->done[i]);
    for (int i = 0; result != MPI_SUCCESS && c->taken && i < c->count; i++)
        if (c->taken[i] && c->taken[i]->state == REQUEST_STARTING)
            request_state_set(c->taken[i], REQUEST_IDLE);
    completion_end(c);
}
