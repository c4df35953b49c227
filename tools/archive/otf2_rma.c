#include "archive/otf2_rma.h"

#include "trace/jointcalls.h"

#include <stdlib.h>

enum access_kind { ACCESS_NONE, ACCESS_PUT, ACCESS_GET, ACCESS_ACCUMULATE, ACCESS_FETCH, ACCESS_SWAP };

static enum access_kind access_kind(unsigned call)
{
    switch (call) {
    case CALL_MPI_Put:
    case CALL_MPI_Rput:
        return ACCESS_PUT;
    case CALL_MPI_Get:
    case CALL_MPI_Rget:
        return ACCESS_GET;
    case CALL_MPI_Accumulate:
    case CALL_MPI_Raccumulate:
        return ACCESS_ACCUMULATE;
    case CALL_MPI_Get_accumulate:
    case CALL_MPI_Rget_accumulate:
    case CALL_MPI_Fetch_and_op:
        return ACCESS_FETCH;
    case CALL_MPI_Compare_and_swap:
        return ACCESS_SWAP;
    default:
        return ACCESS_NONE;
    }
}

static bool has_request(unsigned call)
{
    return call == CALL_MPI_Rput || call == CALL_MPI_Rget || call == CALL_MPI_Raccumulate ||
           call == CALL_MPI_Rget_accumulate;
}

static bool is_creation(unsigned call)
{
    return call_is_of_window(call) && call != CALL_MPI_Win_free && call != CALL_MPI_Win_fence;
}

static bool is_allocation(unsigned call)
{
    return call == CALL_MPI_Win_allocate || call == CALL_MPI_Win_allocate_shared;
}

/* ---- which access completes where -------------------------------------------------------------------------------- */

/* The effect of a synchronization on accesses: none, complete here, complete at both ends, or complete here without
 * knowledge of the other end. */
enum completion { COMPLETES_NOTHING, COMPLETES_HERE, COMPLETES_BOTH, COMPLETES_EPOCH };

static enum completion completion_of(unsigned call)
{
    switch (call) {
    case CALL_MPI_Win_flush_local:
    case CALL_MPI_Win_flush_local_all:
        return COMPLETES_HERE;
    case CALL_MPI_Win_fence:
    case CALL_MPI_Win_unlock:
    case CALL_MPI_Win_unlock_all:
    case CALL_MPI_Win_flush:
    case CALL_MPI_Win_flush_all:
    case CALL_MPI_Win_free:
        return COMPLETES_BOTH;
    case CALL_MPI_Win_complete:
        return COMPLETES_EPOCH;
    default:
        return COMPLETES_NOTHING;
    }
}

static int32_t window_size(const struct trace_process *process, const struct trace_object *object)
{
    return process->comms->list[object->comm].size;
}

static struct target *target_of(const struct trace_process *process, struct object_state *state, int32_t rank)
{
    if (!state->targets)
        state->targets = calloc((size_t)window_size(process, state->object), sizeof *state->targets);
    struct target *target = state->targets ? &state->targets[rank] : NULL;
    if (target && target->tears != state->tears) {
        target->tears = state->tears;
        target->locks = 0;
    }
    return target;
}

static int access_begin(struct trace_process *process, struct trace_requests *requests, struct object_state *state,
                        struct traced_call *call)
{
    unsigned kind = event_kind(&call->event);
    struct target *target = target_of(process, state, call->event.peer);
    struct access *access = target ? calloc(1, sizeof *access) : NULL;
    if (!access)
        return -1;
    access->asked = has_request(kind);
    access->gets = access_kind(kind) == ACCESS_GET || access_kind(kind) == ACCESS_FETCH;
    access->id = access->asked ? trace_requests_add(requests, REQUEST_IS_ACCESS, &call->event) : ++requests->last_id;
    if (!access->id || (access->asked && keytable_put(&process->states.asked, &access->keyed, access->id,
                                                      (uint64_t)(uintptr_t)target) != 0)) {
        free(access);
        return -1;
    }
    access->before = target->last;
    *(target->last ? &target->last->next : &target->first) = access;
    target->last = access;
    if (!target->here)
        target->here = access;
    if (!target->active) {
        target->active = true;
        target->next_active = state->active;
        state->active = target;
    }
    call->request = access->id;
    return 0;
}

