#define _GNU_SOURCE
#include "eventlist.h"

#include "calls.h"
#include "clockmessages.h"
#include "counter.h"
#include "eventcsv.h"
#include "label.h"
#include "readergaps.h"
#include "timeline.h"
#include "units.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* One thread's stream; `next` is the call that it shows next, NULL at its end. */
struct stream {
    const struct run_reader *file;
    uint32_t thread;
    struct event_cursor cursor;
    const struct event *next;
    int64_t next_ns;
    uint64_t gap;                /* events that are missing before it, */
    uint64_t gap_first, gap_end; /* among those from here to there */
    int64_t gap_ns;              /* since when: the begin of the last call before them; -1: from the start */
};

struct listing {
    FILE *out;
    const struct run_job *job;
    const struct selection *selection;
    size_t csv_job; /* as comma-separated values: the number of the job; else 0 */
    struct timeline line;
    struct stream *streams;
    size_t count;
    struct stream **heap; /* those that have a next call, the earliest in front */
    size_t waiting;
    int seconds_columns, call_columns, comm_columns; /* as wide as what will stand there */
};

enum { SECONDS_COLUMNS_LEAST = 14, CALL_COLUMNS_LEAST = 22, COMM_COLUMNS_LEAST = 24 };

static const char *const record_names[RECORD_END - RECORD_FIRST] = {
    [RECORD_EXTENSION - RECORD_FIRST] = "extension",
    [RECORD_RECEIVE - RECORD_FIRST] = "received",
    [RECORD_SEND_POSTED - RECORD_FIRST] = "send begun",
    [RECORD_RECV_POSTED - RECORD_FIRST] = "receive begun",
    [RECORD_SEND_DONE - RECORD_FIRST] = "send done",
    [RECORD_RECV_DONE - RECORD_FIRST] = "receive done",
    [RECORD_COLL_DONE - RECORD_FIRST] = "collective done",
    [RECORD_COMM_DONE - RECORD_FIRST] = "communicator done",
    [RECORD_CANCELLED - RECORD_FIRST] = "cancelled",
    [RECORD_FREED - RECORD_FIRST] = "freed",
    [RECORD_CREATED - RECORD_FIRST] = "created",
    [RECORD_DESTROYED - RECORD_FIRST] = "destroyed",
    [RECORD_COLL_POSTED - RECORD_FIRST] = "collective begun",
    [RECORD_RMA_DONE - RECORD_FIRST] = "access done",
    [RECORD_IO_DONE - RECORD_FIRST] = "transfer done",
    [RECORD_HALF_DONE - RECORD_FIRST] = "send done",
    [RECORD_ARGUMENT - RECORD_FIRST] = "argument",
    [RECORD_STALL - RECORD_FIRST] = "stall",
    [RECORD_FABRIC - RECORD_FIRST] = "below",
    [RECORD_TRANSFERS - RECORD_FIRST] = "transfers",
    [RECORD_COUNTER - RECORD_FIRST] = "counter",
};

/* A call, or an event of an instrument: what is no part of another. */
static bool is_call(const struct event *event)
{
    return event_kind(event) < RECORD_FIRST || event_kind(event) >= RECORD_END;
}

/* The communicator that had the slot at that time. */
static const char *comm_name(char title[COMM_TITLE_BYTES], const struct run_reader *file, unsigned slot, uint64_t ticks)
{
    uint32_t number = run_reader_comm_at(file, slot, ticks);
    return number ? comm_title(title, file->comms[number]->name, file->comms[number]->label) : "-";
}

static const char *peer_text(char text[UNIT_TEXT_BYTES], int32_t peer)
{
    switch (peer) {
    case PEER_NONE:
        return "-";
    case PEER_PROC_NULL:
        return "none";
    case PEER_ANY:
        return "any";
    case PEER_ROOT:
        return "root";
    default:
        snprintf(text, UNIT_TEXT_BYTES, "%" PRId32, peer);
        return text;
    }
}

