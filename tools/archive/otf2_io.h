/*
 * Operations on files in an archive: handles, and transfers with the requested and the transferred bytes. Split
 * operations begin and end in two different calls. Operations with a request end when the request completes.
 */
#ifndef MPIT_TOOLS_OTF2_IO_H
#define MPIT_TOOLS_OTF2_IO_H

#include "archive/otf2_events.h"

enum { IO_PARADIGM_MPI = 0 };

/* Both return 0, or -1 without memory. */
int io_match(struct trace_process *process, struct trace_requests *requests, struct traced_call *call);
int io_part_match(struct trace_process *process, struct trace_requests *requests, struct call_part *part);

/* Writes the events after the call's Enter, and before its Leave. */
void io_enter(struct trace_location *location, const struct traced_call *call, OTF2_TimeStamp now);
void io_leave(struct trace_location *location, const struct traced_call *call, OTF2_TimeStamp now);
void io_part_write(struct trace_location *location, const struct call_part *part, OTF2_TimeStamp now);

#endif
