/*
 * The plain case (see plain.h) of calls that post, start, match or probe something, and are not as frequent as sends
 * and receives: what they post lies in front (front.h), set apart, and plain_other_completed in plain.c completes it.
 *
 * These bodies are for calls that are timed; one that is only counted takes the general body.
 */
#ifndef MPIT_PROBES_PLAIN_REQUEST_H
#define MPIT_PROBES_PLAIN_REQUEST_H

#include "wrappers/plain.h"
#include "wrappers/shapes_matched.h"
#include "wrappers/shapes_partitioned.h"

/* The place in front for what a call has posted; NULL: none is free. */
HOT struct front_place *plain_place_apart(uint64_t handle)
{
    struct front_place *place = front_kept(front_place(handle));
    return __builtin_expect((place->handle | place->overflow) == 0 && book.plain, 1) ? place : NULL;
}

/* Puts in what the plain bodies of messages do not complete. */
HOT void plain_post_apart(struct front_place *place, uint64_t handle, const struct posted *posted)
{
    place->posted.view = posted->view;
    place->posted.begin = posted->begin;
    place->posted.where = front_complement(posted->where);
    place->posted.bytes = posted->bytes;
    place->posted.peer = posted->peer;
    place->posted.tag = posted->tag;
    place->posted.kind = posted->kind;
    place->posted.type = posted->type;
    place->apart = 1;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    place->handle = handle;
}

/* The call has lasted so long. False: that is too long for the plain path. */
HOT bool plain_lasted(const struct log *log, uint64_t begin, uint64_t *duration)
{
    *duration = clock_counter() - begin;
    return __builtin_expect(*duration < COMPARED_LOAD(&knob_rare_ticks) && !log->stall.times, 1);
}

/* The event of a call on `count` requests, which has ended or started so many of them. */
HOT struct event plain_call(enum call kind, uint64_t begin, uint64_t duration, int requests, int count)
{
    return (struct event){
        .begin = begin, .duration = (uint32_t)duration, .kind = (uint16_t)kind, .peer = requests, .tag = count};
}

/* ---- probes ------------------------------------------------------------------------------------------------------ */

void plain_probed_rare(struct log *log, uint64_t begin, enum call kind, MPI_Comm comm, struct view *view, int result,
                       int source, int tag);

HOT bool plain_p2p(struct log *log, uint64_t begin, enum call kind, struct view *view, int32_t peer, int32_t tag)
{
    struct event event = {.kind = (uint16_t)kind, .peer = peer, .tag = tag};
    return plain_leave(true, log, begin, FOLD_P2P, 0, view, event);
}

#define PLAIN_PROBE(kind, name, detail, large, call, source, tag, comm, ...)                                           \
    do {                                                                                                               \
        struct log *log = thread_log;                                                                                  \
        int32_t peer;                                                                                                  \
        if (!plain_source(source, &peer) || !plain_log(log))                                                           \
            return wrapper_entered(), GENERAL(name) call;                                                              \
        plain_in(log);                                                                                                 \
        if (!plain_comm(true, log, comm))                                                                              \
            return plain_out(log), GENERAL(name) call;                                                                 \
        struct view *view = log->own.last.view;                                                                        \
        uint64_t begin = plain_begin(true, log, kind, view->slot, peer);                                               \
        int result = BELOW(log, (*next.name)call);                                                                     \
        if (__builtin_expect(result != MPI_SUCCESS, 0) || !plain_p2p(log, begin, kind, view, peer, tag))               \
            plain_probed_rare(log, begin, kind, comm, view, result, source, tag);                                      \
        log_out(log, 0);                                                                                               \
        return result;                                                                                                 \
    } while (0)

#define PLAIN_IPROBE PLAIN_PROBE

void plain_mprobed_rare(struct log *log, uint64_t begin, enum call kind, MPI_Comm comm, struct view *view, int result,
                        int source, int tag, bool found, const MPI_Message *message, const MPI_Status *status);

