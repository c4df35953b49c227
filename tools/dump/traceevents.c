#include "dump/traceevents.h"

#include "analysis/analysis.h"
#include "base/array.h"
#include "format/label.h"
#include "report/callplaces.h"
#include "trace/nest.h"
#include "dump/objectshown.h"
#include "trace/regionschedule.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 512, AT_BYTES = 64 };

/* Where calls were made. */
struct shown_place {
    char *at;     /* as JSON. NULL: not asked for yet */
    size_t frame; /* the number of the innermost. 0: none */
};

/* A job in progress. */
struct view {
    struct trace_events *events;
    const struct selection *selection;
    const char *title;
    struct trace_job job;
    struct otf2_report *report;
    struct call_places *places;
    struct shown_place *shown; /* by place */
    size_t shown_count;
    char **regions, **metrics; /* names as JSON, by their numbers in job.instruments */
    uint64_t untimed;
    int64_t mark_tid; /* the last mark of an arrow: its thread, and the return of its call */
    uint64_t mark_ns;
};

/* A thread in progress. */
struct track {
    struct view *view;
    const struct trace_rank *rank;
    char **comms;     /* as JSON, by number in the run file */
    uint32_t *places; /* by number of the call path, or NULL */
    char **objects;   /* likewise names of windows and files, by place in its list */
    int64_t pid, tid;
    struct schedule schedule;
    size_t floors[1 << 10]; /* of the calls that are entered, for the schedule */
    size_t depth;
    uint64_t last_ns;
};

/* ---- text -------------------------------------------------------------------------------------------------------- */

/* Returns quoted and escaped text, which the caller frees. Returns NULL without memory. */
static char *json_text(const char *text)
{
    char clean[NAME_BYTES];
    label_clean(clean, sizeof clean, text, strlen(text)); /* a run file may contain any bytes, and JSON is UTF-8 */
    json_t *string = json_string(clean);
    char *quoted = string ? json_dumps(string, JSON_ENCODE_ANY) : NULL;
    json_decref(string);
    return quoted;
}

static int quoted_add(char **list, size_t at, const char *text)
{
    return (list[at] = json_text(text)) ? 0 : -1;
}

static void quoted_release(char **list, size_t count)
{
    for (size_t i = 0; list && i < count; i++)
        free(list[i]);
    free(list);
}

/* Writes microseconds with three digits after the point, so that no nanosecond is lost. */
static void event_begin(struct trace_events *events, char phase, int64_t pid, int64_t tid, uint64_t ns)
{
    fprintf(events->out, "%s{\"ph\":\"%c\",\"pid\":%" PRId64 ",\"tid\":%" PRId64 ",\"ts\":%" PRIu64 ".%03" PRIu64,
            events->written++ ? ",\n" : "", phase, pid, tid, ns / 1000, ns % 1000);
}

static void meta_text(struct trace_events *events, int64_t pid, int64_t tid, const char *what, const char *quoted)
{
    event_begin(events, 'M', pid, tid, 0); /* readers require a time for each line */
    fprintf(events->out, ",\"name\":\"%s\",\"args\":{\"name\":%s}}", what, quoted);
}

static void meta_number(struct trace_events *events, int64_t pid, int64_t tid, const char *what, int64_t number)
{
    event_begin(events, 'M', pid, tid, 0);
    fprintf(events->out, ",\"name\":\"%s\",\"args\":{\"sort_index\":%" PRId64 "}}", what, number);
}

/* Process numbers begin with 1, since Perfetto reserves 0 for the idle process. Perfetto takes the thread with the
 * process's number as the main thread. Thread numbers must differ across all processes. */
static int64_t pid_of(const struct view *view, int32_t world_rank)
{
    return view->events->first_pid + world_rank;
}

static int64_t tid_of(const struct view *view, int32_t world_rank, uint32_t thread)
{
    uint32_t first = trace_rank_first_thread(&view->job.ranks[world_rank]);
    uint32_t order = thread == first ? 0 : thread < first ? thread + 1 : thread;
    return pid_of(view, world_rank) + (int64_t)order * view->job.size;
}

