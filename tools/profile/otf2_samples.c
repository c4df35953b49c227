#define _GNU_SOURCE
#include "profile/otf2_samples.h"

#include "base/array.h"
#include "base/interrupt.h"
#include "base/keytable.h"
#include "archive/otf2_archive.h"
#include "archive/otf2_report.h"
#include "definitions/otf2_strings.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <otf2/otf2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ATTRIBUTE_WEIGHT, ATTRIBUTE_ON_CPU, NODE_OF_JOB = 0, UNRANKED = 1 << 30, NAME_BYTES = 320 };
enum { DEFINITION_ENTRY_BYTES = 20, DEFINITION_REST_BYTES = 1 << 20 };

/* A region at a place in the source, below another context. */
struct context {
    struct keyed keyed; /* number of the parent + 1 and of the region, place */
    struct context *next_made;
    uint32_t number, parent, region, place;
};

struct region {
    struct keyed keyed; /* number of the frame and 0, or state and 1 */
    struct region *next_made;
    uint32_t number, state;
    const struct frame *frame; /* NULL: the state */
};

struct place {
    struct keyed keyed; /* address of the name of the file, line */
    struct place *next_made;
    uint32_t number, line;
    const char *file;
};

struct location {
    OTF2_LocationRef id;
    size_t file; /* in the job */
    uint64_t events;
    char name[96];
};

struct conversion {
    struct stacks *stacks;
    struct otf2_report *report;
    OTF2_Archive *archive;
    struct keytable contexts, regions, places;
    struct region *first_region, **last_region;
    struct context *first_context, **last_context;
    struct place *first_place, **last_place;
    struct location *locations;
    size_t location_count;
    const struct run_reader *run; /* of the sample before */
    uint32_t stream;
    size_t file;
    OTF2_EvtWriter *writer; /* of the last location */
    OTF2_AttributeList *attributes;
    uint32_t path[STACK_FRAMES_MOST + 1]; /* contexts of the sample before */
    unsigned depth;
    uint64_t last_ns, end_ns;
    uint64_t *periods; /* by interrupt generator */
    uint32_t period_count;
    struct trace_strings strings;
    OTF2_GlobalDefWriter *definitions; /* NULL: strings are only numbered */
    OTF2_ErrorCode error;
};