static int target_complete(struct trace_process *process, struct traced_call *call, struct object_state *state,
                           struct target *target, enum completion completion)
{
    bool both = completion == COMPLETES_BOTH;
    for (struct access *access = completion == COMPLETES_HERE ? target->here : target->first, *next; access;
         access = next) {
        next = access->next;
        if (access->alone)
            continue;
        if (!access->local || (both && !access->gets)) {
            struct call_part *part = call_part_add(call);
            if (!part)
                return -1;
            part->event.kind = access->local ? PART_ACCESS_REMOTE : PART_ACCESS_DONE;
            part->request = access->id;
            part->object = state->object;
        }
        access->local = true;
        if (completion != COMPLETES_HERE || access->gets)
            target_drop(&process->states, target, access);
    }
    target->here = NULL;
    return 0;
}

static int accesses_complete(struct trace_process *process, struct traced_call *call, struct object_state *state)
{
    unsigned kind = event_kind(&call->event);
    enum completion completion = completion_of(kind);
    bool one = kind == CALL_MPI_Win_unlock || kind == CALL_MPI_Win_flush || kind == CALL_MPI_Win_flush_local;
    if (completion == COMPLETES_NOTHING || !state->targets)
        return 0;
    if (one)
        return call->event.peer >= 0
                   ? target_complete(process, call, state, &state->targets[call->event.peer], completion)
                   : 0;
    struct target *kept = NULL;
    for (struct target *target = state->active, *next; target; target = next) {
        next = target->next_active;
        if (target_complete(process, call, state, target, completion) != 0)
            return -1;
        target->active = target->first != NULL;
        target->next_active = kept;
        kept = target->active ? target : kept;
    }
    state->active = kept;
    return 0;
}

/* ---- locks, epochs, life ----------------------------------------------------------------------------------------- */

static int group_read(struct trace_process *process, const struct object_state *state, struct traced_call *call)
{
    const struct trace_comm *comm = &process->comms->list[state->object->comm];
    int32_t *members = malloc(((size_t)comm->size + call->part_count) * sizeof *members);
    uint32_t count = 0;
    if (!members)
        return -1;
    for (size_t i = 0; i < call->part_count; i++) {
        const struct event *event = &call->parts[i].event;
        if (event_kind(event) != RECORD_ARGUMENT || (event->peer != PEER_ANY && event->peer < 0))
            continue;
        bool all = event->peer == PEER_ANY;
        for (int32_t r = all ? 0 : event->peer; r < comm->size && count < (uint32_t)comm->size; r++) {
            members[count++] = comm->self ? process->world_rank : comm->members[r];
            if (!all)
                break;
        }
    }
    call->group = count ? trace_group_find(process->objects, members, count) : NO_GROUP;
    free(members);
    return count && call->group == NO_GROUP ? -1 : 0;
}

/* Groups are named where an epoch begins, and apply where it ends. A test that ended an epoch has a record of it. Other
 * measurements of a call may also follow a test that found nothing. */
static int group_match(struct trace_process *process, struct object_state *state, struct traced_call *call)
{
    unsigned kind = event_kind(&call->event);
    if (kind == CALL_MPI_Win_post || kind == CALL_MPI_Win_start) {
        if (group_read(process, state, call) != 0)
            return -1;
        *(kind == CALL_MPI_Win_post ? &state->posted : &state->started) = call->group;
    } else if (kind == CALL_MPI_Win_complete) {
        call->group = state->started;
        state->started = NO_GROUP;
    } else if (kind == CALL_MPI_Win_wait || (kind == CALL_MPI_Win_test && call_argument(call))) {
        call->group = state->posted;
        state->posted = NO_GROUP;
    }
    return 0;
}

static int lock_match(const struct trace_process *process, struct object_state *state, struct traced_call *call)
{
    unsigned kind = event_kind(&call->event);
    bool one = kind == CALL_MPI_Win_lock || kind == CALL_MPI_Win_unlock;
    bool all = kind == CALL_MPI_Win_lock_all || kind == CALL_MPI_Win_unlock_all;
    if ((!one && !all) || (one && call->event.peer < 0))
        return 0;
    struct target *target = one ? target_of(process, state, call->event.peer) : NULL;
    if (one && !target)
        return -1;
    uint32_t *locks = one ? &target->locks : &state->all_locks;
    bool takes = kind == CALL_MPI_Win_lock || kind == CALL_MPI_Win_lock_all;
    call->pairs = takes || *locks;
    *locks = takes ? *locks + 1 : *locks ? *locks - 1 : 0;
    return 0;
}

