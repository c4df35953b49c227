/* Messages, collectives, windows and files in one location's events. They become happenings. */
#include "check_definitions.h"
#include "check_events.h"
#include "check_happenings.h"

static void happen(struct location *location, OTF2_TimeStamp time, struct happening happening)
{
    happening.time = time;
    happening.phase = happening_kinds[happening.what].phase;
    if (location->ahead_end < EVENTS_AHEAD) /* no more are read at a time */
        location->ahead[location->ahead_end++] = happening;
}

#define LOCATION ((struct location *)data)
#define RECORD(what) happening_kinds[what].record
#define HAPPEN(kind, ...) happen(LOCATION, time, (struct happening){.what = kind, __VA_ARGS__})

/* ---- messages ---------------------------------------------------------------------------------------------------- */

EVENT(send, uint32_t receiver, OTF2_CommRef comm, uint32_t tag, uint64_t bytes)
{
    mpi_event_at(data, time, RECORD(SENT), attributes);
    HAPPEN(SENT, .reference = comm, .peer = receiver, .tag = tag, .bytes = bytes);
    return OTF2_CALLBACK_SUCCESS;
}

EVENT(recv, uint32_t sender, OTF2_CommRef comm, uint32_t tag, uint64_t bytes)
{
    mpi_event_at(data, time, RECORD(RECEIVED), attributes);
    HAPPEN(RECEIVED, .reference = comm, .peer = sender, .tag = tag, .bytes = bytes);
    return OTF2_CALLBACK_SUCCESS;
}

EVENT(isend, uint32_t receiver, OTF2_CommRef comm, uint32_t tag, uint64_t bytes, uint64_t request)
{
    mpi_event_at(data, time, RECORD(REQUEST_POSTED_SEND), attributes);
    HAPPEN(REQUEST_POSTED_SEND, .reference = comm, .peer = receiver, .tag = tag, .bytes = bytes, .id = request);
    return OTF2_CALLBACK_SUCCESS;
}

EVENT(irecv, uint32_t sender, OTF2_CommRef comm, uint32_t tag, uint64_t bytes, uint64_t request)
{
    mpi_event_at(data, time, RECORD(REQUEST_ENDED_RECV), attributes);
    HAPPEN(REQUEST_ENDED_RECV, .reference = comm, .peer = sender, .tag = tag, .bytes = bytes, .id = request);
    return OTF2_CALLBACK_SUCCESS;
}

#define OF_REQUEST(name, kind)                                                                                         \
    EVENT(name, uint64_t request)                                                                                      \
    {                                                                                                                  \
        mpi_event_at(data, time, RECORD(kind), attributes);                                                            \
        HAPPEN(kind, .id = request);                                                                                   \
        return OTF2_CALLBACK_SUCCESS;                                                                                  \
    }
OF_REQUEST(isend_complete, REQUEST_ENDED_SEND)
OF_REQUEST(irecv_request, REQUEST_POSTED_RECV)
OF_REQUEST(request_test, REQUEST_TESTED)
OF_REQUEST(request_cancelled, REQUEST_CANCELLED)
OF_REQUEST(collective_request, REQUEST_POSTED_COLLECTIVE)

/* ---- collectives ------------------------------------------------------------------------------------------------- */

static bool collective_op_is_known(struct location *location, OTF2_TimeStamp time, const char *record,
                                   OTF2_CollectiveOp op)
{
    struct check_place place = check_place_of(location, time, record);
    if (op > OTF2_COLLECTIVE_OP_DESTROY_HANDLE_AND_DEALLOCATE)
        check_found(RULE_ENUM_VALUE, &place, "collective operation %u does not exist", op);
    return op <= OTF2_COLLECTIVE_OP_DESTROY_HANDLE_AND_DEALLOCATE;
}

static void open_collective_push(struct location *location, enum collective_family family)
{
    size_t *depth = &location->collective_depth[family], *capacity = &location->collective_capacity[family];
    if (*depth == *capacity) {
        *capacity = *capacity ? *capacity * 2 : 8;
        location->collectives[family] =
            check_enlarge(location->collectives[family], *capacity, sizeof *location->collectives[family]);
    }
    location->collectives[family][(*depth)++] = (struct open_collective){.depth = location->depth};
}

