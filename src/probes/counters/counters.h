/*
 * Counters of the system and of PAPI, read where a thread's outermost recorded calls begin and end.
 *
 *   started handle of mpit_os_*, mpit_os ──> demand ─┐
 *   mpit_papi_events ────────────────────────────────┴─> counters_wanted: all gates lead to the bodies
 *
 *   probe_begin_mode ── log_call_begins: outside += now - last ──┐
 *   the call                                                     ├─ oscounters.h; softevents.h; papi.h
 *   probe_leave_rare ── log_call_returned: place += now - last ──┘
 *                       log_call_ended: a RECORD_COUNTER for each place where a counter has counted, folded as all
 *                       events are
 *
 * A thread's counts since its last call are recorded when it ends. For the thread that calls MPI_Finalize they are
 * recorded there. For other threads that still run then, the counts since their last calls are not known.
 *
 * Who may run with whom: the counts belong to the thread. Readers may start and stop at any time, in signal handlers
 * too.
 */
#ifndef MPIT_PROBES_COUNTERS_H
#define MPIT_PROBES_COUNTERS_H

#include "base/linkage.h"

#include <stdint.h>

struct log;

/* The call that a thread leaves has returned. Called before any other work, with the hooks of log.h. */
extern LIBRARY_LOCAL void (*log_call_returned)(struct log *log, unsigned kind, uint64_t now);

/* A run begins, before its registry is opened: finds the named events, and makes their variables. */
void counters_open(void);
/* Call it after that: stores their names in the run. */
void counters_publish(void);
/* Reports which of the named events cannot be counted, and why. */
void counters_tell(void (*say)(const char *format, ...));
/* Records the thread's counts since its last call. */
void counters_flush(struct log *log);

#endif
