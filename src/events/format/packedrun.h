/*
 * A packed run: what one process recorded, as a section of a job file (jobfile.h). It is made of the live file of a process
 * that has ended. Chunks of a long trace are packed before that, and come into the section as they are (drained.h).
 *
 *   section_header | piece of image | piece | block | ...
 *                    each: chunk_header | payload, of a multiple of 64 bytes together
 *
 *   CHUNK_IMAGE    a compressed piece of the live file. In the image everything except the events is where it was in
 *                  the live file, so offsets stay valid. reserved[0] = where, reserved[1] = how many bytes
 *   CHUNK_COLUMNS  `capacity` events of one thread from number first_event on, by column (columns.h): after the
 *                  header column_sizes, then the columns, each compressed by itself
 *
 * The image has CHUNK_GONE in place of chunks of events. The reader makes the image in memory, and takes the blocks
 * from the file. Compressed data ends with zstd's own checksum of the original, and each header has one (`turned`). A
 * program without zstd (the process that is recorded) links none of this.
 */
#ifndef MPIT_EVENTS_PACKEDRUN_H
#define MPIT_EVENTS_PACKEDRUN_H

#include "format/columns.h"
#include "format/jobfile.h"
#include "reader/reader.h"

struct column_sizes {
    uint32_t packed[COLUMN_COUNT]; /* sizes as in the file */
    uint32_t plain[COLUMN_COUNT];
    uint32_t reserved[4];
};

_Static_assert(sizeof(struct column_sizes) == SECTION_ALIGN, "columns begin aligned");

/* The functions that the reader calls for packed runs. */
struct packed_codec {
    /* Makes the image of the section that reader->file maps, and finds its blocks. Returns 0, or -1 with reader->error. */
    int (*open)(struct run_reader *reader);
    /* Makes the image again, where it was. */
    int (*fill)(struct run_reader *reader);
    /* Unpacks a block into the cursor's memory. Returns false if it is damaged, or if there is no memory. */
    bool (*enter)(struct event_cursor *cursor, const struct chunk_header *block);
    /* Frees cursor->unfolding, which must not be NULL. */
    void (*leave)(struct event_cursor *cursor);
};

/* Lets run_reader_open_part of this program read packed runs. Call it before the first of them, from one thread. */
void packed_enable(void);

/* Why a block of this program's files could not be unpacked. Its events are missing then. Any thread may call it. */
enum packed_trouble { PACKED_SOUND, PACKED_NO_MEMORY, PACKED_DAMAGED };
enum packed_trouble packed_trouble_seen(void);
/* Back to an earlier state: the output does not need the events that could not be read. */
void packed_trouble_forget(enum packed_trouble before);

/* Compresses a payload into `out`, which has room for packed_bound(bytes). Returns its size, 0 = failed. */
size_t packed_bound(size_t bytes);
struct packed_writer;
struct packed_writer *packed_writer_make(void); /* NULL: no memory */
void packed_writer_free(struct packed_writer *writer);
size_t packed_pack(struct packed_writer *writer, const void *from, size_t bytes, void *out, size_t room);
/* Returns whether it is the header of a piece or block that fits into `room` bytes, with its checksum. */
bool packed_chunk_is_sound(const struct chunk_header *chunk, uint64_t room);
/* Stores the checksum in the header, after everything else. The checksum of a block includes its sizes. */
void packed_seal(struct chunk_header *chunk, const struct column_sizes *sizes);

#endif
