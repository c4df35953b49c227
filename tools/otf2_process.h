/*
 * One process into the archive: its threads side by side, in the order in which their calls returned.
 *
 *   thread 0 ──> call_stream ─┐  the call that           requests          nest of      flushed when an outermost
 *   thread 1 ──> call_stream ─┼─ returned first ──────> get their ids ──> its thread ── call has returned ──> location
 *   ...                      ─┘
 *
 * In that order a request is posted before it completes, whichever thread does either; and the calls that were made
 * from inside a call come before it.
 */
#ifndef MPIT_TOOLS_OTF2_PROCESS_H
#define MPIT_TOOLS_OTF2_PROCESS_H

#include "otf2_communicators.h"
#include "otf2_objects.h"

#include <otf2/otf2.h>

/* Writes the events of a rank, and how many each thread has into rank.event_count. Returns 0, or -1. */
int trace_process_write(struct trace_job *job, struct trace_comms *comms, struct trace_objects *objects,
                        int32_t world_rank, OTF2_Archive *archive, OTF2_StringRef program, struct otf2_report *report);

#endif
