#include "otf2_calls.h"

#include "readernext.h"

#include <stdlib.h>

static __attribute__((noinline)) void stream_seek(struct call_stream *stream)
{
    uint64_t missing = stream->cursor.missing;
    stream->ahead = event_cursor_next(&stream->cursor);
    if (stream->ahead) {
        stream->copy = *stream->ahead;
        stream->ahead = &stream->copy;
    }
    stream->torn = stream->cursor.missing != missing;
}

/* Reads one record ahead. */
static inline void stream_advance(struct call_stream *stream)
{
    const struct event *event = event_cursor_plain(&stream->cursor);
    if (!event) {
        stream_seek(stream);
        return;
    }
    stream->ahead = event;
    stream->torn = false;
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

/* The extension behind a record that says it has one. */
static bool extension_take(struct call_stream *stream, const struct event *event, struct event_extension *extension)
{
    if (!(event->kind & EVENT_WIDE) || !stream->ahead || stream->torn || event_kind(stream->ahead) != RECORD_EXTENSION)
        return false;
    __builtin_memcpy(extension, stream->ahead, sizeof *extension);
    stream_advance(stream);
    return true;
}

static bool call_begins(struct call_stream *stream)
{
    while (stream->ahead) {
        unsigned kind = event_kind(stream->ahead);
        if ((kind > CALL_NONE && kind < CALL_COUNT) || kind == EVENT_PASSED || kind == EVENT_SWITCHED)
            return true;
        if (kind == EVENT_REGION || kind == EVENT_METRIC) {
            struct event event = *stream->ahead;
            struct event_extension extension;
            stream->between++;
            stream_advance(stream); /* otf2_instruments.c has it */
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

struct call_part *call_part_add(struct traced_call *call)
{
    if (call->part_count == call->part_capacity) {
        size_t capacity = call->part_capacity ? call->part_capacity * 2 : 4;
        struct call_part *parts = realloc(call->parts, capacity * sizeof *parts);
        if (!parts)
            return NULL;
        call->parts = parts;
        call->part_capacity = capacity;
    }
    struct call_part *part = &call->parts[call->part_count++];
    *part = (struct call_part){0};
    return part;
}

int call_stream_next(struct call_stream *stream, struct traced_call *call)
{
    struct event_extension extension;
    if (!call_begins(stream))
        return 0;
    call->event = *stream->ahead;
    call->part_count = 0;
    call->request = 0;
    call->object = NULL;
    call->group = NO_GROUP;
    call->pairs = false;
    call->posts = false;
    call->number = stream->calls++;
    stream_advance(stream);
    bool wide = extension_take(stream, &call->event, &extension);
    uint64_t duration = event_duration(&call->event, wide ? &extension : NULL);
    call->bytes_out = wide ? extension.bytes_out : (uint32_t)call->event.tag;
    if (__builtin_add_overflow(call->event.begin, duration, &call->end))
        call->end = UINT64_MAX;
    while (stream->ahead && !stream->torn) {
        unsigned kind = event_kind(stream->ahead);
        if (kind < RECORD_FIRST || kind >= RECORD_END)
            break;
        struct call_part *part = call_part_add(call);
        if (!part)
            return -1;
        part->event = *stream->ahead;
        call->posts =
            call->posts || kind == RECORD_SEND_POSTED || kind == RECORD_RECV_POSTED || kind == RECORD_COLL_POSTED;
        stream_advance(stream);
        wide = extension_take(stream, &part->event, &extension);
        part->bytes_out = wide ? extension.bytes_out : (uint32_t)part->event.tag;
    }
    return 1;
}
