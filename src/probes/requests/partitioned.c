/* Partitioned messages (shapes_partitioned.h). */
#include "wrappers/shapes.h"

void partitioned_leave(struct probe *probe, enum call kind, enum request_type type, MPI_Comm comm, struct view *view,
                       int result, int peer, int tag, uint64_t bytes, const MPI_Request *request)
{
    view_settle(probe, result, comm, &view);
    if (result == MPI_SUCCESS && view)
        book_object_set(&book.partitioned, abi_handle_of_request(*request), view->comm);
    persistent_leave(probe, kind, type, comm, view, result, peer, tag, bytes, request);
}

bool partition_enter(struct probe *probe, enum call kind, MPI_Request request, struct view **view)
{
    if (!probe_open(probe))
        return false;
    struct comm *comm = book_object_find(&book.partitioned, abi_handle_of_request(request));
    *view = comm ? view_of(&probe->log->own, comm) : NULL;
    probe_begin(probe, kind, *view ? (*view)->slot : 0, PEER_NONE);
    return true;
}

void partition_leave(struct probe *probe, enum call kind, struct view *view, int result)
{
    struct event event = {.kind = (uint16_t)kind, .peer = PEER_NONE};
    if (!view && result == MPI_SUCCESS)
        run_lost(&book.run, LOSS_UNKNOWN_COMM, 1);
    probe_leave(probe, FOLD_P2P, 0, view, result, event, 0);
}
