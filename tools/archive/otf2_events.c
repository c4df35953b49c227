#include "archive/otf2_events.h"

#include "archive/otf2_collectives.h"
#include "archive/otf2_functions.h"
#include "archive/otf2_io.h"
#include "archive/otf2_rma.h"
#include "definitions/otf2_definitions.h"
#include "trace/pending.h"

static uint64_t stamp_bounded(const struct trace_process *process, uint64_t ticks)
{
    uint64_t ns = clock_map_local_ns(process->clock, trace_life_bound(process->rank, ticks));
    return ns - process->job->line.origin_ns;
}

void process_stamps_find(struct trace_process *process)
{
    const struct clock_map *clock = process->clock;
    const struct run_header *header = &process->rank->run->header;
    uint64_t first = header->begin_ticks > clock->begin_ticks ? header->begin_ticks : clock->begin_ticks;
    uint64_t last = process->rank->ended ? header->end_ticks : UINT64_MAX - 1;
    while (last > first && clock_map_local_ns(clock, last) >= CLOCK_MAP_MOST_NS) /* times never decrease */
        last = first + (last - first) / 2;
    process->stamps = (struct trace_stamps){.first = first,
                                            .reach = last > first ? last - first : 0,
                                            .from_ticks = clock->begin_ticks,
                                            .from_ns = clock->begin_ns - process->job->line.origin_ns,
                                            .mult = clock->scale.mult};
}

/* Returns the time by the node's own clock. The archive holds these times, with ClockOffset records. */
static inline uint64_t process_stamp(const struct trace_process *process, uint64_t ticks)
{
    const struct trace_stamps *stamps = &process->stamps;
    if (ticks - stamps->first >= stamps->reach)
        return stamp_bounded(process, ticks);
    return stamps->from_ns + (uint64_t)((unsigned __int128)(ticks - stamps->from_ticks) * stamps->mult >> 32);
}

/* Returns the time to write: the time of `ticks`, or of the last event if it is later. */
static inline OTF2_TimeStamp advance(struct trace_location *location, uint64_t ticks)
{
    struct trace_process *process = location->process;
    uint64_t now = process_stamp(process, ticks);
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
    const struct trace_place *place = message_place(location->process, event);
    if (place)
        location_write(location, MpiSend, now, (uint32_t)event->peer, place->comm, (uint32_t)event->tag, event->bytes);
}

static void write_receive(struct trace_location *location, const struct event *event, OTF2_TimeStamp now)
{
    const struct trace_place *place = message_place(location->process, event);
    if (place)
        location_write(location, MpiRecv, now, (uint32_t)event->peer, place->comm, (uint32_t)event->tag, event->bytes);
}

static void write_isend(struct trace_location *location, const struct event *event, uint64_t request,
                        OTF2_TimeStamp now)
{
    if (request)
        location_write(location, MpiIsend, now, (uint32_t)event->peer, process_comm(location->process, event),
                       (uint32_t)event->tag, event->bytes, request);
}

typedef OTF2_ErrorCode request_writer(OTF2_EvtWriter *, OTF2_AttributeList *, OTF2_TimeStamp, uint64_t);

static inline void request_write(struct trace_location *location, request_writer *write, uint64_t request,
                                 OTF2_TimeStamp now)
{
    if (request)
        location_check(location, write(location->writer, NULL, now, request));
}

