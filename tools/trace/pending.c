#include "trace/pending.h"

#include "trace/callstream.h"
#include "trace/requestpairs.h"

#include <stdlib.h>

enum { RECORDS_MOST = 1 << 16 }; /* of a thread */

int request_class_posted(const struct event *event)
{
    unsigned kind = event_kind(event);
    if (kind >= CALL_COUNT) {
        switch (kind) {
        case RECORD_SEND_POSTED:
            return REQUEST_IS_SEND;
        case RECORD_RECV_POSTED:
            return REQUEST_IS_RECV;
        case RECORD_COLL_POSTED:
            return REQUEST_IS_COLL;
        default:
            return -1;
        }
    }
    switch ((enum fold_shape)call_table[kind].fold) {
    case FOLD_POST_SEND:
        return REQUEST_IS_SEND;
    case FOLD_POST_RECV:
        return REQUEST_IS_RECV;
    case FOLD_POST_COLL:
        return REQUEST_IS_COLL;
    default:
        return -1;
    }
}

/* Returns the class of the request that ended without a message. */
static int class_unfinished(const struct event *event)
{
    switch (event->duration < CALL_COUNT ? call_table[event->duration].class : CLASS_OTHER) {
    case CLASS_COLLECTIVE:
        return REQUEST_IS_COLL;
    case CLASS_COMMUNICATOR:
        return REQUEST_IS_COMM;
    case CLASS_P2P:
        return event->tag ? REQUEST_IS_RECV : REQUEST_IS_SEND;
    default:
        return -1;
    }
}

int request_class_ended(const struct event *event)
{
    switch (event_kind(event)) {
    case RECORD_SEND_DONE:
    case RECORD_HALF_DONE:
        return REQUEST_IS_SEND;
    case RECORD_RECV_DONE:
        return REQUEST_IS_RECV;
    case RECORD_COLL_DONE:
        return REQUEST_IS_COLL;
    case RECORD_COMM_DONE:
        return REQUEST_IS_COMM;
    case RECORD_CANCELLED:
    case RECORD_FREED:
        return class_unfinished(event);
    default:
        return -1;
    }
}

/* Takes one record of a thread: its posts in the first pass, its ends in the second. For a post before `from`, the
 * record of the end may be lost in some thread. */
static bool record_take(struct trace_requests *requests, const struct event *event, bool ends, uint64_t from)
{
    int class = ends ? request_class_ended(event) : request_class_posted(event);
    if (class < 0)
        return true;
    if (!ends)
        return (event->kind & EVENT_FAILED) || event->peer == PEER_PROC_NULL || event->begin < from ||
               trace_requests_add(requests, (enum request_class) class, event);
    trace_requests_take(requests, (enum request_class) class, event);
    return true;
}

static bool pending_walk(const struct run_reader *run, uint32_t thread, struct trace_requests *requests, bool ends,
                         uint64_t from)
{
    struct call_stream stream;
    struct traced_call call = {0};
    bool good = true;
    int got;
    call_stream_open_last(&stream, run, thread, RECORDS_MOST);
    uint64_t oldest = stream.ahead ? stream.cursor.missing : 0; /* records before the first available one */
    while (good && (got = call_stream_next(&stream, &call)) != 0) {
        good = got > 0 && record_take(requests, &call.event, ends, from);
        for (size_t i = 0; good && i < call.part_count; i++)
            good = record_take(requests, &call.parts[i].event, ends, from);
    }
    good = good && stream.cursor.missing == oldest;
    call_stream_close(&stream);
    free(call.parts);
    return good;
}

/* Returns the time since when the thread's records are complete. 0 means always, or (!*whole) unknown, because calls
 * were not timed. */
static uint64_t thread_from(const struct run_reader *run, uint32_t thread, bool *whole)
{
    struct call_stream stream;
    struct traced_call call = {0};
    uint64_t from = 0;
    call_stream_open_last(&stream, run, thread, RECORDS_MOST);
    if (stream.ahead && (stream.cursor.missing || stream.cursor.end > RECORDS_MOST) &&
        call_stream_next(&stream, &call) > 0) {
        from = call.end;
        *whole = false;
    }
    call_stream_close(&stream);
    free(call.parts);
    return from;
}

long pending_find(const struct run_reader *run, struct pending **list, bool *whole)
{
    struct trace_requests requests = {0};
    bool good = true;
    uint64_t from = 0;
    *list = NULL;
    *whole = true;
    for (uint32_t thread = 0; thread < run->thread_count; thread++) {
        uint64_t known = run->threads[thread] ? thread_from(run, thread, whole) : 0;
        from = known > from ? known : from;
    }
    for (int ends = 0; ends < 2; ends++)
        for (uint32_t thread = 0; good && thread < run->thread_count; thread++)
            good = !run->threads[thread] || pending_walk(run, thread, &requests, ends, from);
    long count = good && (*list = calloc(requests.count + 1, sizeof **list)) ? 0 : -1;
    struct event post;
    for (size_t place = 0; count >= 0 && trace_requests_next(&requests, &place, &post);)
        (*list)[count++] = (struct pending){post.kind, run_reader_comm(run, &post), post.peer};
    trace_requests_release(&requests);
    return count;
}
