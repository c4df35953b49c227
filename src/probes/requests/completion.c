#include "requests/completion.h"

#include "requests/ending.h"
#include "thread/raising.h"
#include "wrappers/message.h"
#include "wrappers/next.h"

#include <stdlib.h>

static size_t scratch_layout(struct completion *c, void *memory, int count, bool own_statuses, bool takes)
{
    size_t n = (size_t)count, at = 0;
    char *base = memory;
#define PLACE(field, type)                                                                                             \
    do {                                                                                                               \
        if (base)                                                                                                      \
            c->field = (type *)(void *)(base + at);                                                                    \
        at += (n * sizeof(type) + 15) / 16 * 16;                                                                       \
    } while (0)
    PLACE(saved, uint64_t);
    PLACE(done, struct request *);
    PLACE(status, const MPI_Status *);
    if (takes)
        PLACE(taken, struct request *);
    if (own_statuses)
        PLACE(statuses, MPI_Status);
#undef PLACE
    return at;
}

/* Returns memory for the arrays. A nested call (from a callback) must not use the scratch memory of the outer call. */
static void *completion_memory(struct completion *c, size_t bytes)
{
    struct log *log = c->probe.log;
    bool quiet = probe_is_quiet(&c->probe);
    bool inside = log->scratch.lent || (quiet ? log->state->call != CALL_NONE : c->probe.nested);
    c->own = NULL;
    c->lent = quiet && !inside;
    log->scratch.lent += c->lent;
    if (!inside)
        return scratch_get(&log->scratch, bytes);
    c->own = calloc(1, bytes + 1);
    if (!c->own)
        run_lost(&book.run, LOSS_NO_MEMORY, 1);
    return c->own;
}

void completion_memory_release(struct completion *c)
{
    if (c->saved == &c->one_saved || c->saved == c->few.saved)
        return;
    bool outermost = c->lent ? c->probe.log->scratch.lent == 1 : !c->probe.nested && !c->probe.log->scratch.lent;
    if (c->own)
        free(c->own);
    else if (outermost && (c->lent || !probe_is_quiet(&c->probe)))
        scratch_trim(&c->probe.log->scratch);
}

static void many_lay(struct completion *c, bool own_statuses, bool takes)
{
    c->taken = NULL;
    c->statuses = NULL;
    void *memory = completion_memory(c, scratch_layout(c, NULL, c->count, own_statuses, takes));
    if (!memory)
        c->count = 0;
    else
        scratch_layout(c, memory, c->count, own_statuses, takes);
}

void completion_take(struct completion *c, enum call kind, int count, MPI_Request *handles, bool own_statuses)
{
    c->kind = kind;
    c->handles = handles;
    c->count = count > 0 && handles ? count : 0;
    c->done_count = c->quiet_count = 0;
    bool takes = RELAXED_LOAD(&book.concurrent); /* once: another thread's first session may change it */
    if (c->count <= COMPLETION_FEW)
        few_lay(c, own_statuses, takes);
    else
        many_lay(c, own_statuses, takes);
    for (int i = 0; i < c->count; i++)
        c->saved[i] = abi_handle_of_request(handles[i]);
    bool starts = call_table[kind].fold == FOLD_START;
    for (int i = 0; c->taken && i < c->count; i++)
        c->taken[i] = handles[i] == native.request_null ? NULL
                      : starts                          ? request_take_idle(c->saved[i], true)
                                                        : request_take(c->saved[i], &handles[i]);
}

void completion_set_one(struct completion *c, enum call kind, MPI_Request *handle, uint64_t saved,
                        struct request *taken)
{
    c->kind = kind;
    c->handles = handle;
    c->count = handle ? 1 : 0;
    c->statuses = NULL;
    c->done_count = c->quiet_count = 0;
    c->lent = false;
    c->own = NULL;
    c->one_saved = saved;
    c->one_taken = taken == LEFT_THERE ? NULL : taken;
    c->saved = &c->one_saved;
    c->done = &c->one_done;
    c->status = &c->one_status;
    c->taken = taken == LEFT_THERE ? NULL : &c->one_taken;
}

/* Forgets a request that is about to be freed. MPI may give its handle to another thread at once. */
static void partitioned_forget(uint64_t handle)
{
    if (book_object_find(&book.partitioned, handle))
        book_object_set(&book.partitioned, handle, NULL);
}

