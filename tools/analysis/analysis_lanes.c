#include "analysis/analysis_lanes.h"

#include <stdlib.h>

enum { REST_STEPS = 1 << 20, NEEDED_STEPS = 1 << 10, BRIEF_STEPS_MOST = 2 << 20 };

#define TURN_ENDS (UINT64_C(1) << 63) /* in the order of a turn */

static struct lane_turn lane_turn(const struct analysis_lanes *lanes, const struct analysis_lane *lane)
{
    uint64_t place = (uint64_t)(lane - lanes->list);
    return lane->begun ? (struct lane_turn){lane->end_ns, place | TURN_ENDS}
                       : (struct lane_turn){lane->begin_ns, place};
}

static bool turn_is_before(const struct lane_turn *a, const struct lane_turn *b)
{
    return a->ns != b->ns ? a->ns < b->ns : a->order < b->order;
}

static void heap_sink(struct analysis_lanes *lanes, size_t place)
{
    struct lane_turn *heap = lanes->heap;
    for (size_t child; (child = 2 * place + 1) < lanes->heap_count; place = child) {
        if (child + 1 < lanes->heap_count && turn_is_before(&heap[child + 1], &heap[child]))
            child++;
        if (!turn_is_before(&heap[child], &heap[place]))
            break;
        struct lane_turn turn = heap[place];
        heap[place] = heap[child];
        heap[child] = turn;
    }
}

/* The lane's next call. Returns 1, 0 at its end, -1 without memory, or when its file has gone. */
static int lane_next_call(struct analysis *analysis, struct analysis_lane *lane)
{
    struct analysis_process *process = lane->process;
    const struct trace_rank *rank = &analysis->job.ranks[process->world_rank];
    int got = call_stream_next(&lane->stream, &lane->call);
    if (lane->stream.lost) {
        if (trace_run_wake(rank->run, &analysis->report) == 0) /* else it reports the reason */
            report_error(&analysis->report, "the run file of rank %d could not be read for a moment; try again",
                         rank->run->header.world_rank);
        return -1;
    }
    lane->begun = false;
    if (got <= 0) {
        process->lanes_open--;
        return got;
    }
    bool gap = lane->stream.cursor.missing != lane->missing;
    if (analysis->last) /* its first call may be lost, and then has left records */
        process->torn |= gap;
    else if (gap || lane->stream.orphans)
        process->torn = !analysis->brief; /* else the lane is cut there */
    lane->missing = lane->stream.cursor.missing;
    if (lane->call.event.begin == 0)
        analysis->untimed++;
    lane->begin_ns = trace_time(&analysis->job, rank, lane->call.event.begin);
    lane->end_ns = trace_time(&analysis->job, rank, lane->call.end);
    if (lane->end_ns < lane->begin_ns)
        lane->end_ns = lane->begin_ns;
    return 1;
}

/* Opens the lane's trace, or the last part of it. Returns as lane_next_call does. */
static int lane_open(struct analysis_lanes *lanes, struct analysis_lane *lane, const struct trace_rank *rank)
{
    uint64_t most = UINT64_MAX;
    if (lanes->analysis->last) {
        most = last_events(lanes, lane, rank->run);
        call_stream_open_last(&lane->stream, rank->run, lane->thread, most);
    } else {
        call_stream_open(&lane->stream, rank->run, lane->thread, rank->written[lane->thread], false);
    }
    lane->stream.wakes = true;
    int got = lane_next_call(lanes->analysis, lane);
    if (got > 0 && lane->stream.cursor.end > most && lane->begin_ns > lanes->zero_ns)
        lanes->zero_ns = lane->begin_ns;
    return got;
}

static int process_open(struct analysis_lanes *lanes, int32_t world_rank)
{
    struct analysis_process *process = &lanes->processes[world_rank];
    const struct trace_rank *rank = &lanes->analysis->job.ranks[world_rank];
    process->world_rank = world_rank;
    process->off_since_ns = UINT64_MAX;
    if (!rank->run)
        return 0;
    size_t comms = rank->run->comm_count + 1;
    process->operations = calloc(comms, sizeof *process->operations);
    process->creations = calloc(comms, sizeof *process->creations);
    process->joints = calloc(comms, sizeof *process->joints);
    process->untold = calloc(comms, sizeof *process->untold);
    process->neighbors = calloc(comms, sizeof *process->neighbors);
    process->comm_count = comms;
    if (!process->operations || !process->creations || !process->joints || !process->untold || !process->neighbors)
        return -1;
    if (trace_run_wake(rank->run, &lanes->analysis->report) != 0)
        return -1;
    if (lanes->analysis->last)
        last_process_begin(lanes->analysis, process);
    process->places = call_places_of(lanes->analysis->places, rank->run);
    process->path_count = process->places ? rank->run->path_count : 0;
    for (uint32_t thread = 0; thread < rank->run->thread_count; thread++) {
        if (!rank->run->threads[thread])
            continue;
        struct analysis_lane *lane = &lanes->list[lanes->count++];
        lanes->histories[lanes->count - 1] = &lane->history;
        lane->process = process;
        lane->thread = thread;
        if (!process->first)
            process->first = lane;
        process->lanes_open++;
        int got = lane_open(lanes, lane, rank);
        if (got < 0)
            return -1;
        if (got)
            lanes->heap[lanes->heap_count++] = lane_turn(lanes, lane);
    }
    return 0;
}