static const char *rank_text(char text[UNIT_TEXT_BYTES], const struct run_reader *file)
{
    if (file->header.world_rank < 0 || file->header.world_size <= 0)
        return "-"; /* ended before it got one */
    snprintf(text, UNIT_TEXT_BYTES, "%" PRId32, file->header.world_rank);
    return text;
}

static const char *tag_text(char text[UNIT_TEXT_BYTES], int32_t tag)
{
    if (tag == TAG_ANY)
        return "any";
    snprintf(text, UNIT_TEXT_BYTES, "%" PRId32, tag);
    return text;
}

/* Of a call that was not timed nobody knows how long it took. One that was took some ticks; but for a few, as counters
 * go in steps of up to 10 ns, so that these cannot be told apart where not all were timed. */
static const char *duration_text(char text[UNIT_TEXT_BYTES], const struct run_reader *file, uint64_t ticks)
{
    bool untimed = file->header.sampling != 1 || file->header.sampling_changed;
    return ticks || !untimed ? text_of_ns(text, clock_ns(run_reader_scale(file), ticks)) : "-";
}

/* Behind the call's name: what its class gives a meaning to. `ticks`: when it had its communicator. */
static void fields_print(const struct listing *listing, const struct run_reader *file, const struct event *event,
                         uint64_t ticks, unsigned class, const struct event_extension *more)
{
    char peer[UNIT_TEXT_BYTES], tag[UNIT_TEXT_BYTES];
    FILE *out = listing->out;
    int columns = listing->comm_columns;
    char title[COMM_TITLE_BYTES];
    const char *comm = comm_name(title, file, event->comm, ticks);
    uint64_t bytes_out = more ? more->bytes_out : (uint32_t)event->tag;
    switch (class) {
    case CLASS_P2P:
        fprintf(out, " %-*s %6s %10s %12" PRIu64, columns, comm, peer_text(peer, event->peer),
                tag_text(tag, event->tag), event->bytes);
        break;
    case CLASS_COLLECTIVE:
        fprintf(out, " %-*s %6s %10s %12" PRIu64 " out %" PRIu64, columns, comm, peer_text(peer, event->peer), "-",
                event->bytes, bytes_out);
        break;
    case CLASS_COMPLETION:
        fprintf(out, " %-*s %6s %10s %12s completed %" PRId32 " of %" PRId32, columns, comm, "-", "-", "-",
                event->peer > 0 ? event->peer : 0, event->tag);
        break;
    default:
        fprintf(out, " %-*s %6s %10s %12s", columns, comm, "-", "-", "-");
    }
    if (event->kind & EVENT_FAILED)
        fputs(" failed", out);
    if (event->kind & EVENT_NESTED)
        fputs(" nested", out);
    if (class == CLASS_RMA && event_op_name(event))
        fprintf(out, " %s", event_op_name(event));
    fputc('\n', out);
}

/* The same of a library below MPI. */
static const char *fabric_text(const struct run_reader *file, const struct event *event, char *detail, size_t size)
{
    const char *provider = run_reader_provider(file, (uint32_t)event->peer);
    unsigned kind = event_kind(event), function = (uint32_t)event->tag % FABRIC_FUNCTION_COUNT;
    char a[UNIT_TEXT_BYTES], b[UNIT_TEXT_BYTES];
    provider = provider ? provider : "?";
    switch (kind) {
    case EVENT_FABRIC:
        snprintf(detail, size, "%s  %s%s%s%s", provider, text_of_bytes(a, event->bytes),
                 event->kind & EVENT_PENDING ? ", pending" : "", event->kind & EVENT_FAILED ? ", refused" : "",
                 event->kind & EVENT_NESTED ? ", in a poll" : "");
        return fabric_table[function].name;
    case EVENT_FABRIC_AGAIN:
        snprintf(detail, size, "%s  %s: %" PRIu32 " times, in %s", provider, fabric_table[function].name,
                 event->duration, text_of_ns(a, clock_ns(run_reader_scale(file), event->bytes)));
        return "try again";
    case EVENT_FABRIC_DONE:
        snprintf(detail, size, "%s  %" PRIu32 " operations%s%s%s", provider, event->duration, event->tag ? ", " : "",
                 event->tag ? text_of_count(a, (uint32_t)event->tag) : "", event->tag ? " with an error" : "");
        return "completed";
    default:
        snprintf(detail, size, "%s  %" PRIu32 ", %s of them in vain, in %s", provider, event->duration,
                 text_of_count(a, (uint32_t)event->tag), text_of_ns(b, clock_ns(run_reader_scale(file), event->bytes)));
        return "polls";
    }
}

