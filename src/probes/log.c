#define _GNU_SOURCE
#include "log.h"

#include "moment.h"
#include "pack.h"
#include "raising.h"
#include "tracing.h"
#include "umq.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

__thread struct log *thread_log __attribute__((tls_model("initial-exec")));
bool recorder_on;
void (*log_turned)(struct log *log);

static struct log *idle_logs; /* of threads that have ended; under logs_lock */
static pthread_mutex_t logs_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t thread_end_key;

/* A thread ends: its tallies stay, its log waits for the next thread. */
static void thread_end(void *value)
{
    struct log *log = value;
    thread_log = NULL;
    book_thread_state = NULL;
    uint64_t now = clock_now();
    moment_thread_end(&log->own, now);
    __atomic_store_n(&log->own.record->end_ticks, now, __ATOMIC_RELAXED);
    if (book.run.header->traced != TRACED_NOT)
        return; /* one location a thread: its stream ends here */
    pthread_mutex_lock(&logs_lock);
    log->next = idle_logs;
    idle_logs = log;
    pthread_mutex_unlock(&logs_lock);
}

static bool key_made;

static void key_make(void)
{
    key_made = pthread_key_create(&thread_end_key, thread_end) == 0;
}

static struct log *log_take_idle(void)
{
    pthread_mutex_lock(&logs_lock);
    struct log *log = idle_logs;
    if (log)
        idle_logs = log->next;
    pthread_mutex_unlock(&logs_lock);
    if (log) {
        moment_thread_return(&log->own);
        log->own.record->tid = (int32_t)syscall(SYS_gettid);
        __atomic_store_n(&log->own.record->end_ticks, 0, __ATOMIC_RELAXED);
    }
    return log;
}

static struct log *log_make(void)
{
    struct log *log = calloc(1, sizeof *log);
    if (!log || !book_ledger_open(&log->own, (int)syscall(SYS_gettid))) {
        free(log);
        return NULL;
    }
    log->state = &log->own.record->state;
    log_turn(log);
    return log;
}

struct log *log_attach(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    static __thread bool attaching, refused;
    if (attaching || refused || !__atomic_load_n(&recorder_on, __ATOMIC_ACQUIRE))
        return NULL;
    attaching = true; /* an allocator that calls MPI must not come back here */
    pthread_once(&once, key_make);
    struct log *log = log_take_idle();
    if (!log)
        log = log_make();
    if (log) {
        pthread_setspecific(thread_end_key, log);
        book_thread_state = log->state;
        thread_log = log;
    } else {
        refused = true; /* counted; memory does not come back */
    }
    attaching = false;
    return log;
}

/* Pages of this process alone; NULL: counted. */
static void *log_map(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory != MAP_FAILED)
        return memory;
    run_lost(&book.run, LOSS_NO_MEMORY, 1);
    return NULL;
}

static void buffer_set(struct log *log, struct chunk_header *chunk)
{
    log->chunk = chunk;
    log->cursor = (struct event *)(chunk + 1);
    log->limit = log->cursor + chunk->capacity;
    moment_buffer_make(&log->own, chunk->capacity);
}

/* Where nothing else can be had: events are counted and fall into this place. */
static void buffer_set_none(struct log *log)
{
    log->bufferless = true;
    log->cursor = &log->nowhere;
    log->limit = &log->nowhere + 1;
}

/* Where a full buffer is packed on its way into the trace. */
enum { PACK_PAUSE = 8 };

struct packing {
    struct pack_table table;
    unsigned pause; /* so many buffers are kept as they are: packing has just failed to make one smaller */
    char out[TRACE_CHUNK_EVENTS * PACK_MOST];
};

