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

HOT int32_t peer_rank(int rank)
{
    if (__builtin_expect(rank >= 0, 1))
        return rank;
    return rank == MPI_PROC_NULL ? PEER_PROC_NULL : rank == MPI_ANY_SOURCE ? PEER_ANY : rank == MPI_ROOT ? PEER_ROOT : PEER_NONE;
}

/* Enters a call on a communicator; *view is NULL when that is not known yet. */
HOT bool enter(struct probe *probe, enum call kind, MPI_Comm comm, int32_t peer, struct view **view)
{
    struct log *log = log_get();
    probe->log = log;
    if (__builtin_expect(log == NULL, 0))
        return false;
    *view = comm_view(log, comm);
    probe_begin(probe, log, kind, *view ? (*view)->slot : 0, peer);
    return true;
}

/* Nothing about this call is rare: it succeeded, its communicator is known, its peer is a rank, no other call is around it,
 * threads do not run at once, and its message is not large. */
HOT bool is_plain(const struct probe *probe, const struct view *view, int result, int peer, uint64_t bytes)
{
    return __builtin_expect(result == MPI_SUCCESS && view && peer >= 0 && probe->outer.call == CALL_NONE &&
                                !probe->log->ledger->tally.concurrent && !size_flag(bytes),
                            1);
}

/* A communicator that the call has accepted, and that was made out of sight, gets known now. */
HOT void view_settle(struct probe *probe, int result, MPI_Comm comm, struct view **view)
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

/* What a call sent, or would have. */
HOT uint64_t sent_bytes(struct probe *probe, int result, int dest, int64_t count, MPI_Datatype type)
{
    return __builtin_expect(result == MPI_SUCCESS && dest >= 0, 1) ? log_bytes(probe->log, count, type) : 0;
}

/* `flag`: size_flag(bytes), which is_plain has found to be 0. */
HOT void sent_emit(struct probe *probe, enum fold_shape shape, enum call kind, struct view *view, int result, int dest,
                   int tag, uint64_t bytes, uint16_t flag)
{
    struct event event = {.kind = (uint16_t)(kind | flag), .peer = peer_rank(dest), .tag = tag,
                          .bytes = bytes};
    if (view && event.peer >= 0)
        view_page_select(view, event.peer);
    probe_leave(probe, shape, 0, view, result, event, 0);
}

/* Out of line, for what is_plain does not hold of; the frequent case is compiled knowing that it does. */
void sent_leave_rare(struct probe *probe, enum call kind, MPI_Comm comm, struct view *view, int result, int dest,
                     int tag, uint64_t bytes);

HOT void sent_leave(struct probe *probe, enum call kind, MPI_Comm comm, struct view *view, int result, int dest, int tag,
                    int64_t count, MPI_Datatype type)
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
        if (!enter(&probe, kind, comm, peer_rank(dest), &view))                                                                   \
            return NEXT(name) call;                                                                                    \
        int result = (*next.name)call;                                                                                 \
        sent_leave(&probe, kind, comm, view, result, dest, tag, count, type);                               \
        return result;                                                                                                 \
    } while (0)

/* A message that was cut off has arrived, with the size that there was room for; statuses say this or that of it. */
bool receive_arrived_slow(int result);

HOT bool receive_arrived(int result)
{
    return __builtin_expect(result == MPI_SUCCESS, 1) || receive_arrived_slow(result);
}

/* Fills what a status tells of a received message. Some libraries leave the status of a receive from MPI_PROC_NULL as it
 * was: what was asked for decides. */
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
        received_leave(&probe, kind, comm, view, result, source, count, type, status);                                                                 \
        return result;                                                                                                 \
    } while (0)

void exchanged_leave(struct probe *probe, enum call kind, MPI_Comm comm, struct view *view, int result,
                                   int dest, int tag, int64_t count, MPI_Datatype type, int source, int64_t recvcount,
                     MPI_Datatype recvtype, const MPI_Status *status);

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
        exchanged_leave(&probe, kind, comm, view, result, dest, sendtag, sendcount, sendtype, source, recvcount,       \
                        recvtype, status);                                                                                              \
        return result;                                                                                                 \
    } while (0)

#define SHAPE_SENDRECV_REPLACE(kind, name, detail, large, call, buf, count, type, dest, sendtag, source, recvtag,      \
                               comm, status)                                                                           \
    SHAPE_SENDRECV(kind, name, detail, large, call, buf, count, type, dest, sendtag, buf, count, type, source,         \
                   recvtag, comm, status)

