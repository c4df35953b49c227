#define _GNU_SOURCE
#include "check_archive.h"

#include "check_deferred.h"
#include "check_definitions.h"
#include "check_events.h"
#include "check_happenings.h"
#include "check_model.h"

#include <dirent.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char last_error[256];

static OTF2_ErrorCode error_keep(UNUSED void *data, UNUSED const char *file, UNUSED uint64_t line,
                                 UNUSED const char *function, OTF2_ErrorCode code, const char *format, va_list args)
{
    char text[sizeof last_error / 2];
    if (code == OTF2_WARNING || code == OTF2_DEPRECATED)
        return code;
    vsnprintf(text, sizeof text, format, args);
    snprintf(last_error, sizeof last_error, "OTF2: %s (%s)", text, OTF2_Error_GetDescription(code));
    return code;
}

static const char *otf2_error(void)
{
    return last_error[0] ? last_error : "the OTF2 library gives no reason";
}

const struct happening_kind happening_kinds[HAPPENINGS] = {
    [SENT] = {"MpiSend", PHASE_FIRST, sent_judge},
    [RECEIVED] = {"MpiRecv", PHASE_MIDDLE, received_judge},
    [REQUEST_POSTED_SEND] = {"MpiIsend", PHASE_FIRST, request_judge},
    [REQUEST_POSTED_RECV] = {"MpiIrecvRequest", PHASE_FIRST, request_judge},
    [REQUEST_POSTED_COLLECTIVE] = {"NonBlockingCollectiveRequest", PHASE_FIRST, request_judge},
    [REQUEST_ENDED_SEND] = {"MpiIsendComplete", PHASE_MIDDLE, request_judge},
    [REQUEST_ENDED_RECV] = {"MpiIrecv", PHASE_MIDDLE, request_judge},
    [REQUEST_ENDED_COLLECTIVE] = {"NonBlockingCollectiveComplete", PHASE_MIDDLE, request_judge},
    [REQUEST_TESTED] = {"MpiRequestTest", PHASE_MIDDLE, request_judge},
    [REQUEST_CANCELLED] = {"MpiRequestCancelled", PHASE_MIDDLE, request_judge},
    [COLLECTIVE_ENDED] = {"MpiCollectiveEnd", PHASE_MIDDLE, collective_judge},
    [COMM_CREATED] = {"CommCreate", PHASE_FIRST, comm_created_judge},
    [COMM_DESTROYED] = {"CommDestroy", PHASE_LAST, comm_destroyed_judge},
    [WINDOW_CREATED] = {"RmaWinCreate", PHASE_FIRST, window_judge},
    [WINDOW_DESTROYED] = {"RmaWinDestroy", PHASE_LAST, window_judge},
    [WINDOW_USED] = {"RmaSync", PHASE_MIDDLE, window_judge},
    [RMA_ISSUED] = {"RmaPut, RmaGet or RmaAtomic", PHASE_FIRST, rma_operation_judge},
    [RMA_TESTED] = {"RmaOpTest", PHASE_MIDDLE, rma_operation_judge},
    [RMA_COMPLETED] = {"RmaOpComplete", PHASE_MIDDLE, rma_operation_judge},
    [RMA_COMPLETED_REMOTE] = {"RmaOpCompleteRemote", PHASE_MIDDLE, rma_operation_judge},
    [RMA_COLLECTIVE_ENDED] = {"RmaCollectiveEnd", PHASE_MIDDLE, window_judge},
    [LOCK_ACQUIRED] = {"RmaAcquireLock", PHASE_FIRST, lock_judge},
    [LOCK_RELEASED] = {"RmaReleaseLock", PHASE_MIDDLE, lock_judge},
    [IO_CREATED] = {"IoCreateHandle", PHASE_FIRST, io_handle_judge},
    [IO_DESTROYED] = {"IoDestroyHandle", PHASE_LAST, io_handle_judge},
    [IO_USED] = {"IoSeek or a similar event", PHASE_MIDDLE, io_handle_judge},
    [IO_BEGUN] = {"IoOperationBegin", PHASE_FIRST, io_operation_judge},
    [IO_TESTED] = {"IoOperationTest", PHASE_MIDDLE, io_operation_judge},
    [IO_ENDED] = {"IoOperationComplete", PHASE_MIDDLE, io_operation_judge},
};

