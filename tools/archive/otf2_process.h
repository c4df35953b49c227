/*
 * Writes one process to the archive: its threads in parallel, in the order in which their calls returned.
 *
 *   thread 0 ──> call_stream ─┐  the call that           requests          nest of      flushed when an outermost
 *   thread 1 ──> call_stream ─┼─ returned first ──────> get their ids ──> its thread ── call has returned ──> location
 *   ...                      ─┘
 *
 * In that order, a request is posted before it completes, on any thread. Nested calls come before the outer call.
 */
#ifndef MPIT_TOOLS_OTF2_PROCESS_H
#define MPIT_TOOLS_OTF2_PROCESS_H

#include "base/interrupt.h"
#include "trace/tracecomms.h"
#include "definitions/otf2_objects.h"
#include "base/progress.h"

#include <otf2/otf2.h>

/* State that all ranks being written share. */
struct trace_watch {
    struct progress progress;
    bool failed; /* an error elsewhere: the rest is not needed */
};

static inline bool trace_watch_stops(const struct trace_watch *watch)
{
    return __atomic_load_n(&watch->failed, __ATOMIC_RELAXED) || interrupt_seen();
}

/*
 * Writes the events of a rank. Stores the number of events of each thread and the losses in the job's entry of the
 * rank. Stores the windows and files of the events in the objects' entry of the rank. Several ranks may be written at a
 * time, each into its own report. Returns 0, or -1 if the report has an error or the watch stops the work.
 */
int trace_process_write(struct trace_job *job, struct trace_comms *comms, struct trace_objects *objects,
                        int32_t world_rank, OTF2_Archive *archive, OTF2_StringRef program, struct trace_watch *watch,
                        struct otf2_report *report);

#endif
