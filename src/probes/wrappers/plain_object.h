/*
 * The plain case of calls on windows and files (see plain.h): the object is that of the thread's last call on one, the
 * target is a rank, the type is predefined. Nothing here is shared by threads, so that these bodies serve those that
 * run at once, too; but what posts a request needs its place in front (front.h).
 *
 * They are for calls that are timed; one that is only counted takes the general body.
 */
#ifndef MPIT_PROBES_PLAIN_OBJECT_H
#define MPIT_PROBES_PLAIN_OBJECT_H

#include "wrappers/plain_request.h"
#include "wrappers/shapes_object.h"

HOT bool plain_accessed(const struct objects *objects, const struct accessed_last *last, uint64_t handle)
{
    return __builtin_expect(COMPARED_LOAD(&last->plain_handle) == handle, 1) &&
           __builtin_expect(accessed_holds(objects, &last->last), 1);
}

/* What the rare end needs to know of the object again. */
HOT struct accessed plain_object(struct view *view, uint32_t number)
{
    return (struct accessed){view, {view->comm, number, 0}};
}

/* Folds and keeps the event of a call, and what stands behind it if that says something. False: nothing was done. */
HOT bool plain_object_leave(struct log *log, uint64_t begin, enum fold_shape shape, struct view *view,
                            struct event event, const struct event *argument)
{
    struct tally tally = plain_tally(log);
    uint64_t duration = clock_counter() - begin;
    if (__builtin_expect(duration >= COMPARED_LOAD(&knob_object_ticks) || log->stall.times, 0))
        return false;
    event.begin = begin;
    event.duration = (uint32_t)duration;
    event.comm = (uint16_t)view->slot;
    fold_call(shape, 0, &tally, &view->tally, &event, NULL, 1);
    plain_folded(log, &tally);
    if (argument) {
        struct event more = {.begin = begin,
                             .kind = RECORD_ARGUMENT,
                             .comm = (uint16_t)view->slot,
                             .peer = argument->peer,
                             .tag = argument->tag,
                             .bytes = argument->bytes};
        log_commit_two(log, &event, &more);
    } else {
        log_commit(log, &event);
    }
    RELAXED_STORE(&log->state->call, CALL_NONE);
    return true;
}

/* `ready` says whether the call is plain, and fills in `bytes`; `left` leaves it, `rare` does so if that did not. */
#define PLAIN_OBJECT(objects, which, kind, name, call, what, to, ready, left, rare)                                    \
    do {                                                                                                               \
        struct log *log = thread_log;                                                                                  \
        UNUSED uint64_t bytes = 0;                                                                                     \
        if (!plain_log(log))                                                                                           \
            return wrapper_entered(), GENERAL(name) call;                                                              \
        plain_in(log);                                                                                                 \
        if (!plain_accessed(objects, &log->which, OBJECT_HANDLE(what)) || !__builtin_expect(ready, 1))                 \
            return plain_out(log), GENERAL(name) call;                                                                 \
        struct view *view = log->which.last.on.view;                                                                   \
        uint32_t number = log->which.last.on.object.number;                                                            \
        uint64_t begin = plain_begin(true, log, kind, view->slot, to);                                                 \
        int result = BELOW(log, (*next.name)call);                                                                     \
        if (__builtin_expect(result != MPI_SUCCESS, 0) || !(left)) {                                                   \
            struct probe probe = PROBE_OF_PLAIN;                                                                       \
            struct accessed on = plain_object(view, number);                                                           \
            rare;                                                                                                      \
            probe_finish(&probe);                                                                                      \
        }                                                                                                              \
        log_out(log, 0);                                                                                               \
        return result;                                                                                                 \
    } while (0)

/* ---- windows ----------------------------------------------------------------------------------------------------- */

/* `kind`: with op_flags. */
HOT bool plain_win(struct log *log, uint64_t begin, unsigned kind, struct view *view, uint32_t number, int32_t peer,
                   uint64_t bytes, const struct event *argument)
{
    struct event event = {.kind = (uint16_t)kind, .peer = peer, .tag = (int32_t)number, .bytes = bytes};
    return plain_object_leave(log, begin, FOLD_RMA, view, event, argument);
}

#define PLAIN_WINDOW(kind, name, call, win, to, ready, left, rare)                                                     \
    PLAIN_OBJECT(&book.windows, window, kind, name, call, win, to, ready, left, rare)

#define PLAIN_WIN_CALL(kind, name, detail, large, call, win, to, ready, flags)                                         \
    PLAIN_WINDOW(kind, name, call, win, to, ready,                                                                     \
                 plain_win(log, begin, (kind) | (flags), view, number, to, bytes, NULL),                               \
                 win_leave(&probe, (kind) | (flags), &on, result, to, result == MPI_SUCCESS ? bytes : 0))

#define PLAIN_WIN_LOCK(kind, name, detail, large, call, win, to, ready, type)                                          \
    PLAIN_WINDOW(kind, name, call, win, to, ready,                                                                     \
                 type == MPI_LOCK_EXCLUSIVE                                                                            \
                     ? plain_win(log, begin, kind, view, number, to, 0, &(struct event){.peer = to, .tag = 1})         \
                     : plain_win(log, begin, kind, view, number, to, 0, NULL),                                         \
                 win_locked(&probe, kind, &on, result, to, type))

