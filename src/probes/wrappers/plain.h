/*
 * The plain case of the frequent calls: what nearly every call of nearly every program is, in as few instructions as it
 * can be done.
 *
 *     before the call   The thread has a log and is in no other call (innermost is 0, log.h). Its last call was on the
 *                       same communicator, or the request was posted plainly. Threads do not run at once. The clock is
 *                       the processor's counter.
 *     after the call    It succeeded and did not take long. Its peer is a rank. Its message is not large.
 *
 * Each body exists twice (`timed`, a constant): with the two clock reads, and for calls that are counted and not timed
 * (mpit_timing), whose begin is 0. A call that is to be timed as one of a sample leaves for the general body.
 *
 * What fails before the call leaves for the general body of the same wrapper (shapes_*.h), what fails behind it for its
 * rare end (rare.c); both do everything that the plain case does, and the rest. So nothing but speed is lost by
 * leaving: whatever needs more than the plain case (listeners, say) makes one of these conditions fail.
 */
#ifndef MPIT_PROBES_PLAIN_H
#define MPIT_PROBES_PLAIN_H

#include "wrappers/caller.h"
#include "wrappers/shapes_collective.h"
#include "wrappers/shapes_completion.h"
#include "wrappers/shapes_message.h"
#include "wrappers/shapes_request.h"

/* For the rare end. Without a begin the call is one that was only counted. */
#define PROBE_OF_PLAIN                                                                                                 \
    {                                                                                                                  \
        .log = log, .begin = begin, .outer.call = CALL_NONE, .mode = begin ? 0 : MODE_UNTIMED                          \
    }

HOT bool plain_log(const struct log *log)
{
    return __builtin_expect(log != NULL, 1) && __builtin_expect(log->innermost == 0, 1);
}

/* Enters the recorder, until log_out (log.h). What depends on the log is looked at behind that. */
HOT void plain_in(struct log *log)
{
#if defined(__x86_64__)
    __asm__ volatile("movq %%rsp, %0" : "=m"(log->innermost) : : "memory");
#else
    RELAXED_STORE(&log->innermost, stack_lowest());
    log_fence();
#endif
}

/* For the general body after all. */
HOT void plain_out(struct log *log)
{
    log_out(log, 0);
    wrapper_entered();
}

/* Not the call that is timed for its lot, and the thread knows how large lots are. */
HOT bool plain_ready(bool timed, const struct log *log)
{
    return timed ||
           __builtin_expect(
               log->sample_wait > 1 && log->sampling == COMPARED_LOAD(&knob_sampling) && log->sampling != 1, 1);
}

/* Behind plain_in, as what it looks at may be changed by a signal handler before. */
HOT bool plain_comm(bool timed, const struct log *log, MPI_Comm comm)
{
    return plain_ready(timed, log) &&
           __builtin_expect(COMPARED_LOAD(&log->own.plain_handle) == abi_handle_of_comm(comm), 1);
}

HOT uint64_t plain_begin(bool timed, struct log *log, enum call kind, uint32_t comm, int32_t peer)
{
    uint64_t begin = timed ? clock_counter() : 0;
    if (!timed)
        log->sample_wait--;
    stall_call_begin(&log->stall);
    state_set(log->state, kind, comm, peer, begin);
    return begin;
}

/* A fold with a tally on the stack, of which nothing is stored but what others look at: when the call ended. */
HOT struct tally plain_tally(const struct log *log)
{
    return (struct tally){.cells = log->own.tally.cells, .message_weight = 1, .unseen = true};
}

HOT void plain_folded(struct log *log, const struct tally *tally)
{
    cell_store(&log->own.tally.end, tally->end);
}

HOT void plain_end(struct log *log, const struct tally *tally, const struct event *event)
{
    plain_folded(log, tally);
    log_commit(log, event);
    RELAXED_STORE(&log->state->call, CALL_NONE);
}

/* Folds and keeps the event of a call on a communicator. False: it took long, and nothing was done. */
HOT bool plain_leave(bool timed, struct log *log, uint64_t begin, enum fold_shape shape, unsigned op, struct view *view,
                     struct event event)
{
    struct tally tally = plain_tally(log);
    uint64_t duration = timed ? clock_counter() - begin : 0;
    if (__builtin_expect(duration >= COMPARED_LOAD(&knob_rare_ticks) || log->stall.times, 0))
        return false;
    event.begin = timed ? begin : cell_load(&log->own.tally.end);
    event.duration = (uint32_t)duration;
    event.comm = (uint16_t)view->slot;
    fold_call(shape, op, &tally, &view->tally, &event, NULL, timed);
    plain_end(log, &tally, &event);
    return true;
}