static void write_metric(struct trace_location *location, const struct scheduled *sample, OTF2_TimeStamp now)
{
    uint32_t type = location->process->job->instruments.metrics[sample->what].record->type;
    OTF2_Type types[1] = {trace_metric_type(type)};
    OTF2_MetricValue values[1] = {{.unsigned_int = sample->value}}; /* the three members share their bits */
    location_write(location, Metric, now, sample->what, 1, types, values);
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

static bool call_is_selected(const struct trace_process *process, const struct traced_call *call)
{
    return selection_has_call(process->job->selection, process->rank->run, &call->event,
                              (int64_t)trace_time(process->job, process->rank, call->event.begin),
                              (int64_t)trace_time(process->job, process->rank, call->end));
}

static inline bool call_is_shown(const struct trace_location *location, const struct traced_call *call)
{
    return !location->process->job->selection || call_is_selected(location->process, call);
}

/* Writes regions and samples up to a time, like schedule_step. */
static void schedule_write(struct trace_location *location, uint64_t until, uint64_t call_end)
{
    const struct scheduled *what;
    uint64_t at;
    for (enum schedule_step step; (step = schedule_step(&location->schedule, until, call_end, &what, &at));) {
        if (!scheduled_is_shown(location, what))
            continue;
        OTF2_TimeStamp now = advance(location, at);
        if (step == STEP_ENTER)
            location_write(location, Enter, now, what->what);
        else if (step == STEP_LEAVE)
            location_write(location, Leave, now, what->what);
        else
            write_metric(location, what, now);
    }
}

/* A region that began inside a call also ends inside it, no matter what the file says. */
static void schedule_close(struct trace_location *location, uint64_t end)
{
    schedule_write(location, end, end);
    for (const struct scheduled *region; (region = schedule_abandon(&location->schedule));)
        if (scheduled_is_shown(location, region))
            location_write(location, Leave, advance(location, end), region->what);
}

/* A completion call that is not recorded has a region without its own name, around its completed requests. */
static inline unsigned region_kind(const struct traced_call *call)
{
    return call_is_mark(call) ? CALL_NONE : event_kind(&call->event);
}

/* Calls that have more than a message after their Enter or before their Leave. A call without records has nothing
 * there. */
enum {
    BEGINS_OPERATION = 1 << FOLD_POST_COLL | 1 << FOLD_COLL | 1 << FOLD_COMM | 1 << FOLD_RMA | 1 << FOLD_IO,
    ENDS_OPERATION = 1 << FOLD_CALL | 1 << FOLD_COLL | 1 << FOLD_COMM | 1 << FOLD_RMA | 1 << FOLD_IO,
    ENDS_NOTHING = 1 << FOLD_SEND | 1 << FOLD_SENDRECV | 1 << FOLD_POST_SEND | 1 << FOLD_POST_RECV | 1 << FOLD_P2P |
                   1 << FOLD_START | 1 << FOLD_POST_COLL | 1 << FOLD_COLL_INIT,
};

/* Writes the events after the Enter of a call that is not frequent. */
static __attribute__((noinline)) void write_operation_begin(struct trace_location *location,
                                                            const struct traced_call *call, OTF2_TimeStamp now)
{
    switch (call_shape(call)) {
    case FOLD_POST_COLL:
        request_write(location, OTF2_EvtWriter_NonBlockingCollectiveRequest, call->request, now);
        break;
    case FOLD_COLL:
    case FOLD_COMM:
        request_write(location, OTF2_EvtWriter_NonBlockingCollectiveRequest, call->request, now);
        if (collective_comm(location, call) != NO_COMM)
            location_write(location, MpiCollectiveBegin, now);
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
    for (size_t i = 0; call->posts && i < call->part_count; i++) {
        const struct call_part *part = &call->parts[i];
        if (event_kind(&part->event) == RECORD_SEND_POSTED)
            write_isend(location, &part->event, part->request, now);
        else if (event_kind(&part->event) == RECORD_RECV_POSTED)
            request_write(location, OTF2_EvtWriter_MpiIrecvRequest, part->request, now);
        else if (event_kind(&part->event) == RECORD_COLL_POSTED)
            request_write(location, OTF2_EvtWriter_NonBlockingCollectiveRequest, part->request, now);
    }
}

/* Writes the events after the call's Enter. */
static inline __attribute__((always_inline)) void write_begun(struct trace_location *location,
                                                              const struct traced_call *call, OTF2_TimeStamp now)
{
    unsigned shape = 1u << call_shape(call);
    if (shape & (1 << FOLD_SEND | 1 << FOLD_SENDRECV))
        write_send(location, &call->event, now);
    else if (shape & 1 << FOLD_POST_SEND)
        write_isend(location, &call->event, call->request, now);
    else if (shape & 1 << FOLD_POST_RECV)
        request_write(location, OTF2_EvtWriter_MpiIrecvRequest, call->request, now);
    if (call->posts || shape & BEGINS_OPERATION)
        write_operation_begin(location, call, now);
}

static void schedule_enter(struct trace_location *location, const struct traced_call *call)
{
    schedule_write(location, call->event.begin, call->end);
    if (location->depth < sizeof location->floors / sizeof *location->floors)
        location->floors[location->depth] = location->schedule.floor;
    location->depth++;
    location->schedule.floor = location->schedule.open.count;
}

static void schedule_leave(struct trace_location *location, const struct traced_call *call)
{
    schedule_close(location, call->end);
    if (--location->depth < sizeof location->floors / sizeof *location->floors)
        location->schedule.floor = location->floors[location->depth];
}

/* Writes the values of the counters when a call begins or (inside) ends, next to its Enter or Leave. A record that
 * names another call has the counts of earlier calls. */
static void counters_advance(struct trace_location *location, const struct traced_call *call, bool inside)
{
    for (size_t i = 0; i < call->part_count; i++) {
        const struct event *event = &call->parts[i].event;
        unsigned counter = counter_of(event);
        if (event_kind(event) != RECORD_COUNTER || counter >= COUNTER_COUNT)
            continue;
        if (inside == (counter_call(event) == event_kind(&call->event)))
            location->counted[counter] += event->bytes;
        if (!inside && counter_call(event) != CALL_NONE)
            location->counted[counter] += counter_outside(event);
    }
}

/* At the end of a thread, writes the counts since its last call. */
static void counters_finish(struct trace_location *location, const struct traced_call *call)
{
    for (size_t i = 0; i < call->part_count; i++) {
        const struct event *event = &call->parts[i].event;
        if (event_kind(event) == RECORD_COUNTER && counter_of(event) < COUNTER_COUNT &&
            counter_call(event) == CALL_NONE)
            location->counted[counter_of(event)] += counter_outside(event);
    }
}

static void counters_write(struct trace_location *location, const struct traced_call *call, OTF2_TimeStamp now)
{
    uint32_t first = location->process->job->instruments.metric_count;
    OTF2_Type types[1] = {OTF2_TYPE_UINT64};
    if (!location->counts || call->event.kind & EVENT_NESTED || call_is_mark(call))
        return;
    for (unsigned i = 0; i < COUNTER_COUNT; i++) {
        OTF2_MetricValue values[1] = {{.unsigned_int = location->counted[i]}};
        if (location->counters[i] != NO_COUNTER)
            location_write(location, Metric, now, first + location->counters[i], 1, types, values);
    }
}

/* ---- call paths -------------------------------------------------------------------------------------------------- */

static uint32_t context_of(const struct trace_location *location, uint32_t path)
{
    const struct trace_process *process = location->process;
    return location->attributes
               ? trace_context_of(process->job->archive->callpaths, process->rank, process->path_places, path)
               : (uint32_t)NO_CONTEXT;
}

/* Writes the Enter of a call, with its path, and before it the functions that lead to it. `left` is the time of the
 * last event. */
static inline void enter_write(struct trace_location *location, uint32_t path, bool nested, uint32_t region,
                               OTF2_TimeStamp left, OTF2_TimeStamp now)
{
    uint32_t context = context_of(location, path);
    if (context != NO_CONTEXT) {
        if (location->functions && !nested && context != location->entered)
            functions_switch(location, context, left, now);
        location_check(location,
                       OTF2_AttributeList_AddCallingContextRef(location->attributes, CALLPATH_ATTRIBUTE, context));
    }
    location_check(location, OTF2_EvtWriter_Enter(location->writer, context != NO_CONTEXT ? location->attributes : NULL,
                                                  now, region));
}

static void call_enter(struct trace_location *location, const struct traced_call *call)
{
    struct trace_job *job = location->process->job;
    if (location->schedule.some)
        schedule_enter(location, call);
    if (location->counts)
        counters_advance(location, call, false);
    if (!call_is_shown(location, call))
        return;
    OTF2_TimeStamp left = location->last_ns, now = advance(location, call->event.begin);
    if (event_kind(&call->event) == EVENT_SWITCHED) {
        location_write(location, MeasurementOnOff, now, call->event.peer ? OTF2_MEASUREMENT_ON : OTF2_MEASUREMENT_OFF);
        return;
    }
    counters_write(location, call, now);
    enter_write(location, call->path, call->event.kind & EVENT_NESTED, trace_region(job, region_kind(call)), left, now);
    if (!job->in_part)
        write_begun(location, call, now);
}

static void write_received(struct trace_location *location, const struct event *event, uint64_t request,
                           OTF2_TimeStamp now)
{
    struct trace_process *process = location->process;
    if (!request) { /* its post was lost: the message is written as one without a request */
        write_receive(location, event, now);
        return;
    }
    const struct trace_place *place = message_place(process, event);
    if (!place) {
        request_write(location, OTF2_EvtWriter_MpiRequestCancelled, request, now);
        return;
    }
    location_write(location, MpiIrecv, now, (uint32_t)event->peer, place->comm, (uint32_t)event->tag, event->bytes,
                   request);
}

/* By OTF2's rule, the completion of a send shows its release. The release of a receive is not known. A collective or a
 * new communicator has no result. */
static void write_freed(struct trace_location *location, const struct call_part *part, OTF2_TimeStamp now)
{
    int class = request_class_ended(&part->event);
    if (class == REQUEST_IS_SEND)
        request_write(location, OTF2_EvtWriter_MpiIsendComplete, part->request, now);
    else if (class != REQUEST_IS_RECV)
        request_write(location, OTF2_EvtWriter_MpiRequestCancelled, part->request, now);
}

/* Writes the parts that are not frequent. */
static __attribute__((noinline)) void write_ended(struct trace_location *location, const struct call_part *part,
                                                  const struct call_part *next, OTF2_TimeStamp now)
{
    switch (event_kind(&part->event)) {
    case RECORD_COLL_DONE:
    case RECORD_COMM_DONE:
        collective_part_write(location, part, next, now);
        break;
    case RECORD_CANCELLED:
        part->object ? io_part_write(location, part, now)
                     : request_write(location, OTF2_EvtWriter_MpiRequestCancelled, part->request, now);
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

static inline void write_done(struct trace_location *location, const struct call_part *part,
                              const struct call_part *next, OTF2_TimeStamp now)
{
    switch (event_kind(&part->event)) {
    case RECORD_RECEIVE:
        write_receive(location, &part->event, now);
        break;
    case RECORD_SEND_DONE:
    case RECORD_HALF_DONE:
        request_write(location, OTF2_EvtWriter_MpiIsendComplete, part->request, now);
        break;
    case RECORD_RECV_DONE:
        write_received(location, &part->event, part->request, now);
        break;
    default:
        write_ended(location, part, next, now);
    }
}

/* Writes a failed test: of a message's request, or of an access or transfer. */
static __attribute__((noinline)) void write_tested(struct trace_location *location, const struct traced_call *call,
                                                   OTF2_TimeStamp now)
{
    if (!call->object)
        location_write(location, MpiRequestTest, now, call->request);
    else if (call->object->kind == OBJECT_WINDOW)
        location_write(location, RmaOpTest, now, call->object->id, call->request);
    else
        location_write(location, IoOperationTest, now, call->object->id, call->request);
}

/* Writes the end of an operation that is not a message. */
static __attribute__((noinline)) void write_operation_end(struct trace_location *location,
                                                          const struct traced_call *call, OTF2_TimeStamp now)
{
    enum fold_shape shape = call_shape(call);
    if (shape == FOLD_RMA)
        rma_leave(location, call, now);
    else if (shape == FOLD_IO || event_kind(&call->event) == CALL_MPI_File_delete)
        io_leave(location, call, now);
    else if (shape == FOLD_COLL || shape == FOLD_COMM)
        collective_leave(location, call, now);
}

static inline bool call_has_results(const struct traced_call *call)
{
    return call->part_count || !(ENDS_NOTHING >> call_shape(call) & 1);
}

/* Writes the results of the call when it returns. */
static __attribute__((noinline)) void write_results(struct trace_location *location, const struct traced_call *call,
                                                    OTF2_TimeStamp now)
{
    enum fold_shape shape = call_shape(call);
    if (shape == FOLD_RECV)
        write_receive(location, &call->event, now);
    else if (shape == FOLD_COMPLETION && call->request)
        write_tested(location, call, now);
    for (size_t i = 0; i < call->part_count; i++)
        write_done(location, &call->parts[i], i + 1 < call->part_count ? &call->parts[i + 1] : NULL, now);
    if (ENDS_OPERATION >> shape & 1)
        write_operation_end(location, call, now);
}

static void call_leave_write(struct trace_location *location, const struct traced_call *call)
{
    struct trace_job *job = location->process->job;
    OTF2_TimeStamp now = advance(location, call->end);
    if (!job->in_part && call_has_results(call))
        write_results(location, call, now);
    if (event_kind(&call->event) == EVENT_SWITCHED)
        return;
    counters_write(location, call, now);
    location_write(location, Leave, now, trace_region_number(job, region_kind(call)));
}

static void call_leave(struct trace_location *location, const struct traced_call *call)
{
    if (location->schedule.some)
        schedule_leave(location, call);
    if (location->counts)
        counters_advance(location, call, true);
    if (call_is_shown(location, call))
        call_leave_write(location, call);
    if (location->counts)
        counters_finish(location, call);
}

void location_enter(void *location, const struct traced_call *call)
{
    call_enter(location, call);
}

void location_leave(void *location, const struct traced_call *call)
{
    call_leave(location, call);
}

/* Writes only calls, and all of them. */
static inline void call_write(struct trace_location *location, const struct traced_call *call)
{
    struct trace_job *job = location->process->job;
    unsigned kind = event_kind(&call->event);
    uint32_t region = trace_region(job, kind);
    OTF2_TimeStamp left = location->last_ns, now = advance(location, call->event.begin);
    enter_write(location, call->path, call->event.kind & EVENT_NESTED, region, left, now);
    write_begun(location, call, now);
    now = advance(location, call->end);
    if (call_has_results(call))
        write_results(location, call, now);
    location_write(location, Leave, now, region);
}

void location_call(struct trace_location *location, const struct traced_call *call)
{
    if (location->plain && !call_is_mark(call)) {
        call_write(location, call);
        return;
    }
    call_enter(location, call);
    call_leave(location, call);
}

void location_message(struct trace_location *location, const struct message_call *call)
{
    const struct event *event = call->event;
    uint32_t region = trace_region(location->process->job, event_kind(event));
    unsigned shape = 1u << call->shape;
    OTF2_TimeStamp left = location->last_ns, now = advance(location, event->begin);
    enter_write(location, call->path, false, region, left, now);
    if (shape & (1 << FOLD_SEND | 1 << FOLD_SENDRECV))
        write_send(location, event, now);
    else if (shape & 1 << FOLD_POST_SEND)
        write_isend(location, event, call->request, now);
    else if (shape & 1 << FOLD_POST_RECV)
        request_write(location, OTF2_EvtWriter_MpiIrecvRequest, call->request, now);
    now = advance(location, event->begin + event->duration);
    if (shape & 1 << FOLD_RECV)
        write_receive(location, event, now);
    for (size_t i = 0; i < call->record_count; i++) {
        const struct event *record = &call->records[i];
        switch (event_kind(record)) {
        case RECORD_RECEIVE:
            write_receive(location, record, now);
            break;
        case RECORD_SEND_DONE:
            request_write(location, OTF2_EvtWriter_MpiIsendComplete, call->requests[i], now);
            break;
        case RECORD_RECV_DONE:
            write_received(location, record, call->requests[i], now);
            break;
        default:
            break;
        }
    }
    location_write(location, Leave, now, region);
}

void location_gap(struct trace_location *location, uint64_t until)
{
    location_write(location, MeasurementOnOff, location->last_ns, OTF2_MEASUREMENT_OFF);
    location_write(location, MeasurementOnOff, advance(location, until), OTF2_MEASUREMENT_ON);
}

void location_begin(struct trace_location *location)
{
    const struct trace_job *job = location->process->job;
    const struct run_reader *run = location->process->rank->run;
    location->counts = run && job->counters.count;
    if (location->counts)
        trace_counters_places(&job->counters, run, location->counters);
    location->entered = NO_CONTEXT;
    location->attributes = run && job->archive->callpaths ? OTF2_AttributeList_New() : NULL;
    /* the regions of other libraries may begin in one function and end in another */
    location->functions =
        location->attributes && job->archive->callpaths->functions_written && !location->schedule.some;
    location->plain = !location->schedule.some && !job->selection && !job->in_part && !location->counts;
}

void location_program_begin(struct trace_location *location, OTF2_StringRef program)
{
    OTF2_TimeStamp now = advance(location, location->process->rank->run->header.begin_ticks);
    location_write(location, ProgramBegin, now, program, 0, NULL);
}

void location_program_end(struct trace_location *location)
{
    OTF2_TimeStamp now = advance(location, location->process->rank->run->header.end_ticks);
    location_write(location, ProgramEnd, now, 0);
}

void location_end(struct trace_location *location)
{
    if (!location->process->rank->run)
        return;
    schedule_write(location, UINT64_MAX, UINT64_MAX);
    schedule_close(location, UINT64_MAX);
    if (location->functions)
        functions_switch(location, NO_CONTEXT, location->last_ns, location->last_ns);
}

void location_release(struct trace_location *location)
{
    if (location->attributes)
        OTF2_AttributeList_Delete(location->attributes);
    location->attributes = NULL;
}
