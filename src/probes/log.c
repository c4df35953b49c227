#define _GNU_SOURCE
#include "log.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

__thread struct log *thread_log __attribute__((tls_model("initial-exec")));
bool recorder_on;

static struct log *idle_logs; /* of threads that have ended; under logs_lock */
static pthread_mutex_t logs_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t thread_end_key;

/* A thread ends: its tallies stay, its log waits for the next thread. */
static void thread_end(void *value)
{
    struct log *log = value;
    thread_log = NULL;
    book_thread_state = NULL;
    __atomic_store_n(&log->ledger->record->end_ticks, clock_now(), __ATOMIC_RELAXED);
    if (log->tracing)
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
        log->ledger->record->tid = (int32_t)syscall(SYS_gettid);
        __atomic_store_n(&log->ledger->record->end_ticks, 0, __ATOMIC_RELAXED);
    }
    return log;
}

static struct log *log_make(void)
{
    struct log *log = calloc(1, sizeof *log);
    struct ledger *ledger = log ? book_thread_add((int)syscall(SYS_gettid)) : NULL;
    if (!ledger) {
        free(log);
        return NULL;
    }
    log->ledger = ledger;
    log->state = &ledger->record->state;
    log->tracing = knob_load(KNOB_TRACE) != 0;
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

static void buffer_set(struct log *log, struct chunk_header *chunk)
{
    log->chunk = chunk;
    log->cursor = (struct event *)(chunk + 1);
    log->limit = log->cursor + chunk->capacity;
}

/* Where nothing else can be had: events are counted and fall into this place. */
static void buffer_set_none(struct log *log)
{
    log->bufferless = true; /* it is not asked for again */
    log->tracing = false;
    log->cursor = &log->nowhere;
    log->limit = &log->nowhere + 1;
}

/* The buffer is full: what a trace keeps of it goes to the file before it begins again. */
static void buffer_restart(struct log *log)
{
    const struct event *first = (const struct event *)(log->chunk + 1);
    uint64_t events = cell_load(&log->ledger->tally.cells->events);
    if (log->tracing &&
        !run_trace_append(&book.run, log->ledger->index, events - log->chunk->capacity, first, log->chunk->capacity))
        log->tracing = false; /* counted by cause; the flight recorder goes on */
    log->cursor = (struct event *)(log->chunk + 1);
}

void log_turn(struct log *log)
{
    if (log->chunk) {
        buffer_restart(log);
        return;
    }
    uint64_t capacity = log->tracing ? TRACE_CHUNK_EVENTS : knob_load(KNOB_FLIGHT_EVENTS);
    struct chunk_header *ring = NULL;
    if (capacity && !log->bufferless)
        ring = run_ring_open(&book.run, log->ledger->index, (uint32_t)capacity);
    if (!ring) {
        buffer_set_none(log);
        return;
    }
    buffer_set(log, ring);
    log->cursor +=
        cell_load(&log->ledger->tally.cells->events) % ring->capacity; /* event n lies in place n % capacity */
}

void *log_scratch(struct log *log, size_t bytes)
{
    if (bytes <= log->scratch_bytes)
        return log->scratch;
    size_t size = log->scratch_bytes ? log->scratch_bytes : 4096;
    while (size < bytes)
        size *= 2;
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        run_lost(&book.run, LOSS_NO_MEMORY, 1);
        return NULL;
    }
    if (log->scratch)
        munmap(log->scratch, log->scratch_bytes);
    log->scratch = memory;
    log->scratch_bytes = size;
    return memory;
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
    if (outer->call != CALL_NONE)
        event.kind |= EVENT_NESTED;
    bool message = call->fold == FOLD_SEND || call->fold == FOLD_RECV || call->fold == FOLD_SENDRECV;
    if (message && duration > RELAXED_LOAD(&knob_timeout_ticks))
        event.kind |= EVENT_TIMEOUT;
    event.duration = duration < EVENT_DURATION_WIDE ? (uint32_t)duration : EVENT_DURATION_WIDE;
    if (duration >= EVENT_DURATION_WIDE || bytes_out > INT32_MAX)
        event.kind |= EVENT_WIDE;
    else if (call->fold == FOLD_COLL)
        event.tag = (int32_t)bytes_out;
    fold_call(call->fold, call->op, &log->ledger->tally, view ? &view->tally : NULL, &event, &more);
    log_commit(log, &event);
    if (event.kind & EVENT_WIDE)
        extension_commit(log, duration, bytes_out);
    if (outer->call != CALL_NONE) {
        log->innermost = probe->outer_here;
        state_set(log->state, outer->call, outer->comm, outer->peer, outer->since);
    } else {
        __atomic_store_n(&log->state->call, CALL_NONE, __ATOMIC_RELEASE);
    }
}

void log_record(struct log *log, struct view *view, struct event *event, uint64_t bytes_out)
{
    struct event_extension more = {.kind = RECORD_EXTENSION, .bytes_out = bytes_out};
    event->comm = view ? (uint16_t)view->slot : 0;
    bool collective = event_kind(event) == RECORD_COLL_DONE;
    if (collective && bytes_out > INT32_MAX)
        event->kind |= EVENT_WIDE;
    else if (collective)
        event->tag = (int32_t)bytes_out;
    if (view)
        fold_record(&log->ledger->tally, &view->tally, event, &more);
    log_commit(log, event);
    if (event->kind & EVENT_WIDE)
        extension_commit(log, 0, bytes_out);
}

/* The child of a fork shares the parent's mapping: it must not write there. */
static void fork_child(void)
{
    __atomic_store_n(&recorder_on, false, __ATOMIC_RELAXED);
    thread_log = NULL;
    book_thread_state = NULL;
    if (key_made)
        pthread_setspecific(thread_end_key, NULL); /* the end of this thread is not the parent's */
}

void log_fork_prepare(void)
{
    pthread_atfork(NULL, NULL, fork_child);
}