/* ---- definitions of a location ----------------------------------------------------------------------------------- */

static OTF2_CallbackCode on_clock_offset(void *data, OTF2_TimeStamp time, UNUSED int64_t offset,
                                         UNUSED double deviation)
{
    struct location *location = data;
    struct check_place place = check_place_of(location, time, "ClockOffset");
    if (location->clock_offsets++ && time <= location->last_offset_time)
        check_found(RULE_CLOCK_OFFSET_ORDER, &place, "the one before it was at %" PRIu64, location->last_offset_time);
    location->last_offset_time = time;
    return OTF2_CALLBACK_SUCCESS;
}

struct mapping {
    const struct location *location;
    OTF2_MappingType kind;
};

static void mapping_pair(uint64_t local, uint64_t global, void *data)
{
    const struct mapping *mapping = data;
    struct check_place place = check_place_of(mapping->location, CHECK_NO_TIME, "MappingTable");
    if (!defined(mapping->kind, global))
        check_found(RULE_MAPPING, &place, "%s %" PRIu64 " is mapped to %" PRIu64 ", which is not defined",
                    kind_name(mapping->kind), local, global);
}

static OTF2_CallbackCode on_mapping(void *data, OTF2_MappingType kind, const OTF2_IdMap *map)
{
    struct mapping mapping = {data, kind};
    struct check_place place = check_place_of(data, CHECK_NO_TIME, "MappingTable");
    if (kind >= OTF2_MAPPING_MAX)
        check_found(RULE_MAPPING, &place, "kind %u of mapped definitions does not exist", kind);
    else if (map)
        OTF2_IdMap_Traverse(map, mapping_pair, &mapping);
    return OTF2_CALLBACK_SUCCESS;
}

static void location_definitions_read(OTF2_Reader *reader, struct location *location,
                                      OTF2_DefReaderCallbacks *callbacks)
{
    struct check_place place = check_place_of(location, CHECK_NO_TIME, "Location");
    uint64_t count;
    OTF2_DefReader *definitions = location->has_definitions ? OTF2_Reader_GetDefReader(reader, location->id) : NULL;
    if (location->has_definitions &&
        (!definitions || OTF2_Reader_RegisterDefCallbacks(reader, definitions, callbacks, location) != OTF2_SUCCESS ||
         OTF2_Reader_ReadAllLocalDefinitions(reader, definitions, &count) != OTF2_SUCCESS))
        check_found(RULE_FILE_UNREADABLE, &place, "its definitions cannot be read to their end: %s", otf2_error());
    if (definitions)
        OTF2_Reader_CloseDefReader(reader, definitions);
    check_listener.progress(check_figures.events);
    if (location->clock_offsets < 2 && (model.process_count > 1 || model.by_mpit) &&
        location->type == OTF2_LOCATION_TYPE_CPU_THREAD)
        check_found(RULE_CLOCK_OFFSETS, &place, "it has %" PRIu64 " ClockOffsets, but needs two",
                    location->clock_offsets);
}

static void all_definitions_read(OTF2_Reader *reader)
{
    OTF2_DefReaderCallbacks *callbacks = OTF2_DefReaderCallbacks_New();
    bool any = false;
    for (size_t i = 0; i < model.location_count; i++)
        any |= model.locations[i]->has_definitions;
    if (!callbacks)
        check_give_up("out of memory for the archive");
    ON(DefReader, ClockOffset, on_clock_offset);
    ON(DefReader, MappingTable, on_mapping);
    if (any && OTF2_Reader_OpenDefFiles(reader) != OTF2_SUCCESS)
        check_give_up("the .def files of its locations cannot be opened: %s", otf2_error());
    for (size_t i = 0; i < model.location_count; i++)
        location_definitions_read(reader, model.locations[i], callbacks);
    if (any)
        OTF2_Reader_CloseDefFiles(reader);
    OTF2_DefReaderCallbacks_Delete(callbacks);
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

static bool location_file_exists(const char *directory, OTF2_LocationRef location, const char *suffix)
{
    char path[PATH_MAX];
    struct stat st;
    return snprintf(path, sizeof path, "%s/%" PRIu64 ".%s", directory, location, suffix) < (int)sizeof path &&
           stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, R_OK) == 0;
}