/* A probe that may have taken a message out. */
HOT bool plain_mprobed(struct log *log, uint64_t begin, enum call kind, struct view *view, int32_t peer, int tag,
                       bool found, const MPI_Message *message, const MPI_Status *status)
{
    struct event event = {.kind = (uint16_t)kind, .peer = peer, .tag = tag};
    if (!found)
        return plain_leave(true, log, begin, FOLD_P2P, 0, view, event);
    uint64_t key = message_key(message);
    struct front_place *place = plain_place_apart(key);
    struct posted posted = {.view = view,
                            .begin = begin,
                            .where = message,
                            .peer = status->MPI_SOURCE,
                            .tag = status->MPI_TAG,
                            .kind = (uint16_t)kind,
                            .type = REQUEST_MATCHED};
    if (__builtin_expect(!place || posted.peer < 0 || !message_is_one(message), 0) ||
        !plain_leave(true, log, begin, FOLD_P2P, 0, view, event))
        return false;
    plain_post_apart(place, key, &posted);
    return true;
}

#define PLAIN_MATCH(kind, name, call, source, tag, comm, found, message, status)                                       \
    do {                                                                                                               \
        struct log *log = thread_log;                                                                                  \
        MPI_Status own;                                                                                                \
        int32_t peer;                                                                                                  \
        if (!plain_source(source, &peer) || !plain_log(log))                                                           \
            return wrapper_entered(), GENERAL(name) call;                                                              \
        plain_in(log);                                                                                                 \
        if (!plain_comm(true, log, comm))                                                                              \
            return plain_out(log), GENERAL(name) call;                                                                 \
        struct view *view = log->own.last.view;                                                                        \
        if (status == MPI_STATUS_IGNORE)                                                                               \
            status = &own;                                                                                             \
        uint64_t begin = plain_begin(true, log, kind, view->slot, peer);                                               \
        int result = BELOW(log, (*next.name)call);                                                                     \
        if (__builtin_expect(result != MPI_SUCCESS, 0) ||                                                              \
            !plain_mprobed(log, begin, kind, view, peer, tag, found, message, status))                                 \
            plain_mprobed_rare(log, begin, kind, comm, view, result, source, tag, result == MPI_SUCCESS && (found),    \
                               message, status);                                                                       \
        log_out(log, 0);                                                                                               \
        return result;                                                                                                 \
    } while (0)

#define PLAIN_MPROBE(kind, name, detail, large, call, source, tag, comm, message, status)                              \
    PLAIN_MATCH(kind, name, call, source, tag, comm, true, message, status)
#define PLAIN_IMPROBE(kind, name, detail, large, call, source, tag, comm, flag, message, status)                       \
    PLAIN_MATCH(kind, name, call, source, tag, comm, *flag != 0, message, status)

void plain_mreceived_rare(struct log *log, uint64_t begin, enum call kind, struct view *view, uint64_t key, int result,
                          int64_t count, MPI_Datatype type, const MPI_Message *message, const MPI_Status *status);

/* No other handle is like a message's, and a message that is known twice is not in front. */
#define PLAIN_MRECV(kind, name, detail, large, call, buf, count, type, message, status)                                \
    do {                                                                                                               \
        struct log *log = thread_log;                                                                                  \
        MPI_Status own;                                                                                                \
        if (!plain_log(log) || __builtin_expect(message == NULL, 0))                                                   \
            return wrapper_entered(), GENERAL(name) call;                                                              \
        uint64_t key = message_key(message);                                                                           \
        struct front_place *place = front_kept(front_place(key));                                                      \
        if (__builtin_expect(place->handle != key || place->posted.view->thread != log->own.index ||                   \
                                 place->posted.view->comm->freed,                                                      \
                             0)) /* one that was freed must be held until this call's event is there */                \
            return wrapper_entered(), GENERAL(name) call;                                                              \
        struct view *view = place->posted.view;                                                                        \
        if (status == MPI_STATUS_IGNORE)                                                                               \
            status = &own;                                                                                             \
        plain_in(log);                                                                                                 \
        uint64_t begin = plain_begin(true, log, kind, view->slot, place->posted.peer);                                 \
        int result = BELOW(log, (*next.name)call);                                                                     \
        if (__builtin_expect(place->handle == key, 1) && plain_received(true, log, begin, kind, view, result, status)) \
            front_free(place);                                                                                         \
        else                                                                                                           \
            plain_mreceived_rare(log, begin, kind, view, key, result, count, type, message, status);                   \
        log_out(log, 0);                                                                                               \
        return result;                                                                                                 \
    } while (0)