/* What the kind of event is called, and behind it in `detail` what the instrument says. */
static const char *instrument_text(const struct run_reader *file, const struct event *event, char *detail, size_t size)
{
    const struct instrument_record *record = run_reader_instrument(file, (uint32_t)event->peer);
    unsigned kind = event_kind(event);
    uint32_t element = event->duration;
    detail[0] = '\0';
    if (EVENT_KIND_IS_FABRIC(kind))
        return fabric_text(file, event, detail, size);
    if (kind == EVENT_SWITCHED)
        return event->peer ? "recording on" : "recording off";
    if (kind == EVENT_PASSED) {
        snprintf(detail, size, "a completion call that is not recorded");
        return "passed";
    }
    if (!record || (kind != EVENT_REGION && kind != EVENT_METRIC))
        return "unknown record";
    if (kind == EVENT_REGION) {
        snprintf(detail, size, "%s%s", record->name, event->kind & EVENT_NESTED ? " nested" : "");
        return "region";
    }
    char value[UNIT_TEXT_BYTES], place[INSTRUMENT_NAME_BYTES + 2] = "";
    const char *item = run_reader_item(file, record, record->count > 1 ? (int64_t)element : (int64_t)event->bytes);
    if (record->count > 1)
        item ? snprintf(place, sizeof place, "[%s]", item) : snprintf(place, sizeof place, "[%" PRIu32 "]", element);
    text_of_number(value, record->type, event->bytes);
    snprintf(detail, size, "%s%s = %s%s%s%s%s", record->name, place, value, record->unit[0] ? " " : "", record->unit,
             record->count == 1 && item ? " " : "", record->count == 1 && item ? item : "");
    return "metric";
}

static void call_print(const struct listing *listing, const struct stream *stream, const struct event *event,
                       const struct event_extension *more)
{
    char duration[UNIT_TEXT_BYTES];
    const struct run_reader *file = stream->file;
    unsigned kind = event_kind(event);
    bool metric = kind >= RECORD_END && kind != EVENT_REGION && kind != EVENT_FABRIC; /* an instant */
    uint64_t ticks = metric ? 0 : event_duration(event, more);
    char rank[UNIT_TEXT_BYTES];
    if (kind >= RECORD_END) {
        char detail[INSTRUMENT_TEXT_BYTES + INSTRUMENT_NAME_BYTES];
        char title[COMM_TITLE_BYTES];
        const char *what = instrument_text(file, event, detail, sizeof detail);
        text_tidy(detail, sizeof detail);
        fprintf(listing->out, "%5s %3" PRIu32 " %*.9f %9s  %-*s %-*s %s\n", rank_text(rank, file), stream->thread,
                listing->seconds_columns, (double)stream->next_ns * 1e-9,
                metric ? "" : duration_text(duration, file, ticks), listing->call_columns, what, listing->comm_columns,
                comm_name(title, file, event->comm, event->begin), detail);
        return;
    }
    fprintf(listing->out, "%5s %3" PRIu32 " %*.9f %9s  %-*s", rank_text(rank, file), stream->thread,
            listing->seconds_columns, (double)stream->next_ns * 1e-9, duration_text(duration, file, ticks),
            listing->call_columns, run_reader_call_name(file, kind));
    fields_print(listing, file, event, event->begin, kind < file->call_count ? file->calls[kind].class : CLASS_OTHER,
                 more);
}

/* `call`: when the call began that the record belongs to. A request that was not timed when it was posted has no begin,
 * but had its communicator, and kept it, when the call began that completed it. */
