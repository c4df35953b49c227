#define _GNU_SOURCE
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "archivereader.h"

#include <otf2/otf2.h>

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { LOCATIONS_MAX = 8, STRINGS_MAX = 256 };

struct archive_seen seen;

#define EVENT(name, ...)                                                                                               \
    static OTF2_CallbackCode on_##name(OTF2_LocationRef location, OTF2_TimeStamp time, void *data,                     \
                                       OTF2_AttributeList *attributes, ##__VA_ARGS__)
#define DONE ((void)location, (void)time, (void)data, (void)attributes, OTF2_CALLBACK_SUCCESS)

EVENT(enter, OTF2_RegionRef region)
{
    seen.enters++;
    seen.depth++;
    if (seen.ordered < 64)
        seen.order[seen.ordered++] = region;
    return DONE;
}

EVENT(window_created, OTF2_RmaWinRef window)
{
    (void)window;
    seen.windows++;
    return DONE;
}

EVENT(access, OTF2_RmaWinRef window, uint32_t target, uint64_t bytes, uint64_t id)
{
    (void)window, (void)target, (void)bytes, (void)id;
    seen.accesses++;
    return DONE;
}

EVENT(atomic, OTF2_RmaWinRef window, uint32_t target, OTF2_RmaAtomicType type, uint64_t sent, uint64_t received,
      uint64_t id)
{
    (void)window, (void)target, (void)id;
    seen.accesses++;
    seen.atomics[type % 8]++;
    seen.atomic_sent += sent;
    seen.atomic_received += received;
    return DONE;
}

EVENT(completed, OTF2_RmaWinRef window, uint64_t id)
{
    (void)window, (void)id;
    seen.completed++;
    return DONE;
}

EVENT(completed_there, OTF2_RmaWinRef window, uint64_t id)
{
    (void)window, (void)id;
    seen.completed_there++;
    return DONE;
}

EVENT(locked, OTF2_RmaWinRef window, uint32_t target, uint64_t id, OTF2_LockType type)
{
    (void)window, (void)target, (void)id, (void)type;
    seen.locks++;
    return DONE;
}

EVENT(unlocked, OTF2_RmaWinRef window, uint32_t target, uint64_t id)
{
    (void)window, (void)target, (void)id;
    seen.unlocks++;
    return DONE;
}

EVENT(group_sync, OTF2_RmaSyncLevel level, OTF2_RmaWinRef window, OTF2_GroupRef group)
{
    (void)level, (void)window, (void)group;
    seen.group_syncs++;
    seen.group_synced = seen.enters;
    return DONE;
}

EVENT(opened, OTF2_IoHandleRef handle, OTF2_IoAccessMode mode, OTF2_IoCreationFlag creation, OTF2_IoStatusFlag status)
{
    (void)handle, (void)mode, (void)creation, (void)status;
    seen.handles++;
    return DONE;
}

EVENT(transfer, OTF2_IoHandleRef handle, OTF2_IoOperationMode mode, OTF2_IoOperationFlag flags, uint64_t bytes,
      uint64_t id)
{
    (void)handle, (void)mode, (void)flags, (void)bytes, (void)id;
    seen.transfers++;
    return DONE;
}

EVENT(seek, OTF2_IoHandleRef handle, int64_t asked, OTF2_IoSeekOption from, uint64_t arrived)
{
    (void)handle;
    seen.seeks[from % 8]++;
    seen.sought = asked;
    seen.arrived = arrived;
    return DONE;
}

EVENT(transferred, OTF2_IoHandleRef handle, uint64_t bytes, uint64_t id)
{
    (void)handle, (void)bytes, (void)id;
    seen.transferred++;
    return DONE;
}

EVENT(leave, OTF2_RegionRef region)
{
    seen.leaves++;
    seen.depth--;
    if (seen.ordered < 64)
        seen.order[seen.ordered++] = region + UINT64_C(1000);
    return DONE;
}

EVENT(send, uint32_t peer, OTF2_CommRef comm, uint32_t tag, uint64_t bytes)
{
    (void)peer, (void)comm, (void)tag;
    seen.sends++;
    seen.sent += bytes;
    return DONE;
}

EVENT(recv, uint32_t peer, OTF2_CommRef comm, uint32_t tag, uint64_t bytes)
{
    (void)peer, (void)comm, (void)tag;
    seen.recvs++;
    seen.received += bytes;
    return DONE;
}

EVENT(isend, uint32_t peer, OTF2_CommRef comm, uint32_t tag, uint64_t bytes, uint64_t request)
{
    (void)peer, (void)comm, (void)tag, (void)request;
    seen.isends++;
    seen.sent += bytes;
    return DONE;
}

