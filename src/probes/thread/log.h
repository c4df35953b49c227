/*
 * A thread's log: where its wrappers emit events. The hot path is in this file.
 *
 *   thread_log ──> log ── own ──> cells of the thread, its ledger in the book  (aggregate/registry/book.h)
 *                   │ ├── cache[handle] ──> view ──> cells of the thread for a communicator
 *                   │ └── cursor .. limit ──> place for the next event in the run file
 *                   └──── state ──> what the thread is doing, in the run file
 *
 * Who may run with whom: a log belongs to its thread. Any thread reads `state`, the counters and the events at any
 * time.
 *
 * A signal handler of the program may interrupt the recorder and call MPI. The log has a mark for that:
 *
 *     innermost == 0                outside of MPI
 *     innermost != 0, not below     in the recorder: a call that finds this passes, and is counted as lost (reentered)
 *     innermost != 0, below         in the library: calls of callbacks and signal handlers are recorded as nested
 */
#ifndef MPIT_PROBES_LOG_H
#define MPIT_PROBES_LOG_H

#include "callpaths/callpath.h"
#include "base/linkage.h"
#include "clock/clock.h"
#include "handles/objectcells.h"
#include "native.h"
#include "progress/processor.h"
#include "progress/stall.h"
#include "registry/book.h"
#include "requests/threadrequests.h"
#include "settings/knobs.h"
#include "thread/backlog.h"
#include "thread/raised.h"
#include "thread/scratch.h"
#include "wrappers/threadobjects.h"

#include <string.h>

enum { TRACE_BUFFER_EVENTS = 8190 }; /* 256 KiB with the chunk's header */

struct fabric;
struct counting;

struct sized_type {
    MPI_Datatype handle;
    uint32_t bytes;
};

struct coded_operation {
    MPI_Op handle;
    uint64_t bits; /* enum reduction, at its place in an event */
};

/* Sums over the calls of a thread, for regions (instruments/regionrecord.h). They only grow. */
struct call_sums {
    uint64_t events; /* of the thread, when these were the sums */
    uint64_t calls, mpi, stall;
};

/* Where the thread's events are. */
struct event_buffer {
    struct chunk_header *chunk; /* a ring */
    bool absent;                /* no memory for it, or none is wanted */
    struct event nowhere;       /* the place of all events, if it is absent */
};

struct log {
    struct ledger own;
    struct thread_state *state;
    struct event *cursor, *limit;
    struct sized_type type;           /* the last predefined type */
    struct coded_operation operation; /* the last one */
    uintptr_t innermost;              /* lowest stack address of the wrapper of the innermost call. 0: in no call */
    bool below;                       /* that call is in the library, and not in the recorder */
    wrapper_call entered;        /* of a wrapper whose call begins in another function. NONE: it begins in itself */
    wrapper_call called;         /* the call of a wrapper that begins */
    const struct path_way *path; /* of the innermost call, or of the last one */
    struct stall stall;          /* whether its current call stalls */
    struct processor processor;  /* whether it had one before */
    struct fabric *fabric;       /* its operations below MPI (fabric.c). NULL: none was recorded */
    struct counting *counting;   /* its counters (counters.c). NULL: they are not read */
    struct thread_requests requests;
    struct scratch scratch;    /* for completion calls */
    struct view *freeing_comm; /* the communicator that a call is freeing. Callbacks may still use it */
    struct raised raised;
    struct event_buffer buffer;
    struct backlog backlog; /* writes the buffer into the trace */
    struct thread_objects objects;
    struct call_sums sums;
    struct callpaths paths; /* ways to the paths of its calls */
    struct log *next;       /* in the list of logs that wait for a new thread */
};

/*
 * How the calls of a kind are recorded, if not as usual. The switchboard writes it. A wrapper reads it once, when it
 * begins. So a change by another thread concerns whole calls.
 */
enum call_mode {
    MODE_QUIET = 1,    /* not recorded. Only later needs are kept (requests, communicators, windows, files) */
    MODE_UNTIMED = 2,  /* it is only counted */
    MODE_COUNTERS = 4, /* counters are read around it (counters.h) */
    MODE_CLOCK = 8,    /* the clock is not the processor's counter */
};

