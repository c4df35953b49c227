/*
 * The wrappers' bodies, one for each shape of the table (calls.table); the generated wrappers name their parameters as
 * the table does. Each says what happens before and after the call, and how its event is filled.
 *
 * Whatever happens here, the call returns what the next definition returned. Handles are looked at before the call only
 * in mpit's own tables; MPI is asked about them only after it has accepted them.
 */
#ifndef MPIT_PROBES_SHAPES_H
#define MPIT_PROBES_SHAPES_H

#include "collective.h"
#include "communicator.h"
#include "completion.h"
#include "next.h"
#include "recorder.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wstringop-overflow" /* MPI_STATUSES_IGNORE is an address, and of no array */
#endif

#define WRAPPER __attribute__((visibility("default")))

static inline int32_t peer_rank(int rank)
{
    if (__builtin_expect(rank >= 0, 1))
        return rank;
    return rank == MPI_PROC_NULL ? PEER_PROC_NULL : rank == MPI_ANY_SOURCE ? PEER_ANY : rank == MPI_ROOT ? PEER_ROOT : PEER_NONE;
}

static inline uint16_t kind_of(enum call kind, int result)
{
    return (uint16_t)(kind | (__builtin_expect(result != MPI_SUCCESS, 0) ? EVENT_FAILED : 0));
}

/* Enters a call on a communicator; *view is NULL when that is not known yet. */
static inline bool enter(struct probe *probe, enum call kind, MPI_Comm comm, int32_t peer, struct view **view)
{
    if (!probe_enter(probe, kind, 0, peer))
        return false;
    *view = comm_view(probe->log, comm);
    if (__builtin_expect(*view != NULL, 1))
        __atomic_store_n(&probe->log->state->comm, (*view)->comm->slot, __ATOMIC_RELAXED);
    return true;
}

/* A communicator that the call has accepted, and that was made out of sight, gets known now. */
static inline void view_settle(struct probe *probe, int result, MPI_Comm comm, struct view **view)
{
    if (__builtin_expect(*view == NULL, 0) && result == MPI_SUCCESS)
        *view = comm_view_learn(probe->log, comm);
}

#define SHAPE_INIT(kind, name, detail, large, call, ...)                                                               \
    do {                                                                                                               \
        struct probe probe;                                                                                            \
        bool on = recorder_start(&probe, kind);                                                                        \
        int result = NEXT(name) call;                                                                                  \
        if (on)                                                                                                        \
            recorder_started(&probe, kind, result);                                                                    \
        return result;                                                                                                 \
    } while (0)

#define SHAPE_INIT_THREAD SHAPE_INIT

#define SHAPE_FINALIZE(kind, name, detail, large, call)                                                                \
    do {                                                                                                               \
        struct probe probe;                                                                                            \
        bool on = recorder_finish(&probe);                                                                             \
        int result = NEXT(name) call;                                                                                  \
        if (on)                                                                                                        \
            recorder_finished(&probe, result);                                                                         \
        return result;                                                                                                 \
    } while (0)

#define SHAPE_ABORT(kind, name, detail, large, call, comm, errorcode)                                                  \
    do {                                                                                                               \
        struct probe probe;                                                                                            \
        if (probe_enter(&probe, kind, 0, PEER_NONE))                                                                   \
            recorder_aborting(&probe);                                                                                 \
        return NEXT(name) call;                                                                                        \
    } while (0)

static inline void sent_leave(struct probe *probe, enum fold_shape shape, enum call kind, MPI_Comm comm,
                              struct view *view, int result, int dest, int tag, int64_t count, MPI_Datatype type)
{
    view_settle(probe, result, comm, &view);
    struct event event = {.kind = kind_of(kind, result), .peer = peer_rank(dest), .tag = tag};
    if (__builtin_expect(result == MPI_SUCCESS && event.peer >= 0, 1)) {
        event.bytes = native_bytes(count, type);
        event.kind |= size_flag(event.bytes);
        if (view)
            view_page_select(view, event.peer);
    }
    probe_leave(probe, shape, 0, view, event, 0);
}

