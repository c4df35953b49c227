/* The ideal run of an analysis: what each call needs, and whether the result is known. */
#include "analysis/analysis_lanes.h"
#include "trace/jointcalls.h"

#include <string.h>

/* ---- clocks of ranks --------------------------------------------------------------------------------------------- */

static uint64_t header_time(const struct analysis *analysis, int32_t rank, uint64_t ticks, uint64_t other)
{
    const struct trace_rank *found = &analysis->job.ranks[rank];
    return ticks ? trace_time(&analysis->job, found, ticks) : other;
}

void ideal_start(const struct analysis *analysis, struct analysis_lane *lane)
{
    struct analysis_process *process = lane->process;
    const struct run_header *header = &analysis->job.ranks[process->world_rank].run->header;
    process->init_ns = header_time(analysis, process->world_rank, header->init_ticks, 0);
    process->finalize_ns = header_time(analysis, process->world_rank, header->finalize_ticks, UINT64_MAX);
    ideal_clock_start(&lane->ideal, process->init_ns);
}

static uint64_t in_run(const struct analysis_lane *lane, uint64_t ns)
{
    return ns < lane->process->finalize_ns ? ns : lane->process->finalize_ns;
}

/* The calls on windows and files that no member leaves before all have come. */
static struct gathering *joint_begin(struct analysis_lanes *lanes, struct analysis_lane *lane)
{
    const struct event *event = &lane->call.event;
    struct analysis_process *process = lane->process;
    unsigned kind = event_kind(event);
    struct place place;
    if (!call_gathers(kind) || call_makes_comm(kind) || kind == CALL_MPI_Finalize || kind == CALL_MPI_Comm_free ||
        (event->kind & EVENT_FAILED))
        return NULL;
    if (!event_place_find(lanes, process, event, &place)) {
        lanes->leaves_the_job = true;
        return NULL;
    }
    uint64_t number = process->joints[place.number]++;
    const struct trace_comm *comm = place.comm;
    if (comm->self || comm->size + comm->remote_size == 1)
        return NULL;
    struct gathering like = {.comm = place.index,
                             .function = kind,
                             .operation = kind,
                             .form = FORM_ALL_TO_ALL,
                             .inter = comm->inter,
                             .size = {comm->size, comm->inter ? comm->remote_size : 0}};
    lane->attendee = (struct attendee){.world_rank = process->world_rank, .rank = place.rank, .side = place.side};
    return gathering_enter(&lanes->analysis->joints, &like, number, &lane->attendee,
                           (struct moment){.ns = lane->begin_ns, .ideal = lane->ideal.now});
}

void ideal_begin(struct analysis_lanes *lanes, struct analysis_lane *lane)
{
    if (lane->finalized)
        return;
    ideal_clock_compute(&lane->ideal, in_run(lane, lane->begin_ns));
    lane->joint = call_is_mark(&lane->call) ? NULL : joint_begin(lanes, lane);
}

void ideal_end(struct analysis_lanes *lanes, struct analysis_lane *lane, const struct ideal *need)
{
    if (lane->finalized)
        return;
    ideal_clock_call(&lane->ideal, in_run(lane, lane->end_ns), need);
    if (lane->ideal.now.most > lanes->ideal_ahead)
        lanes->ideal_ahead = lane->ideal.now.most;
}

/* ---- what a call needs ------------------------------------------------------------------------------------------- */

/* What has begun on a rank, it has begun until its present time. */
static void rank_may_need(struct analysis_lanes *lanes, int32_t rank, struct ideal *need)
{
    const struct analysis_lane *lane = lanes->processes[rank].first;
    lanes->analysis->ideal.unsure++;
    if (lane)
        ideal_may_need(need, lane->ideal.now);
}

static void any_may_need(struct analysis_lanes *lanes, struct ideal *need)
{
    lanes->analysis->ideal.unsure++;
    ideal_may_need(need, (struct ideal){0, lanes->ideal_ahead});
}

static bool send_is_synchronous(unsigned function)
{
    return function == CALL_MPI_Ssend || function == CALL_MPI_Issend || function == CALL_MPI_Ssend_init;
}

/* A standard send needs its receive if the recorded call returned only after that was posted. */
void ideal_sent(struct analysis_lanes *lanes, const struct analysis_lane *lane, const struct message *message,
                unsigned function, const struct moment *posted, struct ideal *need)
{
    if (send_is_synchronous(function) && !posted)
        rank_may_need(lanes, message->envelope.dest, need);
    else if (posted && (send_is_synchronous(function) || (posted->ns > lane->begin_ns && posted->ns < lane->end_ns)))
        ideal_need(need, posted->ideal);
}

/* The parts of a partitioned message come at any time after its begin. */
void ideal_received(struct analysis_lanes *lanes, const struct receive *receive, struct ideal *need)
{
    if (receive->matched)
        ideal_need(need, receive->begun.ideal);
    if (!receive->matched || receive->envelope.partitioned)
        rank_may_need(lanes, receive->envelope.source, need);
}

void ideal_gathered(struct analysis_lanes *lanes, const struct gathering *gathering, const struct attendee *who,
                    enum cause_known known, struct ideal *need)
{
    lanes->analysis->ideal.unsure += known == CAUSE_UNKNOWN;
    gathering_ideal(gathering, who, known, need);
}