static bool comm_has_absent(const struct trace_job *job, const struct trace_comm *comm)
{
    for (int32_t i = 0; comm->members && i < comm->size; i++)
        if (comm->members[i] < 0 || !job->ranks[comm->members[i]].run)
            return true;
    for (int32_t i = 0; comm->remote && i < comm->remote_size; i++)
        if (!job->ranks[comm->remote[i]].run)
            return true;
    return false;
}

static int analysis_lanes_open(struct analysis_lanes *lanes, struct analysis *analysis)
{
    const struct trace_job *job = &analysis->job;
    size_t most = 0;
    *lanes = (struct analysis_lanes){.analysis = analysis};
    for (int32_t r = 0; r < job->size; r++)
        most += job->ranks[r].run ? job->ranks[r].run->thread_count : 0;
    lanes->capacity = most;
    lanes->processes = calloc((size_t)job->size + 1, sizeof *lanes->processes);
    lanes->list = calloc(most + 1, sizeof *lanes->list);
    lanes->heap = calloc(most + 1, sizeof *lanes->heap);
    lanes->histories = calloc(most + 1, sizeof *lanes->histories);
    lanes->broken = calloc(analysis->comms.count + 1, sizeof *lanes->broken);
    if (!lanes->processes || !lanes->list || !lanes->heap || !lanes->histories || !lanes->broken ||
        worlds_open(lanes) != 0)
        return -1;
    for (size_t c = 0; c < analysis->comms.count; c++)
        lanes->broken[c] = comm_has_absent(job, &analysis->comms.list[c]);
    if (analysis->last)
        last_reading_begin(analysis);
    for (int32_t r = 0; r < job->size; r++)
        if (process_open(lanes, r) != 0)
            return -1;
    for (size_t place = lanes->heap_count; place-- > 0;)
        heap_sink(lanes, place);
    return 0;
}

/* Read pages stay in memory as long as there is enough. A large trace would push out other data. */
static void files_rest(const struct analysis *analysis)
{
    for (int32_t r = 0; r < analysis->job.size; r++)
        if (analysis->job.ranks[r].run)
            run_reader_rest(analysis->job.ranks[r].run);
}

/* Waits of calls that are under way begin there at the earliest. */
static uint64_t needed_from(const struct analysis_lanes *lanes)
{
    uint64_t from = UINT64_MAX;
    for (size_t i = 0; i < lanes->heap_count; i++) {
        const struct analysis_lane *lane = &lanes->list[lanes->heap[i].order & ~TURN_ENDS];
        uint64_t begin = lane->probe.waits ? lane->probe.begin_ns : lane->begin_ns;
        from = begin < from ? begin : from;
    }
    return from;
}

/* A brief trace has no more of this lane but the last events of the thread, or nothing. */
static bool lane_is_cut(const struct analysis_lanes *lanes, const struct analysis_lane *lane)
{
    return lanes->analysis->brief && !lanes->analysis->last && lane->stream.cursor.missing > 0;
}

int analysis_lanes_run(struct analysis_lanes *lanes, struct analysis *analysis)
{
    if (analysis_lanes_open(lanes, analysis) != 0)
        return -1;
    for (uint64_t steps = 1; lanes->heap_count && !lanes->cut_ns; steps++) {
        if (steps % REST_STEPS == 0)
            files_rest(analysis);
        if (steps % (NEEDED_STEPS + lanes->count) == 0)
            lanes->needed_ns = needed_from(lanes);
        struct analysis_lane *lane = &lanes->list[lanes->heap[0].order & ~TURN_ENDS];
        int more = 1;
        uint64_t now = lanes->heap[0].ns;
        if (!lane->begun) {
            call_begin(lanes, lane);
            lane->begun = true;
        } else {
            call_end(lanes, lane);
            more = lane_next_call(analysis, lane);
        }
        if (more < 0)
            return -1;
        if ((!lane->begun && lane_is_cut(lanes, lane)) ||
            (analysis->brief && !analysis->last && steps == BRIEF_STEPS_MOST))
            lanes->cut_ns = now;
        lanes->heap[0] = more ? lane_turn(lanes, lane) : lanes->heap[--lanes->heap_count];
        heap_sink(lanes, 0);
    }
    return 0;
}

void analysis_lanes_release(struct analysis_lanes *lanes)
{
    for (size_t i = 0; i < lanes->count; i++) {
        struct analysis_lane *lane = &lanes->list[i];
        path_drop(&lanes->analysis->paths, lane->path);
        path_drop(&lanes->analysis->paths, lane->probe.path);
        path_drop(&lanes->analysis->paths, lane->resumed.path);
        message_drop(&lanes->analysis->matching, lane->sent);
        receive_drop(&lanes->analysis->matching, lane->receive);
        call_stream_close(&lane->stream);
        free(lane->call.parts);
        free(lane->left);
        history_release(&lane->history);
    }
    for (int32_t r = 0; lanes->processes && r < lanes->analysis->job.size; r++)
        analysis_process_release(lanes->analysis, &lanes->processes[r]);
    locks_release(lanes);
    epochs_release(lanes);
    orders_release(lanes);
    free(lanes->processes);
    free(lanes->list);
    free(lanes->heap);
    free(lanes->broken);
    free(lanes->histories);
    worlds_release(lanes);
    *lanes = (struct analysis_lanes){0};
}