static int life_match(struct trace_process *process, struct object_state *state, struct traced_call *call)
{
    unsigned kind = event_kind(&call->event);
    if (is_creation(kind)) {
        call->pairs = !state->open;
        state->open = state->object->has_events = true;
        state->allocated = is_allocation(kind);
    } else if (kind == CALL_MPI_Win_free) {
        call->pairs = state->open;
        call->bytes_out = state->allocated;
        object_state_forget(&process->states, state);
    }
    return 0;
}

int rma_match(struct trace_process *process, struct trace_requests *requests, struct traced_call *call)
{
    int result;
    if ((call->event.kind & EVENT_FAILED) || process->job->in_part || process->job->no_accesses)
        return 0;
    struct object_state *state = process_object_state(process, &call->event, OBJECT_WINDOW, &result);
    if (!state)
        return result;
    if (call->event.peer >= window_size(process, state->object)) {
        process->bad_peer++;
        return 0;
    }
    call->object = state->object;
    if (access_kind(event_kind(&call->event)) && call->event.peer >= 0)
        return access_begin(process, requests, state, call);
    if (group_match(process, state, call) != 0 || accesses_complete(process, call, state) != 0 ||
        lock_match(process, state, call) != 0)
        return -1;
    return life_match(process, state, call);
}

static struct access *access_find(const struct trace_process *process, const struct object_state *state, int32_t peer,
                                  uint64_t id)
{
    if (peer < 0 || peer >= window_size(process, state->object) || !state->targets)
        return NULL;
    return keytable_find(&process->states.asked, id, (uint64_t)(uintptr_t)&state->targets[peer]);
}

bool rma_is_under_way(const struct trace_process *process, const struct trace_object *window, int32_t peer, uint64_t id)
{
    const struct object_state *state = keytable_find(&process->states.states, window->kind, window->id);
    const struct access *access = state ? access_find(process, state, peer, id) : NULL;
    return access && !access->local;
}