/* ---- one thread -------------------------------------------------------------------------------------------------- */

static uint64_t track_time(struct track *track, uint64_t ticks)
{
    uint64_t now = trace_time(&track->view->job, track->rank, ticks);
    if (now > track->last_ns)
        track->last_ns = now;
    return track->last_ns;
}

static void track_event(struct track *track, char phase, uint64_t ns)
{
    event_begin(track->view->events, phase, track->pid, track->tid, ns);
}

static bool region_is_shown(const struct track *track, const struct scheduled *region)
{
    const struct selection *selection = track->view->selection;
    const struct trace_job *job = &track->view->job;
    const char *comm = region->is_metric ? job->instruments.metrics[region->what].comm : "";
    return !selection->by_function && selection_has_comm(selection, comm[0] ? comm : NULL, NULL) &&
           selection_has_time(selection, (int64_t)trace_time(job, track->rank, region->begin),
                              (int64_t)trace_time(job, track->rank, region->end));
}

static void metric_write(struct track *track, const struct scheduled *sample, uint64_t ns)
{
    FILE *out = track->view->events->out;
    const struct instrument_record *record = track->view->job.instruments.metrics[sample->what].record;
    double real;
    memcpy(&real, &sample->value, sizeof real);
    if (record->type == MPIT_TYPE_DOUBLE && !(real - real == 0))
        return; /* JSON has no infinity */
    track_event(track, 'C', ns);
    fprintf(out, ",\"name\":%s,\"args\":{\"value\":", track->view->metrics[sample->what]);
    if (record->type == MPIT_TYPE_DOUBLE)
        fprintf(out, "%.17g}}", real);
    else if (record->type == MPIT_TYPE_INT)
        fprintf(out, "%" PRId64 "}}", (int64_t)sample->value);
    else
        fprintf(out, "%" PRIu64 "%s}}", sample->value,
                sample->value > INT64_MAX ? ".0" : ""); /* Perfetto reads larger integers as negative */
}

/* The end has the name, too, because speedscope compares them. */
static void region_write(struct track *track, char phase, const struct scheduled *region, uint64_t ns)
{
    track_event(track, phase, ns);
    fprintf(track->view->events->out, ",\"name\":%s,\"cat\":\"region\"}", track->view->regions[region->what]);
}

static void track_schedule_write(struct track *track, uint64_t until, uint64_t call_end)
{
    const struct scheduled *what;
    uint64_t at;
    for (enum schedule_step step; (step = schedule_step(&track->schedule, until, call_end, &what, &at));) {
        uint64_t ns = track_time(track, at);
        if (!region_is_shown(track, what))
            continue;
        if (step == STEP_METRIC)
            metric_write(track, what, ns);
        else
            region_write(track, step == STEP_ENTER ? 'B' : 'E', what, ns);
    }
}

/* A region that began inside a call also ends inside it, no matter what the file says. */
static void track_schedule_close(struct track *track, uint64_t end)
{
    track_schedule_write(track, end, end);
    for (const struct scheduled *region; (region = schedule_abandon(&track->schedule));)
        if (region_is_shown(track, region))
            region_write(track, 'E', region, track_time(track, end));
}

static bool track_shows_call(const struct track *track, const struct traced_call *call)
{
    const struct trace_job *job = &track->view->job;
    return selection_has_call(track->view->selection, track->rank->run, &call->event,
                              (int64_t)trace_time(job, track->rank, call->event.begin),
                              (int64_t)trace_time(job, track->rank, call->end));
}

static const char *call_class_name(unsigned kind)
{
    static const char *const names[] = {
        [CLASS_P2P] = "p2p",           [CLASS_COLLECTIVE] = "coll", [CLASS_COMPLETION] = "completion",
        [CLASS_COMMUNICATOR] = "comm", [CLASS_RMA] = "rma",         [CLASS_IO] = "io"};
    unsigned class = call_table[kind].class;
    return class < sizeof names / sizeof *names && names[class] ? names[class] : "other";
}

/* Writes an argument of a call. Each but the first has a comma before it. */
static void number_argument_put(FILE *out, int *count, const char *name, int64_t number)
{
    fprintf(out, "%s\"%s\":%" PRId64, (*count)++ ? "," : "", name, number);
}

