/*
 * The reader of run files (runfile.h). They may be of finished, crashed or running processes.
 *
 * A run file is untrusted. Every offset, count and size is checked before it is followed. A wrong one is an error with
 * a text, never a crash. Objects from the reader stay valid until run_reader_close.
 *
 * The system limits how many files a process can map, and a job may have more. So a file at rest may lose its map when
 * many other files come to rest after it. Its objects are valid again, at the same address, after run_reader_wake.
 * Readers at rest belong to one thread. But if one is held, another thread may look into it and put it to rest.
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
enum { RUN_MAPS_MOST = 1024 }; /* of files at rest. Linux allows a process 65,530 maps; an image takes some 400 KiB */

struct run_map;

/* A part of a file. All zero: the whole file, whichever has the name. */
struct run_extent {
    uint64_t begin, bytes; /* 0, 0: all of it */
    dev_t device;          /* the file must be this one. */
    ino_t inode;           /* 0: any */
};

/* A block of counters: a copy of its header, and the place of its counters. */
struct run_block {
    const uint64_t *at;
    uint32_t kind; /* enum block_kind */
    uint32_t thread;
    uint32_t comm;
    uint32_t page;
    uint32_t cells;
};

struct run_reader {
    const char *base;    /* the live file, mapped read-only. Of a packed run (packedrun.h) its image */
    size_t bytes;        /* how many bytes of it are in use */
    struct run_map *map; /* of the live file, or of the section */
    size_t mapped_bytes; /* of an image */
    size_t written;      /* its bytes without holes. The file cannot have more objects than fit into them */
    const void *file;    /* the section of a packed run, mapped read-only. Else NULL */
    size_t file_bytes;
    struct run_header header; /* a copy, so that a running process cannot change checked values. With the chunks known,
                               * its losses are without the events that the file still has (run_gaps_settle) */
    const struct chunk_header **chunks;
    size_t chunk_count;
    uint32_t *chunk_threads;          /* by chunk: its thread, or ANY_THREAD. NULL: that may change */
    const struct chunk_header **rare; /* the chunks that are, or may become, something other than a part of a trace */
    size_t rare_count;
    const struct thread_record **threads; /* by index. NULL if the file has none */
    size_t thread_count;
    /* Communicators by number. Numbers below slot_count are slots, and their communicators have them now. The other
     * communicators have lost their slots. In these records slot and parent are such numbers. NULL if there is none. */
    const struct comm_record **comms;
    size_t comm_count, slot_count;
    struct comm_record *comm_records; /* copies: a running process uses its records again */
    size_t *past_of_slot;             /* by slot: the first communicator that had it before, and one more element */
    struct run_block *blocks;         /* by communicator */
    size_t block_count;
    size_t *comm_blocks;                    /* by slot: index of its first block, and one more element */
    const struct trace_stretch **stretches; /* of a switched trace. The latest first, without overlaps */
    size_t stretch_count;
    const struct variable_record *variables;
    size_t variable_count;
    const struct call_record *calls; /* by kind. [0] is "none" */
    size_t call_count;
    const struct counter_table *counters;         /* NULL: none */
    const struct instrument_record **instruments; /* by id. NULL if there is none */
    size_t instrument_count;
    const struct provider_record *providers[FABRIC_PROVIDERS_MOST + 1]; /* by number. NULL: none */
    const struct object_record **objects;                               /* the latest first */
    size_t object_count;
    struct path_record **paths; /* call paths by number, and their modules. NULL: the file has none */
    size_t path_count;
    struct module_record **modules; /* their paths end at the NUL: do not copy these records */
    size_t module_count;
    /* Copies of these three tables. NULL: the reader shares the table with the readers of equal files. */
    void *variables_copy, *calls_copy, *counters_copy;
    const uint16_t *variable_order; /* of a shared table: places in it, sorted by name. Else NULL */
    void *noted;                    /* memory of the tool, or NULL. run_reader_close frees it */
    char error[512];
};

/* Returns 0, or -1 with reader->error set. After an error the reader needs no closing. */
int run_reader_open(struct run_reader *reader, const char *path);
/* The same for a part of a file: a section of a job file. */
int run_reader_open_part(struct run_reader *reader, const char *path, struct run_extent extent);
/* Keeps only the header. run_reader_wake opens the file again. Only for a file that does not change any more. */
void run_reader_park(struct run_reader *reader);
bool run_reader_is_parked(const struct run_reader *reader);
/*
 * The same without the chunks, for tools that read running processes repeatedly. Long traces do not slow it down.
 * Events and samples cannot be read from it. Of the communicators that have lost their slots it has only the latest.
 * All checks are made.
 */
