#include "trace/callstream.h"

#include "base/array.h"
#include "reader/readernext.h"

#include <stdlib.h>

static __attribute__((noinline)) void stream_seek(struct call_stream *stream)
{
    uint64_t missing = stream->cursor.missing;
    char reason[128];
    stream->lost = stream->wakes && run_reader_wake(stream->cursor.reader, reason) != 0;
    stream->ahead = stream->lost ? NULL : event_cursor_next(&stream->cursor);
    if (stream->ahead) {
        stream->copy = *stream->ahead;
        stream->ahead = &stream->copy;
    }
    stream->torn = stream->cursor.missing != missing;
}

/* Reads one record ahead. After a gap no record is unpacked yet, so stream_seek finds that there are no more. */
static inline void stream_advance(struct call_stream *stream)
{
    const struct event *event = event_cursor_plain(&stream->cursor);
    if (!event) {
        stream_seek(stream);
        return;
    }
    stream->ahead = event;
}

void call_stream_open(struct call_stream *stream, const struct run_reader *run, uint32_t thread, uint64_t written,
                      bool held)
{
    *stream = (struct call_stream){0};
    event_cursor_open(&stream->cursor, run, thread);
    stream->cursor.reads = held;
    if (stream->cursor.end > written)
        stream->cursor.end = written;
    stream_advance(stream);
}

void call_stream_open_last(struct call_stream *stream, const struct run_reader *run, uint32_t thread, uint64_t most)
{
    *stream = (struct call_stream){0};
    event_cursor_open(&stream->cursor, run, thread);
    if (stream->cursor.end > most)
        event_cursor_skip(&stream->cursor, stream->cursor.end - most);
    stream_advance(stream);
}

void call_stream_close(struct call_stream *stream)
{
    event_cursor_close(&stream->cursor);
}

/* Takes the extension of a record that has one. */
static inline bool extension_take(struct call_stream *stream, const struct event *event,
                                  struct event_extension *extension)
{
    if (!(event->kind & EVENT_WIDE) || !stream->ahead || stream->torn || event_kind(stream->ahead) != RECORD_EXTENSION)
        return false;
    __builtin_memcpy(extension, stream->ahead, sizeof *extension);
    stream_advance(stream);
    return true;
}

/* Skips records that are not a call and do not belong to one. */
static __attribute__((noinline)) bool call_seek(struct call_stream *stream)
{
    while (stream->ahead) {
        unsigned kind = event_kind(stream->ahead);
        if ((kind > CALL_NONE && kind < CALL_COUNT) || kind == EVENT_PASSED || kind == EVENT_SWITCHED)
            return true;
        if (kind == EVENT_REGION || kind == EVENT_METRIC || EVENT_KIND_IS_FABRIC(kind)) {
            struct event event = *stream->ahead;
            struct event_extension extension;
            stream->between++;
            stream_advance(stream); /* traceinstruments.c has it */
            extension_take(stream, &event, &extension);
            continue;
        }
        if (kind >= RECORD_FIRST && kind < RECORD_END)
            stream->orphans++;
        else
            stream->unknown++;
        stream_advance(stream);
    }
    return false;
}

static inline bool call_follows(struct call_stream *stream)
{
    return (stream->ahead && event_kind(stream->ahead) - 1 < CALL_COUNT - 1) || call_seek(stream);
}

static __attribute__((noinline)) bool parts_grow(struct traced_call *call)
{
    size_t capacity = call->part_capacity ? call->part_capacity * 2 : 4;
    if (!ARRAY_RESIZED(call->parts, capacity))
        return false;
    call->part_capacity = capacity;
    return true;
}

/* Returns a part whose fields the caller sets, or NULL without memory. */
static inline struct call_part *part_place(struct traced_call *call)
{
    if (call->part_count == call->part_capacity && !parts_grow(call))
        return NULL;
    return &call->parts[call->part_count++];
}

struct call_part *call_part_add(struct traced_call *call)
{
    struct call_part *part = part_place(call);
    if (part)
        *part = (struct call_part){0};
    return part;
}

static inline bool record_posts(unsigned kind)
{
    return kind == RECORD_SEND_POSTED || kind == RECORD_RECV_POSTED || kind == RECORD_COLL_POSTED;
}

/* Takes the records of a call, as long as they are unpacked and have no extension. */
static inline bool parts_take_plain(struct call_stream *stream, struct traced_call *call)
{
    const struct event *ahead = stream->ahead, *ready = stream->cursor.ready;
    const struct event *const first = ready, *const end = stream->cursor.ready_end;
    bool good = true;
    for (; ready != end && !(ready->kind & EVENT_WIDE); ahead = ready++) {
        unsigned kind = event_kind(ahead);
        if (kind < RECORD_FIRST || kind >= RECORD_END || (ahead->kind & EVENT_WIDE))
            break;
        struct call_part *part = part_place(call);
        good = part != NULL;
        if (!good)
            break;
        part->event = *ahead;
        part->bytes_out = (uint32_t)ahead->tag;
        part->request = 0;
        part->object = NULL;
        call->posts |= record_posts(kind);
    }
    stream->ahead = ready == first ? ahead : event_cursor_show(&stream->cursor, ahead);
    stream->cursor.next += (uint64_t)(ready - first);
    stream->cursor.ready = ready;
    return good;
}

/* Handles the other calls. Returns as call_stream_next does. */
static __attribute__((noinline)) int parts_take(struct call_stream *stream, struct traced_call *call)
{
    while (stream->ahead && !stream->torn) {
        struct event_extension extension;
        unsigned kind = event_kind(stream->ahead);
        if (kind < RECORD_FIRST || kind >= RECORD_END)
            break;
        struct call_part *part = part_place(call);
        if (!part)
            return -1;
        part->event = *stream->ahead;
        part->bytes_out = (uint32_t)stream->ahead->tag;
        part->request = 0;
        part->object = NULL;
        call->posts |= record_posts(kind);
        stream_advance(stream);
        if (extension_take(stream, &part->event, &extension))
            part->bytes_out = extension.bytes_out;
    }
    call->cut = !stream->ahead || stream->torn;
    return 1;
}

int call_stream_next(struct call_stream *stream, struct traced_call *call)
{
    struct event_extension extension;
    if (!call_follows(stream))
        return 0;
    unsigned kind = event_kind(stream->ahead);
    uint64_t duration = stream->ahead->duration;
    call->event = *stream->ahead;
    call->shape = kind < CALL_COUNT ? (enum fold_shape)call_table[kind].fold : FOLD_CALL;
    call->bytes_out = (uint32_t)stream->ahead->tag;
    call->path = kind < CALL_COUNT ? stream->cursor.path : 0; /* the cursor has not returned the next call yet */
    call->reduction = stream->cursor.reduction;
    call->part_count = 0;
    call->request = 0;
    call->object = NULL;
    call->group = NO_GROUP;
    call->pairs = call->posts = call->cut = false;
    call->number = stream->calls++;
    stream_advance(stream);
    if (extension_take(stream, &call->event, &extension)) {
        duration = extension.duration;
        call->bytes_out = extension.bytes_out;
    }
    if (__builtin_add_overflow(call->event.begin, duration, &call->end))
        call->end = UINT64_MAX;
    if (!stream->ahead || stream->torn) {
        call->cut = true;
        return 1;
    }
    if (!parts_take_plain(stream, call))
        return -1;
    unsigned next = event_kind(stream->ahead);
    return next < RECORD_FIRST || next >= RECORD_END ? 1 : parts_take(stream, call);
}
