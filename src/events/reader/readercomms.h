/*
 * Declarations that the parts of the reader share:
 *
 *   readercomms.c    the communicators of a run file, with a slot now or before
 *   readerobjects.c  the names of windows and files
 *   readerpark.c     readers of which only the header is kept
 *   readerpaths.c    call paths and modules
 *   readertables.c   blocks of counters, and their meaning
 *   readerlive.c     looks at running processes
 */
#ifndef MPIT_EVENTS_READERCOMMS_H
#define MPIT_EVENTS_READERCOMMS_H

#include "reader/reader.h"

#if defined(__SANITIZE_THREAD__)
#define LOADS_IN_ORDER() ((void)0) /* it does not support fences, and the same process does not write this data */
#else
#define LOADS_IN_ORDER() __atomic_thread_fence(__ATOMIC_ACQUIRE)
#endif

/* Return 0, or -1 with the reader's error set. */
__attribute__((format(printf, 2, 3))) int reader_fail(struct run_reader *reader, const char *format, ...);
/* Opens the file of a parked reader again. The reader stays where it is, as other objects may point to it. */
int reader_unpark(struct run_reader *reader, char error[128]);
int reader_header_check(struct run_reader *reader);
void reader_header_copy(struct run_reader *reader);
int reader_blocks_find(struct run_reader *reader);
int reader_tables_find(struct run_reader *reader);
void reader_tables_release(struct run_reader *reader);
int reader_comms_find(struct run_reader *reader);
int reader_objects_find(struct run_reader *reader);
int reader_paths_find(struct run_reader *reader);
void reader_paths_release(struct run_reader *reader);
void reader_comms_release(struct run_reader *reader);
int reader_chunk_add(struct run_reader *reader, const struct chunk_header *chunk, const struct chunk_header *taken);
/* The object of `size` bytes at `offset`, or NULL if it is not inside of a chunk. */
const void *reader_object(const struct run_reader *reader, uint64_t offset, uint64_t size);
bool reader_text_ends(const char *text, size_t size);
/* True if the content described in the chunk's header fits into the chunk's size. */
bool reader_chunk_fits(const struct chunk_header *chunk);
/* Room for `bytes`, until the cursor enters the next chunk. NULL: no memory. */
void *cursor_memory(struct event_cursor *cursor, size_t bytes);

#endif
