/*
 * otf2rate RUN SCRATCH [PAIRS [LEAST]]
 *
 * How fast a run is converted to OTF2 by one thread, against the bare OTF2 writer with the same records: those of the
 * finished archive, held in memory. Both are done in turns, PAIRS times; the best of each counts. Fails if the ratio of
 * the rates is below LEAST.
 */
#define _GNU_SOURCE
#include "archive/otf2.h"
#include "job/rundir.h"

#include <otf2/otf2.h>

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum kind { ENTER, LEAVE, SEND, RECV, ISEND, ISEND_COMPLETE, IRECV_REQUEST, IRECV, COLL_BEGIN, COLL_END, OTHER };

struct record {
    uint64_t time, bytes, request;
    uint32_t comm;
    union {
        uint32_t region, peer, root;
    };
    uint32_t tag;
    uint8_t kind, op;
};

struct location {
    uint64_t id;
    struct record *records;
    size_t count, capacity;
};

static struct location *locations;
static size_t location_count;

static void *grown(void *array, size_t count, size_t *capacity, size_t element)
{
    if (count < *capacity)
        return array;
    *capacity = *capacity ? *capacity * 2 : 16;
    void *longer = reallocarray(array, *capacity, element);
    if (!longer)
        err(1, "no memory");
    return longer;
}

static OTF2_CallbackCode keep(void *user, struct record record)
{
    struct location *location = user;
    location->records = grown(location->records, location->count, &location->capacity, sizeof record);
    location->records[location->count++] = record;
    return OTF2_CALLBACK_SUCCESS;
}

#define CALLBACK(name, ...)                                                                                            \
    static OTF2_CallbackCode on_##name(OTF2_LocationRef id, OTF2_TimeStamp time, uint64_t position, void *user,        \
                                       OTF2_AttributeList *attributes, ##__VA_ARGS__)
#define KEEP(...)                                                                                                      \
    return (void)id, (void)position, (void)attributes, keep(user, (struct record){.time = time, __VA_ARGS__})

CALLBACK(enter, OTF2_RegionRef region)
{
    KEEP(.kind = ENTER, .region = region);
}

CALLBACK(leave, OTF2_RegionRef region)
{
    KEEP(.kind = LEAVE, .region = region);
}

CALLBACK(send, uint32_t peer, OTF2_CommRef comm, uint32_t tag, uint64_t bytes)
{
    KEEP(.kind = SEND, .peer = peer, .comm = comm, .tag = tag, .bytes = bytes);
}

CALLBACK(recv, uint32_t peer, OTF2_CommRef comm, uint32_t tag, uint64_t bytes)
{
    KEEP(.kind = RECV, .peer = peer, .comm = comm, .tag = tag, .bytes = bytes);
}

CALLBACK(isend, uint32_t peer, OTF2_CommRef comm, uint32_t tag, uint64_t bytes, uint64_t request)
{
    KEEP(.kind = ISEND, .peer = peer, .comm = comm, .tag = tag, .bytes = bytes, .request = request);
}

CALLBACK(irecv, uint32_t peer, OTF2_CommRef comm, uint32_t tag, uint64_t bytes, uint64_t request)
{
    KEEP(.kind = IRECV, .peer = peer, .comm = comm, .tag = tag, .bytes = bytes, .request = request);
}

CALLBACK(isend_complete, uint64_t request)
{
    KEEP(.kind = ISEND_COMPLETE, .request = request);
}

CALLBACK(irecv_request, uint64_t request)
{
    KEEP(.kind = IRECV_REQUEST, .request = request);
}

CALLBACK(coll_begin)
{
    KEEP(.kind = COLL_BEGIN);
}

CALLBACK(coll_end, OTF2_CollectiveOp op, OTF2_CommRef comm, uint32_t root, uint64_t sent, uint64_t received)
{
    KEEP(.kind = COLL_END, .op = op, .comm = comm, .root = root, .bytes = sent, .request = received);
}

