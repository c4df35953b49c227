/*
 * The communicators of a run file: those that have a slot, and those that had one before. A part of the reader.
 */
#ifndef MPIT_EVENTS_READERCOMMS_H
#define MPIT_EVENTS_READERCOMMS_H

#include "reader.h"

/* Return 0, or -1 with the reader's error set. */
__attribute__((format(printf, 2, 3))) int reader_fail(struct run_reader *reader, const char *format, ...);
int reader_comms_find(struct run_reader *reader);
void reader_comms_release(struct run_reader *reader);
int reader_chunk_add(struct run_reader *reader, const struct chunk_header *chunk);
/* The object of `size` bytes at `offset`, or NULL when it does not lie in a chunk's place. */
const void *reader_object(const struct run_reader *reader, uint64_t offset, uint64_t size);

#endif
