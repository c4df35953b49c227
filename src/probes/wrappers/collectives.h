/* Collectives: blocking, nonblocking and persistent, of a whole communicator and of neighbors. */
#ifndef MPIT_PROBES_COLLECTIVES_H
#define MPIT_PROBES_COLLECTIVES_H

#include "recorder/clocks.h"
#include "wrappers/collective.h"
#include "requests/completion.h"
#include "wrappers/enter.h"
#include "wrappers/posting.h"

HOT void leave_coll(struct probe *probe, enum call kind, enum collective op, int result, int32_t root,
                    struct coll_bytes bytes)
{
    struct event event = {.kind = (uint16_t)kind, .peer = root, .bytes = bytes.in};
    probe_leave(probe, FOLD_COLL, op, probe->view, result, event, bytes.out);
}

HOT void leave_icoll(struct probe *probe, enum call kind, enum collective op, int result, int32_t root,
                     struct coll_bytes bytes, const MPI_Request *request)
{
    struct event event = {.kind = (uint16_t)kind, .peer = root};
    struct posted posted = posted_of(probe, kind, REQUEST_COLL, &event, request);
    posted.bytes = bytes.in;
    posted.tag = (int32_t)bytes.out;
    if (result == MPI_SUCCESS)
        collective_post(probe, &posted, bytes.out, abi_handle_of_request(*request));
    probe_leave(probe, FOLD_POST_COLL, op, probe->view, result, event, 0);
    posted_finish(probe->log);
}

/* Leaves the call that makes a persistent collective. It counts as a call. A collective counts only when it is
 * started. */
void leave_coll_init(struct probe *probe, enum call kind, enum collective op, int result, int32_t root,
                     struct coll_bytes bytes, const MPI_Request *request);

/* Raises the begin of a collective for listeners. `call`: as for path_enter. */
void collective_announce(enum call kind, MPI_Comm comm, wrapper_call call);

HOT void collective_begins(enum call kind, MPI_Comm comm)
{
    if (__builtin_expect(listened(COLLECTIVE_BEGIN), 0))
        collective_announce(kind, comm, wrapper_called());
}

#endif
