/*
 * A thread's events as calls: each call with the records that follow it.
 *
 * Two kinds of records are handed out as calls, too: replacements for a completion call that is not recorded, and marks
 * of MPI_Pcontrol (call_is_mark).
 *
 * A stream hands out calls in the order in which they returned. Records that a gap in the trace has separated from
 * their call are skipped and counted.
 */
#ifndef MPIT_TOOLS_CALLSTREAM_H
#define MPIT_TOOLS_CALLSTREAM_H

#include "calls.h"
#include "reader/reader.h"

struct trace_object;

/* Parts that the converter adds after the records: an access to a window has completed here, or at the target. */
enum { PART_ACCESS_DONE = RECORD_END, PART_ACCESS_REMOTE, PART_END };
_Static_assert(PART_END <= (int)EVENT_REGION, "no record has their kinds");

struct call_part {
    struct event event;
    uint64_t bytes_out;
    uint64_t request; /* id in the archive, or 0 for none */
    const struct trace_object *object;
};

enum { NO_GROUP = UINT32_MAX };

struct traced_call {
    struct event event;
    uint64_t end; /* ticks */
    uint64_t bytes_out;
    uint64_t request;                  /* that the call posted or tested, or the id of an access or transfer, or 0 for
                                        * none */
    const struct trace_object *object; /* window or file of the call if it is shown, else NULL */
    uint32_t path;                     /* number of its call path in the run, or 0 for none */
    uint8_t reduction;                 /* of a collective: its operation (enum reduction) */
    enum fold_shape shape;             /* shape by the fold. A mark has FOLD_CALL */
    uint32_t group;                    /* of a window's synchronization: number of the group, or NO_GROUP */
    bool posts;                        /* some of its parts are records of posts */
    bool pairs;                        /* it ends a known object: a lock, a handle, a window */
    bool cut;                          /* the next records are lost, so there may have been more parts */
    uint64_t number;                   /* in the order of return */
    struct call_part *parts;
    size_t part_count, part_capacity;
};

struct call_stream {
    struct event_cursor cursor;
    const struct event *ahead; /* the record after the last call, or NULL for none */
    struct event copy;         /* a copy, because a living process may write over it */
    bool torn;                 /* there is a gap before it */
    bool wakes; /* wakes the file before it reads in it. Set by a caller that lets files rest meanwhile */
    bool lost;  /* that has failed, and the stream has ended */
    uint64_t calls;
    uint64_t orphans; /* records without their call */
    uint64_t between; /* regions and samples, which are not calls */
    uint64_t unknown; /* kinds that this version does not know */
};

/* `written` is the number of records at the begin of the conversion, because a living process continues to write.
 * `held` means that this thread alone holds the file. */
void call_stream_open(struct call_stream *stream, const struct run_reader *run, uint32_t thread, uint64_t written,
                      bool held);
/* The same for the last `most` records. Skips records that belong to an earlier call. */
void call_stream_open_last(struct call_stream *stream, const struct run_reader *run, uint32_t thread, uint64_t most);
void call_stream_close(struct call_stream *stream);
/* Adds a zeroed part. Returns NULL without memory. */
struct call_part *call_part_add(struct traced_call *call);
/* Returns 1 with the next call in *call (its array of parts is used again), 0 at the end, -1 without memory. */
int call_stream_next(struct call_stream *stream, struct traced_call *call);

/* Returns the first RECORD_ARGUMENT after the call, or NULL for none. */
static inline const struct event *call_argument(const struct traced_call *call)
{
    for (size_t i = 0; i < call->part_count; i++)
        if (event_kind(&call->parts[i].event) == RECORD_ARGUMENT)
            return &call->parts[i].event;
    return NULL;
}

/* Returns whether it is a mark of the recorder about itself, and not a call. */
static inline bool call_is_mark(const struct traced_call *call)
{
    return event_kind(&call->event) >= CALL_COUNT;
}

static inline enum fold_shape call_shape(const struct traced_call *call)
{
    return call->shape;
}

#endif