static void open_collective_pop(struct location *location, OTF2_TimeStamp time, const char *record,
                                OTF2_CollectiveOp op, enum collective_family family)
{
    struct check_place place = check_place_of(location, time, record);
    size_t *depth = &location->collective_depth[family];
    const struct open_collective *open = *depth ? &location->collectives[family][*depth - 1] : NULL;
    if (!open || (!location->has_tasks && open->depth != location->depth)) {
        check_found(RULE_COLLECTIVE_PAIRS, &place, "its operation did not begin in this region");
        return;
    }
    if ((open->created && op != OTF2_COLLECTIVE_OP_CREATE_HANDLE) ||
        (open->destroyed && op != OTF2_COLLECTIVE_OP_DESTROY_HANDLE))
        check_found(RULE_COMM_OPERATION, &place, "a communicator is %s in operation %u",
                    open->created ? "created" : "destroyed", op);
    --*depth;
}

EVENT(collective_begin)
{
    mpi_event_at(data, time, "MpiCollectiveBegin", attributes);
    open_collective_push(data, FAMILY_MPI);
    return OTF2_CALLBACK_SUCCESS;
}

EVENT(collective_end, OTF2_CollectiveOp op, OTF2_CommRef comm, uint32_t root, uint64_t in, uint64_t out)
{
    mpi_event_at(data, time, RECORD(COLLECTIVE_ENDED), attributes);
    open_collective_pop(data, time, RECORD(COLLECTIVE_ENDED), op, FAMILY_MPI);
    if (collective_op_is_known(data, time, RECORD(COLLECTIVE_ENDED), op))
        HAPPEN(COLLECTIVE_ENDED, .op = op, .reference = comm, .peer = root, .bytes = in, .more = out);
    return OTF2_CALLBACK_SUCCESS;
}

EVENT(collective_complete, OTF2_CollectiveOp op, OTF2_CommRef comm, uint32_t root, uint64_t in, uint64_t out,
      uint64_t request)
{
    mpi_event_at(data, time, RECORD(REQUEST_ENDED_COLLECTIVE), attributes);
    if (collective_op_is_known(data, time, RECORD(REQUEST_ENDED_COLLECTIVE), op))
        HAPPEN(REQUEST_ENDED_COLLECTIVE, .op = op, .reference = comm, .peer = root, .bytes = in, .more = out,
               .id = request);
    return OTF2_CALLBACK_SUCCESS;
}

EVENT(comm_create, OTF2_CommRef comm)
{
    struct location *location = data;
    size_t depth = location->collective_depth[FAMILY_MPI];
    mpi_event_at(data, time, RECORD(COMM_CREATED), attributes);
    if (depth)
        location->collectives[FAMILY_MPI][depth - 1].created = true;
    HAPPEN(COMM_CREATED, .reference = comm, .flag = depth == 0);
    return OTF2_CALLBACK_SUCCESS;
}

EVENT(comm_destroy, OTF2_CommRef comm)
{
    struct location *location = data;
    struct check_place place = check_place_of(location, time, RECORD(COMM_DESTROYED));
    size_t depth = location->collective_depth[FAMILY_MPI];
    mpi_event_at(data, time, RECORD(COMM_DESTROYED), attributes);
    if (depth)
        location->collectives[FAMILY_MPI][depth - 1].destroyed = true;
    else
        check_found(RULE_COMM_OPERATION, &place, "Comm %u is destroyed outside of a collective operation", comm);
    HAPPEN(COMM_DESTROYED, .reference = comm);
    return OTF2_CALLBACK_SUCCESS;
}

/* ---- windows ----------------------------------------------------------------------------------------------------- */

/* Returns whether the event's window is defined, so that the event can become a happening. */
static bool window_at(void *data, OTF2_TimeStamp time, const char *record, OTF2_AttributeList *attributes,
                      OTF2_RmaWinRef window)
{
    event_at(data, time, record, attributes);
    return event_refers(data, time, record, OTF2_MAPPING_RMA_WIN, window);
}

