/*
 * Counters of the system and of PAPI, read where a thread's outermost recorded calls begin and end.
 *
 *   started handle of mpit_os_*, mpit_os ──> demand ─┐
 *   mpit_papi_events ────────────────────────────────┴─> counters_wanted: all gates lead to the bodies
 *
 *   probe_begin_mode ── counters_call_begin: outside += now - last ──┐
 *   the call                                                         ├─ oscounters.h; softevents.h; papi.h
 *   probe_leave_rare ── counters_call_returned: place += now - last ─┘
 *                       counters_call_ended: a RECORD_COUNTER for each place where a counter has counted, folded as
 *                       all events are
 *
 * A thread's counts since its last call are recorded when it ends. For the thread that calls MPI_Finalize they are
 * recorded there. For other threads that still run then, the counts since their last calls are not known.
 *
 * Who may run with whom: the counts belong to the thread. Readers may start and stop at any time, in signal handlers
 * too.
 */
#ifndef MPIT_PROBES_COUNTERS_H
#define MPIT_PROBES_COUNTERS_H

#include <stdint.h>

struct event;
struct log;

/* A run begins, before its registry is opened: finds the named events, and makes their variables. */
void counters_open(void);
/* Call it after that: stores their names in the run. */
void counters_publish(void);
/* Reports which of the named events cannot be counted, and why. */
void counters_tell(void (*say)(const char *format, ...));
/* An outermost call begins. Returns the time at which it begins. */
uint64_t counters_call_begin(struct log *log);
/* It has returned. Called before any other work, only if log->counting. */
void counters_call_returned(struct log *log, unsigned kind, uint64_t now);
/* Its event is written. Called after counters_call_returned. */
void counters_call_ended(struct log *log, const struct event *call);

/* Records the thread's counts since its last call. */
void counters_flush(struct log *log);
/* A thread ends that has log->counting. */
void counters_thread_end(struct log *log);

#endif