extern LIBRARY_LOCAL uint8_t call_modes[CALL_COUNT];
/* Counters are wanted: calls have MODE_COUNTERS. */
extern LIBRARY_LOCAL bool counters_wanted;

THREAD_OWN(struct log *, thread_log);
/* The same for code that only enters the recorder. Instead of NULL it has a log that is always in a call. */
THREAD_OWN(struct log *, thread_log_or_none);
/* True while a run is open (LIFE_BELOW, LIFE_BEGUN or LIFE_KNOWN in recorder.c) and has memory. False in a forked
 * child. It is apart from that state, since threads read it without the recorder's lock. */
extern LIBRARY_LOCAL bool recorder_on;

/* Makes or takes over a log for the calling thread. Returns NULL when nothing is recorded. */
struct log *log_attach(void);
/* A piece of the event buffer is full, or there is no buffer yet: goes on to the next. */
void log_turn(struct log *log);
/* Returns private zeroed pages, or NULL (counted). */
void *log_map(size_t bytes);
void log_fork_prepare(void);

#define HOT static inline __attribute__((always_inline))

/* Returns the log of the calling thread, or NULL. A log that outlives MPI_Finalize on another thread goes on in memory
 * without readers. A forked child has no log. */
HOT struct log *log_get(void)
{
    struct log *log = thread_log;
    return __builtin_expect(log != NULL, 1) ? log : log_attach();
}

/* NULL when nothing is recorded: before MPI_Init, after MPI_Finalize, in a child of fork. */
static inline struct log *log_recording(void)
{
    return __atomic_load_n(&recorder_on, __ATOMIC_ACQUIRE) ? log_get() : NULL;
}

/*
 * Counts complete records: the release pairs with the acquire in event_cursor_open. On x86 every store is a release.
 * The compiler keeps the order of volatile accesses, and event_store has such accesses.
 */
HOT void events_count(struct thread_cells *cells, uint64_t records)
{
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
    __asm__ volatile("addq %1, %0" : "+m"(cells->events) : "er"(records) : "cc");
#else
    __atomic_store_n(&cells->events, cell_load(&cells->events) + records, __ATOMIC_RELEASE);
#endif
}

typedef uint64_t __attribute__((may_alias)) words; /* several members at once */

/* Stores field by field. A copy of the whole would first be put together on the stack. `path`: as in path_way.bits. */
HOT void event_store_path(struct event *place, const struct event *event, uint64_t path)
{
    RELAXED_STORE(&place->begin, event->begin);
    RELAXED_STORE(&place->duration, event->duration);
    RELAXED_STORE(&place->kind, event->kind);
    RELAXED_STORE(&place->comm, event->comm);
    RELAXED_STORE(&place->peer, event->peer);
    RELAXED_STORE(&place->tag, event->tag);
    RELAXED_STORE(&place->bytes, event->bytes | path);
}

HOT void event_store(struct event *place, const struct event *event)
{
    event_store_path(place, event, 0);
}

/* Stores the end of a message. `from` has its begin, duration, kind and communicator. */
HOT void event_store_end(struct event *place, const struct event *from, int32_t peer, int32_t tag, uint64_t bytes)
{
    uint64_t middle;
    memcpy(&middle, &from->duration, sizeof middle); /* duration, kind, comm */
    RELAXED_STORE(&place->begin, from->begin);
    RELAXED_STORE((words *)(void *)&place->duration, middle);
    RELAXED_STORE(&place->peer, peer);
    RELAXED_STORE(&place->tag, tag);
    RELAXED_STORE(&place->bytes, bytes);
}

/* The same for the event of a call, with its path. Its bytes fit (event_bytes_fit). */
HOT void event_store_call(struct log *log, struct event *place, const struct event *event)
{
    event_store_path(place, event, log->path->bits);
}

/* True if the bytes of a call's event leave room for its path. */
HOT bool event_bytes_fit(uint64_t bytes)
{
    return bytes <= EVENT_BYTES_MASK;
}

/* The same for a call that named a request, which was posted at that time. */
HOT bool event_posted_fits(uint64_t begin, uint64_t posted)
{
    return begin - posted <= EVENT_BYTES_MASK && (posted & EVENT_BYTES_MASK);
}