#define SHAPE_SEND(kind, name, detail, large, call, buf, count, type, dest, tag, comm)                                 \
    do {                                                                                                               \
        struct probe probe;                                                                                            \
        struct view *view;                                                                                             \
        if (!enter(&probe, kind, comm, peer_rank(dest), &view))                                                                   \
            return NEXT(name) call;                                                                                    \
        int result = (*next.name)call;                                                                                 \
        sent_leave(&probe, FOLD_SEND, kind, comm, view, result, dest, tag, count, type);                               \
        return result;                                                                                                 \
    } while (0)

/* A message that was cut off has arrived: with the size that there was room for. */
bool receive_arrived_slow(int result);

static inline bool receive_arrived(int result)
{
    return __builtin_expect(result == MPI_SUCCESS, 1) || receive_arrived_slow(result);
}

/* Fills what a status tells of a received message. */
static inline void received_event(struct event *event, struct view *view, const MPI_Status *status)
{
    event->peer = peer_rank(status->MPI_SOURCE);
    event->tag = status->MPI_TAG;
    if (event->peer >= 0) {
        event->bytes = abi_status_bytes(status);
        event->kind |= size_flag(event->bytes);
        if (view)
            view_page_select(view, event->peer);
    }
}

static inline void received_leave(struct probe *probe, enum call kind, MPI_Comm comm, struct view *view, int result,
                                  const MPI_Status *status)
{
    view_settle(probe, result, comm, &view);
    struct event event = {.kind = (uint16_t)kind, .peer = PEER_NONE};
    if (receive_arrived(result))
        received_event(&event, view, status);
    else
        event.kind |= EVENT_FAILED;
    probe_leave(probe, FOLD_RECV, 0, view, event, 0);
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
        received_leave(&probe, kind, comm, view, result, status);                                                      \
        return result;                                                                                                 \
    } while (0)

static inline void exchanged_leave(struct probe *probe, enum call kind, MPI_Comm comm, struct view *view, int result,
                                   int dest, int tag, int64_t count, MPI_Datatype type, const MPI_Status *status)
{
    uint64_t begin = probe->begin;
    struct log *log = probe->log;
    view_settle(probe, result, comm, &view);
    struct event received = {.begin = begin, .kind = RECORD_RECEIVE, .peer = PEER_NONE};
    bool arrived = receive_arrived(result);
    sent_leave(probe, FOLD_SENDRECV, kind, comm, view, arrived ? MPI_SUCCESS : result, dest, tag, count, type);
    if (!arrived)
        return;
    received_event(&received, view, status);
    if (log->ledger->tally.end - begin > __atomic_load_n(&knob_timeout_ticks, __ATOMIC_RELAXED))
        received.kind |= EVENT_TIMEOUT;
    log_record(log, view, &received, 0);
}

#define SHAPE_SENDRECV(kind, name, detail, large, call, sendbuf, sendcount, sendtype, dest, sendtag, recvbuf,         \
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
        exchanged_leave(&probe, kind, comm, view, result, dest, sendtag, sendcount, sendtype, status);                 \
        return result;                                                                                                 \
    } while (0)

#define SHAPE_SENDRECV_REPLACE(kind, name, detail, large, call, buf, count, type, dest, sendtag, source, recvtag,      \
                               comm, status)                                                                           \
    SHAPE_SENDRECV(kind, name, detail, large, call, buf, count, type, dest, sendtag, buf, count, type, source,         \
                   recvtag, comm, status)