static void record_print(const struct listing *listing, const struct stream *stream, const struct event *event,
                         uint64_t call, const struct event_extension *more)
{
    uint64_t ticks = event->begin ? event->begin : call;
    unsigned kind = event_kind(event);
    const struct run_reader *file = stream->file;
    char title[COMM_TITLE_BYTES], parent[COMM_TITLE_BYTES], duration[UNIT_TEXT_BYTES];
    const char *name = kind < RECORD_END ? record_names[kind - RECORD_FIRST] : "unknown record";
    fprintf(listing->out, "%5s %3s %*s %9s  + %-*s", "", "", listing->seconds_columns, "", "",
            listing->call_columns - 2, name);
    switch (kind) {
    case RECORD_DESTROYED:
        fprintf(listing->out, " %s\n", comm_name(title, file, event->comm, event->begin));
        return;
    case RECORD_CREATED:
        fprintf(listing->out, " %-*s from %s\n", listing->comm_columns,
                comm_name(title, file, event->comm, event->begin),
                comm_name(parent, file, event->peer > 0 ? (unsigned)event->peer : 0, event->begin));
        return;
    case RECORD_COLL_POSTED:
    case RECORD_COLL_DONE:
        fields_print(listing, file, event, ticks, CLASS_COLLECTIVE, more);
        break;
    case RECORD_COMM_DONE:
        fields_print(listing, file, event, ticks, CLASS_COMMUNICATOR, more);
        break;
    case RECORD_COUNTER:
        fprintf(listing->out, " %s %" PRIu64 ", before the call %" PRIu64 "\n",
                run_reader_counter_name(file, counter_of(event)), event->bytes, counter_outside(event));
        return;
    case RECORD_ARGUMENT: /* of a seek it may be one backwards */
        fprintf(listing->out, " %-*s %6s %10" PRId32 " %12" PRId64 "\n", listing->comm_columns,
                comm_name(title, file, event->comm, ticks), peer_text(parent, event->peer), event->tag,
                (int64_t)event->bytes);
        return;
    case RECORD_STALL:
        fprintf(listing->out, " %s", duration_text(duration, file, event->bytes));
        if (event->tag > 1)
            fprintf(listing->out, ", in %" PRId32 " pieces", event->tag);
        fputc('\n', listing->out);
        return;
    case RECORD_FABRIC:
        fprintf(listing->out, " %s", duration_text(duration, file, event->bytes));
        if (event->tag)
            fprintf(listing->out, "; %" PRId32 " operations of another call", event->tag);
        fputc('\n', listing->out);
        return;
    case RECORD_TRANSFERS:
        fprintf(listing->out, " %s, %" PRId32 " of them\n", duration_text(duration, file, event->bytes), event->tag);
        return;
    default:
        fields_print(listing, file, event, ticks, CLASS_P2P, more);
    }
    if ((kind < RECORD_SEND_DONE || kind > RECORD_FREED) && kind != RECORD_HALF_DONE)
        return;
    if (!event->begin) { /* its posting was not timed */
        fprintf(listing->out, "%*s  posted by %s\n", listing->seconds_columns + 24, "",
                run_reader_call_name(file, event->duration));
        return;
    }
    fprintf(listing->out, "%*s  posted at %.9f by %s\n", listing->seconds_columns + 24, "",
            (double)timeline_ns(&listing->line, file, event->begin) * 1e-9,
            run_reader_call_name(file, event->duration));
}

/* A job may have more files than can be mapped at once. */
static void stream_wake(const struct listing *listing, const struct stream *stream)
{
    run_job_file(listing->job, (size_t)(stream->file - listing->job->files));
}

static const struct event *stream_read(struct stream *stream)
{
    const struct event *event = event_cursor_next(&stream->cursor);
    if (event && stream->cursor.gap) {
        stream->gap_end = stream->cursor.next - 1;
        stream->gap_first = stream->gap ? stream->gap_first : stream->gap_end - stream->cursor.gap;
        stream->gap += stream->cursor.gap;
    }
    return event;
}

