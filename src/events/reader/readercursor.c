/* The events of a run file in order: first from the chunks of the trace, then from the ring. */
#include "format/packedrun.h"
#include "base/array.h"
#include "reader/readercomms.h"
#include "reader/readernext.h"

#include <stdlib.h>
#include <string.h>

/* True if the chunk is the same as when the file was opened. False if the process has written over it. */
static bool chunk_is_there(const struct event_cursor *cursor, const struct chunk_header *chunk)
{
    uint32_t kind = __atomic_load_n(&chunk->kind, __ATOMIC_ACQUIRE);
    return kind == cursor->header.kind &&
           __atomic_load_n(&chunk->first_event, __ATOMIC_ACQUIRE) == cursor->header.first_event;
}

/* Copies the header and checks the copy. A running process may have made it another chunk's header. */
static bool cursor_chunk_take(struct event_cursor *cursor, const struct chunk_header *chunk)
{
    const struct run_reader *reader = cursor->reader;
    uint64_t offset = (uint64_t)((const char *)chunk - reader->base);
    if (!cursor->reads || !run_reader_read(reader, chunk, &cursor->header, sizeof cursor->header))
        memcpy(&cursor->header, chunk, sizeof cursor->header);
    const struct chunk_header *header = &cursor->header;
    if (reader->file && header->kind == CHUNK_COLUMNS) /* was checked, and never changes */
        return header->thread == cursor->thread;
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

/* The place of the packed events of a chunk. The header was checked before the events were read, so all of them are
 * there. */
static const unsigned char *packed_take(struct event_cursor *cursor, const struct chunk_header *chunk)
{
    uint64_t bytes = cursor->header.packed_bytes;
    if (!cursor->reads || !cursor->plain || bytes > READ_MOST)
        return (const unsigned char *)(chunk + 1);
    void *memory = cursor_memory(cursor, bytes);
    return memory && run_reader_read(cursor->reader, chunk + 1, memory, bytes) ? memory
                                                                               : (const unsigned char *)(chunk + 1);
}

/* Begins a chunk whose events are packed or by column. */
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
        if (!reader_packed->enter(cursor, chunk))
            cursor->columns = (struct columns_cursor){0}; /* makes it empty */
    }
}

static void cursor_enter(struct event_cursor *cursor, const struct chunk_header *chunk, uint64_t first, uint64_t end)
{
    const struct chunk_header *header = &cursor->header;
    cursor->current = chunk;
    cursor->current_first = header->kind == CHUNK_RING ? 0 : first;
    cursor->current_end = end < cursor->end ? end : cursor->end;
    const struct run_header *run = &cursor->reader->header;
    cursor->plain = run->traced != TRACED_IN_PART &&
                    (header->kind == CHUNK_COLUMNS || (header->kind == CHUNK_PACKED && !run_trace_moves(run)) ||
                     (header->kind == CHUNK_RING && run->phase == RUN_FINALIZED));
    if (!cursor->skims)
        chunk_begin(cursor, chunk, first);
    if (first > cursor->next) {
        if (cursor->reader->header.traced != TRACED_IN_PART) {
            cursor->missing += first - cursor->next;
            cursor->gap += first - cursor->next;
        }
        cursor->belongs = false; /* the first event may lack its call */
        cursor->next = first;
    }
}

/* The first whole event of a ring after the thread has written `end`. A killed process may have been writing over
 * the oldest ones. It was not if it had not yet appended the content of the ring. */
static uint64_t ring_first(const struct event_cursor *cursor, const struct chunk_header *ring, uint64_t end)
{
    uint64_t capacity = cursor->header.capacity, turned = __atomic_load_n(&ring->turned, __ATOMIC_ACQUIRE);
    bool whole = cursor->reader->header.phase == RUN_FINALIZED || (end % capacity == 0 && turned < end);
    uint64_t spare = whole ? 0 : RING_SPARE;
    return end + spare > capacity ? end + spare - capacity : 0;
}

/* The thread's event buffer, with a copy of its header. NULL: the thread has none. */
static const struct chunk_header *event_ring_take(struct event_cursor *cursor)
{
    const struct run_reader *reader = cursor->reader;
    for (; cursor->rare < reader->rare_count; cursor->rare++) { /* stays at the one found */
        const struct chunk_header *ring = reader->rare[cursor->rare];
        if (ring->kind == CHUNK_RING && ring->thread == cursor->thread && cursor_chunk_take(cursor, ring) &&
            cursor->header.kind == CHUNK_RING && cursor->header.capacity)
            return ring;
    }
    return NULL;
}

/* Enters the ring for its events before number `end`. Returns false if it has none of them. */
static bool ring_enter(struct event_cursor *cursor, uint64_t end)
{
    const struct chunk_header *ring = event_ring_take(cursor);
    uint64_t first = ring ? ring_first(cursor, ring, cursor->end) : end;
    if (first >= end)
        return false;
    cursor_enter(cursor, ring, first, end);
    return true;
}