/* Puts a record into the buffer and counts it. */
HOT void log_commit_path(struct log *log, const struct event *event, uint64_t path)
{
    struct event *place = log->cursor, *next = place + 1;
    event_store_path(place, event, path);
    log->cursor = next;
    events_count(log->own.tally.cells, 1);
    if (__builtin_expect(next == log->limit, 0))
        log_turn(log);
}

HOT void log_commit(struct log *log, const struct event *event)
{
    log_commit_path(log, event, 0);
}

/* The same for the event of a call. */
HOT void log_commit_call(struct log *log, const struct event *event)
{
    log_commit_path(log, event, log->path->bits);
}

/* What `bytes` of the event of a call has in its upper bits. */
HOT uint64_t log_call_bits(const struct log *log, enum fold_shape shape)
{
    bool collective = shape == FOLD_COLL || shape == FOLD_POST_COLL;
    return log->path->bits | (collective ? log->state->agreed & ~AGREED_BYTES : 0);
}

/* The same for a call, and the record that belongs to it. */
HOT void log_commit_two(struct log *log, const struct event *first, const struct event *second)
{
    if (__builtin_expect(log->limit - log->cursor < 3, 0)) {
        log_commit_call(log, first);
        log_commit(log, second);
        return;
    }
    event_store_call(log, &log->cursor[0], first);
    event_store(&log->cursor[1], second);
    log->cursor += 2;
    events_count(log->own.tally.cells, 2);
}

/* Returns the bytes of data in `count` elements. */
HOT uint64_t log_bytes(struct log *log, int64_t count, MPI_Datatype type)
{
    uint32_t size = log->type.bytes;
    if (__builtin_expect(log->type.handle != type, 0)) {
        if (!abi_type_size(type, &size))
            return native_bytes_slow(count, type);
        log->type.handle = type;
        log->type.bytes = size;
    }
    return count > 0 ? (uint64_t)count * size : 0;
}

/* A call in progress, on the wrapper's stack. */
struct probe {
    struct log *log;
    uint64_t begin;
    struct view *view; /* the thread's counters for the call's communicator. NULL: none, or not known */
    union {
        uint16_t unusual; /* 0: no mode, and not nested */
        struct {
            uint8_t mode; /* enum call_mode */
            bool nested;  /* it is inside of another call */
        };
    };
    uintptr_t outer_here; /* where on the stack the outer call is. 0: there is none */
    const struct path_way *outer_path;
    struct thread_state outer; /* the state of the outer call, if nested */
};

/*
 * Returns the lowest address of the stack in use. It tells a nested call (from a callback) from a call after one that
 * was left by a jump. A nested call begins below the lowest place that the outer wrapper used. The next call of the
 * same function of the program begins above it.
 */
HOT uintptr_t stack_lowest(void)
{
    uintptr_t here;
#if defined(__x86_64__)
    __asm__ volatile("movq %%rsp, %0" : "=r"(here));
#else
    char mark;
    here = (uintptr_t)&mark;
    __asm__("" : "+r"(here)); /* a number, not an address that outlives its object */
#endif
    return here;
}

/* Returns where the wrapper was called that this code is part of. */
HOT uintptr_t stack_entered(void)
{
    return (uintptr_t)__builtin_dwarf_cfa();
}

/* Returns the call of the wrapper that this code is part of. */
HOT wrapper_call wrapper_called(void)
{
#if defined(__aarch64__)
    return (wrapper_call){stack_entered(), __builtin_frame_address(0)};
#else
    return stack_entered();
#endif
}

/* Called in a wrapper before a function that is not inlined begins its call. */
HOT void wrapper_entered(void)
{
    struct log *log = thread_log;
    if (log)
        log->entered = wrapper_called();
}

/* Neither the compiler nor a signal handler may move accesses to the log across this. */
HOT void log_fence(void)
{
    __asm__ volatile("" ::: "memory");
}

/* The thread leaves the recorder: for the program, or for the call around this one (`outer`). */
HOT void log_out(struct log *log, uintptr_t outer)
{
    log_fence();
    RELAXED_STORE(&log->innermost, outer);
    if (outer)
        RELAXED_STORE(&log->below, true);
}

/* Before the call of the library: calls made meanwhile find the log whole. */
HOT void log_below(struct log *log)
{
    log_fence();
    RELAXED_STORE(&log->below, true);
}

