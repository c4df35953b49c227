#include "analysis/analysis_lanes.h"

#include <string.h>

enum wait_pattern gathering_pattern(const struct gathering *gathering)
{
    if (!call_table[gathering->function].op)
        return WAIT_AT_CREATION;
    switch (gathering->form) {
    case FORM_BARRIER:
        return WAIT_AT_BARRIER;
    case FORM_ONE_TO_ALL:
        return WAIT_LATE_BROADCAST;
    case FORM_ALL_TO_ONE:
        return WAIT_EARLY_REDUCE;
    case FORM_PREFIX:
        return WAIT_EARLY_SCAN;
    default:
        return WAIT_AT_NXN;
    }
}

void path_advance(struct analysis *analysis, struct analysis_lane *lane, unsigned function, uint64_t until)
{
    if (lane->finalized || until <= lane->cursor_ns)
        return;
    uint64_t ns = until - lane->cursor_ns, off = pause_ns(lane->process, until);
    if (function == CALL_NONE && off > lane->cursor_off_ns)
        ns -= off - lane->cursor_off_ns < ns ? off - lane->cursor_off_ns : ns;
    uint64_t key = step_key(lane->process->world_rank, function == CALL_NONE ? lane->segment : 0, function);
    path_add(&analysis->paths, &lane->path, key, ns);
    lane->cursor_ns = until;
    lane->cursor_off_ns = off;
}

void blame_offer(struct blame *blame, enum wait_pattern pattern, uint32_t comm, const struct arrival *cause,
                 struct gathering *gathering)
{
    if (blame->found && (cause->moment.ns < blame->cause.moment.ns) != blame->earliest)
        return;
    path_hold(cause->moment.path);
    path_drop(blame->paths, blame->cause.moment.path);
    *blame = (struct blame){blame->paths, pattern, comm, *cause, gathering, true, blame->earliest};
}

/* Returns whether the call returns only after its event has happened. */
static bool call_waits(const struct analysis_lane *lane)
{
    switch (call_shape(&lane->call)) {
    case FOLD_SEND:
    case FOLD_RECV:
    case FOLD_SENDRECV:
    case FOLD_COLL:
    case FOLD_COMM:
        return true;
    default:
        break;
    }
    unsigned kind = event_kind(&lane->call.event);
    return lane->joint || kind == CALL_MPI_Win_lock || kind == CALL_MPI_Win_unlock || kind == CALL_MPI_Win_flush ||
           kind == CALL_MPI_Win_start || kind == CALL_MPI_Win_complete || kind == CALL_MPI_Win_wait ||
           kind == CALL_MPI_Wait || kind == CALL_MPI_Waitall || kind == CALL_MPI_Waitany || kind == CALL_MPI_Waitsome;
}

static void lane_stretch_add(struct analysis_lanes *lanes, struct analysis_lane *lane, enum stretch_kind kind,
                             uint32_t what, uint64_t from_ns, uint64_t to_ns);

/* ---- segments ---------------------------------------------------------------------------------------------------- */

void segment_end(struct analysis_lanes *lanes, struct analysis_lane *lane)
{
    struct analysis *analysis = lanes->analysis;
    const struct analysis_process *process = lane->process;
    lane->place = lane->call.path < process->path_count ? process->places[lane->call.path] : 0;
    lane->segment = 0;
    lane->visit = UINT64_MAX;
    if (call_is_mark(&lane->call) || !lane->last_ns || lane->begin_ns < lane->last_ns || lane->last_ns < lanes->zero_ns)
        return;
    if (pause_ns(process, lane->begin_ns) != lane->last_off_ns) { /* calls may have been between the two */
        return;
    }
    uint64_t ns = lane->begin_ns - lane->last_ns;
    if (lane->place && lane->last_place)
        lane->segment = segment_find(&analysis->segments, lane->last_place, lane->place);
    lane_stretch_add(lanes, lane, STRETCH_COMPUTES, lane->segment, lane->last_ns, lane->begin_ns);
    if (!lane->segment || !selection_has_rank(analysis->selection, process->world_rank) ||
        !selection_has_time(analysis->selection, (int64_t)lane->last_ns, (int64_t)lane->begin_ns))
        return;
    struct segment_sum *sum = segment_of_rank(&analysis->segments, lane->segment, process->world_rank);
    if (!sum)
        return;
    if (!sum->count)
        sum->before = last_visits_before(analysis, lane->last_place, lane->place, process->world_rank);
    last_visit_count(analysis, lane->last_place, lane->place, process->world_rank);
    lane->visit = sum->before + sum->count++;
    sum->ns += ns;
    sum->off_ns += lane->off_ns < ns ? lane->off_ns : ns;
    if (!analysis->plan)
        segment_visit_add(&analysis->segments, lane->segment, lane->visit, (double)ns);
}

void segment_begin(struct analysis_lane *lane)
{
    if (call_is_mark(&lane->call))
        return;
    lane->last_place = lane->place;
    lane->last_ns = lane->end_ns;
    lane->last_off_ns = pause_ns(lane->process, lane->end_ns);
}

/* ---- roots of waits ---------------------------------------------------------------------------------------------- */

