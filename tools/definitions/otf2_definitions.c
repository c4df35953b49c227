#include "definitions/otf2_definitions.h"

#include "format/label.h"
#include "archive/otf2_io.h"
#include "definitions/otf2_callpaths.h"
#include "definitions/otf2_numbers.h"
#include "figures/variables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NODE_OF_MACHINE = 0, GROUP_OF_LOCATIONS = 0, NAME_BYTES = 320 };

static const OTF2_RegionRole region_role[ROLE_COUNT] = {
    [ROLE_OTHER] = OTF2_REGION_ROLE_FUNCTION,
    [ROLE_POINT2POINT] = OTF2_REGION_ROLE_POINT2POINT,
    [ROLE_BARRIER] = OTF2_REGION_ROLE_BARRIER,
    [ROLE_COLL_ONE2ALL] = OTF2_REGION_ROLE_COLL_ONE2ALL,
    [ROLE_COLL_ALL2ONE] = OTF2_REGION_ROLE_COLL_ALL2ONE,
    [ROLE_COLL_ALL2ALL] = OTF2_REGION_ROLE_COLL_ALL2ALL,
    [ROLE_COLL_OTHER] = OTF2_REGION_ROLE_COLL_OTHER,
    [ROLE_RMA] = OTF2_REGION_ROLE_RMA,
    [ROLE_FILE_IO] = OTF2_REGION_ROLE_FILE_IO,
};

/*
 * All definitions are walked twice. With `writer` NULL the walk only gives ids to the strings, because strings come
 * before all definitions that name them.
 */
struct definitions {
    OTF2_GlobalDefWriter *writer;
    const struct trace_job *job;
    const struct trace_comms *comms;
    const struct object_set *objects;
    struct trace_strings *strings;
    OTF2_GroupRef next_group;
    OTF2_GroupRef self_group; /* OTF2_UNDEFINED_GROUP until one is needed */
    OTF2_GroupRef *group_of;  /* by communicator: its group */
    OTF2_ErrorCode error;
};

static OTF2_StringRef string_id(struct definitions *d, const char *text)
{
    OTF2_StringRef id = trace_strings_id(d->strings, text);
    if (id == UINT32_MAX && d->error == OTF2_SUCCESS)
        d->error = OTF2_ERROR_MEM_ALLOC_FAILED;
    return id;
}

/* Calls OTF2_GlobalDefWriter_WriteKIND, in the second walk only. The first error stays. */
#define WRITE(d, kind, ...)                                                                                            \
    do {                                                                                                               \
        if ((d)->writer && (d)->error == OTF2_SUCCESS)                                                                 \
            (d)->error = OTF2_GlobalDefWriter_Write##kind((d)->writer, __VA_ARGS__);                                   \
    } while (0)

/* A single host is the root. Several hosts are below a machine, because readers expect one root. */
static OTF2_SystemTreeNodeRef node_of_host(const struct trace_job *job, uint32_t host)
{
    return job->host_count > 1 ? host + 1 : host;
}

static void hosts_write(struct definitions *d)
{
    OTF2_SystemTreeNodeRef root = OTF2_UNDEFINED_SYSTEM_TREE_NODE;
    if (d->job->host_count > 1) {
        OTF2_StringRef machine = string_id(d, "machine");
        root = NODE_OF_MACHINE;
        WRITE(d, SystemTreeNode, root, machine, machine, OTF2_UNDEFINED_SYSTEM_TREE_NODE);
        WRITE(d, SystemTreeNodeDomain, root, OTF2_SYSTEM_TREE_DOMAIN_MACHINE);
    }
    OTF2_StringRef class = string_id(d, "node");
    for (uint32_t host = 0; host < d->job->host_count; host++) {
        OTF2_StringRef text = string_id(d, d->job->hosts[host]->host);
        OTF2_SystemTreeNodeRef node = node_of_host(d->job, host);
        WRITE(d, SystemTreeNode, node, text, class, root);
        WRITE(d, SystemTreeNodeDomain, node, OTF2_SYSTEM_TREE_DOMAIN_SHARED_MEMORY);
    }
}

