/* The events of a run file in order: out of the chunks of the trace, and then out of the ring. */
#include "compact.h"
#include "readercomms.h"
#include "readernext.h"
#include "readerversions.h"

#include <stdlib.h>
#include <string.h>

/* Is the chunk still what was found when the file was opened? False also: it has been written over. */
static bool chunk_is_there(const struct event_cursor *cursor, const struct chunk_header *chunk)
{
    uint32_t kind = __atomic_load_n(&chunk->kind, __ATOMIC_ACQUIRE);
    return kind == cursor->header.kind &&
           __atomic_load_n(&chunk->first_event, __ATOMIC_ACQUIRE) == cursor->header.first_event;
}

/* Takes a copy of the header, and checks that; a living process may have made it another chunk's. */
static bool chunk_take(struct event_cursor *cursor, const struct chunk_header *chunk)
{
    const struct run_reader *reader = cursor->reader;
    uint64_t offset = (uint64_t)((const char *)chunk - reader->base);
    if (!cursor->reads || !run_reader_read(reader, chunk, &cursor->header, sizeof cursor->header))
        memcpy(&cursor->header, chunk, sizeof cursor->header);
    const struct chunk_header *header = &cursor->header;
    if (reader->file && header->kind == reader->columns_kind) { /* was checked, and nobody changes it */
        cursor->header.kind = CHUNK_COLUMNS;
        return header->thread == cursor->thread;
    }
    return header->magic == CHUNK_MAGIC && header->thread == cursor->thread && header->bytes >= sizeof *header &&
           header->bytes <= reader->bytes - offset && reader_chunk_fits(header);
}

void *cursor_memory(struct event_cursor *cursor, size_t bytes)
{
    if (bytes > cursor->memory_bytes) {
        void *memory = realloc(cursor->memory, bytes);
        if (!memory)
            return NULL;
        cursor->memory = memory;
        cursor->memory_bytes = bytes;
    }
    return cursor->memory;
}

enum { READ_MOST = 1 << 20 };

/* Where the packed events of a chunk lie. Its header said that it is one before they were read, so they are all there.
 */
static const unsigned char *packed_take(struct event_cursor *cursor, const struct chunk_header *chunk)
{
    uint64_t bytes = cursor->header.packed_bytes;
    if (!cursor->reads || !cursor->plain || bytes > READ_MOST)
        return (const unsigned char *)(chunk + 1);
    void *memory = cursor_memory(cursor, bytes);
    return memory && run_reader_read(cursor->reader, chunk + 1, memory, bytes) ? memory
                                                                               : (const unsigned char *)(chunk + 1);
}

/* For events that are packed, or stand by column. */
static void chunk_begin(struct event_cursor *cursor, const struct chunk_header *chunk, uint64_t first)
{
    const struct chunk_header *header = &cursor->header;
    if (header->kind == CHUNK_PACKED) {
        unpacked_begin(&cursor->unpacked);
        cursor->packed = packed_take(cursor, chunk);
        cursor->packed_end = cursor->packed + header->packed_bytes;
        cursor->packed_number = first;
    }
    if (header->kind == CHUNK_COLUMNS) {
        unpacked_begin(&cursor->unpacked);
        cursor->packed_number = first;
        if (!reader_compact->enter(cursor, chunk))
            cursor->columns = (struct columns_cursor){0}; /* nothing comes out of it */
    }
}

static void cursor_enter(struct event_cursor *cursor, const struct chunk_header *chunk, uint64_t first, uint64_t end)
{
    const struct chunk_header *header = &cursor->header;
    cursor->current = chunk;
    cursor->current_first = header->kind == CHUNK_RING ? 0 : first;
    cursor->current_end = end < cursor->end ? end : cursor->end;
    cursor->plain = cursor->reader->header.traced != TRACED_IN_PART &&
                    (header->kind == CHUNK_COLUMNS ||
                     (header->kind == CHUNK_PACKED && cursor->reader->header.trace_policy != TRACE_RING));
    if (!cursor->skims)
        chunk_begin(cursor, chunk, first);
    if (first > cursor->next) {
        if (cursor->reader->header.traced != TRACED_IN_PART) {
            cursor->missing += first - cursor->next;
            cursor->gap += first - cursor->next;
        }
        cursor->belongs = false; /* what comes first may lack its call */
        cursor->next = first;
    }
}

