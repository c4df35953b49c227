/*
 * Counters of the system and of PAPI, read where a thread's outermost recorded calls begin and end.
 *
 *   started handle of mpit_os_*, mpit_os ──> demand ─┐
 *   mpit_papi_events ────────────────────────────────┴─> counters_wanted: all gates lead to the general bodies
 *
 *   probe_begin_mode ── log_call_begins: outside += now - last ──┐
 *   the call                                                     ├─ oscounters.h; softevents.h; papi.h
 *   probe_leave_rare ── log_call_returned: place += now - last ──┘
 *                       log_call_ended: a RECORD_COUNTER for each place where a counter has counted, folded as all
 *                       events are
 *
 * What a thread has done since its last call is recorded when it ends, in MPI_Finalize for the thread that calls it. Of
 * other threads that are still there then, what they did since their last calls is not known.
 *
 * Who may run with whom: what is counted belongs to the thread. Who asks may change at any time, in signal handlers
 * too.
 */
#ifndef MPIT_PROBES_COUNTERS_H
#define MPIT_PROBES_COUNTERS_H

#include "base/linkage.h"

#include <stdint.h>

struct log;

/* The call that a thread leaves has returned, before anything is done with it: beside those of log.h. */
extern LIBRARY_LOCAL void (*log_call_returned)(struct log *log, unsigned kind, uint64_t now);

/* A run begins, before its book is opened: finds the events that were asked for, and makes their variables. */
void counters_open(void);
/* And behind that: what they are called goes into the run. */
void counters_publish(void);
/* What of that which was asked for cannot be counted, and why. */
void counters_tell(void (*say)(const char *format, ...));
/* Records what the thread has counted since its last call. */
void counters_flush(struct log *log);

#endif
