#include "checkedevents.h"

#include "checkeddefinitions.h"
#include "checkedmatches.h"

#define EVENT(name, ...)                                                                                               \
    static OTF2_CallbackCode on_##name(UNUSED OTF2_LocationRef id, OTF2_TimeStamp time, UNUSED uint64_t position,      \
                                       void *data, UNUSED OTF2_AttributeList *attributes, ##__VA_ARGS__)

/* What holds for every event. */
static struct location *event_at(void *data, OTF2_TimeStamp time)
{
    struct location *location = data;
    struct process *process = &archive.processes[location->process];
    if (time < location->last)
        violation("location %" PRIu64 ": time goes back from %" PRIu64 " to %" PRIu64, location->id, location->last,
                  time);
    if (time < archive.begin || time > archive.end)
        violation("location %" PRIu64 ": time %" PRIu64 " is outside of the clock's range", location->id, time);
    location->last = time;
    process->first_time = time < process->first_time ? time : process->first_time;
    process->last_time = time > process->last_time ? time : process->last_time;
    location->seen++;
    return location;
}

/* What holds for every event of MPI. */
static struct location *mpi_event_at(void *data, OTF2_TimeStamp time)
{
    struct location *location = event_at(data, time);
    if (location->depth == 0)
        violation("location %" PRIu64 ": an MPI event at %" PRIu64 " stands outside of every region", location->id,
                  time);
    return location;
}

EVENT(unknown)
{
    event_at(data, time);
    return OTF2_CALLBACK_SUCCESS;
}

EVENT(program_begin, OTF2_StringRef name, UNUSED uint32_t count, UNUSED const OTF2_StringRef *arguments)
{
    struct process *process = &archive.processes[event_at(data, time)->process];
    string_check(name, "a program's begin");
    process->begins++;
    process->begin_time = time;
    return OTF2_CALLBACK_SUCCESS;
}

EVENT(program_end, UNUSED int64_t status)
{
    struct process *process = &archive.processes[event_at(data, time)->process];
    process->ends++;
    process->end_time = time;
    return OTF2_CALLBACK_SUCCESS;
}

EVENT(enter, OTF2_RegionRef region)
{
    struct location *location = event_at(data, time);
    if (region >= archive.region_count || !archive.regions[region])
        violation("location %" PRIu64 " enters region %u, which is not defined", location->id, region);
    if (location->depth == DEPTH_MAX)
        give_up("regions are nested too deeply");
    location->open[location->depth++] = region;
    archive.enters++;
    if (region < archive.region_count && archive.regions[region] == 2)
        archive.user_enters++;
    return OTF2_CALLBACK_SUCCESS;
}

EVENT(leave, OTF2_RegionRef region)
{
    struct location *location = event_at(data, time);
    if (location->depth == 0 || location->open[location->depth - 1] != region) {
        violation("location %" PRIu64 " leaves region %u at %" PRIu64 " and is not in it", location->id, region, time);
        return OTF2_CALLBACK_SUCCESS;
    }
    if (location->collective_depth && location->collectives[location->collective_depth - 1] == location->depth) {
        violation("location %" PRIu64 " leaves region %u inside of a collective", location->id, region);
        location->collective_depth--;
    }
    if (--location->depth == 0 && location->created + location->destroyed) {
        violation("location %" PRIu64 ": a communicator is created or destroyed outside of a collective", location->id);
        location->created = location->destroyed = 0;
    }
    return OTF2_CALLBACK_SUCCESS;
}

EVENT(send, uint32_t receiver, OTF2_CommRef comm, uint32_t tag, uint64_t bytes)
{
    send_count(mpi_event_at(data, time), receiver, comm, tag, bytes);
    return OTF2_CALLBACK_SUCCESS;
}

EVENT(isend, uint32_t receiver, OTF2_CommRef comm, uint32_t tag, uint64_t bytes, uint64_t id_of_request)
{
    struct location *location = mpi_event_at(data, time);
    const struct cell *message = send_count(location, receiver, comm, tag, bytes);
    struct cell *request = request_count(location, id_of_request, IS_SEND, POSTS, time);
    if (message) {
        request->v[MESSAGE_A] = message->a;
        request->v[MESSAGE_B] = message->b;
        request->v[BYTES] = bytes;
    }
    return OTF2_CALLBACK_SUCCESS;
}