int run_reader_open_tables(struct run_reader *reader, const char *path, struct run_extent which);
/* Reads the header again, into reader->header. Returns true if the reader still knows everything in the file.
 * Counters, states and levels are read in place. Returns false if the file must be opened anew. The reader has not
 * changed then. */
bool run_reader_refresh(struct run_reader *reader);
/*
 * Updates the records of communicators with the changes that MPI_Comm_set_name and MPI_Comm_free have made since then.
 */
void run_reader_relabel(struct run_reader *reader);
/* If a file becomes shorter while it is read, its lost part reads as zeros, and the tool goes on (runmap.h). The
 * second function tells whether that has happened. Then nothing that was read can be trusted. */
void run_reader_guard(void);
bool run_reader_is_torn(const struct run_reader *reader);
/* Where it is: the same file, to open it again. */
struct run_extent run_reader_extent(const struct run_reader *reader);
/* The user who owns the file. */
uid_t run_reader_owner(const struct run_reader *reader);
void run_reader_close(struct run_reader *reader);
/* The name of a counter (counter.h). */
const char *run_reader_counter_name(const struct run_reader *reader, unsigned counter);
/*
 * Gives the pages of the file back to the system. Its map goes when RUN_MAPS_MOST other files have come to rest after
 * it.
 */
void run_reader_rest(const struct run_reader *reader);
/*
 * A loop over chunks calls run_reader_rest after this many. With the header of each chunk the kernel also reads the
 * data around it.
 */
enum { CHUNKS_BETWEEN_RESTS = 512 };
/* Call this before reading in a file at rest, or parked. The map is valid until RUN_MAPS_MOST other files were woken or put to
 * rest. Returns 0, or -1 with a reason: the file is gone, or is another one. */
int run_reader_wake(const struct run_reader *reader, char error[128]);
/* A held file stays awake, even if it is put to rest. It must be released as often as it was held. */
void run_reader_hold(const struct run_reader *reader);
void run_reader_let_go(const struct run_reader *reader);
/* Reads the bytes at `at` in a file that is awake and used by one thread (runmap.h). Returns false if the caller
 * must read them in the map. */
bool run_reader_read(const struct run_reader *reader, const void *at, void *to, size_t bytes);
const char *run_reader_path(const struct run_reader *reader);

/* The code that reads packed runs. NULL if this program does not have it. */
extern const struct packed_codec *reader_packed;

struct clock_scale run_reader_scale(const struct run_reader *reader);
/* The last time in the live states: a sign of life of a process that has died. */
uint64_t run_reader_last_ticks(const struct run_reader *reader);
/* NULL: no runtime of OpenMP has reported. The file must be awake. */
const struct run_openmp *run_reader_openmp(const struct run_reader *reader);
/* NULL: not known, as before MPI_Finalize. The file must be awake. */
const struct run_left *run_reader_left(const struct run_reader *reader);
/* Measurements of this kernel's clock, in any order. Returns how many. The file must be awake. */
size_t run_reader_clock_syncs(const struct run_reader *reader, struct clock_sync list[CLOCK_SYNCS_MOST]);
const uint64_t *tally_cells(const struct run_block *block);
/* Where the process comes from. The texts are untrusted and may lack their NUL. NULL: not known. */
const struct origin_record *run_reader_origin(const struct run_reader *reader);
/* The variable of this name and class (enum variable_class), or NULL. */
const struct variable_record *run_reader_variable(const struct run_reader *reader, const char *name, uint32_t class);
/* Returns "?" for a kind without a name in the file. */
const char *run_reader_call_name(const struct run_reader *reader, unsigned kind);

/* The number of the communicator that had the slot at that time. 0: none, or not known. */
uint32_t run_reader_comm_at(const struct run_reader *reader, uint32_t slot, uint64_t ticks);
static inline const struct comm_record *run_reader_comm_record(const struct run_reader *reader, uint32_t slot,
                                                               uint64_t ticks)
{
    uint32_t number = run_reader_comm_at(reader, slot, ticks);
    return number ? reader->comms[number] : NULL;
}
/* The communicator number of a record. */
static inline uint32_t run_reader_comm(const struct run_reader *reader, const struct event *event)
{
    return run_reader_comm_at(reader, event->comm, event->begin);
}

/* Finds the object with the name of this one, on the communicator with the number `comm` (OBJECT_DELETED: on none).
 * Returns its place in the list, which has the latest name first. Returns object_count if the object has no name. */
size_t run_reader_object(const struct run_reader *reader, enum object_kind kind, uint32_t comm, uint32_t number);