static void argument_put(FILE *out, int *count, const char *name, const char *quoted)
{
    fprintf(out, "%s\"%s\":%s", (*count)++ ? "," : "", name, quoted);
}

static void peer_put(FILE *out, int *count, const char *name, int32_t peer)
{
    if (peer >= 0)
        number_argument_put(out, count, name, peer);
    else if (peer != PEER_NONE)
        argument_put(out, count, name, peer == PEER_PROC_NULL ? "\"none\"" : peer == PEER_ANY ? "\"any\"" : "\"root\"");
}

/* If a call only begins a transfer, or reaches the file's end, a record has the requested bytes. */
static void object_put(const struct track *track, int *count, const struct traced_call *call, unsigned class)
{
    FILE *out = track->view->events->out;
    const struct event *event = &call->event, *argument = call_argument(call);
    struct object_shown shown = object_shown(track->rank->run, event, class, event->begin);
    if (!shown.what)
        return;
    peer_put(out, count, "peer", event->peer);
    if (shown.moves)
        number_argument_put(out, count, "bytes", (int64_t)event->bytes);
    if (class == CLASS_IO && argument && !argument->tag)
        number_argument_put(out, count, "asked", (int64_t)argument->bytes);
    if (shown.number)
        number_argument_put(out, count, shown.what, shown.number);
    if (shown.record < track->rank->run->object_count)
        argument_put(out, count, "name", track->objects[shown.record]);
}

/* Returns the number of a frame, from 1 on. */
static size_t frame_number(struct trace_events *events, size_t caller, const char *text)
{
    char clean[NAME_BYTES], key[NAME_BYTES + 24], digits[24];
    label_clean(clean, sizeof clean, text, strlen(text));
    snprintf(key, sizeof key, "%zu %s", caller, clean);
    size_t number = (size_t)json_integer_value(json_object_get(events->numbers, key));
    if (number)
        return number;
    number = json_object_size(events->numbers) + 1;
    snprintf(digits, sizeof digits, "%zu", number);
    json_t *frame = json_pack("{s:s}", "name", clean);
    if (caller)
        json_object_set_new(frame, "parent", json_integer((json_int_t)caller));
    json_object_set_new(events->frames, digits, frame);
    json_object_set_new(events->numbers, key, json_integer((json_int_t)number));
    return number;
}

static void place_find(struct view *view, uint32_t place)
{
    char text[CALL_PLACE_BYTES], frame[SITE_PLACE_BYTES];
    struct summary_sites sites;
    struct shown_place *shown = &view->shown[place];
    const struct summary_site *site = call_place_site(view->places, place, &sites);
    for (uint32_t i = site ? site->frame_count : 0; i-- > 0;)
        shown->frame = frame_number(view->events, shown->frame,
                                    frame_place_text(&sites, &sites.frames[site->first_frame + i], frame));
    call_place_text(view->places, place, 0, text);
    char *name = strlen(text) > AT_BYTES ? strstr(text, " (") : NULL;
    if (name) /* as long as C++ has them: the stack has it */
        *name = '\0';
    shown->at = json_text(text);
}

/* Returns NULL if it is not known. */
static const struct shown_place *place_shown(const struct track *track, uint32_t path)
{
    struct view *view = track->view;
    uint32_t place = track->places && path < track->rank->run->path_count ? track->places[path] : 0;
    if (place && !view->shown[place].at)
        place_find(view, place);
    return place && view->shown[place].at ? &view->shown[place] : NULL;
}

