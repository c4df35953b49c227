#include "thread/raising.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

static enum delivery_context delivery_context_of(const struct log *log)
{
    if (book_is_shared())
        return CONTEXT_THREADS;
    return log->state->call == CALL_NONE && log->raised.by != CALL_MPI_Finalize ? CONTEXT_FREE : CONTEXT_IN_MPI;
}

/* Returns room for one more instance, or NULL without memory (counted as lost). */
static struct instance *instance_add(struct log *log, enum event_type_id id, const struct comm *comm, uint64_t ticks)
{
    struct raised *raised = &log->raised;
    if (!ARRAY_RESERVED(raised->list, &raised->room, raised->count)) {
        run_lost(&book.run, LOSS_NO_MEMORY, 1);
        return NULL;
    }
    struct instance *instance = &raised->list[raised->count++];
    *instance = (struct instance){.type = &event_types[id], .comm = comm, .ticks = ticks};
    return instance;
}

/* A rank as the program's MPI calls it. */
static int native_rank(int32_t peer)
{
    return peer == PEER_PROC_NULL ? MPI_PROC_NULL
           : peer == PEER_ANY     ? MPI_ANY_SOURCE
           : peer == PEER_ROOT    ? MPI_ROOT
           : peer == PEER_NONE    ? MPI_UNDEFINED
                                  : peer;
}

/* Returns the program's handle. 0: it was freed, and may be the handle of another communicator. */
static uint64_t handle_of(const struct comm *comm)
{
    return comm && !__atomic_load_n(&comm->freed, __ATOMIC_ACQUIRE) ? comm->handle : 0;
}

/* Returns the address behind the call in the program. 0: not known. A call that is not recorded has no path, and that
 * of an earlier call may still be there. */
static uint64_t site_of(const struct log *log, enum call kind)
{
    const struct path_way *way = log->path;
    bool recorded = !(RELAXED_LOAD(&call_modes[kind]) & MODE_QUIET);
    return recorded && way_kind(way) == kind ? way->site : 0;
}

struct message {
    enum message_direction direction;
    int32_t peer, tag;
    unsigned call; /* the call that posted it */
    uint64_t bytes;
};

static struct message message_of(const struct event *event, enum message_direction direction, unsigned call)
{
    return (struct message){direction, event->peer, event->tag, call, event->bytes};
}

static void message_raise(struct log *log, enum event_type_id id, const struct comm *comm, uint64_t begin, uint64_t end,
                          struct message message)
{
    struct instance *instance = listened(id) ? instance_add(log, id, comm, id == MESSAGE_POSTED ? begin : end) : NULL;
    if (instance)
        instance->message = (struct message_instance){.direction = (int)message.direction,
                                                      .peer = native_rank(message.peer),
                                                      .tag = message.tag,
                                                      .call = (int)message.call,
                                                      .bytes = message.bytes,
                                                      .time_ns = clock_ns(book.scale, end - begin),
                                                      .comm = handle_of(comm),
                                                      .site = site_of(log, log->raised.by)};
}

static void level_raise(struct log *log, enum event_type_id id, const struct comm *comm, uint64_t ticks,
                        const struct level_cells *cells)
{
    struct instance *instance = listened(id) ? instance_add(log, id, comm, ticks) : NULL;
    if (instance)
        instance->level =
            (struct level_instance){.level = cell_load(&cells->now), .site = site_of(log, log->raised.by)};
}

/* Raises the changes of levels. Handles know their thresholds. */
static void levels_raise(struct log *log, const struct comm *comm, uint64_t ticks, enum message_direction direction)
{
    if (direction == DIRECTION_RECV) {
        level_raise(log, PENDING_RECVS_OVER, comm, ticks, &comm->shared->recvs);
        return;
    }
    level_raise(log, PENDING_SENDS_OVER, comm, ticks, &comm->shared->sends);
    level_raise(log, PENDING_BYTES_OVER, comm, ticks, &comm->shared->bytes);
}

