/*
 * A thread's log: where its wrappers emit events. The hot path is in this file.
 *
 *   thread_log ──> log ── ledger ──> cells of the thread         (aggregate/book.h)
 *                   │ ├── cache[handle] ──> view ──> cells of the thread for a communicator
 *                   │ └── cursor .. limit ──> place for the next event in the run file
 *                   └──── state ──> what the thread is doing, in the run file
 *
 * Who may run with whom: a log belongs to its thread. `state`, the cells and the events are read by anyone at any time.
 */
#ifndef MPIT_PROBES_LOG_H
#define MPIT_PROBES_LOG_H

#include "book.h"
#include "clock.h"
#include "knobs.h"
#include "native.h"

enum { COMM_CACHE_PLACES = 16, TRACE_CHUNK_EVENTS = 8190 };

struct comm_cache_entry {
    uint64_t handle;
    struct view *view;
};

struct log {
    struct ledger *ledger;
    struct thread_state *state;
    struct event *cursor, *limit;
    uint64_t events;
    uint32_t generation; /* of the cache */
    struct comm_cache_entry cache[COMM_CACHE_PLACES];
    struct chunk_header *chunk;
    bool tracing;     /* the chunk is part of a trace */
    struct log *next; /* in the list of logs that wait for a new thread */
    void *scratch;    /* arrays of completion calls */
    size_t scratch_bytes;
    struct event nowhere; /* the buffer of a log that has none */
};

extern __thread struct log *thread_log __attribute__((tls_model("initial-exec")));
extern bool recorder_on; /* between MPI_Init's begin and MPI_Finalize, not in a forked child */

/* The calling thread's log; NULL when nothing is recorded. */
struct log *log_attach(void);
/* The event buffer is full (or was never there): makes room. */
void log_turn(struct log *log);
/* Memory for `bytes` that lasts until the next call; NULL without memory. */
void *log_scratch(struct log *log, size_t bytes);
void log_fork_prepare(void);

static inline struct log *log_get(void)
{
    if (__builtin_expect(!__atomic_load_n(&recorder_on, __ATOMIC_RELAXED), 0))
        return NULL;
    struct log *log = thread_log;
    return __builtin_expect(log != NULL, 1) ? log : log_attach();
}

/* Puts a record into the buffer and counts it: the release pairs with the acquire in event_cursor_open. */
static inline void log_commit(struct log *log, const struct event *event)
{
    *log->cursor++ = *event;
    __atomic_store_n(&log->ledger->tally.cells->events, ++log->events, __ATOMIC_RELEASE);
    if (__builtin_expect(log->cursor == log->limit, 0))
        log_turn(log);
}

/* A call in progress, on the wrapper's stack. */
struct probe {
    struct log *log;
    uint64_t begin;
    struct thread_state outer; /* of the call around this one; .call = 0 when there is none */
};

static inline void state_set(struct thread_state *state, uint32_t call, uint32_t comm, int32_t peer, uint64_t since)
{
    __atomic_store_n(&state->since, since, __ATOMIC_RELAXED);
    __atomic_store_n(&state->comm, comm, __ATOMIC_RELAXED);
    __atomic_store_n(&state->peer, peer, __ATOMIC_RELAXED);
    __atomic_store_n(&state->call, call, __ATOMIC_RELEASE);
}

/* Enters a call: no event, only the thread's state. False: nothing is recorded. */
static inline bool probe_enter(struct probe *probe, enum call kind, uint32_t comm, int32_t peer)
{
    struct log *log = log_get();
    probe->log = log;
    if (!log)
        return false;
    probe->outer.call = log->state->call;
    if (__builtin_expect(probe->outer.call != CALL_NONE, 0))
        probe->outer = *log->state;
    probe->begin = clock_now();
    state_set(log->state, kind, comm, peer, probe->begin);
    return true;
}

static inline void probe_restore(struct probe *probe)
{
    struct thread_state *state = probe->log->state;
    if (__builtin_expect(probe->outer.call != CALL_NONE, 0))
        state_set(state, probe->outer.call, probe->outer.comm, probe->outer.peer, probe->outer.since);
    else
        __atomic_store_n(&state->call, CALL_NONE, __ATOMIC_RELEASE);
}

/* Emits a call's event whose duration or bytes got out do not fit. Out of line: a call of more than a second. */
void probe_emit_wide(struct probe *probe, struct comm_tally *comm, struct event *event, uint64_t duration,
                     uint64_t bytes_out);

/* Leaves a call: completes its event, folds it, keeps it. */
static inline __attribute__((always_inline)) void probe_leave(struct probe *probe, enum fold_shape shape, unsigned op,
                                                              struct view *view, struct event event,
                                                              uint64_t bytes_out)
{
    struct comm_tally *comm = view ? &view->tally : NULL;
    uint64_t duration = clock_now() - probe->begin;
    event.begin = probe->begin;
    event.comm = view ? (uint16_t)view->comm->slot : 0;
    if (__builtin_expect(probe->outer.call != CALL_NONE, 0))
        event.kind |= EVENT_NESTED;
    if (shape != FOLD_POST_SEND && shape != FOLD_POST_RECV && shape != FOLD_COMPLETION &&
        duration > __atomic_load_n(&knob_timeout_ticks, __ATOMIC_RELAXED))
        event.kind |= EVENT_TIMEOUT;
    if (__builtin_expect(duration >= EVENT_DURATION_WIDE || bytes_out > INT32_MAX, 0)) {
        probe_emit_wide(probe, comm, &event, duration, bytes_out);
    } else {
        event.duration = (uint32_t)duration;
        if (shape == FOLD_COLL)
            event.tag = (int32_t)bytes_out;
        fold_call(shape, op, &probe->log->ledger->tally, comm, &event, NULL);
        log_commit(probe->log, &event);
    }
    probe_restore(probe);
}

/* Folds and keeps a record behind a call. */
void log_record(struct log *log, struct view *view, struct event *event, uint64_t bytes_out);

static inline uint16_t size_flag(uint64_t bytes)
{
    return bytes >= knob_load(KNOB_LARGE_MESSAGE_BYTES) ? EVENT_LARGE : 0;
}

#endif
