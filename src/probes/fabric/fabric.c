#include "fabric/fabric.h"

#include "fabric/fabric_keys.h"

#include <stdlib.h>
#include <string.h>

/* Polls are summed up to POLLS_MOST. Inside of a call they are also summed for POLLS_LEAST_NS: otherwise the polls of a
 * process that waits for minutes would displace all calls in the flight recorder. */
enum { POLLS_MOST = 1 << 16, POLLS_LEAST_NS = 1000000000, PROVIDERS_MOST = 4 * FABRIC_PROVIDERS_MOST };

bool fabric_on;
uint32_t fabric_epoch = 1;

/* Pushed at the front, never removed. */
static struct fabric_provider *providers;

struct fabric_provider *fabric_provider(const char *name)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    struct fabric_provider *provider;
    unsigned count = 0;
    pthread_mutex_lock(&lock);
    for (provider = providers; provider; provider = provider->next, count++)
        if (strncmp(provider->name, name, sizeof provider->name - 1) == 0)
            break;
    if (!provider && count < PROVIDERS_MOST && (provider = calloc(1, sizeof *provider))) {
        strncpy(provider->name, name, sizeof provider->name - 1);
        provider->next = providers;
        __atomic_store_n(&providers, provider, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&lock);
    return provider;
}

/* The earlier state of the log: in the library, or outside of MPI. */
struct mark {
    uintptr_t innermost;
    bool below;
};

/* Marks the thread as in the recorder: calls of a signal handler pass meanwhile (log.h). False: it was there already,
 * and a handler has interrupted it. */
static inline bool mark_set(struct log *log, struct mark *mark)
{
    if (log->innermost && !log->below)
        return false;
    *mark = (struct mark){log->innermost, log->below};
    RELAXED_STORE(&log->below, false);
    RELAXED_STORE(&log->innermost, stack_lowest());
    log_fence();
    return true;
}

static inline void mark_clear(struct log *log, const struct mark *mark)
{
    log_fence();
    RELAXED_STORE(&log->innermost, mark->innermost);
    RELAXED_STORE(&log->below, mark->below);
}

/* Sets the accumulator to the provider's. False: there is no place for it. */
static bool provider_select(struct log *log, struct fabric *fabric, struct fabric_provider *provider)
{
    if (fabric->selected == provider)
        return true;
    uint32_t number = __atomic_load_n(&provider->number, __ATOMIC_ACQUIRE);
    if (!number && !provider->refused) {
        number = book_provider(provider->name);
        __atomic_store_n(&provider->number, number, __ATOMIC_RELEASE);
        provider->refused = number == 0;
    }
    if (!number || !book_fabric(&log->own, number))
        return false;
    fabric->selected = provider;
    return true;
}

static struct fabric *fabric_of(struct log *log)
{
    if (!log->fabric && book_fabric_calls(&log->own)) /* other threads check whether it is inside of an operation */
        __atomic_store_n(&log->fabric, calloc(1, sizeof *log->fabric), __ATOMIC_RELEASE);
    return log->fabric;
}

static void fabric_emit(struct log *log, const struct event *event, uint64_t duration)
{
    union {
        struct event_extension extension;
        struct event event;
    } more = {.extension = {.duration = duration, .kind = RECORD_EXTENSION}};
    fold_fabric_event(&log->own.tally, event, &more.extension);
    log_commit(log, event);
    if (event->kind & EVENT_WIDE)
        log_commit(log, &more.event);
}

static void waiting_emit(struct log *log, struct event *event)
{
    if (event->kind)
        fabric_emit(log, event, 0);
    event->kind = 0;
}

static void provider_flush(struct log *log, struct fabric_waiting *waiting)
{
    waiting_emit(log, &waiting->done);
    waiting_emit(log, &waiting->again);
    waiting_emit(log, &waiting->polls);
}

void fabric_flush(struct log *log)
{
    struct fabric *fabric = log->fabric;
    for (uint32_t number = 1; fabric && number <= FABRIC_PROVIDERS_MOST; number++) {
        struct fabric_waiting *waiting = &fabric->waiting[number];
        if (!(waiting->polls.kind | waiting->again.kind | waiting->done.kind) || !book_fabric(&log->own, number))
            continue;
        if (!fabric->selected || fabric->selected->number != number)
            fabric->selected = NULL; /* the accumulator is another provider's now */
        provider_flush(log, waiting);
    }
}