HOT bool plain_small(uint64_t bytes)
{
    if (__builtin_expect(bytes >= COMPARED_LOAD(&knob_small_limit), 0))
        return false;
    if (bytes >= SMALL_MOST) /* for the compiler, which cannot know that the limit is not over it */
        __builtin_unreachable();
    return true;
}

/* Bytes of data of a call that succeeded: its count is not negative. False: not a predefined type. */
HOT bool plain_bytes(struct log *log, int64_t count, MPI_Datatype type, uint64_t *bytes)
{
#if ABI_HANDLES_ARE_SYMBOLS /* then the size stands in a table */
    uint32_t size = log->type_bytes;
    if (__builtin_expect(log->type != type, 0)) {
        if (!abi_type_size(type, &size))
            return false;
        log->type = type;
        log->type_bytes = size;
    }
#else
    uint32_t size;
    (void)log;
    if (__builtin_expect(!abi_type_size(type, &size), 0))
        return false;
#endif
    *bytes = (uint64_t)count * size;
    return true;
}

/* The same for what is sent. False also: not small. */
HOT bool plain_small_bytes(struct log *log, int64_t count, MPI_Datatype type, uint64_t *bytes)
{
    return plain_bytes(log, count, type, bytes) && plain_small(*bytes);
}

/* `peer`: the rank, or PEER_ANY. False: another one that is no rank. */
HOT bool plain_source(int source, int32_t *peer)
{
    *peer = source;
    if (__builtin_expect(source >= 0, 1))
        return true;
    *peer = PEER_ANY;
    return source == MPI_ANY_SOURCE;
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

void plain_sent_rare(struct log *log, uint64_t begin, enum call kind, MPI_Comm comm, struct view *view, int result,
                     int dest, int tag, int64_t count, MPI_Datatype type);

HOT bool plain_sent(bool timed, struct log *log, uint64_t begin, enum call kind, struct view *view, int result,
                    int dest, int tag, int64_t count, MPI_Datatype type)
{
    struct event event = {.kind = (uint16_t)kind, .peer = dest, .tag = tag};
    if (__builtin_expect(result != MPI_SUCCESS || !plain_small_bytes(log, count, type, &event.bytes), 0))
        return false;
    view_page_select(view, dest);
    return plain_leave(timed, log, begin, FOLD_SEND, 0, view, event);
}

#define PLAIN_SEND(timed, kind, name, detail, large, call, buf, count, type, dest, tag, comm)                          \
    do {                                                                                                               \
        struct log *log = thread_log;                                                                                  \
        if (__builtin_expect(dest < 0, 0) || !plain_log(log))                                                          \
            return wrapper_entered(), GENERAL(name) call;                                                              \
        plain_in(log);                                                                                                 \
        if (!plain_comm(timed, log, comm))                                                                             \
            return plain_out(log), GENERAL(name) call;                                                                 \
        struct view *view = log->own.last.view;                                                                        \
        uint64_t begin = plain_begin(timed, log, kind, view->slot, dest);                                              \
        int result = BELOW(log, (*next.name)call);                                                                     \
        if (!plain_sent(timed, log, begin, kind, view, result, dest, tag, count, type))                                \
            plain_sent_rare(log, begin, kind, comm, view, result, dest, tag, count, type);                             \
        log_out(log, 0);                                                                                               \
        return result;                                                                                                 \
    } while (0)

void plain_received_rare(struct log *log, uint64_t begin, enum call kind, MPI_Comm comm, struct view *view, int result,
                         int source, int64_t count, MPI_Datatype type, const MPI_Status *status);

HOT bool plain_received(bool timed, struct log *log, uint64_t begin, enum call kind, struct view *view, int result,
                        const MPI_Status *status)
{
    if (__builtin_expect(result != MPI_SUCCESS, 0)) /* the status may be no status at all: the library has said so */
        return false;
    struct event event = {.kind = (uint16_t)kind, .peer = status->MPI_SOURCE, .tag = status->MPI_TAG};
    event.bytes = abi_status_bytes(status);
    if (__builtin_expect(event.peer < 0 || !plain_small(event.bytes), 0))
        return false;
    view_page_select(view, event.peer);
    return plain_leave(timed, log, begin, FOLD_RECV, 0, view, event);
}

#define PLAIN_RECV(timed, kind, name, detail, large, call, buf, count, type, source, tag, comm, status)                \
    do {                                                                                                               \
        struct log *log = thread_log;                                                                                  \
        MPI_Status own;                                                                                                \
        int32_t peer;                                                                                                  \
        if (!plain_source(source, &peer) || !plain_log(log))                                                           \
            return wrapper_entered(), GENERAL(name) call;                                                              \
        plain_in(log);                                                                                                 \
        if (!plain_comm(timed, log, comm))                                                                             \
            return plain_out(log), GENERAL(name) call;                                                                 \
        struct view *view = log->own.last.view;                                                                        \
        if (status == MPI_STATUS_IGNORE)                                                                               \
            status = &own;                                                                                             \
        uint64_t begin = plain_begin(timed, log, kind, view->slot, peer);                                              \
        int result = BELOW(log, (*next.name)call);                                                                     \
        if (!plain_received(timed, log, begin, kind, view, result, status))                                            \
            plain_received_rare(log, begin, kind, comm, view, result, source, count, type, status);                    \
        log_out(log, 0);                                                                                               \
        return result;                                                                                                 \
    } while (0)

void plain_exchanged_rare(struct log *log, uint64_t begin, enum call kind, MPI_Comm comm, struct view *view, int result,
                          int dest, int tag, int64_t count, MPI_Datatype type, int source, int64_t recvcount,
                          MPI_Datatype recvtype, const MPI_Status *status);

HOT bool plain_exchanged(bool timed, struct log *log, uint64_t begin, enum call kind, struct view *view, int result,
                         int dest, int tag, int64_t count, MPI_Datatype type, const MPI_Status *status)
{
    struct event sent = {.kind = (uint16_t)kind, .peer = dest, .tag = tag};
    if (__builtin_expect(result != MPI_SUCCESS || !plain_small_bytes(log, count, type, &sent.bytes), 0))
        return false;
    struct event received = {.kind = RECORD_RECEIVE, .peer = status->MPI_SOURCE, .tag = status->MPI_TAG};
    received.bytes = abi_status_bytes(status);
    if (__builtin_expect(received.peer < 0 || !plain_small(received.bytes), 0))
        return false;
    struct tally tally = plain_tally(log);
    uint64_t duration = timed ? clock_counter() - begin : 0;
    if (__builtin_expect(duration >= COMPARED_LOAD(&knob_rare_ticks) || log->stall.times, 0))
        return false;
    if (timed && begin == 0) /* for the compiler: a call that is timed has begun */
        __builtin_unreachable();
    sent.begin = timed ? begin : cell_load(&log->own.tally.end);
    sent.duration = (uint32_t)duration;
    received.begin = timed ? begin : 0;
    sent.comm = received.comm = (uint16_t)view->slot;
    fold_call(FOLD_P2P, 0, &tally, &view->tally, &sent, NULL, timed);
    view_page_select(view, dest);
    fold_sent(&view->tally, &sent);
    view_page_select(view, received.peer);
    fold_received(&view->tally, &received);
    fold_transfers_exchanged(&tally, &view->tally, begin, timed);
    plain_folded(log, &tally);
    log_commit_two(log, &sent, &received);
    RELAXED_STORE(&log->state->partner, 0);
    RELAXED_STORE(&log->state->call, CALL_NONE);
    return true;
}

#define PLAIN_SENDRECV(timed, kind, name, detail, large, call, sendbuf, sendcount, sendtype, dest, sendtag, recvbuf,   \
                       recvcount, recvtype, source, recvtag, comm, status)                                             \
    do {                                                                                                               \
        struct log *log = thread_log;                                                                                  \
        MPI_Status own;                                                                                                \
        int32_t peer;                                                                                                  \
        if (__builtin_expect(dest < 0, 0) || !plain_source(source, &peer) || !plain_log(log))                          \
            return wrapper_entered(), GENERAL(name) call;                                                              \
        plain_in(log);                                                                                                 \
        if (!plain_comm(timed, log, comm))                                                                             \
            return plain_out(log), GENERAL(name) call;                                                                 \
        struct view *view = log->own.last.view;                                                                        \
        if (status == MPI_STATUS_IGNORE)                                                                               \
            status = &own;                                                                                             \
        uint64_t begin = plain_begin(timed, log, kind, view->slot, peer);                                              \
        RELAXED_STORE(&log->state->partner, dest + 1);                                                                 \
        int result = BELOW(log, (*next.name)call);                                                                     \
        if (!plain_exchanged(timed, log, begin, kind, view, result, dest, sendtag, sendcount, sendtype, status))       \
            plain_exchanged_rare(log, begin, kind, comm, view, result, dest, sendtag, sendcount, sendtype, source,     \
                                 recvcount, recvtype, status);                                                         \
        log_out(log, 0);                                                                                               \
        return result;                                                                                                 \
    } while (0)