/* ---- collectives ------------------------------------------------------------------------------------------------- */

#define PLAIN_NEIGHBOR(kind, name, op, large, call, comm, ...)                                                         \
    PLAIN_COLL_OF(COLL_OF_NEIGHBORS, true, kind, name, op, large, call, comm, __VA_ARGS__)

void plain_icollected_rare(struct log *log, uint64_t begin, enum call kind, MPI_Comm comm, struct view *view,
                           int result, int32_t root, struct coll_bytes bytes, const MPI_Request *request);

HOT bool plain_icollected(struct log *log, uint64_t begin, enum call kind, unsigned op, struct view *view, int32_t root,
                          struct coll_bytes bytes, const MPI_Request *request)
{
    uint64_t handle = abi_handle_of_request(*request);
    struct front_place *place = plain_place_apart(handle);
    struct event event = {.kind = (uint16_t)kind, .peer = root};
    struct posted posted = {.view = view,
                            .begin = begin,
                            .where = request,
                            .bytes = bytes.in,
                            .peer = root,
                            .tag = (int32_t)bytes.out,
                            .kind = (uint16_t)kind,
                            .type = REQUEST_COLL};
    if (__builtin_expect(!place || bytes.out > INT32_MAX, 0) ||
        !plain_leave(true, log, begin, FOLD_POST_COLL, op, view, event))
        return false;
    plain_post_apart(place, handle, &posted);
    return true;
}

