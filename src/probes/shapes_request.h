/*
 * Shapes of calls that post a request: nonblocking and persistent sends and receives, and starting them.
 */
#ifndef MPIT_PROBES_SHAPES_REQUEST_H
#define MPIT_PROBES_SHAPES_REQUEST_H

#include "shapes.h"

HOT struct posted posted_of(const struct probe *probe, struct view *view, enum call kind, enum request_type type,
                            const struct event *event, const MPI_Request *where)
{
    return (struct posted){.view = view,
                           .begin = probe->begin,
                           .where = where,
                           .bytes = event->bytes,
                           .peer = event->peer,
                           .tag = event->tag,
                           .kind = (uint16_t)kind,
                           .type = (uint8_t)type};
}

/* A request that the call has returned, for the table; the caller puts it in. NULL: counted as lost. */
struct request *request_of(struct probe *probe, const struct posted *posted);
/* Puts a plain send or receive into the table behind. */
void post_behind(struct probe *probe, const struct posted *posted, uint64_t handle);

/* Posts a plain send or receive. */
HOT void request_post(struct probe *probe, struct view *view, enum call kind, enum request_type type,
                      const struct event *event, const MPI_Request *where)
{
    uint64_t handle = abi_handle_of_request(*where);
    struct posted *place = front_post(handle);
    if (__builtin_expect(place == NULL, 0)) {
        struct posted posted = posted_of(probe, view, kind, type, event, where);
        post_behind(probe, &posted, handle);
        return;
    }
    place->view = view;
    place->begin = probe->begin;
    place->where = where;
    place->bytes = event->bytes;
    place->peer = event->peer;
    place->tag = event->tag;
    place->kind = (uint16_t)kind;
    place->type = (uint8_t)type;
}

HOT void isent_emit(struct probe *probe, enum call kind, struct view *view, int result, int dest, int tag,
                    uint64_t bytes, uint16_t flag, const MPI_Request *request)
{
    struct event event = {.kind = (uint16_t)(kind | flag), .peer = peer_rank(dest), .tag = tag, .bytes = bytes};
    if (__builtin_expect(result == MPI_SUCCESS, 1)) {
        if (view && event.peer >= 0)
            view_page_select(view, event.peer);
        request_post(probe, view, kind, REQUEST_SEND, &event, request);
    }
    probe_leave(probe, FOLD_POST_SEND, 0, view, result, event, 0);
}

void isent_leave_rare(struct probe *probe, enum call kind, MPI_Comm comm, struct view *view, int result, int dest,
                      int tag, uint64_t bytes, const MPI_Request *request);

HOT void isent_leave(struct probe *probe, enum call kind, MPI_Comm comm, struct view *view, int result, int dest,
                     int tag, int64_t count, MPI_Datatype type, const MPI_Request *request)
{
    uint64_t bytes = sent_bytes(probe, result, dest, count, type);
    if (is_plain(probe, view, result, dest, bytes))
        isent_emit(probe, kind, view, MPI_SUCCESS, dest, tag, bytes, 0, request);
    else
        isent_leave_rare(probe, kind, comm, view, result, dest, tag, bytes, request);
}

#define SHAPE_ISEND(kind, name, detail, large, call, buf, count, type, dest, tag, comm, request)                       \
    do {                                                                                                               \
        struct probe probe;                                                                                            \
        struct view *view;                                                                                             \
        if (!enter(&probe, kind, comm, peer_rank(dest), &view))                                                        \
            return NEXT(name) call;                                                                                    \
        int result = (*next.name)call;                                                                                 \
        isent_leave(&probe, kind, comm, view, result, dest, tag, count, type, request);                                \
        return result;                                                                                                 \
    } while (0)

/* `room`: of the program's buffer, in bytes. */
HOT void ireceive_emit(struct probe *probe, enum call kind, struct view *view, int result, int source, int tag,
                       uint64_t room, const MPI_Request *request)
{
    struct event event = {.kind = (uint16_t)kind, .peer = peer_rank(source), .tag = tag, .bytes = room};
    if (__builtin_expect(result == MPI_SUCCESS, 1))
        request_post(probe, view, kind, REQUEST_RECV, &event, request);
    probe_leave(probe, FOLD_POST_RECV, 0, view, result, event, 0);
}

