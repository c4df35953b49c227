/*
 * Shapes of generalized requests, and of asking about a request. A generalized request is no message and on no
 * communicator: it is known so that its completion is not taken for something that was missed.
 */
#ifndef MPIT_PROBES_SHAPES_GENERAL_H
#define MPIT_PROBES_SHAPES_GENERAL_H

#include "wrappers/shapes.h"

void grequest_leave(struct probe *probe, enum call kind, int result, const MPI_Request *request);
/* A call that names a request and completes nothing. `begin`: when what it has found under way was posted, or 0. */
void named_leave(struct probe *probe, enum call kind, int result, uint64_t begin);

#define SHAPE_GREQUEST_START(kind, name, detail, large, call, query_fn, free_fn, cancel_fn, extra_state, request)      \
    do {                                                                                                               \
        struct probe probe;                                                                                            \
        if (!probe_enter(&probe, kind, 0, PEER_NONE))                                                                  \
            return NEXT(name) call;                                                                                    \
        int result = BELOW(probe.log, (*next.name)call);                                                               \
        grequest_leave(&probe, kind, result, request);                                                                 \
        probe_close(&probe);                                                                                           \
        return result;                                                                                                 \
    } while (0)

#define SHAPE_GREQUEST_COMPLETE(kind, name, detail, large, call, request)                                              \
    do {                                                                                                               \
        struct probe probe;                                                                                            \
        if (!probe_enter(&probe, kind, 0, PEER_NONE))                                                                  \
            return NEXT(name) call;                                                                                    \
        int result = BELOW(probe.log, (*next.name)call);                                                               \
        named_leave(&probe, kind, result, 0);                                                                          \
        probe_close(&probe);                                                                                           \
        return result;                                                                                                 \
    } while (0)

/* Like a test, but it leaves the request to be completed by another call. Under MPI_THREAD_MULTIPLE the table may be
 * changing: then nothing is said of which request it was. */
#define SHAPE_REQUEST_GET_STATUS(kind, name, detail, large, call, request, flag, status)                               \
    do {                                                                                                               \
        struct probe probe;                                                                                            \
        if (!probe_enter(&probe, kind, 0, PEER_NONE))                                                                  \
            return NEXT(name) call;                                                                                    \
        int result = BELOW(probe.log, (*next.name)call);                                                               \
        bool pending = result == MPI_SUCCESS && !*flag && !book.concurrent;                                            \
        bool told = result == MPI_SUCCESS && *flag;                                                                    \
        named_leave(&probe, kind, result, pending ? request_begin(abi_handle_of_request(request)) : 0);                \
        if (told)                                                                                                      \
            request_told(probe.log, abi_handle_of_request(request), probe.begin);                                      \
        probe_close(&probe);                                                                                           \
        return result;                                                                                                 \
    } while (0)

#endif
