/* The clocks of all worlds: what each call needs, and when it ends in each world. */
#include "analysis/analysis_lanes.h"

#include <stdlib.h>
#include <string.h>

/* A call that takes so many times the usual time has lost its processor meanwhile. */
#define ORDINARY_TIMES 8

/* The time of a loop between two small messages, at most. */
enum { GAP_NS = 5000 };

/* Sends follow each other if the time between them is this part of the computation before the first. */
enum { SEND_GAPS = 10 };

/* A thread slept until another one left MPI if the two times differ by less than this part of the computation. */
enum { SIBLING_PARTS = 10 };

/* A send of so many bytes that took this part of the usual time of its message lasted until that had come. */
enum { SENT_BYTES = 4096 };
#define SENT_SHARE 0.5

enum { LANE_VECTORS = 6 }; /* of a clock, and of a probe */

/* Calls do no work there. */
#define WORLDS_FREE ((world_set)1 << WORLD_FREE_LEAST | (world_set)1 << WORLD_FREE_MOST)

/* ---- clocks of ranks --------------------------------------------------------------------------------------------- */

static uint64_t header_time(const struct analysis *analysis, int32_t rank, uint64_t ticks, uint64_t other)
{
    const struct trace_rank *found = &analysis->job.ranks[rank];
    return ticks ? trace_time(&analysis->job, found, ticks) : other;
}

/* The begin of the first rank. */
static uint64_t job_begin_ns(const struct analysis *analysis)
{
    uint64_t first = UINT64_MAX;
    for (int32_t r = 0; r < analysis->job.size; r++) {
        const struct run_reader *run = analysis->job.ranks[r].run;
        uint64_t ns = run ? header_time(analysis, r, run->header.begin_ticks, 0) : UINT64_MAX;
        first = ns < first ? ns : first;
    }
    return first;
}

int worlds_open(struct analysis_lanes *lanes)
{
    size_t count = lanes->analysis->plan ? lanes->analysis->plan->count : WORLDS_FIXED;
    lanes->worlds = lanes->analysis->paths.times = count;
    lanes->analysis->paths.only_times = lanes->analysis->plan != NULL;
    lanes->zero_ns = job_begin_ns(lanes->analysis);
    lanes->rounds = calloc(2 * lanes->analysis->comms.count + 1, 1);
    lanes->rounds_placed = lanes->rounds ? lanes->rounds + lanes->analysis->comms.count : NULL;
    lanes->need = calloc(count, sizeof *lanes->need);
    lanes->before = calloc(count, sizeof *lanes->before);
    lanes->times = calloc((lanes->capacity + 1) * LANE_VECTORS * count, sizeof *lanes->times);
    return lanes->rounds && lanes->need && lanes->before && lanes->times ? 0 : -1;
}

void worlds_release(struct analysis_lanes *lanes)
{
    free(lanes->rounds);
    free(lanes->need);
    free(lanes->before);
    free(lanes->times);
}

/* It is not known when another thread began. Its clock starts with its first call, so long after the last call of the process
 * as in the recorded run. */
static void thread_start(const struct analysis_lanes *lanes, struct analysis_lane *lane)
{
    const struct analysis_lane *last = lane->process->last;
    struct world_clock *clock = &lane->clock;
    uint64_t begin_ns = lane->begin_ns > clock->at_ns ? lane->begin_ns : clock->at_ns;
    double since = (double)(begin_ns - clock->at_ns);
    if (last && last->clock.at_ns <= begin_ns) {
        memcpy(clock->times, last->clock.times, lanes->worlds * sizeof *clock->times);
        since = (double)(begin_ns - last->clock.at_ns);
    }
    for (size_t k = 0; k < lanes->worlds; k++)
        clock->before[k] = clock->times[k] += since;
    clock->from_ns = clock->at_ns = begin_ns;
}

