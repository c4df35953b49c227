#include "otf2_events.h"

#include "otf2_io.h"
#include "otf2_rma.h"

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
    /* OTF2 has none among neighbours: the ones that they are named after. Their regions' role says that not everybody
     * gets something from everybody. */
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

/* The number that the communicator has in the run file: nearly always the slot, which was never another's. */
uint32_t process_number(const struct trace_process *process, const struct event *event)
{
    const struct run_reader *run = process->rank->run;
    if (!run)
        return 0;
    const struct comm_record *now = event->comm < run->slot_count ? run->comms[event->comm] : NULL;
    return now && event->begin >= now->since_ticks ? event->comm : run_reader_comm(run, event);
}

uint32_t process_comm(const struct trace_process *process, const struct event *event)
{
    return trace_comm_find(process->comms, process->job, process->world_rank, process_number(process, event));
}

static int32_t peers_of(const struct trace_process *process, const struct event *event)
{
    return trace_comm_peers(&process->comms->list[process_comm(process, event)],
                            process->rank->run->comms[process_number(process, event)]);
}

/* Is the peer, a rank of the record's communicator, left out? In an inter-communicator it is in the other group. */
static bool peer_left_out(const struct trace_process *process, const struct event *event)
{
    uint32_t index = process_comm(process, event);
    if (!process->job->selection || index == NO_COMM || event->peer < 0)
        return false;
    const struct trace_comm *comm = &process->comms->list[index];
    if (!comm->partial || event->peer >= peers_of(process, event))
        return false;
    const int32_t *group = comm->members;
    int32_t own = process->rank->run->comms[process_number(process, event)]->rank;
    if (comm->inter && own < comm->size && comm->members[own] == process->world_rank)
        group = comm->remote;
    return process->job->ranks[group[event->peer]].left_out;
}

bool process_has_collective(const struct trace_process *process, const struct event *event)
{
    uint32_t comm = process_comm(process, event);
    return comm != NO_COMM && !process->comms->list[comm].partial;
}

static bool is_receive(const struct event *event)
{
    unsigned kind = event_kind(event);
    return kind == RECORD_RECEIVE || kind == RECORD_RECV_DONE ||
           (kind < CALL_COUNT && call_table[kind].fold == FOLD_RECV);
}

/* One end of a message on a communicator that the archive does not have. */
static void message_leave_out(struct trace_process *process, const struct event *event)
{
    const struct run_reader *run = process->rank->run;
    uint32_t number = process_number(process, event);
    const struct comm_record *record = run && number && number < run->comm_count ? run->comms[number] : NULL;
    if (process->job->in_part)
        return; /* none are written */
    if (record && record->flags & COMM_FOREIGN)
        ++*(is_receive(event) ? &process->foreign_received : &process->foreign_sent);
    else if (record)
        process->absent_comm++;
    else
        process->unknown_comm++;
}

bool process_has_message(struct trace_process *process, const struct event *event)
{
    if (event->peer < 0 || (event->kind & EVENT_FAILED) || process->job->no_messages)
        return false;
    if (process_comm(process, event) == NO_COMM) {
        message_leave_out(process, event);
        return false;
    }
    if (event->peer >= peers_of(process, event)) {
        process->bad_peer++;
        return false;
    }
    if (peer_left_out(process, event)) {
        process->left_out++;
        return false;
    }
    return true;
}

bool process_has_receive(const struct trace_process *process, const struct event *event)
{
    return event->peer != PEER_PROC_NULL && !(event->kind & EVENT_FAILED) && !process->job->no_messages &&
           process_comm(process, event) != NO_COMM && !peer_left_out(process, event);
}

/* The time to write at: that of `ticks`, or of the last event where that is later. */
static OTF2_TimeStamp advance(struct trace_location *location, uint64_t ticks)
{
    struct trace_process *process = location->process;
    uint64_t now = trace_stamp(process->job, process->rank, ticks);
    if (now > location->last_ns) {
        location->last_ns = now;
        location->last_ticks = ticks;
    }
    return location->last_ns;
}