static bool trace_keep(struct log *log, uint64_t first_event, const struct event *events, uint32_t count)
{
    size_t raw = count * sizeof *events, bytes = raw;
    if (!log->packing && count <= TRACE_CHUNK_EVENTS)
        log->packing = log_map(sizeof *log->packing);
    if (log->packing && log->packing->pause)
        log->packing->pause--;
    else if (log->packing)
        bytes = events_pack(&log->packing->table, events, count, log->packing->out);
    if (log->packing && bytes > raw)
        log->packing->pause = PACK_PAUSE;
    if (bytes < raw)
        return run_trace_append_packed(&book.run, log->own.index, first_event, count, log->packing->out, bytes);
    return run_trace_append(&book.run, log->own.index, first_event, events, count);
}

/* The buffer is full: what a trace keeps of it goes to the file before it begins again. */
static void buffer_restart(struct log *log)
{
    const struct event *first = (const struct event *)(log->chunk + 1);
    uint64_t events = cell_load(&log->own.tally.cells->events);
    if (tracing_covers(first->begin) && log->trace_failed != tracing_number()) {
        if (!trace_keep(log, events - log->chunk->capacity, first, log->chunk->capacity))
            log->trace_failed = tracing_number(); /* counted by cause; the flight recorder goes on */
        else
            moment_buffer_empty(&log->own, events);
    }
    log->cursor = (struct event *)(log->chunk + 1);
    if (log_turned)
        log_turned(log);
}

void log_turn(struct log *log)
{
    if (log->chunk) {
        buffer_restart(log);
        return;
    }
    bool traced = knob_load(KNOB_TRACE) != 0;
    uint64_t capacity = traced ? TRACE_CHUNK_EVENTS : knob_load(KNOB_FLIGHT_EVENTS);
    struct chunk_header *ring = NULL;
    /* one that could not be had is not asked for again, but once for each time that the trace is switched on */
    bool asked = log->bufferless && (!traced || log->trace_failed == tracing_number());
    if (traced)
        log->trace_failed = tracing_number();
    if (capacity && !asked)
        ring = run_ring_open(&book.run, log->own.index, (uint32_t)capacity);
    if (!ring) {
        buffer_set_none(log);
        return;
    }
    log->trace_failed = 0;
    log->bufferless = false;
    buffer_set(log, ring);
    log->cursor += cell_load(&log->own.tally.cells->events) % ring->capacity; /* event n lies in place n % capacity */
}

void *log_scratch(struct log *log, size_t bytes)
{
    if (bytes <= log->scratch_bytes)
        return log->scratch;
    size_t size = 4096;
    while (size < bytes && size < SCRATCH_KEPT)
        size *= 2;
    if (size < bytes)
        size = (bytes + 4095) / 4096 * 4096;
    void *memory = log_map(size);
    if (!memory)
        return NULL;
    log_scratch_release(log);
    log->scratch = memory;
    log->scratch_bytes = size;
    __atomic_fetch_add(&book.run.passing_bytes, size, __ATOMIC_RELAXED);
    return memory;
}

void log_scratch_release(struct log *log)
{
    if (log->scratch)
        munmap(log->scratch, log->scratch_bytes);
    __atomic_fetch_sub(&book.run.passing_bytes, log->scratch_bytes, __ATOMIC_RELAXED);
    log->scratch = NULL;
    log->scratch_bytes = 0;
}

static void extension_commit(struct log *log, uint64_t duration, uint64_t bytes_out)
{
    union {
        struct event_extension extension;
        struct event event;
    } more = {.extension = {.duration = duration, .kind = RECORD_EXTENSION, .bytes_out = bytes_out}};
    log_commit(log, &more.event);
}

/* The stack grows downwards: what is really called from inside lies below. */
void probe_nest(struct probe *probe, struct log *log, uintptr_t here)
{
    if (here >= log->innermost) {
        probe->outer.call = CALL_NONE;
        log->freeing = NULL;
        return;
    }
    moment_nest(&log->own, log->state->since);
    probe->outer = *log->state;
    probe->outer_here = log->innermost;
}

