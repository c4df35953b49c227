/*
 * Shapes of calls that complete requests.
 */
#ifndef MPIT_PROBES_SHAPES_COMPLETION_H
#define MPIT_PROBES_SHAPES_COMPLETION_H

#include "wrappers/shapes.h"

/* One request; `ended`: the call has returned it complete, or failed. */
void single_leave(struct probe *probe, enum call kind, MPI_Request *handle, uint64_t saved, struct request *taken,
                  int result, bool ended, const MPI_Status *status);

/* Threads did not run at once when the call began, and its request stayed in the table. */
#define LEFT_THERE ((struct request *)UINTPTR_MAX)

HOT struct request *single_take(struct log *log, uint64_t saved, const MPI_Request *handle)
{
    return __builtin_expect(book.concurrent, 0) ? request_take(log, saved, handle) : LEFT_THERE;
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
        int result = BELOW(probe.log, (*next.name)call);                                                               \
        single_leave(&probe, kind, request, saved, taken, result, true, status);                                       \
        probe_close(&probe);                                                                                           \
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
        int result = BELOW(probe.log, (*next.name)call);                                                               \
        single_leave(&probe, kind, request, saved, taken, result, result != MPI_SUCCESS || *flag, status);             \
        probe_close(&probe);                                                                                           \
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
        wrapper_entered();                                                                                             \
        if (!completion_enter(&c, kind, count, requests, statuses == MPI_STATUSES_IGNORE))                             \
            return NEXT(name) call;                                                                                    \
        statuses = statuses_wanted(&c, statuses);                                                                      \
        int result = BELOW(c.probe.log, (*next.name)call);                                                             \
        completion_flush_all(&c, result, statuses_known(statuses));                                                    \
        probe_close(&c.probe);                                                                                         \
        return result;                                                                                                 \
    } while (0)

#define SHAPE_TESTALL(kind, name, detail, large, call, count, requests, flag, statuses)                                \
    do {                                                                                                               \
        struct completion c;                                                                                           \
        wrapper_entered();                                                                                             \
        if (!completion_enter(&c, kind, count, requests, statuses == MPI_STATUSES_IGNORE))                             \
            return NEXT(name) call;                                                                                    \
        statuses = statuses_wanted(&c, statuses);                                                                      \
        int result = BELOW(c.probe.log, (*next.name)call);                                                             \
        if (result != MPI_SUCCESS || *flag)                                                                            \
            completion_flush_all(&c, result, statuses_known(statuses));                                                \
        else                                                                                                           \
            completion_flush(&c, result);                                                                              \
        probe_close(&c.probe);                                                                                         \
        return result;                                                                                                 \
    } while (0)

#define SHAPE_WAITANY(kind, name, detail, large, call, count, requests, index, status)                                 \
    do {                                                                                                               \
        struct completion c;                                                                                           \
        MPI_Status own;                                                                                                \
        wrapper_entered();                                                                                             \
        if (!completion_enter(&c, kind, count, requests, false))                                                       \
            return NEXT(name) call;                                                                                    \
        if (status == MPI_STATUS_IGNORE)                                                                               \
            status = &own;                                                                                             \
        int result = BELOW(c.probe.log, (*next.name)call);                                                             \
        if (index && *index >= 0 && completion_ended(&c, *index, result))                                              \
            completion_done(&c, *index, result, status);                                                               \
        completion_flush(&c, result);                                                                                  \
        probe_close(&c.probe);                                                                                         \
        return result;                                                                                                 \
    } while (0)

#define SHAPE_TESTANY(kind, name, detail, large, call, count, requests, index, flag, status)                           \
    do {                                                                                                               \
        struct completion c;                                                                                           \
        MPI_Status own;                                                                                                \
        wrapper_entered();                                                                                             \
        if (!completion_enter(&c, kind, count, requests, false))                                                       \
            return NEXT(name) call;                                                                                    \
        if (status == MPI_STATUS_IGNORE)                                                                               \
            status = &own;                                                                                             \
        int result = BELOW(c.probe.log, (*next.name)call);                                                             \
        if ((result != MPI_SUCCESS || *flag) && index && *index >= 0 && completion_ended(&c, *index, result))          \
            completion_done(&c, *index, result, status);                                                               \
        completion_flush(&c, result);                                                                                  \
        probe_close(&c.probe);                                                                                         \
        return result;                                                                                                 \
    } while (0)

#define SHAPE_WAITSOME(kind, name, detail, large, call, incount, requests, outcount, indices, statuses)                \
    do {                                                                                                               \
        struct completion c;                                                                                           \
        wrapper_entered();                                                                                             \
        if (!completion_enter(&c, kind, incount, requests, statuses == MPI_STATUSES_IGNORE))                           \
            return NEXT(name) call;                                                                                    \
        statuses = statuses_wanted(&c, statuses);                                                                      \
        int result = BELOW(c.probe.log, (*next.name)call);                                                             \
        completion_done_some(&c, result, outcount ? *outcount : 0, indices, statuses_known(statuses));                 \
        completion_flush(&c, result);                                                                                  \
        probe_close(&c.probe);                                                                                         \
        return result;                                                                                                 \
    } while (0)

#define SHAPE_TESTSOME SHAPE_WAITSOME

#define SHAPE_REQUEST_FREE(kind, name, detail, large, call, request)                                                   \
    do {                                                                                                               \
        struct completion c;                                                                                           \
        wrapper_entered();                                                                                             \
        if (!completion_enter_free(&c, kind, request))                                                                 \
            return NEXT(name) call;                                                                                    \
        MPI_Status end;                                                                                                \
        bool ended = completion_ended_unseen(&c, &end);                                                                \
        int result = BELOW(c.probe.log, (*next.name)call);                                                             \
        completion_freed(&c, result, ended ? &end : NULL);                                                             \
        probe_close(&c.probe);                                                                                         \
        return result;                                                                                                 \
    } while (0)

static inline void cancel_leave(struct probe *probe, enum call kind, int result, const MPI_Request *request)
{
    struct event event = {.kind = (uint16_t)kind, .tag = request != NULL};
    probe_leave(probe, FOLD_COMPLETION, 0, NULL, result, event, 0);
    probe_finish(probe);
}

/* Completes nothing, and must not touch the request: another thread may be completing it. */
#define SHAPE_CANCEL(kind, name, detail, large, call, request)                                                         \
    do {                                                                                                               \
        struct probe probe;                                                                                            \
        if (!probe_enter(&probe, kind, 0, PEER_NONE))                                                                  \
            return NEXT(name) call;                                                                                    \
        int result = BELOW(probe.log, (*next.name)call);                                                               \
        cancel_leave(&probe, kind, result, request);                                                                   \
        probe_close(&probe);                                                                                           \
        return result;                                                                                                 \
    } while (0)

#endif
