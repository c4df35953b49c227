/*
 * The reader of run files (runfile.h). They may be of finished, crashed or running processes.
 *
 * A run file is untrusted. Every offset, count and size is checked before it is followed. A wrong one is an error with
 * a text, never a crash. Objects from the reader stay valid until run_reader_close.
 *
 * The system bounds how many files a process can map, and a job may have more. So a file that was put to rest may lose
 * its map when many others were put to rest after it. Its objects are valid again, at the same address, after
 * run_reader_wake. Readers that are put to rest belong to one thread. But if one is held, another thread may look into
 * it and put it to rest.
 */
#ifndef MPIT_EVENTS_READER_H
#define MPIT_EVENTS_READER_H

#include "clock/clock.h"
#include "format/columns.h"
#include "format/event.h"
#include "format/fabriccalls.h"
#include "format/pack.h"
#include "format/runfile.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define ANY_THREAD UINT32_MAX
enum { RUN_MAPS_MOST = 4096 }; /* of files at rest; Linux allows a process 65,530 maps */

struct run_map;

/* A block of cells: a copy of its header, and where its cells are. */
struct run_block {
    const uint64_t *at;
    uint32_t kind; /* enum block_kind */
    uint32_t thread;
    uint32_t comm;
    uint32_t page;
    uint32_t cells;
};

struct run_reader {
    const char *base;    /* the run file, mapped read-only; of a compact one (compact.h) its image */
    size_t bytes;        /* of it that are in use */
    struct run_map *map; /* of the run file, or of the compact one */
    size_t mapped_bytes; /* of an image */
    size_t written;      /* of its bytes that are no holes: more objects than fit in there can only be a loop */
    const void *file;    /* a compact file, mapped read-only; else NULL */
    size_t file_bytes;
    uint32_t columns_kind;    /* in it, what CHUNK_COLUMNS is called */
    struct run_header header; /* a copy, so that a living process cannot change what was checked */
    const struct chunk_header **chunks;
    size_t chunk_count;
    uint32_t *chunk_threads;          /* by chunk: whose it is, or ANY_THREAD; NULL: that may change */
    const struct chunk_header **rare; /* those of them that are, or may become, something else than a part of a trace */
    size_t rare_count;
    const struct thread_record **threads; /* by index; NULL where the file has none */
    size_t thread_count;
    /* Communicators by number: below slot_count that is the slot of one that has it, the others have lost theirs. In
     * these records slot and parent are such numbers. NULL where there is none. */
    const struct comm_record **comms;
    size_t comm_count, slot_count;
    struct comm_record *comm_records; /* copies: a living process uses its records again */
    size_t *past_of_slot;             /* by slot: the first of those that had it before; one more behind the last */
    struct run_block *blocks;         /* by communicator */
    size_t block_count;
    size_t *comm_blocks;                    /* by slot: index of its first block; one more behind the last */
    const struct trace_stretch **stretches; /* of a trace that was switched; the latest first, none overlaps another */
    size_t stretch_count;
    const struct variable_record *variables;
    size_t variable_count;
    const struct call_record *calls; /* by kind; [0] is "none" */
    size_t call_count;
    const struct counter_table *counters;         /* NULL: none */
    const struct instrument_record **instruments; /* by id; NULL where there is none */
    size_t instrument_count;
    const struct provider_record *providers[FABRIC_PROVIDERS_MOST + 1]; /* by number; NULL: none */
    const struct object_record **objects;                               /* the latest first */
    size_t object_count;
    /* What the three tables point to where a living process could change them; else NULL, and they lie in the file. */
    void *variables_copy, *calls_copy, *counters_copy;
    char error[512];
};

/* Returns 0, or -1 with reader->error set; the reader needs no closing then. */
int run_reader_open(struct run_reader *reader, const char *path);
/*
 * For who looks at running processes again and again: the same without the chunks, so that it takes no longer for a
 * long trace. No events can be read from it, and no samples; of the communicators that have lost their slots it has
 * the latest alone. Everything is checked as ever.
 */
int run_reader_open_tables(struct run_reader *reader, const char *path);
/* Looks at the header again. True: what was found still is all that the file has (cells, states and levels are read
 * where they are), and reader->header is as it is now. False: nothing has changed, and it is to be opened anew. */
bool run_reader_refresh(struct run_reader *reader);
/* Takes over what MPI_Comm_set_name and MPI_Comm_free have changed since then in the records of communicators. */
void run_reader_relabel(struct run_reader *reader);
/* Files that become shorter while they are looked at read as zeros there, instead of ending the tool (runmap.h); and
 * whether that has happened, so that nothing that was read is to be believed. */
void run_reader_guard(void);
bool run_reader_is_torn(const struct run_reader *reader);
/* The user whom the file belongs to. */
uid_t run_reader_owner(const struct run_reader *reader);
void run_reader_close(struct run_reader *reader);
/* What a counter is called (counter.h). */
const char *run_reader_counter_name(const struct run_reader *reader, unsigned counter);
/* Gives the file's pages back to the system, and its map when RUN_MAPS_MOST others were put to rest after it. */
void run_reader_rest(const struct run_reader *reader);
/* Where chunks are gone through: how many, before that. With the head of each the kernel brings what lies around it. */
enum { CHUNKS_BETWEEN_RESTS = 512 };
/* Before a file that was put to rest is looked into again; good until RUN_MAPS_MOST others were woken or put to rest.
 * Returns 0, or -1 with a reason: the file has gone, or is another one. */