static void arguments_put(const struct track *track, const struct traced_call *call)
{
    FILE *out = track->view->events->out;
    const struct event *event = &call->event;
    uint32_t number = event->comm ? run_reader_comm(track->rank->run, event) : 0;
    unsigned class = call_table[event_kind(event)].class;
    int count = 0;
    fputs(",\"args\":{", out);
    if (number)
        argument_put(out, &count, "communicator", track->comms[number]);
    if (class == CLASS_P2P) {
        peer_put(out, &count, "peer", event->peer);
        if (event->tag == TAG_ANY)
            argument_put(out, &count, "tag", "\"any\"");
        else
            number_argument_put(out, &count, "tag", event->tag);
        number_argument_put(out, &count, "bytes", (int64_t)event->bytes);
    } else if (class == CLASS_COLLECTIVE) {
        peer_put(out, &count, "root", event->peer);
        number_argument_put(out, &count, "bytes", (int64_t)event->bytes);
        number_argument_put(out, &count, "bytes_out", (int64_t)call->bytes_out);
    } else if (class == CLASS_COMPLETION) {
        number_argument_put(out, &count, "completed", event->peer > 0 ? event->peer : 0);
        number_argument_put(out, &count, "requests", event->tag);
    }
    object_put(track, &count, call, class);
    if (event->kind & EVENT_FAILED)
        argument_put(out, &count, "failed", "true");
    const struct shown_place *shown = place_shown(track, call->path);
    if (shown)
        argument_put(out, &count, "at", shown->at);
    fputs("}}", out);
}

/* Writes a mark of the recorder about itself. */
static void mark_write(struct track *track, const char *text, uint64_t ns)
{
    track_event(track, 'i', ns);
    fprintf(track->view->events->out, ",\"s\":\"t\",\"name\":\"%s\",\"cat\":\"recorder\"}", text);
}

/* Returns its place, or NULL. */
static const struct shown_place *call_begin_write(struct track *track, unsigned kind, uint32_t path, uint64_t ns)
{
    FILE *out = track->view->events->out;
    const struct shown_place *shown = place_shown(track, path);
    track_event(track, 'B', ns);
    fprintf(out, ",\"name\":\"%s\",\"cat\":\"%s\"", call_table[kind].name, call_class_name(kind));
    if (shown && shown->frame)
        fprintf(out, ",\"sf\":%zu", shown->frame);
    return shown;
}

static void track_enter(void *data, const struct traced_call *call)
{
    struct track *track = data;
    unsigned kind = event_kind(&call->event);
    track_schedule_write(track, call->event.begin, call->end);
    if (track->depth < sizeof track->floors / sizeof *track->floors)
        track->floors[track->depth] = track->schedule.floor;
    track->depth++;
    track->schedule.floor = track->schedule.open.count;
    uint64_t ns = track_time(track, call->event.begin);
    if (!track_shows_call(track, call))
        return;
    if (kind == EVENT_SWITCHED) {
        mark_write(track, call->event.peer ? "recording on" : "recording off", ns);
    } else if (kind == EVENT_PASSED) {
        mark_write(track, "requests completed by an unrecorded call", ns);
    } else {
        call_begin_write(track, kind, call->path, ns);
        fputs("}", track->view->events->out);
    }
}

/* Arguments are at the end, because speedscope makes arguments at the begin a part of the name. */
static void track_leave(void *data, const struct traced_call *call)
{
    struct track *track = data;
    track_schedule_close(track, call->end);
    if (--track->depth < sizeof track->floors / sizeof *track->floors)
        track->schedule.floor = track->floors[track->depth];
    uint64_t ns = track_time(track, call->end);
    if (call_is_mark(call) || !track_shows_call(track, call))
        return;
    track_event(track, 'E', ns);
    fprintf(track->view->events->out, ",\"name\":\"%s\"", call_table[event_kind(&call->event)].name);
    arguments_put(track, call);
}

static void track_gap_write(struct track *track, uint64_t count, uint64_t ticks)
{
    char text[64];
    uint64_t ns = trace_time(&track->view->job, track->rank, ticks);
    if (!selection_has_time(track->view->selection, (int64_t)ns, (int64_t)ns))
        return;
    snprintf(text, sizeof text, "%" PRIu64 " records are missing", count);
    mark_write(track, text, ns);
}

