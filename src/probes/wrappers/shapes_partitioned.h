/*
 * Shapes of partitioned calls. Their requests are persistent, and their message is one: of all partitions together,
 * each time that it is started. Calls on single partitions are charged to the communicator of the request, by a map of
 * its own (book.partitioned): the request may be in a completion call of another thread.
 */
#ifndef MPIT_PROBES_SHAPES_PARTITIONED_H
#define MPIT_PROBES_SHAPES_PARTITIONED_H

#include "wrappers/shapes.h"

void partitioned_leave(struct probe *probe, enum call kind, enum request_type type, MPI_Comm comm, struct view *view,
                       int result, int peer, int tag, uint64_t bytes, const MPI_Request *request);

#define SHAPE_PARTITIONED(kind, name, detail, large, call, type_, peer, partitions, count, type, tag, comm, request)   \
    do {                                                                                                               \
        struct probe probe;                                                                                            \
        struct view *view;                                                                                             \
        if (!enter(&probe, kind, comm, peer_rank(peer), &view))                                                        \
            return NEXT(name) call;                                                                                    \
        int result = BELOW(probe.log, (*next.name)call);                                                               \
        partitioned_leave(&probe, kind, type_, comm, view, result, peer, tag,                                          \
                          result == MPI_SUCCESS ? (uint64_t)partitions * native_bytes(count, type) : 0, request);      \
        probe_close(&probe);                                                                                           \
        return result;                                                                                                 \
    } while (0)

#define SHAPE_PSEND_INIT(kind, name, detail, large, call, buf, partitions, count, type, dest, tag, comm, info,         \
                         request)                                                                                      \
    SHAPE_PARTITIONED(kind, name, detail, large, call, REQUEST_SEND, dest, partitions, count, type, tag, comm, request)

#define SHAPE_PRECV_INIT(kind, name, detail, large, call, buf, partitions, count, type, source, tag, comm, info,       \
                         request)                                                                                      \
    SHAPE_PARTITIONED(kind, name, detail, large, call, REQUEST_RECV, source, partitions, count, type, tag, comm,       \
                      request)

HOT bool kind_is_partitioned(unsigned kind)
{
    return kind == CALL_MPI_Psend_init || kind == CALL_MPI_Precv_init;
}

HOT bool posted_is_partitioned(const struct posted *posted)
{
    return kind_is_partitioned(posted->kind);
}

bool partition_enter(struct probe *probe, enum call kind, MPI_Request request, struct view **view);
void partition_leave(struct probe *probe, enum call kind, struct view *view, int result);

/* A call on partitions of `request`; the other arguments say which. */
#define SHAPE_PARTITION(kind, name, detail, large, call, ...)                                                          \
    do {                                                                                                               \
        struct probe probe;                                                                                            \
        struct view *view;                                                                                             \
        wrapper_entered();                                                                                             \
        if (!partition_enter(&probe, kind, request, &view))                                                            \
            return NEXT(name) call;                                                                                    \
        int result = BELOW(probe.log, (*next.name)call);                                                               \
        partition_leave(&probe, kind, view, result);                                                                   \
        probe_close(&probe);                                                                                           \
        return result;                                                                                                 \
    } while (0)

#endif
