/* What the processes do, in the order of time: each event is ten ticks behind the one before it. */
#include "plantedfaults.h"

enum { TICKS = 10, NAME = 1, TEAM_THREADS = 2 };

static OTF2_EvtWriter **writers;
static OTF2_AttributeList *attributes;

/* The next time, as the location's own clock has it. */
static OTF2_TimeStamp at(int l)
{
    now += TICKS;
    return now - (l == MASTER_2 || l == THREAD_2 ? CLOCK_SHIFT : 0);
}

#define EVENT(l, record, ...) OTF2_EvtWriter_##record(writers[l], attributes, at(l), ##__VA_ARGS__)
#define PLANT(name, ...)                                                                                               \
    do {                                                                                                               \
        if (PLANTED(name)) {                                                                                           \
            __VA_ARGS__;                                                                                               \
        }                                                                                                              \
    } while (0)
#define OMIT(name, ...)                                                                                                \
    do {                                                                                                               \
        if (!PLANTED(name)) {                                                                                          \
            __VA_ARGS__;                                                                                               \
        }                                                                                                              \
    } while (0)
#define INSIDE(l, region, ...)                                                                                         \
    do {                                                                                                               \
        enter(l, region);                                                                                              \
        __VA_ARGS__;                                                                                                   \
        leave(l, region);                                                                                              \
    } while (0)

static OTF2_RegionRef region_of(int l, OTF2_RegionRef region)
{
    return l == MASTER_1 || l == THREAD_1 ? REGIONS - 1 - region : region;
}

static void enter(int l, OTF2_RegionRef region)
{
    EVENT(l, Enter, region_of(l, region));
}

static void leave(int l, OTF2_RegionRef region)
{
    EVENT(l, Leave, region_of(l, region));
}

static void send(int l, uint32_t to, OTF2_CommRef comm, uint32_t tag, uint64_t bytes)
{
    INSIDE(l, REGION_P2P, EVENT(l, MpiSend, to, comm, tag, bytes));
}

static void receive(int l, uint32_t from, OTF2_CommRef comm, uint32_t tag, uint64_t bytes)
{
    INSIDE(l, REGION_P2P, EVENT(l, MpiRecv, from, comm, tag, bytes));
}

/* ---- regions, metrics, parameters -------------------------------------------------------------------------------- */

static void programs_begin(void)
{
    PLANT(event_before_program, INSIDE(THREAD_2, REGION_PARALLEL, (void)0));
    for (int l = 0; l < 2 * RANKS; l += 2) {
        EVENT(l, ProgramBegin, NAME, 1, (OTF2_StringRef[]){NAME});
        EVENT(l, MeasurementOnOff, OTF2_MEASUREMENT_ON);
        enter(l, REGION_MAIN);
    }
    PLANT(two_program_begins, EVENT(MASTER_1, ProgramBegin, NAME, 0, NULL));
}

static void programs_end(void)
{
    for (int l = 0; l < 2 * RANKS; l += 2) {
        if (!(PLANTED(no_leave_at_end) && l == MASTER_2))
            leave(l, REGION_MAIN);
        if (l == MASTER_0 && PLANTED(send_outside)) {
            EVENT(l, MpiSend, 1, COMM_WORLD, 5, 1);
            receive(MASTER_1, 0, COMM_WORLD, 5, 1);
        }
        if (!(PLANTED(no_program_end) && l == MASTER_1))
            EVENT(l, ProgramEnd, 0);
    }
}