EVENT(irecv, uint32_t peer, OTF2_CommRef comm, uint32_t tag, uint64_t bytes, uint64_t request)
{
    (void)peer, (void)comm, (void)tag, (void)request;
    seen.irecvs++;
    seen.received += bytes;
    return DONE;
}

#define COUNTING(name, field, type)                                                                                    \
    EVENT(name, type value)                                                                                            \
    {                                                                                                                  \
        (void)value;                                                                                                   \
        seen.field++;                                                                                                  \
        return DONE;                                                                                                   \
    }
COUNTING(isend_complete, isend_completes, uint64_t)
COUNTING(irecv_request, irecv_requests, uint64_t)
COUNTING(test, tests, uint64_t)
COUNTING(cancel, cancels, uint64_t)
COUNTING(collective_request, collective_requests, uint64_t)
COUNTING(create, creates, OTF2_CommRef)
COUNTING(destroy, destroys, OTF2_CommRef)
COUNTING(program_end, program_ends, int64_t)

EVENT(program_begin, OTF2_StringRef name, uint32_t count, const OTF2_StringRef *arguments)
{
    (void)name, (void)count, (void)arguments;
    seen.programs++;
    return DONE;
}

EVENT(begin)
{
    seen.begins++;
    return DONE;
}

EVENT(end, OTF2_CollectiveOp op, OTF2_CommRef comm, uint32_t root, uint64_t in, uint64_t out)
{
    (void)op, (void)comm, (void)root;
    seen.ends++;
    seen.coll_sent += in;
    seen.coll_received += out;
    return DONE;
}

EVENT(collective_complete, OTF2_CollectiveOp op, OTF2_CommRef comm, uint32_t root, uint64_t in, uint64_t out,
      uint64_t request)
{
    (void)op, (void)comm, (void)root, (void)request;
    seen.collective_completes++;
    seen.coll_sent += in;
    seen.coll_received += out;
    return DONE;
}

static OTF2_LocationRef locations[LOCATIONS_MAX];
static size_t location_count;

static char strings[STRINGS_MAX][64];

static OTF2_CallbackCode on_string(void *data, OTF2_StringRef self, const char *text)
{
    (void)data;
    assert_true(self < STRINGS_MAX);
    snprintf(strings[self], sizeof strings[self], "%.63s", text);
    return OTF2_CALLBACK_SUCCESS;
}

static void name_add(char names[512], OTF2_StringRef name)
{
    assert_true(name < STRINGS_MAX);
    size_t used = strlen(names);
    snprintf(names + used, 512 - used, "%s;", strings[name]);
}

