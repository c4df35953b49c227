/*
 * Collectives in an archive, and the creation and end of communicators, which are collectives, too.
 *
 *   blocking        MpiCollectiveBegin | MpiCollectiveEnd      in the call
 *   nonblocking     its request        | its completion        in the call that posted it, in the one that completed it
 */
#ifndef MPIT_TOOLS_OTF2_COLLECTIVES_H
#define MPIT_TOOLS_OTF2_COLLECTIVES_H

#include "archive/otf2_events.h"

/* Returns the communicator of a blocking collective, or of a call that creates or ends a communicator. Such a call is a
 * collective over its communicator. It is a collective over the new communicator if not all of the parent take part, or
 * if there is no parent. Returns NO_COMM if it is not a collective, or not a known one. */
uint32_t collective_comm(const struct trace_location *location, const struct traced_call *call);
/* Before the Leave of a call that may be one. */
void collective_leave(struct trace_location *location, const struct traced_call *call, OTF2_TimeStamp now);
/* A nonblocking collective has completed. `next` is the record after it, or NULL. */
void collective_part_write(struct trace_location *location, const struct call_part *part, const struct call_part *next,
                           OTF2_TimeStamp now);

#endif