HOT void log_back(struct log *log)
{
    RELAXED_STORE(&log->below, false);
    log_fence();
}

/* Returns false if a signal handler has interrupted the recorder's part of a call (counted). Returns true if the call
 * is in the library, or if it was left by a jump (longjmp or an exception out of a callback or a handler). In the
 * second case the call is forgotten, and the thread is in no call. `here`: where the wrapper was called. */
bool log_may_nest(struct log *log, uintptr_t here);

/* Enters the recorder at `here`. *outer: for log_out. False: see log_may_nest. */
HOT bool log_in(struct log *log, uintptr_t here, uintptr_t *outer)
{
    if (__builtin_expect(log->innermost != 0, 0) && !log_may_nest(log, here))
        return false;
    *outer = log->innermost;
    RELAXED_STORE(&log->below, false);
    RELAXED_STORE(&log->innermost, stack_lowest());
    log_fence();
    return true;
}

/* There is a call around this one: the probe keeps the state of that call. */
void probe_nest(struct probe *probe, struct log *log);

HOT void state_set(struct thread_state *state, uint32_t call, uint32_t comm, int32_t peer, uint64_t since)
{
    RELAXED_STORE(&state->since, since);
    RELAXED_STORE(&state->comm, comm);
    RELAXED_STORE(&state->peer, peer);
    RELAXED_STORE(&state->call, call);
}

/* Enters a call that has a mode. */
void probe_begin_mode(struct probe *probe, enum call kind, uint32_t comm, int32_t peer);

/* A call begins. `call`: of its wrapper. */
HOT void path_enter(struct log *log, enum call kind, wrapper_call call)
{
    const struct path_way *way = callpath_look_up(&log->paths, kind, call);
    if (__builtin_expect(way == NULL, 0))
        way = callpath_find(log, kind, call);
    log->path = way;
    RELAXED_STORE(&log->state->path, way->number);
}

/* The same, not inlined. */
void path_enter_apart(struct log *log, enum call kind, wrapper_call call);

/* Finds the path of a call that has not begun. Returns the path from before, for path_restore. */
static inline const struct path_way *path_announce(struct log *log, enum call kind, wrapper_call call)
{
    const struct path_way *before = log->path;
    path_enter_apart(log, kind, call);
    return before;
}

static inline void path_restore(struct log *log, const struct path_way *path)
{
    log->path = path;
    RELAXED_STORE(&log->state->path, path->number);
}

HOT bool probe_is_quiet(const struct probe *probe)
{
    return __builtin_expect(probe->mode & MODE_QUIET, 0);
}

/* The number of the call's path. 0: the call is not recorded, or the path is not known. */
static inline uint32_t probe_path(const struct probe *probe)
{
    return probe_is_quiet(probe) ? 0 : probe->log->path->number;
}

/* Enters the recorder with a call. The log is whole again after probe_close, and during the call of the library. False:
 * nothing is recorded. */
HOT bool probe_open(struct probe *probe)
{
    struct log *log = log_get();
    probe->log = log;
    if (__builtin_expect(log == NULL, 0))
        return false;
    wrapper_call here = wrapper_cfa(log->entered) ? log->entered : wrapper_called();
    log->entered = WRAPPER_CALL_NONE;
    probe->outer_path = log->path;
    log->called = here;
    if (__builtin_expect(log_in(log, wrapper_cfa(here), &probe->outer_here), 1))
        return true;
    probe->log = NULL;
    return false;
}

/* The call is recorded, and leaves the recorder. */
HOT void probe_close(const struct probe *probe)
{
    struct log *log = probe->log;
    if (__builtin_expect(probe->outer_here != 0, 0)) {
        log->path = probe->outer_path;
    }
    log_out(log, probe->outer_here);
}

/* The outermost call of the thread begins, after a long computation. */
void computation_long(struct log *log, uint64_t begin, uint64_t end);

HOT void computation_end(struct log *log, uint64_t begin)
{
    uint64_t end = log->own.tally.end;
    if (__builtin_expect(begin - end > COMPARED_LOAD(&processor_long_ticks), 0))
        computation_long(log, begin, end);
}