/* Recording has started again, so the ends of earlier operations were missed: sets their level to 0. */
static void epoch_begin(struct log *log, struct fabric *fabric, struct fabric_provider *provider)
{
    uint32_t epoch = RELAXED_LOAD(&fabric_epoch), seen = RELAXED_LOAD(&provider->epoch);
    fabric->epoch = epoch;
    if (seen == epoch ||
        !__atomic_compare_exchange_n(&provider->epoch, &seen, epoch, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return;
    provider_flush(log, &fabric->waiting[provider->number]);
    __atomic_store_n(&provider->outstanding, 0, __ATOMIC_RELEASE);
    uint64_t pending = cell_load(&log->own.tally.fabric.pending->now);
    if (pending)
        fabric_emit(log,
                    &(struct event){.begin = clock_now(),
                                    .duration = (uint32_t)pending,
                                    .kind = EVENT_FABRIC_DONE,
                                    .peer = (int32_t)provider->number},
                    0);
}

static bool provider_turn(struct log *log, struct fabric *fabric, struct fabric_provider *provider)
{
    if (!provider_select(log, fabric, provider))
        return false;
    epoch_begin(log, fabric, provider);
    return true;
}

/* For a thread that has not used this provider before, or has used another one since. NULL: not recorded, or inside of
 * an operation. */
static __attribute__((noinline)) struct fabric *fabric_turn(struct log *log, struct fabric_provider *provider)
{
    struct fabric *fabric = fabric_of(log);
    return fabric && !fabric->inside && provider && provider_turn(log, fabric, provider) ? fabric : NULL;
}

static void op_begin(struct log *log, struct fabric_op *op, struct fabric_provider *provider)
{
    struct fabric *fabric = log->fabric;
    if (__builtin_expect(
            !fabric || fabric->selected != provider || !provider || fabric->epoch != RELAXED_LOAD(&fabric_epoch), 0) &&
        !(fabric = fabric_turn(log, provider)))
        return;
    if (fabric->inside)
        return;
    op->log = log;
    op->fabric = fabric;
    op->provider = provider;
    op->nested = fabric->polling;
    op->key = 0;
    fabric->inside = 1;
    op->begin = clock_now();
}

void fabric_begin_watched(struct fabric_op *op, struct fabric_provider *provider)
{
    struct log *log = log_get();
    struct mark mark;
    if (!log)
        return;
    if (!mark_set(log, &mark)) {
        run_lost(&book.run, LOSS_REENTERED, 1);
        return;
    }
    op_begin(log, op, provider);
    mark_clear(log, &mark);
}

void fabric_poll_begin(struct fabric_op *op, struct fabric_provider *provider)
{
    op->log = NULL;
    if (!RELAXED_LOAD(&fabric_on))
        return;
    fabric_begin_watched(op, provider);
    if (op->log && op->nested) { /* its time belongs to the other operation */
        op->fabric->inside = 0;
        op->log = NULL;
    } else if (op->log) {
        op->fabric->inside = 0; /* callbacks may begin operations */
        op->fabric->polling = true;
    }
}

/* True if the thread is in a call of MPI, or in a callback that such a call makes. */
static inline bool in_mpi(const struct log *log)
{
    return log->state->call != CALL_NONE;
}

static bool is_collective(const struct log *log)
{
    return log->state->call < CALL_COUNT && call_table[log->state->call].fold == FOLD_COLL;
}

/* True for a call whose operation goes on after it has returned. */
static bool is_posting(const struct log *log)
{
    uint32_t call = log->state->call;
    return call < CALL_COUNT && (call_table[call].fold == FOLD_POST_COLL || call == CALL_MPI_Start ||
                                 call == CALL_MPI_Startall || call == CALL_MPI_Comm_idup);
}

/* True if the operation belongs to a nonblocking collective, and not to the call in progress. */
static bool is_anothers(const struct fabric_op *op)
{
    if (is_collective(op->log))
        return fabric_key_known(op->key);
    if (is_posting(op->log))
        fabric_key_learn(op->key);
    return false;
}

static void call_charge(struct fabric_op *op, enum fabric_function function, uint64_t end)
{
    struct log *log = op->log;
    struct fabric *fabric = op->fabric;
    if (!in_mpi(log))
        return;
    bool transfer = fabric_is_transfer(fabric_table[function].kind), other = op->nested || log->stall.depth;
    other = (op->key && is_anothers(op)) || other;
    fabric->used = true;
    if (!op->nested)
        fabric->ticks += end - op->begin;
    if (other) {
        fabric->others++;
    } else if (transfer && is_collective(log)) {
        if (fabric->transfers++ == 0)
            fabric->first = op->begin;
        fabric->last = end;
    }
}

/* Sums it with the next one of the same function. */
static void again_add(struct log *log, struct event *again, const struct event *event, uint64_t ticks)
{
    if (again->kind && (again->tag != event->tag || again->kind != event->kind || again->duration == UINT32_MAX))
        waiting_emit(log, again);
    if (!again->kind) {
        *again = *event;
        again->duration = 0;
        again->bytes = 0;
    }
    again->duration++;
    again->bytes += ticks;
}

/* Changes the number of outstanding operations. Returns the number before. */
static int64_t outstanding_add(const struct log *log, struct fabric_provider *provider, int64_t change)
{
    if (tally_is_shared(&log->own.tally))
        return __atomic_fetch_add(&provider->outstanding, change, __ATOMIC_ACQ_REL);
    int64_t before = RELAXED_LOAD(&provider->outstanding);
    RELAXED_STORE(&provider->outstanding, before + change);
    return before;
}

static void done_wait(struct event *done, const struct fabric_provider *provider, uint64_t now, uint32_t completed,
                      uint32_t failed)
{
    if (!done->kind)
        *done = (struct event){.begin = now, .kind = EVENT_FABRIC_DONE, .peer = (int32_t)provider->number};
    done->duration += completed;
    done->tag += (int32_t)failed;
}

/* With several threads, one may see the end of an operation that another one has not counted yet. Then the other thread
 * counts the end, too, so that no operation is complete before it has begun. */
static void pending_add(const struct fabric_op *op, uint64_t now)
{
    if (outstanding_add(op->log, op->provider, 1) < 0)
        done_wait(&op->fabric->waiting[op->provider->number].done, op->provider, now, 1, 0);
}

/* Ends an operation that took a second or more, or that was refused. */
static __attribute__((noinline)) void end_rare(struct fabric_op *op, struct event event, uint64_t end,
                                               enum fabric_outcome outcome)
{
    struct log *log = op->log;
    struct fabric *fabric = op->fabric;
    struct fabric_waiting *waiting = &fabric->waiting[op->provider->number];
    uint64_t duration = end - op->begin;
    if (outcome == FABRIC_AGAIN) {
        event.kind += EVENT_FABRIC_AGAIN - EVENT_FABRIC;
        again_add(log, &waiting->again, &event, duration);
    } else {
        if (duration >= EVENT_DURATION_WIDE) {
            event.duration = EVENT_DURATION_WIDE;
            event.kind |= EVENT_WIDE;
        }
        if (outcome == FABRIC_FAILED)
            event.kind |= EVENT_FAILED;
        waiting_emit(log, &waiting->done);
        fabric_emit(log, &event, duration);
    }
    if (outcome == FABRIC_PENDING)
        pending_add(op, end);
    if (outcome == FABRIC_DONE || outcome == FABRIC_PENDING) {
        call_charge(op, (enum fabric_function)event.tag, end);
    } else if (in_mpi(log) && !op->nested) {
        fabric->used = true;
        fabric->ticks += duration;
    }
}

static void op_end(struct fabric_op *op, enum fabric_function function, uint64_t bytes, enum fabric_outcome outcome)
{
    uint64_t end = clock_now(), duration = end - op->begin;
    struct log *log = op->log;
    struct fabric *fabric = op->fabric;
    struct event event = {.begin = op->begin,
                          .duration = (uint32_t)duration,
                          .kind = EVENT_FABRIC,
                          .peer = (int32_t)op->provider->number,
                          .tag = (int32_t)function,
                          .bytes = bytes};
    struct event *done = &fabric->waiting[op->provider->number].done;
    if (__builtin_expect(fabric->selected != op->provider, 0)) /* a callback has used another one */
        provider_select(log, fabric, op->provider);
    if (op->nested)
        event.kind |= EVENT_NESTED;
    if (outcome == FABRIC_PENDING)
        event.kind |= EVENT_PENDING;
    if (__builtin_expect(outcome > FABRIC_PENDING || duration >= EVENT_DURATION_WIDE, 0)) {
        end_rare(op, event, end, outcome);
        RELAXED_STORE(&fabric->inside, 0);
        return;
    }
    if (done->kind) /* first: the level must not include operations that ended before */
        waiting_emit(log, done);
    fold_fabric(&log->own.tally, &event, NULL);
    log_commit(log, &event);
    if (outcome == FABRIC_PENDING)
        pending_add(op, end);
    RELAXED_STORE(&fabric->inside, 0);
    if (in_mpi(log))
        call_charge(op, function, end);
}

void fabric_end(struct fabric_op *op, enum fabric_function function, uint64_t bytes, enum fabric_outcome outcome)
{
    struct log *log = op->log;
    struct mark mark;
    if (!mark_set(log, &mark))
        return;
    op_end(op, function, bytes, outcome);
    mark_clear(log, &mark);
}

/* Returns the number of threads inside of an operation, whose end this thread may see. */
static int64_t threads_inside(void)
{
    int64_t inside = 0;
    for (const struct ledger *l = __atomic_load_n(&book.threads, __ATOMIC_ACQUIRE); l; l = l->next) {
        const struct fabric *fabric = __atomic_load_n(&((const struct log *)(const void *)l)->fabric, __ATOMIC_ACQUIRE);
        inside += fabric && RELAXED_LOAD(&fabric->inside);
    }
    return inside;
}

/* Counts completions. Completions of operations that began before recording are ignored. */
static void done_add(struct log *log, struct event *done, struct fabric_provider *provider, uint64_t now,
                     uint32_t completed, bool failed)
{
    int64_t before = outstanding_add(log, provider, -(int64_t)completed);
    int64_t most = before > 0 ? before : 0;
    if (completed > most) {
        int64_t low = before - completed, lowest = tally_is_shared(&log->own.tally) ? -threads_inside() : 0;
        if (low < lowest)
            outstanding_add(log, provider, lowest - low);
        completed = (uint32_t)most;
    }
    if (completed || failed)
        done_wait(done, provider, now, completed, failed);
}

static void poll_end(struct fabric_op *op, bool found, uint32_t completed)
{
    uint64_t end = clock_now();
    struct log *log = op->log;
    struct fabric *fabric = op->fabric;
    struct fabric_waiting *waiting = &fabric->waiting[op->provider->number];
    fabric->polling = false;
    if (!waiting->polls.kind)
        waiting->polls =
            (struct event){.begin = op->begin, .kind = EVENT_FABRIC_POLLS, .peer = (int32_t)op->provider->number};
    waiting->polls.duration++;
    waiting->polls.tag += !found;
    waiting->polls.bytes += end - op->begin;
    if (completed)
        done_add(log, &waiting->done, op->provider, end, completed, false);
    if (in_mpi(log)) {
        fabric->used = true;
        fabric->ticks += end - op->begin;
        if (completed && fabric->transfers)
            fabric->last = end;
    }
    bool many = waiting->polls.duration >= POLLS_MOST;
    if (in_mpi(log) ? many && clock_ns(book.scale, end - waiting->polls.begin) >= POLLS_LEAST_NS : many || found)
        fabric_flush(log);
}

void fabric_poll_end(struct fabric_op *op, bool found, uint32_t completed)
{
    struct log *log = op->log;
    struct mark mark;
    if (!mark_set(log, &mark))
        return;
    poll_end(op, found, completed);
    mark_clear(log, &mark);
}

void fabric_within_begin(struct fabric_op *op)
{
    struct log *log = RELAXED_LOAD(&fabric_on) ? log_get() : NULL;
    struct fabric *fabric = log ? log->fabric : NULL;
    op->log = NULL;
    if (!fabric || !fabric->inside)
        return;
    op->log = log;
    op->fabric = fabric;
    op->nested = fabric->polling;
    fabric->inside = 0;
    fabric->polling = true;
}

void fabric_within_end(struct fabric_op *op)
{
    op->fabric->inside = 1;
    op->fabric->polling = op->nested;
}

static void completion_add(struct log *log, struct fabric_provider *provider, bool failed)
{
    struct fabric *fabric = fabric_of(log);
    if (!fabric || !provider || !provider_turn(log, fabric, provider))
        return;
    uint64_t now = clock_now();
    done_add(log, &fabric->waiting[provider->number].done, provider, now, 1, failed);
    if (fabric->transfers)
        fabric->last = now;
    if (!in_mpi(log))
        fabric_flush(log);
}

void fabric_completed(struct fabric_provider *provider, bool failed)
{
    struct log *log = RELAXED_LOAD(&fabric_on) ? log_get() : NULL;
    struct mark mark;
    if (!log || !mark_set(log, &mark))
        return;
    completion_add(log, provider, failed);
    mark_clear(log, &mark);
}

void fabric_forget(struct log *log)
{
    struct fabric *fabric = log->fabric;
    if (!fabric)
        return;
    fabric->used = false;
    fabric->inside = 0;
    fabric->polling = false;
    fabric->ticks = 0;
    fabric->transfers = fabric->others = 0;
}

void fabric_call_end(struct log *log, const struct event *call, uint64_t duration, struct fabric_records *records)
{
    struct fabric *fabric = log->fabric;
    records->fabric.kind = records->transfers.kind = 0;
    if (!fabric->used)
        return;
    fabric_flush(log);
    struct event record = {.begin = call->begin, .duration = event_kind(call), .comm = call->comm, .peer = call->peer};
    records->fabric = records->transfers = record;
    records->fabric.kind = RECORD_FABRIC;
    records->fabric.tag = (int32_t)fabric->others;
    records->fabric.bytes = fabric->ticks < duration ? fabric->ticks : duration;
    if (fabric->transfers) {
        records->transfers.kind = RECORD_TRANSFERS;
        records->transfers.begin = fabric->first;
        records->transfers.tag = (int32_t)fabric->transfers;
        records->transfers.bytes = fabric->last - fabric->first;
    }
    fabric_forget(log);
}