#define PLAIN_SENDRECV_REPLACE(timed, kind, name, detail, large, call, buf, count, type, dest, sendtag, source,        \
                               recvtag, comm, status)                                                                  \
    PLAIN_SENDRECV(timed, kind, name, detail, large, call, buf, count, type, dest, sendtag, buf, count, type, source,  \
                   recvtag, comm, status)

/* ---- requests ---------------------------------------------------------------------------------------------------- */

/* Makes the compiler keep the address instead of finding it again. */
HOT struct front_place *front_kept(struct front_place *place)
{
    __asm__("" : "+r"(place));
    return place;
}

struct front_place *plain_place_rare(const MPI_Request *where);

/* The place for the request that a call has just posted; NULL: there is none. */
HOT struct front_place *plain_place(const MPI_Request *where)
{
    struct front_place *place = front_kept(front_place(abi_handle_of_request(*where)));
    return __builtin_expect((place->handle | place->overflow) == 0, 1) ? place : plain_place_rare(where);
}

HOT void plain_post(struct front_place *place, uint64_t begin, enum call kind, enum request_type type,
                    struct view *view, const struct event *event, const MPI_Request *where)
{
    place->handle = abi_handle_of_request(*where);
    place->posted.view = view;
    place->posted.begin = begin;
    place->posted.where = where;
    place->posted.bytes = event->bytes;
    place->posted.peer = event->peer;
    place->posted.tag = event->tag;
    place->posted.kind = (uint16_t)kind;
    place->posted.type = (uint8_t)type;
}

