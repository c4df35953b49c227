/*
 * The writer of a run file (runfile.h): one for each process.
 *
 * All functions except run_lost are for slow paths: they take the run's lock and may enter the kernel. None of them
 * fails loudly. If the file or the memory is exhausted, the loss is counted by cause. The caller then gets NULL, or
 * memory that only this process sees.
 */
#ifndef MPIT_EVENTS_RUN_H
#define MPIT_EVENTS_RUN_H

#include "format/event.h"
#include "format/runfile.h"

#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

struct run {
    struct run_header *header; /* NULL until run_open */
    int fd;                    /* the file; without one, memory that other processes can find; -1: not even that */
    bool broken;               /* the file could not grow, or the run is closed; later pieces live in memory */
    bool gone;                 /* the run was closed and its file not kept */
    bool torn;                 /* behind its end there is what could not be cut off */
    bool closed;               /* the run has ended */
    bool reopens;              /* descriptors are few: fd is -1, and the file is opened each time that it grows */
    bool said;                 /* that something is wrong with the file: once is enough */
    enum loss_cause cause;     /* why the trace could not take the last piece that it could not take */
    bool detached;             /* in the child of a fork, which shares the memory and takes no part */
    dev_t device;              /* of the file: the program may close our descriptor, and get its number for its own */
    ino_t inode;
    uint64_t virtual_bytes; /* offsets given out */
    uint64_t length;        /* of the file at least, where a trace has made it longer than that */
    uint64_t memory_bytes;  /* held now */
    uint64_t passing_bytes; /* and for the time of a call */
    uint64_t memory_limit;  /* bound on memory_bytes */
    uint64_t trace_bytes;
    uint64_t trace_limit;        /* 0 = none */
    uint64_t appended_bytes;     /* of chunks of the trace and of samples, also those that were drained */
    struct trace_places *places; /* with TRACE_RING: where its chunks lie */
    struct gap_table *gaps;      /* what could not be kept; NULL: only counted */
    enum loss_cause no_room;     /* why the file does not grow any more, where it is broken */
    uint64_t unfiled;            /* events that were counted as lost for that: 1 until run_unfiled knows better */
    int broken_by;               /* the errno of that; 0: none */
    char *arena;
    uint64_t arena_offset; /* of `arena` in the file; 0 = not in the file */
    size_t arena_used, arena_size;
    pthread_mutex_t lock;
    char path[4096]; /* "" = no file */
};

/* Why run_open had to fall back to memory; "" when it did not. */
struct run_problem {
    int error;       /* an errno; 0: there is none */
    char text[4400]; /* a path and a reason */
};

/*
 * Starts a run: a new file in `dir` (made if need be; NULL: no file, but memory of that form which neighbours.h finds).
 * Returns 0, or -1 when there is no memory at all.
 */
int run_open(struct run *run, const char *dir, uint64_t memory_limit, uint64_t trace_limit,
             struct run_problem *problem);

/* Undoes run_open, of a run that nothing was recorded in. */
void run_abandon(struct run *run);

/* Zeroed memory of the run, 64-byte aligned; *offset is its place in the file (0: none). NULL: counted as lost. */
void *run_alloc(struct run *run, size_t bytes, uint64_t *offset);

/* Counts memory that is not of the run among what it holds. False: it would be more than the limit; nothing is counted.
 */
bool run_memory_take(struct run *run, size_t bytes);
void run_memory_give(struct run *run, size_t bytes);

/* Less than half of the memory that there may be is in use. */
bool run_has_room(struct run *run);

/* The event buffer of one thread, mapped; NULL: counted as lost. Buffers leave a quarter of the memory to the tallies:
 * where threads are many, events are lost before counts are. */
struct chunk_header *run_ring_open(struct run *run, uint32_t thread, uint32_t capacity);

/* What goes when the trace has reached its limit. Before anything is appended. */
void run_trace_policy(struct run *run, enum trace_policy policy);

/* A chunk of the trace on its way into the file. The caller fills in chunk.kind and what says what is in it, data and
 * bytes, and zeroes the rest; `data` stays as it is until the end. */
struct trace_move {
    struct chunk_header chunk;
    const void *data;
    size_t bytes, done;
    uint64_t offset; /* of its place */
    bool taken;      /* it has a place */
    bool fresh;      /* which was the end of the file */
};

/*
 * The steps of a move: a place in the file, with the first of the data; more of them, until done == bytes; and that it
 * is a chunk now. `bytes`: so many data, or as many more as end on a page. Each enters the kernel two or three times
 * and copies what it is told to; a thread does one at a time (src/probes/thread/backlog.h), so that no call of MPI pays
 * for all of them. Until the last one readers see none of it. The copy goes through the kernel's page cache: fresh
 * pages of a mapped file would cost a fault each. False: the events are counted as lost, by run->cause, and the move
 * has ended. With TRACE_RING older ones give way, and these are what is counted.
 */
bool run_trace_take(struct run *run, struct trace_move *move, size_t bytes);
bool run_trace_put(struct run *run, struct trace_move *move, size_t bytes);
bool run_trace_publish(struct run *run, struct trace_move *move);
/* All that is left of them. */
bool run_trace_finish(struct run *run, struct trace_move *move);
/* Beforehand, so that the first step does less: makes the file long enough for a chunk of so many bytes, and some. */
void run_trace_room(struct run *run, size_t bytes);

/* All of them at once, for `count` records of comm_past, from number `first` on, packed into `bytes`. */
bool run_comms_append(struct run *run, uint64_t first, uint32_t count, const void *packed, size_t bytes);

/* It has a file in a run directory. */
static inline bool run_has_file(const struct run *run)
{
    return run->path[0] != '\0';
}

/* Is there room in the spool for so many bytes more of a trace or of samples? The caller holds the lock. */
bool run_spool_fits(const struct run *run, uint64_t bytes);

/* Links a finished record or block at the front of its list. `next` is the record's own field. */
void run_link(struct run *run, uint64_t *head, uint64_t *next, uint64_t offset);

/* Async-signal-safe and wait-free. */
void run_lost(struct run *run, enum loss_cause cause, uint64_t count);

/* At the end: so many events were counted in memory alone, since the file could not grow. They are lost for whoever
 * reads the file. */
void run_unfiled(struct run *run, uint64_t events);

/* Room for the causes of gaps, while there is any: a full disk is one of them. */
void run_gaps_open(struct run *run);
/* As run_lost. Notes the thread, and the first event of the gap. Where no event of the thread has a place in the file,
 * count is UINT64_MAX: that adds one to the loss. */
void run_gap(struct run *run, enum loss_cause cause, uint32_t thread, uint64_t first, uint64_t count);

/* Would there be room for objects of so many bytes in all? Nothing is counted as lost. */
bool run_fits(struct run *run, size_t bytes);

/* New bounds. False: a bound is below what is in use, and both stay as they were. */
bool run_limits_set(struct run *run, uint64_t memory_limit, uint64_t trace_limit);

/* Ends the run; the file stays only if `keep`. The mapped memory stays readable in this process. */
void run_close(struct run *run, enum run_phase phase, bool keep);

/* Goes on with a run that was closed. False: its file was not kept, and what comes now is in memory alone. */
bool run_reopen(struct run *run);
/* The process of a run that is closed, and would be opened again, has come to its end. */
void run_leave(struct run *run);

/* Told what is wrong with the file, one line, once a run; NULL: nobody. */
extern void (*run_say)(const char *text);
void run_tell(struct run *run, const char *text);

/* Makes `dir` and its parents. Returns 0 or an errno. */
int run_directory_make(const char *dir);

#endif