static void foreign_files_find(const char *directory)
{
    DIR *files = opendir(directory);
    for (const struct dirent *entry; files && (entry = readdir(files));) {
        char *end;
        unsigned long long id = strtoull(entry->d_name, &end, 10);
        if (end != entry->d_name && (strcmp(end, ".evt") == 0 || strcmp(end, ".def") == 0) &&
            !defined(OTF2_MAPPING_LOCATION, id))
            check_found(RULE_FILE_UNKNOWN, NULL, "%s/%s belongs to no location", directory, entry->d_name);
    }
    if (files)
        closedir(files);
}

static void files_find(const char *directory)
{
    bool any = false;
    for (size_t i = 0; i < model.location_count; i++) {
        struct location *location = model.locations[i];
        struct check_place place = check_place_of(location, CHECK_NO_TIME, "Location");
        location->has_definitions = !directory || location_file_exists(directory, location->id, "def");
        any |= location->has_definitions;
        location->unreadable = directory && !location_file_exists(directory, location->id, "evt");
        if (location->unreadable && location->announced)
            check_found(RULE_FILE_MISSING, &place,
                        "%s/%" PRIu64 ".evt cannot be read, but should have %" PRIu64 " events", directory,
                        location->id, location->announced);
    }
    for (size_t i = 0; any && i < model.location_count; i++) {
        const struct location *location = model.locations[i];
        struct check_place place = check_place_of(location, CHECK_NO_TIME, "Location");
        if (!location->has_definitions)
            check_found(RULE_FILE_MISSING, &place, "%s/%" PRIu64 ".def cannot be read, but other locations have one",
                        directory, location->id);
    }
    if (directory)
        foreign_files_find(directory);
}

/* ---- the merge --------------------------------------------------------------------------------------------------- */

/* Locations with happenings, the earliest on top. */
struct heap {
    struct location **list;
    size_t count;
};

static bool is_earlier(const struct location *one, const struct location *other)
{
    const struct happening *a = &one->ahead[one->ahead_begin], *b = &other->ahead[other->ahead_begin];
    if (a->time != b->time)
        return a->time < b->time;
    return a->phase != b->phase ? a->phase < b->phase : one->id < other->id;
}

static void reader_heap_sink(struct heap *heap, size_t i)
{
    for (size_t child; (child = 2 * i + 1) < heap->count; i = child) {
        if (child + 1 < heap->count && is_earlier(heap->list[child + 1], heap->list[child]))
            child++;
        if (!is_earlier(heap->list[child], heap->list[i]))
            return;
        struct location *swap = heap->list[i];
        heap->list[i] = heap->list[child];
        heap->list[child] = swap;
    }
}

static void location_close(OTF2_Reader *reader, struct location *location)
{
    check_location_end(location);
    if (location->reader)
        OTF2_Reader_CloseEvtReader(reader, location->reader);
    location->reader = NULL;
    free(location->open);
    location->open = NULL;
}

/* Reads until there is a happening. Returns false at the end of the location. */
static bool location_fill(OTF2_Reader *reader, struct location *location)
{
    location->ahead_begin = location->ahead_end = 0;
    while (location->ahead_end == 0) {
        uint64_t count = 0;
        if (!location->reader)
            return false;
        OTF2_ErrorCode error = OTF2_Reader_ReadLocalEvents(reader, location->reader, EVENTS_AHEAD, &count);
        check_listener.progress(check_figures.events);
        if (error == OTF2_SUCCESS && count == EVENTS_AHEAD)
            continue;
        if (error != OTF2_SUCCESS) {
            struct check_place place =
                check_place_of(location, location->seen ? location->last : CHECK_NO_TIME, "Location");
            location->unreadable = true;
            check_found(RULE_FILE_UNREADABLE, &place,
                        "its events cannot be read after event %" PRIu64 " of %" PRIu64 ": %s", location->seen,
                        location->announced, otf2_error());
        }
        location_close(reader, location);
    }
    return true;
}