/* An event of the ring. NULL: a running process has written over it. */
static const struct event *ring_event(struct event_cursor *cursor)
{
    const struct chunk_header *ring = cursor->current;
    const struct event *event = (const struct event *)(ring + 1) + cursor->next % cursor->header.capacity;
    if (cursor->reader->header.phase != RUN_FINALIZED) {
        event = memcpy(&cursor->unpacked.last[cursor->unpacked.count++ & PACK_BACK_MOST], event, sizeof *event);
        LOADS_IN_ORDER();
        if (cursor->next < ring_first(cursor, ring, __atomic_load_n(cursor->written, __ATOMIC_ACQUIRE)))
            return NULL;
    }
    cursor->next++;
    return event;
}

static bool kind_has_trace(uint32_t kind)
{
    return kind == CHUNK_TRACE || kind == CHUNK_PACKED || kind == CHUNK_COLUMNS;
}

/* Returns false for a chunk of another thread, without reading the chunk. */
static bool chunk_may_belong(const struct event_cursor *cursor, size_t chunk)
{
    const uint32_t *threads = cursor->reader->chunk_threads;
    return !threads || threads[chunk] == cursor->thread || threads[chunk] == ANY_THREAD;
}

/* Moves to the chunk that holds event `next`, or the first event after it. The chunks of the trace are in order. The
 * ring has the events that are in no chunk. */
static bool cursor_seek(struct event_cursor *cursor)
{
    const struct run_reader *reader = cursor->reader;
    if (cursor->next >= cursor->end)
        return false;
    for (; cursor->chunk < reader->chunk_count; cursor->chunk++) {
        const struct chunk_header *chunk = reader->chunks[cursor->chunk];
        if (!chunk_may_belong(cursor, cursor->chunk) || !cursor_chunk_take(cursor, chunk) ||
            !kind_has_trace(cursor->header.kind))
            continue;
        uint64_t first = cursor->header.first_event, end = first + cursor->header.capacity;
        if (end < first || cursor->next >= end || first >= cursor->end)
            continue;
        if (first > cursor->next && ring_enter(cursor, first))
            return true; /* the chunk of the missing events was dropped, but the buffer still has them */
        if (first > cursor->next && !cursor_chunk_take(cursor, chunk))
            continue;
        cursor_enter(cursor, chunk, first, end);
        return true;
    }
    if (ring_enter(cursor, cursor->end))
        return true;
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
    if (!cell) /* the file has become shorter since it was opened */
        return;
    cursor->written = cell;
    cursor->end = __atomic_load_n(cell, __ATOMIC_ACQUIRE); /* pairs with the release in events_count (log.h) */
}

void event_cursor_skip(struct event_cursor *cursor, uint64_t number)
{
    if (number <= cursor->next)
        return;
    if (cursor->held) {
        cursor->held = NULL;
        cursor->next++;
    }
    uint64_t ready = (uint64_t)(cursor->ready_end - cursor->ready);
    if (ready) /* else there may be no pointer yet */
        cursor->ready += number - cursor->next < ready ? number - cursor->next : ready;
    cursor->next = number;
}

/* Leaves the chunk. For the ring the index stays, as it already is the next chunk's. */
static void chunk_leave(struct event_cursor *cursor)
{
    cursor->chunk += cursor->header.kind != CHUNK_RING && cursor->chunk < cursor->reader->chunk_count;
}

void event_ranges_open(struct event_cursor *cursor, const struct run_reader *reader, uint32_t thread)
{
    event_cursor_open(cursor, reader, thread);
    cursor->reads = cursor->skims = true;
}

bool event_ranges_next(struct event_cursor *cursor, uint64_t *first, uint64_t *end)
{
    if (!cursor_seek(cursor))
        return false;
    *first = cursor->next;
    *end = cursor->next = cursor->current_end;
    chunk_leave(cursor);
    if (++cursor->ranges % CHUNKS_BETWEEN_RESTS == 0)
        run_reader_rest(cursor->reader);
    return true;
}

uint64_t run_reader_events_missing(const struct run_reader *reader, uint32_t thread)
{
    struct event_cursor cursor;
    uint64_t first, end;
    event_ranges_open(&cursor, reader, thread);
    while (event_ranges_next(&cursor, &first, &end))
        continue;
    event_cursor_close(&cursor);
    return cursor.missing;
}

/* Returns event `next` of the current chunk, packed or by column. NULL: the chunk is damaged from here on. */
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

/* True if the trace was on at that time. */
static bool stretches_have(const struct run_reader *reader, uint64_t ticks)
{
    size_t count = reader->stretch_count; /* the last stretch is the first in the list */
    size_t at = ARRAY_FIRST(i, 0, count, reader->stretches[i]->begin_ticks <= ticks);
    return at < count && ticks < reader->stretches[at]->end_ticks;
}