void plain_isent_rare(struct log *log, uint64_t begin, enum call kind, MPI_Comm comm, struct view *view, int result,
                      int dest, int tag, int64_t count, MPI_Datatype type, const MPI_Request *request);

HOT bool plain_isent(bool timed, struct log *log, uint64_t begin, enum call kind, struct view *view, int result,
                     int dest, int tag, int64_t count, MPI_Datatype type, const MPI_Request *request)
{
    struct event event = {.kind = (uint16_t)kind, .peer = dest, .tag = tag};
    if (__builtin_expect(result != MPI_SUCCESS || !plain_small_bytes(log, count, type, &event.bytes), 0))
        return false;
    struct front_place *place = plain_place(request);
    if (!place)
        return false;
    view_page_select(view, dest);
    if (!plain_leave(timed, log, begin, FOLD_POST_SEND, 0, view, event))
        return beside_give_back(), false;
    plain_post(place, begin, kind, REQUEST_SEND, view, &event, request);
    return true;
}

#define PLAIN_ISEND(timed, kind, name, detail, large, call, buf, count, type, dest, tag, comm, request)                \
    do {                                                                                                               \
        struct log *log = thread_log;                                                                                  \
        if (__builtin_expect(dest < 0, 0) || !plain_log(log))                                                          \
            return wrapper_entered(), GENERAL(name) call;                                                              \
        plain_in(log);                                                                                                 \
        if (!plain_comm(timed, log, comm))                                                                             \
            return plain_out(log), GENERAL(name) call;                                                                 \
        struct view *view = log->own.last.view;                                                                        \
        uint64_t begin = plain_begin(timed, log, kind, view->slot, dest);                                              \
        int result = BELOW(log, (*next.name)call);                                                                     \
        if (!plain_isent(timed, log, begin, kind, view, result, dest, tag, count, type, request))                      \
            plain_isent_rare(log, begin, kind, comm, view, result, dest, tag, count, type, request);                   \
        log_out(log, 0);                                                                                               \
        return result;                                                                                                 \
    } while (0)

