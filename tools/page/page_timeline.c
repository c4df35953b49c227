/*
 * The states of the ranks, in bins of time.
 *
 *   calls of a thread ──> outermost ones ──> row: time of each state in each bin ──> shares of 0 to 255
 *
 * A row is a rank with all its threads. In a large job it is a group of neighbor ranks. Time that is not in the trace
 * has no state: before a thread's first call, after a gap, and while the recording was off. Shares refer to the
 * recorded time. The trace does not say when in its call a stall was. A stall is spread evenly from its begin to the
 * end of the call.
 */
#include "page/page.h"
#include "page/page_calls.h"

#include "calls.h"
#include "trace/callstream.h"
#include "trace/tracejob.h"
#include "reader/readergaps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STATE_STALL = CLASS_COUNT, STATE_NOT_IN_MPI, STATE_RECORDED, STATES };

static const char *state_key(unsigned state)
{
    static const char *const keys[STATES] = {
        [STATE_STALL] = "stall", [STATE_NOT_IN_MPI] = "not_in_mpi", [STATE_RECORDED] = "recorded"};
    return state < CLASS_COUNT ? page_class_key(state) : keys[state];
}

struct binned_row {
    double ns[STATES][PAGE_BINS];
    double totals[STATES];
};

struct binning {
    struct trace_job job;
    struct otf2_report *report;
    const struct selection *selection; /* of ranks */
    struct page_rows rows;
    size_t bins;
    double bin_ns;
    uint64_t end_ns;
    struct binned_row row; /* the one in progress */
    uint64_t untimed;      /* calls */
    struct page_calls calls;
    uint32_t *places; /* by path, of the rank in progress. NULL: it has none */
};

/* A thread in progress. */
struct binned_thread {
    struct binning *binning;
    const struct trace_rank *rank;
    struct call_stream stream;
    uint64_t since_ns;                   /* its activity is known from then on, */
    bool off;                            /* or never known */
    uint64_t stall_ticks;                /* of the outermost call that has not returned yet, and calls inside of it */
    uint64_t stall_begin;                /* ticks, of the first of them */
    const struct run_gaps *gaps;         /* of the process, */
    size_t gap;                          /* and which of them is next */
    const struct trace_stretch *stretch; /* for a trace that was switched: of the last call */
};

/* Adds `part` (0 to 1) of the time from begin to end. */
static void span_add(struct binning *binning, unsigned state, double begin, double end, double part)
{
    double width = binning->bin_ns, limit = width * (double)binning->bins;
    struct binned_row *row = &binning->row;
    end = end < limit ? end : limit;
    if (!(begin < end))
        return;
    row->totals[state] += (end - begin) * part;
    size_t bin = (size_t)(begin / width);
    for (; bin < binning->bins && begin < end; bin++) {
        double edge = width * (double)(bin + 1), to = edge < end ? edge : end;
        if (to > begin)
            row->ns[state][bin] += (to - begin) * part;
        begin = to > begin ? to : begin;
    }
}

static uint64_t thread_time(const struct binned_thread *thread, uint64_t ticks)
{
    return trace_time(&thread->binning->job, thread->rank, ticks);
}

/* The thread's activity is known until then. */
static void known_end(struct binned_thread *thread, uint64_t ns)
{
    if (!thread->off)
        span_add(thread->binning, STATE_RECORDED, (double)thread->since_ns, (double)ns, 1);
    thread->off = true;
}

static void known_begin(struct binned_thread *thread, uint64_t ns)
{
    thread->since_ns = ns;
    thread->off = false;
}

static void stalls_collect(struct binned_thread *thread, const struct traced_call *call)
{
    for (size_t i = 0; i < call->part_count; i++) {
        const struct event *part = &call->parts[i].event;
        if (event_kind(part) != RECORD_STALL)
            continue;
        if (!thread->stall_ticks || part->begin < thread->stall_begin)
            thread->stall_begin = part->begin;
        thread->stall_ticks += part->bytes;
    }
}

/* Keeps the call by itself if it is long. */
static void call_keep(const struct binned_thread *thread, uint32_t index, const struct traced_call *call,
                      uint64_t stall_ns)
{
    struct binning *binning = thread->binning;
    const struct run_reader *run = thread->rank->run;
    uint64_t ticks = call->end > call->event.begin ? call->end - call->event.begin : 0;
    if (event_kind(&call->event) == CALL_NONE) /* of a damaged file */
        return;
    page_calls_add(
        &binning->calls,
        &(struct page_call){.begin_ns = thread_time(thread, call->event.begin),
                            .ns = clock_ns(run_reader_scale(run), ticks),
                            .stall_ns = stall_ns,
                            .rank = (uint32_t)run->header.world_rank,
                            .thread = index,
                            .place = binning->places && call->path < run->path_count ? binning->places[call->path] : 0,
                            .kind = event_kind(&call->event)});
}

