/*
 * Shapes of calls that move a message before they return: sends, receives, both at once; and probes.
 */
#ifndef MPIT_PROBES_SHAPES_MESSAGE_H
#define MPIT_PROBES_SHAPES_MESSAGE_H

#include "shapes.h"

/* What a call sent, or would have. */
HOT uint64_t sent_bytes(struct probe *probe, int result, int dest, int64_t count, MPI_Datatype type)
{
    return __builtin_expect(result == MPI_SUCCESS && dest >= 0, 1) ? log_bytes(probe->log, count, type) : 0;
}

/* `flag`: size_flag(bytes), which is_plain has found to be 0. */
HOT void sent_emit(struct probe *probe, enum fold_shape shape, enum call kind, struct view *view, int result, int dest,
                   int tag, uint64_t bytes, uint16_t flag)
{
    struct event event = {.kind = (uint16_t)(kind | flag), .peer = peer_rank(dest), .tag = tag, .bytes = bytes};
    if (view && event.peer >= 0)
        view_page_select(view, event.peer);
    probe_leave(probe, shape, 0, view, result, event, 0);
}

/* Out of line, for what is_plain does not hold of; the frequent case is compiled knowing that it does. */
void sent_leave_rare(struct probe *probe, enum call kind, MPI_Comm comm, struct view *view, int result, int dest,
                     int tag, uint64_t bytes);

HOT void sent_leave(struct probe *probe, enum call kind, MPI_Comm comm, struct view *view, int result, int dest,
                    int tag, int64_t count, MPI_Datatype type)
{
    uint64_t bytes = sent_bytes(probe, result, dest, count, type);
    if (is_plain(probe, view, result, dest, bytes))
        sent_emit(probe, FOLD_SEND, kind, view, MPI_SUCCESS, dest, tag, bytes, 0);
    else
        sent_leave_rare(probe, kind, comm, view, result, dest, tag, bytes);
}

#define SHAPE_SEND(kind, name, detail, large, call, buf, count, type, dest, tag, comm)                                 \
    do {                                                                                                               \
        struct probe probe;                                                                                            \
        struct view *view;                                                                                             \
        if (!enter(&probe, kind, comm, peer_rank(dest), &view))                                                        \
            return NEXT(name) call;                                                                                    \
        int result = (*next.name)call;                                                                                 \
        sent_leave(&probe, kind, comm, view, result, dest, tag, count, type);                                          \
        return result;                                                                                                 \
    } while (0)

/* A message that was cut off has arrived, with the size that there was room for; statuses say this or that of it. */
bool receive_arrived_slow(int result);

HOT bool receive_arrived(int result)
{
    return __builtin_expect(result == MPI_SUCCESS, 1) || receive_arrived_slow(result);
}

/* Fills what a status tells of a received message. Some libraries leave the status of a receive from MPI_PROC_NULL as
 * it was: what was asked for decides. */
HOT void received_event(struct event *event, struct view *view, int source, uint64_t room, const MPI_Status *status,
                        bool plain)
{
    event->peer = source == MPI_PROC_NULL ? PEER_PROC_NULL : peer_rank(status->MPI_SOURCE);
    event->tag = status->MPI_TAG;
    if (event->peer >= 0) {
        event->bytes = abi_status_bytes(status);
        if (event->bytes > room)
            event->bytes = room;
        event->kind |= plain ? 0 : size_flag(event->bytes);
        if (view)
            view_page_select(view, event->peer);
    }
}

HOT void received_emit(struct probe *probe, enum call kind, struct view *view, int result, int source, uint64_t room,
                       const MPI_Status *status, bool plain)
{
    struct event event = {.kind = (uint16_t)kind, .peer = PEER_NONE};
    bool arrived = receive_arrived(result);
    if (arrived)
        received_event(&event, view, source, room, status, plain);
    probe_leave(probe, FOLD_RECV, 0, view, arrived ? MPI_SUCCESS : result, event, 0);
}

