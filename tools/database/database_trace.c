#include "database/database_job.h"

#include "analysis/analysis.h"
#include "analysis/analysis_lanes.h"
#include "trace/tracereport.h"
#include "base/array.h"
#include "database/callfigures.h"
#include "format/counter.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A trace in progress. */
struct tracing {
    struct database_job *job;
    struct analysis analysis;
    struct call_figures *figures;
    int64_t *comms; /* by index in the job: its number. 0: not asked for yet */
};

/* ---- references -------------------------------------------------------------------------------------------------- */

/* The number of the summary's communicator of this name. 0: there is none. */
static int64_t comm_of_summary(const struct database_job *job, const char *name)
{
    const struct summary *summary = job->job->summary;
    bool found; /* they are sorted */
    size_t place = ARRAY_PLACE(i, summary->comm_count, strcmp(name, summary->comms[i].name), &found);
    return found ? job->first_comm + (int64_t)place : 0;
}

/* A communicator that the summary has in another line. */
static int64_t comm_row_add(struct database_job *job, const struct trace_comm *comm)
{
    struct database *to = job->database;
    row_begin(to, TABLE_COMMUNICATORS);
    row_signed(to, ++job->last_comm);
    row_signed(to, job->number);
    row_text(to, comm->name);
    row_text(to, comm->label);
    row_signed(to, comm->self ? 1 : comm->size + (comm->inter ? comm->remote_size : 0));
    row_rest_null(to); /* counters */
    row_end(to);
    return job->last_comm;
}

static int64_t comm_number(struct tracing *tracing, uint32_t index)
{
    if (index == NO_COMM)
        return 0;
    if (!tracing->comms[index]) {
        const struct trace_comm *comm = &tracing->analysis.comms.list[index];
        int64_t number = comm_of_summary(tracing->job, comm->name);
        tracing->comms[index] = number ? number : comm_row_add(tracing->job, comm);
    }
    return tracing->comms[index];
}

/* The communicators of the job are known only while it is analyzed. */
static bool comms_ready(struct tracing *tracing)
{
    if (!tracing->comms)
        tracing->comms = calloc(tracing->analysis.comms.count + 1, sizeof *tracing->comms);
    if (!tracing->comms)
        tracing->analysis.no_memory = true;
    return tracing->comms != NULL;
}

/* A number that refers to a row. 0: NULL. */
static void reference_put(struct database *to, int64_t number)
{
    row_known(to, number > 0, (uint64_t)number);
}

/* May add a row of its own, so call it before row_begin. 0: NULL. */
static int64_t comm_reference(struct tracing *tracing, uint32_t index)
{
    return comms_ready(tracing) ? comm_number(tracing, index) : 0;
}

/* A call of this job. 0: NULL. */
static void call_put(const struct tracing *tracing, uint64_t call)
{
    row_known(tracing->job->database, call > 0, (uint64_t)tracing->job->last_call + call);
}