int rma_part_match(struct trace_process *process, struct trace_requests *requests, struct call_part *part)
{
    int result;
    if (process->job->in_part || process->job->no_accesses)
        return 0;
    uint64_t id = trace_requests_take(requests, REQUEST_IS_ACCESS, &part->event);
    if (event_kind(&part->event) != RECORD_RMA_DONE || !id)
        return 0; /* an access without a target has no id, and completes with its epoch if its request was freed */
    struct object_state *state = process_object_state(process, &part->event, OBJECT_WINDOW, &result);
    if (!state)
        return result;
    part->object = state->object;
    struct access *access = access_find(process, state, part->event.peer, id);
    if (!access || access->local)
        return 0; /* a synchronization was earlier */
    part->request = id;
    access->local = true;
    if (access->gets || access->alone)
        target_drop(&process->states, &state->targets[part->event.peer], access);
    return 0;
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

static OTF2_RmaAtomicType atomic_type(enum access_kind kind, unsigned op)
{
    if (kind == ACCESS_SWAP)
        return OTF2_RMA_ATOMIC_TYPE_COMPARE_AND_SWAP;
    if (kind == ACCESS_ACCUMULATE) /* with any operation, no data comes back */
        return OTF2_RMA_ATOMIC_TYPE_ACCUMULATE;
    return op == EVENT_OP_SUM       ? OTF2_RMA_ATOMIC_TYPE_FETCH_AND_ADD
           : op == EVENT_OP_REPLACE ? OTF2_RMA_ATOMIC_TYPE_SWAP
                                    : OTF2_RMA_ATOMIC_TYPE_FETCH_AND_ACCUMULATE;
}

/* A swap sends the compared value and the new value. Without an operation, the data at the origin is not used. */
static void write_atomic(struct trace_location *location, const struct traced_call *call, enum access_kind kind,
                         OTF2_TimeStamp now)
{
    uint64_t bytes = call->event.bytes;
    unsigned op = call->event.kind & EVENT_OP;
    uint64_t sent = kind == ACCESS_SWAP ? 2 * bytes : op == EVENT_OP_NO_OP ? 0 : bytes;
    location_write(location, RmaAtomic, now, call->object->id, (uint32_t)call->event.peer, atomic_type(kind, op), sent,
                   kind == ACCESS_ACCUMULATE ? 0 : bytes, call->request);
}

static void write_access(struct trace_location *location, const struct traced_call *call, OTF2_TimeStamp now)
{
    enum access_kind kind = access_kind(event_kind(&call->event));
    uint32_t window = call->object->id, target = (uint32_t)call->event.peer;
    uint64_t bytes = call->event.bytes;
    if (kind == ACCESS_PUT)
        location_write(location, RmaPut, now, window, target, bytes, call->request);
    else if (kind == ACCESS_GET)
        location_write(location, RmaGet, now, window, target, bytes, call->request);
    else
        write_atomic(location, call, kind, now);
}

static OTF2_LockType lock_type(const struct traced_call *call)
{
    const struct event *argument = call_argument(call);
    return argument && argument->tag == 1 ? OTF2_LOCK_EXCLUSIVE : OTF2_LOCK_SHARED;
}

static uint32_t lock_target(const struct traced_call *call)
{
    return call->event.peer >= 0 ? (uint32_t)call->event.peer : OTF2_UNDEFINED_UINT32;
}

void rma_enter(struct trace_location *location, const struct traced_call *call, OTF2_TimeStamp now)
{
    unsigned kind = event_kind(&call->event);
    if (!call->object)
        return;
    if (call->request)
        write_access(location, call, now);
    else if (call_is_of_window(kind))
        location_write(location, RmaCollectiveBegin, now);
    else if (call->pairs && (kind == CALL_MPI_Win_lock || kind == CALL_MPI_Win_lock_all))
        location_write(location, RmaRequestLock, now, call->object->id, lock_target(call), 0, lock_type(call));
}

void rma_part_write(struct trace_location *location, const struct call_part *part, OTF2_TimeStamp now)
{
    unsigned kind = event_kind(&part->event);
    if (!part->object || !part->request)
        return;
    location_check(
        location,
        kind == PART_ACCESS_REMOTE
            ? OTF2_EvtWriter_RmaOpCompleteRemote(location->writer, NULL, now, part->object->id, part->request)
            : OTF2_EvtWriter_RmaOpCompleteNonBlocking(location->writer, NULL, now, part->object->id, part->request));
}

static void write_collective_end(struct trace_location *location, const struct traced_call *call, OTF2_TimeStamp now)
{
    unsigned kind = event_kind(&call->event);
    OTF2_CollectiveOp op = OTF2_COLLECTIVE_OP_BARRIER;
    OTF2_RmaSyncLevel level = OTF2_RMA_SYNC_LEVEL_PROCESS;
    if (is_creation(kind)) {
        op = is_allocation(kind) ? OTF2_COLLECTIVE_OP_CREATE_HANDLE_AND_ALLOCATE : OTF2_COLLECTIVE_OP_CREATE_HANDLE;
        if (call->pairs)
            location_write(location, RmaWinCreate, now, call->object->id);
    } else if (kind == CALL_MPI_Win_free) {
        op = call->bytes_out ? OTF2_COLLECTIVE_OP_DESTROY_HANDLE_AND_DEALLOCATE : OTF2_COLLECTIVE_OP_DESTROY_HANDLE;
        if (call->pairs)
            location_write(location, RmaWinDestroy, now, call->object->id);
    } else {
        level |= OTF2_RMA_SYNC_LEVEL_MEMORY;
    }
    location_write(location, RmaCollectiveEnd, now, op, level, call->object->id, OTF2_COLLECTIVE_ROOT_NONE, 0, 0);
}

static void write_group_sync(struct trace_location *location, const struct traced_call *call, OTF2_TimeStamp now)
{
    unsigned kind = event_kind(&call->event);
    bool begins = kind == CALL_MPI_Win_post || kind == CALL_MPI_Win_start;
    location_write(location, RmaGroupSync, now, begins ? OTF2_RMA_SYNC_LEVEL_NONE : OTF2_RMA_SYNC_LEVEL_MEMORY,
                   call->object->id, TRACE_FIRST_GROUP + call->group);
}

void rma_leave(struct trace_location *location, const struct traced_call *call, OTF2_TimeStamp now)
{
    unsigned kind = event_kind(&call->event);
    struct trace_process *process = location->process;
    if (!call->object)
        return;
    if (call_is_of_window(kind))
        write_collective_end(location, call, now);
    else if (call->group != NO_GROUP)
        write_group_sync(location, call, now);
    else if (kind == CALL_MPI_Win_sync)
        location_write(location, RmaSync, now, call->object->id,
                       (uint32_t)process->rank->run->comms[process_number(process, &call->event)]->rank,
                       OTF2_RMA_SYNC_TYPE_MEMORY);
    else if (call->pairs && (kind == CALL_MPI_Win_lock || kind == CALL_MPI_Win_lock_all))
        location_write(location, RmaAcquireLock, now, call->object->id, lock_target(call), 0, lock_type(call));
    else if (call->pairs)
        location_write(location, RmaReleaseLock, now, call->object->id, lock_target(call), 0);
}
