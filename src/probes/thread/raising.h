/*
 * Raising events of MPI_T: from the recorder's events to instances, out of line.
 *
 * A call's instances are put together while it is left, and wait in the log until the call's last record is written:
 * only then callbacks run, which may call MPI. They find the thread outside of MPI (or in the call around this one),
 * and what they call is recorded as any other call.
 *
 *   probe_leave_rare ── raise_call ──> log.raised        log_record ── raise_record ──> log.raised
 *   raise_finish     ── log.raised ──> instances_deliver
 *
 * Calls that write records or change tables behind their own event are finished later: those of FOLD_COMPLETION,
 * FOLD_START, FOLD_COMM, FOLD_RMA and FOLD_IO, which call raise_finish, and FOLD_SENDRECV, whose last record does.
 *
 * Who may run with whom: a log belongs to its thread.
 */
#ifndef MPIT_PROBES_RAISING_H
#define MPIT_PROBES_RAISING_H

#include "handles/instance.h"
#include "thread/log.h"

/* A call's own event, once it is folded. */
void raise_call(struct log *log, const struct view *view, const struct event *event, uint64_t duration,
                uint64_t bytes_out);
/* A record behind it. */
void raise_record(struct log *log, const struct view *view, const struct event *event, uint64_t bytes_out);
/* A collective begins: at once. */
void raise_begin(struct log *log, const struct view *view, enum call kind);
/* `comm` was made or freed by the call, which raise_finish ends. */
void raise_comm(struct log *log, enum event_type_id id, const struct comm *comm, enum call kind);
/* A window or file was made or freed by a call that has been left. One that was made is told of in front of the call.
 */
void raise_object(struct log *log, enum event_type_id id, const struct comm *comm, uint32_t number, uint64_t handle,
                  enum call kind);
/* The call has returned this error. */
void raise_error(struct log *log, const struct view *view, enum call kind, int code);
/* How long the call waited: `stalled` is its record. Behind raise_call. */
void raise_stall(struct log *log, const struct view *view, const struct event *stalled);
void raise_finish_slow(struct log *log);

/* The call is over: hands on what has been raised. */
static inline void raise_finish(struct log *log)
{
    if (__builtin_expect(RELAXED_LOAD(&listeners) != 0, 0))
        raise_finish_slow(log);
}

/* The same for a call that may be one which is not recorded. */
static inline void probe_finish(const struct probe *probe)
{
    if (!probe_is_quiet(probe))
        raise_finish(probe->log);
}

#endif
