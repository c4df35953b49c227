#include "dump/eventlist.h"

#include "calls.h"
#include "report/callplaces.h"
#include "job/clockmessages.h"
#include "dump/eventcsv.h"
#include "dump/eventtext.h"
#include "job/timeline.h"

#include <stdlib.h>

/* One thread's stream. `next` is the next call to show, or NULL at its end. */
struct stream {
    const struct run_reader *file;
    uint32_t thread;
    struct event_cursor cursor;
    const struct event *next;
    int64_t next_ns;
    uint32_t path;               /* of the call that is shown */
    uint64_t gap;                /* events that are missing before it, */
    uint64_t gap_first, gap_end; /* among the records of this range */
    int64_t gap_ns;              /* the begin of the last call before them, or -1 for the start */
};

struct listing {
    FILE *out;
    const struct run_job *job;
    const struct selection *selection;
    size_t csv_job;     /* number of the job for comma-separated values, else 0 */
    uint64_t last;      /* show only this many records of each, without records from below MPI. 0: all */
    const bool *firsts; /* show only these files. NULL: all */
    struct timeline line;
    struct stream *streams;
    size_t count;
    struct stream **heap; /* streams with a next call, the earliest first */
    size_t waiting;
    struct text_columns columns;
    struct call_places *places; /* NULL: call paths are shown by their numbers */
};

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
    [RECORD_OFF_PROCESSOR - RECORD_FIRST] = "off processor",
};

/* With the last records only, records from below MPI are left out. A waiting thread polls without end, and the user
 * wants calls. */
static bool is_left_out(const struct listing *listing, const struct event *event)
{
    return listing->last && EVENT_KIND_IS_FABRIC(event_kind(event));
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

static struct csv_source stream_values(const struct listing *listing, const struct stream *stream)
{
    return (struct csv_source){listing->out,     &listing->line, stream->file,
                               listing->csv_job, stream->thread, stream->path};
}

static struct text_source stream_text(const struct listing *listing, const struct stream *stream)
{
    return (struct text_source){.out = listing->out,
                                .line = &listing->line,
                                .columns = &listing->columns,
                                .file = stream->file,
                                .thread = stream->thread,
                                .path = stream->path};
}

/* The same with the place of the stream's call, if places are shown. */
static struct text_source call_text(const struct listing *listing, const struct stream *stream,
                                    char place[CALL_PLACE_BYTES])
{
    struct text_source text = stream_text(listing, stream);
    if (listing->places)
        text.place =
            call_place_text(listing->places, call_place_find(listing->places, stream->file, stream->path), 0, place);
    return text;
}

/* Prints records that a bounded trace dropped or could not store. */
static void gap_print(const struct listing *listing, struct stream *stream)
{
    const struct run_gap gap = {
        .thread = stream->thread, .first = stream->gap_first, .end = stream->gap_end, .count = stream->gap};
    struct text_source source = stream_text(listing, stream);
    stream->gap = 0;
    if (!gap.count || listing->csv_job) /* in that format each thread has a line with its sum */
        return;
    stream_wake(listing, stream);
    eventtext_gap(&source, &gap, stream->next_ns, stream->gap_ns);
}

static void stream_take(const struct listing *listing, struct stream *stream)
{
    do /* the rest may begin in the middle of a call's records */
        stream->next = stream_read(stream);
    while (stream->next && !event_is_whole(stream->next));
    if (stream->next)
        stream->next_ns = timeline_ns(&listing->line, stream->file, stream->next->begin);
}

static void event_print(const struct listing *listing, const struct stream *stream, const struct event *event,
                        uint64_t call, const struct event_extension *more)
{
    unsigned kind = event_kind(event);
    char place[CALL_PLACE_BYTES];
    struct csv_source values = stream_values(listing, stream);
    struct text_source text = call_text(listing, stream, place);
    const char *record = event_is_whole(event) ? NULL : record_names[kind - RECORD_FIRST];
    if (listing->csv_job && !record)
        csv_call(&values, event, more);
    else if (listing->csv_job)
        csv_record(&values, record, event, call, more);
    else if (!record)
        eventtext_call(&text, event, stream->next_ns, more);
    else
        eventtext_record(&text, record, event, call, more);
}

/* Prints the stream's call and its records, and leaves the next call in the stream. */
static void stream_print(const struct listing *listing, struct stream *stream)
{
    const struct event *event = stream->next;
    uint64_t call = event ? event->begin : 0;
    gap_print(listing, stream);
    stream->gap_ns = stream->next_ns;
    stream->path = stream->cursor.path; /* reading on changes that */
    bool selected = true;
    while (event) {
        const struct event *behind = stream_read(stream);
        const struct event_extension *more = NULL;
        if ((event->kind & EVENT_WIDE) && behind && event_kind(behind) == RECORD_EXTENSION) {
            more = (const void *)behind;
            behind = stream_read(stream);
        }
        if (event_is_whole(event))
            selected = !is_left_out(listing, event) &&
                       selection_has_call(listing->selection, stream->file, event, stream->next_ns,
                                          stream->next_ns + selection_ns(stream->file, event, more));
        if (selected)
            event_print(listing, stream, event, call, more);
        while (behind && stream->gap && !event_is_whole(behind)) /* its call is missing */
            behind = stream_read(stream);
        if (!behind || event_is_whole(behind)) {
            stream->next = behind;
            break;
        }
        event = behind;
    }
    if (stream->next)
        stream->next_ns = timeline_ns(&listing->line, stream->file, stream->next->begin);
}

/* Among calls at the same time, the first process and thread come first. */
static bool stream_is_before(const struct stream *one, const struct stream *other)
{
    return one->next_ns != other->next_ns ? one->next_ns < other->next_ns : one < other;
}

/* Puts the stream in place `at` of the heap, or further down. */
static void stream_sink(struct listing *listing, size_t at, struct stream *stream)
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
        stream_sink(listing, i, listing->heap[i]);
}