void worlds_start(struct analysis_lanes *lanes, struct analysis_lane *lane)
{
    const struct analysis *analysis = lanes->analysis;
    struct analysis_process *process = lane->process;
    const struct run_header *header = &analysis->job.ranks[process->world_rank].run->header;
    double *times = lanes->times + (size_t)(lane - lanes->list) * LANE_VECTORS * lanes->worlds;
    process->init_ns = header_time(analysis, process->world_rank, header->init_ticks, lanes->zero_ns);
    process->init_ns = process->init_ns > lanes->zero_ns ? process->init_ns : lanes->zero_ns;
    process->finalize_ns = header_time(analysis, process->world_rank, header->finalize_ticks, UINT64_MAX);
    lane->clock = (struct world_clock){.from_ns = process->init_ns,
                                       .at_ns = process->init_ns,
                                       .times = times,
                                       .before = times + 3 * lanes->worlds,
                                       .useful = times + 4 * lanes->worlds,
                                       .work = times + 5 * lanes->worlds};
    lane->probe.began = times + lanes->worlds;
    lane->probe.ended = times + 2 * lanes->worlds;
    for (size_t k = 0; k < lanes->worlds; k++)
        times[k] = lane->clock.before[k] = world_time(lanes, process->init_ns);
    if (lane != process->first)
        thread_start(lanes, lane);
}

static uint64_t in_run(const struct analysis_lane *lane, uint64_t ns)
{
    return ns < lane->process->finalize_ns ? ns : lane->process->finalize_ns;
}

/* The worlds in which the time between two calls goes, too: what a loop of small messages or collectives does between
 * them. */
static world_set gap_overhead(const struct analysis_lanes *lanes, const struct analysis_lane *lane, uint64_t ns)
{
    const struct world_plan *plan = lanes->analysis->plan;
    enum call_group group = world_plan_group(plan, lane->place);
    bool small = group == GROUP_SMALL_MESSAGES || group == GROUP_SMALL_COLLECTIVES;
    return small && ns < GAP_NS && world_plan_group(plan, lane->last_place) == group ? plan->cheap[group] : 0;
}

/* Threads of a rank wait for each other outside of MPI, and the trace does not show where. But a thread that had no processor
 * just until another one left a wait in MPI has waited for that, most likely, and before MPI_Finalize for the end of the
 * others. One that slept longer or shorter did so for itself. NULL: it has not waited. */
static const struct analysis_lane *awaited_sibling(const struct analysis_lane *lane, uint64_t ns, uint64_t off_ns)
{
    bool ends = event_kind(&lane->call.event) == CALL_MPI_Finalize;
    const struct analysis_lane *other = ends ? lane->process->last : lane->process->waiter;
    uint64_t from_ns = lane->clock.at_ns, left_ns = !other ? 0 : ends ? other->last_ns : other->waited_ns;
    if (other == lane || left_ns < from_ns || 2 * off_ns < ns)
        return NULL;
    uint64_t until_ns = left_ns - from_ns, apart = off_ns > until_ns ? off_ns - until_ns : until_ns - off_ns;
    return SIBLING_PARTS * apart < ns ? other : NULL;
}

/* In each world the thread is at least as far behind the other one as it was when it was recorded. */
static void clock_join(const struct analysis_lanes *lanes, struct world_clock *clock, const struct world_clock *other)
{
    double since = clock->at_ns > other->at_ns ? (double)(clock->at_ns - other->at_ns) : 0;
    for (size_t k = 0; k < lanes->worlds; k++)
        clock->times[k] = other->times[k] + since > clock->times[k] ? other->times[k] + since : clock->times[k];
}

/* The computation since the last call. */
static void clock_compute(struct analysis_lanes *lanes, struct analysis_lane *lane, uint64_t until_ns)
{
    struct world_clock *clock = &lane->clock;
    if (until_ns <= clock->at_ns)
        return;
    uint64_t ns = until_ns - clock->at_ns, off = lane->off_ns < ns ? lane->off_ns : ns;
    const struct analysis_lane *sibling = awaited_sibling(lane, ns, off);
    double own = sibling ? (double)(ns - off) / (double)ns : 1;
    clock->useful_ns += ns;
    clock->off_ns += off;
    lane->off_ns = 0;
    lane->locked_ns += ns;
    clock->at_ns = until_ns;
    if (lanes->analysis->passes && lane == lane->process->first)
        passes_compute(lanes->analysis->passes, lane->process->world_rank, lane->segment, ns);
    double taken[WORLDS_MOST];
    world_plan_compute(
        lanes->analysis->plan,
        &(struct computation){lane->process->world_rank, lane->segment, lane->visit, (double)ns, (double)off}, taken,
        lanes->worlds);
    for (world_set rest = gap_overhead(lanes, lane, ns); rest; rest &= rest - 1)
        taken[__builtin_ctzll(rest)] = 0;
    if (!lane->sends || SEND_GAPS * ns >= clock->before_ns) {
        memcpy(clock->before, clock->times, lanes->worlds * sizeof *clock->times);
        clock->before_ns = ns;
    }
    for (size_t k = 0; k < lanes->worlds; k++) {
        clock->times[k] += own * taken[k];
        clock->useful[k] += own * taken[k];
    }
    if (sibling) {
        clock_join(lanes, clock, &sibling->clock);
        lane->received = true; /* what it computes after that, and sends, may need what the other one got */
    }
}