/* Undoes partitioned_forget: MPI refused to free the request. */
static void partitioned_restore(const struct completion *c, int result)
{
    const struct request *request = c->one_taken;
    if (result != MPI_SUCCESS && request && request->posted.comm && kind_is_partitioned(request->posted.duration))
        book_object_set(&book.partitioned, c->one_saved, book.comms[request->posted.comm]);
}

void completion_take_freed(struct completion *c, enum call kind, MPI_Request *handle)
{
    uint64_t saved = handle ? abi_handle_of_request(*handle) : 0;
    bool some = handle && *handle != native.request_null;
    struct request *taken = some ? request_remove(saved, handle) : NULL;
    partitioned_forget(saved);
    completion_set_one(c, kind, handle, saved, taken);
}

/* Takes out a request that a call has left in the table. If another thread has opened a session meanwhile, a handle
 * that MPI has freed may already be a request of that thread. Then only the request of this variable is taken. */
static struct request *request_left(uint64_t handle, const MPI_Request *where)
{
    return __builtin_expect(book_is_shared(), 0) ? request_take_there(handle, where) : request_take(handle, where);
}

/* Ends a request whose record is written. A persistent request stays. */
static void request_done(struct log *log, struct request *request, const MPI_Status *status, int result)
{
    comm_completed(log, request, status, result);
    if (!request->persistent)
        request_release(request);
}

/* Leaves a call that has ended one request in the usual way, without arrays. False: it ended in another way. */
static bool single_ended(struct probe *probe, enum call kind, struct request *request, const MPI_Status *status)
{
    struct log *log = probe->log;
    struct event event = {.kind = (uint16_t)kind, .peer = 1, .tag = 1};
    if (!request || probe->mode || !request_has_ended(request, status) || request->quiet ||
        request->type == REQUEST_GENERAL || RELAXED_LOAD(&listeners))
        return false;
    if (request->persistent)
        request_state_set(request, REQUEST_IDLE); /* for other threads, too */
    probe_leave(probe, FOLD_COMPLETION, 0, NULL, MPI_SUCCESS, event, 0);
    request_record(log, request, status, false);
    request_done(log, request, status, MPI_SUCCESS);
    return true;
}

void single_leave(struct probe *probe, enum call kind, MPI_Request *handle, uint64_t saved, struct request *taken,
                  int result, bool ended, const MPI_Status *status)
{
    struct completion c;
    if (!ended && taken == LEFT_THERE && handle &&
        !probe_is_quiet(probe)) { /* a test that found its request still pending */
        struct event event = {.kind = (uint16_t)kind, .tag = 1, .bytes = request_begin(saved)};
        probe_leave(probe, FOLD_COMPLETION, 0, NULL, result, event, 0);
        probe_finish(probe);
        return;
    }
    if (ended && handle && result == MPI_SUCCESS && saved != abi_handle_of_request(native.request_null)) {
        if (taken == LEFT_THERE)
            taken = request_left(saved, handle);
        if (single_ended(probe, kind, taken, status))
            return;
    }
    c.probe = *probe;
    completion_set_one(&c, kind, handle, saved, taken);
    if (ended && completion_ended(&c, 0, result))
        completion_done(&c, 0, result, status);
    completion_flush(&c, result);
}

/* A request that was posted by a call that is not recorded is complete. It gets no record. A communicator that it made
 * is added. */
static void quiet_done(struct completion *c, struct request *request, const MPI_Status *status)
{
    if (request->type == REQUEST_COMM) {
        int place = c->count - ++c->quiet_count;
        c->done[place] = request;
        c->status[place] = status;
    } else if (request->persistent) {
        request->quiet = false;
        request_state_set(request, REQUEST_IDLE);
    } else {
        request_release(request);
    }
}

/* Returns the request that the call has completed, or NULL: not known. */
static struct request *request_ended(struct completion *c, int index)
{
    if (!c->taken)
        return request_left(c->saved[index], &c->handles[index]);
    struct request *request = c->taken[index];
    c->taken[index] = NULL;
    return request;
}

