#include "analysis/analysis.h"

#include "analysis/analysis_lanes.h"
#include "analysis/sampled.h"
#include "base/array.h"
#include "trace/tracereport.h"
#include "base/units.h"

#include <stdlib.h>
#include <string.h>

const struct pattern_text pattern_texts[WAIT_PATTERNS] = {
    [WAIT_LATE_SENDER] = {"Late Sender", "late_sender"},
    [WAIT_LATE_RECEIVER] = {"Late Receiver", "late_receiver"},
    [WAIT_AT_BARRIER] = {"Wait at Barrier", "wait_at_barrier"},
    [WAIT_AT_NXN] = {"Wait at NxN", "wait_at_nxn"},
    [WAIT_LATE_BROADCAST] = {"Late Broadcast", "late_broadcast"},
    [WAIT_EARLY_REDUCE] = {"Early Reduce", "early_reduce"},
    [WAIT_EARLY_SCAN] = {"Early Scan", "early_scan"},
    [WAIT_AT_CREATION] = {"Wait at Creation", "wait_at_creation"},
    [WAIT_FOR_LOCK] = {"Wait for Lock", "wait_for_lock"},
    [WAIT_LATE_PROGRESS] = {"Late Progress", "late_progress"},
    [WAIT_LATE_POST] = {"Late Post", "late_post"},
    [WAIT_LATE_COMPLETE] = {"Late Complete", "late_complete"},
};

const struct unmatched_text unmatched_texts[UNMATCHED_REASONS] = {
    [UNMATCHED_SEND_NO_FILE] = {"sent to a rank that has no run file", "sent_no_file"},
    [UNMATCHED_SEND_CRASHED] = {"sent to a rank that did not end normally", "sent_crashed"},
    [UNMATCHED_SEND_GAP] = {"sent to a rank whose trace has a gap", "sent_gap"},
    [UNMATCHED_SEND_UNTOLD] = {"sent while the sender of an MPI_ANY_SOURCE receive is unknown", "sent_untold"},
    [UNMATCHED_SEND_OFF] = {"sent, but the receiver may not have been recorded", "sent_off"},
    [UNMATCHED_SEND_NOT_RECEIVED] = {"sent, but not received before the end", "sent_not_received"},
    [UNMATCHED_RECV_NO_FILE] = {"received from a rank that has no run file", "received_no_file"},
    [UNMATCHED_RECV_CRASHED] = {"received from a rank that did not end normally", "received_crashed"},
    [UNMATCHED_RECV_GAP] = {"received from a rank whose trace has a gap", "received_gap"},
    [UNMATCHED_RECV_UNTOLD] = {"received while the sender of an MPI_ANY_SOURCE receive is unknown", "received_untold"},
    [UNMATCHED_RECV_OFF] = {"received, but the sender may not have been recorded", "received_off"},
    [UNMATCHED_RECV_NOT_SENT] = {"received, but their sends are not in the trace", "received_not_sent"},
};

bool analysis_selects(const struct analysis *analysis, int32_t rank, uint32_t comm, unsigned function,
                      uint64_t begin_ns, uint64_t end_ns)
{
    const struct selection *selection = analysis->selection;
    const struct trace_comm *found = &analysis->comms.list[comm];
    return selection_has_rank(selection, rank) && selection_has_function(selection, function) &&
           selection_has_time(selection, (int64_t)begin_ns, (int64_t)end_ns) &&
           selection_has_comm(selection, found->name, found->label);
}

void analysis_sum(struct analysis *analysis, struct keytable *table, uint64_t first, uint64_t second, uint64_t count,
                  uint64_t amount)
{
    struct analysis_sum *sum = keytable_make(table, first, second, sizeof *sum);
    if (!sum) {
        analysis->no_memory = true;
        return;
    }
    sum->count += count;
    sum->amount += amount;
}

void analysis_wait(struct analysis *analysis, const struct analysis_wait *wait)
{
    uint64_t key = wait_key(wait->pattern, wait->function, wait->comm);
    analysis_sum(analysis, &analysis->waits, key, (uint64_t)wait->rank, 1, wait->ns);
    if (analysis->watch && analysis->watch->wait)
        analysis->watch->wait(analysis->watch->data, wait);
}