/* How long a call found nothing to do, though all had begun that it needs: with fewer processors than ranks, it or
 * another rank had none. */
static double beyond_need(double stalled, double waited, double work)
{
    double rest = stalled - waited;
    return rest < 0 ? 0 : rest < work ? rest : work;
}

/* Of the work of a call: what it takes while it has its processor. */
static double ordinary_work(const struct world_plan *plan, uint32_t place, double work)
{
    double most = place < plan->place_count ? ORDINARY_TIMES * plan->usual_ns[place] : 0;
    return most > 0 && most < work ? most : work;
}

/* The worlds in which the calls of a place cost nothing. */
static world_set free_worlds(const struct world_plan *plan, uint32_t place)
{
    if (!plan)
        return 0;
    return plan->free[world_plan_group(plan, place)] | (plan->calls ? plan->calls[place] : 0);
}

/* The call ends. In a world it ends when all has begun that it needs, and its own work is done. */
static void clock_call(struct analysis_lanes *lanes, struct analysis_lane *lane, uint64_t end_ns)
{
    struct world_clock *clock = &lane->clock;
    const double *need = lanes->need;
    double end = world_time(lanes, end_ns > clock->at_ns ? end_ns : clock->at_ns), *before = lanes->before;
    double begin = clock->times[WORLD_RECORDED], ready = need[WORLD_RECORDED] > begin ? need[WORLD_RECORDED] : begin;
    double work = end > ready ? end - ready : 0;
    const struct world_plan *plan = lanes->analysis->plan;
    enum call_group group = world_plan_group(plan, lane->place);
    if (lanes->unsure)
        lanes->unknown_ns += work;
    clock->stalled_ns += (uint64_t)lane->stalled_ns;
    double lost = beyond_need(lane->stalled_ns, ready - begin, work);
    if (!plan)
        place_work_add(&lanes->analysis->works, lane->place, work, work - lost);
    else if (plan->crowded)
        work = ordinary_work(plan, lane->place, work - lost);
    memcpy(before, clock->times, lanes->worlds * sizeof *before);
    for (size_t k = 0; k < lanes->worlds; k++)
        clock->times[k] = (need[k] > before[k] ? need[k] : before[k]) + work;
    double usual = group != GROUP_NONE ? ordinary_work(plan, lane->place, work) : work;
    for (world_set rest = WORLDS_FREE; rest; rest &= rest - 1)
        clock->times[__builtin_ctzll(rest)] -= work;
    for (world_set rest = plan ? plan->cheap[group] : 0; rest; rest &= rest - 1)
        clock->times[__builtin_ctzll(rest)] -= usual;
    for (world_set rest = plan && !lanes->unsure ? plan->even_work : 0; rest; rest &= rest - 1)
        clock->times[__builtin_ctzll(rest)] +=
            (plan->cheap[group] & (world_set)1 << __builtin_ctzll(rest) ? work - usual : work) *
            (plan->work_factors[lane->process->world_rank] - 1);
    for (world_set rest = free_worlds(plan, lane->place); rest; rest &= rest - 1)
        clock->times[__builtin_ctzll(rest)] = before[__builtin_ctzll(rest)];
    clock->times[WORLD_RECORDED] = end;
    for (size_t k = 0; k < lanes->worlds && !lanes->unsure; k++) {
        double own = clock->times[k] - (need[k] > before[k] ? need[k] : before[k]);
        clock->work[k] += own > 0 ? own : 0; /* a call that is free needs nobody */
    }
    lane->sends = call_shape(&lane->call) == FOLD_SEND || call_shape(&lane->call) == FOLD_POST_SEND;
    if (!lane->sends) {
        memcpy(clock->before, clock->times, lanes->worlds * sizeof *clock->times);
        clock->before_ns = 0;
    }
    clock->at_ns = end_ns > clock->at_ns ? end_ns : clock->at_ns;
}