/* Start and end of MPI are one state: their stalls are not shown. */
static void call_add(struct binned_thread *thread, uint32_t index, const struct traced_call *call)
{
    struct binning *binning = thread->binning;
    const struct event *event = &call->event;
    unsigned state = call_table[event_kind(event)].class;
    if (call_is_end(event_kind(event)))
        thread->stall_ticks = 0;
    double begin = (double)thread_time(thread, event->begin), end = (double)thread_time(thread, call->end);
    uint64_t stalled = thread->stall_ticks;
    double from = stalled ? (double)thread_time(thread, thread->stall_begin) : end;
    from = from > begin ? from : begin;
    double length = end - from;
    double stall = stalled ? (double)clock_ns(run_reader_scale(thread->rank->run), stalled) : 0;
    double part = stall <= 0 || length <= 0 ? 0 : stall < length ? stall / length : 1;
    span_add(binning, state, begin, from < end ? from : end, 1);
    if (part < 1)
        span_add(binning, state, from, end, 1 - part);
    if (part > 0)
        span_add(binning, STATE_STALL, from, end, part);
    call_keep(thread, index, call, (uint64_t)stall);
    thread->stall_ticks = 0;
}

static const struct trace_stretch *stretch_at(const struct run_reader *run, uint64_t ticks)
{
    for (size_t i = 0; i < run->stretch_count; i++)
        if (run->stretches[i]->begin_ticks <= ticks && ticks < run->stretches[i]->end_ticks)
            return run->stretches[i];
    return NULL;
}

/* The activity in gaps that end before `ticks` is not known. */
static void gaps_pass(struct binned_thread *thread, uint32_t index, uint64_t ticks)
{
    for (; thread->gap < thread->gaps->count; thread->gap++) {
        const struct run_gap *gap = &thread->gaps->list[thread->gap];
        if (gap->thread > index || (gap->thread == index && gap->end_ticks > ticks))
            return;
        if (gap->thread < index)
            continue;
        known_end(thread, thread_time(thread, gap->begin_ticks));
        known_begin(thread, thread_time(thread, gap->end_ticks));
    }
}

/* For a trace that was switched: the activity between its recorded parts is not known. */
static void stretches_pass(struct binned_thread *thread, const struct traced_call *call)
{
    const struct run_header *header = &thread->rank->run->header;
    const struct trace_stretch *stretch = stretch_at(thread->rank->run, call->event.begin);
    if (!stretch || stretch == thread->stretch)
        return;
    if (thread->stretch)
        known_end(thread, thread_time(thread, thread->stretch->end_ticks));
    known_begin(thread, thread_time(thread, stretch->begin_ticks > header->begin_ticks ? stretch->begin_ticks
                                                                                       : header->begin_ticks));
    thread->stretch = stretch;
}

static void mark_take(struct binned_thread *thread, const struct event *mark)
{
    if (event_kind(mark) != EVENT_SWITCHED)
        return;
    if (mark->peer)
        known_begin(thread, thread_time(thread, mark->begin));
    else
        known_end(thread, thread_time(thread, mark->begin));
}

static int thread_calls_bin(struct binned_thread *thread, uint32_t index)
{
    const struct run_reader *run = thread->rank->run;
    const struct thread_record *record = run->threads[index];
    struct traced_call call = {0};
    uint64_t last_end = 0;
    int got;
    call_stream_open(&thread->stream, run, index, thread->rank->written[index], false);
    bool first = index == trace_rank_first_thread(thread->rank);
    bool in_part = run->header.traced == TRACED_IN_PART;
    thread->off = in_part;
    thread->since_ns = last_end = thread_time(thread, first ? run->header.begin_ticks : record->begin_ticks);
    while ((got = call_stream_next(&thread->stream, &call)) > 0) {
        if (call_is_mark(&call)) {
            mark_take(thread, &call.event);
            continue;
        }
        if (call.event.begin == 0) {
            thread->binning->untimed++;
            continue;
        }
        stalls_collect(thread, &call);
        if (call.event.kind & EVENT_NESTED)
            continue;
        gaps_pass(thread, index, call.event.begin);
        if (in_part)
            stretches_pass(thread, &call);
        call_add(thread, index, &call);
        last_end = thread_time(thread, call.end);
    }
    gaps_pass(thread, index, UINT64_MAX);
    uint64_t end = record->end_ticks     ? thread_time(thread, record->end_ticks)
                   : thread->rank->ended ? thread_time(thread, run->header.end_ticks)
                                         : last_end;
    if (in_part && thread->stretch && thread->stretch->end_ticks != UINT64_MAX)
        end = thread_time(thread, thread->stretch->end_ticks);
    known_end(thread, end);
    call_stream_close(&thread->stream);
    free(call.parts);
    return got < 0 ? report_no_memory(thread->binning->report) : 0;
}