int run_reader_wake(const struct run_reader *reader, char error[128]);
/* A file that is awake stays so, even when it is put to rest, until it is let go as often as it was held. */
void run_reader_hold(const struct run_reader *reader);
void run_reader_let_go(const struct run_reader *reader);
/* Reads what lies at `at` in a file that is awake and in the hands of one thread (runmap.h). False: it has to
 * be looked at where it is. */
bool run_reader_read(const struct run_reader *reader, const void *at, void *to, size_t bytes);
const char *run_reader_path(const struct run_reader *reader);

/* What reads compact run files; NULL: this program does not. */
extern const struct compact_codec *reader_compact;

struct clock_scale run_reader_scale(const struct run_reader *reader);
/* Of a file that is awake: measurements of this kernel's clock, in no order that can be relied upon; how many. */
size_t run_reader_clock_syncs(const struct run_reader *reader, struct clock_sync list[CLOCK_SYNCS_MOST]);
const uint64_t *tally_cells(const struct run_block *block);
/* Where the process comes from, untrusted texts that may lack an end; NULL: not told. */
const struct origin_record *run_reader_origin(const struct run_reader *reader);
/* "?" for a kind that the file does not name. */
const char *run_reader_call_name(const struct run_reader *reader, unsigned kind);

/* The number of the communicator that had the slot at that time; 0: none, or it is not known which. */
uint32_t run_reader_comm_at(const struct run_reader *reader, uint32_t slot, uint64_t ticks);
/* That of a record. */
static inline uint32_t run_reader_comm(const struct run_reader *reader, const struct event *event)
{
    return run_reader_comm_at(reader, event->comm, event->begin);
}

/* Which of the objects has the name of this one, on the communicator with the number `comm` (OBJECT_DELETED: on none):
 * its place in the list, the latest name first; object_count: it has none. */
size_t run_reader_object(const struct run_reader *reader, enum object_kind kind, uint32_t comm, uint32_t number);

/* The name of the library below MPI with this number, or NULL. */
const char *run_reader_provider(const struct run_reader *reader, uint32_t number);
/* The instrument with this id, or NULL. */
const struct instrument_record *run_reader_instrument(const struct run_reader *reader, uint32_t id);
/* Its published values: record->count numbers, then the extremes; NULL: it has none. */
const uint64_t *run_reader_values(const struct run_reader *reader, const struct instrument_record *record);
/* The communicator that it is bound to; NULL: none. In a live file that may change between two calls. */
const struct comm_record *run_reader_bound(const struct run_reader *reader, const struct instrument_record *record);
/* The name of an item of its enumeration: that has the value, or in arrays that stands in this place. NULL: none. */
const char *run_reader_item(const struct run_reader *reader, const struct instrument_record *record, int64_t value);

/* The events of one thread in order; of a trace that was switched on or off those that belong to it, with nothing
 * missing between them. */
struct event_cursor {
    const struct run_reader *reader;
    uint32_t thread;
    uint64_t next;           /* number of the next event */
    uint64_t end;            /* how many the thread has written, */
    const uint64_t *written; /* and where it says so */
    uint64_t first;          /* the first one that was kept */
    uint64_t missing;        /* events that lie in no chunk: they were lost */
    size_t chunk;            /* index from which to look on; */
    size_t rare;             /* likewise, for the thread's ring */
    const struct chunk_header *current;
    struct chunk_header header; /* of the current one, as it was checked: a living process writes over old chunks */
    uint64_t current_first, current_end;
    const unsigned char *packed, *packed_end; /* in a packed chunk: what is still packed */
    uint64_t packed_number;                   /* of the event that comes out of it next */
    bool plain; /* it is packed or by column, nobody changes it, and all of it belongs to the trace: several events are
                   unpacked at a time, */
    const struct event *ready, *ready_end; /* those that are next */
    struct unpacked unpacked;
    struct columns_cursor columns; /* in a block of a compact file, which is unpacked into `memory` */
    void *memory;                  /* or a chunk that was read */
    size_t memory_bytes;
    void *unfolding; /* what the codec of compact files keeps from block to block */
    bool reads;      /* chunks into `memory`, and does not look at them in the map; set by who has the file alone */
    bool skims;      /* looks at the heads of chunks alone */
    bool whole;      /* of a trace that was switched, show what belongs to no stretch, too */
    bool belongs;    /* TRACED_IN_PART: the last call did, and what follows it does */
    uint64_t gap;    /* events that are missing right before the last one that was returned */
};

/* The cursor needs closing; it may be closed twice. */
void event_cursor_open(struct event_cursor *cursor, const struct run_reader *reader, uint32_t thread);
/* How many of a thread's events lie in no chunk. Looks at the chunks, and not at the events in them; from one thread.
 */
uint64_t run_reader_events_missing(const struct run_reader *reader, uint32_t thread);
/* Goes on with event `number`, or the first one behind it that was kept; what lies before is not missing. */
void event_cursor_skip(struct event_cursor *cursor, uint64_t number);
/* So many events are unpacked at a time, and so many stay where they are when more are asked for. */
enum { EVENTS_READY_MOST = (PACK_BACK_MOST + 1) / 4, EVENTS_KEPT = PACK_BACK_MOST - EVENTS_READY_MOST };
/* The next record, or NULL at the end. Valid until EVENTS_KEPT more have been asked for. */
const struct event *event_cursor_next(struct event_cursor *cursor);
void event_cursor_close(struct event_cursor *cursor);

#endif