/* The times at which a send begins. The caller drops the path. */
struct path *worlds_mark_send(struct analysis_lanes *lanes, struct analysis_lane *lane)
{
    const struct world_clock *clock = &lane->clock;
    double times[WORLDS_MOST];
    world_set rest = lanes->analysis->plan && !lane->received ? lanes->analysis->plan->sends_early : 0;
    memcpy(times, clock->times, lanes->worlds * sizeof *times);
    for (; rest; rest &= rest - 1)
        times[__builtin_ctzll(rest)] = clock->before[__builtin_ctzll(rest)];
    return path_mark(&lanes->analysis->paths, &lane->path, times);
}

struct path *worlds_mark_release(struct analysis_lanes *lanes, struct analysis_lane *lane)
{
    double times[WORLDS_MOST];
    world_set rest = lanes->analysis->plan ? lanes->analysis->plan->locks_short : 0;
    bool mostly = 2 * lane->locked_ns > lane->begin_ns - lane->locked_from_ns; /* then whoever comes finds it free */
    memcpy(times, lane->clock.times, lanes->worlds * sizeof *times);
    for (; rest; rest &= rest - 1)
        times[__builtin_ctzll(rest)] = mostly ? 0 : times[__builtin_ctzll(rest)] - (double)lane->locked_ns;
    return path_mark(&lanes->analysis->paths, &lane->path, times);
}

void worlds_amend(struct analysis_lanes *lanes, struct analysis_lane *lane, const double *from)
{
    const struct lane_probe *probe = &lane->probe;
    double begin = probe->began[WORLD_RECORDED], end = probe->ended[WORLD_RECORDED];
    double since = (double)(lane->clock.useful_ns - probe->useful_ns);
    double ready = from[WORLD_RECORDED] > begin ? from[WORLD_RECORDED] : begin, work = end > ready ? end - ready : 0;
    if (lanes->analysis->plan && lanes->analysis->plan->crowded)
        work -= beyond_need(probe->stalled_ns, ready - begin, work);
    const struct world_plan *plan = lanes->analysis->plan;
    world_set others = plan ? plan->at_once | plan->any_order : 0; /* the receive says what they need */
    for (size_t k = WORLD_RECORDED + 1; k < lanes->worlds; k++) {
        bool needs = !(others >> k & 1) && from[k] > probe->began[k];
        double own = k == WORLD_FREE_LEAST || k == WORLD_FREE_MOST ? 0 : work;
        double right = (needs ? from[k] : probe->began[k]) + own, *now = &lane->clock.times[k];
        if (right < probe->ended[k])
            *now -= probe->ended[k] - right;
        else if (right + since > *now)
            *now = right + since;
    }
}

void worlds_begin(struct analysis_lanes *lanes, struct analysis_lane *lane)
{
    if (lane->finalized || call_is_mark(&lane->call))
        return;
    clock_compute(lanes, lane, in_run(lane, lane->begin_ns));
}

/* Returns whether the call may end a pass of the program's loop. A poll may find nothing. */
static bool call_may_beat(const struct traced_call *call, bool *has_peer)
{
    unsigned kind = event_kind(&call->event);
    enum fold_shape shape = call_shape(call);
    *has_peer = shape == FOLD_SEND || shape == FOLD_RECV || shape == FOLD_SENDRECV || shape == FOLD_POST_SEND ||
                shape == FOLD_POST_RECV;
    return *has_peer || shape == FOLD_COLL || shape == FOLD_POST_COLL || kind == CALL_MPI_Wait ||
           kind == CALL_MPI_Waitall || kind == CALL_MPI_Win_fence;
}