/* Writes where a process was when it was killed: a begin without an end. */
static void unfinished_write(struct track *track, const struct thread_record *record)
{
    const struct run_reader *run = track->rank->run;
    struct thread_state state = record->state;
    const struct event event = {.begin = state.since, .kind = (uint16_t)state.call, .comm = (uint16_t)state.comm};
    if (run->header.phase == RUN_FINALIZED || state.call == CALL_NONE || state.call >= CALL_COUNT || !state.since)
        return;
    uint64_t ns = trace_time(&track->view->job, track->rank, state.since);
    if (!selection_has_call(track->view->selection, run, &event, (int64_t)ns, INT64_MAX))
        return;
    const struct shown_place *shown = call_begin_write(track, state.call, state.path, ns);
    fprintf(track->view->events->out, ",\"args\":{\"unfinished\":true%s%s}}", shown ? ",\"at\":" : "",
            shown ? shown->at : "");
}

static int thread_calls_write(struct track *track, uint32_t thread)
{
    struct nest nest = {0};
    struct call_stream stream;
    struct traced_call call = {0};
    uint64_t missing = 0;
    int got;
    call_stream_open(&stream, track->rank->run, thread, track->rank->written[thread], false);
    while ((got = call_stream_next(&stream, &call)) > 0 && !ferror(track->view->events->out)) {
        bool outermost = !(call.event.kind & EVENT_NESTED);
        uint64_t begin = call.event.begin;
        if (begin == 0 && !call_is_mark(&call)) {
            track->view->untimed++;
            continue;
        }
        if (nest_push(&nest, &call) != 0) {
            got = -1;
            break;
        }
        if (outermost || nest.count == NEST_MAX)
            nest_write(&nest, track, track_enter, track_leave);
        /* The stream has read one record ahead: its missing records come after this call */
        if (stream.cursor.missing != missing)
            track_gap_write(track, stream.cursor.missing - missing, stream.ahead ? stream.ahead->begin : begin);
        missing = stream.cursor.missing;
    }
    nest_write(&nest, track, track_enter, track_leave);
    track_schedule_write(track, UINT64_MAX, UINT64_MAX);
    track_schedule_close(track, UINT64_MAX);
    nest_release(&nest);
    call_stream_close(&stream);
    free(call.parts);
    return got < 0 ? report_no_memory(track->view->report) : 0;
}

/* ---- one process ------------------------------------------------------------------------------------------------- */

static char **comms_quote(const struct run_reader *run)
{
    char title[COMM_TITLE_BYTES];
    char **comms = calloc(run->comm_count + 1, sizeof *comms);
    for (size_t i = 0; comms && i < run->comm_count; i++)
        if (quoted_add(comms, i, run->comms[i] ? comm_title(title, run->comms[i]->name, run->comms[i]->label) : "-") !=
            0) {
            quoted_release(comms, run->comm_count);
            return NULL;
        }
    return comms;
}

static char **objects_quote(const struct run_reader *run)
{
    char **objects = calloc(run->object_count + 1, sizeof *objects);
    for (size_t i = 0; objects && i < run->object_count; i++)
        if (quoted_add(objects, i, run->objects[i]->name) != 0) {
            quoted_release(objects, run->object_count);
            return NULL;
        }
    return objects;
}

static int process_names_write(const struct view *view, int32_t world_rank)
{
    char text[NAME_BYTES];
    const struct run_reader *run = view->job.ranks[world_rank].run;
    int64_t pid = pid_of(view, world_rank);
    snprintf(text, sizeof text, "%srank %" PRId32 " on %s", view->title, world_rank, run->header.host);
    char *quoted = json_text(text);
    if (!quoted)
        return report_no_memory(view->report);
    meta_text(view->events, pid, pid, "process_name", quoted);
    meta_number(view->events, pid, pid, "process_sort_index", pid);
    free(quoted);
    for (uint32_t thread = 0; thread < run->thread_count; thread++) {
        if (!run->threads[thread])
            continue;
        snprintf(text, sizeof text, "\"thread %" PRIu32 "\"", thread);
        meta_text(view->events, pid, tid_of(view, world_rank, thread), "thread_name", text);
        meta_number(view->events, pid, tid_of(view, world_rank, thread), "thread_sort_index", thread);
    }
    return 0;
}

