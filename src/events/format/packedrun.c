#include "format/packedrun.h"

#include "base/hash.h"
#include "reader/readercomms.h"
#include "reader/runmap.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <zstd.h>

/* Upper limit for an image. A run keeps less than this besides its events. A small damaged file cannot unpack to
 * more. */
static uint64_t image_most(const struct run_reader *reader)
{
    return (UINT64_C(64) << 20) + 1000 * (uint64_t)reader->file_bytes;
}

enum { PIECE_MOST = 1 << 30, LEVEL = 3 };

/* ---- the image */

static int image_make(struct run_reader *reader, uint64_t bytes)
{
    if (bytes < RUN_PAGE_BYTES || bytes % RUN_PAGE_BYTES || bytes > UINT64_C(1) << 46)
        return reader_fail(reader, "has a damaged header (an image of %llu bytes)", (unsigned long long)bytes);
    void *image = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (image == MAP_FAILED)
        return reader_fail(reader, "does not fit into memory (%llu bytes)", (unsigned long long)bytes);
    reader->base = image;
    reader->bytes = reader->mapped_bytes = bytes;
    run_map_image(reader->map, image, bytes);
    return 0;
}

/* ---- sums of headers */

/* FNV-1a of the bytes outside of all frames: the chunk's header and, of a block, the sizes of its columns. Never 0. */
static uint64_t header_sum(const struct chunk_header *chunk, const struct column_sizes *sizes)
{
    struct chunk_header head = *chunk;
    head.turned = 0;
    uint64_t sum = hash_bytes(HASH_BEGIN, &head, sizeof head);
    sum = hash_bytes(sum, sizes, sizes ? sizeof *sizes : 0);
    return sum ? sum : 1;
}

void packed_seal(struct chunk_header *chunk, const struct column_sizes *sizes)
{
    chunk->turned = header_sum(chunk, sizes);
}

static bool seal_is_whole(const struct chunk_header *chunk, const struct column_sizes *sizes)
{
    return chunk->turned == header_sum(chunk, sizes);
}

/* ---- pieces of the image */

static int piece_unpack(struct run_reader *reader, ZSTD_DCtx *context, const struct chunk_header *chunk, uint64_t *sum)
{
    uint64_t at = chunk->reserved[0], bytes = chunk->reserved[1];
    if (!seal_is_whole(chunk, NULL))
        return reader_fail(reader, "is damaged: a piece of its image has a wrong header");
    if (bytes > PIECE_MOST || at > reader->bytes || bytes > reader->bytes - at || bytes > image_most(reader) - *sum)
        return reader_fail(reader, "is damaged: a piece of its image is outside the file");
    *sum += bytes;
    reader->written = *sum;
    char *to = (char *)(uintptr_t)reader->base + at;
    size_t got = ZSTD_decompressDCtx(context, to, bytes, chunk + 1, chunk->packed_bytes);
    if (ZSTD_isError(got))
        return reader_fail(reader, "is damaged: a piece of its image cannot be decompressed (%s)",
                           ZSTD_getErrorName(got));
    if (got != bytes)
        return reader_fail(reader, "is damaged: a piece of its image is too short");
    return 0;
}

/* ---- the chunks of the section */

static bool block_is_sound(const struct chunk_header *chunk)
{
    const struct column_sizes *sizes = (const struct column_sizes *)(chunk + 1);
    uint64_t sum = sizeof *sizes;
    if (chunk->packed_bytes < sizeof *sizes || !chunk->capacity || chunk->capacity > COLUMNS_EVENTS ||
        !seal_is_whole(chunk, sizes))
        return false;
    for (int i = 0; i < COLUMN_COUNT; i++) {
        sum += sizes->packed[i];
        if (sizes->plain[i] > COLUMN_MOST(i))
            return false;
    }
    return sum <= chunk->packed_bytes && chunk->first_event + chunk->capacity > chunk->first_event;
}

static bool chunk_fits(const struct chunk_header *chunk, uint64_t room)
{
    return room >= sizeof *chunk && chunk->magic == CHUNK_MAGIC && chunk->bytes >= sizeof *chunk &&
           chunk->bytes % SECTION_ALIGN == 0 && chunk->bytes <= room &&
           chunk->packed_bytes <= chunk->bytes - sizeof *chunk &&
           (chunk->kind == CHUNK_IMAGE || chunk->kind == CHUNK_COLUMNS);
}

bool packed_chunk_is_sound(const struct chunk_header *chunk, uint64_t room)
{
    return chunk_fits(chunk, room) &&
           (chunk->kind == CHUNK_COLUMNS ? block_is_sound(chunk) : seal_is_whole(chunk, NULL));
}

static const struct chunk_header *chunk_at(struct run_reader *reader, uint64_t at, uint64_t end)
{
    const struct chunk_header *chunk = (const void *)((const char *)reader->file + at);
    if (!chunk_fits(chunk, end - at)) {
        reader_fail(reader, "is damaged: no chunk at byte %llu", (unsigned long long)at);
        return NULL;
    }
    if (chunk->kind == CHUNK_COLUMNS && !block_is_sound(chunk)) {
        reader_fail(reader, "is damaged: the block of events at byte %llu is not valid", (unsigned long long)at);
        return NULL;
    }
    return chunk;
}

