/*
 * Collectives in an archive, and the creation and end of communicators, which are collectives, too.
 *
 *   blocking        MpiCollectiveBegin | MpiCollectiveEnd      in the call
 *   nonblocking     its request        | its completion        in the call that posted it, in the one that completed it
 */
#ifndef MPIT_TOOLS_OTF2_COLLECTIVES_H
#define MPIT_TOOLS_OTF2_COLLECTIVES_H

#include "archive/otf2_events.h"

/* A blocking collective, or the creation or end of a communicator: a collective over its communicator. Over the new one
 * where not all of the parent take part, or there is none. NO_COMM: it is no collective, or not known which. */
uint32_t collective_comm(const struct trace_location *location, const struct traced_call *call);
/* Before the Leave of a call that may be one. */
void collective_leave(struct trace_location *location, const struct traced_call *call, OTF2_TimeStamp now);
/* A nonblocking one has completed; `next`: the record behind it, or NULL. */
void collective_part_write(struct trace_location *location, const struct call_part *part, const struct call_part *next,
                           OTF2_TimeStamp now);

#endif