/* Finds the places of the process's calls, and makes room for their texts. */
static int view_places_find(struct view *view, const struct run_reader *run, uint32_t **places)
{
    *places = call_places_of(view->places, run);
    size_t count = call_places_count(view->places) + 1;
    if (count == view->shown_count)
        return 0;
    if (!ARRAY_EXTENDED(view->shown, view->shown_count, count))
        return -1;
    view->shown_count = count;
    return 0;
}

static int process_write(struct view *view, int32_t world_rank)
{
    const struct trace_rank *rank = &view->job.ranks[world_rank];
    if (!rank->run || !selection_has_rank(view->selection, world_rank))
        return 0;
    if (trace_run_wake(rank->run, view->report) != 0)
        return -1;
    char **comms = comms_quote(rank->run), **objects = objects_quote(rank->run);
    struct track *track = malloc(sizeof *track);
    uint32_t *places = NULL;
    bool good = comms && objects && track && view_places_find(view, rank->run, &places) == 0;
    int result = good ? process_names_write(view, world_rank) : report_no_memory(view->report);
    for (uint32_t thread = 0; result == 0 && thread < rank->run->thread_count; thread++) {
        if (!rank->run->threads[thread])
            continue;
        *track = (struct track){.view = view,
                                .rank = rank,
                                .comms = comms,
                                .objects = objects,
                                .places = places,
                                .pid = pid_of(view, world_rank),
                                .tid = tid_of(view, world_rank, thread)};
        result =
            schedule_open(&track->schedule, &view->job.instruments, rank->run, thread, rank->written[thread], false);
        if (result != 0)
            report_no_memory(view->report);
        else if ((result = thread_calls_write(track, thread)) == 0)
            unfinished_write(track, rank->run->threads[thread]);
        if (result == 0 && track->schedule.failed)
            result = report_no_memory(view->report);
        schedule_release(&track->schedule);
    }
    quoted_release(comms, rank->run->comm_count);
    quoted_release(objects, rank->run->object_count);
    free(track);
    free(places);
    run_reader_rest(rank->run);
    return result;
}

/* ---- the job ----------------------------------------------------------------------------------------------------- */

/*
 * The arrow's ends lie inside the two calls, or a reader binds it to neither. These lines follow all calls, and at
 * equal times the first line counts. So the arrow begins with the one call, and ends a nanosecond before the end of the
 * other.
 *
 * Perfetto reverses an arrow if its last call began before its first one, as happens for awaited messages. Such an
 * arrow ends at a mark inside the call, which begins later. Without bp the arrow is bound to the next begin. With bp it
 * is bound to an existing mark of that time. One mark is enough for a call. Several would be drawn below each other.
 */
static void flow_write(void *data, const struct analysis_flow *flow)
{
    struct view *view = data;
    FILE *out = view->events->out;
    uint64_t id = ++view->events->flows;
    int64_t dest = tid_of(view, flow->dest, flow->dest_thread);
    bool is_marked = view->mark_tid == dest && view->mark_ns == flow->done_ns;
    bool needs_mark = flow->got_ns < flow->begun_ns && !is_marked;
    event_begin(view->events, 's', pid_of(view, flow->source), tid_of(view, flow->source, flow->source_thread),
                flow->begun_ns);
    fprintf(out, ",\"id\":%" PRIu64 ",\"name\":\"message\",\"cat\":\"message\",\"args\":{\"bytes\":%" PRIu64 "}}", id,
            flow->bytes);
    event_begin(view->events, 'f', pid_of(view, flow->dest), dest, flow->done_ns - 1);
    fprintf(out, "%s,\"id\":%" PRIu64 ",\"name\":\"message\",\"cat\":\"message\"}", needs_mark ? "" : ",\"bp\":\"e\"",
            id);
    if (!needs_mark)
        return;
    event_begin(view->events, 'i', pid_of(view, flow->dest), dest, flow->done_ns - 1);
    fputs(",\"s\":\"t\",\"name\":\"message\",\"cat\":\"message\"}", out);
    view->mark_tid = dest;
    view->mark_ns = flow->done_ns;
}