static int64_t event_path_number(struct tracing *tracing, uint32_t place)
{
    return database_path_of_place(&tracing->job->paths, tracing->analysis.places, place);
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

static const char *peer_kind(int32_t peer)
{
    return peer == PEER_ANY ? "any" : peer == PEER_PROC_NULL ? "none" : peer == PEER_ROOT ? "root" : NULL;
}

/* The peer of a call with a partner, and the tag of a message. */
static void call_fields_put(struct database *to, const struct event *event, bool partner)
{
    unsigned class = call_table[event_kind(event)].class;
    row_known(to, partner && event->peer >= 0, (uint64_t)event->peer);
    row_word(to, partner ? peer_kind(event->peer) : NULL);
    row_known(to, class == CLASS_P2P && event->tag >= 0, (uint64_t)event->tag);
}

static void counters_put(struct tracing *tracing, const struct analysis_lane *lane)
{
    struct database *to = tracing->job->database;
    const struct run_reader *run = tracing->analysis.job.ranks[lane->process->world_rank].run;
    for (size_t i = 0; i < lane->call.part_count; i++) {
        const struct event *event = &lane->call.parts[i].event;
        if (event_kind(event) != RECORD_COUNTER)
            continue;
        row_begin(to, TABLE_COUNTED);
        call_put(tracing, lane->number);
        row_text(to, run_reader_counter_name(run, counter_of(event)));
        row_word(to,
                 counter_call(event) && counter_call(event) < CALL_COUNT ? call_table[counter_call(event)].name : NULL);
        row_count(to, counter_call(event) ? event->bytes : 0);
        row_count(to, counter_outside(event));
        row_end(to);
    }
}

static void call_watch(void *data, const struct analysis_lane *lane)
{
    struct tracing *tracing = data;
    struct database *to = tracing->job->database;
    const struct traced_call *call = &lane->call;
    const struct event *event = &call->event;
    unsigned kind = event_kind(event), class = call_table[kind].class;
    const struct trace_job *job = &tracing->analysis.job;
    int32_t rank = lane->process->world_rank;
    const struct run_reader *run = job->ranks[rank].run;
    const struct path_cells *figures = call_figures_of(tracing->figures, call);
    uint32_t comm = event->comm ? run_reader_comm(run, event) : 0;
    int64_t path = event_path_number(tracing, lane->place), comm_row = 0;
    bool partner = class == CLASS_P2P || class == CLASS_COLLECTIVE || class == CLASS_RMA, timed = event->begin != 0;
    if (comm && comms_ready(tracing))
        comm_row = comm_number(tracing, trace_comm_find(&tracing->analysis.comms, job, rank, comm));
    row_begin(to, TABLE_CALLS);
    call_put(tracing, lane->number);
    row_signed(to, tracing->job->number);
    row_signed(to, rank);
    row_count(to, lane->thread);
    row_word(to, call_table[kind].name);
    row_known(to, timed, lane->begin_ns);
    row_known(to, timed, clock_ns(run_reader_scale(run), call->end - event->begin));
    row_known(to, summary_tells_stalls(tracing->job->job->summary, kind),
              clock_ns(run_reader_scale(run), figures->stall_time));
    reference_put(to, comm_row);
    reference_put(to, path);
    call_fields_put(to, event, partner);
    row_count(to, figures->sent);
    row_count(to, figures->bytes_out);
    row_count(to, figures->received);
    row_count(to, figures->bytes_in);
    row_known(to, class == CLASS_COMPLETION && event->tag >= 0, (uint64_t)event->tag);
    row_known(to, class == CLASS_COMPLETION, event->peer > 0 ? (uint64_t)event->peer : 0);
    row_known(to, (class == CLASS_RMA || class == CLASS_IO) && event->tag > 0, (uint64_t)event->tag);
    row_known(to, lane->operation > 0, (uint64_t)tracing->job->last_collective + lane->operation);
    row_signed(to, (event->kind & EVENT_NESTED) != 0);
    row_signed(to, (event->kind & EVENT_FAILED) != 0);
    row_end(to);
    counters_put(tracing, lane);
}

/* ---- what the analysis finds ------------------------------------------------------------------------------------- */

static void message_watch(void *data, const struct message *message, const struct receive *receive)
{
    struct tracing *tracing = data;
    struct database *to = tracing->job->database;
    bool seen = receive->done_ns != UINT64_MAX;
    int64_t comm = comm_reference(tracing, message->envelope.comm);
    row_begin(to, TABLE_MESSAGES);
    row_signed(to, ++tracing->job->last_message);
    row_signed(to, tracing->job->number);
    reference_put(to, comm);
    row_signed(to, message->envelope.source);
    row_signed(to, message->envelope.dest);
    row_signed(to, message->envelope.tag);
    row_count(to, message->bytes);
    call_put(tracing, message->begun.call);
    call_put(tracing, receive->posted.call);
    call_put(tracing, seen ? receive->done_call : 0);
    row_count(to, message->begun.ns);
    row_count(to, receive->posted.ns);
    row_known(to, seen, receive->done_ns);
    row_end(to);
}

static void operation_watch(void *data, const struct gathering *gathering)
{
    struct tracing *tracing = data;
    struct database *to = tracing->job->database;
    const struct arrival *last = gathering_last(gathering);
    bool timed = tracing->analysis.untimed == 0;
    int64_t comm = comm_reference(tracing, gathering->comm);
    row_begin(to, TABLE_COLLECTIVES);
    row_count(to, (uint64_t)tracing->job->last_collective + gathering->number);
    row_signed(to, tracing->job->number);
    reference_put(to, comm);
    row_word(to, call_table[gathering->function].name);
    row_signed(to, (int64_t)gathering->size[0] + gathering->size[1]);
    row_signed(to, (int64_t)gathering->come[0] + gathering->come[1]);
    row_signed(to, gathering_is_complete(gathering) && !gathering->mixed);
    row_known(to, timed, gathering->first_ns);
    row_known(to, timed, last->moment.ns);
    row_known(to, timed && last->world_rank >= 0, (uint64_t)last->world_rank);
    row_known(to, timed, gathering->waited_ns);
    row_end(to);
}

static void wait_watch(void *data, const struct analysis_wait *wait)
{
    struct tracing *tracing = data;
    int64_t path = event_path_number(tracing, wait->place);
    int64_t comm = comm_reference(tracing, wait->comm);
    struct database *to = job_row_begin(tracing->job, TABLE_WAITS);
    row_word(to, pattern_texts[wait->pattern].key);
    row_signed(to, wait->rank);
    call_put(tracing, wait->call);
    row_word(to, call_table[wait->function].name);
    reference_put(to, comm);
    reference_put(to, path);
    row_count(to, wait->begin_ns);
    row_count(to, wait->ns);
    row_signed(to, wait->cause->world_rank);
    call_put(tracing, wait->cause->moment.call);
    row_end(to);
}

static int segments_fill(struct tracing *tracing)
{
    const struct segments *segments = &tracing->analysis.segments;
    struct keyed **sums = keytable_sorted(&segments->sums);
    const struct segment_pair **pairs = calloc(segments->pairs.count + 1, sizeof *pairs);
    for (size_t i = 0; pairs && i < segments->pairs.capacity; i++)
        for (struct keyed *keyed = segments->pairs.buckets[i]; keyed; keyed = keyed->next)
            pairs[((struct segment_pair *)keyed)->number] = (const struct segment_pair *)keyed;
    for (size_t i = 0; sums && pairs && i < segments->sums.count; i++) {
        const struct segment_sum *sum = (const struct segment_sum *)sums[i];
        const struct segment_pair *pair = pairs[sum->keyed.key[0]];
        int64_t from = event_path_number(tracing, (uint32_t)pair->keyed.key[0]);
        int64_t until = event_path_number(tracing, (uint32_t)pair->keyed.key[1]);
        if (!sum->count)
            continue;
        struct database *to = job_row_begin(tracing->job, TABLE_SEGMENTS);
        row_signed(to, from);
        row_signed(to, until);
        row_count(to, sum->keyed.key[1]);
        row_count(to, sum->count);
        row_count(to, sum->ns);
        row_known(to, tracing->analysis.has_path, sum->critical_ns);
        row_count(to, sum->blamed_ns);
        row_end(to);
    }
    int result = pairs && (sums || !segments->sums.count) ? 0 : -1;
    free(pairs);
    free(sums);
    return result;
}

/* ---- a job ------------------------------------------------------------------------------------------------------- */

static const enum database_table of_trace[] = {TABLE_CALLS, TABLE_MESSAGES, TABLE_COLLECTIVES,
                                               TABLE_WAITS, TABLE_SEGMENTS, TABLE_COUNTED};

static void no_trace_note(struct database_job *job, const char *why)
{
    for (size_t i = 0; i < sizeof of_trace / sizeof *of_trace; i++)
        database_note(job, of_trace[i], why);
}

/* A trace that was limited, or that was on for a part of the time, lacks calls. */
static void calls_missing_note(struct database_job *job, uint64_t traced)
{
    const struct summary *summary = job->job->summary;
    uint64_t counted = 0;
    char text[96];
    for (unsigned kind = 1; kind < CALL_COUNT; kind++)
        counted += summary->calls[kind].count;
    if (counted <= traced)
        return;
    snprintf(text, sizeof text, "%" PRIu64 " of %" PRIu64 " calls are not in the trace", counted - traced, counted);
    database_note(job, TABLE_CALLS, text);
}

/* The reasons why parts of a trace are not in the tables. */
static void notes_put(struct tracing *tracing)
{
    struct database_job *job = tracing->job;
    const struct analysis *analysis = &tracing->analysis;
    const struct otf2_report *report = &analysis->report;
    const char *unmatched = analysis_no_partners(analysis);
    for (size_t i = 0; i < report->warning_count && i < OTF2_WARNINGS_MAX; i++)
        database_note(job, DATABASE_TABLES, report->warnings[i]);
    calls_missing_note(job, analysis->calls);
    if (!analysis->has_messages)
        database_note(job, TABLE_MESSAGES, unmatched);
    if (!analysis->has_collectives)
        database_note(job, TABLE_COLLECTIVES, unmatched);
    if (analysis->untimed)
        database_note(job, TABLE_WAITS, "calls were not timed (mpit_timing)");
    if (!job->job->summary->counter_count)
        database_note(job, TABLE_COUNTED, "no counters were recorded: mpit-run --os or --papi EVENTS records some");
}

static int database_trace_read(struct tracing *tracing, char error[OUTPUT_ERROR_BYTES])
{
    static const struct selection all;
    const struct run_job *job = tracing->job->job;
    const struct analysis_watch watch = {.data = tracing,
                                         .call = call_watch,
                                         .message = message_watch,
                                         .operation = operation_watch,
                                         .wait = wait_watch};
    struct analysis *analysis = &tracing->analysis;
    int result = analysis_open_watched(analysis, job->files, job->file_count, &all, job->names, &watch);
    bool opened = analysis->places != NULL; /* else there is nothing to analyze */
    if (result != 0 && !opened) {
        no_trace_note(tracing->job, analysis->report.error);
        result = 0;
    } else if (result != 0) {
        snprintf(error, OUTPUT_ERROR_BYTES, "the trace cannot be analysed: %.400s", analysis->report.error);
    } else {
        notes_put(tracing);
        result = analysis->untimed ? 0 : segments_fill(tracing);
    }
    tracing->job->last_call += (int64_t)analysis->calls;
    tracing->job->last_collective += (int64_t)analysis->gatherings.made;
    analysis_release(analysis);
    return result;
}

int database_trace_fill(struct database_job *job, char error[OUTPUT_ERROR_BYTES])
{
    struct tracing tracing = {.job = job, .figures = call_figures_open()};
    int result = tracing.figures ? 0 : -1;
    if (result == 0 && !run_job_has_trace(job->job))
        no_trace_note(job, "the run has no trace: mpit-run --trace records every call");
    else if (result == 0)
        result = database_trace_read(&tracing, error);
    call_figures_close(tracing.figures);
    free(tracing.comms);
    return result;
}