/* True for a call that began in a stretch, and for the records after it. An empty place (the buffer was made later)
 * belongs to no stretch. */
static bool event_belongs(struct event_cursor *cursor, const struct event *event)
{
    unsigned kind = event_kind(event);
    if (kind == 0)
        cursor->belongs = false;
    else if (kind < RECORD_FIRST || kind >= RECORD_END)
        cursor->belongs = stretches_have(cursor->reader, event->begin);
    return cursor->belongs;
}

/* Returns event `next` of the current chunk. NULL: the chunk is damaged from here on, or was overwritten. */
static const struct event *cursor_take(struct event_cursor *cursor)
{
    const struct event *events = (const struct event *)(cursor->current + 1), *event;
    uint64_t number = cursor->next;
    if (cursor->header.kind == CHUNK_RING)
        return ring_event(cursor);
    bool changes = run_trace_moves(&cursor->reader->header);
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
            chunk_leave(cursor);
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

/* Copies the next events of a ring to their place. */
static size_t ring_copy(struct event_cursor *cursor, struct event *place, size_t count)
{
    const struct event *events = (const struct event *)(cursor->current + 1);
    for (size_t i = 0; i < count; i++)
        place[i] = events[(cursor->next + i) % cursor->header.capacity];
    cursor->unpacked.count += count;
    return count;
}

/*
 * Unpacks the next events of the current chunk, as many as are adjacent. Returns false if there are none, or if they
 * cannot be unpacked this way.
 */
static bool events_ready(struct event_cursor *cursor)
{
    struct unpacked *unpacked = &cursor->unpacked;
    bool ring = cursor->header.kind == CHUNK_RING;
    if (!cursor->plain || cursor->next >= cursor->current_end || (!ring && cursor->packed_number != cursor->next))
        return false;
    size_t place = unpacked->count & PACK_BACK_MOST, most = EVENTS_READY_MOST - place % EVENTS_READY_MOST;
    if (cursor->current_end - cursor->next < most)
        most = (size_t)(cursor->current_end - cursor->next);
    size_t got = ring ? ring_copy(cursor, &unpacked->last[place], most)
                 : cursor->header.kind == CHUNK_COLUMNS
                     ? columns_take(&cursor->columns, unpacked, most)
                     : events_unpack(unpacked, &cursor->packed, cursor->packed_end, most);
    cursor->ready = &unpacked->last[place];
    cursor->ready_end = cursor->ready + got;
    cursor->packed_number += got;
    return got > 0;
}

/* The next record as it is in the file. */
static const struct event *event_stored(struct event_cursor *cursor)
{
    if (cursor->ready == cursor->ready_end) {
        cursor->gap = 0;
        events_ready(cursor);
    }
    if (cursor->ready != cursor->ready_end) {
        cursor->next++;
        return cursor->ready++;
    }
    const struct event *event = event_next(cursor);
    while (event && cursor->reader->header.traced == TRACED_IN_PART && !cursor->whole && !event_belongs(cursor, event))
        event = event_next(cursor);
    return event;
}

/* Shows a wide call. The extension after it may have a part of its bytes. It is read now, and returned next. */
static const struct event *wide_show(struct event_cursor *cursor, const struct event *event)
{
    struct event low = *event;
    struct event_extension extension;
    uint64_t gap = cursor->gap;
    struct event *shown = event_without_path(cursor, &low);
    cursor->held = event_stored(cursor);
    cursor->held_gap = cursor->gap;
    cursor->gap = gap;
    cursor->next -= cursor->held != NULL;
    if (cursor->held && event_kind(cursor->held) == RECORD_EXTENSION && !cursor->held_gap) {
        memcpy(&extension, cursor->held, sizeof extension);
        if (extension.bytes_high)
            shown->bytes = (low.bytes & EVENT_BYTES_MASK) | (extension.bytes_high - 1) << EVENT_PATH_SHIFT;
    }
    return shown;
}

const struct event *event_cursor_next(struct event_cursor *cursor)
{
    const struct event *event = cursor->held;
    if (event) {
        cursor->held = NULL;
        cursor->next++;
        cursor->gap = cursor->held_gap;
        return event;
    }
    event = event_stored(cursor);
    bool wide = event && (event->kind & EVENT_WIDE) && event_kind(event) < CALL_COUNT;
    if (wide && !cursor->raw)
        return wide_show(cursor, event);
    return event ? event_cursor_show(cursor, event) : NULL;
}

void event_cursor_close(struct event_cursor *cursor)
{
    if (cursor->unfolding)
        reader_packed->leave(cursor);
    free(cursor->memory);
    cursor->memory = NULL;
    cursor->memory_bytes = 0;
}
