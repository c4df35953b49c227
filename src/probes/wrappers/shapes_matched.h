/*
 * Shapes of calls on matched messages: found by MPI_Mprobe or MPI_Improbe, received by MPI_Mrecv or MPI_Imrecv.
 *
 * A message's handle tells neither communicator nor source: what the probe found waits in the table of requests, under
 * the handle with one bit more. The receive takes it out before it calls MPI, which uses handles again at once.
 */
#ifndef MPIT_PROBES_SHAPES_MATCHED_H
#define MPIT_PROBES_SHAPES_MATCHED_H

#include "wrappers/shapes.h"

void mprobed_leave(struct probe *probe, enum call kind, MPI_Comm comm, struct view *view, int result, int source,
                   int tag, bool found, const MPI_Message *message, const MPI_Status *status);

#define SHAPE_MPROBE(kind, name, detail, large, call, source, tag, comm, message, status)                              \
    do {                                                                                                               \
        struct probe probe;                                                                                            \
        struct view *view;                                                                                             \
        MPI_Status own;                                                                                                \
        if (!enter(&probe, kind, comm, peer_rank(source), &view))                                                      \
            return NEXT(name) call;                                                                                    \
        if (status == MPI_STATUS_IGNORE)                                                                               \
            status = &own;                                                                                             \
        int result = BELOW(probe.log, (*next.name)call);                                                               \
        mprobed_leave(&probe, kind, comm, view, result, source, tag, true, message, status);                           \
        probe_close(&probe);                                                                                           \
        return result;                                                                                                 \
    } while (0)

#define SHAPE_IMPROBE(kind, name, detail, large, call, source, tag, comm, flag, message, status)                       \
    do {                                                                                                               \
        struct probe probe;                                                                                            \
        struct view *view;                                                                                             \
        MPI_Status own;                                                                                                \
        if (!enter(&probe, kind, comm, peer_rank(source), &view))                                                      \
            return NEXT(name) call;                                                                                    \
        if (status == MPI_STATUS_IGNORE)                                                                               \
            status = &own;                                                                                             \
        int result = BELOW(probe.log, (*next.name)call);                                                               \
        mprobed_leave(&probe, kind, comm, view, result, source, tag, result == MPI_SUCCESS && *flag, message, status); \
        probe_close(&probe);                                                                                           \
        return result;                                                                                                 \
    } while (0)

/* No request's handle has this bit. */
HOT uint64_t message_key(const MPI_Message *message)
{
    return abi_handle_of_message(*message) | UINT64_C(1) << 63;
}

/* Is it one that can be received? */
HOT bool message_is_one(const MPI_Message *message)
{
    return *message != native.message_null && *message != native.message_no_proc;
}

/* The message that a call receives. */
struct matched {
    struct request *request; /* NULL: not known */
    uint64_t handle;
    struct view *view;
    int32_t peer, tag;
    bool no_process; /* MPI_MESSAGE_NO_PROC */
};

/* False: nothing is recorded. */
bool matched_enter(struct probe *probe, struct matched *matched, enum call kind, const MPI_Message *message);
void mreceived_leave(struct probe *probe, const struct matched *matched, enum call kind, int result, int64_t count,
                     MPI_Datatype type, const MPI_Message *message, const MPI_Status *status);
void imreceive_leave(struct probe *probe, const struct matched *matched, enum call kind, int result, int64_t count,
                     MPI_Datatype type, const MPI_Message *message, const MPI_Request *request);

#define SHAPE_MRECV(kind, name, detail, large, call, buf, count, type, message, status)                                \
    do {                                                                                                               \
        struct probe probe;                                                                                            \
        struct matched matched;                                                                                        \
        MPI_Status own;                                                                                                \
        wrapper_entered();                                                                                             \
        if (!matched_enter(&probe, &matched, kind, message))                                                           \
            return NEXT(name) call;                                                                                    \
        if (status == MPI_STATUS_IGNORE)                                                                               \
            status = &own;                                                                                             \
        int result = BELOW(probe.log, (*next.name)call);                                                               \
        mreceived_leave(&probe, &matched, kind, result, count, type, message, status);                                 \
        probe_close(&probe);                                                                                           \
        return result;                                                                                                 \
    } while (0)

#define SHAPE_IMRECV(kind, name, detail, large, call, buf, count, type, message, request)                              \
    do {                                                                                                               \
        struct probe probe;                                                                                            \
        struct matched matched;                                                                                        \
        wrapper_entered();                                                                                             \
        if (!matched_enter(&probe, &matched, kind, message))                                                           \
            return NEXT(name) call;                                                                                    \
        int result = BELOW(probe.log, (*next.name)call);                                                               \
        imreceive_leave(&probe, &matched, kind, result, count, type, message, request);                                \
        probe_close(&probe);                                                                                           \
        return result;                                                                                                 \
    } while (0)

#endif