/* What a bounded trace did not keep, or could not. */
static void gap_print(const struct listing *listing, struct stream *stream)
{
    char rank[UNIT_TEXT_BYTES], cause[GAP_CAUSE_BYTES];
    if (!stream->gap || listing->csv_job) /* there each thread has a line with its sum */
        return;
    fprintf(listing->out, "%5s %3" PRIu32 " %*.9f %9s  ", rank_text(rank, stream->file), stream->thread,
            listing->seconds_columns, (double)stream->next_ns * 1e-9, "");
    if (stream->gap_ns >= 0)
        fprintf(listing->out, "(since %.9f)", (double)stream->gap_ns * 1e-9);
    else
        fprintf(listing->out, "(from the start)");
    struct run_gap gap = {
        .thread = stream->thread, .first = stream->gap_first, .end = stream->gap_end, .count = stream->gap};
    run_gap_cause(run_job_file(listing->job, (size_t)(stream->file - listing->job->files)), &gap, cause);
    fprintf(listing->out, " %" PRIu64 " events are missing here (%s)\n", stream->gap, cause);
    stream->gap = 0;
}

static void stream_take(const struct listing *listing, struct stream *stream)
{
    do /* what is left may begin in the middle of a call's records */
        stream->next = stream_read(stream);
    while (stream->next && !is_call(stream->next));
    if (stream->next)
        stream->next_ns = timeline_ns(&listing->line, stream->file, stream->next->begin);
}

/* How long it took; a metric is an instant, and has something else in that place. */
static int64_t call_ns(const struct run_reader *file, const struct event *event, const struct event_extension *more)
{
    unsigned kind = event_kind(event);
    bool lasts = kind < RECORD_END || kind == EVENT_REGION || kind == EVENT_FABRIC;
    return lasts ? (int64_t)clock_ns(run_reader_scale(file), event_duration(event, more)) : 0;
}

static struct csv_source stream_source(const struct listing *listing, const struct stream *stream)
{
    return (struct csv_source){listing->out, &listing->line, stream->file, listing->csv_job, stream->thread};
}

static void event_print(const struct listing *listing, const struct stream *stream, const struct event *event,
                        uint64_t call, const struct event_extension *more)
{
    unsigned kind = event_kind(event);
    struct csv_source source = stream_source(listing, stream);
    if (listing->csv_job && is_call(event))
        csv_call(&source, event, more);
    else if (listing->csv_job)
        csv_record(&source, kind < RECORD_END ? record_names[kind - RECORD_FIRST] : "unknown record", event, call,
                   more);
    else if (is_call(event))
        call_print(listing, stream, event, more);
    else
        record_print(listing, stream, event, call, more);
}

/* Prints the stream's call and its records, and leaves the next call in the stream. */
static void stream_print(const struct listing *listing, struct stream *stream)
{
    const struct event *event = stream->next;
    uint64_t call = event ? event->begin : 0;
    gap_print(listing, stream);
    stream->gap_ns = stream->next_ns;
    bool selected = true;
    while (event) {
        const struct event *behind = stream_read(stream);
        const struct event_extension *more = NULL;
        if ((event->kind & EVENT_WIDE) && behind && event_kind(behind) == RECORD_EXTENSION) {
            more = (const void *)behind;
            behind = stream_read(stream);
        }
        if (is_call(event))
            selected = selection_has_call(listing->selection, stream->file, event, stream->next_ns,
                                          stream->next_ns + call_ns(stream->file, event, more));
        if (selected)
            event_print(listing, stream, event, call, more);
        while (behind && stream->gap && !is_call(behind)) /* its call is missing */
            behind = stream_read(stream);
        if (!behind || is_call(behind)) {
            stream->next = behind;
            break;
        }
        event = behind;
    }
    if (stream->next)
        stream->next_ns = timeline_ns(&listing->line, stream->file, stream->next->begin);
}

/* Of calls at the same time, that of the first process and thread. */
static bool stream_is_before(const struct stream *one, const struct stream *other)
{
    return one->next_ns != other->next_ns ? one->next_ns < other->next_ns : one < other;
}