/* After probe_open: sets the thread's live state, without an event. */
HOT void probe_begin(struct probe *probe, enum call kind, uint32_t comm, int32_t peer)
{
    struct log *log = probe->log;
    probe->mode = RELAXED_LOAD(&call_modes[kind]) | (clock_is_counter ? 0 : MODE_CLOCK);
    if (__builtin_expect(probe->mode != 0, 0)) {
        probe_begin_mode(probe, kind, comm, peer);
        return;
    }
    probe->nested = false;
    if (__builtin_expect(probe->outer_here != 0, 0))
        probe_nest(probe, log);
    else
        stall_call_begin(&log->stall);
    path_enter_apart(log, kind, log->called);
    probe->begin = clock_now();
    if (!probe->nested)
        computation_end(log, probe->begin);
    state_set(log->state, kind, comm, peer, probe->begin);
}

/* The quick way in, with thread_log_or_none: the thread has a log, and is in no call. False: the call takes the slow
 * way. Read all that depends on the log after this, because a signal handler may change it before. */
HOT bool log_in_usually(struct log *log)
{
    if (__builtin_expect(log->innermost != 0, 0))
        return false;
#if defined(__x86_64__)
    __asm__ volatile("movq %%rsp, %0" : "=m"(log->innermost) : : "memory");
#else
    RELAXED_STORE(&log->innermost, stack_lowest());
    log_fence();
#endif
    return true;
}

/* The same for a call of this kind, if it is recorded as usual. */
HOT bool log_in_quickly(struct log *log, enum call kind)
{
    return __builtin_expect(RELAXED_LOAD(&call_modes[kind]) == 0, 1) && log_in_usually(log);
}

/* Call it after log_in_quickly. */
HOT void probe_begin_quickly(struct probe *probe, struct log *log, enum call kind, uint32_t comm, int32_t peer)
{
    probe->log = log;
    probe->unusual = 0;
    probe->outer_here = 0;
    stall_call_begin(&log->stall);
    path_enter_apart(log, kind, wrapper_called());
    probe->begin = clock_counter();
    computation_end(log, probe->begin);
    state_set(log->state, kind, comm, peer, probe->begin);
}

/* Called in the wrapper, after a function that is not inlined has entered. Calls that MPI makes from here on are below
 * this place. Returns true. */
HOT bool probe_deepest(const struct probe *probe)
{
    RELAXED_STORE(&probe->log->innermost, stack_lowest());
    return true;
}

/* Enters a call on no communicator, not inlined. Call wrapper_entered before, unless the caller is itself the
 * wrapper. */
bool probe_enter_slowly(struct probe *probe, enum call kind, uint32_t comm, int32_t peer);

/* Enters a call on no communicator. */
HOT bool probe_enter(struct probe *probe, enum call kind, uint32_t comm, int32_t peer)
{
    struct log *log = thread_log_or_none;
    if (!log_in_quickly(log, kind)) {
        wrapper_entered();
        return probe_enter_slowly(probe, kind, comm, peer) && probe_deepest(probe);
    }
    probe->view = NULL;
    probe_begin_quickly(probe, log, kind, comm, peer);
    return true;
}

/* Leaves a rare call, not inlined: it failed, is nested, is on an unknown communicator, took more than a second, or has
 * more bytes than fit into the event. */
void probe_leave_rare(const struct probe *probe, struct view *view, struct event event, uint64_t duration,
                      uint64_t bytes_out);

/* The same for a call that has a mode or is nested. It reads the clock only if the call is timed. */
void probe_leave_unusual(const struct probe *probe, struct view *view, int result, struct event event,
                         uint64_t bytes_out);

/* Returns EVENT_FAILED, or 0. */
static inline uint16_t log_failed(struct log *log, int result)
{
    if (result == MPI_SUCCESS)
        return 0;
    log->raised.error = result;
    return EVENT_FAILED;
}

/* Returns a copy for folds that change only its end, which the caller then stores once. */
HOT struct tally tally_unseen(const struct log *log)
{
    struct path_cells *path = log->path->cells;
    if (!path) /* for the compiler: a thread without paths has counters that are never read */
        __builtin_unreachable();
    return (struct tally){.cells = log->own.tally.cells, .unseen = true, .path = path};
}