static void collective_raise(struct log *log, const struct comm *comm, const struct event *event, unsigned call,
                             uint64_t end, uint64_t bytes_out)
{
    struct instance *instance = listened(COLLECTIVE_END) ? instance_add(log, COLLECTIVE_END, comm, end) : NULL;
    bool failed = event->kind & EVENT_FAILED;
    if (instance)
        instance->collective = (struct collective_instance){.call = (int)call,
                                                            .coll = call_table[call].op,
                                                            .root = native_rank(event->peer),
                                                            .failed = failed,
                                                            .bytes_in = failed ? 0 : event->bytes,
                                                            .bytes_out = failed ? 0 : bytes_out,
                                                            .time_ns = clock_ns(book.scale, end - event->begin),
                                                            .comm = handle_of(comm),
                                                            .site = site_of(log, log->raised.by)};
}

static void access_raise(struct log *log, enum event_type_id id, const struct comm *comm, const struct event *event,
                         uint64_t duration)
{
    struct instance *instance = listened(id) ? instance_add(log, id, comm, event->begin + duration) : NULL;
    bool failed = event->kind & EVENT_FAILED;
    if (instance)
        instance->access = (struct access_instance){.call = (int)event_kind(event),
                                                    .number = event->tag,
                                                    .target = native_rank(event->peer),
                                                    .failed = failed,
                                                    .bytes = failed ? 0 : event->bytes,
                                                    .time_ns = clock_ns(book.scale, duration),
                                                    .comm = handle_of(comm),
                                                    .site = site_of(log, log->raised.by)};
}

/* Reads the clock, because a rare call may not be timed. */
static struct instance *rare_add(struct log *log, enum event_type_id id, const struct comm *comm)
{
    return listened(id) ? instance_add(log, id, comm, clock_now()) : NULL;
}

void raise_error(struct log *log, const struct view *view, enum call kind, int code)
{
    const struct comm *comm = view ? view->comm : NULL;
    struct instance *instance = rare_add(log, CALL_ERROR, comm);
    int class = MPI_ERR_UNKNOWN;
    if (!instance)
        return;
    native.Error_class(code, &class);
    instance->error = (struct error_instance){
        .call = (int)kind, .code = code, .error_class = class, .comm = handle_of(comm), .site = site_of(log, kind)};
}

void raise_stall(struct log *log, const struct view *view, const struct event *stalled)
{
    const struct comm *comm = view ? view->comm : NULL;
    struct instance *instance = rare_add(log, CALL_STALLED, comm);
    if (instance)
        instance->stall = (struct stall_instance){.call = (int)log->raised.by,
                                                  .time_ns = clock_ns(book.scale, stalled->bytes),
                                                  .comm = handle_of(comm),
                                                  .site = site_of(log, log->raised.by)};
}

void raise_comm(struct log *log, enum event_type_id id, const struct comm *comm, enum call kind)
{
    struct instance *instance = rare_add(log, id, comm);
    /* MPI_Comm_idup makes it in the call that completes the request */
    bool recorded = !(RELAXED_LOAD(&call_modes[kind]) & MODE_QUIET);
    if (instance)
        instance->life = (struct comm_instance){.call = (int)kind,
                                                .size = comm->size,
                                                .comm = comm->handle,
                                                .parent = handle_of(comm->up),
                                                .site = recorded ? site_of(log, log->raised.by) : 0};
}

void raise_object(struct log *log, enum event_type_id id, const struct comm *comm, uint32_t number, uint64_t handle,
                  enum call kind)
{
    struct instance *instance = rare_add(log, id, comm);
    if (!instance)
        return;
    instance->object = (struct object_instance){.call = (int)kind,
                                                .number = (int)number,
                                                .handle = handle,
                                                .comm = handle_of(comm),
                                                .site = site_of(log, kind)};
    if (id != WINDOW_CREATED && id != FILE_OPENED)
        return;
    struct instance made = *instance; /* first of all */
    memmove(log->raised.list + 1, log->raised.list, (log->raised.count - 1) * sizeof made);
    log->raised.list[0] = made;
}