void completion_done(struct completion *c, int index, int result, const MPI_Status *status)
{
    if (index < 0 || index >= c->count || c->saved[index] == abi_handle_of_request(native.request_null))
        return;
    struct request *request = request_ended(c, index);
    if (!request) {
        run_lost(&book.run, LOSS_UNKNOWN_REQUEST, 1);
        return;
    }
    const MPI_Status *told = result == MPI_SUCCESS ? status : NULL;
    if (!request_has_ended(request, told)) /* an inactive persistent request completes nothing */
        return;
    if (request->quiet) {
        quiet_done(c, request, status);
        return;
    }
    if (request->type == REQUEST_GENERAL) { /* not on a communicator that could be charged */
        request_release(request);
        return;
    }
    if (request->persistent)
        request_state_set(request, REQUEST_IDLE); /* for other threads, too */
    c->done[c->done_count] = request;
    c->status[c->done_count++] = status;
}

bool completion_ended(const struct completion *c, int index, int result)
{
    if (result == MPI_SUCCESS)
        return true;
    if (index >= c->count)
        return false;
    if (c->handles[index] == native.request_null)
        return true;
    return receive_arrived_slow(result); /* a persistent request keeps its handle */
}

static void completion_done_all(struct completion *c, int result, const MPI_Status *statuses)
{
    int class = MPI_SUCCESS;
    if (result != MPI_SUCCESS)
        native.Error_class(result, &class);
    for (int i = 0; i < c->count; i++) {
        const MPI_Status *status = statuses ? &statuses[i] : NULL;
        bool ended =
            result == MPI_SUCCESS || (class == MPI_ERR_IN_STATUS && status ? status->MPI_ERROR != MPI_ERR_PENDING
                                                                           : completion_ended(c, i, result));
        if (ended)
            completion_done(c, i, result, status);
    }
}

void completion_done_some(struct completion *c, int result, int outcount, const int *indices,
                          const MPI_Status *statuses)
{
    int class = MPI_SUCCESS;
    if (result != MPI_SUCCESS)
        native.Error_class(result, &class);
    if (!indices || (class != MPI_SUCCESS && class != MPI_ERR_IN_STATUS))
        return;
    for (int i = 0; i < outcount && i < c->count; i++)
        completion_done(c, indices[i], result, statuses ? &statuses[i] : NULL);
}

bool receive_arrived_slow(int result)
{
    int class = MPI_ERR_OTHER;
    native.Error_class(result, &class);
    return class == MPI_ERR_TRUNCATE;
}

void untaken_put_back(struct completion *c)
{
    for (int i = 0; c->taken && i < c->count; i++)
        if (c->taken[i] && (!c->taken[i]->persistent || c->kind == CALL_MPI_Request_free)) /* else it is in the table */
            request_put(c->taken[i], c->saved[i]);
}

/* Returns when the request of a failed test was posted, which names the request. 0: not a failed test. */
static uint64_t tested_begin(const struct completion *c)
{
    if (c->kind != CALL_MPI_Test || c->count != 1 || c->done_count)
        return 0;
    if (!c->taken)
        return request_begin(c->saved[0]);
    return c->one_taken && c->one_taken->state == REQUEST_ACTIVE ? c->one_taken->posted.begin : 0;
}

/* True if a call that is not timed must store when it ended. A request needs that if it was timed when posted, or if
 * another thread made its communicator after the last time known here. */
static bool end_is_wanted(const struct completion *c)
{
    if (c->probe.mode == 0 || c->probe.begin)
        return false;
    uint64_t known = cell_load(&c->probe.log->own.tally.end);
    for (int i = 0; i < c->done_count; i++) {
        const struct event *posted = &c->done[i]->posted;
        if (posted->begin || (posted->comm && book.comms[posted->comm]->record->since_ticks > known))
            return true;
    }
    return false;
}

/* Writes the call's own event, or its substitute before the records. `end`: as in probe_leave_at. */
HOT void flush_begin(struct completion *c, int result, uint64_t end)
{
    struct log *log = c->probe.log;
    struct event event = {.kind = (uint16_t)c->kind, .peer = c->done_count, .tag = c->count, .bytes = tested_begin(c)};
    if (probe_is_quiet(&c->probe)) {
        if (c->done_count)
            log_passed(log, c->kind, c->done_count);
        return;
    }
    if (end_is_wanted(c))
        log_end_now(log);
    probe_leave_at(&c->probe, FOLD_COMPLETION, 0, NULL, result, event, 0, end);
}

static void quiet_finish(struct completion *c, int result)
{
    for (int i = c->count - c->quiet_count; i < c->count; i++) {
        comm_completed(c->probe.log, c->done[i], c->status[i], result);
        request_release(c->done[i]);
    }
}