/* The first reading counts the call, and a later one measures the pass. */
static void passes_end(struct analysis_lanes *lanes, const struct analysis_lane *lane)
{
    struct analysis *analysis = lanes->analysis;
    const struct event *event = &lane->call.event;
    const struct world_clock *clock = &lane->clock;
    int32_t rank = lane->process->world_rank;
    bool has_peer;
    if (lane != lane->process->first || (analysis->plan && !analysis->passes) || analysis->judging || !lane->place ||
        !call_may_beat(&lane->call, &has_peer))
        return;
    uint64_t key = beat_key(lane->place, event_kind(event), has_peer ? event->peer : -1);
    if (analysis->passes)
        passes_call(
            analysis->passes, rank, key,
            &(struct pass_clock){.ns = clock->at_ns - lanes->zero_ns,
                                 .useful_ns = clock->useful_ns,
                                 .off_ns = clock->off_ns,
                                 .stalled_ns = clock->stalled_ns,
                                 .ideal_ns = (clock->times[WORLD_FREE_LEAST] + clock->times[WORLD_FREE_MOST]) / 2});
    else if (!beat_count(&analysis->beats, key, rank, clock->at_ns))
        analysis->no_memory = true;
}

void worlds_end(struct analysis_lanes *lanes, struct analysis_lane *lane)
{
    if (lane->finalized || call_is_mark(&lane->call) || lane->end_ns < lanes->zero_ns)
        return;
    bool waited = lanes->need[WORLD_RECORDED] > lane->clock.times[WORLD_RECORDED];
    clock_call(lanes, lane, in_run(lane, lane->end_ns));
    lane->process->last = lane;
    if (waited) {
        lane->process->waiter = lane;
        lane->waited_ns = lane->clock.at_ns;
    }
    passes_end(lanes, lane);
    if (lane->clock.times[WORLD_FREE_MOST] > lanes->ahead)
        lanes->ahead = lane->clock.times[WORLD_FREE_MOST];
}

/* ---- what a call needs ------------------------------------------------------------------------------------------- */

static void need_add(struct analysis_lanes *lanes, const double *times)
{
    if (times)
        world_times_join(lanes->need, times, lanes->worlds);
}

/* In these worlds it needs nothing. */
static void need_add_but(struct analysis_lanes *lanes, const double *times, world_set without)
{
    double need[WORLDS_MOST];
    if (!times)
        return;
    memcpy(need, lanes->need, lanes->worlds * sizeof *need);
    need_add(lanes, times);
    for (; without; without &= without - 1)
        lanes->need[__builtin_ctzll(without)] = need[__builtin_ctzll(without)];
}

/* The way of what is needed, between hosts. */
struct way {
    unsigned messages; /* one after the other */
    uint64_t bytes;
    double ns, placed_ns; /* if the plan has another order of ranks: its usual time, and in that order */
    bool awaited;         /* what the call took beyond the usual time is its way, too */
};

/* The same for something that comes over the network: in a world with another network it comes earlier or later. The recorded
 * call did not end before it came. */
static void need_add_over(struct analysis_lanes *lanes, const struct analysis_lane *lane, const double *times,
                          world_set without, struct way way)
{
    const struct world_plan *plan = lanes->analysis->plan;
    if (!times || !plan || (!plan->changes && !plan->placed)) {
        need_add_but(lanes, times, without);
        return;
    }
    double come[WORLDS_MOST], bytes = (double)way.bytes;
    double most = world_time(lanes, lane->end_ns) - times[WORLD_RECORDED],
           took = plan->changes ? way.messages * plan->latency_ns + bytes * plan->byte_ns : way.ns;
    took = took < most && !way.awaited ? took : most > 0 ? most : 0;
    for (size_t k = 0; k < lanes->worlds; k++) {
        double more = plan->changes ? way.messages * plan->changes[k].latency_ns + bytes * plan->changes[k].byte_ns : 0;
        come[k] = times[k] + (took + more > 0 ? took + more : 0);
    }
    for (unsigned k = WORLD_FREE_LEAST; !plan->changes && k <= WORLD_FREE_MOST; k++)
        come[k] = times[k];
    for (world_set rest = way.placed_ns != way.ns ? plan->placed : 0; rest; rest &= rest - 1)
        come[__builtin_ctzll(rest)] = times[__builtin_ctzll(rest)] + way.placed_ns;
    need_add_but(lanes, come, without);
}

/* The time of a message on its way, and in another order of ranks. If nobody waited for messages of its kind, it gains nothing inside
 * of a host. */
