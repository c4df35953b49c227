#include "thread/log.h"

#include "base/cancel.h"
#include "fabric/fabric.h"
#include "progress/memory.h"
#include "counters/counters.h"
#include "handles/moment.h"
#include "thread/raising.h"
#include "thread/refusal.h"
#include "sampler/sampler.h"
#include "settings/tracing.h"
#include "umq/umq.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

THREAD_OWN(bool, log_attaching);
THREAD_OWN(bool, log_is_refused);
extern struct log no_log __asm__("mpit_no_log") __attribute__((visibility("default")));
_Static_assert(sizeof(struct log) <= NO_LOG_BYTES, "room in libmpit.so");
bool recorder_on;
uint8_t call_modes[CALL_COUNT];
bool counters_wanted;

static struct log *idle_logs; /* of threads that have ended. Under logs_lock */
static pthread_mutex_t logs_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t thread_end_key;

/* The number of threads with a stream of events of their own. A stream is a location of the trace, and has a buffer. A
 * later thread continues the stream of a thread that has ended. */
enum { STREAMS_MOST = 64 };

/* Resets the state of a call that was abandoned (longjmp, exception, thread exit). It is not a call around the next
 * one. */
static void call_forget(struct log *log)
{
    RELAXED_STORE(&log->below, false);
    RELAXED_STORE(&log->innermost, 0);
    __atomic_store_n(&log->state->call, CALL_NONE, __ATOMIC_RELEASE);
    stall_forget(log);
    log->stall.off = false;
    fabric_forget(log);
    log->freeing_comm = NULL;
    log->objects.freeing = (struct freed_object){0};
}

__attribute__((constructor(101))) static void no_log_set(void)
{
    no_log.innermost = 1;
}

static void thread_log_set(struct log *log)
{
    thread_log = log;
    thread_log_or_none = log ? log : &no_log;
}

/* Called when a thread ends. Its accumulators stay, and a later thread gets its log. If the thread ended inside of a
 * call, the log forgets that call. Cancellation is off here: otherwise a cancel could lose the log, and the return
 * value of the thread. */
static void thread_end(void *value)
{
    struct log *log = value;
    int cancel = cancel_hold();
    sampler_thread_end();
    if (log->counting)
        counters_thread_end(log);
    thread_log_set(NULL);
    book_thread_state = NULL;
    uint64_t now = clock_now();
    moment_thread_end(&log->own, now);
    __atomic_store_n(&log->state->call, CALL_NONE, __ATOMIC_RELEASE);
    log->entered = WRAPPER_CALL_NONE;
    if (log->innermost && !log->below && log->buffer.chunk)
        backlog_repair(log);
    fabric_flush(log);
    call_forget(log);
    log->scratch.lent = 0;
    __atomic_store_n(&log->own.record->end_ticks, now, __ATOMIC_RELAXED);
    pthread_mutex_lock(&logs_lock);
    log->next = idle_logs;
    idle_logs = log;
    pthread_mutex_unlock(&logs_lock);
    cancel_release(cancel);
}

static bool key_made;

static void thread_end_key_make(void)
{
    key_made = pthread_key_create(&thread_end_key, thread_end) == 0;
}

static bool stream_may_begin(void)
{
    return __atomic_load_n(&book.run.header->traced, __ATOMIC_ACQUIRE) != TRACED_NOT &&
           book.run.header->trace_policy != TRACE_BRIEF &&
           __atomic_load_n(&book.thread_count, __ATOMIC_RELAXED) < STREAMS_MOST && run_has_room(&book.run);
}

static struct log *log_take_idle(void)
{
    pthread_mutex_lock(&logs_lock);
    struct log *log = stream_may_begin() ? NULL : idle_logs;
    if (log)
        idle_logs = log->next;
    pthread_mutex_unlock(&logs_lock);
    if (log) {
        moment_thread_return(&log->own);
        callpaths_continue(log);
        log->processor = (struct processor){0}; /* it was another thread's */
        log->own.record->tid = (int32_t)syscall(SYS_gettid);
        __atomic_store_n(&log->own.record->end_ticks, 0, __ATOMIC_RELAXED);
    }
    return log;
}