static bool file_call_is_collective(const char *name)
{
    static const char *const parts[] = {"_all", "_ordered", "atomicity", "seek_shared"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strstr(name, parts[i]))
            return true;
    return false;
}

/* These calls may wait for ranks that the analysis does not know. */
static bool call_waits_for_any(const struct event *event)
{
    unsigned kind = event_kind(event);
    switch (kind) {
    case CALL_MPI_Comm_create_group:
    case CALL_MPI_Comm_create_from_group:
    case CALL_MPI_Intercomm_create:
    case CALL_MPI_Win_start:
    case CALL_MPI_Win_complete:
    case CALL_MPI_Win_wait:
    case CALL_MPI_Win_lock:
    case CALL_MPI_Win_lock_all:
    case CALL_MPI_Win_unlock:
    case CALL_MPI_Win_unlock_all:
    case CALL_MPI_Win_flush:
    case CALL_MPI_Win_flush_all:
        return true;
    default:
        return call_table[kind].class == CLASS_IO && file_call_is_collective(call_table[kind].name);
    }
}

void ideal_access_done(struct analysis_lanes *lanes, const struct event *ended, struct ideal *need)
{
    if (event_kind(ended) == RECORD_IO_DONE && ended->duration < CALL_COUNT &&
        file_call_is_collective(call_table[ended->duration].name))
        any_may_need(lanes, need);
}

static bool call_leaves_the_job(unsigned kind)
{
    return kind == CALL_MPI_Comm_spawn || kind == CALL_MPI_Comm_spawn_multiple || kind == CALL_MPI_Comm_accept ||
           kind == CALL_MPI_Comm_connect || kind == CALL_MPI_Comm_join;
}

void ideal_others(struct analysis_lanes *lanes, struct analysis_lane *lane, struct ideal *need)
{
    const struct event *event = &lane->call.event;
    if (call_is_mark(&lane->call))
        return;
    lanes->leaves_the_job |= call_leaves_the_job(event_kind(event));
    if ((event->kind & EVENT_FAILED) || call_waits_for_any(event))
        any_may_need(lanes, need);
    if (!lane->joint)
        return;
    struct arrival last;
    ideal_gathered(lanes, lane->joint, &lane->attendee, gathering_cause(lane->joint, &lane->attendee, &last), need);
    if (gathering_leave(lane->joint))
        gathering_release(&lanes->analysis->joints, lane->joint);
    lane->joint = NULL;
}

void ideal_request_unknown(struct analysis_lanes *lanes, const struct event *ended, struct ideal *need)
{
    if (event_kind(ended) != RECORD_CANCELLED && event_kind(ended) != RECORD_FREED)
        any_may_need(lanes, need);
}

/* ---- the result -------------------------------------------------------------------------------------------------- */

static const char *header_obstacle(const struct run_header *header)
{
    if (header->filter[0])
        return "some functions are not recorded (mpit_filter)";
    if (header->spawned)
        return "calls may wait for processes of other jobs";
    if (!header->init_ticks)
        return "the end of MPI_Init is not known";
    if (header->off_count)
        return "recording was off for a part of the run";
    return NULL;
}

static const char *ranks_obstacle(const struct analysis *analysis, const struct analysis_lanes *lanes)
{
    for (int32_t r = 0; r < analysis->job.size; r++) {
        const struct trace_rank *rank = &analysis->job.ranks[r];
        const char *obstacle = header_obstacle(&rank->run->header);
        if (obstacle)
            return obstacle;
        if (!rank->ended)
            return "a rank did not end normally";
    }
    for (size_t i = 0; i < lanes->count; i++)
        if (lanes->list[i].started && lanes->list[i].process->first != &lanes->list[i])
            return "ranks have several threads in MPI: how they wait for each other is not known";
    return NULL;
}

static const char *ideal_obstacle(const struct analysis *analysis, const struct analysis_lanes *lanes)
{
    uint64_t unmatched = 0;
    for (int i = UNMATCHED_RECV_NO_FILE; i < UNMATCHED_REASONS; i++)
        unmatched += analysis->unmatched[i];
    if (analysis->no_path)
        return analysis->no_path;
    if (lanes->leaves_the_job)
        return "calls may wait for processes of other jobs";
    if (analysis->unplaced || unmatched)
        return "messages are not matched";
    return ranks_obstacle(analysis, lanes);
}

void ideal_find(struct analysis *analysis, struct analysis_lanes *lanes)
{
    analysis->no_ideal = ideal_obstacle(analysis, lanes);
    for (size_t i = 0; !analysis->no_ideal && i < lanes->count; i++) {
        struct analysis_lane *lane = &lanes->list[i];
        if (!lane->started)
            continue;
        if (!lane->finalized && lane->process->finalize_ns != UINT64_MAX)
            ideal_clock_compute(&lane->ideal, lane->process->finalize_ns);
        ideal_run_add(&analysis->ideal, &lane->ideal, lane->process->init_ns);
    }
    if (!analysis->no_ideal && !ideal_run_split(&analysis->ideal, &analysis->split))
        analysis->no_ideal = "the trace does not tell for which ranks some calls waited";
}