void raise_call(struct log *log, const struct view *view, const struct event *event, uint64_t duration,
                uint64_t bytes_out)
{
    unsigned call = event_kind(event);
    uint64_t begin = event->begin, end = begin + duration;
    raised_begin(&log->raised, (enum call)call);
    if (event->kind & EVENT_FAILED)
        raise_error(log, view, (enum call)call, log->raised.error);
    if (!view)
        return;
    const struct comm *comm = view->comm;
    bool message = event_is_message(event);
    switch ((enum fold_shape)call_table[call].fold) {
    case FOLD_SEND:
    case FOLD_SENDRECV:
        if (message) {
            message_raise(log, MESSAGE_POSTED, comm, begin, end, message_of(event, DIRECTION_SEND, call));
            message_raise(log, MESSAGE_COMPLETED, comm, begin, end, message_of(event, DIRECTION_SEND, call));
        }
        break;
    case FOLD_RECV:
        if (message)
            message_raise(log, MESSAGE_COMPLETED, comm, begin, end, message_of(event, DIRECTION_RECV, call));
        break;
    case FOLD_POST_SEND:
        if (message) {
            message_raise(log, MESSAGE_POSTED, comm, begin, end, message_of(event, DIRECTION_SEND, call));
            levels_raise(log, comm, end, DIRECTION_SEND);
        }
        break;
    case FOLD_POST_RECV:
        if (!(event->kind & EVENT_FAILED) && event->peer != PEER_PROC_NULL) {
            message_raise(log, MESSAGE_POSTED, comm, begin, end, message_of(event, DIRECTION_RECV, call));
            levels_raise(log, comm, end, DIRECTION_RECV);
        }
        break;
    case FOLD_COLL:
        collective_raise(log, comm, event, call, end, bytes_out);
        break;
    case FOLD_POST_COLL: /* a posted collective ends when its request is completed */
        if (event->kind & EVENT_FAILED)
            collective_raise(log, comm, event, call, end, 0);
        break;
    case FOLD_RMA:
        access_raise(log, RMA_CALL, comm, event, duration);
        break;
    case FOLD_IO:
        access_raise(log, IO_CALL, comm, event, duration);
        break;
    default:
        break;
    }
}

static void request_raise(struct log *log, const struct comm *comm, const struct event *event)
{
    uint64_t end = log->own.tally.end;
    struct instance *instance = listened(REQUEST_COMPLETED) ? instance_add(log, REQUEST_COMPLETED, comm, end) : NULL;
    unsigned kind = event_kind(event);
    bool message = kind == RECORD_SEND_DONE || kind == RECORD_RECV_DONE;
    enum request_outcome outcome = kind == RECORD_CANCELLED     ? OUTCOME_CANCELLED
                                   : event->kind & EVENT_FAILED ? OUTCOME_FAILED
                                                                : OUTCOME_DONE;
    if (instance)
        instance->request = (struct request_instance){.call = (int)event->duration,
                                                      .completed_by = log->raised.by,
                                                      .peer = native_rank(event->peer),
                                                      .tag = message ? event->tag : -1,
                                                      .outcome = (int)outcome,
                                                      .bytes = outcome == OUTCOME_DONE ? event->bytes : 0,
                                                      .time_ns = clock_ns(book.scale, end - event->begin),
                                                      .comm = handle_of(comm),
                                                      .site = site_of(log, log->raised.by)};
}

/* Raises the events of a request that has ended, completed or not. */
static void done_raise(struct log *log, const struct comm *comm, const struct event *event,
                       enum message_direction direction)
{
    uint64_t end = log->own.tally.end;
    bool counted = direction == DIRECTION_SEND ? event->peer >= 0 : event->peer != PEER_PROC_NULL;
    bool whole = event_kind(event) == RECORD_SEND_DONE || event_kind(event) == RECORD_RECV_DONE ||
                 event_kind(event) == RECORD_HALF_DONE;
    if (counted)
        levels_raise(log, comm, end, direction);
    if (whole && event_is_message(event))
        message_raise(log, MESSAGE_COMPLETED, comm, event->begin, end, message_of(event, direction, event->duration));
}