static struct log *log_make(void)
{
    struct log *log = calloc(1, sizeof *log);
    if (!log || !callpaths_open(log) || !book_ledger_open(&log->own, (int)syscall(SYS_gettid))) {
        free(log);
        return NULL;
    }
    log->state = &log->own.record->state;
    log->stall.patience = log->stall.left = stall_patience;
    log_turn(log);
    return log;
}

bool log_refused(void)
{
    return log_is_refused;
}

/* There is no memory for a log: the call is lost. Memory does not come back. */
static struct log *log_refuse(void)
{
    log_is_refused = true;
    run_lost(&book.run, LOSS_NO_MEMORY, 1);
    run_tell(&book.run, "the recorder has no memory; calls that it cannot record are counted as lost (no_memory)");
    return NULL;
}

struct log *log_attach(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (!__atomic_load_n(&recorder_on, __ATOMIC_ACQUIRE))
        return NULL;
    if (log_is_refused)
        return log_refuse();
    if (log_attaching) {
        run_lost(&book.run, LOSS_REENTERED, 1);
        return NULL;
    }
    log_attaching = true; /* an allocator that calls MPI must not come back here */
    pthread_once(&once, thread_end_key_make);
    struct log *log = log_take_idle();
    if (!log)
        log = log_make();
    if (log) {
        pthread_setspecific(thread_end_key, log);
        book_thread_state = log->state;
        thread_log_set(log);
        sampler_thread_begin();
    } else {
        log_refuse();
    }
    log_attaching = false;
    return log;
}

void *log_map(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory != MAP_FAILED)
        return memory;
    run_lost(&book.run, LOSS_NO_MEMORY, 1);
    return NULL;
}

/* Sets the log's buffer. `capacity`: the capacity without the spare events. */
static void buffer_set(struct log *log, struct chunk_header *chunk, uint64_t capacity)
{
    log->buffer.chunk = chunk;
    backlog_begin(log);
    moment_buffer_make(&log->own, capacity);
    __atomic_store_n(&log->own.buffer, chunk, __ATOMIC_RELEASE);
}

/* Sets a buffer of one place, for a log without memory. Events are counted, and each overwrites the one before. */
static void buffer_set_none(struct log *log)
{
    log->buffer.absent = true;
    __atomic_store_n(&log->own.buffer, NULL, __ATOMIC_RELEASE);
    log->cursor = &log->buffer.nowhere;
    log->limit = &log->buffer.nowhere + 1;
}

void log_turn(struct log *log)
{
    if (log->buffer.chunk) {
        backlog_turn(log);
        return;
    }
    bool traced = knob_load(KNOB_TRACE) == 1; /* a brief one has the buffer that a run without a trace has */
    uint64_t capacity = traced ? TRACE_BUFFER_EVENTS : knob_load(KNOB_FLIGHT_EVENTS);
    struct chunk_header *ring = NULL;
    /* after a failure, request a buffer again only when the trace is switched on again */
    bool asked = log->buffer.absent && (!traced || log->backlog.failed == tracing_number());
    if (traced)
        log->backlog.failed = tracing_number();
    if (capacity && !asked)
        ring = run_ring_open(&book.run, log->own.index, (uint32_t)(capacity + (traced ? 0 : RING_SPARE)));
    if (!ring) {
        buffer_set_none(log);
        return;
    }
    log->backlog.failed = 0;
    log->buffer.absent = false;
    buffer_set(log, ring, capacity);
}

void path_enter_apart(struct log *log, enum call kind, wrapper_call call)
{
    path_enter(log, kind, call);
}

static void extension_commit(struct log *log, uint64_t duration, uint64_t bytes_out, uint64_t bytes_high)
{
    union {
        struct event_extension extension;
        struct event event;
    } more = {.extension = {
                  .duration = duration, .kind = RECORD_EXTENSION, .bytes_out = bytes_out, .bytes_high = bytes_high}};
    log_commit(log, &more.event);
}

