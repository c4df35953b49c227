#include "archive/otf2_collectives.h"

static const OTF2_CollectiveOp collective_op[COLLECTIVE_COUNT] = {
    [COLLECTIVE_BARRIER] = OTF2_COLLECTIVE_OP_BARRIER,
    [COLLECTIVE_BCAST] = OTF2_COLLECTIVE_OP_BCAST,
    [COLLECTIVE_GATHER] = OTF2_COLLECTIVE_OP_GATHER,
    [COLLECTIVE_GATHERV] = OTF2_COLLECTIVE_OP_GATHERV,
    [COLLECTIVE_SCATTER] = OTF2_COLLECTIVE_OP_SCATTER,
    [COLLECTIVE_SCATTERV] = OTF2_COLLECTIVE_OP_SCATTERV,
    [COLLECTIVE_ALLGATHER] = OTF2_COLLECTIVE_OP_ALLGATHER,
    [COLLECTIVE_ALLGATHERV] = OTF2_COLLECTIVE_OP_ALLGATHERV,
    [COLLECTIVE_ALLTOALL] = OTF2_COLLECTIVE_OP_ALLTOALL,
    [COLLECTIVE_ALLTOALLV] = OTF2_COLLECTIVE_OP_ALLTOALLV,
    [COLLECTIVE_ALLTOALLW] = OTF2_COLLECTIVE_OP_ALLTOALLW,
    [COLLECTIVE_ALLREDUCE] = OTF2_COLLECTIVE_OP_ALLREDUCE,
    [COLLECTIVE_REDUCE] = OTF2_COLLECTIVE_OP_REDUCE,
    [COLLECTIVE_REDUCE_SCATTER] = OTF2_COLLECTIVE_OP_REDUCE_SCATTER,
    [COLLECTIVE_REDUCE_SCATTER_BLOCK] = OTF2_COLLECTIVE_OP_REDUCE_SCATTER_BLOCK,
    [COLLECTIVE_SCAN] = OTF2_COLLECTIVE_OP_SCAN,
    [COLLECTIVE_EXSCAN] = OTF2_COLLECTIVE_OP_EXSCAN,
    /* OTF2 has no neighbor collectives, so they use the operations in their names. The role of their regions shows that
     * not all processes exchange data with all others. */
    [COLLECTIVE_NEIGHBOR_ALLGATHER] = OTF2_COLLECTIVE_OP_ALLGATHER,
    [COLLECTIVE_NEIGHBOR_ALLGATHERV] = OTF2_COLLECTIVE_OP_ALLGATHERV,
    [COLLECTIVE_NEIGHBOR_ALLTOALL] = OTF2_COLLECTIVE_OP_ALLTOALL,
    [COLLECTIVE_NEIGHBOR_ALLTOALLV] = OTF2_COLLECTIVE_OP_ALLTOALLV,
    [COLLECTIVE_NEIGHBOR_ALLTOALLW] = OTF2_COLLECTIVE_OP_ALLTOALLW,
};

static bool op_has_root(unsigned op)
{
    switch (op) {
    case COLLECTIVE_BCAST:
    case COLLECTIVE_GATHER:
    case COLLECTIVE_GATHERV:
    case COLLECTIVE_SCATTER:
    case COLLECTIVE_SCATTERV:
    case COLLECTIVE_REDUCE:
        return true;
    default:
        return false;
    }
}

/* Returns the event that names the call's communicator: the freed communicator, or else the call's own. */
static const struct event *call_place(const struct traced_call *call)
{
    for (size_t i = 0; i < call->part_count; i++)
        if (event_kind(&call->parts[i].event) == RECORD_DESTROYED)
            return &call->parts[i].event;
    return &call->event;
}

static bool call_frees(const struct traced_call *call)
{
    unsigned kind = event_kind(&call->event);
    return kind == CALL_MPI_Comm_free || kind == CALL_MPI_Comm_disconnect;
}

bool call_creates_later(const struct event *event)
{
    return event_kind(event) == CALL_MPI_Comm_idup || event_kind(event) == CALL_MPI_Comm_idup_with_info;
}

/* The communicator that the call has made, or NO_COMM. */
static uint32_t created_comm(struct trace_process *process, const struct traced_call *call)
{
    uint32_t comm = NO_COMM;
    for (size_t i = 0; i < call->part_count && comm == NO_COMM; i++)
        if (event_kind(&call->parts[i].event) == RECORD_CREATED)
            comm = process_comm(process, &call->parts[i].event);
    return comm;
}