/* Puts the stream in place `at` of the heap, where there is room, or further down. */
static void heap_sink(struct listing *listing, size_t at, struct stream *stream)
{
    struct stream **heap = listing->heap;
    for (size_t child; (child = 2 * at + 1) < listing->waiting; at = child) {
        if (child + 1 < listing->waiting && stream_is_before(heap[child + 1], heap[child]))
            child++;
        if (stream_is_before(stream, heap[child]))
            break;
        heap[at] = heap[child];
    }
    heap[at] = stream;
}

static void heap_make(struct listing *listing)
{
    for (size_t i = 0; i < listing->count; i++)
        if (listing->streams[i].next)
            listing->heap[listing->waiting++] = &listing->streams[i];
    for (size_t i = listing->waiting / 2; i-- > 0;)
        heap_sink(listing, i, listing->heap[i]);
}

static void calls_print(struct listing *listing)
{
    heap_make(listing);
    while (listing->waiting) {
        struct stream *stream = listing->heap[0];
        stream_wake(listing, stream);
        stream_print(listing, stream);
        if (stream->next)
            heap_sink(listing, 0, stream);
        else if (--listing->waiting)
            heap_sink(listing, 0, listing->heap[listing->waiting]);
    }
}

/* `last`: only so many records of each, and of processes that did not come to their end; 0: all. */
static int streams_open(struct listing *listing, uint64_t last)
{
    const struct run_job *job = listing->job;
    size_t most = 0;
    for (size_t i = 0; i < job->file_count; i++)
        most += job->files[i].thread_count;
    listing->streams = calloc(most + 1, sizeof *listing->streams);
    listing->heap = calloc(most + 1, sizeof(struct stream *));
    if (!listing->streams || !listing->heap)
        return -1;
    for (size_t i = 0; i < job->file_count; i++) {
        const struct run_reader *file = run_job_file(job, i);
        for (uint32_t thread = 0; thread < file->thread_count; thread++) {
            if (last && file->header.phase == RUN_FINALIZED)
                continue;
            struct stream *stream = &listing->streams[listing->count];
            *stream = (struct stream){.file = file, .thread = thread, .gap_ns = -1};
            event_cursor_open(&stream->cursor, stream->file, thread);
            if (last && stream->cursor.end > last)
                event_cursor_skip(&stream->cursor, stream->cursor.end - last);
            stream_take(listing, stream);
            listing->count++;
        }
        run_reader_rest(file);
    }
    return 0;
}

/* Where a process is, or was when it was killed: its thread's state tells, for a call that returns makes an event. */
static void unfinished_print(const struct listing *listing, const struct stream *stream)
{
    const struct run_reader *file = stream->file;
    const struct thread_record *record = file->threads[stream->thread];
    struct thread_state state = record ? record->state : (struct thread_state){0};
    if (run_phase_is_end(file->header.phase) || state.call == CALL_NONE)
        return;
    const struct event event = {
        .begin = state.since, .kind = (uint16_t)state.call, .comm = (uint16_t)state.comm, .peer = state.peer};
    int64_t since_ns = state.since ? timeline_ns(&listing->line, file, state.since) : 0;
    if (!selection_has_call(listing->selection, file, &event, since_ns, INT64_MAX))
        return;
    if (listing->csv_job) {
        struct csv_source source = stream_source(listing, stream);
        csv_unfinished(&source, &event);
        return;
    }
    char peer[UNIT_TEXT_BYTES], rank[UNIT_TEXT_BYTES], title[COMM_TITLE_BYTES];
    char since[UNIT_TEXT_BYTES] = "-"; /* a call that is not timed */
    if (state.since)
        snprintf(since, sizeof since, "%.9f", (double)timeline_ns(&listing->line, file, state.since) * 1e-9);
    fprintf(listing->out, "%5s %3" PRIu32 " %*s %9s  %-*s %-*s %6s %10s %12s has not returned\n", rank_text(rank, file),
            stream->thread, listing->seconds_columns, since, "-", listing->call_columns,
            run_reader_call_name(file, state.call), listing->comm_columns,
            comm_name(title, file, state.comm, state.since), peer_text(peer, state.peer), "-", "-");
}

