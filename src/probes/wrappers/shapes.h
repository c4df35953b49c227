/*
 * The wrappers' bodies, one for each shape of the table (calls.table); the generated wrappers name their parameters as
 * the table does. Each says what happens before and after the call, and how its event is filled. Most shapes have a
 * second, plain body in front (plain.h, plain_request.h, plain_many.h, plain_object.h).
 *
 * Whatever happens here, the call returns what the next definition returned. Handles are looked at before the call only
 * in mpit's own tables; MPI is asked about them only after it has accepted them.
 */
#ifndef MPIT_PROBES_SHAPES_H
#define MPIT_PROBES_SHAPES_H

#include "wrappers/collective.h"
#include "communicators/communicator.h"
#include "requests/completion.h"
#include "gate.h"
#include "wrappers/next.h"
#include "thread/raising.h"
#include "recorder/recorder.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wstringop-overflow" /* MPI_STATUSES_IGNORE is an address, and of no array */
#endif

/* The general body of a wrapper that has a plain one in front. */
#define GENERAL(name) general_##name
/* The plain one without the clock. */
#define COUNTED(name) counted_##name
#define RARE static __attribute__((noinline))

HOT int32_t peer_rank(int rank)
{
    if (__builtin_expect(rank >= 0, 1))
        return rank;
    return rank == MPI_PROC_NULL    ? PEER_PROC_NULL
           : rank == MPI_ANY_SOURCE ? PEER_ANY
           : rank == MPI_ROOT       ? PEER_ROOT
                                    : PEER_NONE;
}

/* Enters a call on a communicator; *view is NULL when that is not known yet. */
HOT bool enter(struct probe *probe, enum call kind, MPI_Comm comm, int32_t peer, struct view **view)
{
    if (!probe_open(probe))
        return false;
    *view = comm_view(probe->log, comm);
    probe_begin(probe, kind, *view ? (*view)->slot : 0, peer);
    return true;
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

/* Some MPIs have integers for handles, some pointers. */
#define SESSION_HANDLE(session) ((session) ? (uint64_t)(uintptr_t) * (session) : 0)

#define SHAPE_SESSION_INIT(kind, name, detail, large, call, info, errhandler, session)                                 \
    do {                                                                                                               \
        struct session_probe probe;                                                                                    \
        bool on = recorder_session_start(&probe, kind);                                                                \
        int result = NEXT(name) call;                                                                                  \
        if (on)                                                                                                        \
            recorder_session_started(&probe, kind, result, SESSION_HANDLE(session));                                   \
        return result;                                                                                                 \
    } while (0)

#define SHAPE_SESSION_FINALIZE(kind, name, detail, large, call, session)                                               \
    do {                                                                                                               \
        struct session_probe probe;                                                                                    \
        uint64_t handle = SESSION_HANDLE(session);                                                                     \
        bool on = recorder_session_finish(&probe, handle);                                                             \
        int result = NEXT(name) call;                                                                                  \
        if (on)                                                                                                        \
            recorder_session_finished(&probe, result, handle);                                                         \
        return result;                                                                                                 \
    } while (0)

#define SHAPE_ABORT(kind, name, detail, large, call, comm, errorcode)                                                  \
    do {                                                                                                               \
        struct probe probe;                                                                                            \
        probe_enter(&probe, kind, 0, PEER_NONE);                                                                       \
        recorder_aborting(&probe);                                                                                     \
        return NEXT(name) call;                                                                                        \
    } while (0)

/* Who calls a local function; NULL: it has been looked at (fortran.c). */
#define LOCAL_CALLER __builtin_return_address(0)

/* A local function: counted only while that is wanted. Its gate leads past us else, but for the moment of a switch. */
#define SHAPE_LOCAL(kind, name, detail, large, call)                                                                   \
    do {                                                                                                               \
        if (local_is_plain(thread_log, kind, LOCAL_CALLER)) {                                                          \
            struct log *log = thread_log;                                                                              \
            plain_in(log);                                                                                             \
            uint64_t begin = plain_begin(true, log, kind, 0, PEER_NONE);                                               \
            int result = BELOW(log, (*next.name)call);                                                                 \
            if (__builtin_expect(result != MPI_SUCCESS, 0) || !plain_local(log, begin, kind))                          \
                plain_local_rare(log, begin, kind, result);                                                            \
            log_out(log, 0);                                                                                           \
            return result;                                                                                             \
        }                                                                                                              \
        struct probe probe;                                                                                            \
        wrapper_entered();                                                                                             \
        if (!local_enter(&probe, kind, #name, LOCAL_CALLER))                                                           \
            return NEXT(name) call;                                                                                    \
        int result = BELOW(probe.log, (*next.name)call);                                                               \
        local_leave(&probe, kind, result);                                                                             \
        probe_close(&probe);                                                                                           \
        return result;                                                                                                 \
    } while (0)

bool local_enter(struct probe *probe, enum call kind, const char *name, const void *caller);
void local_leave(struct probe *probe, enum call kind, int result);

static inline void call_leave(struct probe *probe, enum call kind, int result)
{
    struct event event = {.kind = (uint16_t)kind, .peer = PEER_NONE};
    probe_leave(probe, FOLD_CALL, 0, NULL, result, event, 0);
}

/* A call that is charged to no communicator. */
#define SHAPE_CALL(kind, name, detail, large, call, ...)                                                               \
    do {                                                                                                               \
        struct probe probe;                                                                                            \
        if (!probe_enter(&probe, kind, 0, PEER_NONE))                                                                  \
            return NEXT(name) call;                                                                                    \
        int result = BELOW(probe.log, (*next.name)call);                                                               \
        call_leave(&probe, kind, result);                                                                              \
        probe_close(&probe);                                                                                           \
        return result;                                                                                                 \
    } while (0)

#include "wrappers/shapes_message.h"
#include "wrappers/shapes_request.h"
#include "wrappers/shapes_completion.h"
#include "wrappers/shapes_matched.h"
#include "wrappers/shapes_partitioned.h"
#include "wrappers/shapes_general.h"
#include "wrappers/shapes_collective.h"
#include "wrappers/shapes_communicator.h"
#include "wrappers/shapes_object.h"

#include "wrappers/plain.h"
#include "wrappers/plain_request.h"
#include "wrappers/plain_many.h"
#include "wrappers/plain_object.h"

#endif