struct rooted_wait {
    const struct analysis_lanes *lanes;
    const struct analysis_wait *wait;
    struct wait_place *place; /* or NULL */
    int32_t rank;             /* with the largest part, and */
    uint64_t most_ns;         /* how long that is */
};

/* Of the segments that others waited for, the record keeps the one that has most of the time. */
static void segment_vote(struct wait_place *place, uint32_t segment, int32_t rank, uint64_t ns)
{
    if (place->segment == segment && place->segment_rank == rank) {
        place->segment_ns += ns;
    } else if (place->segment_ns < ns) {
        place->segment = segment;
        place->segment_rank = rank;
        place->segment_ns = ns - place->segment_ns;
    } else {
        place->segment_ns -= ns;
    }
}

static void root_take(void *data, const struct root *root)
{
    struct rooted_wait *rooted = data;
    const struct analysis_wait *wait = rooted->wait;
    struct analysis *analysis = rooted->lanes->analysis;
    const struct analysis_lane *lane = &rooted->lanes->list[root->thread];
    int32_t rank = lane->process->world_rank;
    uint32_t segment = root->kind == STRETCH_COMPUTES ? root->what : 0;
    uint64_t key = wait_key(wait->pattern, wait->function, wait->comm);
    analysis_sum(analysis, &analysis->causes, key, (uint64_t)rank, 0, root->ns);
    delay_add(&analysis->delays, rank, lane->thread, root, key, delay_of_function(rank));
    if (root->ns > rooted->most_ns) {
        rooted->most_ns = root->ns;
        rooted->rank = rank;
    }
    struct segment_sum *sum = segment_of_rank(&analysis->segments, segment, rank);
    if (sum) {
        sum->blamed_ns += root->ns;
        sum->sends_ns += wait->pattern == WAIT_LATE_SENDER ? root->ns : 0;
        sum->roots_ns += wait->pattern == WAIT_LATE_BROADCAST ? root->ns : 0;
    }
    if (!rooted->place)
        return;
    segment_vote(rooted->place, segment, rank, root->ns);
    delay_add(&analysis->delays, rank, lane->thread, root, rooted->place->keyed.key[0],
              delay_of_place(wait->cause->world_rank));
}

static struct wait_place *wait_place_add(struct analysis *analysis, const struct analysis_wait *wait)
{
    const struct arrival *cause = wait->cause;
    if (!wait->place || !cause->moment.place || wait->place > WAIT_PLACES_MOST ||
        cause->moment.place > WAIT_PLACES_MOST)
        return NULL;
    uint64_t key = wait_place_key(wait->pattern, wait->place, cause->moment.place);
    struct wait_place *place = keytable_make(
        &analysis->wait_places, key, (uint64_t)(uint32_t)wait->rank << 32 | (uint32_t)cause->world_rank, sizeof *place);
    if (!place) {
        analysis->no_memory = true;
        return NULL;
    }
    place->count++;
    place->ns += wait->ns;
    return place;
}

static uint32_t awaited_thread(const struct analysis_lanes *lanes, const struct arrival *cause)
{
    const struct analysis_process *process = &lanes->processes[cause->world_rank];
    size_t first = process->first ? (size_t)(process->first - lanes->list) : 0, i = first;
    while (i < lanes->count && lanes->list[i].process == process && lanes->list[i].thread != cause->moment.thread)
        i++;
    return (uint32_t)(i < lanes->count && lanes->list[i].process == process ? i : first);
}

/* Adds a wait to all tables. */
static void rooted_wait_add(const struct analysis_lanes *lanes, const struct analysis_wait *wait)
{
    struct analysis *analysis = lanes->analysis;
    if (analysis->plan) /* nobody asks for it */
        return;
    struct rooted_wait rooted = {.lanes = lanes, .wait = wait, .rank = wait->cause->world_rank};
    analysis_wait(analysis, wait);
    rooted.place = wait_place_add(analysis, wait);
    history_roots(lanes->histories, awaited_thread(lanes, wait->cause), wait->begin_ns, wait->begin_ns + wait->ns,
                  root_take, &rooted);
    analysis_sum(analysis, &analysis->causes, wait_key(wait->pattern, wait->function, wait->comm),
                 (uint64_t)rooted.rank, 1, 0);
}

/* Adds what the thread has done. */
static void lane_stretch_add(struct analysis_lanes *lanes, struct analysis_lane *lane, enum stretch_kind kind,
                             uint32_t what, uint64_t from_ns, uint64_t to_ns)
{
    struct stretch stretch = {from_ns, to_ns, kind, what};
    if (!lanes->analysis->plan)
        lanes->analysis->no_memory |= !history_add(&lane->history, stretch, lanes->needed_ns);
}