#define OF_WINDOW(name, text, kind, values, ...)                                                                       \
    EVENT(name, OTF2_RmaWinRef window, ##__VA_ARGS__)                                                                  \
    {                                                                                                                  \
        if (window_at(data, time, text, attributes, window))                                                           \
            HAPPEN(kind, .reference = window, VALUES values);                                                          \
        return OTF2_CALLBACK_SUCCESS;                                                                                  \
    }
#define VALUES(...) __VA_ARGS__
OF_WINDOW(window_create, RECORD(WINDOW_CREATED), WINDOW_CREATED, (.flag = false))
OF_WINDOW(window_destroy, RECORD(WINDOW_DESTROYED), WINDOW_DESTROYED, (.flag = false))
OF_WINDOW(wait_change, "RmaWaitChange", WINDOW_USED, (.flag = false))
OF_WINDOW(sync, "RmaSync", WINDOW_USED, (.flag = true, .peer = remote), uint32_t remote, UNUSED OTF2_RmaSyncType type)
OF_WINDOW(put, "RmaPut", RMA_ISSUED, (.peer = remote, .bytes = bytes, .id = matching), uint32_t remote, uint64_t bytes,
          uint64_t matching)
OF_WINDOW(get, "RmaGet", RMA_ISSUED, (.peer = remote, .bytes = bytes, .id = matching), uint32_t remote, uint64_t bytes,
          uint64_t matching)
OF_WINDOW(atomic, "RmaAtomic", RMA_ISSUED, (.peer = remote, .bytes = in, .more = out, .id = matching), uint32_t remote,
          UNUSED OTF2_RmaAtomicType type, uint64_t in, uint64_t out, uint64_t matching)
OF_WINDOW(complete_blocking, RECORD(RMA_COMPLETED), RMA_COMPLETED, (.id = matching), uint64_t matching)
OF_WINDOW(complete, RECORD(RMA_COMPLETED), RMA_COMPLETED, (.id = matching), uint64_t matching)
OF_WINDOW(complete_remote, RECORD(RMA_COMPLETED_REMOTE), RMA_COMPLETED_REMOTE, (.id = matching), uint64_t matching)
OF_WINDOW(rma_test, RECORD(RMA_TESTED), RMA_TESTED, (.id = matching), uint64_t matching)
OF_WINDOW(request_lock, "RmaRequestLock", WINDOW_USED, (.flag = remote != OTF2_UNDEFINED_UINT32, .peer = remote),
          uint32_t remote, UNUSED uint64_t lock, UNUSED OTF2_LockType type)
OF_WINDOW(try_lock, "RmaTryLock", WINDOW_USED, (.flag = remote != OTF2_UNDEFINED_UINT32, .peer = remote),
          uint32_t remote, UNUSED uint64_t lock, UNUSED OTF2_LockType type)
OF_WINDOW(acquire_lock, RECORD(LOCK_ACQUIRED), LOCK_ACQUIRED, (.peer = remote, .id = lock), uint32_t remote,
          uint64_t lock, UNUSED OTF2_LockType type)
OF_WINDOW(release_lock, RECORD(LOCK_RELEASED), LOCK_RELEASED, (.peer = remote, .id = lock), uint32_t remote,
          uint64_t lock)

EVENT(rma_collective_begin)
{
    event_at(data, time, "RmaCollectiveBegin", attributes);
    open_collective_push(data, FAMILY_RMA);
    return OTF2_CALLBACK_SUCCESS;
}

EVENT(rma_collective_end, OTF2_CollectiveOp op, UNUSED OTF2_RmaSyncLevel level, OTF2_RmaWinRef window, uint32_t root,
      UNUSED uint64_t in, UNUSED uint64_t out)
{
    const char *record = RECORD(RMA_COLLECTIVE_ENDED);
    bool known = window_at(data, time, record, attributes, window);
    open_collective_pop(data, time, record, op, FAMILY_RMA);
    if (collective_op_is_known(data, time, record, op) && known)
        HAPPEN(RMA_COLLECTIVE_ENDED, .op = op, .reference = window, .peer = root,
               .flag = root < OTF2_COLLECTIVE_ROOT_THIS_GROUP);
    return OTF2_CALLBACK_SUCCESS;
}

EVENT(group_sync, UNUSED OTF2_RmaSyncLevel level, OTF2_RmaWinRef window, OTF2_GroupRef group)
{
    if (window_at(data, time, "RmaGroupSync", attributes, window))
        HAPPEN(WINDOW_USED, .reference = window);
    event_refers(data, time, "RmaGroupSync", OTF2_MAPPING_GROUP, group);
    return OTF2_CALLBACK_SUCCESS;
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

static bool io_handle_at(void *data, OTF2_TimeStamp time, const char *record, OTF2_AttributeList *attributes,
                         OTF2_IoHandleRef handle)
{
    event_at(data, time, record, attributes);
    return event_refers(data, time, record, OTF2_MAPPING_IO_HANDLE, handle);
}

#define OF_HANDLE(name, text, kind, values, ...)                                                                       \
    EVENT(name, OTF2_IoHandleRef handle, ##__VA_ARGS__)                                                                \
    {                                                                                                                  \
        if (io_handle_at(data, time, text, attributes, handle))                                                        \
            HAPPEN(kind, .reference = handle, VALUES values);                                                          \
        return OTF2_CALLBACK_SUCCESS;                                                                                  \
    }
OF_HANDLE(io_create, RECORD(IO_CREATED), IO_CREATED, (.flag = false), UNUSED OTF2_IoAccessMode mode,
          UNUSED OTF2_IoCreationFlag creation, UNUSED OTF2_IoStatusFlag status)
OF_HANDLE(io_destroy, RECORD(IO_DESTROYED), IO_DESTROYED, (.flag = false))
OF_HANDLE(io_seek, "IoSeek", IO_USED, (.flag = false), UNUSED int64_t offset, UNUSED OTF2_IoSeekOption whence,
          UNUSED uint64_t result)
OF_HANDLE(io_flags, "IoChangeStatusFlags", IO_USED, (.flag = false), UNUSED OTF2_IoStatusFlag flags)
OF_HANDLE(io_acquire, "IoAcquireLock", IO_USED, (.flag = false), UNUSED OTF2_LockType type)
OF_HANDLE(io_release, "IoReleaseLock", IO_USED, (.flag = false), UNUSED OTF2_LockType type)
OF_HANDLE(io_try, "IoTryLock", IO_USED, (.flag = false), UNUSED OTF2_LockType type)
OF_HANDLE(io_begin, RECORD(IO_BEGUN), IO_BEGUN, (.bytes = bytes, .id = matching), UNUSED OTF2_IoOperationMode mode,
          UNUSED OTF2_IoOperationFlag flags, uint64_t bytes, uint64_t matching)
OF_HANDLE(io_issued, "IoOperationIssued", IO_TESTED, (.id = matching), uint64_t matching)
OF_HANDLE(io_test, RECORD(IO_TESTED), IO_TESTED, (.id = matching), uint64_t matching)
OF_HANDLE(io_complete, RECORD(IO_ENDED), IO_ENDED, (.bytes = bytes, .id = matching), uint64_t bytes, uint64_t matching)
OF_HANDLE(io_cancelled, "IoOperationCancelled", IO_ENDED, (.flag = true, .id = matching), uint64_t matching)

EVENT(io_duplicate, OTF2_IoHandleRef old, OTF2_IoHandleRef new, UNUSED OTF2_IoStatusFlag flags)
{
    bool known = io_handle_at(data, time, "IoDuplicateHandle", attributes, old);
    if (known && event_refers(data, time, "IoDuplicateHandle", OTF2_MAPPING_IO_HANDLE, new))
        HAPPEN(IO_CREATED, .reference = new, .flag = true, .peer = old);
    return OTF2_CALLBACK_SUCCESS;
}

EVENT(io_delete, OTF2_IoParadigmRef paradigm, OTF2_IoFileRef file)
{
    event_at(data, time, "IoDeleteFile", attributes);
    event_refers(data, time, "IoDeleteFile", DEFINED_IO_PARADIGM, paradigm);
    event_refers(data, time, "IoDeleteFile", OTF2_MAPPING_IO_FILE, file);
    return OTF2_CALLBACK_SUCCESS;
}

/* ---- of which nothing more is asked ------------------------------------------------------------------------------ */

#define PLAIN(name, text, ...)                                                                                         \
    EVENT(name, __VA_ARGS__)                                                                                           \
    {                                                                                                                  \
        event_at(data, time, text, attributes);                                                                        \
        return OTF2_CALLBACK_SUCCESS;                                                                                  \
    }
PLAIN(flush, "BufferFlush", UNUSED OTF2_TimeStamp stop)
PLAIN(omp_acquire, "OmpAcquireLock", UNUSED uint32_t lock, UNUSED uint32_t order)
PLAIN(omp_release, "OmpReleaseLock", UNUSED uint32_t lock, UNUSED uint32_t order)
PLAIN(omp_task_create, "OmpTaskCreate", UNUSED uint64_t task)
PLAIN(omp_task_complete, "OmpTaskComplete", UNUSED uint64_t task)
PLAIN(thread_acquire, "ThreadAcquireLock", UNUSED OTF2_Paradigm paradigm, UNUSED uint32_t lock, UNUSED uint32_t order)
PLAIN(thread_release, "ThreadReleaseLock", UNUSED OTF2_Paradigm paradigm, UNUSED uint32_t lock, UNUSED uint32_t order)

static void accesses_register(OTF2_EvtReaderCallbacks *callbacks)
{
    ON(EvtReader, RmaWinCreate, on_window_create);
    ON(EvtReader, RmaWinDestroy, on_window_destroy);
    ON(EvtReader, RmaCollectiveBegin, on_rma_collective_begin);
    ON(EvtReader, RmaCollectiveEnd, on_rma_collective_end);
    ON(EvtReader, RmaGroupSync, on_group_sync);
    ON(EvtReader, RmaRequestLock, on_request_lock);
    ON(EvtReader, RmaAcquireLock, on_acquire_lock);
    ON(EvtReader, RmaTryLock, on_try_lock);
    ON(EvtReader, RmaReleaseLock, on_release_lock);
    ON(EvtReader, RmaSync, on_sync);
    ON(EvtReader, RmaWaitChange, on_wait_change);
    ON(EvtReader, RmaPut, on_put);
    ON(EvtReader, RmaGet, on_get);
    ON(EvtReader, RmaAtomic, on_atomic);
    ON(EvtReader, RmaOpCompleteBlocking, on_complete_blocking);
    ON(EvtReader, RmaOpCompleteNonBlocking, on_complete);
    ON(EvtReader, RmaOpCompleteRemote, on_complete_remote);
    ON(EvtReader, RmaOpTest, on_rma_test);
    ON(EvtReader, IoCreateHandle, on_io_create);
    ON(EvtReader, IoDestroyHandle, on_io_destroy);
    ON(EvtReader, IoDuplicateHandle, on_io_duplicate);
    ON(EvtReader, IoSeek, on_io_seek);
    ON(EvtReader, IoChangeStatusFlags, on_io_flags);
    ON(EvtReader, IoDeleteFile, on_io_delete);
    ON(EvtReader, IoOperationBegin, on_io_begin);
    ON(EvtReader, IoOperationTest, on_io_test);
    ON(EvtReader, IoOperationIssued, on_io_issued);
    ON(EvtReader, IoOperationComplete, on_io_complete);
    ON(EvtReader, IoOperationCancelled, on_io_cancelled);
    ON(EvtReader, IoAcquireLock, on_io_acquire);
    ON(EvtReader, IoReleaseLock, on_io_release);
    ON(EvtReader, IoTryLock, on_io_try);
}

void check_records_register(OTF2_EvtReaderCallbacks *callbacks)
{
    ON(EvtReader, MpiSend, on_send);
    ON(EvtReader, MpiRecv, on_recv);
    ON(EvtReader, MpiIsend, on_isend);
    ON(EvtReader, MpiIrecv, on_irecv);
    ON(EvtReader, MpiIsendComplete, on_isend_complete);
    ON(EvtReader, MpiIrecvRequest, on_irecv_request);
    ON(EvtReader, MpiRequestTest, on_request_test);
    ON(EvtReader, MpiRequestCancelled, on_request_cancelled);
    ON(EvtReader, MpiCollectiveBegin, on_collective_begin);
    ON(EvtReader, MpiCollectiveEnd, on_collective_end);
    ON(EvtReader, NonBlockingCollectiveRequest, on_collective_request);
    ON(EvtReader, NonBlockingCollectiveComplete, on_collective_complete);
    ON(EvtReader, CommCreate, on_comm_create);
    ON(EvtReader, CommDestroy, on_comm_destroy);
    accesses_register(callbacks);
    ON(EvtReader, BufferFlush, on_flush);
    ON(EvtReader, OmpAcquireLock, on_omp_acquire);
    ON(EvtReader, OmpReleaseLock, on_omp_release);
    ON(EvtReader, OmpTaskCreate, on_omp_task_create);
    ON(EvtReader, OmpTaskComplete, on_omp_task_complete);
    ON(EvtReader, ThreadAcquireLock, on_thread_acquire);
    ON(EvtReader, ThreadReleaseLock, on_thread_release);
}
