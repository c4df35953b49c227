/* How a wrapper enters and leaves the recorder (bodies.h). The inline part is enough for nearly every call. */
#ifndef MPIT_PROBES_ENTER_H
#define MPIT_PROBES_ENTER_H

#include "communicators/communicator.h"
#include "native.h"
#include "recorder/recorder.h"
#include "thread/log.h"
#include "thread/raising.h"
#include "wrappers/caller.h"
#include "wrappers/next.h"

HOT int32_t peer_rank(int rank)
{
    if (__builtin_expect(rank >= 0, 1))
        return rank;
    return rank == MPI_PROC_NULL    ? PEER_PROC_NULL
           : rank == MPI_ANY_SOURCE ? PEER_ANY
           : rank == MPI_ROOT       ? PEER_ROOT
                                    : PEER_NONE;
}

/* The same for a communicator that is not known, or a call that is not recorded as usual. */
bool enter_comm_slowly(struct probe *probe, enum call kind, MPI_Comm comm, int32_t peer);

/* Enters a call on a communicator. False: nothing is recorded. */
HOT bool enter_comm(struct probe *probe, enum call kind, MPI_Comm comm, int32_t peer)
{
    struct log *log = thread_log_or_none;
    if (log_in_quickly(log, kind)) {
        probe->view = comm_view(log, comm);
        if (__builtin_expect(probe->view != NULL, 1)) {
            probe_begin_quickly(probe, log, kind, probe->view->slot, peer);
            return true;
        }
        log_out(log, 0);
    }
    wrapper_entered();
    return enter_comm_slowly(probe, kind, comm, peer) && probe_deepest(probe);
}

/* Enters a call on no communicator. False: nothing is recorded. */
HOT bool enter_call(struct probe *probe, enum call kind)
{
    return probe_enter(probe, kind, 0, PEER_NONE);
}

/* Learns about a communicator whose making was not seen, after a call has accepted it. Returns true if the call has
 * succeeded on a communicator that is known now. */
HOT bool view_settle(struct probe *probe, int result, MPI_Comm comm)
{
    if (__builtin_expect(probe->view == NULL, 0) && result == MPI_SUCCESS)
        probe->view = comm_view_learn(probe->log, comm);
    return result == MPI_SUCCESS && probe->view;
}

/* Leaves a call that is charged to no communicator. */
void leave_call(struct probe *probe, enum call kind, int result);

/* Returns the bytes of `count` elements if the call has succeeded, else 0. */
HOT uint64_t accepted_bytes(int result, int64_t count, MPI_Datatype type)
{
    return result == MPI_SUCCESS ? native_bytes(count, type) : 0;
}

/* ---- local functions --------------------------------------------------------------------------------------------- */

/* True if the program calls a local function, and not the library for itself. `caller`: its return address. NULL: the
 * way from Fortran (route_NAME in the generated file) has checked it. */
HOT bool local_is_asked(const void *caller, const char *name)
{
    return !caller || caller_is_program(caller) || caller_asks_for(caller, name);
}

/* Enters a local function, which is recorded only while mpit_record_local_calls is on. */
HOT bool enter_local(struct probe *probe, enum call kind, const char *name, const void *caller)
{
    return knob_load(KNOB_RECORD_LOCAL_CALLS) && local_is_asked(caller, name) && enter_call(probe, kind);
}

#endif