static void way_place(struct analysis *analysis, struct way *way, const struct envelope *envelope, uint64_t bytes)
{
    const struct world_plan *plan = analysis->plan;
    int32_t one = envelope->source, other = envelope->dest;
    bool between = plan->hosts[one] != plan->hosts[other], then = plan->better_hosts[one] != plan->better_hosts[other];
    double ns = one != other ? transfer_ns(plan->times, between, bytes) : 0;
    double there = between != then ? transfer_ns(plan->times, then, bytes) : ns;
    analysis->moved += between != then;
    analysis->moved_unknown += there < 0;
    way->ns = ns > 0 ? ns : 0;
    way->placed_ns = there >= 0 && (ns >= 0 || then) ? there : way->ns;
}

static struct way message_way(const struct analysis_lanes *lanes, const struct envelope *envelope, uint64_t bytes)
{
    bool between = network_is_between(&lanes->analysis->job, envelope->source, envelope->dest);
    struct way way = {.messages = between, .bytes = between && bytes != UINT64_MAX ? bytes : 0};
    if (lanes->analysis->plan && lanes->analysis->plan->placed)
        way_place(lanes->analysis, &way, envelope, bytes != UINT64_MAX ? bytes : 0);
    return way;
}

/* What a call needs, or not. */
static void may_need(struct analysis_lanes *lanes, double free_most)
{
    if (free_most > lanes->need[WORLD_FREE_MOST])
        lanes->need[WORLD_FREE_MOST] = free_most;
}

/* What has begun on a rank, it has begun until its present time. */
static void rank_may_need(struct analysis_lanes *lanes, int32_t rank)
{
    const struct analysis_lane *lane = lanes->processes[rank].first;
    lanes->analysis->ideal.unsure++;
    lanes->unsure = true;
    if (lane && lane->started)
        may_need(lanes, lane->clock.times[WORLD_FREE_MOST]);
}

static void any_may_need(struct analysis_lanes *lanes)
{
    lanes->analysis->ideal.unsure++;
    lanes->unsure = true;
    may_need(lanes, lanes->ahead);
}

static bool send_is_synchronous(unsigned function)
{
    return function == CALL_MPI_Ssend || function == CALL_MPI_Issend || function == CALL_MPI_Ssend_init;
}

/* A large send that lasted about as long as its transfer needs the network. Others were kept by the library. */
static void need_send_over(struct analysis_lanes *lanes, const struct analysis_lane *lane,
                           const struct message *message, struct way way)
{
    const double *times = path_times(message->begun.path);
    way.awaited = way.placed_ns != way.ns;
    double took = times ? world_time(lanes, lane->end_ns) - times[WORLD_RECORDED] : 0;
    if (message->bytes >= SENT_BYTES && took > SENT_SHARE * way.ns)
        need_add_over(lanes, lane, times, 0, way);
}

/* A standard send needs its receive if the recorded call returned only after that was posted. */
void need_sent(struct analysis_lanes *lanes, const struct analysis_lane *lane, const struct message *message,
               unsigned function, const struct moment *posted)
{
    struct way way = message_way(lanes, &message->envelope, message->bytes);
    way.bytes = 0;
    if (lanes->analysis->plan && lanes->analysis->plan->placed)
        need_send_over(lanes, lane, message, way);
    if (send_is_synchronous(function) && !posted)
        rank_may_need(lanes, message->envelope.dest);
    else if (posted && (send_is_synchronous(function) || (posted->ns > lane->begin_ns && posted->ns < lane->end_ns)))
        need_add_over(lanes, lane, path_times(posted->path),
                      lanes->analysis->plan ? lanes->analysis->plan->receives_early : 0, way);
}

/* The parts of a partitioned message come at any time after its begin. */
void need_received(struct analysis_lanes *lanes, const struct analysis_lane *lane, const struct receive *receive)
{
    const struct world_plan *plan = lanes->analysis->plan;
    struct way way =
        receive->matched ? message_way(lanes, &receive->envelope, receive->bytes) : (struct way){.messages = 0};
    way.awaited = way.placed_ns != way.ns && (double)lane->begin_ns < (double)receive->begun.ns + way.ns;
    if (receive->matched)
        need_add_over(lanes, lane, path_times(receive->begun.path),
                      !plan                           ? 0
                      : receive->envelope.partitioned ? plan->at_once
                                                      : plan->at_once | plan->any_order,
                      way);
    order_received(lanes, lane, receive);
    if (!receive->matched || receive->envelope.partitioned)
        rank_may_need(lanes, receive->envelope.source);
}