void location_range(const struct trace_location *location)
{
    struct trace_job *job = location->process->job;
    if (!location->last_ns)
        return;
    uint64_t corrected = trace_time(job, location->process->rank, location->last_ticks);
    trace_job_reaches(job, corrected > location->last_ns ? corrected : location->last_ns);
}

static void write_send(struct trace_location *location, const struct event *event, OTF2_TimeStamp now)
{
    if (process_has_message(location->process, event))
        location_check(location, OTF2_EvtWriter_MpiSend(location->writer, NULL, now, (uint32_t)event->peer,
                                                        process_comm(location->process, event), (uint32_t)event->tag,
                                                        event->bytes));
}

static void write_receive(struct trace_location *location, const struct event *event, OTF2_TimeStamp now)
{
    if (process_has_message(location->process, event))
        location_check(location, OTF2_EvtWriter_MpiRecv(location->writer, NULL, now, (uint32_t)event->peer,
                                                        process_comm(location->process, event), (uint32_t)event->tag,
                                                        event->bytes));
}

static void write_isend(struct trace_location *location, const struct event *event, uint64_t request,
                        OTF2_TimeStamp now)
{
    if (request)
        location_check(location, OTF2_EvtWriter_MpiIsend(location->writer, NULL, now, (uint32_t)event->peer,
                                                         process_comm(location->process, event), (uint32_t)event->tag,
                                                         event->bytes, request));
}

static void write_irecv_request(struct trace_location *location, uint64_t request, OTF2_TimeStamp now)
{
    if (request)
        location_check(location, OTF2_EvtWriter_MpiIrecvRequest(location->writer, NULL, now, request));
}

static void write_collective_request(struct trace_location *location, uint64_t request, OTF2_TimeStamp now)
{
    if (request)
        location_check(location, OTF2_EvtWriter_NonBlockingCollectiveRequest(location->writer, NULL, now, request));
}

/* The event that names the communicator which the call works on: the one that it freed, else the call's own. */
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
static uint32_t created_comm(const struct trace_process *process, const struct traced_call *call)
{
    uint32_t comm = NO_COMM;
    for (size_t i = 0; i < call->part_count && comm == NO_COMM; i++)
        if (event_kind(&call->parts[i].event) == RECORD_CREATED)
            comm = process_comm(process, &call->parts[i].event);
    return comm;
}

/* A blocking collective, or the creation or end of a communicator: a collective over its communicator. Over the new one
 * where not all of the parent take part, or there is none. NO_COMM: it is no collective, or not known which. */
static uint32_t collective_comm(const struct trace_location *location, const struct traced_call *call)
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

static void write_metric(struct trace_location *location, const struct scheduled *sample, OTF2_TimeStamp now)
{
    uint32_t type = location->process->job->instruments.metrics[sample->what].record->type;
    OTF2_Type types[1] = {trace_metric_type(type)};
    OTF2_MetricValue values[1] = {{.unsigned_int = sample->value}}; /* the three members share their bits */
    location_check(location, OTF2_EvtWriter_Metric(location->writer, NULL, now, sample->what, 1, types, values));
}

/* Regions and samples are part of a selection that does not ask for functions. */
static bool scheduled_is_shown(const struct trace_location *location, const struct scheduled *what)
{
    const struct trace_job *job = location->process->job;
    const struct selection *selection = job->selection;
    if (!selection)
        return true;
    const char *comm = what->is_metric ? job->instruments.metrics[what->what].comm : "";
    return !selection->by_function && selection_has_comm(selection, comm[0] ? comm : NULL, NULL) &&
           selection_has_time(selection, (int64_t)trace_time(job, location->process->rank, what->begin),
                              (int64_t)trace_time(job, location->process->rank, what->end));
}

static bool call_is_shown(const struct trace_location *location, const struct traced_call *call)
{
    const struct trace_process *process = location->process;
    const struct selection *selection = process->job->selection;
    return !selection || selection_has_call(selection, process->rank->run, &call->event,
                                            (int64_t)trace_time(process->job, process->rank, call->event.begin),
                                            (int64_t)trace_time(process->job, process->rank, call->end));
}