void plain_ireceive_rare(struct log *log, uint64_t begin, enum call kind, MPI_Comm comm, struct view *view, int result,
                         int source, int tag, int64_t count, MPI_Datatype type, const MPI_Request *request);

HOT bool plain_ireceive(bool timed, struct log *log, uint64_t begin, enum call kind, struct view *view, int result,
                        int32_t peer, int tag, int64_t count, MPI_Datatype type, const MPI_Request *request)
{
    struct event event = {.kind = (uint16_t)kind, .peer = peer, .tag = tag};
    if (__builtin_expect(result != MPI_SUCCESS || !plain_bytes(log, count, type, &event.bytes), 0))
        return false;
    struct front_place *place = plain_place(request);
    if (!place)
        return false;
    if (!plain_leave(timed, log, begin, FOLD_POST_RECV, 0, view, event))
        return beside_give_back(), false;
    plain_post(place, begin, kind, REQUEST_RECV, view, &event, request);
    return true;
}

#define PLAIN_IRECV(timed, kind, name, detail, large, call, buf, count, type, source, tag, comm, request)              \
    do {                                                                                                               \
        struct log *log = thread_log;                                                                                  \
        int32_t peer;                                                                                                  \
        if (!plain_source(source, &peer) || !plain_log(log))                                                           \
            return wrapper_entered(), GENERAL(name) call;                                                              \
        plain_in(log);                                                                                                 \
        if (!plain_comm(timed, log, comm))                                                                             \
            return plain_out(log), GENERAL(name) call;                                                                 \
        struct view *view = log->own.last.view;                                                                        \
        uint64_t begin = plain_begin(timed, log, kind, view->slot, peer);                                              \
        int result = BELOW(log, (*next.name)call);                                                                     \
        if (!plain_ireceive(timed, log, begin, kind, view, result, peer, tag, count, type, request))                   \
            plain_ireceive_rare(log, begin, kind, comm, view, result, source, tag, count, type, request);              \
        log_out(log, 0);                                                                                               \
        return result;                                                                                                 \
    } while (0)

/* ---- completion -------------------------------------------------------------------------------------------------- */

HOT bool plain_completed_send(bool timed, struct log *log, struct tally *tally, struct event *call, struct view *view,
                              struct event *done)
{
    done->kind = RECORD_SEND_DONE;
    fold_call(FOLD_COMPLETION, 0, tally, NULL, call, NULL, timed);
    fold_send_done(tally, &view->tally, done);
    plain_folded(log, tally);
    log_commit_two(log, call, done);
    return true;
}

HOT bool plain_completed_receive(bool timed, struct log *log, struct tally *tally, struct event *call,
                                 struct view *view, struct event *done, const MPI_Status *status)
{
    uint64_t bytes = abi_status_bytes(status);
    if (__builtin_expect(status->MPI_SOURCE < 0 || abi_status_cancelled(status) || !plain_small(bytes), 0))
        return false;
    done->kind = RECORD_RECV_DONE;
    done->peer = status->MPI_SOURCE;
    done->tag = status->MPI_TAG;
    done->bytes = bytes;
    view_page_select(view, done->peer);
    fold_call(FOLD_COMPLETION, 0, tally, NULL, call, NULL, timed);
    fold_recv_done(tally, &view->tally, done);
    plain_folded(log, tally);
    log_commit_two(log, call, done);
    return true;
}