static int flows_write(struct view *view, const struct run_job *job)
{
    struct analysis *analysis = malloc(sizeof *analysis);
    if (!analysis)
        return report_no_memory(view->report);
    const struct analysis_watch watch = {.data = view, .flow = flow_write};
    int result = analysis_open_watched(analysis, job->files, job->file_count, view->selection, job->names, &watch);
    if (result != 0)
        report_error(view->report, "the messages are unknown: %s", analysis->report.error);
    else if (!analysis->has_messages)
        report_warning(view->report, "there are no arrows for messages: calls were excluded from the recording, so one "
                                     "side of messages is missing");
    analysis_release(analysis);
    free(analysis);
    return result;
}

static int instruments_quote(struct view *view)
{
    const struct trace_instruments *instruments = &view->job.instruments;
    int result = 0;
    view->regions = calloc(instruments->region_count + 1, sizeof *view->regions);
    view->metrics = calloc(instruments->metric_count + 1, sizeof *view->metrics);
    if (!view->regions || !view->metrics)
        return report_no_memory(view->report);
    for (uint32_t i = 0; result == 0 && i < instruments->region_count; i++)
        result = quoted_add(view->regions, i, instruments->regions[i]->name);
    for (uint32_t i = 0; result == 0 && i < instruments->metric_count; i++) {
        char text[NAME_BYTES], element[32] = "";
        const struct trace_metric *metric = &instruments->metrics[i];
        const struct instrument_record *record = metric->record;
        const char *item = record->count > 1 ? run_reader_item(metric->run, record, metric->element) : NULL;
        if (record->count > 1)
            snprintf(element, sizeof element, "%" PRIu32, metric->element);
        snprintf(text, sizeof text, "%s%s%s%s%s%s%s%s", record->name, element[0] ? "[" : "", item ? item : element,
                 element[0] ? "]" : "", metric->comm[0] ? " " : "", metric->comm, record->unit[0] ? ", " : "",
                 record->unit);
        result = quoted_add(view->metrics, i, text);
    }
    return result == 0 ? 0 : report_no_memory(view->report);
}

void trace_events_begin(struct trace_events *events, FILE *out)
{
    *events = (struct trace_events){.out = out, .first_pid = 1, .frames = json_object(), .numbers = json_object()};
    fputs("{\"displayTimeUnit\":\"ns\",\"otherData\":{\"recorder\":\"mpit " MPIT_VERSION "\"},\"traceEvents\":[\n",
          out);
}

void trace_events_end(struct trace_events *events)
{
    fputs("\n],\"stackFrames\":", events->out);
    json_dumpf(events->frames, events->out, JSON_COMPACT);
    fputs("}\n", events->out);
    json_decref(events->frames);
    json_decref(events->numbers);
}

int trace_events_write(struct trace_events *events, const struct run_job *job, const struct selection *selection,
                       const char *title, struct otf2_report *report)
{
    struct view view = {.events = events, .selection = selection, .title = title, .report = report};
    *report = (struct otf2_report){0};
    int result = trace_job_open(&view.job, job->files, job->file_count, report);
    if (result == 0 && (!(view.places = call_places_open(job->names)) ||
                        call_places_fill(view.places, job->files, job->file_count) != 0))
        result = report_no_memory(report);
    if (result == 0)
        result = instruments_quote(&view);
    for (int32_t r = 0; result == 0 && r < view.job.size; r++)
        result = process_write(&view, r);
    if (result == 0)
        result = flows_write(&view, job);
    if (view.untimed)
        report_warning(report, "%" PRIu64 " calls are left out, because they were not timed (mpit_timing)",
                       view.untimed);
    int64_t threads = 1;
    for (int32_t r = 0; view.job.ranks && r < view.job.size; r++)
        if (trace_rank_thread_end(&view.job.ranks[r]) > threads)
            threads = trace_rank_thread_end(&view.job.ranks[r]);
    events->first_pid += threads * view.job.size;
    for (size_t i = 0; i < view.shown_count; i++)
        free(view.shown[i].at);
    free(view.shown);
    call_places_close(view.places);
    quoted_release(view.regions, view.job.instruments.region_count);
    quoted_release(view.metrics, view.job.instruments.metric_count);
    trace_job_release(&view.job);
    return result;
}