static void columns_widen(int *columns, size_t bytes)
{
    if (bytes > (size_t)*columns)
        *columns = (int)bytes;
}

/* Names stand in full: it is the end of one that tells it from others, or its middle. */
static void columns_measure(struct listing *listing, const struct run_job *job)
{
    char seconds[UNIT_TEXT_BYTES * 2];
    for (size_t i = 0; i < job->file_count; i++) {
        const struct run_reader *file = run_job_file(job, i);
        char title[COMM_TITLE_BYTES];
        for (size_t number = 0; number < file->comm_count; number++)
            if (file->comms[number])
                columns_widen(&listing->comm_columns,
                              strlen(comm_title(title, file->comms[number]->name, file->comms[number]->label)));
        for (unsigned kind = 1; kind < file->call_count; kind++)
            columns_widen(&listing->call_columns, strlen(run_reader_call_name(file, kind)));
        uint64_t end = file->header.end_ticks;
        int length =
            end ? snprintf(seconds, sizeof seconds, "%.9f", (double)timeline_ns(&listing->line, file, end) * 1e-9) : 0;
        columns_widen(&listing->seconds_columns, length > 0 ? (size_t)length : 0);
        run_reader_rest(file);
    }
}

static void missing_print(const struct listing *listing, const struct stream *stream)
{
    struct csv_source source = stream_source(listing, stream);
    if (listing->csv_job)
        csv_missing(&source, stream->cursor.missing);
    else
        fprintf(listing->out, "%5" PRId32 " %3" PRIu32 " %" PRIu64 " records were not kept\n",
                stream->file->header.world_rank, stream->thread, stream->cursor.missing);
}

/* `last`: as for streams_open. */
static int listing_print(struct listing *listing, uint64_t last)
{
    const struct run_job *job = listing->job;
    FILE *out = listing->out;
    if (timeline_open(&listing->line, job->files, job->file_count, true) != 0 || timeline_refine(&listing->line) != 0 ||
        streams_open(listing, last) != 0) {
        timeline_release(&listing->line);
        free(listing->streams);
        free(listing->heap);
        return -1;
    }
    columns_measure(listing, job);
    if (!listing->csv_job)
        fprintf(out, "%5s %3s %*s %9s  %-*s %-*s %6s %10s %12s\n", "rank", "thr", listing->seconds_columns, "seconds",
                "time", listing->call_columns, "call", listing->comm_columns, "communicator", "peer", "tag", "bytes");
    calls_print(listing);
    for (size_t i = 0; i < listing->count; i++) {
        stream_wake(listing, &listing->streams[i]);
        unfinished_print(listing, &listing->streams[i]);
    }
    for (size_t i = 0; i < listing->count; i++)
        if (listing->streams[i].cursor.missing &&
            selection_has_rank(listing->selection, listing->streams[i].file->header.world_rank))
            missing_print(listing, &listing->streams[i]);
    for (size_t i = 0; i < listing->count; i++)
        event_cursor_close(&listing->streams[i].cursor);
    free(listing->streams);
    free(listing->heap);
    timeline_release(&listing->line);
    return 0;
}

static int list_print(const struct run_job *job, const struct selection *selection, size_t csv_job, uint64_t last,
                      FILE *out)
{
    struct listing listing = {.out = out,
                              .job = job,
                              .selection = selection,
                              .csv_job = csv_job,
                              .seconds_columns = SECONDS_COLUMNS_LEAST,
                              .call_columns = CALL_COLUMNS_LEAST,
                              .comm_columns = COMM_COLUMNS_LEAST};
    return job->file_count ? listing_print(&listing, last) : 0;
}

int events_print(const struct run_job *job, const struct selection *selection, size_t csv_job, FILE *out)
{
    return list_print(job, selection, csv_job, 0, out);
}

int events_print_last(const struct run_job *job, const struct selection *selection, uint64_t records, FILE *out)
{
    return list_print(job, selection, 0, records, out);
}