/* Regions and samples up to a point in time, as schedule_step has it. */
static void schedule_write(struct trace_location *location, uint64_t until, uint64_t call_end)
{
    const struct scheduled *what;
    uint64_t at;
    for (enum schedule_step step; (step = schedule_step(&location->schedule, until, call_end, &what, &at));) {
        if (!scheduled_is_shown(location, what))
            continue;
        OTF2_TimeStamp now = advance(location, at);
        if (step == STEP_ENTER)
            location_check(location, OTF2_EvtWriter_Enter(location->writer, NULL, now, what->what));
        else if (step == STEP_LEAVE)
            location_check(location, OTF2_EvtWriter_Leave(location->writer, NULL, now, what->what));
        else
            write_metric(location, what, now);
    }
}

/* A region that began inside of a call ends inside of it, whatever the file says. */
static void schedule_close(struct trace_location *location, uint64_t end)
{
    schedule_write(location, end, end);
    for (const struct scheduled *region; (region = schedule_abandon(&location->schedule));)
        if (scheduled_is_shown(location, region))
            location_check(location,
                           OTF2_EvtWriter_Leave(location->writer, NULL, advance(location, end), region->what));
}

void location_end(struct trace_location *location)
{
    if (!location->process->rank->run)
        return;
    schedule_write(location, UINT64_MAX, UINT64_MAX);
    schedule_close(location, UINT64_MAX);
}

/* A completion call that is not recorded has a region without a name of its own, around what it completed. */
static uint32_t region_of(struct trace_location *location, const struct traced_call *call)
{
    return trace_region(location->process->job, call_is_mark(call) ? CALL_NONE : event_kind(&call->event));
}

void location_enter(struct trace_location *location, const struct traced_call *call)
{
    schedule_write(location, call->event.begin, call->end);
    if (location->depth < sizeof location->floors / sizeof *location->floors)
        location->floors[location->depth] = location->schedule.floor;
    location->depth++;
    location->schedule.floor = location->schedule.open_count;
    if (!call_is_shown(location, call))
        return;
    OTF2_TimeStamp now = advance(location, call->event.begin);
    if (event_kind(&call->event) == EVENT_SWITCHED) {
        location_check(location,
                       OTF2_EvtWriter_MeasurementOnOff(location->writer, NULL, now,
                                                       call->event.peer ? OTF2_MEASUREMENT_ON : OTF2_MEASUREMENT_OFF));
        return;
    }
    uint32_t region = region_of(location, call);
    location_check(location, OTF2_EvtWriter_Enter(location->writer, NULL, now, region));
    if (location->process->job->in_part)
        return;
    switch (call_shape(call)) {
    case FOLD_SEND:
    case FOLD_SENDRECV:
        write_send(location, &call->event, now);
        break;
    case FOLD_POST_SEND:
        write_isend(location, &call->event, call->request, now);
        break;
    case FOLD_POST_RECV:
        write_irecv_request(location, call->request, now);
        break;
    case FOLD_POST_COLL:
        write_collective_request(location, call->request, now);
        break;
    case FOLD_COLL:
    case FOLD_COMM:
        write_collective_request(location, call->request, now);
        if (collective_comm(location, call) != NO_COMM)
            location_check(location, OTF2_EvtWriter_MpiCollectiveBegin(location->writer, NULL, now));
        break;
    case FOLD_RMA:
        rma_enter(location, call, now);
        break;
    case FOLD_IO:
        io_enter(location, call, now);
        break;
    default:
        break;
    }
    for (size_t i = 0; i < call->part_count; i++) {
        const struct call_part *part = &call->parts[i];
        if (event_kind(&part->event) == RECORD_SEND_POSTED)
            write_isend(location, &part->event, part->request, now);
        else if (event_kind(&part->event) == RECORD_RECV_POSTED)
            write_irecv_request(location, part->request, now);
        else if (event_kind(&part->event) == RECORD_COLL_POSTED)
            write_collective_request(location, part->request, now);
    }
}

static uint32_t root_of(const struct trace_process *process, const struct event *event, unsigned op)
{
    if (!op_has_root(op))
        return OTF2_COLLECTIVE_ROOT_NONE;
    if (event->peer >= 0 && event->peer < peers_of(process, event))
        return (uint32_t)event->peer;
    return event->peer == PEER_ROOT        ? OTF2_COLLECTIVE_ROOT_SELF
           : event->peer == PEER_PROC_NULL ? OTF2_COLLECTIVE_ROOT_THIS_GROUP
                                           : OTF2_COLLECTIVE_ROOT_NONE;
}

