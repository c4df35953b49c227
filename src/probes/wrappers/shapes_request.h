/*
 * Shapes of calls that post a request: nonblocking and persistent sends and receives, and starting them.
 */
#ifndef MPIT_PROBES_SHAPES_REQUEST_H
#define MPIT_PROBES_SHAPES_REQUEST_H

#include "wrappers/shapes.h"

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

/* Puts into the front what the call has posted under that handle. False: it goes behind. The front asks for no view,
 * and has no room for what is said beside it. */
HOT bool front_keeps(const struct probe *probe, const struct posted *posted, uint64_t handle)
{
    return posted->view && !probe_is_quiet(probe) && probe_weight(probe) <= 1 && front_keep(posted, handle);
}

/* Keeps a persistent request that the call has made. `bytes_out`: what a collective will get out. */
void persistent_keep(struct probe *probe, const struct posted *posted, uint64_t bytes_out, MPI_Request request);

/* A request that the call has returned, for the table; the caller puts it in. NULL: counted as lost. */
struct request *request_of(struct probe *probe, const struct posted *posted);
/* Puts it into the table, once the call has returned that handle. The call's leave ends with posted_finish. */
void request_keep(const struct probe *probe, struct request *request, uint64_t handle);
/* The same for a plain send or receive, which may go in front. */
void request_post(struct probe *probe, struct view *view, enum call kind, enum request_type type,
                  const struct event *event, const MPI_Request *where);
void isent_leave(struct probe *probe, enum call kind, MPI_Comm comm, struct view *view, int result, int dest, int tag,
                 int64_t count, MPI_Datatype type, const MPI_Request *request);

#define SHAPE_ISEND(kind, name, detail, large, call, buf, count, type, dest, tag, comm, request)                       \
    do {                                                                                                               \
        struct probe probe;                                                                                            \
        struct view *view;                                                                                             \
        if (!enter(&probe, kind, comm, peer_rank(dest), &view))                                                        \
            return NEXT(name) call;                                                                                    \
        int result = BELOW(probe.log, (*next.name)call);                                                               \
        isent_leave(&probe, kind, comm, view, result, dest, tag, count, type, request);                                \
        probe_close(&probe);                                                                                           \
        return result;                                                                                                 \
    } while (0)

void ireceive_leave(struct probe *probe, enum call kind, MPI_Comm comm, struct view *view, int result, int source,
                    int tag, int64_t count, MPI_Datatype type, const MPI_Request *request);

#define SHAPE_IRECV(kind, name, detail, large, call, buf, count, type, source, tag, comm, request)                     \
    do {                                                                                                               \
        struct probe probe;                                                                                            \
        struct view *view;                                                                                             \
        if (!enter(&probe, kind, comm, peer_rank(source), &view))                                                      \
            return NEXT(name) call;                                                                                    \
        int result = BELOW(probe.log, (*next.name)call);                                                               \
        ireceive_leave(&probe, kind, comm, view, result, source, tag, count, type, request);                           \
        probe_close(&probe);                                                                                           \
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
        int result = BELOW(probe.log, (*next.name)call);                                                               \
        persistent_leave(&probe, kind, REQUEST_SEND, comm, view, result, dest, tag,                                    \
                         result == MPI_SUCCESS ? native_bytes(count, type) : 0, request);                              \
        probe_close(&probe);                                                                                           \
        return result;                                                                                                 \
    } while (0)

#define SHAPE_RECV_INIT(kind, name, detail, large, call, buf, count, type, source, tag, comm, request)                 \
    do {                                                                                                               \
        struct probe probe;                                                                                            \
        struct view *view;                                                                                             \
        if (!enter(&probe, kind, comm, peer_rank(source), &view))                                                      \
            return NEXT(name) call;                                                                                    \
        int result = BELOW(probe.log, (*next.name)call);                                                               \
        persistent_leave(&probe, kind, REQUEST_RECV, comm, view, result, source, tag,                                  \
                         result == MPI_SUCCESS ? native_bytes(count, type) : 0, request);                              \
        probe_close(&probe);                                                                                           \
        return result;                                                                                                 \
    } while (0)

