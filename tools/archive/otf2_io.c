#include "archive/otf2_io.h"

enum { MOVES_NOTHING, MOVES_BLOCKING, MOVES_POSTED, MOVES_SPLIT, MOVES_SPLIT_END };

/* The effect of a call on its file. */
struct transfer {
    unsigned char how;
    OTF2_IoOperationMode mode;
    bool collective;
};

#define READ(how, collective)                                                                                          \
    {                                                                                                                  \
        how, OTF2_IO_OPERATION_MODE_READ, collective                                                                   \
    }
#define WRITE(how, collective)                                                                                         \
    {                                                                                                                  \
        how, OTF2_IO_OPERATION_MODE_WRITE, collective                                                                  \
    }

static const struct transfer transfers[CALL_COUNT] = {
    [CALL_MPI_File_read] = READ(MOVES_BLOCKING, false),
    [CALL_MPI_File_read_all] = READ(MOVES_BLOCKING, true),
    [CALL_MPI_File_read_at] = READ(MOVES_BLOCKING, false),
    [CALL_MPI_File_read_at_all] = READ(MOVES_BLOCKING, true),
    [CALL_MPI_File_read_shared] = READ(MOVES_BLOCKING, false),
    [CALL_MPI_File_read_ordered] = READ(MOVES_BLOCKING, true),
    [CALL_MPI_File_write] = WRITE(MOVES_BLOCKING, false),
    [CALL_MPI_File_write_all] = WRITE(MOVES_BLOCKING, true),
    [CALL_MPI_File_write_at] = WRITE(MOVES_BLOCKING, false),
    [CALL_MPI_File_write_at_all] = WRITE(MOVES_BLOCKING, true),
    [CALL_MPI_File_write_shared] = WRITE(MOVES_BLOCKING, false),
    [CALL_MPI_File_write_ordered] = WRITE(MOVES_BLOCKING, true),
    [CALL_MPI_File_iread] = READ(MOVES_POSTED, false),
    [CALL_MPI_File_iread_all] = READ(MOVES_POSTED, true),
    [CALL_MPI_File_iread_at] = READ(MOVES_POSTED, false),
    [CALL_MPI_File_iread_at_all] = READ(MOVES_POSTED, true),
    [CALL_MPI_File_iread_shared] = READ(MOVES_POSTED, false),
    [CALL_MPI_File_iwrite] = WRITE(MOVES_POSTED, false),
    [CALL_MPI_File_iwrite_all] = WRITE(MOVES_POSTED, true),
    [CALL_MPI_File_iwrite_at] = WRITE(MOVES_POSTED, false),
    [CALL_MPI_File_iwrite_at_all] = WRITE(MOVES_POSTED, true),
    [CALL_MPI_File_iwrite_shared] = WRITE(MOVES_POSTED, false),
    [CALL_MPI_File_read_all_begin] = READ(MOVES_SPLIT, true),
    [CALL_MPI_File_read_at_all_begin] = READ(MOVES_SPLIT, true),
    [CALL_MPI_File_read_ordered_begin] = READ(MOVES_SPLIT, true),
    [CALL_MPI_File_write_all_begin] = WRITE(MOVES_SPLIT, true),
    [CALL_MPI_File_write_at_all_begin] = WRITE(MOVES_SPLIT, true),
    [CALL_MPI_File_write_ordered_begin] = WRITE(MOVES_SPLIT, true),
    [CALL_MPI_File_read_all_end] = READ(MOVES_SPLIT_END, true),
    [CALL_MPI_File_read_at_all_end] = READ(MOVES_SPLIT_END, true),
    [CALL_MPI_File_read_ordered_end] = READ(MOVES_SPLIT_END, true),
    [CALL_MPI_File_write_all_end] = WRITE(MOVES_SPLIT_END, true),
    [CALL_MPI_File_write_at_all_end] = WRITE(MOVES_SPLIT_END, true),
    [CALL_MPI_File_write_ordered_end] = WRITE(MOVES_SPLIT_END, true),
    [CALL_MPI_File_sync] = {MOVES_BLOCKING, OTF2_IO_OPERATION_MODE_FLUSH, true},
};

#undef READ
#undef WRITE