static OTF2_CallbackCode on_group(void *data, OTF2_GroupRef self, OTF2_StringRef name, OTF2_GroupType type,
                                  OTF2_Paradigm paradigm, OTF2_GroupFlag flags, uint32_t count, const uint64_t *members)
{
    (void)data, (void)self, (void)type, (void)paradigm, (void)flags, (void)count, (void)members;
    name_add(seen.group_names, name);
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_location(void *data, OTF2_LocationRef self, OTF2_StringRef name, OTF2_LocationType type,
                                     uint64_t events, OTF2_LocationGroupRef group)
{
    (void)type, (void)events, (void)group;
    name_add(seen.location_names, name);
    assert_true(location_count < LOCATIONS_MAX);
    locations[location_count++] = self;
    return OTF2_Reader_SelectLocation(data, self) == OTF2_SUCCESS ? OTF2_CALLBACK_SUCCESS : OTF2_CALLBACK_INTERRUPT;
}

static OTF2_CallbackCode on_comm(void *data, OTF2_CommRef self, OTF2_StringRef name, OTF2_GroupRef group,
                                 OTF2_CommRef parent, OTF2_CommFlag flags)
{
    (void)data, (void)self, (void)group, (void)parent, (void)flags;
    name_add(seen.comm_names, name);
    seen.comms++;
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_inter_comm(void *data, OTF2_CommRef self, OTF2_StringRef name, OTF2_GroupRef one,
                                       OTF2_GroupRef other, OTF2_CommRef common, OTF2_CommFlag flags)
{
    (void)other;
    on_comm(data, self, name, one, common, flags);
    seen.inter_comms++;
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_GlobalEvtReaderCallbacks *callbacks_make(void)
{
    OTF2_GlobalEvtReaderCallbacks *callbacks = OTF2_GlobalEvtReaderCallbacks_New();
#define ON(name, function) OTF2_GlobalEvtReaderCallbacks_Set##name##Callback(callbacks, on_##function)
    ON(Enter, enter);
    ON(RmaWinCreate, window_created);
    ON(RmaPut, access);
    ON(RmaGet, access);
    ON(RmaAtomic, atomic);
    ON(RmaOpCompleteNonBlocking, completed);
    ON(RmaOpCompleteRemote, completed_there);
    ON(RmaAcquireLock, locked);
    ON(RmaReleaseLock, unlocked);
    ON(RmaGroupSync, group_sync);
    ON(IoCreateHandle, opened);
    ON(IoSeek, seek);
    ON(IoOperationBegin, transfer);
    ON(IoOperationComplete, transferred);
    ON(Leave, leave);
    ON(MpiSend, send);
    ON(MpiRecv, recv);
    ON(MpiIsend, isend);
    ON(MpiIsendComplete, isend_complete);
    ON(MpiIrecvRequest, irecv_request);
    ON(MpiIrecv, irecv);
    ON(MpiRequestTest, test);
    ON(MpiRequestCancelled, cancel);
    ON(MpiCollectiveBegin, begin);
    ON(MpiCollectiveEnd, end);
    ON(NonBlockingCollectiveRequest, collective_request);
    ON(NonBlockingCollectiveComplete, collective_complete);
    ON(CommCreate, create);
    ON(CommDestroy, destroy);
    ON(ProgramBegin, program_begin);
    ON(ProgramEnd, program_end);
    return callbacks;
}

void archive_read(const char *directory)
{
    char path[256];
    uint64_t count;
    memset(&seen, 0, sizeof seen);
    location_count = 0;
    snprintf(path, sizeof path, "%s/traces.otf2", directory);
    OTF2_Reader *reader = OTF2_Reader_Open(path);
    assert_non_null(reader);
    assert_int_equal(OTF2_Reader_SetSerialCollectiveCallbacks(reader), OTF2_SUCCESS);
    OTF2_GlobalDefReaderCallbacks *definitions = OTF2_GlobalDefReaderCallbacks_New();
    OTF2_GlobalDefReaderCallbacks_SetStringCallback(definitions, on_string);
    OTF2_GlobalDefReaderCallbacks_SetGroupCallback(definitions, on_group);
    OTF2_GlobalDefReaderCallbacks_SetLocationCallback(definitions, on_location);
    OTF2_GlobalDefReaderCallbacks_SetCommCallback(definitions, on_comm);
    OTF2_GlobalDefReaderCallbacks_SetInterCommCallback(definitions, on_inter_comm);
    OTF2_GlobalDefReader *global = OTF2_Reader_GetGlobalDefReader(reader);
    OTF2_Reader_RegisterGlobalDefCallbacks(reader, global, definitions, reader);
    assert_int_equal(OTF2_Reader_ReadAllGlobalDefinitions(reader, global, &count), OTF2_SUCCESS);
    OTF2_GlobalDefReaderCallbacks_Delete(definitions);
    assert_int_equal(OTF2_Reader_OpenEvtFiles(reader), OTF2_SUCCESS);
    assert_int_equal(OTF2_Reader_OpenDefFiles(reader), OTF2_SUCCESS);
    for (size_t i = 0; i < location_count; i++) {                               /* the global reader merges these */
        OTF2_DefReader *local = OTF2_Reader_GetDefReader(reader, locations[i]); /* how its regions are numbered */
        assert_non_null(local);
        assert_int_equal(OTF2_Reader_ReadAllLocalDefinitions(reader, local, &count), OTF2_SUCCESS);
        assert_int_equal(OTF2_Reader_CloseDefReader(reader, local), OTF2_SUCCESS);
        assert_non_null(OTF2_Reader_GetEvtReader(reader, locations[i]));
    }
    assert_int_equal(OTF2_Reader_CloseDefFiles(reader), OTF2_SUCCESS);
    OTF2_GlobalEvtReaderCallbacks *callbacks = callbacks_make();
    OTF2_GlobalEvtReader *events = OTF2_Reader_GetGlobalEvtReader(reader);
    OTF2_Reader_RegisterGlobalEvtCallbacks(reader, events, callbacks, NULL);
    assert_int_equal(OTF2_Reader_ReadAllGlobalEvents(reader, events, &count), OTF2_SUCCESS);
    OTF2_GlobalEvtReaderCallbacks_Delete(callbacks);
    assert_int_equal(OTF2_Reader_CloseEvtFiles(reader), OTF2_SUCCESS);
    assert_int_equal(OTF2_Reader_Close(reader), OTF2_SUCCESS);
    seen.events = count;
}