static void write_collective_end(struct trace_location *location, const struct traced_call *call, OTF2_TimeStamp now)
{
    struct trace_process *process = location->process;
    unsigned op = call_table[event_kind(&call->event)].op;
    location_check(location, OTF2_EvtWriter_MpiCollectiveEnd(
                                 location->writer, NULL, now, collective_op[op], process_comm(process, &call->event),
                                 root_of(process, &call->event, op), call->event.bytes, call->bytes_out));
}

/* `part`, if it tells of a new communicator that the archive defines. */
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
    location_check(location, OTF2_EvtWriter_CommCreate(location->writer, NULL, now, comm));
}

/* Only what was created before the eyes of the archive is destroyed in it. */
static void write_comm_end(struct trace_location *location, const struct traced_call *call, OTF2_TimeStamp now)
{
    struct trace_process *process = location->process;
    const struct event *place = call_place(call);
    uint32_t comm = collective_comm(location, call);
    bool ends = call_frees(call);
    for (size_t i = 0; i < call->part_count; i++)
        write_created(location, &call->parts[i], now);
    if (ends && process->created[process_number(process, place)]) {
        process->created[process_number(process, place)] = false;
        location_check(location, OTF2_EvtWriter_CommDestroy(location->writer, NULL, now, comm));
    }
    location_check(location, OTF2_EvtWriter_MpiCollectiveEnd(location->writer, NULL, now,
                                                             ends ? OTF2_COLLECTIVE_OP_DESTROY_HANDLE
                                                                  : OTF2_COLLECTIVE_OP_CREATE_HANDLE,
                                                             comm, OTF2_COLLECTIVE_ROOT_NONE, 0, 0));
}

static void write_cancelled(struct trace_location *location, uint64_t request, OTF2_TimeStamp now)
{
    if (request)
        location_check(location, OTF2_EvtWriter_MpiRequestCancelled(location->writer, NULL, now, request));
}

static void write_received(struct trace_location *location, const struct call_part *part, OTF2_TimeStamp now)
{
    struct trace_process *process = location->process;
    const struct event *event = &part->event;
    if (!part->request) { /* its post was lost: the message is kept, as one without a request */
        write_receive(location, event, now);
        return;
    }
    if (!process_has_message(process, event)) {
        write_cancelled(location, part->request, now);
        return;
    }
    location_check(location, OTF2_EvtWriter_MpiIrecv(location->writer, NULL, now, (uint32_t)event->peer,
                                                     process_comm(process, event), (uint32_t)event->tag, event->bytes,
                                                     part->request));
}

static void write_collective_done(struct trace_location *location, const struct call_part *part,
                                  const struct call_part *next, OTF2_TimeStamp now)
{
    struct trace_process *process = location->process;
    const struct event *event = &part->event;
    if (!part->request)
        return;
    if (event->kind & EVENT_FAILED) {
        write_cancelled(location, part->request, now);
        return;
    }
    unsigned op = event->duration < CALL_COUNT ? call_table[event->duration].op : COLLECTIVE_NONE;
    bool creates = event_kind(event) == RECORD_COMM_DONE;
    if (creates && next)
        write_created(location, next, now);
    location_check(location,
                   OTF2_EvtWriter_NonBlockingCollectiveComplete(
                       location->writer, NULL, now, creates ? OTF2_COLLECTIVE_OP_CREATE_HANDLE : collective_op[op],
                       process_comm(process, event), creates ? OTF2_COLLECTIVE_ROOT_NONE : root_of(process, event, op),
                       creates ? 0 : event->bytes, creates ? 0 : part->bytes_out, part->request));
}

/* OTF2's rule: a send's completion shows its release; nothing is known of a receive. A collective has no result. */
static void write_freed(struct trace_location *location, const struct call_part *part, OTF2_TimeStamp now)
{
    unsigned posted = part->event.duration;
    if (posted < CALL_COUNT && call_table[posted].class == CLASS_COLLECTIVE)
        write_cancelled(location, part->request, now);
    else if (part->request && !part->event.tag)
        location_check(location, OTF2_EvtWriter_MpiIsendComplete(location->writer, NULL, now, part->request));
}