/* The window's group is that of its communicator: a group of as many members has all of them. */
HOT bool win_group_is_whole(const struct view *view, MPI_Group group)
{
    int size = 0;
    return native.Group_size(group, &size) == MPI_SUCCESS && size == view->comm->size;
}

#define PLAIN_WIN_GROUP(kind, name, detail, large, call, win, to, ready, group)                                        \
    PLAIN_WINDOW(kind, name, call, win, to, ready,                                                                     \
                 win_group_is_whole(view, group) &&                                                                    \
                     plain_win(log, begin, kind, view, number, to, 0, &(struct event){.peer = PEER_ANY}),              \
                 win_grouped(&probe, kind, &on, result, win, group))

HOT bool plain_object_posted(struct log *log, uint64_t begin, enum fold_shape shape, unsigned kind, struct view *view,
                             uint32_t number, int32_t peer, uint64_t bytes, uint64_t asked, const MPI_Request *request)
{
    uint64_t handle = abi_handle_of_request(*request);
    struct front_place *place = plain_place_apart(handle);
    struct event event = {.kind = (uint16_t)kind, .peer = peer, .tag = (int32_t)number, .bytes = bytes};
    struct posted posted = {.view = view,
                            .begin = begin,
                            .where = request,
                            .bytes = bytes,
                            .peer = peer,
                            .tag = (int32_t)number,
                            .kind = (uint16_t)(kind & EVENT_KIND_MASK),
                            .type = shape == FOLD_RMA ? REQUEST_RMA : REQUEST_IO};
    if (!place)
        return false;
    if (asked ? !plain_object_leave(log, begin, shape, view, event, &(struct event){.peer = PEER_NONE, .bytes = asked})
              : !plain_object_leave(log, begin, shape, view, event, NULL))
        return false;
    plain_post_apart(place, handle, &posted);
    return true;
}

#define PLAIN_WIN_POST(kind, name, detail, large, call, win, to, ready, flags, request)                                \
    PLAIN_WINDOW(kind, name, call, win, to, ready,                                                                     \
                 plain_object_posted(log, begin, FOLD_RMA, (kind) | (flags), view, number, to, bytes, 0, request),     \
                 object_posted(&probe, FOLD_RMA, (kind) | (flags), &on, result, to, result == MPI_SUCCESS ? bytes : 0, \
                               UINT64_MAX, request))

/* ---- files ------------------------------------------------------------------------------------------------------- */

HOT bool plain_file(struct log *log, uint64_t begin, enum call kind, struct view *view, uint32_t number, uint64_t bytes,
                    const struct event *argument)
{
    struct event event = {.kind = (uint16_t)kind, .peer = PEER_NONE, .tag = (int32_t)number, .bytes = bytes};
    return plain_object_leave(log, begin, FOLD_IO, view, event, argument);
}

#define PLAIN_FILE(kind, name, call, fh, ready, left, rare)                                                            \
    PLAIN_OBJECT(&book.files, file, kind, name, call, fh, PEER_NONE, ready, left, rare)

#define PLAIN_FILE_CALL(kind, name, detail, large, call, fh, ready)                                                    \
    PLAIN_FILE(kind, name, call, fh, ready, plain_file(log, begin, kind, view, number, 0, NULL),                       \
               file_called(&probe, kind, OBJECT_HANDLE(fh), &on, result, result == MPI_SUCCESS ? UINT64_MAX : 0))

/* While a trace is kept, more is recorded than the call. */
#define PLAIN_FILE_SEEK(kind, name, detail, large, call, fh, ready, offset, whence)                                    \
    PLAIN_FILE(kind, name, call, fh, ready,                                                                            \
               !knob_load(KNOB_TRACE) && plain_file(log, begin, kind, view, number, 0, NULL),                          \
               file_sought(&probe, kind, &on, result, fh, offset, whence))

/* One that has moved less than it was asked for has more to tell. */
#define PLAIN_FILE_TRANSFER(kind, name, detail, large, call, fh, ready, at, status)                                    \
    do {                                                                                                               \
        MPI_Status own;                                                                                                \
        if (status == MPI_STATUS_IGNORE)                                                                               \
            status = &own;                                                                                             \
        PLAIN_FILE(kind, name, call, fh, ready,                                                                        \
                   abi_status_bytes(status) == bytes && plain_file(log, begin, kind, view, number, bytes, NULL),       \
                   file_transferred(&probe, kind, OBJECT_HANDLE(fh), &on, result, result == MPI_SUCCESS ? bytes : 0,   \
                                    at, status));                                                                      \
    } while (0)

#define PLAIN_FILE_POST(kind, name, detail, large, call, fh, ready, request)                                           \
    PLAIN_FILE(                                                                                                        \
        kind, name, call, fh, ready,                                                                                   \
        plain_object_posted(log, begin, FOLD_IO, kind, view, number, PEER_NONE, 0, bytes, request),                    \
        object_posted(&probe, FOLD_IO, kind, &on, result, PEER_NONE, 0, result == MPI_SUCCESS ? bytes : 0, request))

#endif
