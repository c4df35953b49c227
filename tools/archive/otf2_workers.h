/*
 * The events of all ranks. Several threads write one rank at a time each. Several processes of the tool each write a
 * share of the ranks.
 *
 *   ranks of this process:  rank, rank + size, ... ──> next ──> thread 0: trace_process_write ──> event files
 *                                                        ├────> thread 1: ...
 *                                                       ...
 *
 * The result does not depend on their number. The definitions need totals of all events (number of events, used
 * regions). These are merged at the end, and are then equal in all processes.
 */
#ifndef MPIT_TOOLS_OTF2_WORKERS_H
#define MPIT_TOOLS_OTF2_WORKERS_H

#include "archive/otf2_process.h"
#include "archive/team.h"

/* `programs` has the string of each rank's program. `threads` is the most threads to use. Returns 0, or -1 if the
 * report has an error or a signal came. */
int trace_ranks_write(struct trace_job *job, struct trace_comms *comms, struct trace_objects *objects,
                      OTF2_Archive *archive, const OTF2_StringRef *programs, unsigned threads, const struct team *team,
                      struct otf2_report *report);
/* All processes of the team call this when each has written its share. Returns 0, or -1 without memory. */
int trace_ranks_gather(struct trace_job *job, struct trace_comms *comms, const struct team *team,
                       struct otf2_report *report);

#endif
