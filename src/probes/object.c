#include "shapes.h"

#include "commreuse.h"

void object_made(struct comm_map **objects, uint64_t handle, struct comm *comm)
{
    struct comm *stale = book_object_find(objects, handle); /* of one that was freed out of sight */
    comm_hold(comm);
    book_object_set(objects, handle, comm);
    if (stale)
        comm_let_go(stale);
}

void object_leave(struct probe *probe, enum fold_shape shape, enum call kind, struct view *view, int result,
                  int32_t peer, uint64_t bytes)
{
    struct event event = {.kind = (uint16_t)kind, .peer = peer, .bytes = bytes};
    if (!view && result == MPI_SUCCESS) /* made out of sight: a call, and charged to nothing */
        run_lost(&book.run, LOSS_UNKNOWN_COMM, 1);
    probe_leave(probe, shape, 0, view, result, event, 0);
}

void object_posted(struct probe *probe, enum fold_shape shape, enum call kind, struct view *view, int result,
                   int32_t peer, uint64_t bytes, const MPI_Request *request)
{
    struct event event = {.kind = (uint16_t)kind, .peer = peer};
    struct posted posted = posted_of(probe, view, kind, shape == FOLD_RMA ? REQUEST_RMA : REQUEST_IO, &event, request);
    struct request *made = result == MPI_SUCCESS ? request_of(probe, &posted) : NULL;
    if (made)
        request_keep(probe, made, abi_handle_of_request(*request));
    object_leave(probe, shape, kind, view, result, peer, bytes);
    posted_finish(probe->log);
}

void object_freed(struct probe *probe, enum fold_shape shape, enum call kind, struct comm_map **objects,
                  uint64_t handle, struct view *view, int result)
{
    if (result != MPI_SUCCESS && view)
        book_object_set(objects, handle, view->comm);
    object_leave(probe, shape, kind, view, result, PEER_NONE, 0);
    if (result == MPI_SUCCESS && view)
        comm_let_go(view->comm);
}