static int rank_walk(struct binning *binning, int32_t world_rank)
{
    const struct trace_rank *rank = &binning->job.ranks[world_rank];
    if (!rank->run || !selection_has_rank(binning->selection, world_rank))
        return 0;
    if (trace_run_wake(rank->run, binning->report) != 0)
        return -1;
    struct run_gaps gaps = {NULL, 0};
    uint64_t missing = 0;
    for (uint32_t index = 0; index < rank->run->thread_count; index++)
        missing += rank->run->threads[index] ? run_reader_events_missing(rank->run, index) : 0;
    int result = missing && run_gaps_find(&gaps, rank->run) != 0 ? report_no_memory(binning->report) : 0;
    binning->places = call_places_of(binning->calls.places, rank->run);
    for (uint32_t index = 0; index < rank->run->thread_count && result == 0; index++)
        if (rank->run->threads[index]) {
            struct binned_thread thread = {.binning = binning, .rank = rank, .gaps = &gaps};
            result = thread_calls_bin(&thread, index);
        }
    free(binning->places);
    binning->places = NULL;
    run_gaps_release(&gaps);
    run_reader_rest(rank->run);
    return result;
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

/* The bytes as base64, without the zeros at both ends: "how many before:text". */
static json_t *shares_text(const unsigned char *bytes, size_t count)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    static char text[16 + (PAGE_BINS + 2) / 3 * 4 + 1];
    size_t first = 0;
    while (count && !bytes[count - 1])
        count--;
    while (first < count && !bytes[first])
        first++;
    char *out = text + snprintf(text, 16, "%zu:", first);
    for (size_t i = first; i < count; i += 3) {
        uint32_t three = (uint32_t)bytes[i] << 16 | (i + 1 < count ? (uint32_t)bytes[i + 1] << 8 : 0) |
                         (i + 2 < count ? bytes[i + 2] : 0);
        *out++ = digits[three >> 18];
        *out++ = digits[three >> 12 & 63];
        *out++ = i + 1 < count ? digits[three >> 6 & 63] : '=';
        *out++ = i + 2 < count ? digits[three & 63] : '=';
    }
    *out = '\0';
    return json_string(text);
}

/* Returns for each bin the share of a state in the known time of the bin. For STATE_RECORDED it is the share in the
 * time of all threads in the bin. */
static json_t *shares_json(const struct binning *binning, unsigned state, double threads)
{
    unsigned char shares[PAGE_BINS];
    const struct binned_row *row = &binning->row;
    for (size_t bin = 0; bin < binning->bins; bin++) {
        double whole = state == STATE_RECORDED ? binning->bin_ns * threads : row->ns[STATE_RECORDED][bin];
        double share = whole > 0 ? row->ns[state][bin] / whole : 0;
        shares[bin] = (unsigned char)((share < 1 ? share : 1) * 255 + 0.5);
        if (!shares[bin] && state == STATE_RECORDED && row->ns[state][bin] > 0)
            shares[bin] = 1; /* there is something */
    }
    return shares_text(shares, binning->bins);
}

/* Calls may extend beyond the known time (a gap, an end). The known time is at least the time of the calls. */
static void row_finish(struct binning *binning)
{
    struct binned_row *row = &binning->row;
    for (size_t bin = 0; bin <= binning->bins; bin++) {
        double in_mpi = 0, *recorded, *rest;
        for (unsigned state = 0; state <= STATE_STALL; state++)
            in_mpi += bin < binning->bins ? row->ns[state][bin] : row->totals[state];
        recorded = bin < binning->bins ? &row->ns[STATE_RECORDED][bin] : &row->totals[STATE_RECORDED];
        rest = bin < binning->bins ? &row->ns[STATE_NOT_IN_MPI][bin] : &row->totals[STATE_NOT_IN_MPI];
        *recorded = *recorded > in_mpi ? *recorded : in_mpi;
        *rest = *recorded - in_mpi;
    }
}