/* A probe tells of a message and is none. */
HOT void probed_leave(struct probe *probe, enum call kind, MPI_Comm comm, struct view *view, int result,
                                int source, int tag)
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

/* ---- requests ---------------------------------------------------------------------------------------------------- */

HOT struct posted posted_of(const struct probe *probe, struct view *view, enum call kind, enum request_type type,
                            const struct event *event, const MPI_Request *where)
{
    return (struct posted){.view = view, .begin = probe->begin, .where = where, .bytes = event->bytes,
                           .peer = event->peer, .tag = event->tag, .kind = (uint16_t)kind, .type = (uint8_t)type};
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

/* ---- nonblocking and persistent point-to-point ---------------------------------------------------------------- */

HOT void isent_emit(struct probe *probe, enum call kind, struct view *view, int result, int dest, int tag,
                    uint64_t bytes, uint16_t flag, const MPI_Request *request)
{
    struct event event = {.kind = (uint16_t)(kind | flag), .peer = peer_rank(dest), .tag = tag,
                          .bytes = bytes};
    if (__builtin_expect(result == MPI_SUCCESS, 1)) {
        if (view && event.peer >= 0)
            view_page_select(view, event.peer);
        request_post(probe, view, kind, REQUEST_SEND, &event, request);
    }
    probe_leave(probe, FOLD_POST_SEND, 0, view, result, event, 0);
}

void isent_leave_rare(struct probe *probe, enum call kind, MPI_Comm comm, struct view *view, int result, int dest,
                      int tag, uint64_t bytes, const MPI_Request *request);

HOT void isent_leave(struct probe *probe, enum call kind, MPI_Comm comm, struct view *view, int result, int dest, int tag,
                     int64_t count, MPI_Datatype type, const MPI_Request *request)
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
        if (!enter(&probe, kind, comm, peer_rank(dest), &view))                                                                   \
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
        ireceive_leave(&probe, kind, comm, view, result, source, tag, count, type, request);                                            \
        return result;                                                                                                 \
    } while (0)

/* A persistent request is made: a call, and no message before it is started. */
void persistent_leave(struct probe *probe, enum call kind, enum request_type type, MPI_Comm comm, struct view *view,
                      int result, int peer, int tag, uint64_t bytes, const MPI_Request *request);

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

/* ---- completion ------------------------------------------------------------------------------------------------ */

/*
 * One request, and the frequent case of it: the call has returned it complete, and it is a plain send or receive that was
 * not cancelled. False: nothing was emitted, and completion.c takes over.
 */
HOT bool single_leave(struct probe *probe, enum call kind, const MPI_Request *handle, uint64_t saved, int result,
                      const MPI_Status *status)
{
    struct log *log = probe->log;
    struct ledger *ledger = log->ledger;
    struct front_place *place = front_place(saved);
    if (__builtin_expect(result != MPI_SUCCESS || place->handle != saved || !saved || probe->outer.call != CALL_NONE, 0))
        return false;
    const struct posted *posted = &place->posted;
    struct view *view = posted->view;
    if (__builtin_expect(posted->where != handle && place->overflow, 0))
        return false; /* a handle that stands for several */
    uint64_t duration = clock_now() - probe->begin;
    uint64_t transfer = probe->begin + duration - posted->begin;
    bool send = posted->type == REQUEST_SEND;
    if (__builtin_expect(!view || view->thread != ledger->index || duration >= EVENT_DURATION_WIDE ||
                             transfer > RELAXED_LOAD(&knob_timeout_ticks),
                         0))
        return false;
    if (!send && __builtin_expect(posted->peer == PEER_PROC_NULL || status->MPI_SOURCE < 0 ||
                                      abi_status_cancelled(status) || size_flag(abi_status_bytes(status)),
                                  0))
        return false;
    struct event call = {.begin = probe->begin, .duration = (uint32_t)duration, .kind = (uint16_t)kind, .peer = 1,
                         .tag = 1};
    struct event event = {.begin = posted->begin, .duration = posted->kind, .peer = posted->peer, .tag = posted->tag,
                          .bytes = posted->bytes, .comm = (uint16_t)view->slot,
                          .kind = send ? RECORD_SEND_DONE : RECORD_RECV_DONE};
    place->handle = 0;
    fold_call(FOLD_COMPLETION, 0, &ledger->tally, NULL, &call, NULL);
    if (send) {
        fold_send_done(&ledger->tally, &view->tally, &event);
    } else {
        event.peer = status->MPI_SOURCE;
        event.tag = status->MPI_TAG;
        event.bytes = abi_status_bytes(status);
        view_page_select(view, event.peer);
        fold_recv_done(&ledger->tally, &view->tally, &event);
    }
    log_commit_two(log, &call, &event);
    RELAXED_STORE(&log->state->call, CALL_NONE);
    return true;
}

