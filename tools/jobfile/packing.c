#include "jobfile/packing.h"

#include "jobfile/drained.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

enum { PIECE_BYTES = PACKING_CHUNK_MOST };

struct packing {
    struct job_writer *writer;
    const struct run_reader *run;
    uint32_t chunks;
    struct packed_writer *packer;
    struct columns *columns;
    char *packed; /* of a piece or of a column */
    size_t room;
    struct event *events; /* of the block that is collected */
    uint32_t event_count, thread;
    uint64_t first_event;
    const struct drained *drained;
    size_t next;      /* drained chunk that is not in the section yet */
    uint64_t covered; /* the end of the thread's events that were drained, as far as they are in the section */
    struct unpacked unpacked;
};

struct packing *packing_make(void)
{
    struct packing *packing = calloc(1, sizeof *packing);
    if (!packing)
        return NULL;
    packing->room = packed_bound(PIECE_BYTES);
    packing->packer = packed_writer_make();
    packing->columns = malloc(sizeof *packing->columns);
    packing->events = malloc(COLUMNS_EVENTS * sizeof *packing->events);
    packing->packed = malloc(packing->room);
    if (packing->packer && packing->columns && packing->events && packing->packed)
        return packing;
    packing_free(packing);
    return NULL;
}

void packing_free(struct packing *packing)
{
    if (!packing)
        return;
    packed_writer_free(packing->packer);
    free(packing->columns);
    free(packing->events);
    free(packing->packed);
    free(packing);
}

/* Appends a chunk: its header, the sizes of its columns if it has some, and what is packed. */
static int chunk_put(struct packing *packing, struct chunk_header *chunk, const struct column_sizes *sizes,
                     size_t packed)
{
    size_t sizes_bytes = sizes ? sizeof *sizes : 0;
    chunk->magic = CHUNK_MAGIC;
    chunk->packed_bytes = sizes_bytes + packed;
    chunk->bytes = section_padded(sizeof *chunk + chunk->packed_bytes);
    packed_seal(chunk, sizes);
    packing->chunks++;
    struct job_writer *writer = packing->writer;
    if (job_writer_put(writer, chunk, sizeof *chunk) != 0 || job_writer_put(writer, sizes, sizes_bytes) != 0 ||
        job_writer_put(writer, packing->packed, packed) != 0)
        return -1;
    return job_writer_pad(writer);
}

/* Appends the next drained chunk, as it is. */
static int drained_put(struct packing *packing)
{
    const struct drained_chunk *chunk = &packing->drained->list[packing->next++];
    packing->chunks++;
    return job_writer_put(packing->writer, chunk->at, chunk->head.bytes);
}

/* ---- the image: everything but chunks of events ------------------------------------------------------------------ */

static bool chunk_has_events(const struct chunk_header *chunk)
{
    return chunk->kind == CHUNK_TRACE || chunk->kind == CHUNK_PACKED || chunk->kind == CHUNK_RING ||
           chunk->kind == CHUNK_FREE;
}

static int piece_put(struct packing *packing, uint64_t at, const void *bytes, size_t count)
{
    struct chunk_header chunk = {.kind = CHUNK_IMAGE, .reserved = {at, count}};
    size_t packed = packed_pack(packing->packer, bytes, count, packing->packed, packing->room);
    if (packed)
        return chunk_put(packing, &chunk, NULL, packed);
    errno = ENOMEM;
    return -1;
}

static int range_put(struct packing *packing, uint64_t from, uint64_t to)
{
    for (uint64_t at = from; at < to;) {
        size_t count = to - at < PIECE_BYTES ? (size_t)(to - at) : PIECE_BYTES;
        if (piece_put(packing, at, packing->run->base + at, count) != 0)
            return -1;
        at += count;
    }
    return 0;
}

static int gone_put(struct packing *packing, uint64_t from, uint64_t to)
{
    struct chunk_header gone = {.magic = CHUNK_MAGIC, .kind = CHUNK_GONE, .bytes = to - from};
    return to > from ? piece_put(packing, from, &gone, sizeof gone) : 0;
}

/* The next drained chunk, if it is of this kind. NULL: there is none. */
static const struct chunk_header *drained_next(const struct packing *packing, uint32_t kind)
{
    const struct drained *drained = packing->drained;
    bool there = packing->next < drained->count && drained->list[packing->next].head.kind == kind;
    return there ? &drained->list[packing->next].head : NULL;
}

/* Fills the place of parts that are left out: with drained chunks of samples, and headers that lead over the rest. */
static int gap_put(struct packing *packing, uint64_t from, uint64_t to)
{
    for (const struct chunk_header *piece; (piece = drained_next(packing, CHUNK_IMAGE)) && piece->reserved[0] < to;) {
        uint64_t begin = piece->reserved[0], end = begin + piece->reserved[1];
        if (begin < from || end > to) { /* the live file still has it */
            packing->next++;
            continue;
        }
        if (gone_put(packing, from, begin) != 0 || drained_put(packing) != 0)
            return -1;
        from = end;
    }
    return gone_put(packing, from, to);
}

/* Writes the parts that are kept and, for each part that is left out, a header that leads over it. */
static int image_put(struct packing *packing)
{
    const struct run_reader *run = packing->run;
    uint64_t kept = 0, gone = 0,
             at = RUN_PAGE_BYTES; /* where the part before `at` begins. gone is 0, or it is left out */
    for (const struct chunk_header *chunk; at < run->bytes; at += chunk->bytes) { /* in the order of the file */
        chunk = (const void *)(run->base + at);
        if (chunk->bytes < sizeof *chunk || chunk->bytes > run->bytes - at) { /* it has changed since it was checked */
            errno = EIO;
            return -1;
        }
        if (chunk_has_events(chunk) == (gone != 0))
            continue;
        if ((gone ? gap_put(packing, gone, at) : range_put(packing, kept, at)) != 0)
            return -1;
        kept = at;
        gone = gone ? 0 : at;
    }
    return gone ? gap_put(packing, gone, at) : range_put(packing, kept, at);
}