#define PLAIN_ICOLL_OF(where, kind, name, op_, large, call, comm, request, ...)                                        \
    do {                                                                                                               \
        struct log *log = thread_log;                                                                                  \
        if (!plain_log(log) || __builtin_expect(listened(COLLECTIVE_BEGIN), 0))                                        \
            return wrapper_entered(), GENERAL(name) call;                                                              \
        plain_in(log);                                                                                                 \
        if (!plain_comm(true, log, comm))                                                                              \
            return plain_out(log), GENERAL(name) call;                                                                 \
        struct view *view = log->own.last.view;                                                                        \
        struct coll_bytes bytes = {0, 0};                                                                              \
        uint64_t begin = plain_begin(true, log, kind, view->slot, PEER_NONE);                                          \
        int result = BELOW(log, (*next.name)call);                                                                     \
        if (__builtin_expect(result == MPI_SUCCESS, 1))                                                                \
            bytes = coll_##op_(where(view, comm), large __VA_OPT__(, ) __VA_ARGS__);                                   \
        if (__builtin_expect(result != MPI_SUCCESS, 0) ||                                                              \
            !plain_icollected(log, begin, kind, COLLECTIVE_OF(kind), view, COLL_ROOT_##op_(__VA_ARGS__), bytes,        \
                              request))                                                                                \
            plain_icollected_rare(log, begin, kind, comm, view, result, COLL_ROOT_##op_(__VA_ARGS__), bytes, request); \
        log_out(log, 0);                                                                                               \
        return result;                                                                                                 \
    } while (0)

#define PLAIN_ICOLL(kind, name, op, large, call, comm, request, ...)                                                   \
    PLAIN_ICOLL_OF(COLL_OF_ALL, kind, name, op, large, call, comm, request __VA_OPT__(, ) __VA_ARGS__)
#define PLAIN_INEIGHBOR(kind, name, op, large, call, comm, request, ...)                                               \
    PLAIN_ICOLL_OF(COLL_OF_NEIGHBORS, kind, name, op, large, call, comm, request, __VA_ARGS__)

/* ---- starting ---------------------------------------------------------------------------------------------------- */

/* A persistent request in front gets under way: folds its record, and notes what becomes of it. */
HOT void plain_start_record(struct tally *tally, struct posted *posted, uint64_t begin, struct event *event)
{
    struct view *view = posted->view;
    *event =
        (struct event){.begin = begin, .duration = posted->kind, .comm = (uint16_t)view->slot, .peer = posted->peer};
    if ((posted->type & POSTED_TYPE) == REQUEST_COLL) {
        event->kind = RECORD_COLL_POSTED;
        fold_coll_posted(tally, &view->tally, event);
    } else {
        event->tag = posted->tag;
        event->bytes = posted->bytes;
        if (event->peer >= 0)
            view_page_select(view, event->peer);
        if ((posted->type & POSTED_TYPE) == REQUEST_SEND) {
            event->kind = RECORD_SEND_POSTED;
            fold_send_posted(tally, &view->tally, event);
        } else {
            event->kind = RECORD_RECV_POSTED;
            fold_recv_posted(tally, &view->tally, event);
        }
    }
    posted->type &= (uint8_t)~POSTED_IDLE;
    posted->begin = begin;
}

/* May this persistent request be started here? A message that is large has a flag. */
HOT bool plain_startable(const struct log *log, const struct front_place *place, uint64_t handle)
{
    return __builtin_expect(place->handle == handle && (place->posted.type & POSTED_IDLE) &&
                                place->posted.view->thread == log->own.index && plain_small(place->posted.bytes),
                            1);
}

void plain_started_rare(struct log *log, uint64_t begin, enum call kind, MPI_Request *request, uint64_t saved,
                        int result);

HOT bool plain_started(struct log *log, uint64_t begin, enum call kind, const MPI_Request *request, uint64_t saved,
                       struct front_place *place, int result)
{
    struct tally tally = plain_tally(log);
    uint64_t duration;
    if (__builtin_expect(result != MPI_SUCCESS || abi_handle_of_request(*request) != saved, 0) ||
        !plain_startable(log, place, saved) || !plain_lasted(log, begin, &duration))
        return false;
    struct event call = plain_call(kind, begin, duration, 1, 1), posted;
    fold_call(FOLD_START, 0, &tally, NULL, &call, NULL, 1);
    plain_start_record(&tally, &place->posted, begin, &posted);
    plain_folded(log, &tally);
    log_commit_two(log, &call, &posted);
    RELAXED_STORE(&log->state->call, CALL_NONE);
    return true;
}

#define PLAIN_START(kind, name, detail, large, call, request)                                                          \
    do {                                                                                                               \
        struct log *log = thread_log;                                                                                  \
        if (!plain_log(log) || __builtin_expect(request == NULL || listened(COLLECTIVE_BEGIN), 0))                     \
            return wrapper_entered(), GENERAL(name) call;                                                              \
        uint64_t saved = abi_handle_of_request(*request);                                                              \
        struct front_place *place = front_kept(front_place(saved));                                                    \
        if (__builtin_expect(place->handle != saved, 0)) /* else threads do not run at once: it may stay there */      \
            return wrapper_entered(), GENERAL(name) call;                                                              \
        plain_in(log);                                                                                                 \
        uint64_t begin = plain_begin(true, log, kind, 0, PEER_NONE);                                                   \
        int result = BELOW(log, (*next.name)call);                                                                     \
        if (!plain_started(log, begin, kind, request, saved, place, result))                                           \
            plain_started_rare(log, begin, kind, request, saved, result);                                              \
        log_out(log, 0);                                                                                               \
        return result;                                                                                                 \
    } while (0)

/* ---- both at once ------------------------------------------------------------------------------------------------ */

void plain_isendreceived_rare(struct log *log, uint64_t begin, enum call kind, MPI_Comm comm, struct view *view,
                              int result, struct halves halves, const MPI_Request *request);

HOT bool plain_isendreceived(struct log *log, uint64_t begin, enum call kind, struct view *view,
                             const struct halves *halves, const MPI_Request *request)
{
    uint64_t handle = abi_handle_of_request(*request), duration;
    struct front_place *place = plain_place_apart(handle);
    struct tally tally = plain_tally(log);
    struct event sends = halves->send, receives = halves->receive;
    if (__builtin_expect(!place, 0) || !plain_small(sends.bytes) || !plain_lasted(log, begin, &duration))
        return false;
    struct event call = plain_call(kind, begin, duration, 2, 1);
    sends.kind = RECORD_SEND_POSTED;
    receives.kind = RECORD_RECV_POSTED;
    sends.begin = receives.begin = begin;
    sends.duration = receives.duration = kind;
    sends.comm = receives.comm = (uint16_t)view->slot;
    fold_call(FOLD_START, 0, &tally, NULL, &call, NULL, 1);
    view_page_select(view, sends.peer);
    fold_send_posted(&tally, &view->tally, &sends);
    fold_recv_posted(&tally, &view->tally, &receives);
    plain_folded(log, &tally);
    log_commit_two(log, &call, &sends);
    log_commit(log, &receives);
    *front_pair(place) = (struct front_pair){.bytes_out = sends.bytes, .dest = sends.peer, .tag = sends.tag};
    struct posted posted = {.view = view,
                            .begin = begin,
                            .where = request,
                            .bytes = receives.bytes,
                            .peer = receives.peer,
                            .tag = receives.tag,
                            .kind = (uint16_t)kind,
                            .type = REQUEST_PAIR};
    plain_post_apart(place, handle, &posted);
    RELAXED_STORE(&log->state->call, CALL_NONE);
    return true;
}

#define PLAIN_ISENDRECV(kind, name, detail, large, call, sendbuf, sendcount, sendtype, dest, sendtag, recvbuf,         \
                        recvcount, recvtype, source, recvtag, comm, request)                                           \
    do {                                                                                                               \
        struct log *log = thread_log;                                                                                  \
        int32_t peer;                                                                                                  \
        if (__builtin_expect(dest < 0, 0) || !plain_source(source, &peer) || !plain_log(log))                          \
            return wrapper_entered(), GENERAL(name) call;                                                              \
        plain_in(log);                                                                                                 \
        if (!plain_comm(true, log, comm))                                                                              \
            return plain_out(log), GENERAL(name) call;                                                                 \
        struct view *view = log->own.last.view;                                                                        \
        uint64_t begin = plain_begin(true, log, kind, view->slot, peer);                                               \
        int result = BELOW(log, (*next.name)call);                                                                     \
        struct halves halves =                                                                                         \
            halves_of(log, result, dest, sendtag, sendcount, sendtype, source, recvtag, recvcount, recvtype);          \
        if (__builtin_expect(result != MPI_SUCCESS, 0) ||                                                              \
            !plain_isendreceived(log, begin, kind, view, &halves, request))                                            \
            plain_isendreceived_rare(log, begin, kind, comm, view, result, halves, request);                           \
        log_out(log, 0);                                                                                               \
        return result;                                                                                                 \
    } while (0)