static void location_open(OTF2_Reader *reader, struct location *location, const OTF2_EvtReaderCallbacks *callbacks)
{
    struct check_place place = check_place_of(location, CHECK_NO_TIME, "Location");
    if (location->unreadable) /* the file is missing */
        return;
    location->reader = OTF2_Reader_GetEvtReader(reader, location->id);
    if (location->reader &&
        OTF2_Reader_RegisterEvtCallbacks(reader, location->reader, callbacks, location) == OTF2_SUCCESS) {
        OTF2_EvtReader_ApplyMappingTables(location->reader, true);
        OTF2_EvtReader_ApplyClockOffsets(location->reader, true);
        return;
    }
    check_found(RULE_FILE_UNREADABLE, &place, "its events cannot be opened: %s", otf2_error());
    location->unreadable = true;
    location->reader = NULL;
}

static void events_merge(OTF2_Reader *reader)
{
    struct heap heap = {.list = check_allocate(model.location_count, sizeof(struct location *))};
    for (size_t i = 0; i < model.location_count; i++)
        if (location_fill(reader, model.locations[i]))
            heap.list[heap.count++] = model.locations[i];
    for (size_t i = heap.count; i-- > 0;)
        reader_heap_sink(&heap, i);
    while (heap.count) {
        struct location *location = heap.list[0];
        const struct happening *happening = &location->ahead[location->ahead_begin];
        const struct happening_kind *kind = &happening_kinds[happening->what];
        kind->judge(location, happening, check_place_of(location, happening->time, kind->record));
        if (++location->ahead_begin == location->ahead_end && !location_fill(reader, location))
            heap.list[0] = heap.list[--heap.count];
        reader_heap_sink(&heap, 0);
    }
    free(heap.list);
}

static void processes_judge(void)
{
    MAP_EACH(&model.maps[OTF2_MAPPING_LOCATION_GROUP], slot)
    {
        const struct process *process = slot->element;
        struct check_place place = {.rank = process->rank, .thread = -1, .record = "LocationGroup"};
        if (process->begins > 1 || process->ends > 1 || process->begins != process->ends)
            check_found(RULE_PROGRAM_BEGIN_END, &place, "%s begins %" PRIu64 " times and ends %" PRIu64, "its program",
                        process->begins, process->ends);
        else if (process->begins &&
                 (process->begin_time > process->first_time || process->end_time < process->last_time))
            check_found(RULE_PROGRAM_RANGE, &place,
                        "its program lasts from %" PRIu64 " to %" PRIu64 ", its events from %" PRIu64 " to %" PRIu64,
                        process->begin_time, process->end_time, process->first_time, process->last_time);
    }
}

/* `directory` is the place of the .evt and .def files, or NULL if there are no such files. */
static void locations_read(OTF2_Reader *reader, const char *directory)
{
    files_find(directory);
    for (size_t i = 0; i < model.location_count; i++)
        if (OTF2_Reader_SelectLocation(reader, model.locations[i]->id) != OTF2_SUCCESS)
            check_give_up("location %" PRIu64 " cannot be selected: %s", model.locations[i]->id, otf2_error());
    all_definitions_read(reader);
    if (OTF2_Reader_OpenEvtFiles(reader) != OTF2_SUCCESS)
        check_give_up("the .evt files of its locations cannot be opened: %s", otf2_error());
    OTF2_EvtReaderCallbacks *callbacks = check_event_callbacks();
    for (size_t i = 0; i < model.location_count; i++)
        location_open(reader, model.locations[i], callbacks);
    OTF2_EvtReaderCallbacks_Delete(callbacks);
    events_merge(reader);
    OTF2_Reader_CloseEvtFiles(reader);
    processes_judge();
    deferred_tell();
    requests_finish();
    messages_finish();
    collectives_finish();
    accesses_finish();
}

