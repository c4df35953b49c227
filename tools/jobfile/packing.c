#include "jobfile/packing.h"

#include "format/packedrun.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

enum { PIECE_BYTES = 16 << 20 };

struct packing {
    struct job_writer *writer;
    const struct run_reader *run;
    uint32_t chunks;
    struct packed_writer *packer;
    struct columns *columns;
    char *packed; /* of a piece or of a column */
    size_t room;
    struct event *events; /* of the block that is collected */
    uint32_t event_count;
    uint64_t first_event;
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

/* Writes the kept parts and, for each part that is left out, a header that leads over it. */
static int image_put(struct packing *packing)
{
    const struct run_reader *run = packing->run;
    uint64_t kept = 0, gone = 0, at = RUN_PAGE_BYTES; /* kept .. gone will be written, gone .. at is left out */
    bool skipping = false;
    for (const struct chunk_header *chunk; at < run->bytes; at += chunk->bytes) { /* in the order of the file */
        chunk = (const void *)(run->base + at);
        if (chunk->bytes < sizeof *chunk || chunk->bytes > run->bytes - at) { /* it has changed since it was checked */
            errno = EIO;
            return -1;
        }
        if (chunk_has_events(chunk) != skipping) {
            if (skipping) {
                if (range_put(packing, kept, gone) != 0 || gone_put(packing, gone, at) != 0)
                    return -1;
                kept = at;
            } else {
                gone = at;
            }
            skipping = !skipping;
        }
    }
    return range_put(packing, kept, skipping ? gone : at) || (skipping && gone_put(packing, gone, at)) ? -1 : 0;
}

/* ---- the events -------------------------------------------------------------------------------------------------- */

static int events_block_put(struct packing *packing, uint32_t thread)
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
    struct chunk_header chunk = {
        .kind = CHUNK_COLUMNS, .thread = thread, .capacity = packing->event_count, .first_event = packing->first_event};
    packing->event_count = 0;
    return chunk_put(packing, &chunk, &sizes, used);
}

static int thread_put(struct packing *packing, uint32_t thread)
{
    struct event_cursor cursor;
    int result = 0;
    event_cursor_open(&cursor, packing->run, thread);
    cursor.whole = cursor.raw = true;
    for (const struct event *event; result == 0 && (event = event_cursor_next(&cursor));) {
        uint64_t number = cursor.next - 1;
        if (packing->event_count == COLUMNS_EVENTS || number != packing->first_event + packing->event_count)
            result = events_block_put(packing, thread);
        if (!packing->event_count)
            packing->first_event = number;
        packing->events[packing->event_count++] = *event;
    }
    event_cursor_close(&cursor);
    return result == 0 ? events_block_put(packing, thread) : -1;
}

int packing_put(struct packing *packing, struct job_writer *writer, const struct run_reader *run, uint32_t *chunks)
{
    packing->writer = writer;
    packing->run = run;
    packing->chunks = packing->event_count = 0;
    int result = image_put(packing);
    for (uint32_t thread = 0; result == 0 && thread < run->thread_count; thread++)
        result = thread_put(packing, thread);
    *chunks = packing->chunks;
    return result;
}
