/*
 * How calls leave the recorder that are neither messages (message.c, posting.c) nor on windows or files (objects.c).
 * Also the slow ways in.
 */
#include "registry/commreuse.h"
#include "requests/completion.h"
#include "thread/refusal.h"
#include "wrappers/collectives.h"
#include "wrappers/communicators.h"
#include "wrappers/completing.h"
#include "wrappers/posting.h"

bool enter_comm_slowly(struct probe *probe, enum call kind, MPI_Comm comm, int32_t peer)
{
    if (!probe_open(probe))
        return false;
    probe->view = comm_view(probe->log, comm);
    probe_begin(probe, kind, probe->view ? probe->view->slot : 0, peer);
    return true;
}

void leave_call(struct probe *probe, enum call kind, int result)
{
    struct event event = {.kind = (uint16_t)kind, .peer = PEER_NONE};
    probe_leave(probe, FOLD_CALL, 0, NULL, result, event, 0);
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

void leave_named(struct probe *probe, enum call kind, int result, uint64_t begin)
{
    struct event event = {.kind = (uint16_t)kind, .tag = 1, .bytes = begin};
    probe_leave(probe, FOLD_COMPLETION, 0, NULL, result, event, 0);
    probe_finish(probe);
}

void leave_cancel(struct probe *probe, enum call kind, int result, const MPI_Request *request)
{
    struct event event = {.kind = (uint16_t)kind, .tag = request != NULL};
    probe_leave(probe, FOLD_COMPLETION, 0, NULL, result, event, 0);
    probe_finish(probe);
}

/* Like a test, but the request stays, and another call completes it. While threads run at once the table may be
 * changing. Then it is left open which request it was. */
void leave_get_status(struct probe *probe, enum call kind, int result, MPI_Request request, const int *flag)
{
    uint64_t handle = abi_handle_of_request(request);
    bool pending = result == MPI_SUCCESS && !*flag && !book_is_shared();
    leave_named(probe, kind, result, pending ? request_begin(handle) : 0);
    if (result == MPI_SUCCESS && *flag)
        request_told(probe->log, handle, probe->begin);
}

void leave_get_statuses(struct probe *probe, enum call kind, int result, const MPI_Request *requests, int complete,
                        const int *indices)
{
    leave_named(probe, kind, result, 0);
    for (int i = 0; i < complete; i++) {
        MPI_Request request = requests[indices ? indices[i] : i];
        if (request != native.request_null)
            request_told(probe->log, abi_handle_of_request(request), probe->begin);
    }
}

/* ---- collectives ------------------------------------------------------------------------------------------------- */

void leave_coll(struct probe *probe, enum call kind, int result, int32_t root, struct coll_bytes bytes)
{
    struct event event = {.kind = (uint16_t)kind, .peer = root, .bytes = bytes.in};
    probe_leave(probe, FOLD_COLL, call_table[kind].op, probe->view, result, event, bytes.out);
}

void leave_icoll(struct probe *probe, enum call kind, int result, int32_t root, struct coll_bytes bytes,
                 const MPI_Request *request)
{
    struct event event = {.kind = (uint16_t)kind, .peer = root};
    struct posted posted = posted_of(probe, kind, REQUEST_COLL, &event, request);
    posted.bytes = bytes.in;
    posted.bytes_out = bytes.out;
    if (result == MPI_SUCCESS)
        request_post(probe, &posted, abi_handle_of_request(*request));
    probe_leave(probe, FOLD_POST_COLL, call_table[kind].op, probe->view, result, event, 0);
    posted_finish(probe->log);
}

void leave_coll_init(struct probe *probe, enum call kind, int result, int32_t root, struct coll_bytes bytes,
                     const MPI_Request *request)
{
    struct event event = {.kind = (uint16_t)kind, .peer = root};
    struct posted posted = posted_of(probe, kind, REQUEST_COLL, &event, request);
    posted.bytes = bytes.in;
    posted.bytes_out = bytes.out;
    posted.persistent = true;
    if (result == MPI_SUCCESS)
        request_post(probe, &posted, abi_handle_of_request(*request));
    probe_leave(probe, FOLD_COLL_INIT, call_table[kind].op, probe->view, result, event, 0);
    posted_finish(probe->log);
}

void collective_announce(enum call kind, MPI_Comm comm, wrapper_call call)
{
    struct log *log = log_refused() ? NULL : log_get();
    uintptr_t outer;
    if (!log || (COMPARED_LOAD(&call_modes[kind]) & MODE_QUIET) || !log_in(log, stack_entered(), &outer))
        return;
    const struct path_way *before = path_announce(log, kind, call);
    raise_begin(log, comm_view(log, comm), kind);
    path_restore(log, before);
    log_out(log, outer);
}

/* ---- communicators ----------------------------------------------------------------------------------------------- */

void leave_comm_create(struct probe *probe, enum call kind, int result, struct comm_origin origin,
                       const MPI_Comm *newcomm)
{
    struct log *log = probe->log;
    struct view *view = probe->view;
    if (result == MPI_SUCCESS && !origin.by_name)
        origin.number = comm_creation_number(view);
    struct event event = {.kind = (uint16_t)kind, .peer = PEER_NONE};
    probe_leave(probe, FOLD_COMM, 0, view, result, event, 0);
    origin.path = probe_path(probe);
    if (result == MPI_SUCCESS)
        comm_created(log, view, &origin, *newcomm, kind, probe_is_quiet(probe));
    if (result == MPI_SUCCESS && *newcomm != native.comm_null && !probe_is_quiet(probe))
        topology_record(log, *newcomm);
    probe_finish(probe);
}

/* Both MPIs set the new handle before they return. The handle is kept, not the program's variable, which may go away
 * while the request is under way. */
void leave_comm_idup(struct probe *probe, enum call kind, MPI_Comm comm, int result, const MPI_Comm *newcomm,
                     const MPI_Request *request)
{
    bool known = view_settle(probe, result, comm);
    struct event event = {.kind = (uint16_t)kind, .peer = PEER_NONE};
    struct posted posted = posted_of(probe, kind, REQUEST_COMM, &event, request);
    uint32_t number = known ? comm_creation_number(probe->view) : 0;
    struct request *made = result == MPI_SUCCESS ? request_post(probe, &posted, abi_handle_of_request(*request)) : NULL;
    if (made) {
        request_hold(made); /* the parent of the new communicator, which is made when the request is out of the table */
        request_more(made)->newcomm = *newcomm;
        request_more(made)->number = number;
    }
    probe_leave(probe, FOLD_COMM, 0, probe->view, result, event, 0);
    posted_finish(probe->log);
    probe_finish(probe);
}

void leave_comm_call(struct probe *probe, enum call kind, MPI_Comm comm, int result)
{
    view_settle(probe, result, comm);
    struct event event = {.kind = (uint16_t)kind, .peer = PEER_NONE};
    probe_leave(probe, FOLD_COMM_CALL, 0, probe->view, result, event, 0);
}

struct view *comm_free_begin(struct probe *probe, const MPI_Comm *comm)
{
    struct log *log = probe->log;
    struct view *outer = log->freeing_comm;
    probe->view = comm ? comm_view(log, *comm) : NULL;
    if (probe->view) {
        book_comm_retire(probe->view->comm); /* before the library can give the handle to another one */
        log->freeing_comm = probe->view;
    }
    return outer;
}

void leave_comm_free(struct probe *probe, enum call kind, int result, struct view *outer)
{
    struct log *log = probe->log;
    struct view *view = probe->view;
    struct event event = {.kind = (uint16_t)kind, .peer = PEER_NONE};
    struct comm *parent = view ? view->comm->up : NULL;
    log->freeing_comm = outer;
    probe_leave(probe, FOLD_COMM, 0, parent ? view_of(&log->own, parent) : NULL, result, event, 0);
    if (result == MPI_SUCCESS && view && !probe_is_quiet(probe)) {
        struct event destroyed = {.begin = log->own.tally.end, .kind = RECORD_DESTROYED, .peer = PEER_NONE};
        log_record(log, view, &destroyed, 0);
        raise_comm(log, COMM_FREEING, view->comm, kind);
    }
    if (result != MPI_SUCCESS && view)
        book_comm_restore(view->comm);
    probe_finish(probe);
    if (result == MPI_SUCCESS && view)
        book_comm_release(view->comm);
}

void leave_comm_name(struct probe *probe, enum call kind, MPI_Comm comm, const char *text, int result)
{
    probe->view = comm_view(probe->log, comm);
    if (view_settle(probe, result, comm) && text)
        book_comm_label(probe->view->comm, text, COMM_LABEL_BYTES);
    leave_call(probe, kind, result);
    probe_finish(probe);
}

void leave_comm_parent(struct probe *probe, enum call kind, int result)
{
    if (result == MPI_SUCCESS)
        comm_parent_add();
    leave_call(probe, kind, result);
}