static OTF2_CallbackCode on_location(void *user, OTF2_LocationRef id, OTF2_StringRef name, OTF2_LocationType type,
                                     uint64_t events, OTF2_LocationGroupRef group)
{
    (void)user, (void)name, (void)type, (void)events, (void)group;
    static size_t capacity;
    locations = grown(locations, location_count, &capacity, sizeof *locations);
    locations[location_count++] = (struct location){.id = id};
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_EvtReaderCallbacks *callbacks_make(void)
{
    OTF2_EvtReaderCallbacks *callbacks = OTF2_EvtReaderCallbacks_New();
    OTF2_EvtReaderCallbacks_SetEnterCallback(callbacks, on_enter);
    OTF2_EvtReaderCallbacks_SetLeaveCallback(callbacks, on_leave);
    OTF2_EvtReaderCallbacks_SetMpiSendCallback(callbacks, on_send);
    OTF2_EvtReaderCallbacks_SetMpiRecvCallback(callbacks, on_recv);
    OTF2_EvtReaderCallbacks_SetMpiIsendCallback(callbacks, on_isend);
    OTF2_EvtReaderCallbacks_SetMpiIrecvCallback(callbacks, on_irecv);
    OTF2_EvtReaderCallbacks_SetMpiIsendCompleteCallback(callbacks, on_isend_complete);
    OTF2_EvtReaderCallbacks_SetMpiIrecvRequestCallback(callbacks, on_irecv_request);
    OTF2_EvtReaderCallbacks_SetMpiCollectiveBeginCallback(callbacks, on_coll_begin);
    OTF2_EvtReaderCallbacks_SetMpiCollectiveEndCallback(callbacks, on_coll_end);
    return callbacks;
}

#define MUST(call)                                                                                                     \
    do {                                                                                                               \
        if ((call) != OTF2_SUCCESS)                                                                                    \
            errx(1, "%s failed", #call);                                                                               \
    } while (0)

/* All events of the archive, into memory. Returns how many there are. */
static uint64_t archive_read(const char *directory)
{
    char path[4200];
    uint64_t count, all = 0;
    snprintf(path, sizeof path, "%s/traces.otf2", directory);
    OTF2_Reader *reader = OTF2_Reader_Open(path);
    if (!reader)
        errx(1, "%s cannot be read", path);
    MUST(OTF2_Reader_SetSerialCollectiveCallbacks(reader));
    OTF2_GlobalDefReader *global = OTF2_Reader_GetGlobalDefReader(reader);
    OTF2_GlobalDefReaderCallbacks *definitions = OTF2_GlobalDefReaderCallbacks_New();
    OTF2_GlobalDefReaderCallbacks_SetLocationCallback(definitions, on_location);
    OTF2_Reader_RegisterGlobalDefCallbacks(reader, global, definitions, NULL);
    MUST(OTF2_Reader_ReadAllGlobalDefinitions(reader, global, &count));
    OTF2_GlobalDefReaderCallbacks_Delete(definitions);
    MUST(OTF2_Reader_OpenEvtFiles(reader));
    OTF2_EvtReaderCallbacks *callbacks = callbacks_make();
    for (size_t i = 0; i < location_count; i++) {
        OTF2_EvtReader *events = OTF2_Reader_GetEvtReader(reader, locations[i].id);
        OTF2_Reader_RegisterEvtCallbacks(reader, events, callbacks, &locations[i]);
        MUST(OTF2_Reader_ReadAllLocalEvents(reader, events, &count));
        MUST(OTF2_Reader_CloseEvtReader(reader, events));
        all += locations[i].count;
    }
    OTF2_EvtReaderCallbacks_Delete(callbacks);
    OTF2_Reader_Close(reader);
    return all;
}

static OTF2_FlushType flush_always(void *data, OTF2_FileType type, OTF2_LocationRef location, void *caller, bool final)
{
    (void)data, (void)type, (void)location, (void)caller, (void) final;
    return OTF2_FLUSH;
}

/* One chunk, as the conversion has it: more of them only cost. */
static void *chunk_give(void *data, OTF2_FileType type, OTF2_LocationRef location, void **held, uint64_t size)
{
    (void)data, (void)type, (void)location;
    return *held ? NULL : (*held = malloc(size));
}

static void chunk_take_back(void *data, OTF2_FileType type, OTF2_LocationRef location, void **held, bool final)
{
    (void)data, (void)type, (void)location, (void) final;
    free(*held);
    *held = NULL;
}

static OTF2_ErrorCode record_write(OTF2_EvtWriter *writer, const struct record *r)
{
    switch ((enum kind)r->kind) {
    case ENTER:
        return OTF2_EvtWriter_Enter(writer, NULL, r->time, r->region);
    case LEAVE:
        return OTF2_EvtWriter_Leave(writer, NULL, r->time, r->region);
    case SEND:
        return OTF2_EvtWriter_MpiSend(writer, NULL, r->time, r->peer, r->comm, r->tag, r->bytes);
    case RECV:
        return OTF2_EvtWriter_MpiRecv(writer, NULL, r->time, r->peer, r->comm, r->tag, r->bytes);
    case ISEND:
        return OTF2_EvtWriter_MpiIsend(writer, NULL, r->time, r->peer, r->comm, r->tag, r->bytes, r->request);
    case ISEND_COMPLETE:
        return OTF2_EvtWriter_MpiIsendComplete(writer, NULL, r->time, r->request);
    case IRECV_REQUEST:
        return OTF2_EvtWriter_MpiIrecvRequest(writer, NULL, r->time, r->request);
    case IRECV:
        return OTF2_EvtWriter_MpiIrecv(writer, NULL, r->time, r->peer, r->comm, r->tag, r->bytes, r->request);
    case COLL_BEGIN:
        return OTF2_EvtWriter_MpiCollectiveBegin(writer, NULL, r->time);
    case COLL_END:
        return OTF2_EvtWriter_MpiCollectiveEnd(writer, NULL, r->time, r->op, r->comm, r->root, r->bytes, r->request);
    default:
        return OTF2_ERROR_INVALID_ARGUMENT;
    }
}

static void bare_write(const char *directory)
{
    static const OTF2_FlushCallbacks flush = {.otf2_pre_flush = flush_always};
    static const OTF2_MemoryCallbacks memory = {chunk_give, chunk_take_back};
    OTF2_Archive *archive = OTF2_Archive_Open(directory, "traces", OTF2_FILEMODE_WRITE, 1 << 20, 4 << 20,
                                              OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
    MUST(OTF2_Archive_SetFlushCallbacks(archive, &flush, NULL));
    MUST(OTF2_Archive_SetMemoryCallbacks(archive, &memory, NULL));
    MUST(OTF2_Archive_SetSerialCollectiveCallbacks(archive));
    MUST(OTF2_Archive_OpenEvtFiles(archive));
    for (size_t i = 0; i < location_count; i++) {
        OTF2_EvtWriter *writer = OTF2_Archive_GetEvtWriter(archive, locations[i].id);
        for (size_t k = 0; k < locations[i].count; k++)
            MUST(record_write(writer, &locations[i].records[k]));
        MUST(OTF2_Archive_CloseEvtWriter(archive, writer));
    }
    MUST(OTF2_Archive_CloseEvtFiles(archive));
    MUST(OTF2_Archive_Close(archive));
}

static void convert(const struct run_job *job, const char *directory)
{
    static struct otf2_report report;
    if (otf2_convert(job->files, job->file_count, directory, &(struct otf2_manner){.threads = 1}, &report) != 0)
        errx(1, "%s", report.error);
}

/* What this process has used of a processor: on a busy machine the wall clock measures the others. */
static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void better(double *best, double since)
{
    double took = seconds() - since;
    if (*best == 0 || took < *best)
        *best = took;
}

int main(int argc, char *argv[])
{
    struct run_dir dir;
    char error[512], archive[4096];
    if (argc < 3)
        errx(2, "usage: otf2rate RUN SCRATCH [PAIRS [LEAST]]");
    int pairs = argc > 3 ? atoi(argv[3]) : 5;
    double least = argc > 4 ? atof(argv[4]) : 0, ours = 0, bare = 0;
    if (run_dir_open(&dir, argv[1], error) != 0)
        errx(1, "%s", error);
    snprintf(archive, sizeof archive, "%s/archive", argv[2]);
    convert(&dir.jobs[0], archive);
    double records = (double)archive_read(archive);
    otf2_directory_remove(archive);
    for (int i = 0; i < pairs; i++) {
        double begin = seconds();
        convert(&dir.jobs[0], archive);
        better(&ours, begin);
        otf2_directory_remove(archive);
        begin = seconds();
        bare_write(archive);
        better(&bare, begin);
        otf2_directory_remove(archive);
    }
    double ratio = bare / ours;
    printf(
        "%.1f million records: %.1f million a second converted, %.1f million written by OTF2 alone: %.2f of its rate\n",
        records * 1e-6, records / ours * 1e-6, records / bare * 1e-6, ratio);
    run_dir_close(&dir);
    return ratio < least;
}
