/*
 * Shapes of calls that make and free communicators.
 */
#ifndef MPIT_PROBES_SHAPES_COMMUNICATOR_H
#define MPIT_PROBES_SHAPES_COMMUNICATOR_H

#include "shapes.h"

static inline void comm_create_leave(struct probe *probe, enum call kind, MPI_Comm comm, struct view *view, int result,
                                     struct comm_origin origin, const MPI_Comm *newcomm)
{
    struct log *log = probe->log;
    view_settle(probe, result, comm, &view);
    if (result == MPI_SUCCESS && !origin.number)
        origin.number = comm_creation_number(view);
    struct event event = {.kind = (uint16_t)kind, .peer = PEER_NONE};
    probe_leave(probe, FOLD_COMM, 0, view, result, event, 0);
    if (result == MPI_SUCCESS)
        comm_created(log, view, &origin, *newcomm);
    raise_finish(log);
}

/* Children of one call that have different members are told apart by these. */
#define COMM_GROUP_dup false
#define COMM_GROUP_cart false
#define COMM_GROUP_graph false
#define COMM_GROUP_dist_graph false
#define COMM_GROUP_split_type true
#define COMM_GROUP_create true
#define COMM_GROUP_cart_sub true

#define SHAPE_COMM_CREATE(kind, name, detail, large, call, comm, ...)                                                  \
    do {                                                                                                               \
        struct probe probe;                                                                                            \
        struct view *view;                                                                                             \
        if (!enter(&probe, kind, comm, PEER_NONE, &view))                                                              \
            return NEXT(name) call;                                                                                    \
        int result = (*next.name)call;                                                                                 \
        comm_create_leave(&probe, kind, comm, view, result,                                                            \
                          (struct comm_origin){.operation = #detail, .by_group = COMM_GROUP_##detail}, newcomm);       \
        return result;                                                                                                 \
    } while (0)

#define SHAPE_COMM_SPLIT(kind, name, detail, large, call, comm, color, key, newcomm)                                   \
    do {                                                                                                               \
        struct probe probe;                                                                                            \
        struct view *view;                                                                                             \
        if (!enter(&probe, kind, comm, PEER_NONE, &view))                                                              \
            return NEXT(name) call;                                                                                    \
        int result = (*next.name)call;                                                                                 \
        comm_create_leave(&probe, kind, comm, view, result,                                                            \
                          (struct comm_origin){.operation = #detail, .has_color = true, .color = color}, newcomm);     \
        return result;                                                                                                 \
    } while (0)

/* Is *newcomm there until the request completes? Not where it belongs to the library's Fortran layer (fortran.c). */
#define IDUP_HANDLE_STAYS true

static inline void idup_leave(struct probe *probe, enum call kind, MPI_Comm comm, struct view *view, int result,
                              MPI_Comm *newcomm, bool stays, const MPI_Request *request)
{
    view_settle(probe, result, comm, &view);
    struct event event = {.kind = (uint16_t)kind, .peer = PEER_NONE};
    struct posted posted = posted_of(probe, view, kind, REQUEST_COMM, &event, request);
    struct request *made = result == MPI_SUCCESS ? request_of(probe, &posted) : NULL;
    if (made) {
        struct request_more *more = request_more(made);
        more->held = stays ? native.comm_null : *newcomm;
        more->newcomm = stays ? newcomm : &more->held;
        more->number = comm_creation_number(view);
        request_keep(probe, made, abi_handle_of_request(*request));
    }
    probe_leave(probe, FOLD_COMM, 0, view, result, event, 0);
    posted_finish(probe->log);
    raise_finish(probe->log);
}

#define SHAPE_COMM_IDUP(kind, name, detail, large, call, comm, newcomm, request)                                       \
    do {                                                                                                               \
        struct probe probe;                                                                                            \
        struct view *view;                                                                                             \
        if (!enter(&probe, kind, comm, PEER_NONE, &view))                                                              \
            return NEXT(name) call;                                                                                    \
        int result = (*next.name)call;                                                                                 \
        idup_leave(&probe, kind, comm, view, result, newcomm, IDUP_HANDLE_STAYS, request);                             \
        return result;                                                                                                 \
    } while (0)

/* Charged to the parent, like the creation. */
static inline void comm_free_leave(struct probe *probe, enum call kind, struct view *view, int result)
{
    struct log *log = probe->log;
    struct event event = {.kind = (uint16_t)kind, .peer = PEER_NONE};
    struct comm *parent = view ? book.comms[view->comm->parent] : NULL;
    probe_leave(probe, FOLD_COMM, 0, parent ? view_of(&log->own, parent) : NULL, result, event, 0);
    if (result == MPI_SUCCESS && view) {
        struct event destroyed = {.begin = log->own.tally.end, .kind = RECORD_DESTROYED, .peer = PEER_NONE};
        log_record(log, view, &destroyed, 0);
    } else if (view) {
        book_comm_restore(view->comm);
    }
    raise_finish(log);
}

#define SHAPE_COMM_FREE(kind, name, detail, large, call, comm_pointer)                                                 \
    do {                                                                                                               \
        struct probe probe;                                                                                            \
        struct view *view = NULL;                                                                                      \
        if (!probe_enter(&probe, kind, 0, PEER_NONE))                                                                  \
            return NEXT(name) call;                                                                                    \
        if (comm_pointer && (view = comm_view(probe.log, *comm_pointer)) != NULL)                                      \
            book_comm_retire(view->comm); /* before the library can give the handle to another one */                  \
        struct view *outer = probe.log->freeing;                                                                       \
        probe.log->freeing = view ? view : outer;                                                                      \
        int result = (*next.name)call;                                                                                 \
        probe.log->freeing = outer;                                                                                    \
        comm_free_leave(&probe, kind, view, result);                                                                   \
        return result;                                                                                                 \
    } while (0)

#endif