void received_leave_rare(struct probe *probe, enum call kind, MPI_Comm comm, struct view *view, int result, int source,
                         int64_t count, MPI_Datatype type, const MPI_Status *status);

HOT void received_leave(struct probe *probe, enum call kind, MPI_Comm comm, struct view *view, int result, int source,
                        int64_t count, MPI_Datatype type, const MPI_Status *status)
{
    if (source != MPI_PROC_NULL && is_plain(probe, view, result, status->MPI_SOURCE, abi_status_bytes(status)))
        received_emit(probe, kind, view, MPI_SUCCESS, source, UINT64_MAX, status, true);
    else
        received_leave_rare(probe, kind, comm, view, result, source, count, type, status);
}

#define SHAPE_RECV(kind, name, detail, large, call, buf, count, type, source, tag, comm, status)                       \
    do {                                                                                                               \
        struct probe probe;                                                                                            \
        struct view *view;                                                                                             \
        MPI_Status own;                                                                                                \
        if (!enter(&probe, kind, comm, peer_rank(source), &view))                                                      \
            return NEXT(name) call;                                                                                    \
        if (status == MPI_STATUS_IGNORE)                                                                               \
            status = &own;                                                                                             \
        int result = (*next.name)call;                                                                                 \
        received_leave(&probe, kind, comm, view, result, source, count, type, status);                                 \
        return result;                                                                                                 \
    } while (0)

void exchanged_leave(struct probe *probe, enum call kind, MPI_Comm comm, struct view *view, int result, int dest,
                     int tag, int64_t count, MPI_Datatype type, int source, int64_t recvcount, MPI_Datatype recvtype,
                     const MPI_Status *status);

#define SHAPE_SENDRECV(kind, name, detail, large, call, sendbuf, sendcount, sendtype, dest, sendtag, recvbuf,          \
                       recvcount, recvtype, source, recvtag, comm, status)                                             \
    do {                                                                                                               \
        struct probe probe;                                                                                            \
        struct view *view;                                                                                             \
        MPI_Status own;                                                                                                \
        if (!enter(&probe, kind, comm, peer_rank(source), &view))                                                      \
            return NEXT(name) call;                                                                                    \
        if (status == MPI_STATUS_IGNORE)                                                                               \
            status = &own;                                                                                             \
        int result = (*next.name)call;                                                                                 \
        exchanged_leave(&probe, kind, comm, view, result, dest, sendtag, sendcount, sendtype, source, recvcount,       \
                        recvtype, status);                                                                             \
        return result;                                                                                                 \
    } while (0)

#define SHAPE_SENDRECV_REPLACE(kind, name, detail, large, call, buf, count, type, dest, sendtag, source, recvtag,      \
                               comm, status)                                                                           \
    SHAPE_SENDRECV(kind, name, detail, large, call, buf, count, type, dest, sendtag, buf, count, type, source,         \
                   recvtag, comm, status)

/* A probe tells of a message and is none. */
HOT void probed_leave(struct probe *probe, enum call kind, MPI_Comm comm, struct view *view, int result, int source,
                      int tag)
{
    view_settle(probe, result, comm, &view);
    struct event event = {.kind = (uint16_t)kind, .peer = peer_rank(source), .tag = tag};
    probe_leave(probe, FOLD_P2P, 0, view, result, event, 0);
}

#define SHAPE_PROBE(kind, name, detail, large, call, source, tag, comm, ...)                                           \
    do {                                                                                                               \
        struct probe probe;                                                                                            \
        struct view *view;                                                                                             \
        if (!enter(&probe, kind, comm, peer_rank(source), &view))                                                      \
            return NEXT(name) call;                                                                                    \
        int result = (*next.name)call;                                                                                 \
        probed_leave(&probe, kind, comm, view, result, source, tag);                                                   \
        return result;                                                                                                 \
    } while (0)

#define SHAPE_IPROBE SHAPE_PROBE

#endif