/* True if the thread is on an alternate signal stack, which may be at any address. */
static bool on_signal_stack(void)
{
    stack_t stack; /* the sampler's, too, which its guard hides */
    return syscall(SYS_sigaltstack, NULL, &stack) == 0 && (stack.ss_flags & SS_ONSTACK);
}

/* The stack grows downwards: a call made from inside has a lower address. */
bool log_may_nest(struct log *log, uintptr_t here)
{
    if (here >= log->innermost && !on_signal_stack()) {
        if (!log->below && log->buffer.chunk)
            backlog_repair(log);
        call_forget(log);
        return true;
    }
    if (!log->below)
        run_lost(&book.run, LOSS_REENTERED, 1);
    return log->below;
}

/* A callback of mpit's own events runs after its call's event. Then there is no call around. */
void probe_nest(struct probe *probe, struct log *log)
{
    if (log->state->call == CALL_NONE) {
        stall_call_begin(&log->stall);
        return;
    }
    moment_nest(&log->own, log->state->since);
    probe->outer = *log->state;
    probe->nested = true;
}

bool probe_enter_slowly(struct probe *probe, enum call kind, uint32_t comm, int32_t peer)
{
    probe->view = NULL;
    if (!probe_open(probe))
        return false;
    probe_begin(probe, kind, comm, peer);
    return true;
}

void probe_begin_mode(struct probe *probe, enum call kind, uint32_t comm, int32_t peer)
{
    struct log *log = probe->log;
    probe->begin = 0;
    probe->nested = false;
    if (probe->mode & MODE_QUIET)
        return; /* the thread state stays as it was */
    if (probe->outer_here)
        probe_nest(probe, log);
    else
        stall_call_begin(&log->stall);
    path_enter(log, kind, log->called);
    bool counted = (probe->mode & MODE_COUNTERS) && !probe->nested;
    uint64_t begin = counted ? counters_call_begin(log) : 0;
    if (!(probe->mode & MODE_UNTIMED))
        probe->begin = counted ? begin : clock_now();
    if (probe->begin && !probe->nested)
        computation_end(log, probe->begin);
    state_set(log->state, kind, comm, peer, probe->begin);
}

/* True if the bytes need no extension. */
static bool call_bytes_fit(const struct event *event)
{
    if (call_table[event_kind(event)].fold == FOLD_COMPLETION && event->bytes)
        return event_posted_fits(event->begin, event->bytes);
    return event_bytes_fit(event->bytes);
}

/* Leaves a call that is only counted, and has nothing else to record. False: nothing was done. */
static bool leave_counted(const struct probe *probe, struct view *view, struct event *event, uint64_t bytes_out)
{
    struct log *log = probe->log;
    const struct call_description *call = &call_table[event_kind(event)];
    if (probe->unusual != MODE_UNTIMED || COMPARED_LOAD(&knob_rare_ticks) == 0 || log->stall.returns ||
        bytes_out > INT32_MAX || !call_bytes_fit(event) || (call->fold == FOLD_IO && object_cells_wanted()) ||
        (call->fold == FOLD_RMA && object_cells_wanted()))
        return false;
    event->comm = view ? (uint16_t)view->slot : 0;
    if (call->fold == FOLD_COLL)
        event->tag = (int32_t)bytes_out;
    log->own.tally.path = log->path->cells;
    fold_call(call->fold, call->op, &log->own.tally, view ? &view->tally : NULL, event, NULL, false);
    event->bytes &= EVENT_BYTES_MASK;
    log_commit_path(log, event, log_call_bits(log, (enum fold_shape)call->fold));
    RELAXED_STORE(&log->state->call, CALL_NONE);
    return true;
}

