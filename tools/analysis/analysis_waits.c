#include "analysis/analysis_lanes.h"

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
    path_add(&analysis->paths, &lane->path, path_key(lane->process->world_rank, function), until - lane->cursor_ns);
    lane->cursor_ns = until;
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
static bool call_waits(const struct traced_call *call)
{
    switch (call_shape(call)) {
    case FOLD_SEND:
    case FOLD_RECV:
    case FOLD_SENDRECV:
    case FOLD_COLL:
    case FOLD_COMM:
        return true;
    default:
        break;
    }
    unsigned kind = event_kind(&call->event);
    return kind == CALL_MPI_Wait || kind == CALL_MPI_Waitall || kind == CALL_MPI_Waitany || kind == CALL_MPI_Waitsome;
}

/* Adds the call's time to the path. Before it comes the path of the location that the call waited for. */
void wait_settle(struct analysis *analysis, struct analysis_lane *lane, const struct blame *blame)
{
    const struct moment *cause = &blame->cause.moment;
    unsigned kind = event_kind(&lane->call.event);
    int32_t rank = lane->process->world_rank;
    bool waited = blame->found && call_waits(&lane->call) && cause->ns > lane->begin_ns;
    if (waited) {
        uint64_t ns = (cause->ns < lane->end_ns ? cause->ns : lane->end_ns) - lane->begin_ns;
        if (blame->gathering)
            blame->gathering->waited_ns += ns;
        if (analysis_selects(analysis, rank, blame->comm, kind, lane->begin_ns, lane->end_ns)) {
            uint64_t key = wait_key(blame->pattern, kind, blame->comm);
            analysis_sum(analysis, &analysis->waits, key, (uint64_t)rank, 1, ns);
            analysis_sum(analysis, &analysis->causes, key, (uint64_t)blame->cause.world_rank, 1, ns);
        }
        if (cause->path && cause->path_ns > lane->cursor_ns && cause->path_ns <= lane->end_ns && !lane->finalized) {
            path_switch(&analysis->paths, &lane->path, cause->path);
            lane->cursor_ns = cause->path_ns;
        }
    }
    path_advance(analysis, lane, call_is_mark(&lane->call) ? CALL_NONE : kind, lane->end_ns);
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
    lane->probe = (struct lane_probe){0};
}

void probe_remember(struct analysis *analysis, struct analysis_lane *lane, uint32_t comm, int32_t source)
{
    const struct event *event = &lane->call.event;
    probe_forget(analysis, lane);
    if (event->peer == PEER_PROC_NULL)
        return;
    lane->probe = (struct lane_probe){.waits = true,
                                      .function = event_kind(event),
                                      .asked = {.comm = comm,
                                                .source = event->peer == PEER_ANY ? FROM_ANY : source,
                                                .tag = event->tag == TAG_ANY ? OF_ANY_TAG : event->tag},
                                      .begin_ns = lane->begin_ns,
                                      .end_ns = lane->end_ns,
                                      .cursor_ns = lane->cursor_ns,
                                      .path = path_hold(lane->path)};
}

void probe_settle(struct analysis *analysis, struct analysis_lane *lane, const struct envelope *envelope)
{
    struct lane_probe *probe = &lane->probe;
    bool fits = probe->waits && envelope->source != FROM_ANY && envelope->tag != OF_ANY_TAG &&
                probe->asked.comm == envelope->comm && !envelope->partitioned &&
                (probe->asked.source == FROM_ANY || probe->asked.source == envelope->source) &&
                (probe->asked.tag == OF_ANY_TAG || probe->asked.tag == envelope->tag);
    const struct message *message = fits ? matching_next(&analysis->matching, envelope) : NULL;
    if (!fits)
        return;
    int32_t rank = lane->process->world_rank;
    if (message && message->begun.ns > probe->begin_ns && message->begun.ns <= probe->end_ns) {
        const struct moment *begun = &message->begun;
        if (analysis_selects(analysis, rank, envelope->comm, probe->function, probe->begin_ns, probe->end_ns)) {
            uint64_t key = wait_key(WAIT_LATE_SENDER, probe->function, envelope->comm),
                     ns = begun->ns - probe->begin_ns;
            analysis_sum(analysis, &analysis->waits, key, (uint64_t)rank, 1, ns);
            analysis_sum(analysis, &analysis->causes, key, (uint64_t)envelope->source, 1, ns);
        }
        if (begun->path_ns > probe->cursor_ns)
            path_detour(&analysis->paths, lane->path, probe->path, begun->path, path_key(rank, probe->function),
                        begun->path_ns - probe->cursor_ns);
    }
    probe_forget(analysis, lane);
}