static json_t *timeline_row_json(struct binning *binning, uint32_t first, double threads)
{
    json_t *totals = json_object(), *shares = json_object();
    row_finish(binning);
    for (unsigned state = 0; state < STATES; state++) {
        if (binning->row.totals[state] < 0.5)
            continue;
        json_object_set_new(totals, state_key(state), count_json((uint64_t)(binning->row.totals[state] + 0.5)));
        json_object_set_new(shares, state_key(state), shares_json(binning, state, threads));
    }
    return json_pack("{s:o, s:o, s:o}", "rank", count_json(first), "totals_ns", totals, "shares", shares);
}

static json_t *rows_json(struct binning *binning)
{
    json_t *rows = json_array();
    for (uint32_t i = 0; i < binning->rows.count; i++) {
        uint32_t first = i * binning->rows.per_row, end = first + binning->rows.per_row;
        double threads = 0;
        memset(&binning->row, 0, sizeof binning->row);
        for (uint32_t rank = first; rank < end && rank < binning->rows.ranks; rank++) {
            if (rank_walk(binning, (int32_t)rank) != 0) {
                json_decref(rows);
                return NULL;
            }
            const struct run_reader *run = binning->job.ranks[rank].run;
            for (size_t k = 0; run && k < run->thread_count; k++)
                threads += run->threads[k] != NULL;
        }
        json_array_append_new(rows, timeline_row_json(binning, first, threads));
    }
    return rows;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

/* Returns the last known time of a process that did not reach its end. It is in the run file, close to its threads'
 * last returns. The last call of the trace would cost a separate pass. */
static uint64_t rank_end_ns(const struct binning *binning, const struct trace_rank *rank)
{
    const struct run_header *header = &rank->run->header;
    uint64_t last = header->end_ticks;
    if (!last)
        for (size_t i = 0; i < rank->run->thread_count; i++) {
            const struct thread_record *thread = rank->run->threads[i];
            uint64_t ticks = !thread ? 0 : thread->end_ticks ? thread->end_ticks : thread->state.since;
            last = ticks > last ? ticks : last;
        }
    return last ? trace_time(&binning->job, rank, last) : 0;
}

static int bins_choose(struct binning *binning)
{
    for (int32_t r = 0; r < binning->job.size; r++) {
        const struct trace_rank *rank = &binning->job.ranks[r];
        if (!rank->run || !selection_has_rank(binning->selection, r))
            continue;
        if (trace_run_wake(rank->run, binning->report) != 0)
            return -1;
        uint64_t end = rank_end_ns(binning, rank);
        binning->end_ns = end > binning->end_ns ? end : binning->end_ns;
        run_reader_rest(rank->run);
    }
    binning->bins = binning->end_ns < PAGE_BINS ? 1 : PAGE_BINS;
    binning->bin_ns = (double)(binning->end_ns ? binning->end_ns : 1) / (double)binning->bins;
    return 0;
}

static json_t *binning_json(struct binning *binning)
{
    json_t *rows = bins_choose(binning) == 0 ? rows_json(binning) : NULL;
    if (!rows)
        return page_unknown(binning->report->error);
    return json_pack("{s:o, s:o, s:o, s:f, s:o, s:o, s:o, s:o, s:o}", "ranks", count_json(binning->rows.ranks),
                     "per_row", count_json(binning->rows.per_row), "bins", count_json(binning->bins), "bin_ns",
                     binning->bin_ns, "end_ns", count_json(binning->end_ns), "untimed", count_json(binning->untimed),
                     "states", JSON_LIST(state, STATES, json_string(state_key((unsigned)state))), "rows", rows, "calls",
                     page_calls_json(&binning->calls));
}

json_t *page_timeline(const struct run_job *job)
{
    if (!run_job_has_trace(job))
        return page_unknown_trace(job);
    if (job->part && !job->part->found)
        return page_unknown_ranks();
    if (job->part && job->part->anew)
        return page_unknown("a timeline needs all calls of a rank, so a page of a part by time, communicator or "
                            "function has none; make a page of whole ranks and zoom in");
    struct binning *binning = calloc(1, sizeof *binning);
    struct otf2_report *report = calloc(1, sizeof *report);
    json_t *json = NULL;
    if (binning && report) {
        binning->report = report;
        binning->selection = page_selection(job);
        if (page_calls_open(&binning->calls, job) != 0)
            report_no_memory(report);
        else if (trace_job_open(&binning->job, job->files, job->file_count, report) == 0) {
            binning->rows = page_rows_of(binning->job.size > 0 ? (uint32_t)binning->job.size : 1);
            json = binning_json(binning);
        } else {
            json = page_unknown(report->error);
        }
        trace_job_release(&binning->job);
        page_calls_close(&binning->calls);
    }
    free(report);
    free(binning);
    return json;
}
