/*
 * The writer of a run file (runfile.h): one for each process.
 *
 * All functions except run_lost are for slow paths: they take the run's lock and may enter the kernel. If the file or
 * the memory is exhausted, they count the loss by cause. The caller then gets NULL, or memory that only this process
 * sees. They do not print errors.
 */
#ifndef MPIT_EVENTS_RUN_H
#define MPIT_EVENTS_RUN_H

#include "base/linkage.h"
#include "format/event.h"
#include "format/runfile.h"

#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

struct run {
    struct run_header *header; /* NULL until run_open */
    int fd;                    /* the file. Without a file: memory that other processes can find. -1: neither */
    bool broken;               /* the file could not grow, or the run is closed. Later pieces are in memory */
    bool gone;                 /* the run was closed and its file was deleted */
    bool torn;                 /* there is data after its end that could not be cut off */
    bool closed;               /* the run has ended */
    bool reopens;              /* descriptors are scarce: fd is -1, and the file is opened each time it grows */
    bool said;                 /* an error of the file was reported. It is reported once */
    enum loss_cause cause;     /* why the trace could not take the last lost piece */
    bool detached;             /* true in the child of a fork. It shares the memory and records nothing */
    dev_t device;              /* of the file: the program may close our descriptor and reuse its number */
    ino_t inode;
    uint64_t virtual_bytes; /* offsets given out */
    uint64_t length;        /* lower bound for the length of the file, which a trace may have made longer */
    uint64_t memory_bytes;  /* held now */
    uint64_t passing_bytes; /* and only during a call */
    uint64_t memory_limit;  /* limit for memory_bytes */
    uint64_t trace_bytes;
    uint64_t trace_limit;        /* 0 = none */
    uint64_t trace_kept;         /* a ring begins after so many bytes of the trace */
    uint64_t trace_ticks;        /* the limit of its time. 0 = none */
    uint64_t trace_end;          /* and when that is over. Threads read it without the lock */
    uint64_t appended_bytes;     /* chunks of the trace and of samples, including the drained ones */
    struct trace_places *places; /* those of chunks that may give way. NULL: TRACE_STOP */
    struct gap_table *gaps;      /* lost events. NULL: only counted */
    enum loss_cause no_room;     /* why the file cannot grow any more, if it is broken */
    uint64_t unfiled;            /* events counted as lost for that cause: 1 until run_unfiled sets the number */
    int broken_by;               /* the errno of that. 0: none */
    char *arena;
    uint64_t arena_offset; /* of `arena` in the file. 0 = not in the file */
    size_t arena_used, arena_size;
    pthread_mutex_t lock;
    char path[4096]; /* "" = no file */
};

/* Why run_open used memory instead of a file. "" if it did not. */
struct run_problem {
    int error;       /* an errno. 0: none */
    char text[4400]; /* a path and a reason */
};

/*
 * Starts a run. Makes a new file in `dir`, and `dir` if it is missing. If `dir` is NULL, it makes memory that
 * neighbours.h finds. Returns 0, or -1 when there is no memory at all.
 */
MUST_CHECK int run_open(struct run *run, const char *dir, uint64_t memory_limit, uint64_t trace_limit,
                        struct run_problem *problem);

/* Undoes run_open, for a run without any records. */
void run_abandon(struct run *run);

/*
 * Returns zeroed memory of the run, 64-byte aligned. *offset is its place in the file (0: none). NULL: counted as lost.
 */
void *run_alloc(struct run *run, size_t bytes, uint64_t *offset);

/* Counts other memory towards the memory limit of the run. Returns false, and counts nothing, if that would exceed
 * the limit. */
MUST_CHECK bool run_memory_take(struct run *run, size_t bytes);
void run_memory_give(struct run *run, size_t bytes);

/* True if less than half of the allowed memory is in use. */
bool run_has_room(struct run *run);

/* Maps the event buffer of one thread. NULL: counted as lost. Buffers leave half of the memory for counters. So
 * with many threads events are lost before counts are. */
struct chunk_header *run_ring_open(struct run *run, uint32_t thread, uint32_t capacity);

/* Limits the time of the trace, from now on. TRACE_STOP: a chunk that begins later is lost. Else chunks are dropped
 * when they are older than that, as soon as another one needs a place. Only the first call of a run counts. */
void run_time_limit(struct run *run, uint64_t ns, uint64_t ticks);