static void write_done(struct trace_location *location, const struct call_part *part, const struct call_part *next,
                       OTF2_TimeStamp now)
{
    switch (event_kind(&part->event)) {
    case RECORD_RECEIVE:
        write_receive(location, &part->event, now);
        break;
    case RECORD_SEND_DONE:
    case RECORD_HALF_DONE:
        if (part->request)
            location_check(location, OTF2_EvtWriter_MpiIsendComplete(location->writer, NULL, now, part->request));
        break;
    case RECORD_RECV_DONE:
        write_received(location, part, now);
        break;
    case RECORD_COLL_DONE:
    case RECORD_COMM_DONE:
        write_collective_done(location, part, next, now);
        break;
    case RECORD_CANCELLED:
        part->object ? io_part_write(location, part, now) : write_cancelled(location, part->request, now);
        break;
    case RECORD_FREED:
        part->object ? io_part_write(location, part, now) : write_freed(location, part, now);
        break;
    case RECORD_RMA_DONE:
    case PART_ACCESS_DONE:
    case PART_ACCESS_REMOTE:
        rma_part_write(location, part, now);
        break;
    case RECORD_IO_DONE:
        io_part_write(location, part, now);
        break;
    default:
        break;
    }
}

/* A test that has failed, of a message's request, or of an access or transfer. */
static void write_tested(struct trace_location *location, const struct traced_call *call, OTF2_TimeStamp now)
{
    OTF2_EvtWriter *writer = location->writer;
    if (!call->object)
        location_check(location, OTF2_EvtWriter_MpiRequestTest(writer, NULL, now, call->request));
    else if (call->object->kind == OBJECT_WINDOW)
        location_check(location, OTF2_EvtWriter_RmaOpTest(writer, NULL, now, call->object->id, call->request));
    else
        location_check(location, OTF2_EvtWriter_IoOperationTest(writer, NULL, now, call->object->id, call->request));
}

/* What the call has brought about when it returns. */
static void write_results(struct trace_location *location, const struct traced_call *call, OTF2_TimeStamp now)
{
    enum fold_shape shape = call_shape(call);
    if (shape == FOLD_RECV)
        write_receive(location, &call->event, now);
    else if (shape == FOLD_COMPLETION && call->request)
        write_tested(location, call, now);
    for (size_t i = 0; i < call->part_count; i++)
        write_done(location, &call->parts[i], i + 1 < call->part_count ? &call->parts[i + 1] : NULL, now);
    if (shape == FOLD_RMA)
        rma_leave(location, call, now);
    else if (shape == FOLD_IO || event_kind(&call->event) == CALL_MPI_File_delete)
        io_leave(location, call, now);
    if (collective_comm(location, call) != NO_COMM) {
        if (shape == FOLD_COLL)
            write_collective_end(location, call, now);
        else
            write_comm_end(location, call, now);
    }
}

void location_leave(struct trace_location *location, const struct traced_call *call)
{
    schedule_close(location, call->end);
    if (--location->depth < sizeof location->floors / sizeof *location->floors)
        location->schedule.floor = location->floors[location->depth];
    if (!call_is_shown(location, call))
        return;
    OTF2_TimeStamp now = advance(location, call->end);
    if (!location->process->job->in_part)
        write_results(location, call, now);
    if (event_kind(&call->event) == EVENT_SWITCHED)
        return;
    uint32_t region = region_of(location, call);
    location_check(location, OTF2_EvtWriter_Leave(location->writer, NULL, now, region));
}

void location_program_begin(struct trace_location *location, OTF2_StringRef program)
{
    OTF2_TimeStamp now = advance(location, location->process->rank->run->header.begin_ticks);
    location_check(location, OTF2_EvtWriter_ProgramBegin(location->writer, NULL, now, program, 0, NULL));
}

void location_program_end(struct trace_location *location)
{
    OTF2_TimeStamp now = advance(location, location->process->rank->run->header.end_ticks);
    location_check(location, OTF2_EvtWriter_ProgramEnd(location->writer, NULL, now, 0));
}