static void worst_keep(struct analysis *analysis, const struct gathering *gathering, const struct arrival *last)
{
    size_t place = analysis->worst_count;
    while (place && analysis->worst[place - 1].waited_ns < gathering->waited_ns)
        place--;
    if (place == WORST_KEPT || gathering->waited_ns == 0)
        return;
    size_t kept = analysis->worst_count < WORST_KEPT ? analysis->worst_count : WORST_KEPT - 1;
    memmove(&analysis->worst[place + 1], &analysis->worst[place], (kept - place) * sizeof *analysis->worst);
    analysis->worst[place] = (struct worst_operation){gathering->first_ns, last->moment.ns,     gathering->waited_ns,
                                                      gathering->comm,     gathering->function, last->world_rank};
    analysis->worst_count = kept + 1;
}

void analysis_operation(struct analysis *analysis, const struct gathering *gathering)
{
    const struct arrival *last = gathering_last(gathering);
    const struct trace_comm *comm = &analysis->comms.list[gathering->comm];
    if (analysis->judging && (!gathering_is_complete(gathering) || gathering->mixed))
        pause_doubt_operation(analysis, gathering);
    if (!selection_has_function(analysis->selection, gathering->function) ||
        !selection_has_comm(analysis->selection, comm->name, comm->label) ||
        !selection_has_time(analysis->selection, (int64_t)gathering->first_ns, (int64_t)last->moment.ns))
        return;
    if (analysis->watch && analysis->watch->operation)
        analysis->watch->operation(analysis->watch->data, gathering);
    uint64_t key = (uint64_t)gathering->function << 32 | gathering->comm;
    struct operation_sum *sum = keytable_make(&analysis->operations, key, 0, sizeof *sum);
    if (!sum) {
        analysis->no_memory = true;
        return;
    }
    sum->count++;
    sum->waited_ns += gathering->waited_ns;
    if (!gathering_is_complete(gathering) || gathering->mixed)
        return;
    sum->whole++;
    if (!selection_has_rank(analysis->selection, last->world_rank))
        return;
    analysis_sum(analysis, &analysis->lasts, key, (uint64_t)last->world_rank, 1, gathering->waited_ns);
    worst_keep(analysis, gathering, last);
}

/* ---- what is left at the end ------------------------------------------------------------------------------------- */

struct rest {
    struct analysis *analysis;
    struct analysis_lanes *lanes;
};

static bool is_untold(const struct rest *rest, const struct envelope *envelope)
{
    const struct analysis_process *process = &rest->lanes->processes[envelope->dest];
    const struct trace_job *job = &rest->analysis->job;
    const struct run_reader *run = job->ranks[envelope->dest].run;
    for (uint32_t number = 0; run && number < run->comm_count; number++)
        if (process->untold[number] &&
            trace_comm_find(&rest->analysis->comms, job, envelope->dest, number) == envelope->comm)
            return true;
    return false;
}

static void rest_count(void *data, const struct message *message, const struct receive *receive)
{
    const struct rest *rest = data;
    struct analysis *analysis = rest->analysis;
    const struct envelope *envelope = message ? &message->envelope : &receive->envelope;
    if (receive && receive->state != RECEIVE_DONE) {
        analysis->open_receives++;
        return;
    }
    if (analysis->judging) {
        pause_doubt_rest(rest->lanes, envelope, message != NULL);
        return;
    }
    int32_t partner = message ? envelope->dest : envelope->source;
    enum unmatched_reason reason = is_untold(rest, envelope)                 ? UNMATCHED_SEND_UNTOLD
                                   : !analysis->job.ranks[partner].run       ? UNMATCHED_SEND_NO_FILE
                                   : rest->lanes->processes[partner].torn    ? UNMATCHED_SEND_GAP
                                   : pause_hides_message(analysis, envelope) ? UNMATCHED_SEND_OFF
                                   : !analysis->job.ranks[partner].ended     ? UNMATCHED_SEND_CRASHED
                                                                             : UNMATCHED_SEND_NOT_RECEIVED;
    analysis->unmatched[message ? reason : reason + (UNMATCHED_RECV_NO_FILE - UNMATCHED_SEND_NO_FILE)]++;
}

static void operations_rest(struct analysis *analysis)
{
    for (size_t i = 0; i < analysis->gatherings.open.capacity; i++)
        for (struct keyed *keyed = analysis->gatherings.open.buckets[i]; keyed; keyed = keyed->next)
            analysis_operation(analysis, (const struct gathering *)keyed);
}

/* ---- the critical path ------------------------------------------------------------------------------------------- */

const char *analysis_no_partners(const struct analysis *analysis)
{
    if (analysis->job.in_part)
        return "the trace was switched on or off during the run";
    if (analysis->pauses_unknown)
        return "recording was off for a while, and the trace does not show when";
    return "mpit_filter leaves out calls of messages or collectives";
}