void ireceive_leave_rare(struct probe *probe, enum call kind, MPI_Comm comm, struct view *view, int result, int source,
                         int tag, uint64_t room, const MPI_Request *request);

HOT void ireceive_leave(struct probe *probe, enum call kind, MPI_Comm comm, struct view *view, int result, int source,
                        int tag, int64_t count, MPI_Datatype type, const MPI_Request *request)
{
    uint64_t room = __builtin_expect(result == MPI_SUCCESS, 1) ? log_bytes(probe->log, count, type) : 0;
    if (is_plain(probe, view, result, 0, 0))
        ireceive_emit(probe, kind, view, MPI_SUCCESS, source, tag, room, request);
    else
        ireceive_leave_rare(probe, kind, comm, view, result, source, tag, room, request);
}

#define SHAPE_IRECV(kind, name, detail, large, call, buf, count, type, source, tag, comm, request)                     \
    do {                                                                                                               \
        struct probe probe;                                                                                            \
        struct view *view;                                                                                             \
        if (!enter(&probe, kind, comm, peer_rank(source), &view))                                                      \
            return NEXT(name) call;                                                                                    \
        int result = (*next.name)call;                                                                                 \
        ireceive_leave(&probe, kind, comm, view, result, source, tag, count, type, request);                           \
        return result;                                                                                                 \
    } while (0)

/* A persistent request is made: a call, and no message before it is started. */
void persistent_leave(struct probe *probe, enum call kind, enum request_type type, MPI_Comm comm, struct view *view,
                      int result, int peer, int tag, uint64_t bytes, const MPI_Request *request);

#define SHAPE_SEND_INIT(kind, name, detail, large, call, buf, count, type, dest, tag, comm, request)                   \
    do {                                                                                                               \
        struct probe probe;                                                                                            \
        struct view *view;                                                                                             \
        if (!enter(&probe, kind, comm, peer_rank(dest), &view))                                                        \
            return NEXT(name) call;                                                                                    \
        int result = (*next.name)call;                                                                                 \
        persistent_leave(&probe, kind, REQUEST_SEND, comm, view, result, dest, tag,                                    \
                         result == MPI_SUCCESS ? native_bytes(count, type) : 0, request);                              \
        return result;                                                                                                 \
    } while (0)

#define SHAPE_RECV_INIT(kind, name, detail, large, call, buf, count, type, source, tag, comm, request)                 \
    do {                                                                                                               \
        struct probe probe;                                                                                            \
        struct view *view;                                                                                             \
        if (!enter(&probe, kind, comm, peer_rank(source), &view))                                                      \
            return NEXT(name) call;                                                                                    \
        int result = (*next.name)call;                                                                                 \
        persistent_leave(&probe, kind, REQUEST_RECV, comm, view, result, source, tag,                                  \
                         result == MPI_SUCCESS ? native_bytes(count, type) : 0, request);                              \
        return result;                                                                                                 \
    } while (0)

#define SHAPE_START(kind, name, detail, large, call, request)                                                          \
    do {                                                                                                               \
        struct completion c;                                                                                           \
        if (!completion_enter_one(&c, kind, request))                                                                  \
            return NEXT(name) call;                                                                                    \
        int result = (*next.name)call;                                                                                 \
        completion_started(&c, result);                                                                                \
        return result;                                                                                                 \
    } while (0)

#define SHAPE_STARTALL(kind, name, detail, large, call, count, requests)                                               \
    do {                                                                                                               \
        struct completion c;                                                                                           \
        if (!completion_enter(&c, kind, count, requests, false))                                                       \
            return NEXT(name) call;                                                                                    \
        int result = (*next.name)call;                                                                                 \
        completion_started(&c, result);                                                                                \
        return result;                                                                                                 \
    } while (0)

#endif