EVENT(isend_complete, uint64_t request)
{
    request_count(mpi_event_at(data, time), request, IS_SEND, ENDS, time);
    return OTF2_CALLBACK_SUCCESS;
}

EVENT(irecv_request, uint64_t request)
{
    request_count(mpi_event_at(data, time), request, IS_RECV, POSTS, time);
    return OTF2_CALLBACK_SUCCESS;
}

EVENT(irecv, uint32_t sender, OTF2_CommRef comm, uint32_t tag, uint64_t bytes, uint64_t request)
{
    struct location *location = mpi_event_at(data, time);
    receive_count(location, sender, comm, tag, bytes);
    request_count(location, request, IS_RECV, ENDS, time);
    return OTF2_CALLBACK_SUCCESS;
}

EVENT(recv, uint32_t sender, OTF2_CommRef comm, uint32_t tag, uint64_t bytes)
{
    receive_count(mpi_event_at(data, time), sender, comm, tag, bytes);
    return OTF2_CALLBACK_SUCCESS;
}

EVENT(request_test, uint64_t request)
{
    request_count(mpi_event_at(data, time), request, 0, TESTS, time);
    return OTF2_CALLBACK_SUCCESS;
}

EVENT(request_cancelled, uint64_t request)
{
    struct location *location = mpi_event_at(data, time);
    request_count(location, request, 0, CANCELS, time);
    request_count(location, request, 0, ENDS, time);
    return OTF2_CALLBACK_SUCCESS;
}

EVENT(collective_begin)
{
    struct location *location = mpi_event_at(data, time);
    if (location->collective_depth == DEPTH_MAX)
        give_up("collectives are nested too deeply");
    location->collectives[location->collective_depth++] = location->depth;
    return OTF2_CALLBACK_SUCCESS;
}

EVENT(collective_end, OTF2_CollectiveOp op, OTF2_CommRef comm, uint32_t root, uint64_t bytes_in, uint64_t bytes_out)
{
    struct location *location = mpi_event_at(data, time);
    if (location->collective_depth == 0 || location->collectives[location->collective_depth - 1] != location->depth)
        violation("location %" PRIu64 ": a collective ends at %" PRIu64 " that did not begin", location->id, time);
    else
        location->collective_depth--;
    collective_count(location, op, comm, root, bytes_in, bytes_out);
    return OTF2_CALLBACK_SUCCESS;
}

EVENT(collective_request, uint64_t request)
{
    request_count(mpi_event_at(data, time), request, IS_COLLECTIVE, POSTS, time);
    return OTF2_CALLBACK_SUCCESS;
}

EVENT(collective_complete, OTF2_CollectiveOp op, OTF2_CommRef comm, uint32_t root, uint64_t bytes_in,
      uint64_t bytes_out, uint64_t request)
{
    struct location *location = mpi_event_at(data, time);
    request_count(location, request, IS_COLLECTIVE, ENDS, time);
    collective_count(location, op, comm, root, bytes_in, bytes_out);
    return OTF2_CALLBACK_SUCCESS;
}

EVENT(comm_create, OTF2_CommRef comm)
{
    struct location *location = mpi_event_at(data, time);
    location->created++;
    handle_count(location, comm, CREATES);
    return OTF2_CALLBACK_SUCCESS;
}

EVENT(comm_destroy, OTF2_CommRef comm)
{
    struct location *location = mpi_event_at(data, time);
    location->destroyed++;
    handle_count(location, comm, DESTROYS);
    return OTF2_CALLBACK_SUCCESS;
}

EVENT(metric, OTF2_MetricRef metric, uint8_t count, const OTF2_Type *types, UNUSED const OTF2_MetricValue *values)
{
    struct location *location = event_at(data, time);
    if (metric >= archive.metric_count)
        violation("location %" PRIu64 " samples metric %u, which is not defined", location->id, metric);
    else if (count != 1 || types[0] != archive.metric_types[metric])
        violation("location %" PRIu64 " samples metric %u with another type than it is defined with", location->id,
                  metric);
    archive.samples++;
    return OTF2_CALLBACK_SUCCESS;
}