/* ---- the archive ------------------------------------------------------------------------------------------------- */

static void chunks_judge(OTF2_Reader *reader)
{
    uint64_t sizes[2] = {0};
    static const char *const names[] = {"events", "definitions"};
    if (OTF2_Reader_GetChunkSize(reader, &sizes[0], &sizes[1]) != OTF2_SUCCESS)
        return;
    for (int i = 0; i < 2; i++)
        if (sizes[i] < OTF2_CHUNK_SIZE_MIN || sizes[i] > OTF2_CHUNK_SIZE_MAX)
            check_found(RULE_CHUNK_SIZE, NULL, "chunks of %s have %" PRIu64 " bytes", names[i], sizes[i]);
    for (int i = 0; i < 2; i++) /* the library supports none of these, and would use all memory for them */
        if (sizes[i] > OTF2_CHUNK_SIZE_MAX)
            check_give_up("its anchor asks for chunks of %s of %" PRIu64 " bytes, which is beyond OTF2's limit",
                          names[i], sizes[i]);
}

static void anchor_judge(OTF2_Reader *reader)
{
    uint64_t locations = 0, definitions = 0;
    if (OTF2_Reader_GetNumberOfLocations(reader, &locations) == OTF2_SUCCESS && locations != model.location_count)
        check_found(RULE_ANCHOR_COUNT, NULL, "the anchor has %" PRIu64 " locations, but %zu are defined", locations,
                    model.location_count);
    if (OTF2_Reader_GetNumberOfGlobalDefinitions(reader, &definitions) == OTF2_SUCCESS &&
        definitions != check_figures.definitions)
        check_found(RULE_ANCHOR_COUNT, NULL, "the anchor has %" PRIu64 " definitions, but the archive has %" PRIu64,
                    definitions, check_figures.definitions);
}

/* Returns the directory of the files. Only a substrate with a file for each location can tell which files exist. */
static const char *directory_of(OTF2_Reader *reader, const char *anchor, char path[PATH_MAX])
{
    OTF2_FileSubstrate substrate = OTF2_SUBSTRATE_UNDEFINED;
    size_t length = strlen(anchor), suffix = strlen(".otf2");
    if (OTF2_Reader_GetFileSubstrate(reader, &substrate) != OTF2_SUCCESS || substrate != OTF2_SUBSTRATE_POSIX)
        return NULL;
    if (length <= suffix || length >= PATH_MAX)
        return NULL;
    snprintf(path, PATH_MAX, "%.*s", (int)(length - suffix), anchor);
    return path;
}

static void comms_tell(void)
{
    MAP_EACH(&model.maps[OTF2_MAPPING_COMM], slot)
    {
        struct defined_comm *comm = slot->element;
        snprintf(comm->figures.name, sizeof comm->figures.name, "%s", string_text(comm->name));
        check_listener.comm(&comm->figures);
    }
}

void check_archive(const char *anchor)
{
    char path[PATH_MAX];
    const char *name = strrchr(anchor, '/') ? strrchr(anchor, '/') + 1 : anchor;
    model_start();
    OTF2_Error_RegisterCallback(error_keep, NULL);
    OTF2_Reader *reader = OTF2_Reader_Open(anchor);
    if (!reader || OTF2_Reader_SetSerialCollectiveCallbacks(reader) != OTF2_SUCCESS)
        check_give_up("it is not an OTF2 archive, or its anchor is damaged: %s", otf2_error());
    char *creator = NULL;
    model.by_mpit = OTF2_Reader_GetCreator(reader, &creator) == OTF2_SUCCESS && creator && strcmp(creator, "mpit") == 0;
    free(creator);
    if (strcmp(name, "traces.otf2") != 0)
        check_found(RULE_ANCHOR_NAME, NULL, "the anchor is named %s", name);
    chunks_judge(reader);
    check_definitions_read(reader);
    anchor_judge(reader);
    check_figures.locations = model.location_count;
    check_figures.processes = model.process_count;
    locations_read(reader, directory_of(reader, anchor, path));
    comms_tell();
    OTF2_Reader_Close(reader);
}