uint32_t collective_comm(const struct trace_location *location, const struct traced_call *call)
{
    enum fold_shape shape = call_shape(call);
    if ((shape != FOLD_COLL && shape != FOLD_COMM) || (call->event.kind & EVENT_FAILED) ||
        location->process->job->no_collectives || call_creates_later(&call->event))
        return NO_COMM;
    if (call_frees(call) && call_place(call) == &call->event)
        return NO_COMM; /* which one it freed is not known */
    bool over_parent = event_kind(&call->event) != CALL_MPI_Comm_create_group;
    uint32_t comm = over_parent ? process_comm(location->process, call_place(call)) : NO_COMM;
    if (comm == NO_COMM && shape == FOLD_COMM)
        comm = created_comm(location->process, call);
    return comm != NO_COMM && location->process->comms->list[comm].partial ? NO_COMM : comm;
}

static uint32_t root_of(struct trace_process *process, const struct event *event, unsigned op)
{
    if (!op_has_root(op))
        return OTF2_COLLECTIVE_ROOT_NONE;
    if (event->peer >= 0 && event->peer < process_place(process, event)->peers)
        return (uint32_t)event->peer;
    return event->peer == PEER_ROOT        ? OTF2_COLLECTIVE_ROOT_SELF
           : event->peer == PEER_PROC_NULL ? OTF2_COLLECTIVE_ROOT_THIS_GROUP
                                           : OTF2_COLLECTIVE_ROOT_NONE;
}

static void collective_end(struct trace_location *location, const struct traced_call *call, OTF2_TimeStamp now)
{
    struct trace_process *process = location->process;
    unsigned op = call_table[event_kind(&call->event)].op;
    location_write(location, MpiCollectiveEnd, now, collective_op[op], process_comm(process, &call->event),
                   root_of(process, &call->event, op), call->event.bytes, call->bytes_out);
}

/* Writes `part` if it creates a communicator that the archive defines. */
static void write_created(struct trace_location *location, const struct call_part *part, OTF2_TimeStamp now)
{
    struct trace_process *process = location->process;
    if (event_kind(&part->event) != RECORD_CREATED)
        return;
    uint32_t comm = process_comm(process, &part->event);
    if (comm == NO_COMM || process->comms->list[comm].partial ||
        process->created[process_number(process, &part->event)])
        return;
    process->created[process_number(process, &part->event)] = true;
    __atomic_store_n(&process->comms->list[comm].has_events, true, __ATOMIC_RELAXED); /* other ranks do, too */
    location_write(location, CommCreate, now, comm);
}

/* Only a communicator whose creation is in the archive is destroyed in it. */
static void comm_end(struct trace_location *location, const struct traced_call *call, OTF2_TimeStamp now)
{
    struct trace_process *process = location->process;
    const struct event *place = call_place(call);
    uint32_t comm = collective_comm(location, call);
    bool ends = call_frees(call);
    for (size_t i = 0; i < call->part_count; i++)
        write_created(location, &call->parts[i], now);
    if (ends && process->created[process_number(process, place)]) {
        process->created[process_number(process, place)] = false;
        location_write(location, CommDestroy, now, comm);
    }
    location_write(location, MpiCollectiveEnd, now,
                   ends ? OTF2_COLLECTIVE_OP_DESTROY_HANDLE : OTF2_COLLECTIVE_OP_CREATE_HANDLE, comm,
                   OTF2_COLLECTIVE_ROOT_NONE, 0, 0);
}

void collective_part_write(struct trace_location *location, const struct call_part *part, const struct call_part *next,
                           OTF2_TimeStamp now)
{
    struct trace_process *process = location->process;
    const struct event *event = &part->event;
    if (!part->request)
        return;
    uint32_t comm = process_comm(process, event);
    if (event->kind & EVENT_FAILED || comm == NO_COMM) { /* the latter occurs only in damaged files */
        location_write(location, MpiRequestCancelled, now, part->request);
        return;
    }
    unsigned op = event->duration < CALL_COUNT ? call_table[event->duration].op : COLLECTIVE_NONE;
    bool creates = event_kind(event) == RECORD_COMM_DONE;
    if (creates && next)
        write_created(location, next, now);
    location_write(location, NonBlockingCollectiveComplete, now,
                   creates ? OTF2_COLLECTIVE_OP_CREATE_HANDLE : collective_op[op], comm,
                   creates ? OTF2_COLLECTIVE_ROOT_NONE : root_of(process, event, op), creates ? 0 : event->bytes,
                   creates ? 0 : part->bytes_out, part->request);
}

void collective_leave(struct trace_location *location, const struct traced_call *call, OTF2_TimeStamp now)
{
    if (collective_comm(location, call) == NO_COMM)
        return;
    if (call_shape(call) == FOLD_COLL)
        collective_end(location, call, now);
    else
        comm_end(location, call, now);
}