static void ranks_write(struct definitions *d)
{
    char text[NAME_BYTES];
    for (int32_t r = 0; r < d->job->size; r++) {
        const struct trace_rank *rank = &d->job->ranks[r];
        snprintf(text, sizeof text,
                 rank->left_out ? "MPI Rank %d (not selected)"
                 : rank->run    ? "MPI Rank %d"
                                : "MPI Rank %d (no run file)",
                 r);
        OTF2_StringRef id = string_id(d, text);
        WRITE(d, LocationGroup, (OTF2_LocationGroupRef)r, id, OTF2_LOCATION_GROUP_TYPE_PROCESS,
              node_of_host(d->job, rank->host), OTF2_UNDEFINED_LOCATION_GROUP);
    }
}

static void locations_write(struct definitions *d)
{
    char text[NAME_BYTES];
    for (int32_t r = 0; r < d->job->size; r++) {
        const struct trace_rank *rank = &d->job->ranks[r];
        uint32_t end = trace_rank_thread_end(rank);
        for (uint32_t thread = 0; thread < end; thread++) {
            if (!trace_rank_has_location(rank, thread))
                continue;
            snprintf(text, sizeof text, "rank %d thread %u", r, thread);
            OTF2_StringRef id = string_id(d, text);
            WRITE(d, Location, trace_location(r, thread), id, OTF2_LOCATION_TYPE_CPU_THREAD,
                  rank->event_count ? rank->event_count[thread] : 0, (OTF2_LocationGroupRef)r);
        }
    }
}

static void regions_write(struct definitions *d)
{
    OTF2_StringRef nothing = string_id(d, "");
    uint32_t users = d->job->instruments.region_count;
    for (uint32_t region = 0; region < users; region++) {
        const struct instrument_record *record = d->job->instruments.regions[region];
        OTF2_StringRef text = string_id(d, record->name), description = string_id(d, record->description);
        OTF2_StringRef file = string_id(d, record->component);
        WRITE(d, Region, region, text, text, description, OTF2_REGION_ROLE_CODE, OTF2_PARADIGM_USER,
              OTF2_REGION_FLAG_NONE, file, 0, 0);
    }
    for (uint32_t region = 0; region < d->job->archive->region_count; region++) {
        const struct call_description *call = &call_table[d->job->archive->region_kind[region]];
        OTF2_StringRef text = string_id(d, d->job->archive->region_kind[region] ? call->name : "MPI (not recorded)");
        WRITE(d, Region, users + region, text, text, nothing, region_role[call->role], OTF2_PARADIGM_MPI,
              OTF2_REGION_FLAG_NONE, nothing, 0, 0);
    }
}

static OTF2_RegionRef function_region(const struct definitions *d, uint32_t function)
{
    return d->job->instruments.region_count + d->job->archive->region_count + function;
}

/* Call paths: their functions, the lines in them, and the attribute of an Enter. */
static void callpaths_write(struct definitions *d)
{
    const struct trace_callpaths *paths = d->job->archive->callpaths;
    if (!paths)
        return;
    OTF2_StringRef nothing = string_id(d, ""), title = string_id(d, "call path");
    OTF2_StringRef description = string_id(d, "functions of the program from which the call was made");
    for (uint32_t i = 0; i < paths->function_count; i++) {
        OTF2_StringRef name = string_id(d, paths->functions[i].name), file = string_id(d, paths->functions[i].file);
        WRITE(d, Region, function_region(d, i), name, name, nothing, OTF2_REGION_ROLE_FUNCTION, OTF2_PARADIGM_COMPILER,
              OTF2_REGION_FLAG_NONE, file, 0, 0);
    }
    for (uint32_t i = 0; i < paths->line_count; i++) {
        OTF2_StringRef file = string_id(d, paths->lines[i].file);
        WRITE(d, SourceCodeLocation, i, file, paths->lines[i].line);
    }
    for (uint32_t i = 0; i < paths->context_count; i++) {
        const struct trace_context *context = &paths->contexts[i];
        WRITE(d, CallingContext, i, function_region(d, context->function), context->line_place,
              context->caller == NO_CONTEXT ? OTF2_UNDEFINED_CALLING_CONTEXT : context->caller);
    }
    WRITE(d, Attribute, CALLPATH_ATTRIBUTE, title, description, OTF2_TYPE_CALLING_CONTEXT);
}