/* Returns the file of an event if the archive has its handle. Returns NULL if it has not, or without memory
 * (*result). */
static struct object_state *file_state_find(struct trace_process *process, const struct event *event, bool opens,
                                            int *result)
{
    struct object_state *state = process_object_state(process, event, OBJECT_FILE, result);
    if (!state || state->open || opens)
        return state;
    process->states.unknown++; /* it was opened before the trace begins */
    return NULL;
}

static int transfer_match(struct trace_requests *requests, struct object_state *state, struct traced_call *call)
{
    switch (transfers[event_kind(&call->event)].how) {
    case MOVES_BLOCKING:
        call->request = ++requests->last_id;
        return 0;
    case MOVES_POSTED:
        call->request = trace_requests_add(requests, REQUEST_IS_TRANSFER, &call->event);
        return call->request ? 0 : -1;
    case MOVES_SPLIT:
        call->request = state->split = ++requests->last_id;
        return 0;
    case MOVES_SPLIT_END:
        call->request = state->split;
        state->split = 0;
        return 0;
    default:
        return 0;
    }
}

int io_match(struct trace_process *process, struct trace_requests *requests, struct traced_call *call)
{
    int result;
    unsigned kind = event_kind(&call->event);
    if ((call->event.kind & EVENT_FAILED) || process->job->in_part || process->job->no_transfers)
        return 0;
    if (kind == CALL_MPI_File_delete) {
        uint32_t file =
            trace_file_find(process->objects, OBJECT_DELETED, (uint32_t)process->world_rank, (uint32_t)call->event.tag);
        call->request = file == UINT32_MAX ? 0 : file + UINT64_C(1);
        return file == UINT32_MAX ? -1 : 0;
    }
    struct object_state *state = file_state_find(process, &call->event, kind == CALL_MPI_File_open, &result);
    if (!state)
        return result;
    call->object = state->object;
    if (kind == CALL_MPI_File_open) {
        call->pairs = !state->open;
        state->open = state->object->has_events = true;
    } else if (kind == CALL_MPI_File_close) {
        call->pairs = true;
        object_state_forget(&process->states, state);
        return 0;
    }
    return transfer_match(requests, state, call);
}

