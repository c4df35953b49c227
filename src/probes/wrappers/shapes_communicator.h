/*
 * Shapes of calls that make and free communicators.
 */
#ifndef MPIT_PROBES_SHAPES_COMMUNICATOR_H
#define MPIT_PROBES_SHAPES_COMMUNICATOR_H

#include "wrappers/shapes.h"

/* What distinguishes the name of the new one; the words are parameters of the wrapper (calls.table). */
#define ORIGIN_dup .mark = MARK_NONE, .equal = true
#define ORIGIN_cart .mark = MARK_NONE
#define ORIGIN_graph .mark = MARK_NONE
#define ORIGIN_dist_graph .mark = MARK_NONE
#define ORIGIN_merge .mark = MARK_NONE
#define ORIGIN_split .mark = MARK_COLOR, .tag = color
#define ORIGIN_split_type .mark = MARK_GROUP
#define ORIGIN_create .mark = MARK_GROUP
#define ORIGIN_cart_sub .mark = MARK_GROUP
#define ORIGIN_create_group .mark = MARK_TAG, .tag = tag, .by_name = true
#define ORIGIN_intercomm .mark = MARK_TAG, .tag = tag, .by_name = true, .apart = true
#define ORIGIN_spawn .mark = MARK_PARENTS, .by_name = true, .apart = true
#define ORIGIN_connect .mark = MARK_GROUP, .by_name = true, .apart = true
#define ORIGIN_join ORIGIN_connect
#define ORIGIN_from_group .mark = MARK_TEXT, .text = stringtag, .by_name = true, .apart = true
#define ORIGIN_from_groups ORIGIN_from_group

/* `view` is that of the communicator which the call is charged to; NULL where it has none. */
static inline void comm_made_leave(struct probe *probe, enum call kind, struct view *view, int result,
                                   struct comm_origin origin, const MPI_Comm *newcomm)
{
    struct log *log = probe->log;
    if (result == MPI_SUCCESS && !origin.by_name)
        origin.number = comm_creation_number(view);
    struct event event = {.kind = (uint16_t)kind, .peer = PEER_NONE};
    probe_leave(probe, FOLD_COMM, 0, view, result, event, 0);
    if (result == MPI_SUCCESS)
        comm_created(log, view, &origin, *newcomm, kind, probe_is_quiet(probe));
    probe_finish(probe);
}

