/* MPI_Start and MPI_Startall: persistent requests get under way. */
#include "requests/completion.h"
#include "requests/persistence.h"
#include "requests/usual.h"
#include "thread/raising.h"
#include "thread/refusal.h"
#include "wrappers/completing.h"

void start_leave(struct probe *probe, enum call kind, MPI_Request *handle, uint64_t saved, struct request *taken,
                 int result)
{
    struct completion c;
    if (result == MPI_SUCCESS && taken == LEFT_THERE && !probe->unusual && handle &&
        usual_one_started(probe->log, probe->begin, kind, front_place(saved), saved, handle))
        return;
    c.probe = *probe;
    completion_set_one(&c, kind, handle, saved, taken);
    completion_started(&c, result);
}

static void started_record(struct completion *c, struct request *request)
{
    struct log *log = c->probe.log;
    struct tally *tally = &log->own.tally;
    struct view *view = request_view(log, request);
    struct event event = {.begin = c->probe.begin, .duration = request->posted.kind, .peer = request->posted.peer};
    if (request->posted.type == REQUEST_COLL) { /* its bytes are counted when it is complete */
        event.kind = RECORD_COLL_POSTED;
    } else {
        bool send = request->posted.type == REQUEST_SEND;
        event.kind = send ? RECORD_SEND_POSTED | size_flag(request->posted.bytes) : RECORD_RECV_POSTED;
        event.tag = request->posted.tag;
        event.bytes = request->posted.bytes;
        if (view && event.peer >= 0)
            view_page_select(view, event.peer);
    }
    request->posted.begin = c->probe.begin;
    if (request->posted.type == REQUEST_COLL)
        LOG_RECORD(log, view, &event, 0, fold_coll_posted(tally, &view->tally, &event));
    else if (request->posted.type == REQUEST_SEND)
        LOG_RECORD(log, view, &event, 0, fold_send_posted(tally, &view->tally, &event));
    else
        LOG_RECORD(log, view, &event, 0, fold_recv_posted(tally, &view->tally, &event));
    request->active = true;
    request->quiet = false;
    request_started(request);
}

void starting_announce(enum call kind, int count, const MPI_Request *requests, wrapper_call call)
{
    struct log *log = call_modes[kind] & MODE_QUIET || log_refused() ? NULL : log_get();
    uintptr_t outer;
    if (!log || !log_in(log, stack_entered(), &outer))
        return;
    const struct path_way *before = path_announce(log, kind, call);
    for (int i = 0; requests && i < count; i++) {
        uint64_t handle = abi_handle_of_request(requests[i]);
        struct request request;
        if (request_look(handle, &request) && request.posted.type == REQUEST_COLL)
            raise_begin(log, request_view(log, &request), request.posted.kind);
    }
    path_restore(log, before);
    log_out(log, outer);
}

/* If the last message of a persistent request is not quite gone, Open MPI starts a new request, under a new handle. */
static void handle_follow(struct completion *c, int index)
{
    uint64_t now = abi_handle_of_request(c->handles[index]);
    if (now == c->saved[index])
        return;
    if (!c->taken || (c->taken[index] && c->taken[index]->stays)) {
        struct request *request = request_remove(c->probe.log, c->saved[index], &c->handles[index]);
        if (request) {
            request_put(request, now);
            request->stays = c->taken != NULL;
        }
    }
    c->saved[index] = now;
}

/* Started by a call that is not recorded. */
static void started_quiet(struct request *request)
{
    request->posted.begin = 0;
    request->active = request->quiet = true;
}

void completion_started(struct completion *c, int result)
{
    struct log *log = c->probe.log;
    if (completion_is_usual(c, result) &&
        usual_all_started(log, c->probe.begin, c->kind, c->count, c->handles, c->saved)) {
        completion_end(c);
        return;
    }
    for (int i = 0; result == MPI_SUCCESS && i < c->count; i++) {
        handle_follow(c, i);
        if (!c->taken)
            request_front_yield(log, c->saved[i]);
        struct request *request = c->taken ? c->taken[i] : request_peek(c->saved[i]);
        if (!request)
            run_lost(&book.run, LOSS_UNKNOWN_REQUEST, 1);
        else if (request->persistent)
            c->done[c->done_count++] = request;
    }
    struct event event = {.kind = (uint16_t)c->kind, .peer = c->done_count, .tag = c->count};
    probe_leave(&c->probe, FOLD_START, 0, NULL, result, event, 0);
    for (int i = 0; i < c->done_count; i++)
        if (probe_is_quiet(&c->probe))
            started_quiet(c->done[i]);
        else
            started_record(c, c->done[i]);
    for (int i = 0; result != MPI_SUCCESS && c->taken && i < c->count; i++)
        if (c->taken[i] && c->taken[i]->starting)
            request_started(c->taken[i]);
    untaken_put_back(c);
    completion_end(c);
}
