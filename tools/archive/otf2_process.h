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

#include "base/interrupt.h"
#include "definitions/otf2_communicators.h"
#include "definitions/otf2_objects.h"
#include "base/progress.h"

#include <otf2/otf2.h>

/* What all that is being written has in common. */
struct trace_watch {
    struct progress progress;
    bool failed; /* somewhere: the rest is not worth the while */
};

static inline bool trace_watch_stops(const struct trace_watch *watch)
{
    return __atomic_load_n(&watch->failed, __ATOMIC_RELAXED) || interrupt_seen();
}

/*
 * Writes the events of a rank; into the job's entry of it how many each thread has, and what is lost; and which windows
 * and files they name, into the objects' entry of it. Several ranks may be written at a time, each into a report of its
 * own. Returns 0, or -1: with the report's error set, or because of the watch.
 */
int trace_process_write(struct trace_job *job, struct trace_comms *comms, struct trace_objects *objects,
                        int32_t world_rank, OTF2_Archive *archive, OTF2_StringRef program, struct trace_watch *watch,
                        struct otf2_report *report);

#endif