#define SHAPE_COMM_CREATE(kind, name, detail, large, call, comm, ...)                                                  \
    do {                                                                                                               \
        struct probe probe;                                                                                            \
        struct view *view;                                                                                             \
        if (!enter(&probe, kind, comm, PEER_NONE, &view))                                                              \
            return NEXT(name) call;                                                                                    \
        int result = BELOW(probe.log, (*next.name)call);                                                               \
        view_settle(&probe, result, comm, &view);                                                                      \
        comm_made_leave(&probe, kind, view, result,                                                                    \
                        (struct comm_origin){.operation = #detail, .from = comm, ORIGIN_##detail}, newcomm);           \
        probe_close(&probe);                                                                                           \
        return result;                                                                                                 \
    } while (0)

/* Out of no communicator: the call is charged to none. */
#define SHAPE_COMM_FOUND(kind, name, detail, large, call, ...)                                                         \
    do {                                                                                                               \
        struct probe probe;                                                                                            \
        if (!probe_enter(&probe, kind, 0, PEER_NONE))                                                                  \
            return NEXT(name) call;                                                                                    \
        int result = BELOW(probe.log, (*next.name)call);                                                               \
        comm_made_leave(&probe, kind, NULL, result,                                                                    \
                        (struct comm_origin){.operation = #detail, .from = native.comm_null, ORIGIN_##detail},         \
                        newcomm);                                                                                      \
        probe_close(&probe);                                                                                           \
        return result;                                                                                                 \
    } while (0)

/* Known since MPI_Init, unless that was another tool's. */
#define SHAPE_COMM_PARENT(kind, name, detail, large, call, parent)                                                     \
    do {                                                                                                               \
        struct probe probe;                                                                                            \
        if (!probe_enter(&probe, kind, 0, PEER_NONE))                                                                  \
            return NEXT(name) call;                                                                                    \
        int result = BELOW(probe.log, (*next.name)call);                                                               \
        if (result == MPI_SUCCESS)                                                                                     \
            comm_parent_add();                                                                                         \
        call_leave(&probe, kind, result);                                                                              \
        probe_close(&probe);                                                                                           \
        return result;                                                                                                 \
    } while (0)

/* Both MPIs set the new handle before they return. The handle is kept, not the program's variable, which may go away
 * while the request is under way. */
static inline void idup_leave(struct probe *probe, enum call kind, MPI_Comm comm, struct view *view, int result,
                              const MPI_Comm *newcomm, const MPI_Request *request)
{
    view_settle(probe, result, comm, &view);
    struct event event = {.kind = (uint16_t)kind, .peer = PEER_NONE};
    struct posted posted = posted_of(probe, view, kind, REQUEST_COMM, &event, request);
    uint32_t number = result == MPI_SUCCESS ? comm_creation_number(view) : 0;
    struct request *made = result == MPI_SUCCESS ? request_of(probe, &posted) : NULL;
    if (made) {
        struct request_more *more = request_more(made);
        more->newcomm = *newcomm;
        more->number = number;
        request_keep(probe, made, abi_handle_of_request(*request));
    }
    probe_leave(probe, FOLD_COMM, 0, view, result, event, 0);
    posted_finish(probe->log);
    probe_finish(probe);
}

#define SHAPE_COMM_IDUP(kind, name, detail, large, call, comm, ...)                                                    \
    do {                                                                                                               \
        struct probe probe;                                                                                            \
        struct view *view;                                                                                             \
        if (!enter(&probe, kind, comm, PEER_NONE, &view))                                                              \
            return NEXT(name) call;                                                                                    \
        int result = BELOW(probe.log, (*next.name)call);                                                               \
        idup_leave(&probe, kind, comm, view, result, newcomm, request);                                                \
        probe_close(&probe);                                                                                           \
        return result;                                                                                                 \
    } while (0)

/* Collective by the standard; neither data nor a communicator comes of it. */
static inline void comm_call_leave(struct probe *probe, enum call kind, MPI_Comm comm, struct view *view, int result)
{
    view_settle(probe, result, comm, &view);
    struct event event = {.kind = (uint16_t)kind, .peer = PEER_NONE};
    probe_leave(probe, FOLD_COMM_CALL, 0, view, result, event, 0);
}

#define SHAPE_COMM_CALL(kind, name, detail, large, call, comm, ...)                                                    \
    do {                                                                                                               \
        struct probe probe;                                                                                            \
        struct view *view;                                                                                             \
        if (!enter(&probe, kind, comm, PEER_NONE, &view))                                                              \
            return NEXT(name) call;                                                                                    \
        int result = BELOW(probe.log, (*next.name)call);                                                               \
        comm_call_leave(&probe, kind, comm, view, result);                                                             \
        probe_close(&probe);                                                                                           \
        return result;                                                                                                 \
    } while (0)

/* Charged to the parent, like the creation. */
static inline void comm_free_leave(struct probe *probe, enum call kind, struct view *view, int result)
{
    struct log *log = probe->log;
    struct event event = {.kind = (uint16_t)kind, .peer = PEER_NONE};
    struct comm *parent = view ? view->comm->up : NULL;
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
        int result = BELOW(probe.log, (*next.name)call);                                                               \
        probe.log->freeing = outer;                                                                                    \
        comm_free_leave(&probe, kind, view, result);                                                                   \
        probe_close(&probe);                                                                                           \
        return result;                                                                                                 \
    } while (0)

static inline void comm_name_leave(struct probe *probe, enum call kind, MPI_Comm comm, const char *text, int result)
{
    struct view *view = comm_view(probe->log, comm);
    view_settle(probe, result, comm, &view);
    if (result == MPI_SUCCESS && view && text)
        book_comm_label(view->comm, text, COMM_LABEL_BYTES);
    probe_leave(probe, FOLD_CALL, 0, NULL, result, (struct event){.kind = (uint16_t)kind, .peer = PEER_NONE}, 0);
    probe_finish(probe);
}

#define SHAPE_COMM_NAME(kind, name, detail, large, call, comm, text)                                                   \
    do {                                                                                                               \
        struct probe probe;                                                                                            \
        if (!probe_enter(&probe, kind, 0, PEER_NONE))                                                                  \
            return NEXT(name) call;                                                                                    \
        int result = BELOW(probe.log, (*next.name)call);                                                               \
        comm_name_leave(&probe, kind, comm, text, result);                                                             \
        probe_close(&probe);                                                                                           \
        return result;                                                                                                 \
    } while (0)

#endif