/* Both halves of a nonblocking sendrecv, as far as they are known before the call: peers, tags, bytes. */
struct halves {
    struct event send, receive;
};

void isendrecv_leave(struct probe *probe, enum call kind, MPI_Comm comm, struct view *view, int result,
                     struct halves halves, const MPI_Request *request);

HOT struct halves halves_of(struct log *log, int result, int dest, int sendtag, int64_t sendcount,
                            MPI_Datatype sendtype, int source, int recvtag, int64_t recvcount, MPI_Datatype recvtype)
{
    struct halves halves = {.send = {.peer = peer_rank(dest), .tag = sendtag},
                            .receive = {.peer = peer_rank(source), .tag = recvtag}};
    halves.send.bytes = result == MPI_SUCCESS && dest >= 0 ? log_bytes(log, sendcount, sendtype) : 0;
    halves.receive.bytes = result == MPI_SUCCESS ? log_bytes(log, recvcount, recvtype) : 0;
    return halves;
}

#define SHAPE_ISENDRECV(kind, name, detail, large, call, sendbuf, sendcount, sendtype, dest, sendtag, recvbuf,         \
                        recvcount, recvtype, source, recvtag, comm, request)                                           \
    do {                                                                                                               \
        struct probe probe;                                                                                            \
        struct view *view;                                                                                             \
        if (!enter(&probe, kind, comm, peer_rank(source), &view))                                                      \
            return NEXT(name) call;                                                                                    \
        int result = BELOW(probe.log, (*next.name)call);                                                               \
        isendrecv_leave(                                                                                               \
            &probe, kind, comm, view, result,                                                                          \
            halves_of(probe.log, result, dest, sendtag, sendcount, sendtype, source, recvtag, recvcount, recvtype),    \
            request);                                                                                                  \
        probe_close(&probe);                                                                                           \
        return result;                                                                                                 \
    } while (0)

#define SHAPE_ISENDRECV_REPLACE(kind, name, detail, large, call, buf, count, type, dest, sendtag, source, recvtag,     \
                                comm, request)                                                                         \
    SHAPE_ISENDRECV(kind, name, detail, large, call, buf, count, type, dest, sendtag, buf, count, type, source,        \
                    recvtag, comm, request)

/* Somebody wants to know that persistent collectives begin. */
void starting_announce(enum call kind, int count, const MPI_Request *requests);

#define SHAPE_START(kind, name, detail, large, call, request)                                                          \
    do {                                                                                                               \
        struct probe probe;                                                                                            \
        if (__builtin_expect(listened(COLLECTIVE_BEGIN), 0))                                                           \
            starting_announce(kind, 1, request);                                                                       \
        if (!probe_enter(&probe, kind, 0, PEER_NONE))                                                                  \
            return NEXT(name) call;                                                                                    \
        uint64_t saved = request ? abi_handle_of_request(*request) : 0;                                                \
        struct request *taken = single_take(probe.log, saved, request);                                                \
        int result = BELOW(probe.log, (*next.name)call);                                                               \
        start_leave(&probe, kind, request, saved, taken, result);                                                      \
        probe_close(&probe);                                                                                           \
        return result;                                                                                                 \
    } while (0)

#define SHAPE_STARTALL(kind, name, detail, large, call, count, requests)                                               \
    do {                                                                                                               \
        struct completion c;                                                                                           \
        if (__builtin_expect(listened(COLLECTIVE_BEGIN), 0))                                                           \
            starting_announce(kind, count, requests);                                                                  \
        wrapper_entered();                                                                                             \
        if (!completion_enter(&c, kind, count, requests, false))                                                       \
            return NEXT(name) call;                                                                                    \
        int result = BELOW(c.probe.log, (*next.name)call);                                                             \
        completion_started(&c, result);                                                                                \
        probe_close(&c.probe);                                                                                         \
        return result;                                                                                                 \
    } while (0)

#endif