static OTF2_GroupRef group_write(struct definitions *d, const char *title, OTF2_GroupType type, const uint64_t *members,
                                 int32_t count)
{
    OTF2_GroupRef group = d->next_group++;
    OTF2_StringRef text = string_id(d, title);
    WRITE(d, Group, group, text, type, OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE, (uint32_t)count, members);
    return group;
}

static OTF2_GroupRef members_write(struct definitions *d, const char *title, const int32_t *members, int32_t size)
{
    uint64_t *wide = malloc((size_t)size * sizeof *wide);
    if (!wide) {
        d->error = OTF2_ERROR_MEM_ALLOC_FAILED;
        return OTF2_UNDEFINED_GROUP;
    }
    for (int32_t i = 0; i < size; i++)
        wide[i] = (uint64_t)members[i];
    OTF2_GroupRef group = group_write(d, title, OTF2_GROUP_TYPE_COMM_GROUP, wide, size);
    free(wide);
    return group;
}

/* A duplicate has the members of its parent, and shares its group. */
static bool comm_has_parents_group(const struct definitions *d, const struct trace_comm *comm)
{
    if (comm->parent == NO_COMM || comm->self || comm->inter)
        return false;
    const struct trace_comm *parent = &d->comms->list[comm->parent];
    return !parent->self && !parent->inter && parent->size == comm->size &&
           memcmp(parent->members, comm->members, (size_t)comm->size * sizeof *comm->members) == 0;
}

/* Writes the first group, which maps ranks to locations. */
static void locations_group_write(struct definitions *d)
{
    uint64_t *members = malloc((size_t)d->job->size * sizeof *members);
    if (!members) {
        d->error = OTF2_ERROR_MEM_ALLOC_FAILED;
        return;
    }
    for (int32_t r = 0; r < d->job->size; r++)
        members[r] = trace_location(r, trace_rank_first_thread(&d->job->ranks[r]));
    group_write(d, "MPI ranks", OTF2_GROUP_TYPE_COMM_LOCATIONS, members, d->job->size);
    free(members);
}

/* Whom windows' epochs name. */
static void epoch_groups_write(struct definitions *d)
{
    char text[NAME_BYTES];
    for (uint32_t i = 0; i < d->objects->group_count; i++) {
        const struct trace_group *group = d->objects->group_list[i];
        snprintf(text, sizeof text, "epoch group %u", i + 1);
        members_write(d, text, group->members, (int32_t)group->count);
    }
}

/* A group has the name of its first communicator. Inter-communicators have two groups, one after the other. */
static void groups_write(struct definitions *d)
{
    char text[NAME_BYTES];
    d->next_group = GROUP_OF_LOCATIONS;
    d->self_group = OTF2_UNDEFINED_GROUP;
    locations_group_write(d);
    epoch_groups_write(d);
    for (size_t c = 0; c < d->comms->count; c++) {
        const struct trace_comm *comm = &d->comms->list[c];
        if (comm->self) {
            if (d->self_group == OTF2_UNDEFINED_GROUP)
                d->self_group = group_write(d, "MPI_COMM_SELF", OTF2_GROUP_TYPE_COMM_SELF, NULL, 0);
            d->group_of[c] = d->self_group;
        } else if (comm_has_parents_group(d, comm)) {
            d->group_of[c] = d->group_of[comm->parent];
        } else {
            d->group_of[c] = members_write(d, comm->name, comm->members, comm->size);
        }
        if (comm->inter) {
            snprintf(text, sizeof text, "%s (remote group)", comm->name);
            members_write(d, text, comm->remote, comm->remote_size);
        }
    }
}

