/* Events of one thread that are appended to a run's trace at once. */
#ifndef MPIT_TESTS_TRACEAPPEND_H
#define MPIT_TESTS_TRACEAPPEND_H

#include "run.h"

static inline bool run_trace_append(struct run *run, uint32_t thread, uint64_t first_event, const struct event *events,
                                    uint32_t count)
{
    struct trace_move move = {
        .chunk = {.kind = CHUNK_TRACE, .thread = thread, .capacity = count, .first_event = first_event},
        .data = events,
        .bytes = (size_t)count * sizeof *events};
    return run_trace_finish(run, &move);
}

/* The same for `count` events that were packed (pack.h) into `bytes`. */
static inline bool run_trace_append_packed(struct run *run, uint32_t thread, uint64_t first_event, uint32_t count,
                                           const void *packed, size_t bytes)
{
    struct trace_move move = {.chunk = {.kind = CHUNK_PACKED,
                                        .thread = thread,
                                        .capacity = count,
                                        .first_event = first_event,
                                        .packed_bytes = bytes},
                              .data = packed,
                              .bytes = bytes};
    return run_trace_finish(run, &move);
}

#endif