static int otf2_failed(struct conversion *c, const char *what, OTF2_ErrorCode error)
{
    return report_error(c->report, "%s: %s", what, OTF2_Error_GetDescription(error));
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

/* Returns the number of the region. Only used regions have one, without gaps. Returns UINT32_MAX without memory. If
 * `frame` is NULL, it is the region of the state. */
static uint32_t region_number(struct conversion *c, const struct frame *frame, unsigned state)
{
    size_t before = c->regions.count;
    struct region *region = keytable_make(&c->regions, frame ? frame->number : state, frame ? 0 : 1, sizeof *region);
    if (!region)
        return UINT32_MAX;
    if (c->regions.count != before) {
        region->number = (uint32_t)before;
        region->frame = frame;
        region->state = state;
        *c->last_region = region;
        c->last_region = &region->next_made;
    }
    return region->number;
}

static uint32_t place_number(struct conversion *c, const char *file, uint32_t line)
{
    if (!file)
        return OTF2_UNDEFINED_SOURCE_CODE_LOCATION;
    struct place *place = keytable_make(&c->places, (uint64_t)(uintptr_t)file, line, sizeof *place);
    if (place && !place->file) {
        place->file = file;
        place->line = line;
        place->number = (uint32_t)c->places.count - 1;
        *c->last_place = place;
        c->last_place = &place->next_made;
    }
    return place ? place->number : OTF2_UNDEFINED_SOURCE_CODE_LOCATION;
}

/* UINT32_MAX: no memory. */
static uint32_t context_number(struct conversion *c, uint32_t parent, uint32_t region, uint32_t place)
{
    size_t before = c->contexts.count;
    struct context *context =
        keytable_make(&c->contexts, (uint64_t)(parent + 1) << 32 | region, place, sizeof *context);
    if (!context)
        return UINT32_MAX;
    if (c->contexts.count != before) {
        context->number = (uint32_t)before;
        context->parent = parent;
        context->region = region;
        context->place = place;
        *c->last_context = context;
        c->last_context = &context->next_made;
    }
    return context->number;
}

static uint32_t timer_number(struct conversion *c, uint64_t period_ns)
{
    for (uint32_t i = 0; i < c->period_count; i++)
        if (c->periods[i] == period_ns)
            return i;
    uint64_t *periods = array_grow(c->periods, c->period_count, sizeof *periods);
    if (!periods)
        return UINT32_MAX;
    c->periods = periods;
    periods[c->period_count] = period_ns;
    return c->period_count++;
}

static uint32_t group_of(const struct run_job *job, size_t file)
{
    int32_t rank = job->files[file].header.world_rank;
    bool own = rank >= 0 && job->files[file].header.world_size > 0 &&
               (!file || job->files[file - 1].header.world_rank != rank);
    return own ? (uint32_t)rank : UNRANKED + (uint32_t)file;
}

static int sampled_location_close(struct conversion *c)
{
    OTF2_ErrorCode error = c->writer ? OTF2_Archive_CloseEvtWriter(c->archive, c->writer) : OTF2_SUCCESS;
    c->writer = NULL;
    return error == OTF2_SUCCESS ? 0 : otf2_failed(c, "the samples could not be written", error);
}

static struct location *location_add(struct conversion *c, size_t file, uint32_t stream)
{
    struct location *locations = array_grow(c->locations, c->location_count, sizeof *locations);
    if (!locations) {
        report_no_memory(c->report);
        return NULL;
    }
    c->locations = locations;
    struct location *location = &locations[c->location_count++];
    *location = (struct location){.id = (uint64_t)stream << 32 | group_of(c->stacks->job, file), .file = file};
    c->writer = OTF2_Archive_GetEvtWriter(c->archive, location->id);
    if (c->writer)
        return location;
    report_error(c->report, "no samples can be written");
    return NULL;
}

static int sampled_location_begin(struct conversion *c, const struct stack_sample *sample)
{
    if (sampled_location_close(c) != 0)
        return -1;
    while (&c->stacks->job->files[c->file] != sample->run)
        c->file++;
    struct location *location = location_add(c, c->file, sample->stream);
    if (!location)
        return -1;
    snprintf(location->name, sizeof location->name, "%s %" PRId32, sample->sample->name, sample->sample->tid);
    c->run = sample->run;
    c->stream = sample->stream;
    c->depth = 0;
    c->last_ns = 0;
    return 0;
}

static int location_order(const void *one, const void *other)
{
    const struct location *a = one, *b = other;
    return a->file != b->file ? (a->file > b->file) - (a->file < b->file) : (a->id > b->id) - (a->id < b->id);
}

/* A process without a sample has an empty location, so that ranks keep their numbers. */
static int locations_complete(struct conversion *c)
{
    size_t sampled = c->location_count;
    for (size_t file = 0, at = 0; file < c->stacks->job->file_count; file++) {
        bool there = at < sampled && c->locations[at].file == file;
        while (at < sampled && c->locations[at].file == file)
            at++;
        struct location *location = there ? NULL : location_add(c, file, 0);
        if (!there && (!location || sampled_location_close(c) != 0))
            return -1;
        if (location)
            snprintf(location->name, sizeof location->name, "(no samples)");
    }
    qsort(c->locations, c->location_count, sizeof *c->locations, location_order);
    return 0;
}

/* Makes the contexts of a sample, the outermost first. Returns how many of them the sample before had, too, or -1
 * without memory. */
static int contexts_make(struct conversion *c, const struct stack_sample *sample, unsigned *depth)
{
    uint32_t parent = UINT32_MAX;
    int shared = 0;
    bool same = true;
    bool tip = sample->sample->call != 0;
    for (unsigned i = 0; i < sample->count + tip; i++) {
        const struct stack_frame *frame = i < sample->count ? &sample->frames[i] : NULL;
        uint32_t region = region_number(c, frame ? frame->frame : NULL, sample->sample->state);
        uint32_t place = frame ? place_number(c, frame->file, frame->line) : OTF2_UNDEFINED_SOURCE_CODE_LOCATION;
        uint32_t context = region == UINT32_MAX ? UINT32_MAX : context_number(c, parent, region, place);
        if (context == UINT32_MAX)
            return -1;
        same = same && i < c->depth && c->path[i] == context;
        shared += same;
        c->path[i] = parent = context;
    }
    *depth = sample->count + tip;
    return shared;
}

static int stack_sample_write(void *data, const struct stack_sample *sample)
{
    struct conversion *c = data;
    unsigned depth = 0;
    if (interrupt_seen())
        return -1;
    if ((!c->writer || sample->run != c->run || sample->stream != c->stream) && sampled_location_begin(c, sample) != 0)
        return -1;
    int shared = contexts_make(c, sample, &depth);
    uint32_t timer = timer_number(c, sample->sample->period_ns);
    if (shared < 0 || timer == UINT32_MAX)
        return report_no_memory(c->report);
    uint64_t at_ns = sample->at_ns > 0 ? (uint64_t)sample->at_ns : 0;
    c->last_ns = at_ns > c->last_ns ? at_ns : c->last_ns;
    c->end_ns = c->last_ns > c->end_ns ? c->last_ns : c->end_ns;
    OTF2_ErrorCode error = OTF2_AttributeList_AddUint32(c->attributes, ATTRIBUTE_WEIGHT, sample->sample->weight);
    if (error == OTF2_SUCCESS)
        error = OTF2_AttributeList_AddUint8(c->attributes, ATTRIBUTE_ON_CPU, sample->on_cpu);
    if (error == OTF2_SUCCESS)
        error = OTF2_EvtWriter_CallingContextSample(c->writer, c->attributes, c->last_ns, c->path[depth - 1],
                                                    depth - (unsigned)shared + 1, timer);
    if (error != OTF2_SUCCESS)
        return otf2_failed(c, "a sample could not be written", error);
    c->depth = depth;
    c->locations[c->location_count - 1].events++;
    return 0;
}

static int sample_events_write(struct conversion *c)
{
    if (OTF2_Archive_OpenEvtFiles(c->archive) != OTF2_SUCCESS || !(c->attributes = OTF2_AttributeList_New()))
        return report_error(c->report, "no samples can be written");
    int result = stacks_walk(c->stacks, stack_sample_write, c);
    c->report->signal = interrupt_seen();
    if (c->report->signal)
        report_error(c->report, "interrupted (%s)", strsignal(c->report->signal));
    else if (result != 0)
        report_no_memory(c->report); /* unless there is a reason already */
    if (result != 0 || sampled_location_close(c) != 0)
        return -1;
    if (!c->location_count)
        return report_error(c->report, "the selected part has no samples");
    if (locations_complete(c) != 0)
        return -1;
    if (OTF2_Archive_CloseEvtFiles(c->archive) != OTF2_SUCCESS)
        return report_error(c->report, "the samples could not be written");
    return 0;
}

/* ---- definitions: walked twice, because strings come before their users ------------------------------------------ */

static OTF2_StringRef text_id(struct conversion *c, const char *text)
{
    OTF2_StringRef id = trace_strings_id(&c->strings, text);
    if (id == UINT32_MAX && c->error == OTF2_SUCCESS)
        c->error = OTF2_ERROR_MEM_ALLOC_FAILED;
    return id;
}

#define WRITE(c, call)                                                                                                 \
    do {                                                                                                               \
        OTF2_ErrorCode error_ = (c)->definitions && (c)->error == OTF2_SUCCESS ? (call) : OTF2_SUCCESS;                \
        if (error_ != OTF2_SUCCESS)                                                                                    \
            (c)->error = error_;                                                                                       \
    } while (0)

static void head_write(struct conversion *c)
{
    WRITE(c, OTF2_GlobalDefWriter_WriteClockProperties(c->definitions, 1000000000, 0, c->end_ns + 1,
                                                       c->stacks->line.origin_ns));
    for (uint32_t id = 0; c->definitions && id < c->strings.count; id++)
        WRITE(c, OTF2_GlobalDefWriter_WriteString(c->definitions, id, c->strings.list[id]));
    OTF2_StringRef mpi = text_id(c, "MPI"), sampling = text_id(c, "sampling");
    WRITE(c, OTF2_GlobalDefWriter_WriteParadigm(c->definitions, OTF2_PARADIGM_MPI, mpi, OTF2_PARADIGM_CLASS_PROCESS));
    WRITE(c, OTF2_GlobalDefWriter_WriteParadigm(c->definitions, OTF2_PARADIGM_SAMPLING, sampling,
                                                OTF2_PARADIGM_CLASS_THREAD_FORK_JOIN));
    OTF2_StringRef weight = text_id(c, "weight"), on_cpu = text_id(c, "on processor");
    OTF2_StringRef weight_text = text_id(c, "Number of timer periods that the sample represents."),
                   on_cpu_text = text_id(c, "1: the thread was on a processor for most of that time.");
    WRITE(c,
          OTF2_GlobalDefWriter_WriteAttribute(c->definitions, ATTRIBUTE_WEIGHT, weight, weight_text, OTF2_TYPE_UINT32));
    WRITE(c,
          OTF2_GlobalDefWriter_WriteAttribute(c->definitions, ATTRIBUTE_ON_CPU, on_cpu, on_cpu_text, OTF2_TYPE_UINT8));
}

/* Writes each host once, by its first process. */
static uint32_t host_of(const struct run_job *job, size_t file)
{
    size_t first = 0;
    while (first < file && strcmp(job->files[first].header.host, job->files[file].header.host) != 0)
        first++;
    return (uint32_t)first + 1;
}

static void tree_write(struct conversion *c)
{
    const struct run_job *job = c->stacks->job;
    OTF2_StringRef machine = text_id(c, "machine"), node = text_id(c, "node");
    WRITE(c, OTF2_GlobalDefWriter_WriteSystemTreeNode(c->definitions, NODE_OF_JOB, machine, machine,
                                                      OTF2_UNDEFINED_SYSTEM_TREE_NODE));
    WRITE(c,
          OTF2_GlobalDefWriter_WriteSystemTreeNodeDomain(c->definitions, NODE_OF_JOB, OTF2_SYSTEM_TREE_DOMAIN_MACHINE));
    for (size_t i = 0; i < job->file_count; i++) {
        if (host_of(job, i) != i + 1)
            continue;
        OTF2_StringRef host = text_id(c, job->files[i].header.host);
        WRITE(c, OTF2_GlobalDefWriter_WriteSystemTreeNode(c->definitions, (uint32_t)i + 1, host, node, NODE_OF_JOB));
        WRITE(c, OTF2_GlobalDefWriter_WriteSystemTreeNodeDomain(c->definitions, (uint32_t)i + 1,
                                                                OTF2_SYSTEM_TREE_DOMAIN_SHARED_MEMORY));
    }
    for (size_t i = 0; i < job->file_count; i++) {
        char text[NAME_BYTES];
        uint32_t group = group_of(job, i);
        if (group < UNRANKED)
            snprintf(text, sizeof text, "MPI Rank %" PRIu32, group);
        else
            snprintf(text, sizeof text, "process %" PRIu32, job->files[i].header.pid);
        OTF2_StringRef id = text_id(c, text);
        WRITE(c, OTF2_GlobalDefWriter_WriteLocationGroup(c->definitions, group, id, OTF2_LOCATION_GROUP_TYPE_PROCESS,
                                                         host_of(job, i), OTF2_UNDEFINED_LOCATION_GROUP));
    }
    for (size_t i = 0; i < c->location_count; i++) {
        const struct location *location = &c->locations[i];
        OTF2_StringRef id = text_id(c, location->name);
        WRITE(c, OTF2_GlobalDefWriter_WriteLocation(c->definitions, location->id, id, OTF2_LOCATION_TYPE_CPU_THREAD,
                                                    location->events, group_of(job, location->file)));
    }
}

static void sample_regions_write(struct conversion *c)
{
    OTF2_StringRef nothing = text_id(c, "");
    char text[NAME_BYTES];
    for (const struct region *region = c->first_region; region; region = region->next_made) {
        const struct frame *frame = region->frame;
        bool mpi = !frame || frame->kind == FRAME_MPI || frame->kind == FRAME_INTERNAL;
        snprintf(text, sizeof text, "[%s]", state_texts[region->state]);
        OTF2_StringRef title = text_id(c, frame ? frame->name : text), module = text_id(c, frame ? frame->module : "");
        WRITE(c, OTF2_GlobalDefWriter_WriteRegion(c->definitions, region->number, title, title, nothing,
                                                  frame ? OTF2_REGION_ROLE_FUNCTION : OTF2_REGION_ROLE_ARTIFICIAL,
                                                  mpi ? OTF2_PARADIGM_MPI : OTF2_PARADIGM_SAMPLING,
                                                  OTF2_REGION_FLAG_NONE, module, 0, 0));
    }
}

/* Writes which locations are MPI processes: the first location of each rank. No communicator depends on it. */
static void rank_group_write(struct conversion *c)
{
    OTF2_StringRef text = text_id(c, "MPI ranks");
    uint64_t *members = malloc((c->location_count + 1) * sizeof *members);
    uint32_t count = 0;
    if (!members) {
        c->error = OTF2_ERROR_MEM_ALLOC_FAILED;
        return;
    }
    for (size_t i = 0; i < c->location_count; i++)
        if (group_of(c->stacks->job, c->locations[i].file) < UNRANKED &&
            (!i || c->locations[i - 1].file != c->locations[i].file))
            members[count++] = c->locations[i].id;
    WRITE(c, OTF2_GlobalDefWriter_WriteGroup(c->definitions, 0, text, OTF2_GROUP_TYPE_COMM_LOCATIONS, OTF2_PARADIGM_MPI,
                                             OTF2_GROUP_FLAG_NONE, count, members));
    free(members);
}

static void contexts_write(struct conversion *c)
{
    for (const struct place *place = c->first_place; place; place = place->next_made) {
        OTF2_StringRef file = text_id(c, place->file);
        WRITE(c, OTF2_GlobalDefWriter_WriteSourceCodeLocation(c->definitions, place->number, file, place->line));
    }
    for (const struct context *context = c->first_context; context; context = context->next_made)
        WRITE(c, OTF2_GlobalDefWriter_WriteCallingContext(c->definitions, context->number, context->region,
                                                          context->place, context->parent));
    OTF2_StringRef timer = text_id(c, "timer of the thread, wall-clock time");
    for (uint32_t i = 0; i < c->period_count; i++)
        WRITE(c,
              OTF2_GlobalDefWriter_WriteInterruptGenerator(c->definitions, i, timer, OTF2_INTERRUPT_GENERATOR_MODE_TIME,
                                                           OTF2_BASE_DECIMAL, -9, c->periods[i]));
}

static void samples_definitions_walk(struct conversion *c)
{
    head_write(c);
    tree_write(c);
    sample_regions_write(c);
    rank_group_write(c);
    contexts_write(c);
}

/* All times already belong to one clock. */
static OTF2_ErrorCode offsets_write(struct conversion *c)
{
    OTF2_ErrorCode error = OTF2_Archive_OpenDefFiles(c->archive);
    for (size_t i = 0; i < c->location_count && error == OTF2_SUCCESS; i++) {
        OTF2_DefWriter *writer = OTF2_Archive_GetDefWriter(c->archive, c->locations[i].id);
        error = writer ? OTF2_DefWriter_WriteClockOffset(writer, 0, 0, 0) : OTF2_ERROR_FILE_INTERACTION;
        if (error == OTF2_SUCCESS)
            error = OTF2_DefWriter_WriteClockOffset(writer, c->end_ns + 1, 0, 0);
        if (writer && OTF2_Archive_CloseDefWriter(c->archive, writer) != OTF2_SUCCESS && error == OTF2_SUCCESS)
            error = OTF2_ERROR_FILE_INTERACTION;
    }
    OTF2_ErrorCode closed = OTF2_Archive_CloseDefFiles(c->archive);
    return error != OTF2_SUCCESS ? error : closed;
}

/* A chunk has room for each of them: the largest is the group, which names locations. */
static OTF2_ErrorCode definitions_measure(struct conversion *c)
{
    uint64_t bytes = DEFINITION_REST_BYTES + DEFINITION_ENTRY_BYTES * (uint64_t)c->location_count;
    return OTF2_Archive_SetDefChunkSize(c->archive, bytes > OTF2_CHUNK_SIZE_MAX ? OTF2_CHUNK_SIZE_MAX : bytes);
}

static int definitions_write(struct conversion *c)
{
    c->error = definitions_measure(c);
    if (c->error == OTF2_SUCCESS)
        c->error = offsets_write(c);
    samples_definitions_walk(c);
    if (c->error == OTF2_SUCCESS && !(c->definitions = OTF2_Archive_GetGlobalDefWriter(c->archive)))
        c->error = OTF2_ERROR_FILE_INTERACTION;
    samples_definitions_walk(c);
    if (c->definitions)
        WRITE(c, OTF2_Archive_CloseGlobalDefWriter(c->archive, c->definitions));
    return c->error == OTF2_SUCCESS ? 0 : otf2_failed(c, "the definitions could not be written", c->error);
}

/* ---- the archive ------------------------------------------------------------------------------------------------- */

static int samples_archive_make(struct conversion *c, const char *directory)
{
    const struct selection *selection = c->stacks->selection;
    OTF2_ErrorCallback before = OTF2_Error_RegisterCallback(otf2_error_keep, c->report);
    c->archive = otf2_archive_open(directory);
    int result = c->archive ? otf2_archive_prepare(c->archive, c->report)
                            : report_error(c->report, "the archive cannot be created");
    if (result == 0 && OTF2_Archive_SetSerialCollectiveCallbacks(c->archive) != OTF2_SUCCESS)
        result = report_error(c->report, "the archive cannot be prepared");
    if (result == 0 && selection && selection_is_given(selection) &&
        OTF2_Archive_SetProperty(c->archive, "MPIT::SELECTION", selection->described, true) != OTF2_SUCCESS)
        result = report_error(c->report, "the selection cannot be written to the archive");
    if (result == 0)
        result = sample_events_write(c);
    if (result == 0)
        result = definitions_write(c);
    /* a failed archive is not closed (otf2.c) */
    if (result == 0 && OTF2_Archive_Close(c->archive) != OTF2_SUCCESS)
        result = report_error(c->report, "the archive's anchor could not be written");
    OTF2_Error_RegisterCallback(before, NULL);
    return result == 0 && !c->report->error[0] ? 0 : -1;
}

static int samples_archive_place(struct conversion *c, const char *directory)
{
    char path[PATH_MAX];
    size_t length = strlen(directory);
    while (length > 1 && directory[length - 1] == '/')
        length--;
    int n = snprintf(path, sizeof path, "%.*s.partial.%d", (int)length, directory, (int)getpid());
    if (n < 0 || n >= PATH_MAX)
        return report_error(c->report, "the path of the archive is too long");
    if (mkdir(path, 0777) != 0)
        return report_error(c->report, "the archive %s cannot be created: %s", directory, strerror(errno));
    int result = samples_archive_make(c, path);
    if (result == 0 && otf2_directory_publish(path, directory) != 0)
        result = report_error(c->report, "the archive cannot be moved to %s: %s", directory, strerror(errno));
    if (result != 0)
        otf2_directory_remove(path);
    return result;
}

int otf2_samples_write(struct stacks *stacks, const char *directory, struct otf2_report *report)
{
    struct conversion *c = calloc(1, sizeof *c);
    *report = (struct otf2_report){0};
    if (!c)
        return report_no_memory(report);
    *c = (struct conversion){.stacks = stacks, .report = report};
    c->last_context = &c->first_context;
    c->last_region = &c->first_region;
    c->last_place = &c->first_place;
    interrupts_catch();
    int result = samples_archive_place(c, directory);
    interrupts_release();
    if (!report->signal)
        report->signal = interrupt_seen();
    if (c->attributes)
        OTF2_AttributeList_Delete(c->attributes);
    keytable_release(&c->contexts, NULL);
    keytable_release(&c->regions, NULL);
    keytable_release(&c->places, NULL);
    trace_strings_release(&c->strings);
    free(c->locations);
    free(c->periods);
    free(c);
    return result;
}