void probe_leave_rare(const struct probe *probe, struct view *view, struct event event, uint64_t duration,
                      uint64_t bytes_out)
{
    struct log *log = probe->log;
    const struct thread_state *outer = &probe->outer;
    const struct call_description *call = &call_table[event_kind(&event)];
    struct event_extension more = {.duration = duration, .kind = RECORD_EXTENSION, .bytes_out = bytes_out};
    event.comm = view ? (uint16_t)view->slot : 0;
    if (outer->call != CALL_NONE) {
        event.kind |= EVENT_NESTED;
        moment_inner_end(&log->own, event.begin + duration);
    }
    bool message = call->fold == FOLD_SEND || call->fold == FOLD_RECV || call->fold == FOLD_SENDRECV;
    if (message && duration > RELAXED_LOAD(&knob_timeout_ticks))
        event.kind |= EVENT_TIMEOUT;
    event.duration = duration < EVENT_DURATION_WIDE ? (uint32_t)duration : EVENT_DURATION_WIDE;
    if (duration >= EVENT_DURATION_WIDE || bytes_out > INT32_MAX)
        event.kind |= EVENT_WIDE;
    else if (call->fold == FOLD_COLL)
        event.tag = (int32_t)bytes_out;
    if (RELAXED_LOAD(&knob_attendants))
        umq_watches_look(call->fold == FOLD_POST_RECV ? &event : NULL);
    fold_call(call->fold, call->op, &log->own.tally, view ? &view->tally : NULL, &event, &more);
    log_commit(log, &event);
    if (event.kind & EVENT_WIDE)
        extension_commit(log, duration, bytes_out);
    if (RELAXED_LOAD(&listeners))
        raise_call(log, view, &event, duration, bytes_out);
    if (outer->call != CALL_NONE) {
        log->innermost = probe->outer_here;
        state_set(log->state, outer->call, outer->comm, outer->peer, outer->since);
    } else {
        __atomic_store_n(&log->state->call, CALL_NONE, __ATOMIC_RELEASE);
    }
    if (call->fold != FOLD_COMPLETION && call->fold != FOLD_START && call->fold != FOLD_SENDRECV &&
        call->fold != FOLD_COMM)
        raise_finish(log);
}

HOT void record(struct log *log, struct view *view, struct event *event, uint64_t bytes_out)
{
    struct event_extension more = {.kind = RECORD_EXTENSION, .bytes_out = bytes_out};
    event->comm = view ? (uint16_t)view->slot : 0;
    bool collective = event_kind(event) == RECORD_COLL_DONE;
    if (collective && bytes_out > INT32_MAX)
        event->kind |= EVENT_WIDE;
    else if (collective)
        event->tag = (int32_t)bytes_out;
    if (view)
        fold_record(&log->own.tally, &view->tally, event, &more);
    log_commit(log, event);
    if (event->kind & EVENT_WIDE)
        extension_commit(log, 0, bytes_out);
}

static __attribute__((noinline)) void record_heard(struct log *log, struct view *view, struct event *event,
                                                   uint64_t bytes_out)
{
    record(log, view, event, bytes_out);
    if (view)
        raise_record(log, view, event, bytes_out);
    if (event_kind(event) == RECORD_RECEIVE) /* the last of its call */
        raise_finish(log);
}

void log_record(struct log *log, struct view *view, struct event *event, uint64_t bytes_out)
{
    if (__builtin_expect(RELAXED_LOAD(&listeners) != 0, 0))
        record_heard(log, view, event, bytes_out);
    else
        record(log, view, event, bytes_out);
}

/* The child of a fork shares the parent's mapping: it must not write there. */
static void fork_child(void)
{
    __atomic_store_n(&recorder_on, false, __ATOMIC_RELAXED);
    book.run.detached = true;
    thread_log = NULL;
    book_thread_state = NULL;
    if (key_made)
        pthread_setspecific(thread_end_key, NULL); /* the end of this thread is not the parent's */
}

void log_fork_prepare(void)
{
    pthread_atfork(NULL, NULL, fork_child);
}
