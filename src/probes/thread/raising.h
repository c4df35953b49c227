/*
 * Raises events of MPI_T: turns the recorder's events into instances, out of line.
 *
 * The instances of a call are made while it is left. They wait in the log until the call's last record is written. Only
 * then callbacks run, which may call MPI. They find the thread outside of MPI (or in the call around this one), and
 * their calls are recorded like any other call.
 *
 *   probe_leave_rare ── raise_call ──> log.raised        log_record ── raise_record ──> log.raised
 *   raise_finish     ── log.raised ──> instances_deliver
 *
 * Calls that write records or change tables after their own event are finished later. Calls of FOLD_COMPLETION,
 * FOLD_START, FOLD_COMM, FOLD_RMA and FOLD_IO call raise_finish. The last record of FOLD_SENDRECV does it.
 *
 * Who may run with whom: a log belongs to its thread.
 */
#ifndef MPIT_PROBES_RAISING_H
#define MPIT_PROBES_RAISING_H

#include "handles/instance.h"
#include "thread/log.h"

/* Raises a call's own event, after it was folded. */
void raise_call(struct log *log, const struct view *view, const struct event *event, uint64_t duration,
                uint64_t bytes_out);
/* Raises a record of the call. */
void raise_record(struct log *log, const struct view *view, const struct event *event, uint64_t bytes_out);
/* A collective begins: delivers at once. The thread is on the path of the call (path_announce). */
void raise_begin(struct log *log, const struct view *view, enum call kind);
/* The call made or freed `comm`. raise_finish ends it. */
void raise_comm(struct log *log, enum event_type_id id, const struct comm *comm, enum call kind);
/* A call that was left has made or freed a window or file. The event of a new object comes before all others of the
 * call. */
void raise_object(struct log *log, enum event_type_id id, const struct comm *comm, uint32_t number, uint64_t handle,
                  enum call kind);
/* The call has returned this error. */
void raise_error(struct log *log, const struct view *view, enum call kind, int code);
/* Raises the stall of the call, by its record `stalled`. Call it after raise_call. */
void raise_stall(struct log *log, const struct view *view, const struct event *stalled);
void raise_finish_slow(struct log *log);

/* The call is over: delivers its raised events. */
static inline void raise_finish(struct log *log)
{
    if (__builtin_expect(RELAXED_LOAD(&listeners) != 0, 0))
        raise_finish_slow(log);
}

/* The same for a call that may not be recorded. */
static inline void probe_finish(const struct probe *probe)
{
    if (!probe_is_quiet(probe))
        raise_finish(probe->log);
}

#endif