/* The first event of a ring that is whole. A process that was killed may have been writing over the oldest ones; but
 * not if it had not got over appending what the ring holds. */
static uint64_t ring_first(const struct event_cursor *cursor)
{
    const struct chunk_header *ring = &cursor->header;
    bool whole =
        cursor->reader->header.phase == RUN_FINALIZED ||
        (reader_tells_turns(cursor->reader) && cursor->end % ring->capacity == 0 && ring->turned < cursor->end);
    uint64_t spare = whole ? 0 : RING_SPARE;
    return cursor->end + spare > ring->capacity ? cursor->end + spare - ring->capacity : 0;
}

static bool kind_has_trace(uint32_t kind)
{
    return kind == CHUNK_TRACE || kind == CHUNK_PACKED || kind == CHUNK_COLUMNS;
}

/* False: it is another thread's, without a look at it. */
static bool chunk_may_belong(const struct event_cursor *cursor, size_t chunk)
{
    const uint32_t *threads = cursor->reader->chunk_threads;
    return !threads || threads[chunk] == cursor->thread || threads[chunk] == ANY_THREAD;
}

/* Moves to the chunk that holds event `next`, or the first one behind it: those of the trace, which lie in order, and
 * then the ring. */
static bool cursor_seek(struct event_cursor *cursor)
{
    const struct run_reader *reader = cursor->reader;
    if (cursor->next >= cursor->end)
        return false;
    for (; cursor->chunk < reader->chunk_count; cursor->chunk++) {
        const struct chunk_header *chunk = reader->chunks[cursor->chunk];
        if (!chunk_may_belong(cursor, cursor->chunk) || !chunk_take(cursor, chunk) ||
            !kind_has_trace(cursor->header.kind))
            continue;
        uint64_t first = cursor->header.first_event, end = first + cursor->header.capacity;
        if (end < first || cursor->next >= end || first >= cursor->end)
            continue;
        cursor_enter(cursor, chunk, first, end);
        return true;
    }
    for (size_t i = 0; i < reader->rare_count; i++) {
        const struct chunk_header *ring = reader->rare[i];
        if (ring->kind != CHUNK_RING || ring->thread != cursor->thread || !chunk_take(cursor, ring) ||
            cursor->header.kind != CHUNK_RING)
            continue;
        uint64_t first = ring_first(cursor);
        if (first >= cursor->end)
            break;
        cursor_enter(cursor, ring, first, cursor->end);
        return true;
    }
    if (reader->header.traced != TRACED_IN_PART)
        cursor->missing += cursor->end - cursor->next;
    return false;
}

void event_cursor_open(struct event_cursor *cursor, const struct run_reader *reader, uint32_t thread)
{
    *cursor = (struct event_cursor){.reader = reader, .thread = thread};
    if (thread >= reader->thread_count || !reader->threads[thread])
        return;
    const uint64_t *cell = reader_object(reader, reader->threads[thread]->events_cell, sizeof *cell);
    cursor->end = __atomic_load_n(cell, __ATOMIC_ACQUIRE); /* pairs with the release in event_commit */
}

void event_cursor_skip(struct event_cursor *cursor, uint64_t number)
{
    if (number <= cursor->next)
        return;
    uint64_t ready = (uint64_t)(cursor->ready_end - cursor->ready);
    cursor->ready += number - cursor->next < ready ? number - cursor->next : ready;
    cursor->next = number;
}

uint64_t run_reader_events_missing(const struct run_reader *reader, uint32_t thread)
{
    struct event_cursor cursor;
    event_cursor_open(&cursor, reader, thread);
    cursor.reads = cursor.skims = true;
    for (size_t chunks = 1; cursor_seek(&cursor); chunks++) {
        cursor.next = cursor.current_end;
        cursor.chunk += cursor.chunk < reader->chunk_count;
        if (chunks % CHUNKS_BETWEEN_RESTS == 0)
            run_reader_rest(reader);
    }
    event_cursor_close(&cursor);
    return cursor.missing;
}

/* Event `next` out of the current chunk, packed or by column; NULL: the chunk is damaged from here on. */
static const struct event *cursor_unpack(struct event_cursor *cursor)
{
    const struct event *event;
    do {
        event = cursor->header.kind == CHUNK_COLUMNS
                    ? columns_next(&cursor->columns, &cursor->unpacked)
                    : event_unpack(&cursor->unpacked, &cursor->packed, cursor->packed_end);
        if (!event)
            return NULL;
    } while (cursor->packed_number++ < cursor->next);
    cursor->next++;
    return event;
}