int io_part_match(struct trace_process *process, struct trace_requests *requests, struct call_part *part)
{
    int result;
    if (process->job->in_part || process->job->no_transfers)
        return 0;
    uint64_t id = trace_requests_take(requests, REQUEST_IS_TRANSFER, &part->event);
    if (!id)
        return 0;
    struct event event = part->event;
    if (event_kind(&event) != RECORD_IO_DONE) /* in other records the field has another meaning */
        event.tag = part->event.tag = (int32_t)requests->taken_tag;
    struct object_state *state = file_state_find(process, &event, false, &result);
    if (!state)
        return result;
    part->object = state->object;
    part->request = id;
    return 0;
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

void io_enter(struct trace_location *location, const struct traced_call *call, OTF2_TimeStamp now)
{
    const struct transfer *transfer = &transfers[event_kind(&call->event)];
    if (!call->object || !call->request || transfer->how == MOVES_SPLIT_END)
        return;
    const struct event *argument = call_argument(call);
    bool waits = transfer->how != MOVES_BLOCKING;
    uint64_t bytes = argument ? argument->bytes : waits && call->cut ? OTF2_UNDEFINED_UINT64 : call->event.bytes;
    OTF2_IoOperationFlag flags = OTF2_IO_OPERATION_FLAG_NONE;
    flags |= waits ? OTF2_IO_OPERATION_FLAG_NON_BLOCKING : 0;
    flags |= transfer->collective ? OTF2_IO_OPERATION_FLAG_COLLECTIVE : 0;
    location_write(location, IoOperationBegin, now, call->object->id, transfer->mode, flags, bytes, call->request);
}

static void write_complete(struct trace_location *location, const struct trace_object *object, uint64_t bytes,
                           uint64_t id, OTF2_TimeStamp now)
{
    location_write(location, IoOperationComplete, now, object->id, bytes, id);
}

static void write_opened(struct trace_location *location, const struct traced_call *call, OTF2_TimeStamp now)
{
    const struct event *argument = call_argument(call);
    int32_t access = argument ? argument->tag : ACCESS_READ | ACCESS_WRITE;
    OTF2_IoAccessMode mode = (access & ACCESS_READ) && (access & ACCESS_WRITE) ? OTF2_IO_ACCESS_MODE_READ_WRITE
                             : access & ACCESS_WRITE                           ? OTF2_IO_ACCESS_MODE_WRITE_ONLY
                                                                               : OTF2_IO_ACCESS_MODE_READ_ONLY;
    OTF2_IoCreationFlag creation = OTF2_IO_CREATION_FLAG_NONE;
    creation |= access & ACCESS_CREATE ? OTF2_IO_CREATION_FLAG_CREATE : 0;
    creation |= access & ACCESS_EXCLUSIVE ? OTF2_IO_CREATION_FLAG_EXCLUSIVE : 0;
    creation |= access & ACCESS_SEQUENTIAL ? OTF2_IO_CREATION_FLAG_NO_SEEK : 0;
    creation |= access & ACCESS_UNIQUE ? OTF2_IO_CREATION_FLAG_UNIQUE : 0;
    OTF2_IoStatusFlag status = OTF2_IO_STATUS_FLAG_NONE;
    status |= access & ACCESS_APPEND ? OTF2_IO_STATUS_FLAG_APPEND : 0;
    status |= access & ACCESS_DELETE ? OTF2_IO_STATUS_FLAG_DELETE_ON_CLOSE : 0;
    location_write(location, IoCreateHandle, now, call->object->id, mode, creation, status);
}

/* Writes nothing if the progress is not known. */
static void write_seek(struct trace_location *location, const struct traced_call *call, OTF2_TimeStamp now)
{
    static const OTF2_IoSeekOption options[] = {[SEEK_FROM_START] = OTF2_IO_SEEK_FROM_START,
                                                [SEEK_FROM_CURRENT] = OTF2_IO_SEEK_FROM_CURRENT,
                                                [SEEK_FROM_END] = OTF2_IO_SEEK_FROM_END};
    const struct event *asked = NULL, *arrived = NULL;
    for (size_t i = 0; i < call->part_count; i++) {
        const struct event *event = &call->parts[i].event;
        if (event_kind(event) != RECORD_ARGUMENT)
            continue;
        if (event->tag >= SEEK_FROM_START && event->tag <= SEEK_FROM_END)
            asked = event;
        else if (event->tag == SEEK_ARRIVED)
            arrived = event;
    }
    if (asked && arrived)
        location_write(location, IoSeek, now, call->object->id, (int64_t)asked->bytes, options[asked->tag],
                       arrived->bytes);
}

void io_leave(struct trace_location *location, const struct traced_call *call, OTF2_TimeStamp now)
{
    unsigned kind = event_kind(&call->event);
    if (kind == CALL_MPI_File_delete && call->request)
        location_write(location, IoDeleteFile, now, IO_PARADIGM_MPI, (OTF2_IoFileRef)(call->request - 1));
    if (!call->object)
        return;
    unsigned how = transfers[kind].how;
    if (call->pairs && kind == CALL_MPI_File_open)
        write_opened(location, call, now);
    else if (kind == CALL_MPI_File_seek || kind == CALL_MPI_File_seek_shared)
        write_seek(location, call, now);
    else if (call->pairs)
        location_write(location, IoDestroyHandle, now, call->object->id);
    else if (call->request && (how == MOVES_BLOCKING || how == MOVES_SPLIT_END))
        write_complete(location, call->object, call->event.bytes, call->request, now);
    else if (call->request)
        location_write(location, IoOperationIssued, now, call->object->id, call->request);
}

/* For a request that the program freed, the number of transferred bytes is not known. */
void io_part_write(struct trace_location *location, const struct call_part *part, OTF2_TimeStamp now)
{
    if (!part->object || !part->request)
        return;
    if (event_kind(&part->event) == RECORD_CANCELLED)
        location_write(location, IoOperationCancelled, now, part->object->id, part->request);
    else
        write_complete(location, part->object,
                       event_kind(&part->event) == RECORD_FREED ? OTF2_UNDEFINED_UINT64 : part->event.bytes,
                       part->request, now);
}