static void comms_write(struct definitions *d)
{
    for (size_t c = 0; c < d->comms->count; c++) {
        const struct trace_comm *comm = &d->comms->list[c];
        char title[COMM_TITLE_BYTES];
        OTF2_StringRef text = string_id(d, comm_title(title, comm->name, comm->label));
        OTF2_CommRef parent = comm->parent == NO_COMM ? OTF2_UNDEFINED_COMM : comm->parent;
        OTF2_CommFlag flags = comm->has_events ? OTF2_COMM_FLAG_CREATE_DESTROY_EVENTS : OTF2_COMM_FLAG_NONE;
        if (comm->inter)
            WRITE(d, InterComm, (OTF2_CommRef)c, text, d->group_of[c], d->group_of[c] + 1, parent, flags);
        else
            WRITE(d, Comm, (OTF2_CommRef)c, text, d->group_of[c], parent, flags);
    }
}

static void windows_write(struct definitions *d)
{
    char text[NAME_BYTES], title[COMM_TITLE_BYTES];
    for (uint32_t i = 0; i < d->objects->window_count; i++) {
        const struct trace_object *window = d->objects->windows[i];
        const struct trace_comm *comm = &d->comms->list[window->comm];
        if (window->name[0])
            snprintf(text, sizeof text, "%s", window->name);
        else
            snprintf(text, sizeof text, "window %u of %s", (uint32_t)window->number,
                     comm_title(title, comm->name, comm->label));
        OTF2_StringRef id = string_id(d, text);
        WRITE(d, RmaWin, i, id, window->comm,
              window->has_events ? OTF2_RMA_WIN_FLAG_CREATE_DESTROY_EVENTS : OTF2_RMA_WIN_FLAG_NONE);
    }
}

static void files_write(struct definitions *d)
{
    const struct object_set *objects = d->objects;
    if (!objects->files.count)
        return;
    OTF2_StringRef identification = string_id(d, "MPI-IO"), title = string_id(d, "MPI I/O");
    WRITE(d, IoParadigm, IO_PARADIGM_MPI, identification, title, OTF2_IO_PARADIGM_CLASS_PARALLEL,
          OTF2_IO_PARADIGM_FLAG_NONE, 0, NULL, NULL, NULL);
    for (uint32_t i = 0; i < objects->files.count; i++) {
        OTF2_StringRef text = string_id(d, objects->files.list[i]);
        WRITE(d, IoRegularFile, i, text, OTF2_UNDEFINED_SYSTEM_TREE_NODE);
    }
    for (uint32_t i = 0; i < objects->handle_count; i++) {
        const struct trace_object *handle = objects->handles[i];
        OTF2_StringRef text = string_id(d, objects->files.list[handle->file]);
        WRITE(d, IoHandle, i, text, handle->file, IO_PARADIGM_MPI, OTF2_IO_HANDLE_FLAG_NONE, handle->comm,
              OTF2_UNDEFINED_IO_HANDLE);
    }
}

/* Sums grow from the begin of the program. All other values hold at the time of the sample. */
static OTF2_MetricMode metric_mode(uint32_t class)
{
    bool sum = class == VARIABLE_COUNTER || class == VARIABLE_AGGREGATE || class == VARIABLE_TIMER;
    return sum ? OTF2_METRIC_ACCUMULATED_START : OTF2_METRIC_ABSOLUTE_POINT;
}

static void metrics_write(struct definitions *d)
{
    char text[NAME_BYTES];
    for (uint32_t i = 0; i < d->job->instruments.metric_count; i++) {
        const struct trace_metric *metric = &d->job->instruments.metrics[i];
        const struct instrument_record *record = metric->record;
        const char *item = record->count > 1 ? run_reader_item(metric->run, record, metric->element) : NULL;
        size_t used = (size_t)snprintf(text, sizeof text, "%s", record->name);
        if (item)
            used += (size_t)snprintf(text + used, sizeof text - used, "[%s]", item);
        else if (record->count > 1)
            used += (size_t)snprintf(text + used, sizeof text - used, "[%u]", metric->element);
        if (metric->comm[0])
            snprintf(text + used, sizeof text - used, " %s", metric->comm);
        OTF2_StringRef id = string_id(d, text), description = string_id(d, record->description);
        OTF2_StringRef unit = string_id(d, record->unit[0] ? record->unit : "#");
        WRITE(d, MetricMember, i, id, description, OTF2_METRIC_TYPE_USER, metric_mode(record->class),
              trace_metric_type(record->type), OTF2_BASE_DECIMAL, 0, unit);
        WRITE(d, MetricClass, i, 1, &i, OTF2_METRIC_ASYNCHRONOUS, OTF2_RECORDER_KIND_CPU);
    }
}