/* Everything that the frequent case is not. */
void single_leave_slow(struct probe *probe, enum call kind, MPI_Request *handle, uint64_t saved, struct request *taken,
                       int result, bool ended, const MPI_Status *status);

HOT struct request *single_take(struct log *log, uint64_t saved, const MPI_Request *handle)
{
    return __builtin_expect(book.concurrent, 0) ? request_take(log, saved, handle) : NULL;
}

#define SHAPE_WAIT(kind, name, detail, large, call, request, status)                                                   \
    do {                                                                                                               \
        struct probe probe;                                                                                            \
        MPI_Status own;                                                                                                \
        if (!probe_enter(&probe, kind, 0, PEER_NONE))                                                                  \
            return NEXT(name) call;                                                                                    \
        uint64_t saved = request ? abi_handle_of_request(*request) : 0;                                                \
        struct request *taken = single_take(probe.log, saved, request);                                                                                  \
        if (status == MPI_STATUS_IGNORE)                                                                               \
            status = &own;                                                                                             \
        int result = (*next.name)call;                                                                                 \
        if (!single_leave(&probe, kind, request, saved, result, status))                                                        \
            single_leave_slow(&probe, kind, request, saved, taken, result, true, status);                              \
        return result;                                                                                                 \
    } while (0)

#define SHAPE_TEST(kind, name, detail, large, call, request, flag, status)                                             \
    do {                                                                                                               \
        struct probe probe;                                                                                            \
        MPI_Status own;                                                                                                \
        if (!probe_enter(&probe, kind, 0, PEER_NONE))                                                                  \
            return NEXT(name) call;                                                                                    \
        uint64_t saved = request ? abi_handle_of_request(*request) : 0;                                                \
        struct request *taken = single_take(probe.log, saved, request);                                                                                  \
        if (status == MPI_STATUS_IGNORE)                                                                               \
            status = &own;                                                                                             \
        int result = (*next.name)call;                                                                                 \
        bool ended = result != MPI_SUCCESS || *flag;                                                                   \
        if (!ended || !single_leave(&probe, kind, request, saved, result, status))                                              \
            single_leave_slow(&probe, kind, request, saved, taken, result, ended, status);                             \
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

HOT void collective_leave(struct probe *probe, enum call kind, struct view *view, int result, int32_t root,
                                    struct coll_bytes bytes)
{
    struct event event = {.kind = (uint16_t)kind, .peer = root, .bytes = bytes.in};
    probe_leave(probe, FOLD_COLL, call_table[kind].op, view, result, event, bytes.out);
}

static inline void icollective_leave(struct probe *probe, enum call kind, struct view *view, int result, int32_t root,
                                     struct coll_bytes bytes, const MPI_Request *request)
{
    struct event event = {.kind = (uint16_t)kind, .peer = root};
    struct posted posted = posted_of(probe, view, kind, REQUEST_COLL, &event, request);
    posted.bytes = bytes.in;
    struct request *made = result == MPI_SUCCESS ? request_of(probe, &posted) : NULL;
    if (made) {
        made->bytes_out = bytes.out;
        request_put(made, abi_handle_of_request(*request));
    }
    probe_leave(probe, FOLD_POST_COLL, call_table[kind].op, view, result, event, 0);
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
    struct event event = {.kind = (uint16_t)kind, .peer = PEER_NONE};
    probe_leave(probe, FOLD_COMM, 0, view, result, event, 0);
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
    struct event event = {.kind = (uint16_t)kind, .peer = PEER_NONE};
    struct posted posted = posted_of(probe, view, kind, REQUEST_COMM, &event, request);
    struct request *made = result == MPI_SUCCESS ? request_of(probe, &posted) : NULL;
    if (made) {
        made->newcomm = newcomm;
        made->number = comm_creation_number(view);
        request_put(made, abi_handle_of_request(*request));
    }
    probe_leave(probe, FOLD_COMM, 0, view, result, event, 0);
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
    struct event event = {.kind = (uint16_t)kind, .peer = PEER_NONE};
    probe_leave(probe, FOLD_COMM, 0, view, result, event, 0);
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
