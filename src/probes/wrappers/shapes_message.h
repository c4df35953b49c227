/*
 * Shapes of calls that move a message before they return: sends, receives, both at once; and probes.
 */
#ifndef MPIT_PROBES_SHAPES_MESSAGE_H
#define MPIT_PROBES_SHAPES_MESSAGE_H

#include "wrappers/shapes.h"

/* What a call sent, or would have. */
HOT uint64_t sent_bytes(struct probe *probe, int result, int dest, int64_t count, MPI_Datatype type)
{
    return __builtin_expect(result == MPI_SUCCESS && dest >= 0, 1) ? log_bytes(probe->log, count, type) : 0;
}

void sent_leave(struct probe *probe, enum call kind, MPI_Comm comm, struct view *view, int result, int dest, int tag,
                int64_t count, MPI_Datatype type);

#define SHAPE_SEND(kind, name, detail, large, call, buf, count, type, dest, tag, comm)                                 \
    do {                                                                                                               \
        struct probe probe;                                                                                            \
        struct view *view;                                                                                             \
        if (!enter(&probe, kind, comm, peer_rank(dest), &view))                                                        \
            return NEXT(name) call;                                                                                    \
        int result = BELOW(probe.log, (*next.name)call);                                                               \
        sent_leave(&probe, kind, comm, view, result, dest, tag, count, type);                                          \
        probe_close(&probe);                                                                                           \
        return result;                                                                                                 \
    } while (0)

/* A message that was cut off has arrived, with the size that there was room for; statuses say this or that of it. */
bool receive_arrived_slow(int result);

HOT bool receive_arrived(int result)
{
    return __builtin_expect(result == MPI_SUCCESS, 1) || receive_arrived_slow(result);
}

/* What a receive that was cut off has brought; UINT64_MAX: it was not, and the status tells. */
uint64_t room_of(int result, int64_t count, MPI_Datatype type);
/* Fills what a status tells of a received message. */
void received_event(struct event *event, struct view *view, int source, uint64_t room, const MPI_Status *status);
/* Behind a receive that was cut off: it has arrived, and the call has returned an error all the same. */
void cut_raise(const struct probe *probe, enum call kind, const struct view *view, int result);
void received_leave(struct probe *probe, enum call kind, MPI_Comm comm, struct view *view, int result, int source,
                    int64_t count, MPI_Datatype type, const MPI_Status *status);

#define SHAPE_RECV(kind, name, detail, large, call, buf, count, type, source, tag, comm, status)                       \
    do {                                                                                                               \
        struct probe probe;                                                                                            \
        struct view *view;                                                                                             \
        MPI_Status own;                                                                                                \
        if (!enter(&probe, kind, comm, peer_rank(source), &view))                                                      \
            return NEXT(name) call;                                                                                    \
        if (status == MPI_STATUS_IGNORE)                                                                               \
            status = &own;                                                                                             \
        int result = BELOW(probe.log, (*next.name)call);                                                               \
        received_leave(&probe, kind, comm, view, result, source, count, type, status);                                 \
        probe_close(&probe);                                                                                           \
        return result;                                                                                                 \
    } while (0)

/* Whom a sendrecv sends to: a reader of the state takes the message as under way. */
static inline void partner_set(const struct probe *probe, int dest)
{
    if (!probe_is_quiet(probe))
        RELAXED_STORE(&probe->log->state->partner, dest >= 0 ? dest + 1 : 0);
}

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
        partner_set(&probe, dest);                                                                                     \
        if (status == MPI_STATUS_IGNORE)                                                                               \
            status = &own;                                                                                             \
        int result = BELOW(probe.log, (*next.name)call);                                                               \
        exchanged_leave(&probe, kind, comm, view, result, dest, sendtag, sendcount, sendtype, source, recvcount,       \
                        recvtype, status);                                                                             \
        probe_close(&probe);                                                                                           \
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
        int result = BELOW(probe.log, (*next.name)call);                                                               \
        probed_leave(&probe, kind, comm, view, result, source, tag);                                                   \
        probe_close(&probe);                                                                                           \
        return result;                                                                                                 \
    } while (0)

#define SHAPE_IPROBE SHAPE_PROBE

#endif