static const char *path_obstacle(const struct analysis *analysis, const struct analysis_lanes *lanes)
{
    if (!analysis->has_messages || !analysis->has_collectives)
        return analysis_no_partners(analysis);
    if (analysis->untimed)
        return "some calls were not timed";
    for (int32_t r = 0; r < analysis->job.size; r++) {
        if (!analysis->job.ranks[r].run)
            return "some ranks have no run file";
        if (lanes->processes[r].torn)
            return "the trace of a rank has a gap";
    }
    if (analysis->matching.early)
        return analysis->job.line.clock_count > 1
                   ? "messages arrive before they are sent: the clocks differ too much"
                   : "messages arrive before they are sent: sends and receives are paired wrongly";
    return NULL;
}

static int share_order(const void *one, const void *other)
{
    const struct path_share *a = one, *b = other;
    return ORDER(a->key, b->key);
}

/* Gives segments their parts of the path. Then the shares are by rank and function. */
static void path_segments_take(struct analysis *analysis)
{
    size_t kept = 0;
    for (size_t i = 0; i < analysis->path_count; i++) {
        struct path_share *share = &analysis->path[i];
        int32_t rank = (int32_t)(share->key >> 40);
        struct segment_sum *sum = segment_of_rank(&analysis->segments, share->key >> 16 & (SEGMENTS_MOST - 1), rank);
        if (sum)
            sum->critical_ns += share->ns;
        share->key = path_key(rank, share->key & 0xffff);
    }
    if (analysis->path_count)
        qsort(analysis->path, analysis->path_count, sizeof *analysis->path, share_order);
    for (size_t i = 1; i < analysis->path_count; i++)
        if (analysis->path[i].key == analysis->path[kept].key)
            analysis->path[kept].ns += analysis->path[i].ns;
        else
            analysis->path[++kept] = analysis->path[i];
    analysis->path_count = analysis->path_count ? kept + 1 : 0;
}