EVENT(measurement, OTF2_MeasurementMode mode)
{
    struct location *location = event_at(data, time);
    if (mode != OTF2_MEASUREMENT_ON && mode != OTF2_MEASUREMENT_OFF)
        violation("location %" PRIu64 " has its measurement in mode %u", location->id, (unsigned)mode);
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_EvtReaderCallbacks *event_callbacks(void)
{
    OTF2_EvtReaderCallbacks *callbacks = OTF2_EvtReaderCallbacks_New();
    if (!callbacks)
        give_up("out of memory");
    ON(EvtReader, Unknown, on_unknown);
    ON(EvtReader, ProgramBegin, on_program_begin);
    ON(EvtReader, ProgramEnd, on_program_end);
    ON(EvtReader, Enter, on_enter);
    ON(EvtReader, Leave, on_leave);
    ON(EvtReader, Metric, on_metric);
    ON(EvtReader, MeasurementOnOff, on_measurement);
    ON(EvtReader, MpiSend, on_send);
    ON(EvtReader, MpiIsend, on_isend);
    ON(EvtReader, MpiIsendComplete, on_isend_complete);
    ON(EvtReader, MpiIrecvRequest, on_irecv_request);
    ON(EvtReader, MpiIrecv, on_irecv);
    ON(EvtReader, MpiRecv, on_recv);
    ON(EvtReader, MpiRequestTest, on_request_test);
    ON(EvtReader, MpiRequestCancelled, on_request_cancelled);
    ON(EvtReader, MpiCollectiveBegin, on_collective_begin);
    ON(EvtReader, MpiCollectiveEnd, on_collective_end);
    ON(EvtReader, NonBlockingCollectiveRequest, on_collective_request);
    ON(EvtReader, NonBlockingCollectiveComplete, on_collective_complete);
    ON(EvtReader, CommCreate, on_comm_create);
    ON(EvtReader, CommDestroy, on_comm_destroy);
    return callbacks;
}

static void location_events_read(OTF2_Reader *reader, struct location *location,
                                 const OTF2_EvtReaderCallbacks *callbacks)
{
    uint64_t count;
    OTF2_EvtReader *events = OTF2_Reader_GetEvtReader(reader, location->id);
    if (!events || OTF2_Reader_RegisterEvtCallbacks(reader, events, callbacks, location) != OTF2_SUCCESS ||
        OTF2_Reader_ReadAllLocalEvents(reader, events, &count) != OTF2_SUCCESS)
        violation("location %" PRIu64 ": its events cannot be read", location->id);
    else if (OTF2_Reader_CloseEvtReader(reader, events) != OTF2_SUCCESS || location->seen != location->events)
        violation("location %" PRIu64 " has %" PRIu64 " events, and is defined with %" PRIu64, location->id,
                  location->seen, location->events);
    if (location->depth)
        violation("location %" PRIu64 " does not leave %zu regions", location->id, location->depth);
}

void events_read(OTF2_Reader *reader)
{
    for (size_t i = 0; i < archive.location_count; i++)
        if (OTF2_Reader_SelectLocation(reader, archive.locations[i].id) != OTF2_SUCCESS)
            give_up("a location cannot be selected");
    if (OTF2_Reader_OpenDefFiles(reader) != OTF2_SUCCESS || OTF2_Reader_OpenEvtFiles(reader) != OTF2_SUCCESS)
        give_up("the files of the locations cannot be opened");
    OTF2_EvtReaderCallbacks *callbacks = event_callbacks();
    for (size_t i = 0; i < archive.location_count; i++) {
        location_definitions_read(reader, &archive.locations[i]);
        location_events_read(reader, &archive.locations[i], callbacks);
    }
    OTF2_EvtReaderCallbacks_Delete(callbacks);
    if (OTF2_Reader_CloseDefFiles(reader) != OTF2_SUCCESS || OTF2_Reader_CloseEvtFiles(reader) != OTF2_SUCCESS)
        give_up("the files of the locations cannot be closed");
}
