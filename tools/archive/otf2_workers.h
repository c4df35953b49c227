/*
 * The events of all ranks: several threads, each with one rank at a time, and several processes of the tool, each with
 * its share of the ranks.
 *
 *   ranks of this process:  rank, rank + size, ... ──> next ──> thread 0: trace_process_write ──> event files
 *                                                        ├────> thread 1: ...
 *                                                       ...
 *
 * What is written depends on none of that. What the definitions need to know of all events (how many, which regions)
 * is put together in the end, and is then the same in all processes.
 */
#ifndef MPIT_TOOLS_OTF2_WORKERS_H
#define MPIT_TOOLS_OTF2_WORKERS_H

#include "archive/otf2_process.h"
#include "archive/team.h"

/* `programs`: the string of each rank's program. `threads`: at most so many. Returns 0, or -1: with the report's error
 * set, or because a signal came. */
int trace_ranks_write(struct trace_job *job, struct trace_comms *comms, struct trace_objects *objects,
                      OTF2_Archive *archive, const OTF2_StringRef *programs, unsigned threads, const struct team *team,
                      struct otf2_report *report);
/* All of the team, where each has written its share. Returns 0, or -1 without memory. */
int trace_ranks_gather(struct trace_job *job, struct trace_comms *comms, const struct team *team,
                       struct otf2_report *report);

#endif