/* A neighbor collective has one round. In another order of ranks a communicator may have more or fewer hosts. */
static struct way gathering_way(struct analysis_lanes *lanes, const struct gathering *gathering, uint64_t bytes)
{
    const struct world_plan *plan = lanes->analysis->plan;
    const struct trace_comm *comm = &lanes->analysis->comms.list[gathering->comm];
    uint8_t *rounds = &lanes->rounds[gathering->comm], *then = &lanes->rounds_placed[gathering->comm];
    if (!plan || (!plan->changes && !plan->placed))
        return (struct way){.messages = 0};
    if (!*rounds)
        *rounds = (uint8_t)(1 + network_rounds(&lanes->analysis->job, comm));
    if (!*then && plan->placed)
        *then = (uint8_t)(1 + network_rounds_on(plan->better_hosts, plan->host_count, comm));
    unsigned now = gathering->form == FORM_NEIGHBORS && *rounds > 1 ? 1 : *rounds - 1u;
    struct way way = {.messages = now, .bytes = now ? bytes : 0};
    if (plan->placed && *then != *rounds && gathering->form != FORM_NEIGHBORS) {
        double ns = transfer_ns(plan->times, true, 0);
        way.ns = ns > 0 ? now * ns : 0;
        way.placed_ns = ns > 0 ? (*then - 1u) * ns : 0;
    }
    return way;
}

void need_gathered(struct analysis_lanes *lanes, const struct analysis_lane *lane, const struct gathering *gathering,
                   const struct attendee *who, enum cause_known known, uint64_t bytes)
{
    bool blocks = gathering == lane->gathering || gathering == lane->joint;
    if (known == CAUSE_UNKNOWN) {
        lanes->analysis->ideal.unsure++;
        lanes->unsure = true;
        may_need(lanes, gathering->latest[0][WORLD_FREE_MOST]);
        may_need(lanes, gathering->latest[1][WORLD_FREE_MOST]);
    } else if (known == CAUSE_KNOWN) {
        double times[WORLDS_MOST] = {0};
        struct way way = gathering_way(lanes, gathering, bytes);
        gathering_need(gathering, who, blocks ? lane->clock.times : NULL, times, lanes->worlds);
        need_add_over(lanes, lane, times, 0, way);
    }
}

void need_progress(struct analysis_lanes *lanes, const struct moment *moment)
{
    need_add_but(lanes, path_times(moment->path), lanes->analysis->plan ? lanes->analysis->plan->progress : 0);
}

void need_posted(struct analysis_lanes *lanes, const struct moment *posted)
{
    need_add_but(lanes, path_times(posted->path), lanes->analysis->plan ? lanes->analysis->plan->posts_early : 0);
}

void need_known(struct analysis_lanes *lanes, const struct moment *moment)
{
    need_add(lanes, path_times(moment->path));
}

void need_unknown(struct analysis_lanes *lanes)
{
    any_may_need(lanes);
}

void need_request_unknown(struct analysis_lanes *lanes, const struct event *ended)
{
    if (event_kind(ended) != RECORD_CANCELLED && event_kind(ended) != RECORD_FREED)
        any_may_need(lanes);
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

/* The wall clocks of nodes may differ by more than a call takes. A full trace has messages that correct them. A brief one may
 * have too few. */
static bool clocks_are_unknown(const struct analysis *analysis)
{
    const struct timeline_quality quality = timeline_quality(&analysis->job.line);
    return analysis->brief && quality.nodes > 1 && quality.measured < quality.nodes;
}

static const char *ranks_obstacle(const struct analysis *analysis)
{
    for (int32_t r = 0; r < analysis->job.size; r++) {
        const struct trace_rank *rank = &analysis->job.ranks[r];
        const char *obstacle = header_obstacle(&rank->run->header);
        if (obstacle)
            return obstacle;
        if (!rank->ended)
            return "a rank did not end normally";
    }
    return NULL;
}

/* The split needs all waits of threads for each other, which the trace does not show. Cures do without them. */
static const char *threads_obstacle(const struct analysis_lanes *lanes)
{
    for (size_t i = 0; i < lanes->count; i++)
        if (lanes->list[i].started && lanes->list[i].process->first != &lanes->list[i])
            return "ranks have several threads in MPI: how they wait for each other is not known";
    return NULL;
}

static const char *worlds_obstacle(const struct analysis *analysis, const struct analysis_lanes *lanes)
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
    if (clocks_are_unknown(analysis))
        return "the clocks of the nodes were not measured";
    return ranks_obstacle(analysis);
}