/* True if that time is over at `ticks`. Async-signal-safe. */
static inline bool run_time_over(const struct run *run, uint64_t ticks)
{
    uint64_t end = __atomic_load_n(&run->trace_end, __ATOMIC_RELAXED);
    return end && ticks > end;
}

/* Sets which events are dropped when the trace has reached its limit. TRACE_STOP later on: what is there
 * stays where it is. */
void run_trace_policy(struct run *run, enum trace_policy policy);

/* A chunk of the trace on its way into the file. The caller fills in chunk.kind, the fields that describe the
 * content, data and bytes. It zeroes the rest. `data` must not change until the end. */
struct trace_move {
    struct chunk_header chunk;
    const void *data;
    size_t bytes, done;
    uint64_t begin_ticks; /* of its first event */
    uint64_t offset;      /* of its place */
    bool taken;           /* it has a place */
    bool fresh;           /* the place was the end of the file */
};

/*
 * The steps of a move. run_trace_take gets a place in the file and writes the first data. run_trace_put writes more,
 * until done == bytes. run_trace_publish makes it a chunk. `bytes` is the amount of data, or slightly more to end on a
 * page.
 *
 * Each step enters the kernel two or three times and copies the given data. A thread does one step at a time
 * (src/probes/thread/backlog.h), so that no MPI call pays for all of them. Readers see nothing before the last step.
 * The copy goes through the kernel's page cache, since fresh pages of a mapped file would cost a fault each.
 *
 * Each returns false if the move has ended and its events are counted as lost, by run->cause. In a ring older
 * events are dropped and counted instead.
 */
MUST_CHECK bool run_trace_take(struct run *run, struct trace_move *move, size_t bytes);
MUST_CHECK bool run_trace_put(struct run *run, struct trace_move *move, size_t bytes);
MUST_CHECK bool run_trace_publish(struct run *run, struct trace_move *move);
/* Does all remaining steps. */
MUST_CHECK bool run_trace_finish(struct run *run, struct trace_move *move);
/* Makes the file long enough for a chunk of `bytes` and more, so that the first step has less to do. */
void run_trace_room(struct run *run, size_t bytes);

/* All steps at once for `count` records of comm_past, from number `first` on, packed into `bytes`. */
bool run_comms_append(struct run *run, uint64_t first, uint32_t count, const void *packed, size_t bytes);

/* True if the run has a live file. */
static inline bool run_has_file(const struct run *run)
{
    return run->path[0] != '\0';
}

/* True if the spool has room for `bytes` more of a trace or of samples. The caller holds the lock. */
bool run_spool_fits(const struct run *run, uint64_t bytes);

/* Links a finished record or block at the front of its list. `next` is the field of the record. */
void run_link(struct run *run, uint64_t *head, uint64_t *next, uint64_t offset);

/* Async-signal-safe and wait-free. */
void run_lost(struct run *run, enum loss_cause cause, uint64_t count);

/* Counts events at the end that are only in memory, since the file could not grow. They are lost for readers of the
 * file. */
void run_unfiled(struct run *run, uint64_t events);

/* Reserves room for the causes of gaps early, since a full disk is one of the causes. */
void run_gaps_open(struct run *run);
/* Like run_lost. Also stores the thread, and the first event of the gap. If the file has no event of the thread,
 * count is UINT64_MAX, which adds one to the loss. */
void run_gap(struct run *run, enum loss_cause cause, uint32_t thread, uint64_t first, uint64_t count);

/* True if there is room for objects of `bytes` in total. Counts no loss. */
bool run_fits(struct run *run, size_t bytes);

/* Sets new limits. Returns false, and changes nothing, if a limit is below the amount in use. */
MUST_CHECK bool run_limits_set(struct run *run, uint64_t memory_limit, uint64_t trace_limit);

/* Ends the run. The file stays only if `keep`. The mapped memory stays readable in this process. */
void run_close(struct run *run, enum run_phase phase, bool keep);

/* Continues a closed run. Returns false if its file was deleted. New records are then only in memory. */
MUST_CHECK bool run_reopen(struct run *run);
/* Ends a closed run for good, at the end of the process. */
void run_leave(struct run *run);

/* Called with one line about an error of the file, once a run. NULL: no report. */
extern void (*run_say)(const char *text);
void run_tell(struct run *run, const char *text);

/* Makes `dir` and its parents. Returns 0 or an errno. `made`, unless it is NULL, is called for each one that was
 * missing, `last` for `dir` itself. It may change the path for a while. */
MUST_CHECK int run_directory_make(const char *dir, void (*made)(char *path, bool last));

#endif
