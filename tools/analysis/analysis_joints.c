/* Calls on windows and files that all members make: in most of them no member leaves before all have come. */
#include "analysis/analysis_lanes.h"
#include "trace/jointcalls.h"

#include <string.h>

/* Reads and writes of all members. Where one leaves before all have come, nothing is known of the call. */
static bool call_is_collective_io(unsigned kind)
{
    static const char *const parts[] = {"_all", "_ordered", "atomicity", "seek_shared"};
    if (call_table[kind].class != CLASS_IO || strstr(call_table[kind].name, "File_i"))
        return false;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strstr(call_table[kind].name, parts[i]))
            return true;
    return false;
}

static bool call_joins(unsigned kind)
{
    bool other = call_makes_comm(kind) || kind == CALL_MPI_Finalize || kind == CALL_MPI_Comm_free;
    return !other && (call_gathers(kind) || call_is_collective_io(kind));
}

/* A call that fails on a rank counts: it may not fail on the others. */
static struct gathering *joint_make(struct analysis_lanes *lanes, struct analysis_lane *lane)
{
    const struct event *event = &lane->call.event;
    struct analysis_process *process = lane->process;
    unsigned kind = event_kind(event);
    bool failed = event->kind & EVENT_FAILED;
    struct place place;
    if (!call_joins(kind))
        return NULL;
    lane->unjoined = true;
    if (!event_place_find(lanes, process, event, &place)) {
        lanes->leaves_the_job |= !failed && !call_is_collective_io(kind);
        return NULL;
    }
    uint64_t number = process->joints[place.number]++;
    if (failed)
        return NULL;
    lock_window_made(lanes, lane, number);
    if (!calls_are_counted(lanes, process, &place))
        return NULL;
    lane->unjoined = false;
    const struct trace_comm *comm = place.comm;
    if (comm->self || comm->size + comm->remote_size == 1 ||
        last_lacks_members(lanes->analysis, place.index, LAST_JOINTS, number))
        return NULL;
    struct gathering like = {.comm = place.index,
                             .function = kind,
                             .operation = kind,
                             .form = FORM_ALL_TO_ALL,
                             .inter = comm->inter,
                             .size = {comm->size, comm->inter ? comm->remote_size : 0}};
    lane->attendee = (struct attendee){.world_rank = process->world_rank, .rank = place.rank, .side = place.side};
    struct moment moment = lane_moment(lanes->analysis, lane);
    struct gathering *joint = gathering_enter(&lanes->analysis->joints, &like, number, &lane->attendee, moment);
    path_drop(&lanes->analysis->paths, moment.path);
    return joint;
}

void joint_begin(struct analysis_lanes *lanes, struct analysis_lane *lane)
{
    lane->unjoined = false;
    lane->joint = lane->finalized || call_is_mark(&lane->call) ? NULL : joint_make(lanes, lane);
}

/* These calls may wait for ranks that the analysis does not know. */
static bool call_waits_for_any(unsigned kind)
{
    switch (kind) {
    case CALL_MPI_Comm_create_group:
    case CALL_MPI_Comm_create_from_group:
    case CALL_MPI_Intercomm_create:
    case CALL_MPI_Win_lock_all:
    case CALL_MPI_Win_unlock_all:
    case CALL_MPI_Win_flush_all:
        return true;
    default:
        return false;
    }
}

static bool call_leaves_the_job(unsigned kind)
{
    return kind == CALL_MPI_Comm_spawn || kind == CALL_MPI_Comm_spawn_multiple || kind == CALL_MPI_Comm_accept ||
           kind == CALL_MPI_Comm_connect || kind == CALL_MPI_Comm_join;
}

static enum wait_pattern joint_pattern(unsigned kind)
{
    return kind == CALL_MPI_Win_fence ? WAIT_AT_BARRIER : call_is_collective_io(kind) ? WAIT_AT_NXN : WAIT_AT_CREATION;
}

void joint_end(struct analysis_lanes *lanes, struct analysis_lane *lane, struct blame *blame)
{
    unsigned kind = event_kind(&lane->call.event);
    struct arrival last;
    if (call_is_mark(&lane->call))
        return;
    lanes->leaves_the_job |= call_leaves_the_job(kind);
    if ((lane->call.event.kind & EVENT_FAILED) || lane->unjoined || call_waits_for_any(kind))
        need_unknown(lanes);
    if (!lane->joint)
        return;
    enum cause_known known = gathering_cause(lane->joint, &lane->attendee, &last);
    need_gathered(lanes, lane, lane->joint, &lane->attendee, known, 0);
    if (known == CAUSE_UNKNOWN &&
        call_is_collective_io(kind)) /* it does not hold its members: later ones need not wait */
        lane->joint->mixed = true;
    if (known == CAUSE_KNOWN)
        blame_offer(blame, joint_pattern(kind), lane->joint->comm, &last, lane->joint);
}

void joint_leave(struct analysis_lanes *lanes, struct analysis_lane *lane)
{
    if (lane->joint && gathering_leave(lane->joint))
        gathering_release(&lanes->analysis->joints, lane->joint);
    lane->joint = NULL;
}

/* A nonblocking access of all members has ended. */
void joint_access_end(struct analysis_lanes *lanes, const struct event *ended)
{
    if (event_kind(ended) == RECORD_IO_DONE && ended->duration < CALL_COUNT &&
        strstr(call_table[ended->duration].name, "_all"))
        need_unknown(lanes);
}