void raise_record(struct log *log, const struct view *view, const struct event *event, uint64_t bytes_out)
{
    const struct comm *comm = view->comm;
    uint64_t end = log->own.tally.end;
    unsigned kind = event_kind(event), posted = event->duration < CALL_COUNT ? event->duration : CALL_NONE;
    bool p2p = call_table[posted].class == CLASS_P2P;
    switch (kind) {
    case RECORD_RECEIVE:
        if (event_is_message(event))
            message_raise(log, MESSAGE_COMPLETED, comm, event->begin, end,
                          message_of(event, DIRECTION_RECV, log->raised.by));
        return;
    case RECORD_SEND_POSTED:
    case RECORD_RECV_POSTED:
        if (kind == RECORD_SEND_POSTED ? event->peer >= 0 : event->peer != PEER_PROC_NULL) {
            enum message_direction direction = kind == RECORD_SEND_POSTED ? DIRECTION_SEND : DIRECTION_RECV;
            message_raise(log, MESSAGE_POSTED, comm, event->begin, end, message_of(event, direction, posted));
            levels_raise(log, comm, end, direction);
        }
        return;
    case RECORD_FREED:
    case RECORD_CANCELLED: /* tag: 1 in receives */
        if (p2p)
            done_raise(log, comm, event, event->tag ? DIRECTION_RECV : DIRECTION_SEND);
        if (kind == RECORD_CANCELLED)
            request_raise(log, comm, event);
        return;
    case RECORD_SEND_DONE:
    case RECORD_RECV_DONE:
        done_raise(log, comm, event, kind == RECORD_SEND_DONE ? DIRECTION_SEND : DIRECTION_RECV);
        request_raise(log, comm, event);
        return;
    case RECORD_HALF_DONE: /* its request is completed with the other half */
        done_raise(log, comm, event, DIRECTION_SEND);
        return;
    case RECORD_COLL_DONE:
        collective_raise(log, comm, event, posted, end, bytes_out);
        request_raise(log, comm, event);
        return;
    case RECORD_COMM_DONE:
    case RECORD_RMA_DONE:
    case RECORD_IO_DONE:
        request_raise(log, comm, event);
        return;
    default:
        return;
    }
}

/* Raises the losses of the recorder since the last time, by cause. They are noticed here, because locks may be held
 * where a loss occurs. */
static void losses_raise(struct log *log)
{
    for (unsigned cause = 0; cause < LOSS_COUNT; cause++) {
        uint64_t lost = __atomic_load_n(&book.run.header->lost[cause], __ATOMIC_RELAXED);
        uint64_t before = __atomic_load_n(&losses_told[cause], __ATOMIC_RELAXED);
        if (lost <= before ||
            !__atomic_compare_exchange_n(&losses_told[cause], &before, lost, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            continue;
        struct instance *instance = listened(EVENT_LOST) ? instance_add(log, EVENT_LOST, NULL, clock_now()) : NULL;
        if (instance)
            instance->loss = (struct loss_instance){.cause = (int)cause, .count = lost - before};
    }
}

/* A callback that calls MPI raises events of its own. They get their own list. */
static void raised_deliver(struct log *log)
{
    struct raised before = log->raised;
    log->raised.list = NULL;
    log->raised.count = log->raised.room = 0;
    log_below(log); /* callbacks of the program may call MPI */
    instances_deliver(before.list, before.count, delivery_context_of(log));
    log_back(log);
    free(log->raised.list);
    log->raised.list = before.list;
    log->raised.room = before.room;
    log->raised.count = 0;
}

void raise_finish_slow(struct log *log)
{
    losses_raise(log);
    if (log->raised.count)
        raised_deliver(log);
}

void raise_begin(struct log *log, const struct view *view, enum call kind)
{
    if (!view || !listened(COLLECTIVE_BEGIN))
        return;
    raised_begin(&log->raised, kind);
    struct instance *instance = instance_add(log, COLLECTIVE_BEGIN, view->comm, clock_now());
    if (!instance)
        return;
    instance->collective = (struct collective_instance){
        .call = kind, .coll = call_table[kind].op, .comm = handle_of(view->comm), .site = log->path->site};
    raised_deliver(log);
}
