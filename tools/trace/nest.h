/*
 * Nested calls. A thread's events are in the order in which calls returned. A viewer needs an outer call before its
 * nested calls.
 *
 *   call_stream ──> nest_push ... ──> nest_write     enter, enter, leave, leave: when the outermost call has returned
 */
#ifndef MPIT_TOOLS_NEST_H
#define MPIT_TOOLS_NEST_H

#include "trace/callstream.h"

/* Limit for calls inside one call that never returns. When there are more, they are written before it, and not inside
 * it. */
enum { NEST_MAX = 1 << 16 };

/* Returned calls of a thread whose outermost call has not returned. */
struct nest {
    struct traced_call *calls;
    size_t count, capacity;
    size_t *open; /* while it is written: indexes of the calls that are entered */
};

/* Takes over the call, and returns an array of parts to use again. Returns 0, or -1 without memory. */
int nest_push(struct nest *nest, struct traced_call *call);
/* Hands out all calls, and then removes them. */
void nest_write(struct nest *nest, void *data, void (*enter)(void *data, const struct traced_call *call),
                void (*leave)(void *data, const struct traced_call *call));
void nest_release(struct nest *nest);

#endif