/* Ends the requests whose records are written. */
static void done_release(struct completion *c, int result)
{
    for (int i = 0; i < c->done_count; i++)
        request_done(c->probe.log, c->done[i], c->status[i], result);
}

static void ended_record(struct log *log, struct request *request, const MPI_Status *status, int result)
{
    MPI_Status corrected;
    if (__builtin_expect(result == MPI_SUCCESS, 1))
        request_record(log, request, status, false);
    else if (request_cut_off(request, status, result, &corrected))
        request_record(log, request, &corrected, false);
    else
        request_record(log, request, status, request_failed(status, result));
}

/* Writes all records first, then releases requests or makes communicators: requests need not hold theirs. */
void completion_records(struct completion *c, int result)
{
    for (int i = 0; i < c->done_count; i++)
        ended_record(c->probe.log, c->done[i], c->status[i], result);
    done_release(c, result);
    quiet_finish(c, result);
    completion_end(c);
}

HOT void flush_at(struct completion *c, int result, uint64_t end)
{
    if (c->taken)
        untaken_put_back(c);
    flush_begin(c, result, end);
    completion_records(c, result);
}

void completion_flush(struct completion *c, int result)
{
    flush_at(c, result, 0);
}

void completion_any(struct completion *c, int index, int result, const MPI_Status *status)
{
    if (completion_ended(c, index, result))
        completion_done(c, index, result, status);
    completion_flush(c, result);
}

void completion_flush_all(struct completion *c, int result, const MPI_Status *statuses, uint64_t end)
{
    completion_done_all(c, result, statuses);
    flush_at(c, result, end);
}

void request_told(struct log *log, uint64_t handle, uint64_t begin)
{
    log->requests.reported_handle = handle;
    log->requests.reported_at =
        begin || knob_load(KNOB_TIMING) == 0 ? begin : clock_now(); /* a filter may exclude the call */
    comm_told(log, handle);
    log->requests.reported_events = cell_load(&log->own.tally.cells->events);
    raise_finish(log);
}

/* True if this request existed when it was reported: the thread has got the same handle for no later request. */
static bool was_told(const struct log *log, uint64_t handle, uint64_t posted)
{
    bool before = posted && posted < log->requests.reported_at;
    return log->requests.reported_handle == handle &&
           (before || log->requests.reported_events == cell_load(&log->own.tally.cells->events));
}

bool completion_ended_unseen(struct completion *c, MPI_Status *status)
{
    const struct request *request = c->count ? c->one_taken : NULL;
    const struct log *log = c->probe.log;
    int ended = 0;
    if (!request || request->state != REQUEST_ACTIVE || request->quiet || request->posted.peer == PEER_PROC_NULL ||
        request->type > REQUEST_RECV || kind_is_partitioned(request->posted.duration))
        return false;
    return was_told(log, c->one_saved, request->posted.begin) &&
           NEXT(&next_of_c, MPI_Request_get_status)(*c->handles, &ended, status) == MPI_SUCCESS && ended;
}

static void freed_record(struct completion *c, struct request *request, const MPI_Status *end)
{
    struct log *log = c->probe.log;
    if (end && request->type == REQUEST_RECV) {
        request_record(log, request, end, false);
        c->done_count = 1;
    } else if (end && abi_status_cancelled(end)) {
        gone_record(log, request, RECORD_CANCELLED);
    } else {
        gone_record(log, request, RECORD_FREED);
        if (request_receives(request) && request->posted.peer != PEER_PROC_NULL)
            run_lost(&book.run, LOSS_UNSEEN_COMPLETION, 1);
    }
}

void completion_freed(struct completion *c, int result, const MPI_Status *end)
{
    struct request *request = result == MPI_SUCCESS && c->count ? c->one_taken : NULL;
    if (request)
        c->one_taken = NULL;
    partitioned_restore(c, result);
    untaken_put_back(c);
    bool active = request && request->state == REQUEST_ACTIVE && !request->quiet && request->type != REQUEST_GENERAL;
    struct event event = {.kind = (uint16_t)c->kind, .peer = active, .tag = c->count};
    if (probe_is_quiet(&c->probe) && active)
        log_passed(c->probe.log, c->kind, 1);
    probe_leave(&c->probe, FOLD_COMPLETION, 0, NULL, result, event, 0);
    if (active)
        freed_record(c, request, end);
    if (request)
        request_release(request);
    completion_end(c);
}