/* The call has returned one request complete, of `count`. */
HOT bool plain_completed(bool timed, struct log *log, uint64_t begin, enum call kind, int count,
                         const MPI_Request *where, uint64_t saved, struct front_place *place, int result,
                         const MPI_Status *status)
{
    struct view *view = place->posted.view;
    struct tally tally = plain_tally(log);
    if (__builtin_expect(
            result != MPI_SUCCESS || place->handle != saved || view->thread != log->own.index || log->stall.times, 0))
        return false;
    if (__builtin_expect(place->posted.where != where, 0) && place->overflow)
        return false; /* a handle that stands for several */
    uint64_t end = timed ? clock_counter() : 0, posted = timed ? place->posted.begin : 0;
    if (timed ? __builtin_expect(end - posted >= COMPARED_LOAD(&knob_rare_ticks), 0)
              : __builtin_expect(place->posted.begin != 0 || COMPARED_LOAD(&knob_rare_ticks) == 0, 0))
        return false;
    if (timed && posted == 0) /* for the compiler: one that was not timed was posted too long ago */
        __builtin_unreachable();
    struct event call = {.begin = timed ? begin : cell_load(&log->own.tally.end),
                         .duration = (uint32_t)(end - begin),
                         .kind = (uint16_t)kind,
                         .peer = 1,
                         .tag = count};
    struct event done = {.begin = posted,
                         .duration = place->posted.kind,
                         .peer = place->posted.peer,
                         .tag = place->posted.tag,
                         .bytes = place->posted.bytes,
                         .comm = (uint16_t)view->slot};
    if (place->posted.type == REQUEST_SEND)
        plain_completed_send(timed, log, &tally, &call, view, &done);
    else if (!plain_completed_receive(timed, log, &tally, &call, view, &done, status))
        return false;
    place->handle = 0;
    RELAXED_STORE(&log->state->call, CALL_NONE);
    return true;
}

/* The same for whatever is in front, of a call on `count` requests that has ended without an error. */
bool plain_other_completed(struct log *log, uint64_t begin, enum call kind, const MPI_Request *where, uint64_t saved,
                           int count, const MPI_Status *status);
void plain_completed_rare(struct log *log, uint64_t begin, enum call kind, MPI_Request *request, uint64_t saved,
                          int result, bool ended, const MPI_Status *status);

#define PLAIN_WAIT(timed, kind, name, detail, large, call, request, status)                                            \
    do {                                                                                                               \
        struct log *log = thread_log;                                                                                  \
        MPI_Status own;                                                                                                \
        if (!plain_log(log) || __builtin_expect(request == NULL, 0))                                                   \
            return wrapper_entered(), GENERAL(name) call;                                                              \
        plain_in(log);                                                                                                 \
        uint64_t saved = abi_handle_of_request(*request);                                                              \
        struct front_place *place = front_kept(front_place(saved));                                                    \
        if (!plain_ready(timed, log) || __builtin_expect(place->handle != saved, 0)) /* it may stay there */           \
            return plain_out(log), GENERAL(name) call;                                                                 \
        if (status == MPI_STATUS_IGNORE)                                                                               \
            status = &own;                                                                                             \
        uint64_t begin = plain_begin(timed, log, kind, 0, PEER_NONE);                                                  \
        int result = BELOW(log, (*next.name)call);                                                                     \
        if (!plain_completed(timed, log, begin, kind, 1, request, saved, place, result, status))                       \
            plain_completed_rare(log, begin, kind, request, saved, result, true, status);                              \
        log_out(log, 0);                                                                                               \
        return result;                                                                                                 \
    } while (0)

/* A test that found its request under way. */
HOT bool plain_tested(bool timed, struct log *log, uint64_t begin, enum call kind, uint64_t saved,
                      const struct front_place *place)
{
    struct tally tally = plain_tally(log);
    uint64_t duration = timed ? clock_counter() - begin : 0;
    if (__builtin_expect(place->handle != saved || duration >= COMPARED_LOAD(&knob_rare_ticks), 0))
        return false;
    struct event event = {.begin = timed ? begin : cell_load(&log->own.tally.end),
                          .duration = (uint32_t)duration,
                          .kind = (uint16_t)kind,
                          .tag = 1,
                          .bytes = place->posted.begin};
    fold_call(FOLD_COMPLETION, 0, &tally, NULL, &event, NULL, timed);
    plain_end(log, &tally, &event);
    return true;
}

#define PLAIN_TEST(timed, kind, name, detail, large, call, request, flag, status)                                      \
    do {                                                                                                               \
        struct log *log = thread_log;                                                                                  \
        MPI_Status own;                                                                                                \
        if (!plain_log(log) || __builtin_expect(request == NULL, 0))                                                   \
            return wrapper_entered(), GENERAL(name) call;                                                              \
        plain_in(log);                                                                                                 \
        uint64_t saved = abi_handle_of_request(*request);                                                              \
        struct front_place *place = front_kept(front_place(saved));                                                    \
        if (!plain_ready(timed, log) || __builtin_expect(place->handle != saved, 0)) /* it may stay there */           \
            return plain_out(log), GENERAL(name) call;                                                                 \
        if (status == MPI_STATUS_IGNORE)                                                                               \
            status = &own;                                                                                             \
        uint64_t begin = plain_begin(timed, log, kind, 0, PEER_NONE);                                                  \
        int result = BELOW(log, (*next.name)call);                                                                     \
        bool ended = result != MPI_SUCCESS || *flag;                                                                   \
        if (ended ? !plain_completed(timed, log, begin, kind, 1, request, saved, place, result, status)                \
                  : !plain_tested(timed, log, begin, kind, saved, place))                                              \
            plain_completed_rare(log, begin, kind, request, saved, result, ended, status);                             \
        log_out(log, 0);                                                                                               \
        return result;                                                                                                 \
    } while (0)