static void counter_metrics_write(struct definitions *d)
{
    uint32_t first = d->job->instruments.metric_count;
    for (uint32_t i = 0; i < d->job->counters.count; i++) {
        const struct trace_counter *counter = &d->job->counters.list[i];
        uint32_t metric = first + i;
        OTF2_StringRef text = string_id(d, counter->name), unit = string_id(d, counter->unit);
        OTF2_StringRef description =
            string_id(d, counter->asked ? "PAPI event, counted by thread" : "of the thread, getrusage");
        WRITE(d, MetricMember, metric, text, description,
              counter->asked ? OTF2_METRIC_TYPE_PAPI : OTF2_METRIC_TYPE_RUSAGE, OTF2_METRIC_ACCUMULATED_START,
              OTF2_TYPE_UINT64, OTF2_BASE_DECIMAL, 0, unit);
        WRITE(d, MetricClass, metric, 1, &metric, OTF2_METRIC_SYNCHRONOUS, OTF2_RECORDER_KIND_CPU);
    }
}

/* The range includes both ends, for readers that take the length as exclusive. It also includes rounded sums of a stamp
 * and its offset, which readers round in different ways. */
static uint64_t range_end(const struct trace_job *job)
{
    return job->archive->last_ns + (timeline_quality(&job->line).measured ? 8 : 1);
}

static void definitions_walk(struct definitions *d)
{
    OTF2_StringRef mpi = string_id(d, "MPI");
    WRITE(d, ClockProperties, 1000000000, 0, range_end(d->job), d->job->line.origin_ns);
    for (uint32_t id = 0; id < d->strings->count; id++)
        WRITE(d, String, id, d->strings->list[id]);
    WRITE(d, Paradigm, OTF2_PARADIGM_MPI, mpi, OTF2_PARADIGM_CLASS_PROCESS);
    hosts_write(d);
    ranks_write(d);
    locations_write(d);
    regions_write(d);
    callpaths_write(d);
    groups_write(d);
    comms_write(d);
    windows_write(d);
    files_write(d);
    metrics_write(d);
    counter_metrics_write(d);
}

/* Returns a map from the regions in the location's events to the defined regions. Returns NULL without memory. */
static OTF2_IdMap *regions_map(const struct trace_job *job)
{
    bool written = job->archive->callpaths && job->archive->callpaths->functions_written;
    uint32_t functions = written ? job->archive->callpaths->function_count : 0;
    OTF2_IdMap *map = OTF2_IdMap_Create(OTF2_ID_MAP_SPARSE, job->archive->region_count + functions + 1);
    OTF2_ErrorCode error = map ? OTF2_SUCCESS : OTF2_ERROR_MEM_ALLOC_FAILED;
    for (uint32_t region = 0; region < job->archive->region_count && error == OTF2_SUCCESS; region++)
        error = OTF2_IdMap_AddIdPair(map, job->instruments.region_count + job->archive->region_kind[region],
                                     job->instruments.region_count + region);
    for (uint32_t i = 0; i < functions && error == OTF2_SUCCESS; i++)
        error = OTF2_IdMap_AddIdPair(map, trace_function_region(job, i),
                                     job->instruments.region_count + job->archive->region_count + i);
    if (error == OTF2_SUCCESS)
        return map;
    OTF2_IdMap_Free(map);
    return NULL;
}