static void regions_use(void)
{
    attributes = OTF2_AttributeList_New();
    if (PLANTED(attribute_of_other_type))
        OTF2_AttributeList_AddUint32(attributes, ATTRIBUTE_NUMBER, 1);
    else
        OTF2_AttributeList_AddUint64(attributes, PLANTED(attribute_unknown) ? 9 : ATTRIBUTE_NUMBER, 1);
    OTF2_AttributeList_AddStringRef(attributes, ATTRIBUTE_STRING, NAME);
    enter(MASTER_0, REGION_TASK); /* takes the attributes with it */
    OTF2_AttributeList_Delete(attributes);
    attributes = NULL;
    EVENT(MASTER_0, ParameterString, PARAMETER_STRING, NAME);
    EVENT(MASTER_0, ParameterInt, PLANTED(parameter_of_other_type) ? PARAMETER_UNSIGNED : PARAMETER_INT, -1);
    EVENT(MASTER_0, ParameterUnsignedInt, PARAMETER_UNSIGNED, 1);
    leave(MASTER_0, REGION_TASK);
    OMIT(no_enter, enter(MASTER_0, REGION_TASK));
    leave(MASTER_0, REGION_TASK);
    enter(MASTER_0, REGION_TASK);
    OMIT(no_leave, leave(MASTER_0, REGION_TASK));
    PLANT(region_unknown, INSIDE(MASTER_2, 50, (void)0));
    PLANT(samples_mixed, EVENT(THREAD_1, CallingContextSample, 1, 1, 0); INSIDE(THREAD_1, REGION_MAIN, (void)0));
    EVENT(MASTER_2, BufferFlush, now - CLOCK_SHIFT + 1);
    INSIDE(ACCELERATOR, REGION_MAIN, (void)0);
}

/* Beside an Enter and with its time, before it as behind it. */
static void metrics_use(void)
{
    const OTF2_Type pair[] = {OTF2_TYPE_UINT64, PLANTED(metric_of_other_type) ? OTF2_TYPE_INT64 : OTF2_TYPE_DOUBLE};
    const OTF2_Type one[] = {OTF2_TYPE_INT64};
    const OTF2_MetricValue values[] = {{.unsigned_int = 1}, {.floating_point = 0.5}};
    EVENT(MASTER_0, Metric, METRIC_CALLS, PLANTED(metric_of_other_count) ? 1 : 2, pair, values);
    OMIT(metric_alone, now -= TICKS);
    enter(MASTER_0, REGION_TASK);
    EVENT(MASTER_0, Metric, METRIC_FREE, 1, one, values);
    leave(MASTER_0, REGION_TASK);
    now -= TICKS;
    EVENT(MASTER_0, Metric, METRIC_CALLS, 2, (OTF2_Type[]){OTF2_TYPE_UINT64, OTF2_TYPE_DOUBLE}, values);
    EVENT(METRICS, Metric, METRIC_POWER, 1, one, values);
    PLANT(metric_is_member, EVENT(MASTER_0, Metric, METRIC_MEMBER_ALONE, 1, (OTF2_Type[]){OTF2_TYPE_UINT64}, values));
    PLANT(metric_abstract, EVENT(MASTER_0, Metric, METRIC_ABSTRACT, 1, one, values));
    PLANT(metric_elsewhere, EVENT(MASTER_1, Metric, METRIC_POWER, 1, one, values));
}