/* Adds the call's time to the path. Before it comes the path of the location that the call waited for. */
void wait_settle(struct analysis_lanes *lanes, struct analysis_lane *lane, const struct blame *blame)
{
    struct analysis *analysis = lanes->analysis;
    const struct moment *cause = &blame->cause.moment;
    unsigned kind = event_kind(&lane->call.event);
    int32_t rank = lane->process->world_rank;
    bool waited = blame->found && call_waits(lane) && cause->ns > lane->begin_ns && lane->begin_ns >= lanes->zero_ns;
    uint64_t worked_ns = lane->begin_ns;
    if (waited) {
        uint64_t ns = (cause->ns < lane->end_ns ? cause->ns : lane->end_ns) - lane->begin_ns;
        if (blame->gathering)
            blame->gathering->waited_ns += ns;
        if (analysis_selects(analysis, rank, blame->comm, kind, lane->begin_ns, lane->end_ns))
            rooted_wait_add(lanes, &(struct analysis_wait){blame->pattern, kind, blame->comm, rank, lane->number,
                                                           lane->place, lane->begin_ns, ns, &blame->cause});
        worked_ns += ns;
        lane_stretch_add(lanes, lane, STRETCH_WAITS, awaited_thread(lanes, &blame->cause), lane->begin_ns, worked_ns);
        if (!analysis->plan && cause->path && cause->path_ns > lane->cursor_ns && cause->path_ns <= lane->end_ns &&
            !lane->finalized) {
            path_switch(&analysis->paths, &lane->path, cause->path);
            lane->cursor_ns = cause->path_ns;
        }
    }
    path_advance(analysis, lane, call_is_mark(&lane->call) ? CALL_NONE : kind, lane->end_ns);
    if (!call_is_mark(&lane->call))
        lane_stretch_add(lanes, lane, STRETCH_WORKS, kind, worked_ns, lane->end_ns);
}

/* ---- probes ------------------------------------------------------------------------------------------------------ */

bool call_probes(const struct traced_call *call)
{
    unsigned kind = event_kind(&call->event);
    return (kind == CALL_MPI_Probe || kind == CALL_MPI_Mprobe) && !(call->event.kind & EVENT_FAILED);
}

static void probe_forget(struct analysis *analysis, struct analysis_lane *lane)
{
    path_drop(&analysis->paths, lane->probe.path);
    lane->probe = (struct lane_probe){.began = lane->probe.began, .ended = lane->probe.ended};
}

void probe_remember(struct analysis_lanes *lanes, struct analysis_lane *lane, uint32_t comm, int32_t source)
{
    struct analysis *analysis = lanes->analysis;
    const struct event *event = &lane->call.event;
    probe_forget(analysis, lane);
    if (event->peer == PEER_PROC_NULL)
        return;
    lane->probe = (struct lane_probe){.waits = true,
                                      .began = lane->probe.began,
                                      .ended = lane->probe.ended,
                                      .function = event_kind(event),
                                      .asked = {.comm = comm,
                                                .source = event->peer == PEER_ANY ? FROM_ANY : source,
                                                .tag = event->tag == TAG_ANY ? OF_ANY_TAG : event->tag},
                                      .begin_ns = lane->begin_ns,
                                      .call = lane->number,
                                      .place = lane->place,
                                      .end_ns = lane->end_ns,
                                      .cursor_ns = lane->cursor_ns,
                                      .path = path_hold(lane->path),
                                      .useful_ns = lane->clock.useful_ns,
                                      .stalled_ns = lane->stalled_ns};
    memcpy(lane->probe.began, lanes->before, lanes->worlds * sizeof *lanes->before);
    memcpy(lane->probe.ended, lane->clock.times, lanes->worlds * sizeof *lanes->before);
}

void probe_settle(struct analysis_lanes *lanes, struct analysis_lane *lane, const struct envelope *envelope, bool sent)
{
    struct analysis *analysis = lanes->analysis;
    struct lane_probe *probe = &lane->probe;
    bool fits = probe->waits && envelope->source != FROM_ANY && envelope->tag != OF_ANY_TAG &&
                probe->asked.comm == envelope->comm && !envelope->partitioned &&
                (probe->asked.source == FROM_ANY || probe->asked.source == envelope->source) &&
                (probe->asked.tag == OF_ANY_TAG || probe->asked.tag == envelope->tag);
    const struct message *message = fits && sent ? matching_next(&analysis->matching, envelope) : NULL;
    if (!fits)
        return;
    int32_t rank = lane->process->world_rank;
    if (message && path_times(message->begun.path))
        worlds_amend(lanes, lane, path_times(message->begun.path));
    if (message && message->begun.ns > probe->begin_ns && message->begun.ns <= probe->end_ns &&
        probe->begin_ns >= lanes->zero_ns) {
        const struct moment *begun = &message->begun;
        if (analysis_selects(analysis, rank, envelope->comm, probe->function, probe->begin_ns, probe->end_ns)) {
            const struct arrival cause = {*begun, envelope->source};
            uint64_t ns = begun->ns - probe->begin_ns;
            rooted_wait_add(lanes, &(struct analysis_wait){WAIT_LATE_SENDER, probe->function, envelope->comm, rank,
                                                           probe->call, probe->place, probe->begin_ns, ns, &cause});
        }
        if (begun->path_ns > probe->cursor_ns)
            path_detour(&analysis->paths, lane->path, probe->path, begun->path, step_key(rank, 0, probe->function),
                        begun->path_ns - probe->cursor_ns);
    }
    probe_forget(analysis, lane);
}