/* ---- the events -------------------------------------------------------------------------------------------------- */

static int events_block_put(struct packing *packing)
{
    if (!packing->event_count)
        return 0;
    columns_write(packing->columns, packing->events, packing->event_count);
    struct column_sizes sizes = {{0}, {0}, {0}};
    size_t used = 0;
    for (int i = 0; i < COLUMN_COUNT; i++) {
        size_t plain = packing->columns->bytes[i], packed = 0;
        if (plain && !(packed = packed_pack(packing->packer, column_bytes(packing->columns, i), plain,
                                            packing->packed + used, packing->room - used))) {
            errno = ENOMEM;
            return -1;
        }
        sizes.plain[i] = (uint32_t)plain;
        sizes.packed[i] = (uint32_t)packed;
        used += packed;
    }
    struct chunk_header chunk = {.kind = CHUNK_COLUMNS,
                                 .thread = packing->thread,
                                 .capacity = packing->event_count,
                                 .first_event = packing->first_event};
    packing->event_count = 0;
    return chunk_put(packing, &chunk, &sizes, used);
}

/* Adds an event to the block. A block has adjacent events of one thread. */
static int event_put(struct packing *packing, uint32_t thread, uint64_t number, const struct event *event)
{
    if (packing->event_count == COLUMNS_EVENTS || thread != packing->thread ||
        number != packing->first_event + packing->event_count)
        if (events_block_put(packing) != 0)
            return -1;
    if (!packing->event_count) {
        packing->thread = thread;
        packing->first_event = number;
    }
    packing->events[packing->event_count++] = *event;
    return 0;
}

/* Appends the drained blocks of the thread that begin before event `end`. */
static int drained_blocks_put(struct packing *packing, uint32_t thread, uint64_t end)
{
    for (const struct chunk_header *block; (block = drained_next(packing, CHUNK_COLUMNS));) {
        uint64_t behind = block->first_event + block->capacity;
        if (block->thread > thread || (block->thread == thread && block->first_event >= end))
            break;
        if (block->thread < thread || behind <= packing->covered) { /* it was drained twice */
            packing->next++;
            continue;
        }
        if (events_block_put(packing) != 0 || drained_put(packing) != 0)
            return -1;
        packing->covered = behind;
    }
    return 0;
}

static int thread_put(struct packing *packing, uint32_t thread)
{
    struct event_cursor cursor;
    int result = 0;
    packing->covered = 0;
    event_cursor_open(&cursor, packing->run, thread);
    cursor.whole = cursor.raw = true;
    for (const struct event *event; result == 0 && (event = event_cursor_next(&cursor));) {
        uint64_t number = cursor.next - 1;
        result = drained_blocks_put(packing, thread, number + 1);
        if (result == 0 && number >= packing->covered)
            result = event_put(packing, thread, number, event);
    }
    event_cursor_close(&cursor);
    if (result == 0)
        result = drained_blocks_put(packing, thread, UINT64_MAX);
    return result == 0 ? events_block_put(packing) : -1;
}

/* Counts each missing part of the drained chunks as one loss, because the number of its events is not known. */
static int loss_put(struct packing *packing, uint64_t lost)
{
    lost += ((const struct run_header *)(const void *)packing->run->base)->lost[LOSS_NO_FILE];
    return piece_put(packing, offsetof(struct run_header, lost) + LOSS_NO_FILE * sizeof lost, &lost, sizeof lost);
}

/* ---- a section, and single chunks -------------------------------------------------------------------------------- */

void packing_begin(struct packing *packing, struct job_writer *writer)
{
    packing->writer = writer;
    packing->chunks = packing->event_count = 0;
}

int packing_put(struct packing *packing, struct job_writer *writer, const struct run_reader *run,
                const struct drained *drained, uint32_t *chunks)
{
    static const struct drained none;
    packing_begin(packing, writer);
    packing->run = run;
    packing->drained = drained ? drained : &none;
    packing->next = 0;
    int result = image_put(packing);
    if (result == 0 && packing->drained->lost)
        result = loss_put(packing, packing->drained->lost);
    while (drained_next(packing, CHUNK_IMAGE))
        packing->next++;
    for (uint32_t thread = 0; result == 0 && thread < run->thread_count; thread++)
        result = thread_put(packing, thread);
    *chunks = packing->chunks;
    return result;
}

int packing_chunk(struct packing *packing, const struct chunk_header *chunk, uint64_t place)
{
    const struct event *events = (const void *)(chunk + 1), *event;
    const unsigned char *at = (const unsigned char *)events, *end = at + chunk->packed_bytes;
    if (chunk->kind == CHUNK_SAMPLES)
        return piece_put(packing, place, chunk, chunk->bytes);
    unpacked_begin(&packing->unpacked);
    for (uint32_t i = 0; i < chunk->capacity; i++) {
        event = chunk->kind == CHUNK_TRACE ? &events[i] : event_unpack(&packing->unpacked, &at, end);
        if (!event) /* the rest is damaged */
            break;
        if (event_put(packing, chunk->thread, chunk->first_event + i, event) != 0)
            return -1;
    }
    return 0;
}

int packing_end(struct packing *packing)
{
    return events_block_put(packing);
}