void probe_leave_unusual(const struct probe *probe, struct view *view, int result, struct event event,
                         uint64_t bytes_out)
{
    uint64_t duration = 0;
    if (probe->mode & MODE_QUIET)
        return;
    event.begin = cell_load(&probe->log->own.tally.end); /* the last known time */
    if (probe->begin) {
        event.begin = probe->begin;
        duration = clock_now() - probe->begin;
    }
    enum fold_shape shape = (enum fold_shape)call_table[event_kind(&event)].fold;
    bool bound = shape != FOLD_CALL && shape != FOLD_COMPLETION && shape != FOLD_START;
    view = bound ? view : NULL;
    if (result == MPI_SUCCESS && (view || !bound) && leave_counted(probe, view, &event, bytes_out))
        return;
    event.kind |= log_failed(probe->log, result);
    probe_leave_rare(probe, view, event, duration, bytes_out);
}

void log_end_now(struct log *log)
{
    uint64_t now = clock_now();
    if (log->state->call != CALL_NONE)
        moment_inner_end(&log->own, now);
    cell_store(&log->own.tally.end, now);
}

void log_passed(struct log *log, enum call kind, int requests)
{
    struct event event = {.begin = clock_now(), .kind = EVENT_PASSED, .peer = requests};
    if (log->state->call != CALL_NONE) {
        event.kind |= EVENT_NESTED;
        moment_inner_end(&log->own, event.begin);
    }
    log->path = log->paths.none; /* the records that follow belong to no path */
    log->own.tally.path = log->path->cells;
    fold_passed(&log->own.tally, &event);
    log_commit(log, &event);
    raised_begin(&log->raised, kind);
}

/* Records the operations below the call. */
static void below_commit(struct log *log, struct view *view, const struct fabric_records *below)
{
    struct comm_tally *comm = view ? &view->tally : NULL;
    fold_fabric_call(&log->own.tally, comm, &below->fabric);
    log_commit(log, &below->fabric);
    if (!below->transfers.kind || !comm)
        return;
    fold_transfers(comm, &below->transfers);
    log_commit(log, &below->transfers);
}

/* Only a trace tells what the thread did before. */
void computation_long(struct log *log, uint64_t begin, uint64_t end)
{
    memory_look(begin, log->state->path);
    log->stall.off = knob_load(KNOB_TRACE) && processor_entered(&log->processor, end, begin);
}

/* A wait that is this part of a long computation may have been one without a processor. */
enum { SHORT_CALLS = 20 };

static void off_commit(struct log *log, const struct event *call)
{
    struct event event = {.begin = call->begin,
                          .duration = event_kind(call),
                          .kind = RECORD_OFF_PROCESSOR,
                          .peer = PEER_NONE,
                          .comm = call->comm,
                          .bytes = log->processor.off};
    log->stall.off = false;
    log_commit(log, &event);
}

/* True if records follow the event of the call, or tables change after it. Then the code that does so calls
 * raise_finish. */
static bool call_goes_on(enum fold_shape shape)
{
    return shape == FOLD_COMPLETION || shape == FOLD_START || shape == FOLD_SENDRECV || shape == FOLD_COMM ||
           shape == FOLD_RMA || shape == FOLD_IO;
}