/* Takes the pieces of the image. They come first. Then, if `blocks`, notes the blocks of events. */
static int chunks_take(struct run_reader *reader, ZSTD_DCtx *context, const struct section_header *section, bool blocks)
{
    uint64_t chunks = 0, sum = 0, end = sizeof *section + section->payload_bytes;
    for (uint64_t at = sizeof *section; at < end; chunks++) {
        const struct chunk_header *chunk = chunk_at(reader, at, end);
        if (!chunk)
            return -1;
        struct chunk_header head = *chunk;
        if (head.kind == CHUNK_COLUMNS && !blocks)
            return 0;
        if ((head.kind == CHUNK_IMAGE ? piece_unpack(reader, context, chunk, &sum)
                                      : reader_chunk_add(reader, chunk, &head)) != 0)
            return -1;
        at += chunk->bytes;
    }
    if (chunks != section->chunks)
        return reader_fail(reader, "is damaged: it has %llu pieces and blocks, but %u are expected",
                           (unsigned long long)chunks, section->chunks);
    return 0;
}

static int section_take(struct run_reader *reader, bool blocks)
{
    const struct section_header *section = reader->file;
    ZSTD_DCtx *context = ZSTD_createDCtx();
    int result =
        context ? chunks_take(reader, context, section, blocks) : reader_fail(reader, "does not fit into memory");
    ZSTD_freeDCtx(context);
    return result;
}

static int packed_open(struct run_reader *reader)
{
    const struct section_header *section = reader->file;
    if (!section_is_sound(section, reader->file_bytes) || section->kind != SECTION_PROCESS)
        return reader_fail(reader, "is damaged: a section has a wrong header");
    return image_make(reader, section->plain_bytes) == 0 ? section_take(reader, true) : -1;
}

static int packed_fill(struct run_reader *reader)
{
    return section_take(reader, false);
}

static enum packed_trouble trouble; /* relaxed, as it is read at the end */

enum packed_trouble packed_trouble_seen(void)
{
    return __atomic_load_n(&trouble, __ATOMIC_RELAXED);
}

void packed_trouble_forget(enum packed_trouble before)
{
    __atomic_store_n(&trouble, before, __ATOMIC_RELAXED);
}

static bool block_fails(enum packed_trouble why)
{
    __atomic_store_n(&trouble, why, __ATOMIC_RELAXED);
    return false;
}

/*
 * One context serves all blocks. Making one queries the processor's features, which takes 20 us on a virtual processor.
 */
static bool block_enter(struct event_cursor *cursor, const struct chunk_header *block)
{
    struct column_sizes sizes; /* a copy: somebody may write to the file */
    memcpy(&sizes, block + 1, sizeof sizes);
    const char *from = (const char *)(block + 1) + sizeof sizes;
    const char *end = (const char *)cursor->reader->file + cursor->reader->file_bytes;
    size_t needed = 0, packed = 0;
    if (!cursor->unfolding && !(cursor->unfolding = ZSTD_createDCtx()))
        return block_fails(PACKED_NO_MEMORY);
    for (int i = 0; i < COLUMN_COUNT; i++) {
        needed += sizes.plain[i];
        packed += sizes.packed[i];
        if (sizes.plain[i] > COLUMN_MOST(i) || packed > (size_t)(end - from))
            return block_fails(PACKED_DAMAGED);
    }
    unsigned char *to = cursor_memory(cursor, needed);
    if (!to)
        return block_fails(PACKED_NO_MEMORY);
    cursor->columns = (struct columns_cursor){0};
    for (int i = 0; i < COLUMN_COUNT; i++) {
        size_t got =
            sizes.plain[i] ? ZSTD_decompressDCtx(cursor->unfolding, to, sizes.plain[i], from, sizes.packed[i]) : 0;
        if (got != sizes.plain[i])
            return block_fails(PACKED_DAMAGED);
        cursor->columns.at[i] = to;
        cursor->columns.end[i] = to + got;
        to += got;
        from += sizes.packed[i];
    }
    return true;
}

static void blocks_leave(struct event_cursor *cursor)
{
    ZSTD_freeDCtx(cursor->unfolding);
    cursor->unfolding = NULL;
}

void packed_enable(void)
{
    static const struct packed_codec codec = {packed_open, packed_fill, block_enter, blocks_leave};
    reader_packed = &codec;
}

/* ---- writing */

struct packed_writer {
    ZSTD_CCtx *context;
};

struct packed_writer *packed_writer_make(void)
{
    struct packed_writer *writer = malloc(sizeof *writer);
    if (!writer)
        return NULL;
    writer->context = ZSTD_createCCtx();
    if (!writer->context) {
        free(writer);
        return NULL;
    }
    ZSTD_CCtx_setParameter(writer->context, ZSTD_c_compressionLevel, LEVEL);
    ZSTD_CCtx_setParameter(writer->context, ZSTD_c_checksumFlag, 1);
    return writer;
}

void packed_writer_free(struct packed_writer *writer)
{
    if (!writer)
        return;
    ZSTD_freeCCtx(writer->context);
    free(writer);
}

size_t packed_bound(size_t bytes)
{
    return ZSTD_compressBound(bytes);
}

size_t packed_pack(struct packed_writer *writer, const void *from, size_t bytes, void *out, size_t room)
{
    size_t got = ZSTD_compress2(writer->context, out, room, from, bytes);
    return ZSTD_isError(got) ? 0 : got;
}
