/*
 * Shapes of calls that complete requests.
 */
#ifndef MPIT_PROBES_SHAPES_COMPLETION_H
#define MPIT_PROBES_SHAPES_COMPLETION_H

#include "shapes.h"

/*
 * One request, and the frequent case of it: the call has returned it complete, and it is a plain send or receive that
 * was not cancelled. False: nothing was emitted, and completion.c takes over.
 */
/* (A free place has handle 0, for which no MPI reports success.) */
HOT bool single_leave(struct probe *probe, enum call kind, const MPI_Request *handle, uint64_t saved, int result,
                      const MPI_Status *status)
{
    struct log *log = probe->log;
    struct ledger *ledger = log->ledger;
    struct front_place *place = front_place(saved);
    if (__builtin_expect(result != MPI_SUCCESS || place->handle != saved || probe->outer.call != CALL_NONE, 0))
        return false;
    const struct posted *posted = &place->posted;
    struct view *view = posted->view;
    if (__builtin_expect(posted->where != handle && place->overflow, 0))
        return false; /* a handle that stands for several */
    uint64_t duration = clock_now() - probe->begin;
    uint64_t transfer = probe->begin + duration - posted->begin;
    bool send = posted->type == REQUEST_SEND;
    if (__builtin_expect(!view || view->thread != ledger->index || transfer > RELAXED_LOAD(&knob_rare_ticks), 0))
        return false;
    if (!send && __builtin_expect(posted->peer == PEER_PROC_NULL || status->MPI_SOURCE < 0 ||
                                      abi_status_cancelled(status) || size_flag(abi_status_bytes(status)),
                                  0))
        return false;
    struct event call = {
        .begin = probe->begin, .duration = (uint32_t)duration, .kind = (uint16_t)kind, .peer = 1, .tag = 1};
    struct event event = {.begin = posted->begin,
                          .duration = posted->kind,
                          .peer = posted->peer,
                          .tag = posted->tag,
                          .bytes = posted->bytes,
                          .comm = (uint16_t)view->slot,
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
        struct request *taken = single_take(probe.log, saved, request);                                                \
        if (status == MPI_STATUS_IGNORE)                                                                               \
            status = &own;                                                                                             \
        int result = (*next.name)call;                                                                                 \
        if (!single_leave(&probe, kind, request, saved, result, status))                                               \
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
        struct request *taken = single_take(probe.log, saved, request);                                                \
        if (status == MPI_STATUS_IGNORE)                                                                               \
            status = &own;                                                                                             \
        int result = (*next.name)call;                                                                                 \
        bool ended = result != MPI_SUCCESS || *flag;                                                                   \
        if (!ended || !single_leave(&probe, kind, request, saved, result, status))                                     \
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
        if (index && *index >= 0 && completion_ended(&c, *index, result))                                              \
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
        if ((result != MPI_SUCCESS || *flag) && index && *index >= 0 && completion_ended(&c, *index, result))          \
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
        completion_done_some(&c, result, outcount ? *outcount : 0, indices, statuses_known(statuses));                 \
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

static inline void cancel_leave(struct probe *probe, enum call kind, int result, const MPI_Request *request)
{
    struct event event = {.kind = (uint16_t)kind, .tag = request != NULL};
    probe_leave(probe, FOLD_COMPLETION, 0, NULL, result, event, 0);
}

/* Completes nothing, and must not touch the request: another thread may be completing it. */
#define SHAPE_CANCEL(kind, name, detail, large, call, request)                                                         \
    do {                                                                                                               \
        struct probe probe;                                                                                            \
        if (!probe_enter(&probe, kind, 0, PEER_NONE))                                                                  \
            return NEXT(name) call;                                                                                    \
        int result = (*next.name)call;                                                                                 \
        cancel_leave(&probe, kind, result, request);                                                                   \
        return result;                                                                                                 \
    } while (0)

#endif