#define PLAIN_ISENDRECV_REPLACE(kind, name, detail, large, call, buf, count, type, dest, sendtag, source, recvtag,     \
                                comm, request)                                                                         \
    PLAIN_ISENDRECV(kind, name, detail, large, call, buf, count, type, dest, sendtag, buf, count, type, source,        \
                    recvtag, comm, request)

/* ---- partitions -------------------------------------------------------------------------------------------------- */

void plain_partition_rare(struct log *log, uint64_t begin, enum call kind, struct view *view, int result);

#define PLAIN_PARTITION(kind, name, detail, large, call, ...)                                                          \
    do {                                                                                                               \
        struct log *log = thread_log;                                                                                  \
        uint64_t handle = abi_handle_of_request(request);                                                              \
        struct front_place *place = front_kept(front_place(handle));                                                   \
        if (!plain_log(log) || __builtin_expect(place->handle != handle || !posted_is_partitioned(&place->posted) ||   \
                                                    place->posted.view->thread != log->own.index,                      \
                                                0))                                                                    \
            return wrapper_entered(), GENERAL(name) call;                                                              \
        struct view *view = place->posted.view;                                                                        \
        plain_in(log);                                                                                                 \
        uint64_t begin = plain_begin(true, log, kind, view->slot, PEER_NONE);                                          \
        int result = BELOW(log, (*next.name)call);                                                                     \
        if (__builtin_expect(result != MPI_SUCCESS, 0) || !plain_p2p(log, begin, kind, view, PEER_NONE, 0))            \
            plain_partition_rare(log, begin, kind, view, result);                                                      \
        log_out(log, 0);                                                                                               \
        return result;                                                                                                 \
    } while (0)

#endif
