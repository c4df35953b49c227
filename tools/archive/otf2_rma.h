/*
 * Accesses to windows in an archive.
 *
 * An access is issued in its call. It completes with its request, in a flush, or at the end of its epoch, as MPI
 * defines. Completions are found when calls are taken from the trace (rma_match), in the order in which the calls
 * returned on all threads. An access is then a part of the call that completes it (PART_ACCESS_*).
 *
 *   completed at the origin              RmaOpCompleteNonBlocking, once for each access
 *   at the target, and later than that   RmaOpCompleteRemote
 */
#ifndef MPIT_TOOLS_OTF2_RMA_H
#define MPIT_TOOLS_OTF2_RMA_H

#include "archive/otf2_events.h"

/* Both return 0, or -1 without memory. */
int rma_match(struct trace_process *process, struct trace_requests *requests, struct traced_call *call);
int rma_part_match(struct trace_process *process, struct trace_requests *requests, struct call_part *part);

/* Returns whether the access with this post has not completed here yet. A synchronization may complete it before its
 * request. */
bool rma_is_under_way(const struct trace_process *process, const struct trace_object *window, int32_t peer,
                      uint64_t id);

/* Writes the events after the call's Enter, and before its Leave. */
void rma_enter(struct trace_location *location, const struct traced_call *call, OTF2_TimeStamp now);
void rma_leave(struct trace_location *location, const struct traced_call *call, OTF2_TimeStamp now);
void rma_part_write(struct trace_location *location, const struct call_part *part, OTF2_TimeStamp now);

#endif