static void critical_path_find(struct analysis *analysis, const struct analysis_lanes *lanes)
{
    const struct analysis_lane *end = NULL;
    analysis->no_path = path_obstacle(analysis, lanes);
    for (size_t i = 0; i < lanes->count; i++)
        if (lanes->list[i].started && (!end || lanes->list[i].cursor_ns > end->cursor_ns))
            end = &lanes->list[i];
    if (!end && !analysis->no_path)
        analysis->no_path = "the trace has no calls";
    if (analysis->no_path)
        return;
    analysis->path = path_shares(&analysis->paths, end->path, &analysis->path_count);
    path_segments_take(analysis);
    for (size_t i = 0; i < analysis->path_count; i++)
        analysis->path_ns += analysis->path[i].ns;
    analysis->path_rank = end->process->world_rank;
    analysis->path_end_ns = end->cursor_ns;
    analysis->has_path = true;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

uint64_t analysis_off_ns(const struct analysis *analysis, uint32_t *ranks)
{
    uint64_t most = 0;
    *ranks = 0;
    for (int32_t r = 0; r < analysis->job.size; r++) {
        const struct run_reader *run = analysis->job.ranks[r].run;
        const struct run_header *header = run ? &run->header : NULL;
        if (!header || !header->off_count)
            continue;
        uint64_t end = header->finalize_ticks ? header->finalize_ticks : header->end_ticks;
        uint64_t ns = clock_ns(run_reader_scale(run), run_off_ticks(header, end));
        most = ns > most ? ns : most;
        (*ranks)++;
    }
    return most;
}

static void pauses_tell(struct analysis *analysis)
{
    char off[UNIT_TEXT_BYTES];
    uint32_t ranks;
    if (!analysis->job.paused || analysis->job.in_part)
        return;
    text_of_ns(off, analysis_off_ns(analysis, &ranks));
    uint64_t messages = analysis->unmatched[UNMATCHED_SEND_OFF] + analysis->unmatched[UNMATCHED_RECV_OFF];
    if (analysis->pauses_unknown)
        report_warning(&analysis->report,
                       "Recording was off for at most %s on a rank, and the trace does not show when. So messages and "
                       "collectives are not analysed.",
                       off);
    else if (analysis->has_collectives && messages + analysis->hidden_visits == 0)
        report_warning(&analysis->report, "Recording was off for at most %s on a rank. That time is not analysed.",
                       off);
    else if (analysis->has_collectives)
        report_warning(
            &analysis->report,
            "Recording was off for at most %s on a rank. That time is not analysed. Also left out: %llu sends "
            "or receives and %llu calls of collectives, whose partners may not have been recorded.",
            off, (unsigned long long)messages, (unsigned long long)analysis->hidden_visits);
}

static void doubts_tell(struct analysis *analysis, const struct analysis_lanes *lanes)
{
    struct otf2_report *report = &analysis->report;
    for (int32_t r = 0; r < analysis->job.size; r++) {
        const struct trace_rank *rank = &analysis->job.ranks[r];
        if (!rank->run)
            continue;
        if (lanes->processes[r].torn)
            report_warning(report,
                           "rank %d: records of its trace are missing; after them, its messages and the collectives of "
                           "its communicators are not analysed",
                           r);
        else if (!rank->ended)
            report_warning(report, "rank %d did not end normally: the trace does not have its last, unfinished call",
                           r);
        if (rank->run->header.filter[0] && r == 0)
            report_warning(report, "mpit_filter was \"%.100s\": waits in excluded functions are missing",
                           rank->run->header.filter);
    }
    pauses_tell(analysis);
    if (analysis->part_ns)
        report_warning(report, "the trace has only the %s %.3g s of the run: its figures are of this part",
                       analysis->last ? "last" : "first", (double)analysis->part_ns * 1e-9);
    if (analysis->untimed)
        report_warning(report, "%llu calls were not timed (mpit_timing): waits and the critical path are unknown",
                       (unsigned long long)analysis->untimed);
}

/* All times without recording are in the trace, and no process has too many. */
static bool pauses_are_known(const struct analysis_lanes *lanes)
{
    const struct trace_job *job = &lanes->analysis->job;
    for (int32_t r = 0; r < job->size; r++) {
        const struct analysis_process *process = &lanes->processes[r];
        if (job->ranks[r].run && !process->torn &&
            (process->offs != job->ranks[r].run->header.off_count || process->offs >= STRETCHES_MOST))
            return false;
    }
    return true;
}

/* Reads the trace once. */
static int trace_read(struct analysis *analysis)
{
    struct analysis_lanes lanes = {.analysis = analysis};
    int result = analysis_lanes_run(&lanes, analysis);
    if (result == 0) {
        if (!lanes.cut_ns) { /* else the rest is not known */
            matching_rest(&analysis->matching, &(struct rest){analysis, &lanes}, rest_count);
            operations_rest(analysis);
        }
        analysis->pauses_unknown = !pauses_are_known(&lanes);
    }
    if (result == 0 && analysis->judging && analysis->last)
        last_calls_count(analysis, &lanes);
    if (result == 0 && !analysis->judging) {
        analysis->has_times = analysis->untimed == 0;
        critical_path_find(analysis, &lanes);
        worlds_find(analysis, &lanes);
        doubts_tell(analysis, &lanes);
    }
    analysis_lanes_release(&lanes);
    bool short_of = analysis->no_memory || analysis->matching.no_memory || analysis->gatherings.no_memory ||
                    analysis->joints.no_memory || analysis->paths.no_memory || analysis->segments.no_memory ||
                    analysis->delays.no_memory;
    return result != 0 || short_of ? report_no_memory(&analysis->report) : 0;
}

static void tables_release(struct analysis *analysis)
{
    matching_release(&analysis->matching);
    gatherings_release(&analysis->gatherings);
    gatherings_release(&analysis->joints);
    paths_release(&analysis->paths);
    keytable_release(&analysis->waits, NULL);
    keytable_release(&analysis->causes, NULL);
    keytable_release(&analysis->matrix, NULL);
    keytable_release(&analysis->operations, NULL);
    keytable_release(&analysis->lasts, NULL);
    keytable_release(&analysis->orders, NULL);
    keytable_release(&analysis->wait_places, NULL);
    keytable_release(&analysis->doubts, NULL);
    keytable_release(&analysis->unclear, NULL);
    segments_release(&analysis->segments);
    place_works_release(&analysis->works);
    keytable_release(&analysis->beats, NULL);
    passes_release(analysis->passes);
    delays_release(&analysis->delays);
}

/* A further reading of the same trace. */
static struct analysis *reading_make(const struct analysis *analysis)
{
    struct analysis *reading = calloc(1, sizeof *reading);
    if (!reading)
        return NULL;
    *reading = (struct analysis){.job = analysis->job,
                                 .comms = analysis->comms,
                                 .selection = analysis->selection,
                                 .places = analysis->places,
                                 .brief = analysis->brief,
                                 .last = analysis->last,
                                 .has_messages = analysis->has_messages,
                                 .has_collectives = analysis->has_collectives};
    reading->matching.paths = reading->gatherings.paths = reading->joints.paths = &reading->paths;
    return reading;
}

/* The first reading of a job whose recording was off for a while. */
static int pauses_judge(struct analysis *analysis)
{
    struct analysis *first = reading_make(analysis);
    if (!first)
        return report_no_memory(&analysis->report);
    first->judging = true;
    first->matching.doubts = &first->doubts;
    int result = trace_read(first);
    if (result != 0)
        analysis->report = first->report;
    analysis->doubts = first->doubts;
    analysis->unclear = first->unclear;
    first->doubts = first->unclear = (struct keytable){0};
    if (first->pauses_unknown)
        analysis->has_messages = analysis->has_collectives = false;
    tables_release(first);
    free(first);
    return result;
}

/* The first reading of the last part of a run. */
static int last_part_count(struct analysis *analysis)
{
    struct analysis *first = reading_make(analysis);
    if (!first)
        return report_no_memory(&analysis->report);
    first->judging = first->last->counting = true;
    int result = trace_read(first);
    analysis->last->counting = false;
    if (result != 0)
        analysis->report = first->report;
    tables_release(first);
    free(first);
    return result;
}

void analysis_reading_release(struct analysis *reading)
{
    if (!reading)
        return;
    tables_release(reading);
    free(reading->path);
    free(reading->useful_ns);
    free(reading->work_ns);
    free(reading->rank_times);
    free(reading);
}

struct analysis *analysis_replay(const struct analysis *analysis, const struct world_plan *plan,
                                 const struct beat *beat)
{
    struct analysis *reading = reading_make(analysis);
    if (!reading)
        return NULL;
    reading->plan = plan;
    reading->passes = beat && beat->count ? passes_open(beat, analysis->job.size) : NULL;
    if (trace_read(reading) == 0)
        return reading;
    analysis_reading_release(reading);
    return NULL;
}

static int job_analyse(struct analysis *analysis)
{
    if (trace_comms_open(&analysis->comms, &analysis->job, &analysis->report) != 0)
        return -1;
    analysis->has_messages = !analysis->job.in_part && !analysis->job.no_messages && !analysis->job.no_collectives;
    analysis->has_collectives = !analysis->job.in_part && !analysis->job.no_collectives;
    if (analysis->last && last_part_count(analysis) != 0)
        return -1;
    if (analysis->job.paused && analysis->has_collectives && !analysis->last && pauses_judge(analysis) != 0)
        return -1;
    return trace_read(analysis);
}

static int analysis_run(struct analysis *analysis, const struct run_reader *runs, size_t count,
                        const struct stored_names *names)
{
    analysis->matching.paths = analysis->gatherings.paths = analysis->joints.paths = &analysis->paths;
    if (trace_job_open_pauses(&analysis->job, runs, count, &analysis->report) != 0)
        return -1;
    for (size_t i = 0; i < count; i++)
        analysis->delays.wanted |= runs[i].header.samples_hz != 0;
    for (size_t i = 0; i < count; i++)
        analysis->brief |= runs[i].header.trace_policy == TRACE_BRIEF;
    if (!(analysis->places = call_places_open(names)))
        return report_no_memory(&analysis->report);
    return job_analyse(analysis);
}

int analysis_open(struct analysis *analysis, const struct run_reader *runs, size_t count,
                  const struct selection *selection, const struct stored_names *names)
{
    return analysis_open_watched(analysis, runs, count, selection, names, NULL);
}

int analysis_open_last(struct analysis *analysis, const struct run_reader *runs, size_t count,
                       const struct selection *selection, const struct stored_names *names)
{
    *analysis = (struct analysis){.selection = selection, .last = calloc(1, sizeof *analysis->last)};
    return analysis->last ? analysis_run(analysis, runs, count, names) : report_no_memory(&analysis->report);
}

int analysis_open_watched(struct analysis *analysis, const struct run_reader *runs, size_t count,
                          const struct selection *selection, const struct stored_names *names,
                          const struct analysis_watch *watch)
{
    *analysis = (struct analysis){.selection = selection, .watch = watch};
    if (watch) {
        analysis->matching.pair = watch->message;
        analysis->matching.pair_data = watch->data;
    }
    if (watch && watch->flow) {
        analysis->matching.late = analysis_flow_tell;
        analysis->matching.late_data = analysis;
    }
    return analysis_run(analysis, runs, count, names);
}

void analysis_release(struct analysis *analysis)
{
    tables_release(analysis);
    sampled_close(analysis->sampled);
    analysis_phases_release(analysis);
    call_places_close(analysis->places);
    if (analysis->last)
        last_part_release(analysis->last);
    free(analysis->last);
    free(analysis->path);
    free(analysis->useful_ns);
    free(analysis->work_ns);
    free(analysis->rank_times);
    trace_comms_release(&analysis->comms);
    trace_job_release(&analysis->job);
}