/* The call path with this number, or NULL. */
const struct path_record *run_reader_path_of(const struct run_reader *reader, uint32_t number);
/* The module of a frame of a path, or NULL: not known. Its path is clean, and of the program not empty. */
const struct module_record *run_reader_module(const struct run_reader *reader, uint64_t frame);

/* The name of the library below MPI with this number, or NULL. */
const char *run_reader_provider(const struct run_reader *reader, uint32_t number);
/* The instrument with this id, or NULL. */
const struct instrument_record *run_reader_instrument(const struct run_reader *reader, uint32_t id);
/* Its published values: record->count numbers, then the extremes. NULL: it has none. */
const uint64_t *run_reader_values(const struct run_reader *reader, const struct instrument_record *record);
/* The communicator that it is bound to. NULL: none. In a live file the answer may change between two calls. */
const struct comm_record *run_reader_bound(const struct run_reader *reader, const struct instrument_record *record);
/* The name of an item of its enumeration: the item with this value, or in arrays the item in this place. NULL: none. */
const char *run_reader_item(const struct run_reader *reader, const struct instrument_record *record, int64_t value);

/* The events of one thread in order. If the trace was switched on and off, only the events that belong to it,
 * without gaps between them. */
struct event_cursor {
    const struct run_reader *reader;
    uint32_t thread;
    uint64_t next;           /* number of the next event */
    uint64_t end;            /* how many the thread has written, */
    const uint64_t *written; /* the counter with that number */
    uint64_t first;          /* the first one that was kept */
    uint64_t missing;        /* lost events: they are in no chunk */
    size_t chunk;            /* index from which to look on; */
    size_t rare;             /* likewise, for the thread's ring */
    const struct chunk_header *current;
    struct chunk_header header; /* a checked copy for the current chunk. A running process writes over old chunks */
    uint64_t current_first, current_end;
    const unsigned char *packed, *packed_end; /* in a packed chunk: the rest that is still packed */
    uint64_t packed_number;                   /* number of the next event in it */
    bool plain; /* the chunk is packed, by column, or the ring of a process that has ended. It never changes, and is all
                 * part of the trace: several events are unpacked at a time, */
    const struct event *ready, *ready_end; /* the next of them */
    struct unpacked unpacked;
    struct columns_cursor columns; /* in a block of a packed run, which is unpacked into `memory` */
    void *memory;                  /* or a chunk that was read */
    size_t memory_bytes;
    void *unfolding;          /* state that the codec of packed runs keeps between blocks */
    bool reads;               /* reads chunks into `memory` instead of mapping them. Set by the only user of a file */
    bool skims;               /* reads only the headers of chunks: event_ranges_next */
    size_t ranges;            /* how many of them it has returned */
    bool whole;               /* of a trace that was switched: also show events outside of all stretches */
    bool belongs;             /* TRACED_IN_PART: the last call is in a stretch, and so are its records */
    uint64_t gap;             /* number of events missing directly before the last returned one */
    uint32_t path;            /* call path of the last returned call, and so of its records. 0: none, or not known */
    uint8_t reduction;        /* of a collective: its operation (enum reduction) */
    bool raw;                 /* events are wanted as they are in the file, with their paths */
    const struct event *held; /* an extension that was read early. It is the next event */
    uint64_t held_gap;
    unsigned shown_count;
    struct event shown[PACK_BACK_MOST + 1]; /* the last calls, without their paths */
};

/* The cursor must be closed. It may be closed twice. */
void event_cursor_open(struct event_cursor *cursor, const struct run_reader *reader, uint32_t thread);
/* The events of a thread that the file has, as ranges of their numbers, from `first` to before `end`. Reads only the
 * headers of chunks. One thread calls it. Returns false at the end; then the cursor must be closed. */
void event_ranges_open(struct event_cursor *cursor, const struct run_reader *reader, uint32_t thread);
bool event_ranges_next(struct event_cursor *cursor, uint64_t *first, uint64_t *end);
/* How many events of a thread are in no chunk. Reads only the headers of chunks. One thread calls it. */
uint64_t run_reader_events_missing(const struct run_reader *reader, uint32_t thread);
/* Continues with event `number`, or the first event after it that was kept. Earlier events do not count as missing. */
void event_cursor_skip(struct event_cursor *cursor, uint64_t number);
/* How many events are unpacked at a time, and how many stay valid when more are asked for. */
enum { EVENTS_READY_MOST = (PACK_BACK_MOST + 1) / 4, EVENTS_KEPT = PACK_BACK_MOST - EVENTS_READY_MOST };
/* The next record, or NULL at the end. Valid until EVENTS_KEPT more were asked for. */
const struct event *event_cursor_next(struct event_cursor *cursor);
void event_cursor_close(struct event_cursor *cursor);

#endif