/* Leaves a call: completes its event, folds it, keeps it. `result` is the return value of the call. `end`: when it
 * returned, if the caller has read the counter. 0: now. */
HOT void probe_leave_at(const struct probe *probe, enum fold_shape shape, unsigned op, struct view *view, int result,
                        struct event event, uint64_t bytes_out, uint64_t end)
{
    struct log *log = probe->log;
    bool bound = shape != FOLD_CALL && shape != FOLD_COMPLETION && shape != FOLD_START;
    bool objects = shape == FOLD_RMA || shape == FOLD_IO;
    bool shares = shape == FOLD_COMPLETION || shape == FOLD_START; /* the records after it share its time */
    bool levels = shape == FOLD_POST_SEND || shape == FOLD_POST_RECV;
    if (__builtin_expect(probe->unusual != 0, 0)) {
        struct event rare = event; /* else it would have to be in memory for all calls */
        probe_leave_unusual(probe, view, result, rare, bytes_out);
        return;
    }
    uint64_t duration = (end ? end : clock_counter()) - probe->begin;
    event.begin = probe->begin;
    if (__builtin_expect(result != MPI_SUCCESS || (bound && !view) ||
                             duration >= COMPARED_LOAD(objects ? &knob_object_ticks : &knob_rare_ticks) ||
                             log->stall.returns || (shape == FOLD_COLL && bytes_out > INT32_MAX) ||
                             (shape == FOLD_COMPLETION ? event.bytes && !event_posted_fits(event.begin, event.bytes)
                                                       : !event_bytes_fit(event.bytes)),
                         0)) {
        struct event rare = event;
        rare.kind |= log_failed(log, result);
        probe_leave_rare(probe, view, rare, duration, bytes_out);
        return;
    }
    if (event.kind & (EVENT_NESTED | EVENT_FAILED | EVENT_WIDE)) /* for the compiler: only rare calls have these */
        __builtin_unreachable();
    event.comm = bound ? (uint16_t)view->slot : 0;
    event.duration = (uint32_t)duration;
    if (shape == FOLD_COLL)
        event.tag = (int32_t)bytes_out;
    log->own.tally.path = log->path->cells; /* for the records that follow */
    if (shares || levels) {
        fold_call(shape, op, &log->own.tally, bound ? &view->tally : NULL, &event, NULL, true);
    } else {
        struct tally tally = tally_unseen(log);
        fold_call(shape, op, &tally, bound ? &view->tally : NULL, &event, NULL, true);
        cell_store(&log->own.tally.end, tally.end);
    }
    if (shape == FOLD_COMPLETION)
        event.bytes &= EVENT_BYTES_MASK;
    log_commit_path(log, &event, log_call_bits(log, shape));
    RELAXED_STORE(&log->state->call, CALL_NONE);
}

HOT void probe_leave(const struct probe *probe, enum fold_shape shape, unsigned op, struct view *view, int result,
                     struct event event, uint64_t bytes_out)
{
    probe_leave_at(probe, shape, op, view, result, event, bytes_out, 0);
}

/* A completion call that is not recorded has completed `requests` recorded ones. Their records follow. */
void log_passed(struct log *log, enum call kind, int requests);
/* Stores the time, for the records that follow a call that is not timed. */
void log_end_now(struct log *log);

/* Folds and keeps a record that follows a call. */
void log_record(struct log *log, struct view *view, struct event *event, uint64_t bytes_out);

/* The same for a record of one kind. The caller names the fold, so the compiler drops the others. */
#define LOG_RECORD(log, view, event, bytes_out, folded)                                                                \
    do {                                                                                                               \
        if (__builtin_expect(RELAXED_LOAD(&listeners) != 0 || !(view), 0)) {                                           \
            __typeof__(*(event)) rare_event = *(event); /* else it would have to be in memory for all of them */       \
            log_record(log, view, &rare_event, bytes_out);                                                             \
            break;                                                                                                     \
        }                                                                                                              \
        (event)->comm = (uint16_t)(view)->slot;                                                                        \
        folded;                                                                                                        \
        log_commit(log, event);                                                                                        \
    } while (0)

HOT uint16_t size_flag(uint64_t bytes)
{
    return bytes >= knob_load(KNOB_LARGE_MESSAGE_BYTES) ? EVENT_LARGE : 0;
}

#endif
