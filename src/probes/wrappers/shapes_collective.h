/*
 * Shapes of collectives: blocking, nonblocking and persistent, of a whole communicator and of neighbours.
 */
#ifndef MPIT_PROBES_SHAPES_COLLECTIVE_H
#define MPIT_PROBES_SHAPES_COLLECTIVE_H

#include "recorder/clocks.h"
#include "wrappers/shapes.h"

/* The root where the operation has one: picked by operation out of the wrapper's arguments. */
#define COLL_ROOT_barrier(...) PEER_NONE
#define COLL_ROOT_bcast(buf, count, type, root) peer_rank(root)
#define COLL_ROOT_gather(a, b, c, d, e, f, root) peer_rank(root)
#define COLL_ROOT_gatherv(a, b, c, d, e, f, g, root) peer_rank(root)
#define COLL_ROOT_scatter(a, b, c, d, e, f, root) peer_rank(root)
#define COLL_ROOT_scatterv(a, b, c, d, e, f, g, root) peer_rank(root)
#define COLL_ROOT_reduce(a, b, c, d, e, root) peer_rank(root)
#define COLL_ROOT_allgather(...) PEER_NONE
#define COLL_ROOT_allgatherv(...) PEER_NONE
#define COLL_ROOT_alltoall(...) PEER_NONE
#define COLL_ROOT_alltoallv(...) PEER_NONE
#define COLL_ROOT_alltoallw(...) PEER_NONE
#define COLL_ROOT_allreduce(...) PEER_NONE
#define COLL_ROOT_reduce_scatter(...) PEER_NONE
#define COLL_ROOT_reduce_scatter_block(...) PEER_NONE
#define COLL_ROOT_scan(...) PEER_NONE
#define COLL_ROOT_exscan(...) PEER_NONE
#define COLL_ROOT_neighbor_allgather(...) PEER_NONE
#define COLL_ROOT_neighbor_allgatherv(...) PEER_NONE
#define COLL_ROOT_neighbor_alltoall(...) PEER_NONE
#define COLL_ROOT_neighbor_alltoallv(...) PEER_NONE
#define COLL_ROOT_neighbor_alltoallw(...) PEER_NONE

HOT void collective_leave(struct probe *probe, enum call kind, struct view *view, int result, int32_t root,
                          struct coll_bytes bytes)
{
    struct event event = {.kind = (uint16_t)kind, .peer = root, .bytes = bytes.in};
    probe_leave(probe, FOLD_COLL, call_table[kind].op, view, result, event, bytes.out);
}

/* Keeps a collective that the call has posted, when it cannot be in front. */
void icollective_keep(struct probe *probe, const struct posted *posted, uint64_t bytes_out, MPI_Request request);

static inline void icollective_leave(struct probe *probe, enum call kind, struct view *view, int result, int32_t root,
                                     struct coll_bytes bytes, const MPI_Request *request)
{
    struct event event = {.kind = (uint16_t)kind, .peer = root};
    struct posted posted = posted_of(probe, view, kind, REQUEST_COLL, &event, request);
    posted.bytes = bytes.in;
    posted.tag = (int32_t)bytes.out;
    if (result == MPI_SUCCESS &&
        (bytes.out > INT32_MAX || !front_keeps(probe, &posted, abi_handle_of_request(*request))))
        icollective_keep(probe, &posted, bytes.out, *request);
    probe_leave(probe, FOLD_POST_COLL, call_table[kind].op, view, result, event, 0);
    posted_finish(probe->log);
}

/* A persistent collective is made: a call, and nothing is collected before it is started. */
static inline void coll_init_leave(struct probe *probe, enum call kind, struct view *view, int result, int32_t root,
                                   struct coll_bytes bytes, const MPI_Request *request)
{
    struct event event = {.kind = (uint16_t)kind, .peer = root};
    struct posted posted = posted_of(probe, view, kind, REQUEST_COLL, &event, request);
    posted.bytes = bytes.in;
    if (result == MPI_SUCCESS)
        persistent_keep(probe, &posted, bytes.out, *request);
    probe_leave(probe, FOLD_COLL_INIT, call_table[kind].op, view, result, event, 0);
    posted_finish(probe->log);
}

