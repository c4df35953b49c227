/*
 * The reader of run files (runfile.h), of finished, crashed and still running processes.
 *
 * A run file is untrusted: every offset, count and size is checked before it is followed, and what does not hold is an
 * error with a text, never a crash. Objects that it hands out stay valid until run_reader_close.
 */
#ifndef MPIT_EVENTS_READER_H
#define MPIT_EVENTS_READER_H

#include "clock.h"
#include "event.h"
#include "runfile.h"

#include <stdbool.h>
#include <stddef.h>

struct run_reader {
    const char *base; /* the file, mapped read-only */
    size_t bytes;     /* of it that are in use */
    size_t mapped_bytes;
    struct run_header header; /* a copy, so that a living process cannot change what was checked */
    const struct chunk_header **chunks;
    size_t chunk_count;
    const struct thread_record **threads; /* by index; NULL where the file has none */
    size_t thread_count;
    const struct comm_record **comms; /* by slot; NULL where there is none */
    size_t comm_count;
    const struct tally_block **blocks;
    size_t block_count;
    const struct variable_record *variables;
    size_t variable_count;
    const struct call_record *calls; /* by kind; [0] is "none" */
    size_t call_count;
    char error[512];
};

/* Returns 0, or -1 with reader->error set; the reader needs no closing then. */
int run_reader_open(struct run_reader *reader, const char *path);
void run_reader_close(struct run_reader *reader);

struct clock_scale run_reader_scale(const struct run_reader *reader);
const uint64_t *tally_cells(const struct tally_block *block);
/* "?" for a kind that the file does not name. */
const char *run_reader_call_name(const struct run_reader *reader, unsigned kind);

/* The events of one thread in order. */
struct event_cursor {
    const struct run_reader *reader;
    uint32_t thread;
    uint64_t next;    /* number of the next event */
    uint64_t end;     /* how many the thread has written */
    uint64_t first;   /* the first one that was kept */
    uint64_t missing; /* events that lie in no chunk: they were lost */
    size_t chunk;     /* index from which to look on */
    const struct chunk_header *current;
    uint64_t current_first, current_end;
};

void event_cursor_open(struct event_cursor *cursor, const struct run_reader *reader, uint32_t thread);
/* The next record, or NULL at the end. */
const struct event *event_cursor_next(struct event_cursor *cursor);

#endif