/* Writes the corrections for the process's stamps, from the begin of the archive to its end. */
static OTF2_ErrorCode clock_offsets_write(OTF2_DefWriter *writer, const struct trace_job *job,
                                          const struct trace_rank *rank)
{
    struct timeline_offset offsets[TIMELINE_OFFSETS_MOST];
    size_t count = timeline_offsets(&job->line, rank->run, range_end(job), offsets);
    OTF2_ErrorCode error = OTF2_SUCCESS;
    for (size_t i = 0; i < count && error == OTF2_SUCCESS; i++)
        error = OTF2_DefWriter_WriteClockOffset(writer, offsets[i].local_ns, offsets[i].offset_ns,
                                                (double)offsets[i].error_ns);
    return error;
}

static OTF2_ErrorCode location_definitions_write(OTF2_Archive *archive, const struct trace_job *job,
                                                 struct trace_objects *objects, int32_t rank, uint32_t thread,
                                                 const OTF2_IdMap *regions)
{
    OTF2_DefWriter *writer = OTF2_Archive_GetDefWriter(archive, trace_location(rank, thread));
    if (!writer)
        return OTF2_ERROR_FILE_INTERACTION;
    OTF2_ErrorCode mapped = OTF2_SUCCESS;
    if (job->archive->region_count) /* OTF2 does not read an empty table */
        mapped = OTF2_DefWriter_WriteMappingTable(writer, OTF2_MAPPING_REGION, regions);
    if (mapped == OTF2_SUCCESS)
        mapped = trace_numbers_write(objects, rank, writer);
    OTF2_ErrorCode written = clock_offsets_write(writer, job, &job->ranks[rank]);
    OTF2_ErrorCode closed = OTF2_Archive_CloseDefWriter(archive, writer);
    return mapped != OTF2_SUCCESS ? mapped : written != OTF2_SUCCESS ? written : closed;
}

static OTF2_ErrorCode all_locations_write(OTF2_Archive *archive, const struct trace_job *job,
                                          struct trace_objects *objects, const struct team *team)
{
    OTF2_IdMap *regions = regions_map(job);
    OTF2_ErrorCode error = OTF2_Archive_OpenDefFiles(archive);
    if (!regions)
        error = OTF2_ERROR_MEM_ALLOC_FAILED;
    for (int32_t r = team->rank; r < job->size; r += team->size)
        for (uint32_t thread = 0; thread < trace_rank_thread_end(&job->ranks[r]); thread++)
            if (error == OTF2_SUCCESS && trace_rank_has_location(&job->ranks[r], thread))
                error = location_definitions_write(archive, job, objects, r, thread, regions);
    OTF2_ErrorCode closed = OTF2_Archive_CloseDefFiles(archive);
    OTF2_IdMap_Free(regions);
    return error != OTF2_SUCCESS ? error : closed;
}

int trace_definitions_write(OTF2_Archive *archive, const struct trace_job *job, const struct trace_comms *comms,
                            struct trace_objects *objects, struct trace_strings *strings, const struct team *team,
                            struct otf2_report *report)
{
    struct definitions d = {
        .job = job, .comms = comms, .objects = &objects->all, .strings = strings, .error = OTF2_SUCCESS};
    d.error = all_locations_write(archive, job, objects, team);
    if (team->rank == 0 && d.error == OTF2_SUCCESS) {
        d.group_of = malloc((comms->count + 1) * sizeof *d.group_of);
        if (!d.group_of)
            return report_no_memory(report);
        definitions_walk(&d);
        d.writer = OTF2_Archive_GetGlobalDefWriter(archive);
        if (!d.writer && d.error == OTF2_SUCCESS)
            d.error = OTF2_ERROR_FILE_INTERACTION;
        definitions_walk(&d);
        if (d.writer && d.error == OTF2_SUCCESS)
            d.error = OTF2_Archive_CloseGlobalDefWriter(archive, d.writer);
        free(d.group_of);
    }
    if (d.error != OTF2_SUCCESS)
        return report_error(report, "the definitions could not be written: %s", OTF2_Error_GetDescription(d.error));
    return 0;
}