/* Somebody wants to know that it begins. */
void collective_announce(enum call kind, MPI_Comm comm);

/* What all of them do. `where`: the place in the communicator, or the neighbours; `leave`: what becomes of the bytes.
 * The generator hands `comm` (and `request`) over first, so that the rest are the operation's own arguments. */
#define COLL_BODY(kind, name, op, large, call, comm, request, begins, where, leave, ...)                               \
    do {                                                                                                               \
        struct probe probe;                                                                                            \
        struct view *view;                                                                                             \
        if (begins && __builtin_expect(listened(COLLECTIVE_BEGIN), 0))                                                 \
            collective_announce(kind, comm);                                                                           \
        if (!enter(&probe, kind, comm, PEER_NONE, &view)) {                                                            \
            int unseen = NEXT(name) call;                                                                              \
            if ((kind) == CALL_MPI_Barrier)                                                                            \
                clocks_passed(comm);                                                                                   \
            return unseen;                                                                                             \
        }                                                                                                              \
        int result = BELOW(probe.log, (*next.name)call);                                                               \
        view_settle(&probe, result, comm, &view);                                                                      \
        struct coll_bytes bytes = {0, 0};                                                                              \
        if (result == MPI_SUCCESS && view)                                                                             \
            bytes = coll_##op(where(view, comm), large __VA_OPT__(, ) __VA_ARGS__);                                    \
        leave(&probe, kind, view, result, COLL_ROOT_##op(__VA_ARGS__), bytes, request);                                \
        if ((kind) == CALL_MPI_Barrier)                                                                                \
            clocks_passed(comm);                                                                                       \
        probe_close(&probe);                                                                                           \
        return result;                                                                                                 \
    } while (0)

#define COLL_OF_ALL(view, comm) coll_place((view)->comm)
#define COLL_OF_NEIGHBORS(view, comm) topology_of((view)->comm, comm)
#define COLL_LEAVE(probe, kind, view, result, root, bytes, none)                                                       \
    collective_leave(probe, kind, view, result, root, bytes)

#define SHAPE_COLL(kind, name, op, large, call, comm, ...)                                                             \
    COLL_BODY(kind, name, op, large, call, comm, NULL, true, COLL_OF_ALL, COLL_LEAVE __VA_OPT__(, ) __VA_ARGS__)
#define SHAPE_NEIGHBOR(kind, name, op, large, call, comm, ...)                                                         \
    COLL_BODY(kind, name, op, large, call, comm, NULL, true, COLL_OF_NEIGHBORS, COLL_LEAVE, __VA_ARGS__)
#define SHAPE_ICOLL(kind, name, op, large, call, comm, request, ...)                                                   \
    COLL_BODY(kind, name, op, large, call, comm, request, true, COLL_OF_ALL,                                           \
              icollective_leave __VA_OPT__(, ) __VA_ARGS__)
#define SHAPE_INEIGHBOR(kind, name, op, large, call, comm, request, ...)                                               \
    COLL_BODY(kind, name, op, large, call, comm, request, true, COLL_OF_NEIGHBORS, icollective_leave, __VA_ARGS__)
#define SHAPE_COLL_INIT(kind, name, op, large, call, comm, request, ...)                                               \
    COLL_BODY(kind, name, op, large, call, comm, request, false, COLL_OF_ALL,                                          \
              coll_init_leave __VA_OPT__(, ) __VA_ARGS__)
#define SHAPE_NEIGHBOR_INIT(kind, name, op, large, call, comm, request, ...)                                           \
    COLL_BODY(kind, name, op, large, call, comm, request, false, COLL_OF_NEIGHBORS, coll_init_leave, __VA_ARGS__)

#endif