/* A probe tells of a message and is none. */
static inline void probed_leave(struct probe *probe, enum call kind, MPI_Comm comm, struct view *view, int result,
                                int source, int tag)
{
    view_settle(probe, result, comm, &view);
    struct event event = {.kind = kind_of(kind, result), .peer = peer_rank(source), .tag = tag};
    probe_leave(probe, FOLD_P2P, 0, view, event, 0);
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

/* ---- nonblocking and persistent point-to-point ---------------------------------------------------------------- */

static inline void isent_leave(struct probe *probe, enum call kind, MPI_Comm comm, struct view *view, int result,
                               int dest, int tag, int64_t count, MPI_Datatype type, const MPI_Request *request)
{
    view_settle(probe, result, comm, &view);
    struct event event = {.kind = kind_of(kind, result), .peer = peer_rank(dest), .tag = tag};
    if (__builtin_expect(result == MPI_SUCCESS, 1)) {
        if (event.peer >= 0) {
            event.bytes = native_bytes(count, type);
            event.kind |= size_flag(event.bytes);
            if (view)
                view_page_select(view, event.peer);
        }
        request_post((struct request){.comm = view ? view->comm : NULL, .begin = probe->begin, .bytes = event.bytes,
                                      .peer = event.peer, .tag = tag, .kind = (uint16_t)kind, .type = REQUEST_SEND,
                                      .active = true},
                     abi_handle_of_request(*request));
    }
    probe_leave(probe, FOLD_POST_SEND, 0, view, event, 0);
}

#define SHAPE_ISEND(kind, name, detail, large, call, buf, count, type, dest, tag, comm, request)                       \
    do {                                                                                                               \
        struct probe probe;                                                                                            \
        struct view *view;                                                                                             \
        if (!enter(&probe, kind, comm, peer_rank(dest), &view))                                                                   \
            return NEXT(name) call;                                                                                    \
        int result = (*next.name)call;                                                                                 \
        isent_leave(&probe, kind, comm, view, result, dest, tag, count, type, request);                                \
        return result;                                                                                                 \
    } while (0)

static inline void ireceive_leave(struct probe *probe, enum call kind, MPI_Comm comm, struct view *view, int result,
                                  int source, int tag, const MPI_Request *request)
{
    view_settle(probe, result, comm, &view);
    struct event event = {.kind = kind_of(kind, result), .peer = peer_rank(source), .tag = tag};
    if (__builtin_expect(result == MPI_SUCCESS, 1))
        request_post((struct request){.comm = view ? view->comm : NULL, .begin = probe->begin, .peer = event.peer,
                                      .tag = tag, .kind = (uint16_t)kind, .type = REQUEST_RECV, .active = true},
                     abi_handle_of_request(*request));
    probe_leave(probe, FOLD_POST_RECV, 0, view, event, 0);
}

#define SHAPE_IRECV(kind, name, detail, large, call, buf, count, type, source, tag, comm, request)                     \
    do {                                                                                                               \
        struct probe probe;                                                                                            \
        struct view *view;                                                                                             \
        if (!enter(&probe, kind, comm, peer_rank(source), &view))                                                      \
            return NEXT(name) call;                                                                                    \
        int result = (*next.name)call;                                                                                 \
        ireceive_leave(&probe, kind, comm, view, result, source, tag, request);                                        \
        return result;                                                                                                 \
    } while (0)

/* A persistent request is made: a call, and no message before it is started. */
static inline void persistent_leave(struct probe *probe, enum call kind, enum request_type type, MPI_Comm comm,
                                    struct view *view, int result, int peer, int tag, uint64_t bytes,
                                    const MPI_Request *request)
{
    view_settle(probe, result, comm, &view);
    struct event event = {.kind = kind_of(kind, result), .peer = peer_rank(peer), .tag = tag};
    if (result == MPI_SUCCESS)
        request_post((struct request){.comm = view ? view->comm : NULL, .bytes = bytes, .peer = event.peer, .tag = tag,
                                      .kind = (uint16_t)kind, .type = (uint8_t)type, .persistent = true},
                     abi_handle_of_request(*request));
    probe_leave(probe, FOLD_P2P, 0, view, event, 0);
}

#define SHAPE_SEND_INIT(kind, name, detail, large, call, buf, count, type, dest, tag, comm, request)                   \
    do {                                                                                                               \
        struct probe probe;                                                                                            \
        struct view *view;                                                                                             \
        if (!enter(&probe, kind, comm, peer_rank(dest), &view))                                                                   \
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
        persistent_leave(&probe, kind, REQUEST_RECV, comm, view, result, source, tag, 0, request);                     \
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

/* ---- completion ------------------------------------------------------------------------------------------------ */

#define SHAPE_WAIT(kind, name, detail, large, call, request, status)                                                   \
    do {                                                                                                               \
        struct completion c;                                                                                           \
        MPI_Status own;                                                                                                \
        if (!completion_enter_one(&c, kind, request))                                                                  \
            return NEXT(name) call;                                                                                    \
        if (status == MPI_STATUS_IGNORE)                                                                               \
            status = &own;                                                                                             \
        int result = (*next.name)call;                                                                                 \
        if (completion_ended(&c, 0, result))                                                                           \
            completion_done(&c, 0, status);                                                                            \
        completion_flush(&c, result);                                                                                  \
        return result;                                                                                                 \
    } while (0)

#define SHAPE_TEST(kind, name, detail, large, call, request, flag, status)                                             \
    do {                                                                                                               \
        struct completion c;                                                                                           \
        MPI_Status own;                                                                                                \
        if (!completion_enter_one(&c, kind, request))                                                                  \
            return NEXT(name) call;                                                                                    \
        if (status == MPI_STATUS_IGNORE)                                                                               \
            status = &own;                                                                                             \
        int result = (*next.name)call;                                                                                 \
        if (result == MPI_SUCCESS ? *flag != 0 : completion_ended(&c, 0, result))                                      \
            completion_done(&c, 0, status);                                                                            \
        completion_flush(&c, result);                                                                                  \
        return result;                                                                                                 \
    } while (0)

/* Statuses that the program does not want are asked for all the same: they tell what arrived. */
static inline MPI_Status *statuses_wanted(const struct completion *completion, MPI_Status *statuses)
{
    return statuses == MPI_STATUSES_IGNORE && completion->statuses ? completion->statuses : statuses;
}

static inline const MPI_Status *statuses_known(const MPI_Status *statuses)
{
    return statuses == MPI_STATUSES_IGNORE ? NULL : statuses;
}

#define SHAPE_WAITALL(kind, name, detail, large, call, count, requests, statuses)                                      \
    do {                                                                                                               \
        struct completion c;                                                                                           \
        if (!completion_enter(&c, kind, count, requests, statuses == MPI_STATUSES_IGNORE))                             \
            return NEXT(name) call;                                                                                    \
        statuses = statuses_wanted(&c, statuses);                                                                      \
        int result = (*next.name)call;                                                                                 \
        completion_done_all(&c, result, statuses_known(statuses));                                                     \
        completion_flush(&c, result);                                                                                  \
        return result;                                                                                                 \
    } while (0)

#define SHAPE_TESTALL(kind, name, detail, large, call, count, requests, flag, statuses)                                \
    do {                                                                                                               \
        struct completion c;                                                                                           \
        if (!completion_enter(&c, kind, count, requests, statuses == MPI_STATUSES_IGNORE))                             \
            return NEXT(name) call;                                                                                    \
        statuses = statuses_wanted(&c, statuses);                                                                      \
        int result = (*next.name)call;                                                                                 \
        if (result != MPI_SUCCESS || *flag)                                                                            \
            completion_done_all(&c, result, statuses_known(statuses));                                                 \
        completion_flush(&c, result);                                                                                  \
        return result;                                                                                                 \
    } while (0)

#define SHAPE_WAITANY(kind, name, detail, large, call, count, requests, index, status)                                 \
    do {                                                                                                               \
        struct completion c;                                                                                           \
        MPI_Status own;                                                                                                \
        if (!completion_enter(&c, kind, count, requests, false))                                                       \
            return NEXT(name) call;                                                                                    \
        if (status == MPI_STATUS_IGNORE)                                                                               \
            status = &own;                                                                                             \
        int result = (*next.name)call;                                                                                 \
        if (*index >= 0 && completion_ended(&c, *index, result))                                                       \
            completion_done(&c, *index, status);                                                                       \
        completion_flush(&c, result);                                                                                  \
        return result;                                                                                                 \
    } while (0)

#define SHAPE_TESTANY(kind, name, detail, large, call, count, requests, index, flag, status)                           \
    do {                                                                                                               \
        struct completion c;                                                                                           \
        MPI_Status own;                                                                                                \
        if (!completion_enter(&c, kind, count, requests, false))                                                       \
            return NEXT(name) call;                                                                                    \
        if (status == MPI_STATUS_IGNORE)                                                                               \
            status = &own;                                                                                             \
        int result = (*next.name)call;                                                                                 \
        if ((result != MPI_SUCCESS || *flag) && *index >= 0 && completion_ended(&c, *index, result))                   \
            completion_done(&c, *index, status);                                                                       \
        completion_flush(&c, result);                                                                                  \
        return result;                                                                                                 \
    } while (0)

#define SHAPE_WAITSOME(kind, name, detail, large, call, incount, requests, outcount, indices, statuses)                \
    do {                                                                                                               \
        struct completion c;                                                                                           \
        if (!completion_enter(&c, kind, incount, requests, statuses == MPI_STATUSES_IGNORE))                           \
            return NEXT(name) call;                                                                                    \
        statuses = statuses_wanted(&c, statuses);                                                                      \
        int result = (*next.name)call;                                                                                 \
        completion_done_some(&c, result, *outcount, indices, statuses_known(statuses));                                \
        completion_flush(&c, result);                                                                                  \
        return result;                                                                                                 \
    } while (0)

#define SHAPE_TESTSOME SHAPE_WAITSOME

#define SHAPE_REQUEST_FREE(kind, name, detail, large, call, request)                                                   \
    do {                                                                                                               \
        struct completion c;                                                                                           \
        if (!completion_enter_one(&c, kind, request))                                                                  \
            return NEXT(name) call;                                                                                    \
        int result = (*next.name)call;                                                                                 \
        completion_freed(&c, result);                                                                                  \
        return result;                                                                                                 \
    } while (0)

#define SHAPE_CANCEL(kind, name, detail, large, call, request)                                                         \
    do {                                                                                                               \
        struct completion c;                                                                                           \
        if (!completion_enter_one(&c, kind, request))                                                                  \
            return NEXT(name) call;                                                                                    \
        int result = (*next.name)call;                                                                                 \
        completion_flush(&c, result);                                                                                  \
        return result;                                                                                                 \
    } while (0)

/* ---- collectives ----------------------------------------------------------------------------------------------- */

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

static inline void collective_leave(struct probe *probe, enum call kind, struct view *view, int result, int32_t root,
                                    struct coll_bytes bytes)
{
    struct event event = {.kind = kind_of(kind, result), .peer = root, .bytes = bytes.in};
    probe_leave(probe, FOLD_COLL, call_table[kind].op, view, event, bytes.out);
}

static inline void icollective_leave(struct probe *probe, enum call kind, struct view *view, int result, int32_t root,
                                     struct coll_bytes bytes, const MPI_Request *request)
{
    struct event event = {.kind = kind_of(kind, result), .peer = root};
    if (result == MPI_SUCCESS)
        request_post((struct request){.comm = view ? view->comm : NULL, .begin = probe->begin, .bytes = bytes.in,
                                      .bytes_out = bytes.out, .peer = root, .kind = (uint16_t)kind,
                                      .type = REQUEST_COLL, .active = true},
                     abi_handle_of_request(*request));
    probe_leave(probe, FOLD_POST_COLL, call_table[kind].op, view, event, 0);
}

/* The generator hands `comm` (and `request`) over first, so that the rest are the operation's own arguments. */
#define SHAPE_COLL(kind, name, op, large, call, comm, ...)                                                             \
    do {                                                                                                               \
        struct probe probe;                                                                                            \
        struct view *view;                                                                                             \
        if (!enter(&probe, kind, comm, PEER_NONE, &view))                                                              \
            return NEXT(name) call;                                                                                    \
        int result = (*next.name)call;                                                                                 \
        view_settle(&probe, result, comm, &view);                                                                      \
        struct coll_bytes bytes = {0, 0};                                                                              \
        if (result == MPI_SUCCESS && view)                                                                             \
            bytes = coll_##op(coll_place(view->comm), large __VA_OPT__(, ) __VA_ARGS__);                               \
        collective_leave(&probe, kind, view, result, COLL_ROOT_##op(__VA_ARGS__), bytes);                              \
        return result;                                                                                                 \
    } while (0)

#define SHAPE_ICOLL(kind, name, op, large, call, comm, request, ...)                                                   \
    do {                                                                                                               \
        struct probe probe;                                                                                            \
        struct view *view;                                                                                             \
        if (!enter(&probe, kind, comm, PEER_NONE, &view))                                                              \
            return NEXT(name) call;                                                                                    \
        int result = (*next.name)call;                                                                                 \
        view_settle(&probe, result, comm, &view);                                                                      \
        struct coll_bytes bytes = {0, 0};                                                                              \
        if (result == MPI_SUCCESS && view)                                                                             \
            bytes = coll_##op(coll_place(view->comm), large __VA_OPT__(, ) __VA_ARGS__);                               \
        icollective_leave(&probe, kind, view, result, COLL_ROOT_##op(__VA_ARGS__), bytes, request);                    \
        return result;                                                                                                 \
    } while (0)

/* ---- communicators --------------------------------------------------------------------------------------------- */

static inline void comm_create_leave(struct probe *probe, enum call kind, MPI_Comm comm, struct view *view, int result,
                                     struct comm_origin origin, const MPI_Comm *newcomm)
{
    struct log *log = probe->log;
    view_settle(probe, result, comm, &view);
    if (result == MPI_SUCCESS && !origin.number)
        origin.number = comm_creation_number(view);
    struct event event = {.kind = kind_of(kind, result), .peer = PEER_NONE};
    probe_leave(probe, FOLD_COMM, 0, view, event, 0);
    if (result == MPI_SUCCESS)
        comm_created(log, view, &origin, *newcomm);
}

/* Children of one call that have different members are told apart by these. */
#define COMM_GROUP_dup false
#define COMM_GROUP_cart false
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

static inline void idup_leave(struct probe *probe, enum call kind, MPI_Comm comm, struct view *view, int result,
                              MPI_Comm *newcomm, const MPI_Request *request)
{
    view_settle(probe, result, comm, &view);
    struct event event = {.kind = kind_of(kind, result), .peer = PEER_NONE};
    if (result == MPI_SUCCESS)
        request_post((struct request){.comm = view ? view->comm : NULL, .begin = probe->begin, .peer = PEER_NONE,
                                      .kind = (uint16_t)kind, .type = REQUEST_COMM, .active = true,
                                      .newcomm = newcomm, .number = comm_creation_number(view)},
                     abi_handle_of_request(*request));
    probe_leave(probe, FOLD_COMM, 0, view, event, 0);
}

#define SHAPE_COMM_IDUP(kind, name, detail, large, call, comm, newcomm, request)                                       \
    do {                                                                                                               \
        struct probe probe;                                                                                            \
        struct view *view;                                                                                             \
        if (!enter(&probe, kind, comm, PEER_NONE, &view))                                                              \
            return NEXT(name) call;                                                                                    \
        int result = (*next.name)call;                                                                                 \
        idup_leave(&probe, kind, comm, view, result, newcomm, request);                                                \
        return result;                                                                                                 \
    } while (0)

static inline void comm_free_leave(struct probe *probe, enum call kind, struct view *view, int result)
{
    struct event event = {.kind = kind_of(kind, result), .peer = PEER_NONE};
    probe_leave(probe, FOLD_COMM, 0, view, event, 0);
    if (result != MPI_SUCCESS && view)
        book_comm_restore(view->comm);
}

#define SHAPE_COMM_FREE(kind, name, detail, large, call, comm_pointer)                                                 \
    do {                                                                                                               \
        struct probe probe;                                                                                            \
        struct view *view = NULL;                                                                                      \
        if (!probe_enter(&probe, kind, 0, PEER_NONE))                                                                  \
            return NEXT(name) call;                                                                                    \
        if (comm_pointer && (view = comm_view(probe.log, *comm_pointer)) != NULL)                                      \
            book_comm_retire(view->comm); /* before the library can give the handle to another one */                  \
        int result = (*next.name)call;                                                                                 \
        comm_free_leave(&probe, kind, view, result);                                                                   \
        return result;                                                                                                 \
    } while (0)

#endif