void probe_leave_rare(const struct probe *probe, struct view *view, struct event event, uint64_t duration,
                      uint64_t bytes_out)
{
    struct log *log = probe->log;
    const struct thread_state *outer = &probe->outer;
    const struct call_description *call = &call_table[event_kind(&event)];
    struct event_extension more = {.duration = duration, .kind = RECORD_EXTENSION, .bytes_out = bytes_out};
    bool counted = log->counting && !probe->nested;
    if (counted)
        counters_call_returned(log, event_kind(&event), event.begin + duration);
    event.comm = view ? (uint16_t)view->slot : 0;
    if (probe->nested) {
        event.kind |= EVENT_NESTED;
        moment_inner_end(&log->own, event.begin + duration);
    }
    bool message = call->fold == FOLD_SEND || call->fold == FOLD_RECV || call->fold == FOLD_SENDRECV;
    if (message && duration > RELAXED_LOAD(&knob_timeout_ticks))
        event.kind |= EVENT_TIMEOUT;
    event.duration = duration < EVENT_DURATION_WIDE ? (uint32_t)duration : EVENT_DURATION_WIDE;
    bool wide_bytes = !call_bytes_fit(&event);
    if (duration >= EVENT_DURATION_WIDE || bytes_out > INT32_MAX || wide_bytes)
        event.kind |= EVENT_WIDE;
    else if (call->fold == FOLD_COLL)
        event.tag = (int32_t)bytes_out;
    if (RELAXED_LOAD(&knob_attendants))
        umq_watches_look((enum fold_shape)call->fold, &event);
    struct event stalled;
    log->own.tally.path = log->path->cells;
    bool stall = log->stall.times && !probe->nested && stall_end(log, probe, &event, duration, &stalled);
    if (stall)
        fold_stall_time(&log->own.tally, &stalled);
    struct fabric_records below = {.fabric = {.kind = 0}};
    if (log->fabric && !probe->nested)
        fabric_call_end(log, &event, duration, &below);
    fold_call(call->fold, call->op, &log->own.tally, view ? &view->tally : NULL, &event, &more, probe->begin != 0);
    if (object_cells_wanted() && view && (call->fold == FOLD_RMA || call->fold == FOLD_IO))
        object_cells_add(call->fold == FOLD_RMA ? OBJECT_WINDOW : OBJECT_FILE, &event, duration);
    struct event kept = event;
    kept.bytes &= EVENT_BYTES_MASK;
    log_commit_path(log, &kept, log_call_bits(log, (enum fold_shape)call->fold));
    if (event.kind & EVENT_WIDE)
        extension_commit(log, duration, bytes_out, wide_bytes ? (event.bytes >> EVENT_PATH_SHIFT) + 1 : 0);
    if (stall) {
        fold_stall_share(&log->own.tally, view ? &view->tally : NULL, &stalled);
        log_commit(log, &stalled);
    }
    if (stall && duration > processor_long_ticks / SHORT_CALLS && knob_load(KNOB_TRACE))
        processor_left(&log->processor, clock_now());
    if (log->stall.off && !probe->nested)
        off_commit(log, &event);
    if (below.fabric.kind)
        below_commit(log, view, &below);
    if (counted)
        counters_call_ended(log, &event);
    if (RELAXED_LOAD(&listeners)) {
        raise_call(log, view, &event, duration, bytes_out);
        if (stall)
            raise_stall(log, view, &stalled);
    }
    if (probe->nested) {
        RELAXED_STORE(&log->state->path, outer->path);
        RELAXED_STORE(&log->state->agreed, outer->agreed);
        state_set(log->state, outer->call, outer->comm, outer->peer, outer->since);
    } else {
        __atomic_store_n(&log->state->call, CALL_NONE, __ATOMIC_RELEASE);
    }
    if (!call_goes_on((enum fold_shape)call->fold))
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
    if (event_kind(event) == RECORD_IO_DONE && object_cells_wanted())
        object_cells_add(OBJECT_FILE, event, 0);
    log_commit(log, event);
    if (event->kind & EVENT_WIDE)
        extension_commit(log, 0, bytes_out, 0);
}

static __attribute__((noinline)) void record_heard(struct log *log, struct view *view, struct event *event,
                                                   uint64_t bytes_out)
{
    record(log, view, event, bytes_out);
    if (view)
        raise_record(log, view, event, bytes_out);
    if (event_kind(event) == RECORD_RECEIVE) /* the last record of its call */
        raise_finish(log);
}

void log_record(struct log *log, struct view *view, struct event *event, uint64_t bytes_out)
{
    if (__builtin_expect(RELAXED_LOAD(&listeners) != 0, 0))
        record_heard(log, view, event, bytes_out);
    else
        record(log, view, event, bytes_out);
}

/* The child of a fork shares the parent's mapping, so it must not write there. */
static void fork_child(void)
{
    __atomic_store_n(&recorder_on, false, __ATOMIC_RELAXED);
    book.run.detached = true;
    thread_log_set(NULL);
    book_thread_state = NULL;
    if (key_made)
        pthread_setspecific(thread_end_key, NULL); /* the end of this thread is not the end of the parent's thread */
    sampler_fork_child();
}

void log_fork_prepare(void)
{
    pthread_atfork(NULL, NULL, fork_child);
}