static void streams_print(struct listing *listing)
{
    heap_make(listing);
    while (listing->waiting) {
        struct stream *stream = listing->heap[0];
        stream_wake(listing, stream);
        stream_print(listing, stream);
        if (stream->next)
            stream_sink(listing, 0, stream);
        else if (--listing->waiting)
            stream_sink(listing, 0, listing->heap[listing->waiting]);
    }
}

/* Moves to the last records to show. */
static void stream_skip(const struct listing *listing, struct stream *stream)
{
    enum { LOOK = 1 << 14 };
    struct event_cursor *cursor = &stream->cursor;
    uint64_t end = cursor->end, from = end > LOOK ? end - LOOK : 0, shown = 0;
    if (from)
        event_cursor_skip(cursor, from);
    for (const struct event *event; (event = event_cursor_next(cursor));)
        shown += !is_left_out(listing, event);
    event_cursor_close(cursor);
    event_cursor_open(cursor, stream->file, stream->thread);
    if (from)
        event_cursor_skip(cursor, from);
    while (shown > listing->last) {
        const struct event *event = event_cursor_next(cursor);
        if (!event)
            break;
        shown -= !is_left_out(listing, event);
    }
}

/* If only the last records are shown, then only of processes that did not reach their end. */
static bool file_is_shown(const struct listing *listing, size_t i)
{
    return (!listing->last || listing->job->files[i].header.phase != RUN_FINALIZED) &&
           (!listing->firsts || listing->firsts[i]);
}

static int streams_open(struct listing *listing)
{
    const struct run_job *job = listing->job;
    size_t most = 0;
    for (size_t i = 0; i < job->file_count; i++)
        most += file_is_shown(listing, i) ? job->files[i].thread_count : 0;
    listing->streams = calloc(most + 1, sizeof *listing->streams);
    listing->heap = calloc(most + 1, sizeof(struct stream *));
    if (!listing->streams || !listing->heap)
        return -1;
    for (size_t i = 0; i < job->file_count; i++) {
        if (!file_is_shown(listing, i))
            continue;
        const struct run_reader *file = run_job_file(job, i);
        for (uint32_t thread = 0; thread < file->thread_count; thread++) {
            struct stream *stream = &listing->streams[listing->count];
            *stream = (struct stream){.file = file, .thread = thread, .gap_ns = -1};
            event_cursor_open(&stream->cursor, stream->file, thread);
            if (listing->last)
                stream_skip(listing, stream);
            stream_take(listing, stream);
            listing->count++;
        }
        run_reader_rest(file);
    }
    return 0;
}

/* Prints where a process is, or where it was when it was killed. The live state shows this, because a call makes an
 * event only when it returns. */
static void unfinished_print(const struct listing *listing, struct stream *stream)
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
    stream->path = state.path;
    char place[CALL_PLACE_BYTES];
    struct csv_source values = stream_values(listing, stream);
    struct text_source text = call_text(listing, stream, place);
    if (listing->csv_job)
        csv_unfinished(&values, &event);
    else
        eventtext_unfinished(&text, &event);
}

static void missing_print(const struct listing *listing, const struct stream *stream)
{
    struct csv_source values = stream_values(listing, stream);
    struct text_source text = stream_text(listing, stream);
    if (listing->csv_job)
        csv_missing(&values, stream->cursor.missing);
    else
        eventtext_missing(&text, stream->cursor.missing);
}

static void columns_measure(struct listing *listing)
{
    for (size_t i = 0; i < listing->job->file_count; i++) {
        if (listing->firsts && !listing->firsts[i])
            continue;
        const struct run_reader *file = run_job_file(listing->job, i);
        eventtext_measure(&listing->columns, &listing->line, file);
        run_reader_rest(file);
    }
}

static int event_list_print(struct listing *listing)
{
    const struct run_job *job = listing->job;
    if (timeline_open(&listing->line, job->files, job->file_count, true) != 0 || timeline_refine(&listing->line) != 0 ||
        streams_open(listing) != 0) {
        timeline_release(&listing->line);
        free(listing->streams);
        free(listing->heap);
        return -1;
    }
    columns_measure(listing);
    if (!listing->csv_job)
        eventtext_head(listing->out, &listing->columns);
    streams_print(listing);
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

static int list_print(struct listing *listing)
{
    const struct run_job *job = listing->job;
    listing->columns = TEXT_COLUMNS_LEAST;
    if (!job->file_count)
        return 0;
    if (listing->last && !(listing->places = call_places_open(job->names)))
        return -1;
    int result = listing->places ? call_places_fill(listing->places, job->files, job->file_count) : 0;
    result = result == 0 ? event_list_print(listing) : result;
    call_places_close(listing->places);
    return result;
}

int events_print(const struct run_job *job, const struct selection *selection, size_t csv_job, FILE *out)
{
    struct listing listing = {.out = out, .job = job, .selection = selection, .csv_job = csv_job};
    return list_print(&listing);
}

int events_print_last(const struct run_job *job, const struct selection *selection, uint64_t records,
                      const bool *firsts, FILE *out)
{
    struct listing listing = {.out = out, .job = job, .selection = selection, .last = records};
    size_t count = 0;
    for (size_t i = 0; i < job->file_count; i++)
        count += job->files[i].header.phase != RUN_FINALIZED &&
                 selection_has_rank(selection, run_rank(&job->files[i].header));
    if (count > EVENTS_LAST_MOST) {
        listing.firsts = firsts;
        fprintf(out, "The last calls of the first process of each line above; --ranks LIST shows those of others:\n\n");
    }
    return list_print(&listing);
}