/* A team of two, and a task that another one interrupts. */
static void threads_use(void)
{
    enter(MASTER_0, REGION_PARALLEL);
    EVENT(MASTER_0, ThreadFork, OTF2_PARADIGM_OPENMP, TEAM_THREADS);
    EVENT(MASTER_0, ThreadTeamBegin, COMM_TEAM);
    OMIT(no_team_begin, EVENT(THREAD_0, ThreadTeamBegin, COMM_TEAM));
    enter(THREAD_0, REGION_PARALLEL);
    EVENT(THREAD_0, ThreadTaskCreate, COMM_TEAM, 0, 1);
    EVENT(THREAD_0, ThreadTaskSwitch, COMM_TEAM, 0, 1);
    enter(THREAD_0, REGION_TASK);
    EVENT(THREAD_0, ThreadAcquireLock, OTF2_PARADIGM_OPENMP, 1, 1);
    EVENT(THREAD_0, ThreadReleaseLock, OTF2_PARADIGM_OPENMP, 1, 1);
    EVENT(THREAD_0, ThreadTaskSwitch, COMM_TEAM, 0, 0);
    leave(THREAD_0, REGION_PARALLEL);
    EVENT(THREAD_0, ThreadTaskSwitch, COMM_TEAM, 0, 1);
    leave(THREAD_0, REGION_TASK);
    EVENT(THREAD_0, ThreadTaskComplete, COMM_TEAM, 0, 1);
    EVENT(THREAD_0, ThreadTeamEnd, COMM_TEAM);
    EVENT(MASTER_0, ThreadTeamEnd, COMM_TEAM);
    OMIT(no_join, EVENT(MASTER_0, ThreadJoin, OTF2_PARADIGM_OPENMP));
    leave(MASTER_0, REGION_PARALLEL);
    EVENT(MASTER_1, ThreadCreate, COMM_TEAM, 1);
    EVENT(THREAD_1, ThreadBegin, COMM_TEAM, 1);
    EVENT(THREAD_1, ThreadEnd, COMM_TEAM, 1);
    EVENT(MASTER_1, ThreadWait, COMM_TEAM, 1);
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

static void messages_use(void)
{
    uint64_t received = PLANTED(bytes_differ) ? 101 : PLANTED(bytes_cut_off) ? 99 : 100;
    if (PLANTED(received_early))
        receive(MASTER_1, 0, COMM_WORLD, 5, received);
    OMIT(message_from_nowhere, send(MASTER_0, 1, COMM_WORLD, 5, 100));
    if (!PLANTED(message_lost) && !PLANTED(received_early))
        receive(MASTER_1, 0, COMM_WORLD, PLANTED(tag_differs) ? 6 : 5, received);
    send(MASTER_2, 0, COMM_SELF, 1, 8);
    receive(MASTER_2, 0, COMM_SELF, 1, 8);
    send(MASTER_1, 0, COMM_PAIR, 1, 8);
    receive(MASTER_0, 1, COMM_PAIR, 1, 8);
    send(MASTER_0, 0, COMM_INTER, 1, 8);
    receive(MASTER_2, 0, COMM_INTER, 1, 8);
    send(MASTER_2, 1, COMM_INTER, 1, 16);
    receive(MASTER_1, 0, COMM_INTER, 1, 16);
    send(MASTER_1, 2, COMM_GLOBAL, 1, 8);
    receive(MASTER_2, 1, COMM_GLOBAL, 1, 8);
    PLANT(not_a_member, send(MASTER_2, 0, COMM_PAIR, 1, 8));
    PLANT(peer_beyond, send(MASTER_0, RANKS, COMM_WORLD, 1, 8));
    PLANT(peer_of_own_side, send(MASTER_0, 1, COMM_INTER, 1, 8));
    PLANT(comm_unknown, send(MASTER_0, 1, 77, 1, 8));
}

static void isend(int l, uint32_t tag, uint64_t bytes, uint64_t request)
{
    INSIDE(l, REGION_P2P, EVENT(l, MpiIsend, 1, COMM_WORLD, tag, bytes, request));
}

/* Two messages of one channel complete in the other order; a third is waited for by another thread. */
static void requests_use(void)
{
    isend(MASTER_0, 7, 64, 1);
    isend(MASTER_0, 7, 32, 2);
    PLANT(request_posted_again, INSIDE(MASTER_0, REGION_P2P, EVENT(MASTER_0, MpiIrecvRequest, 1)));
    INSIDE(MASTER_1, REGION_P2P, EVENT(MASTER_1, MpiIrecvRequest, 4); EVENT(MASTER_1, MpiIrecvRequest, 5));
    INSIDE(MASTER_1, REGION_P2P, EVENT(MASTER_1, MpiRequestTest, PLANTED(test_unknown) ? 44 : 4));
    INSIDE(MASTER_1, REGION_P2P, EVENT(MASTER_1, MpiIrecv, 0, COMM_WORLD, 7, 32, 5);
           EVENT(MASTER_1, MpiIrecv, 0, COMM_WORLD, 7, 64, 4));
    INSIDE(MASTER_0, REGION_P2P, EVENT(MASTER_0, MpiIsendComplete, 1);
           OMIT(request_left, EVENT(MASTER_0, MpiIsendComplete, 2)));
    PLANT(request_twice, INSIDE(MASTER_0, REGION_P2P, EVENT(MASTER_0, MpiIsendComplete, 2)));
    PLANT(request_never_posted, INSIDE(MASTER_0, REGION_P2P, EVENT(MASTER_0, MpiIsendComplete, 99)));
    PLANT(request_early, INSIDE(THREAD_0, REGION_P2P, EVENT(THREAD_0, MpiIsendComplete, 3)));
    isend(MASTER_0, 8, 64, 3);
    receive(MASTER_1, 0, COMM_WORLD, 8, 64);
    OMIT(request_early, INSIDE(THREAD_0, REGION_P2P, EVENT(THREAD_0, MpiIsendComplete, 3)));
    isend(MASTER_0, 9, 64, 1); /* an id is used again */
    INSIDE(MASTER_0, REGION_P2P, EVENT(MASTER_0, MpiRequestCancelled, 1));
    INSIDE(MASTER_2, REGION_P2P, EVENT(MASTER_2, MpiIrecvRequest, 1)); /* is freed */
    PLANT(request_other_kind,
          INSIDE(MASTER_1, REGION_P2P, EVENT(MASTER_1, MpiIrecvRequest, 6); EVENT(MASTER_1, MpiIsendComplete, 6)));
}

/* ---- collectives ------------------------------------------------------------------------------------------------- */

static void collective(int l, OTF2_CollectiveOp op, OTF2_CommRef comm, uint32_t root)
{
    enter(l, REGION_COLLECTIVE);
    EVENT(l, MpiCollectiveBegin);
    EVENT(l, MpiCollectiveEnd, op, comm, root, 8, 8);
    leave(l, REGION_COLLECTIVE);
}

static void first_collectives(int l)
{
    const uint32_t none = OTF2_COLLECTIVE_ROOT_NONE;
    bool last = l == MASTER_2;
    uint32_t root = last && PLANTED(root_beyond)    ? RANKS
                    : last && PLANTED(root_missing) ? none
                    : last && PLANTED(roots_differ) ? 0
                                                    : 1;
    collective(l, OTF2_COLLECTIVE_OP_BCAST, COMM_WORLD, root);
    collective(l, last && PLANTED(operations_differ) ? OTF2_COLLECTIVE_OP_ALLREDUCE : OTF2_COLLECTIVE_OP_BARRIER,
               COMM_WORLD, none);
    collective(l, OTF2_COLLECTIVE_OP_ALLTOALL, COMM_SELF, none);
    if (l == MASTER_0)
        collective(l, OTF2_COLLECTIVE_OP_BARRIER, COMM_SELF, none);
    collective(l, OTF2_COLLECTIVE_OP_BCAST, COMM_INTER,
               l == MASTER_0   ? OTF2_COLLECTIVE_ROOT_SELF
               : l == MASTER_1 ? OTF2_COLLECTIVE_ROOT_THIS_GROUP
                               : 0);
    if (l == MASTER_0 && PLANTED(no_collective_begin))
        INSIDE(l, REGION_COLLECTIVE, EVENT(l, MpiCollectiveEnd, OTF2_COLLECTIVE_OP_BARRIER, COMM_SELF, none, 0, 0));
    if (l == MASTER_0 && PLANTED(no_collective_end))
        INSIDE(l, REGION_COLLECTIVE, EVENT(l, MpiCollectiveBegin));
    if (l == MASTER_0 && PLANTED(operation_unknown))
        collective(l, 60, COMM_SELF, none);
}

static void nonblocking_collectives(int l)
{
    const uint32_t none = OTF2_COLLECTIVE_ROOT_NONE;
    bool missing = l == MASTER_2 && PLANTED(ibarrier_missing), left = l == MASTER_1 && PLANTED(collective_left);
    if (!missing)
        INSIDE(l, REGION_COLLECTIVE, EVENT(l, NonBlockingCollectiveRequest, 20));
    INSIDE(l, REGION_COLLECTIVE, EVENT(l, NonBlockingCollectiveRequest, 21));
    for (int i = 0; i < 2; i++) { /* completed in one order or the other */
        bool barrier = (i + l / 2) % 2 == 0;
        if (barrier ? !missing && !left : true)
            INSIDE(l, REGION_COLLECTIVE,
                   EVENT(l, NonBlockingCollectiveComplete,
                         barrier ? OTF2_COLLECTIVE_OP_BARRIER : OTF2_COLLECTIVE_OP_ALLREDUCE, COMM_WORLD, none, 0, 0,
                         barrier ? 20 : 21));
    }
}

static void comm_use(int l)
{
    const uint32_t none = OTF2_COLLECTIVE_ROOT_NONE;
    enter(l, REGION_COLLECTIVE);
    EVENT(l, MpiCollectiveBegin);
    EVENT(l, CommCreate, COMM_DUP);
    if (l == MASTER_0 && PLANTED(comm_created_twice))
        EVENT(l, CommCreate, COMM_DUP);
    EVENT(l, MpiCollectiveEnd,
          l == MASTER_0 && PLANTED(comm_in_barrier) ? OTF2_COLLECTIVE_OP_BARRIER : OTF2_COLLECTIVE_OP_CREATE_HANDLE,
          COMM_WORLD, none, 0, 0);
    leave(l, REGION_COLLECTIVE);
    collective(l, OTF2_COLLECTIVE_OP_ALLREDUCE, COMM_DUP, none);
    enter(l, REGION_COLLECTIVE);
    if (l == MASTER_1 && PLANTED(comm_destroyed_outside)) {
        EVENT(l, CommDestroy, COMM_DUP);
    } else {
        EVENT(l, MpiCollectiveBegin);
        EVENT(l, CommDestroy, COMM_DUP);
        EVENT(l, MpiCollectiveEnd, OTF2_COLLECTIVE_OP_DESTROY_HANDLE, COMM_DUP, none, 0, 0);
    }
    leave(l, REGION_COLLECTIVE);
    if (l == MASTER_0 && PLANTED(comm_after_end))
        send(l, 0, COMM_DUP, 1, 8);
    if (!(l == MASTER_2 && PLANTED(collective_missing)))
        collective(l, OTF2_COLLECTIVE_OP_BARRIER, COMM_WORLD, none);
}

/* ---- windows and files ------------------------------------------------------------------------------------------- */

static void window_life(int l, bool begin)
{
    const OTF2_RmaSyncLevel level = OTF2_RMA_SYNC_LEVEL_PROCESS;
    const uint32_t none = OTF2_COLLECTIVE_ROOT_NONE;
    enter(l, REGION_RMA);
    EVENT(l, RmaCollectiveBegin);
    if (begin)
        EVENT(l, RmaWinCreate, WINDOW_OF_WORLD);
    else
        EVENT(l, RmaWinDestroy, WINDOW_OF_WORLD);
    EVENT(l, RmaCollectiveEnd, begin ? OTF2_COLLECTIVE_OP_CREATE_HANDLE : OTF2_COLLECTIVE_OP_DESTROY_HANDLE, level,
          WINDOW_OF_WORLD, none, 0, 0);
    leave(l, REGION_RMA);
}

static void put(int l, OTF2_RmaWinRef window, uint32_t target, uint64_t id)
{
    EVENT(l, RmaPut, window, target, 8, id);
    EVENT(l, RmaOpCompleteBlocking, window, id);
}

static void locks_use(int l)
{
    const uint32_t all = OTF2_UNDEFINED_UINT32;
    EVENT(l, RmaRequestLock, WINDOW_OF_WORLD, 0, 0, OTF2_LOCK_EXCLUSIVE);
    EVENT(l, RmaTryLock, WINDOW_OF_WORLD, 0, 0, OTF2_LOCK_EXCLUSIVE);
    EVENT(l, RmaAcquireLock, WINDOW_OF_WORLD, 0, 0, OTF2_LOCK_EXCLUSIVE);
    OMIT(lock_kept, EVENT(l, RmaReleaseLock, WINDOW_OF_WORLD, 0, 0));
    PLANT(lock_released_twice, EVENT(l, RmaReleaseLock, WINDOW_OF_WORLD, 0, 0));
    EVENT(l, RmaAcquireLock, WINDOW_OF_WORLD, all, 0, OTF2_LOCK_SHARED);
    EVENT(l, RmaReleaseLock, WINDOW_OF_WORLD, all, 0);
    EVENT(l, RmaSync, WINDOW_OF_WORLD, 0, OTF2_RMA_SYNC_TYPE_NOTIFY_OUT);
    EVENT(l, RmaGroupSync, OTF2_RMA_SYNC_LEVEL_PROCESS, WINDOW_OF_WORLD, 4);
    EVENT(l, RmaWaitChange, WINDOW_OF_WORLD);
}

static void windows_use(void)
{
    const int l = MASTER_0;
    for (int m = 0; m < 2 * RANKS; m += 2)
        window_life(m, true);
    enter(l, REGION_RMA);
    put(l, WINDOW_OF_WORLD, PLANTED(target_beyond) ? RANKS : 1, 1);
    PLANT(put_completes_twice, EVENT(l, RmaOpCompleteNonBlocking, WINDOW_OF_WORLD, 1));
    EVENT(l, RmaOpCompleteRemote, WINDOW_OF_WORLD, 1);
    EVENT(l, RmaGet, WINDOW_OF_WORLD, 2, 8, 2);
    EVENT(l, RmaOpTest, WINDOW_OF_WORLD, 2);
    OMIT(get_never_completes, EVENT(l, RmaOpCompleteNonBlocking, WINDOW_OF_WORLD, 2));
    EVENT(l, RmaAtomic, WINDOW_OF_WORLD, 1, OTF2_RMA_ATOMIC_TYPE_FETCH_AND_ADD, 8, 8, 3);
    EVENT(l, RmaOpCompleteRemote, WINDOW_OF_WORLD, 3);
    EVENT(l, RmaOpCompleteNonBlocking, WINDOW_OF_WORLD, 3);
    put(l, WINDOW_PLAIN, 1, 1);
    PLANT(window_unknown, put(l, 9, 1, 1));
    leave(l, REGION_RMA);
    INSIDE(MASTER_1, REGION_RMA, locks_use(MASTER_1));
    for (int m = 0; m < 2 * RANKS; m += 2)
        window_life(m, false);
    PLANT(window_after_end, INSIDE(l, REGION_RMA, put(l, WINDOW_OF_WORLD, 1, 7)));
}

static void file_open(int l)
{
    EVENT(l, IoCreateHandle, HANDLE_FILE, OTF2_IO_ACCESS_MODE_READ_WRITE, OTF2_IO_CREATION_FLAG_CREATE,
          OTF2_IO_STATUS_FLAG_NONE);
}

static void files_use(void)
{
    const int l = MASTER_0;
    const OTF2_IoOperationFlag later = OTF2_IO_OPERATION_FLAG_NON_BLOCKING;
    enter(l, REGION_IO);
    file_open(l);
    EVENT(l, IoOperationBegin, HANDLE_FILE, OTF2_IO_OPERATION_MODE_READ, OTF2_IO_OPERATION_FLAG_NONE, 100, 1);
    EVENT(l, IoOperationComplete, HANDLE_FILE, PLANTED(read_too_much) ? 101 : 100, 1);
    PLANT(read_twice, EVENT(l, IoOperationComplete, HANDLE_FILE, 100, 1));
    EVENT(l, IoOperationBegin, HANDLE_FILE, OTF2_IO_OPERATION_MODE_WRITE, later, 50, 2);
    EVENT(l, IoOperationIssued, HANDLE_FILE, 2);
    EVENT(l, IoOperationTest, HANDLE_FILE, 2);
    OMIT(write_left, EVENT(l, IoOperationComplete, HANDLE_FILE, 50, 2));
    EVENT(l, IoOperationBegin, HANDLE_FILE, OTF2_IO_OPERATION_MODE_WRITE, later, 50, 3);
    EVENT(l, IoOperationCancelled, HANDLE_FILE, 3);
    EVENT(l, IoAcquireLock, HANDLE_FILE, OTF2_LOCK_EXCLUSIVE);
    EVENT(l, IoReleaseLock, HANDLE_FILE, OTF2_LOCK_EXCLUSIVE);
    EVENT(l, IoDuplicateHandle, HANDLE_FILE, HANDLE_COPY, OTF2_IO_STATUS_FLAG_NONE);
    EVENT(l, IoChangeStatusFlags, HANDLE_COPY, OTF2_IO_STATUS_FLAG_APPEND);
    EVENT(l, IoDestroyHandle, HANDLE_COPY);
    EVENT(l, IoDestroyHandle, HANDLE_FILE);
    PLANT(handle_closed, EVENT(l, IoSeek, HANDLE_FILE, 0, OTF2_IO_SEEK_FROM_START, 0));
    PLANT(handle_unknown, EVENT(l, IoSeek, 33, 0, OTF2_IO_SEEK_FROM_START, 0));
    EVENT(l, IoOperationBegin, HANDLE_STDOUT, OTF2_IO_OPERATION_MODE_WRITE, OTF2_IO_OPERATION_FLAG_NONE, 8, 1);
    EVENT(l, IoOperationComplete, HANDLE_STDOUT, 4, 1);
    EVENT(l, IoDeleteFile, 0, 0);
    leave(l, REGION_IO);
    enter(MASTER_1, REGION_IO);
    OMIT(handle_not_opened, file_open(MASTER_1));
    EVENT(MASTER_1, IoSeek, HANDLE_FILE, 0, OTF2_IO_SEEK_FROM_START, 0);
    EVENT(MASTER_1, IoDestroyHandle, HANDLE_FILE);
    leave(MASTER_1, REGION_IO);
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

void events_write(OTF2_EvtWriter *all[LOCATIONS])
{
    writers = all;
    programs_begin();
    regions_use();
    metrics_use();
    threads_use();
    messages_use();
    requests_use();
    for (int l = 0; l < 2 * RANKS; l += 2)
        first_collectives(l);
    for (int l = 0; l < 2 * RANKS; l += 2)
        nonblocking_collectives(l);
    for (int l = 0; l < 2 * RANKS; l += 2)
        comm_use(l);
    windows_use();
    files_use();
    programs_end();
}

/* As sampling recorders write: regions are calling contexts. */
void samples_write(OTF2_EvtWriter *all[LOCATIONS])
{
    const OTF2_Type pair[] = {OTF2_TYPE_UINT64, OTF2_TYPE_DOUBLE};
    const OTF2_MetricValue values[] = {{.unsigned_int = 1}, {.floating_point = 0.5}};
    writers = all;
    for (int l = 0; l < 2 * RANKS; l += 2)
        EVENT(l, ProgramBegin, NAME, 0, NULL);
    for (int l = 0; l < 2 * RANKS; l++)
        for (int i = 0; i < 20; i++) {
            EVENT(l, CallingContextSample, i % 2, 1, 0);
            now -= TICKS;
            EVENT(l, Metric, METRIC_CALLS, 2, pair, values);
        }
    for (int l = MASTER_0; l <= MASTER_1; l += 2) {
        EVENT(l, CallingContextEnter, 1, 1);
        if (l == MASTER_0)
            EVENT(l, MpiSend, 1, COMM_WORLD, 1, 8);
        else
            EVENT(l, MpiRecv, 0, COMM_WORLD, 1, 8);
        EVENT(l, CallingContextLeave, 1);
    }
    for (int l = 0; l < 2 * RANKS; l += 2)
        EVENT(l, ProgramEnd, 0);
}
