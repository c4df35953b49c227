/*
 * Compact run files: the compressed run file (zstd) of a finished process, made by mpit-dump --compact.
 *
 *   offset 0              64
 *          +--------------+-----------------+----------------+----------------+--
 *          |compact_header| piece of image  | piece           | block           | ...  up to header.bytes
 *          +--------------+-----------------+----------------+----------------+--
 *                           each: chunk_header | payload, of a multiple of 64 bytes together
 *
 *   CHUNK_IMAGE    a compressed piece of the run file. In the image everything except the events is where it was in
 *                  the run file, so offsets stay valid. reserved[0] = where, reserved[1] = how many bytes
 *   CHUNK_COLUMNS  `capacity` events of one thread from number first_event on, by column (columns.h): after the
 *                  header column_sizes, then the columns, each compressed by itself
 *
 * The image has CHUNK_GONE in place of chunks of events. The reader makes the image in memory, and takes the blocks
 * from the file. Compressed data ends with zstd's own checksum of the original, and each header has one (`turned`). So
 * no damaged data passes for recorded data. A program without zstd (the
 * process that is recorded) links none of this.
 */
#ifndef MPIT_EVENTS_COMPACT_H
#define MPIT_EVENTS_COMPACT_H

#include "format/columns.h"
#include "reader/reader.h"

#define COMPACT_MAGIC "mpit-zst"
enum { COMPACT_VERSION = 1, COMPACT_ALIGN = 64 };

struct compact_header {
    char magic[8]; /* COMPACT_MAGIC, without the NUL */
    uint32_t version;
    uint32_t byte_order;
    uint64_t bytes;       /* of this file */
    uint64_t image_bytes; /* of the original run file */
    uint64_t piece_count; /* pieces of the image, which come first */
    uint64_t block_count;
    uint64_t reserved[2];
};

_Static_assert(sizeof(struct compact_header) == COMPACT_ALIGN, "chunks are aligned");

struct column_sizes {
    uint32_t packed[COLUMN_COUNT]; /* sizes as in the file */
    uint32_t plain[COLUMN_COUNT];
    uint32_t reserved[4];
};

_Static_assert(sizeof(struct column_sizes) == COMPACT_ALIGN, "columns begin aligned");

/* The functions that the reader calls for compact files. */
struct compact_codec {
    /* Makes the image of the file that reader->file maps, and finds its blocks. Returns 0, or -1 with reader->error. */
    int (*open)(struct run_reader *reader);
    /* Unpacks a block into the cursor's memory. Returns false if it is damaged, or if there is no memory. */
    bool (*enter)(struct event_cursor *cursor, const struct chunk_header *block);
    /* Frees cursor->unfolding, which must not be NULL. */
    void (*leave)(struct event_cursor *cursor);
};

/* Lets run_reader_open of this program read compact files. Call it before the first of them, from one thread. */
void compact_enable(void);

/* Why a block of this program's files could not be unpacked. Its events are missing then. Any thread may call it. */
enum compact_trouble { COMPACT_SOUND, COMPACT_NO_MEMORY, COMPACT_DAMAGED };
enum compact_trouble compact_trouble_seen(void);
/* Back to an earlier state: the output does not need the events that could not be read. */
void compact_trouble_forget(enum compact_trouble before);

/* Compresses a payload into `out`, which has room for compact_bound(bytes). Returns its size, 0 = failed. */
size_t compact_bound(size_t bytes);
struct compact_writer;
struct compact_writer *compact_writer_make(void); /* NULL: no memory */
void compact_writer_free(struct compact_writer *writer);
size_t compact_pack(struct compact_writer *writer, const void *from, size_t bytes, void *out, size_t room);
/* Stores the checksum in the header, after everything else. The checksum of a block includes its sizes. */
void compact_seal(struct chunk_header *chunk, const struct column_sizes *sizes);

#endif