/* Adds a rank that has ended. */
static void world_run_add(struct ideal_run *run, const struct analysis_lanes *lanes, const struct analysis_lane *lane)
{
    const double *times = lane->clock.times;
    uint64_t start_ns = lane->process->init_ns, run_ns = lane->clock.at_ns - start_ns;
    double start = world_time(lanes, start_ns);
    uint64_t least = (uint64_t)(times[WORLD_FREE_LEAST] - start), most = (uint64_t)(times[WORLD_FREE_MOST] - start);
    run->run_ns = run_ns > run->run_ns ? run_ns : run->run_ns;
    run->useful_ns = lane->clock.useful_ns > run->useful_ns ? lane->clock.useful_ns : run->useful_ns;
    run->ideal_ns.least = least > run->ideal_ns.least ? least : run->ideal_ns.least;
    run->ideal_ns.most = most > run->ideal_ns.most ? most : run->ideal_ns.most;
    for (size_t k = 0; k < lanes->worlds; k++)
        run->world_ns[k] = times[k] - start > run->world_ns[k] ? times[k] - start : run->world_ns[k];
}

/* Adds a thread to the sums of its rank. */
static void rank_add(struct analysis *analysis, const struct analysis_lanes *lanes, const struct analysis_lane *lane)
{
    const struct world_clock *clock = &lane->clock;
    struct rank_times *times = &analysis->rank_times[lane->process->world_rank];
    size_t first = (size_t)lane->process->world_rank * lanes->worlds;
    for (size_t k = 0; k < lanes->worlds; k++) {
        analysis->useful_ns[first + k] += clock->useful[k];
        analysis->work_ns[first + k] += clock->work[k];
    }
    times->run_ns += clock->at_ns - clock->from_ns;
    times->useful_ns += clock->useful_ns;
    times->off_ns += clock->off_ns;
    times->stalled_ns += clock->stalled_ns;
    analysis->recorded_ns += (double)(clock->at_ns - clock->from_ns);
}

void worlds_find(struct analysis *analysis, struct analysis_lanes *lanes)
{
    analysis->no_worlds = worlds_obstacle(analysis, lanes);
    analysis->no_ideal = analysis->no_worlds ? analysis->no_worlds : threads_obstacle(lanes);
    analysis->unknown_ns = lanes->unknown_ns;
    analysis->worlds = lanes->worlds;
    analysis->useful_ns = calloc(((size_t)analysis->job.size + 1) * lanes->worlds, sizeof *analysis->useful_ns);
    analysis->work_ns = calloc(((size_t)analysis->job.size + 1) * lanes->worlds, sizeof *analysis->work_ns);
    analysis->rank_times = calloc((size_t)analysis->job.size + 1, sizeof *analysis->rank_times);
    analysis->no_memory |= !analysis->useful_ns || !analysis->work_ns || !analysis->rank_times;
    if (analysis->no_memory)
        return;
    for (size_t i = 0; !analysis->no_worlds && i < lanes->count; i++) {
        struct analysis_lane *lane = &lanes->list[i];
        if (!lane->started)
            continue;
        uint64_t end_ns = lane->process->finalize_ns;
        end_ns = lanes->cut_ns && lanes->cut_ns < end_ns ? lanes->cut_ns : end_ns;
        bool goes_on = lane == lane->process->first && !lane->finalized && !lane->begun;
        if (goes_on && end_ns != UINT64_MAX)
            clock_compute(lanes, lane, end_ns);
        world_run_add(&analysis->ideal, lanes, lane);
        rank_add(analysis, lanes, lane);
    }
    analysis->part_ns = lanes->cut_ns || analysis->last ? analysis->ideal.run_ns : 0;
    if (!analysis->no_ideal && !ideal_run_split(&analysis->ideal, &analysis->split))
        analysis->no_ideal = "the trace does not tell for which ranks some calls waited";
}