/* ---- collectives ------------------------------------------------------------------------------------------------- */

void plain_collected_rare(struct log *log, uint64_t begin, enum call kind, MPI_Comm comm, struct view *view, int result,
                          int32_t root, struct coll_bytes bytes);

HOT bool plain_collected(bool timed, struct log *log, uint64_t begin, enum call kind, unsigned op, struct view *view,
                         int32_t root, struct coll_bytes bytes)
{
    struct event event = {.kind = (uint16_t)kind, .peer = root, .tag = (int32_t)bytes.out, .bytes = bytes.in};
    return __builtin_expect(bytes.out <= INT32_MAX, 1) && plain_leave(timed, log, begin, FOLD_COLL, op, view, event);
}

#define PLAIN_COLL_OF(where, timed, kind, name, detail, large, call, comm, ...)                                        \
    do {                                                                                                               \
        struct log *log = thread_log;                                                                                  \
        if (!plain_log(log) || __builtin_expect(listened(COLLECTIVE_BEGIN), 0))                                        \
            return wrapper_entered(), GENERAL(name) call;                                                              \
        plain_in(log);                                                                                                 \
        if (!plain_comm(timed, log, comm))                                                                             \
            return plain_out(log), GENERAL(name) call;                                                                 \
        struct view *view = log->own.last.view;                                                                        \
        struct coll_bytes bytes = {0, 0};                                                                              \
        uint64_t begin = plain_begin(timed, log, kind, view->slot, PEER_NONE);                                         \
        int result = BELOW(log, (*next.name)call);                                                                     \
        if (__builtin_expect(result == MPI_SUCCESS, 1))                                                                \
            bytes = coll_##detail(where(view, comm), large __VA_OPT__(, ) __VA_ARGS__);                                \
        if (__builtin_expect(result != MPI_SUCCESS, 0) ||                                                              \
            !plain_collected(timed, log, begin, kind, COLLECTIVE_OF(kind), view, COLL_ROOT_##detail(__VA_ARGS__),      \
                             bytes))                                                                                   \
            plain_collected_rare(log, begin, kind, comm, view, result, COLL_ROOT_##detail(__VA_ARGS__), bytes);        \
        log_out(log, 0);                                                                                               \
        return result;                                                                                                 \
    } while (0)

#define PLAIN_COLL(timed, kind, name, detail, large, call, comm, ...)                                                  \
    PLAIN_COLL_OF(COLL_OF_ALL, timed, kind, name, detail, large, call, comm __VA_OPT__(, ) __VA_ARGS__)

/* ---- local functions, in their only body (shapes.h) -------------------------------------------------------------- */

/* `caller`: as LOCAL_CALLER. */
HOT bool local_is_plain(const struct log *log, enum call kind, const void *caller)
{
    return plain_log(log) &&
           __builtin_expect(knob_load(KNOB_RECORD_LOCAL_CALLS) && clock_is_counter &&
                                RELAXED_LOAD(&call_modes[kind]) == 0 && (caller == NULL || caller_is_program(caller)),
                            1);
}

HOT bool plain_local(struct log *log, uint64_t begin, enum call kind)
{
    struct tally tally = plain_tally(log);
    uint64_t duration = clock_counter() - begin;
    if (__builtin_expect(duration >= COMPARED_LOAD(&knob_rare_ticks) || log->stall.times, 0))
        return false;
    struct event event = {.begin = begin, .duration = (uint32_t)duration, .kind = (uint16_t)kind, .peer = PEER_NONE};
    fold_call(FOLD_CALL, 0, &tally, NULL, &event, NULL, 1);
    plain_end(log, &tally, &event);
    return true;
}

void plain_local_rare(struct log *log, uint64_t begin, enum call kind, int result);

#endif