/* Was the trace on at that time? */
static bool stretches_have(const struct run_reader *reader, uint64_t ticks)
{
    size_t low = 0, high = reader->stretch_count; /* the first one that begins at `ticks` or before lies in between */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (reader->stretches[middle]->begin_ticks <= ticks)
            high = middle;
        else
            low = middle + 1;
    }
    return low < reader->stretch_count && ticks < reader->stretches[low]->end_ticks;
}

/* A call belongs to the trace when it began in a stretch; what follows it goes with it. A place that was never written
 * (the buffer was made later) belongs to nothing. */
static bool event_belongs(struct event_cursor *cursor, const struct event *event)
{
    unsigned kind = event_kind(event);
    if (kind == 0)
        cursor->belongs = false;
    else if (kind < RECORD_FIRST || kind >= RECORD_END)
        cursor->belongs = stretches_have(cursor->reader, event->begin);
    return cursor->belongs;
}

/* Event `next` of the current chunk; NULL: that is damaged from here on, or has been written over. */
static const struct event *cursor_take(struct event_cursor *cursor)
{
    const struct event *events = (const struct event *)(cursor->current + 1), *event;
    uint64_t number = cursor->next;
    if (cursor->header.kind == CHUNK_RING)
        return &events[cursor->next++ % cursor->header.capacity];
    bool changes = cursor->reader->header.trace_policy == TRACE_RING;
    if (cursor->header.kind != CHUNK_TRACE) {
        event = cursor_unpack(cursor);
    } else {
        event = &events[cursor->next++ - cursor->current_first];
        if (changes)
            event = memcpy(&cursor->unpacked.last[cursor->unpacked.count++ & PACK_BACK_MOST], event, sizeof *event);
    }
    LOADS_IN_ORDER();
    if (event && changes && !chunk_is_there(cursor, cursor->current)) {
        cursor->next = number;
        return NULL;
    }
    return event;
}

static const struct event *event_next(struct event_cursor *cursor)
{
    for (;;) {
        if (cursor->current && cursor->next >= cursor->current_end) {
            cursor->current = NULL;
            cursor->chunk += cursor->chunk < cursor->reader->chunk_count;
        }
        if (!cursor->current && !cursor_seek(cursor)) {
            cursor->next = cursor->end;
            return NULL;
        }
        const struct event *event = cursor_take(cursor);
        if (event)
            return event;
        cursor->missing += cursor->current_end - cursor->next;
        cursor->gap += cursor->current_end - cursor->next;
        cursor->next = cursor->current_end;
    }
}

/* Unpacks the next events of the current chunk, as many as lie side by side. False: there are none, or not that way. */
static bool events_ready(struct event_cursor *cursor)
{
    struct unpacked *unpacked = &cursor->unpacked;
    if (!cursor->plain || cursor->next >= cursor->current_end || cursor->packed_number != cursor->next)
        return false;
    size_t place = unpacked->count & PACK_BACK_MOST, most = EVENTS_READY_MOST - place % EVENTS_READY_MOST;
    if (cursor->current_end - cursor->next < most)
        most = (size_t)(cursor->current_end - cursor->next);
    size_t got = cursor->header.kind == CHUNK_COLUMNS
                     ? columns_take(&cursor->columns, unpacked, most)
                     : events_unpack(unpacked, &cursor->packed, cursor->packed_end, most);
    cursor->ready = &unpacked->last[place];
    cursor->ready_end = cursor->ready + got;
    cursor->packed_number += got;
    return got > 0;
}

const struct event *event_cursor_next(struct event_cursor *cursor)
{
    const struct event *event = event_cursor_plain(cursor);
    if (event)
        return event;
    cursor->gap = 0;
    if (events_ready(cursor))
        return event_cursor_plain(cursor);
    event = event_next(cursor);
    while (event && cursor->reader->header.traced == TRACED_IN_PART && !cursor->whole && !event_belongs(cursor, event))
        event = event_next(cursor);
    return event;
}

void event_cursor_close(struct event_cursor *cursor)
{
    if (cursor->unfolding)
        reader_compact->leave(cursor);
    free(cursor->memory);
    cursor->memory = NULL;
    cursor->memory_bytes = 0;
}
