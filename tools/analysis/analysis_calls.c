#include "analysis/analysis_lanes.h"
#include "base/array.h"
#include "trace/jointcalls.h"
#include "trace/pending.h"

#include <stdlib.h>
#include <string.h>

/* A request that is under way. */
struct request_object {
    struct keyed keyed;
    struct message *sent;
    struct receive *receive;
    struct gathering *gathering;
    struct attendee attendee;
    unsigned function; /* that posted it */
};

static const enum gathering_form forms[COLLECTIVE_COUNT] = {
    [COLLECTIVE_NONE] = FORM_ALL_TO_ALL,
    [COLLECTIVE_BARRIER] = FORM_BARRIER,
    [COLLECTIVE_BCAST] = FORM_ONE_TO_ALL,
    [COLLECTIVE_GATHER] = FORM_ALL_TO_ONE,
    [COLLECTIVE_GATHERV] = FORM_ALL_TO_ONE,
    [COLLECTIVE_SCATTER] = FORM_ONE_TO_ALL,
    [COLLECTIVE_SCATTERV] = FORM_ONE_TO_ALL,
    [COLLECTIVE_ALLGATHER] = FORM_ALL_TO_ALL,
    [COLLECTIVE_ALLGATHERV] = FORM_ALL_TO_ALL,
    [COLLECTIVE_ALLTOALL] = FORM_ALL_TO_ALL,
    [COLLECTIVE_ALLTOALLV] = FORM_ALL_TO_ALL,
    [COLLECTIVE_ALLTOALLW] = FORM_ALL_TO_ALL,
    [COLLECTIVE_ALLREDUCE] = FORM_ALL_TO_ALL,
    [COLLECTIVE_REDUCE] = FORM_ALL_TO_ONE,
    [COLLECTIVE_REDUCE_SCATTER] = FORM_ALL_TO_ALL,
    [COLLECTIVE_REDUCE_SCATTER_BLOCK] = FORM_ALL_TO_ALL,
    [COLLECTIVE_SCAN] = FORM_PREFIX,
    [COLLECTIVE_EXSCAN] = FORM_PREFIX,
    [COLLECTIVE_NEIGHBOR_ALLGATHER] = FORM_NEIGHBORS,
    [COLLECTIVE_NEIGHBOR_ALLGATHERV] = FORM_NEIGHBORS,
    [COLLECTIVE_NEIGHBOR_ALLTOALL] = FORM_NEIGHBORS,
    [COLLECTIVE_NEIGHBOR_ALLTOALLV] = FORM_NEIGHBORS,
    [COLLECTIVE_NEIGHBOR_ALLTOALLW] = FORM_NEIGHBORS,
};

/* ---- places ------------------------------------------------------------------------------------------------------ */

bool event_place_find(const struct analysis_lanes *lanes, const struct analysis_process *process,
                      const struct event *event, struct place *place)
{
    const struct analysis *analysis = lanes->analysis;
    const struct run_reader *run = analysis->job.ranks[process->world_rank].run;
    place->number = run_reader_comm(run, event);
    place->index = trace_comm_find(&analysis->comms, &analysis->job, process->world_rank, place->number);
    if (place->index == NO_COMM)
        return false;
    place->comm = &analysis->comms.list[place->index];
    place->rank = run->comms[place->number]->rank;
    place->side = 0;
    if (place->comm->inter)
        place->side = place->rank >= place->comm->size || place->comm->members[place->rank] != process->world_rank;
    return true;
}

bool calls_are_counted(const struct analysis_lanes *lanes, const struct analysis_process *process,
                       const struct place *place)
{
    return !process->torn && !process->stretch && !process->offs && !lanes->broken[place->index];
}

int32_t peer_world(const struct analysis_process *process, const struct place *place, int32_t peer)
{
    const struct trace_comm *comm = place->comm;
    bool remote = comm->inter && place->side == 0;
    if (peer < 0 || peer >= (comm->self ? 1 : remote ? comm->remote_size : comm->size))
        return -1;
    return comm->self ? process->world_rank : remote ? comm->remote[peer] : comm->members[peer];
}

/* Returns whether an arrow can begin or end at the lane's present call. */
static bool lane_is_shown(const struct analysis *analysis, const struct analysis_lane *lane)
{
    const struct run_reader *run = analysis->job.ranks[lane->process->world_rank].run;
    return analysis->watch && analysis->watch->flow && lane->call.event.begin && lane->end_ns > lane->begin_ns &&
           !call_is_mark(&lane->call) &&
           selection_has_call(analysis->selection, run, &lane->call.event, (int64_t)lane->begin_ns,
                              (int64_t)lane->end_ns);
}

struct moment lane_moment(struct analysis *analysis, struct analysis_lane *lane)
{
    return (struct moment){lane->begin_ns,
                           path_mark(&analysis->paths, &lane->path, lane->clock.times),
                           lane->cursor_ns,
                           lane->thread,
                           lane_is_shown(analysis, lane),
                           lane->number,
                           lane->place};
}

struct moment send_moment(struct analysis_lanes *lanes, struct analysis_lane *lane)
{
    struct moment moment = lane_moment(lanes->analysis, lane);
    path_drop(&lanes->analysis->paths, moment.path);
    moment.path = worlds_mark_send(lanes, lane);
    return moment;
}

static bool is_partitioned(unsigned function)
{
    return function == CALL_MPI_Psend_init || function == CALL_MPI_Precv_init;
}

static bool rank_has_gap(const struct analysis_lanes *lanes, int32_t rank)
{
    return lanes->processes[rank].torn;
}

static bool rank_has_file(const struct analysis_lanes *lanes, int32_t rank)
{
    return lanes->analysis->job.ranks[rank].run != NULL;
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

static struct message *message_begin(struct analysis_lanes *lanes, struct analysis_lane *lane,
                                     const struct event *event, unsigned function)
{
    struct analysis *analysis = lanes->analysis;
    struct analysis_process *process = lane->process;
    struct place place;
    if (!analysis->has_messages || event->peer < 0 || (event->kind & EVENT_FAILED))
        return NULL;
    int32_t dest = event_place_find(lanes, process, event, &place) ? peer_world(process, &place, event->peer) : -1;
    if (dest < 0) {
        analysis->unplaced++;
        return NULL;
    }
    if (analysis_selects(analysis, process->world_rank, place.index, event_kind(&lane->call.event), lane->begin_ns,
                         lane->end_ns))
        analysis_sum(analysis, &analysis->matrix, place.index,
                     (uint64_t)(uint32_t)process->world_rank << 32 | (uint32_t)dest, 1, event->bytes);
    struct envelope envelope = {.comm = place.index,
                                .source = process->world_rank,
                                .dest = dest,
                                .tag = event->tag,
                                .partitioned = is_partitioned(function),
                                .stretch = process->stretch};
    if (process->torn)
        analysis->unanalysed++;
    else if (!rank_has_file(lanes, dest))
        analysis->unmatched[UNMATCHED_SEND_NO_FILE]++;
    else if (rank_has_gap(lanes, dest))
        analysis->unmatched[UNMATCHED_SEND_GAP]++;
    else if (pause_hides_message(analysis, &envelope))
        analysis->unmatched[UNMATCHED_SEND_OFF]++;
    else if (!last_has_no_partner(analysis, &envelope, 1)) {
        last_count(analysis, &envelope, 1);
        struct message *message = matching_send(&analysis->matching, envelope, event->bytes, send_moment(lanes, lane));
        if (message)
            order_sent(lanes, message);
        return message;
    }
    return NULL;
}

static struct receive *receive_begin(struct analysis_lanes *lanes, struct analysis_lane *lane,
                                     const struct event *event, unsigned function)
{
    struct analysis *analysis = lanes->analysis;
    struct analysis_process *process = lane->process;
    struct place place;
    bool anybody = event->peer == PEER_ANY;
    if (!analysis->has_messages || (event->peer < 0 && !anybody) || (event->kind & EVENT_FAILED))
        return NULL;
    bool known = event_place_find(lanes, process, event, &place);
    int32_t source = known && !anybody ? peer_world(process, &place, event->peer) : FROM_ANY;
    if (!known || (!anybody && source < 0)) {
        analysis->unplaced++;
        return NULL;
    }
    struct envelope envelope = {.comm = place.index,
                                .source = source,
                                .dest = process->world_rank,
                                .tag = event->tag == TAG_ANY ? OF_ANY_TAG : event->tag,
                                .partitioned = is_partitioned(function),
                                .stretch = process->stretch};
    bool lost = last_has_no_partner(analysis, &envelope, -1);
    probe_settle(lanes, lane, &envelope, !lost);
    if (process->torn)
        analysis->unanalysed++;
    else if (process->untold[place.number])
        analysis->unmatched[UNMATCHED_RECV_UNTOLD]++;
    else if (!anybody && !rank_has_file(lanes, source))
        analysis->unmatched[UNMATCHED_RECV_NO_FILE]++;
    else if (!anybody && rank_has_gap(lanes, source))
        analysis->unmatched[UNMATCHED_RECV_GAP]++;
    else if (!anybody && pause_hides_message(analysis, &envelope))
        analysis->unmatched[UNMATCHED_RECV_OFF]++;
    else if (!lost)
        return matching_post(&analysis->matching, envelope, lane_moment(analysis, lane));
    return NULL;
}

/* ---- collectives ------------------------------------------------------------------------------------------------- */

enum { OPERATION_BITS = 40 }; /* of the number of an operation in a stretch of recording */

static struct gathering *operation_begin(struct analysis_lanes *lanes, struct analysis_lane *lane,
                                         const struct event *event, unsigned function, struct attendee *who)
{
    struct analysis *analysis = lanes->analysis;
    struct analysis_process *process = lane->process;
    struct place place;
    unsigned op = call_table[function].op;
    if (!analysis->has_collectives || (event->kind & EVENT_FAILED))
        return NULL;
    if (!event_place_find(lanes, process, event, &place)) {
        lanes->leaves_the_job = true;
        return NULL;
    }
    const struct trace_comm *comm = place.comm;
    uint64_t *count = op ? process->operations : process->creations;
    if (count[place.number] >> OPERATION_BITS != process->stretch) /* they begin anew */
        count[place.number] = (uint64_t)process->stretch << OPERATION_BITS;
    uint64_t number = count[place.number]++ << 1 | (op == COLLECTIVE_NONE);
    if (comm->self || comm->size + comm->remote_size == 1 ||
        last_lacks_members(analysis, place.index, op ? LAST_OPERATIONS : LAST_CREATIONS, number >> 1))
        return NULL;
    bool known = keytable_find(&analysis->gatherings.open, place.index, number) != NULL;
    if (process->torn || (lanes->broken[place.index] && !known)) {
        analysis->unanalysed++;
        return NULL;
    }
    if (pause_hides_operations(analysis, place.index, process->stretch)) {
        analysis->hidden_visits++;
        return NULL;
    }
    *who = (struct attendee){
        .world_rank = process->world_rank, .rank = place.rank, .side = place.side, .root = event->peer == PEER_ROOT};
    if (!comm->inter)
        who->root = event->peer == place.rank;
    else
        who->bystander = event->peer == PEER_PROC_NULL;
    who->neighbors = &process->neighbors[place.number];
    struct gathering like = {.comm = place.index,
                             .function = function,
                             .operation = op ? op : COLLECTIVE_COUNT + function,
                             .form = forms[op],
                             .inter = comm->inter,
                             .size = {comm->size, comm->inter ? comm->remote_size : 0},
                             .stretch = process->stretch};
    struct moment moment = lane_moment(analysis, lane);
    struct gathering *gathering = gathering_enter(&analysis->gatherings, &like, number, who, moment);
    path_drop(&analysis->paths, moment.path);
    lane->operation = gathering ? gathering->number : lane->operation;
    return gathering;
}

static void gathering_end(struct analysis *analysis, struct gathering *gathering)
{
    if (!gathering_leave(gathering))
        return;
    analysis_operation(analysis, gathering);
    gathering_release(&analysis->gatherings, gathering);
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

static void posted_request_add(struct analysis_lanes *lanes, struct analysis_lane *lane, enum request_class class,
                               const struct event *post, unsigned function)
{
    struct analysis_process *process = lane->process;
    struct request_object *object = calloc(1, sizeof *object);
    uint64_t id = object ? trace_requests_add(&process->requests, class, post) : 0;
    if (!id || keytable_put(&process->objects, &object->keyed, id, 0) != 0) {
        lanes->analysis->no_memory = true;
        free(object);
        return;
    }
    object->function = function;
    if (class == REQUEST_IS_SEND)
        object->sent = message_begin(lanes, lane, post, function);
    else if (class == REQUEST_IS_RECV)
        object->receive = receive_begin(lanes, lane, post, function);
    else
        object->gathering = operation_begin(lanes, lane, post, function, &object->attendee);
    if (object->sent)
        object->sent->goes_on = true;
    const struct analysis_watch *watch = lanes->analysis->watch;
    if (object->gathering && watch && watch->begun)
        watch->begun(watch->data, lane, object->gathering);
}

/* Returns the request that the record ends, which the caller frees. Returns NULL if its post was not seen. */
static struct request_object *posted_request_take(struct analysis_process *process, enum request_class class,
                                                  const struct event *event)
{
    uint64_t id = trace_requests_take(&process->requests, class, event);
    struct request_object *object = id ? keytable_find(&process->objects, id, 0) : NULL;
    if (object)
        keytable_take(&process->objects, &object->keyed);
    return object;
}

static void object_drop(struct analysis *analysis, struct request_object *object)
{
    message_drop(&analysis->matching, object->sent);
    receive_drop(&analysis->matching, object->receive);
    free(object);
}

void analysis_process_release(struct analysis *analysis, struct analysis_process *process)
{
    for (size_t i = 0; i < process->objects.capacity; i++)
        while (process->objects.buckets[i]) {
            struct keyed *keyed = process->objects.buckets[i];
            process->objects.buckets[i] = keyed->next;
            object_drop(analysis, (struct request_object *)keyed);
        }
    free(process->objects.buckets);
    trace_requests_release(&process->requests);
    free(process->operations);
    free(process->creations);
    free(process->joints);
    free(process->untold);
    for (size_t i = 0; process->neighbors && i < process->comm_count; i++)
        free(process->neighbors[i].ranks);
    free(process->neighbors);
    free(process->places);
}

/* ---- begin of a call --------------------------------------------------------------------------------------------- */

static void lane_start(struct analysis_lanes *lanes, struct analysis_lane *lane)
{
    struct analysis *analysis = lanes->analysis;
    const struct trace_rank *rank = &analysis->job.ranks[lane->process->world_rank];
    const struct analysis_lane *first = lane->process->first;
    lane->started = true;
    worlds_start(lanes, lane);
    if (first != lane && first->started) {
        lane->path = path_hold(first->path); /* a thread of the process that the first one has led to here */
        lane->cursor_ns = first->cursor_ns;
        lane->cursor_off_ns = first->cursor_off_ns;
    } else {
        lane->path = path_begin(&analysis->paths);
        lane->cursor_ns = trace_time(&analysis->job, rank, rank->run->header.begin_ticks);
        lane->cursor_ns = lane->cursor_ns > lanes->zero_ns ? lane->cursor_ns : lanes->zero_ns;
    }
}

/* This process has a gap. From here on, its operations on communicators cannot be counted. */
static void process_tear(struct analysis_lanes *lanes, const struct analysis_process *process)
{
    const struct analysis *analysis = lanes->analysis;
    const struct run_reader *run = analysis->job.ranks[process->world_rank].run;
    for (uint32_t number = 0; number < run->comm_count; number++) {
        uint32_t comm = trace_comm_find(&analysis->comms, &analysis->job, process->world_rank, number);
        if (comm != NO_COMM)
            lanes->broken[comm] = true;
    }
}

enum { NEIGHBORS_MOST = 1024 }; /* of more, none is known */

/* A source of the process in the topology of the communicator that the call makes. PEER_PROC_NULL only says that there is
 * a topology. */
static void neighbor_add(struct analysis_lanes *lanes, const struct analysis_process *process,
                         const struct event *event)
{
    struct neighbors *neighbors =
        &process->neighbors[run_reader_comm(lanes->analysis->job.ranks[process->world_rank].run, event)];
    neighbors->known = neighbors->count < NEIGHBORS_MOST;
    if (event->peer < 0 || !neighbors->known)
        return;
    int32_t *ranks = array_grow(neighbors->ranks, neighbors->count, sizeof *ranks);
    if (!ranks) {
        lanes->analysis->no_memory = true;
        return;
    }
    neighbors->ranks = ranks;
    ranks[neighbors->count++] = event->peer;
}

static void parts_begin(struct analysis_lanes *lanes, struct analysis_lane *lane)
{
    for (size_t i = 0; i < lane->call.part_count; i++) {
        const struct event *event = &lane->call.parts[i].event;
        unsigned function = event->duration < CALL_COUNT ? event->duration : CALL_NONE;
        int class = request_class_posted(event);
        if (class >= 0)
            posted_request_add(lanes, lane, (enum request_class) class, event, function);
        else if (event_kind(event) == RECORD_RECEIVE)
            lane->receive = receive_begin(lanes, lane, event, function);
        else if (event_kind(event) == RECORD_ARGUMENT && call_makes_comm(event_kind(&lane->call.event)))
            neighbor_add(lanes, lane->process, event);
    }
}

enum { LONG_COMPUTATION_NS = 4000 }; /* one that others may have to wait for */

/* Not after a probe: its path would be held (probe_settle). */
static void resumed_keep(struct analysis *analysis, struct analysis_lane *lane)
{
    if (call_is_mark(&lane->call) || lane->probe.waits || !lane->last_ns ||
        lane->begin_ns < lane->last_ns + LONG_COMPUTATION_NS)
        return;
    path_drop(&analysis->paths, lane->resumed.path);
    lane->resumed = lane_moment(analysis, lane);
    lane->computed_from_ns = lane->last_ns;
}

static uint64_t off_processor_ns(const struct analysis_lanes *lanes, const struct analysis_lane *lane)
{
    const struct run_reader *run = lanes->analysis->job.ranks[lane->process->world_rank].run;
    for (size_t i = 0; i < lane->call.part_count; i++)
        if (event_kind(&lane->call.parts[i].event) == RECORD_OFF_PROCESSOR)
            return clock_ns(run_reader_scale(run), lane->call.parts[i].event.bytes);
    return 0;
}

void call_begin(struct analysis_lanes *lanes, struct analysis_lane *lane)
{
    const struct event *event = &lane->call.event;
    unsigned kind = event_kind(event);
    if (lane->process->torn && !lane->process->told) {
        process_tear(lanes, lane->process);
        lane->process->told = true;
    }
    if (!lane->started)
        lane_start(lanes, lane);
    lane->number = call_is_mark(&lane->call) ? 0 : ++lanes->analysis->calls;
    lane->operation = 0;
    lane->off_ns = off_processor_ns(lanes, lane);
    segment_end(lanes, lane);
    worlds_begin(lanes, lane);
    path_advance(lanes->analysis, lane, CALL_NONE, lane->begin_ns);
    if (kind == EVENT_SWITCHED)
        pause_turn(lane);
    joint_begin(lanes, lane);
    lock_begin(lanes, lane);
    epochs_begin(lanes, lane);
    lane->finalized = lane->finalized || kind == CALL_MPI_Finalize;
    switch (call_shape(&lane->call)) {
    case FOLD_SEND:
    case FOLD_SENDRECV:
        lane->sent = message_begin(lanes, lane, event, kind);
        break;
    case FOLD_RECV:
        lane->receive = receive_begin(lanes, lane, event, kind);
        break;
    case FOLD_POST_SEND:
        posted_request_add(lanes, lane, REQUEST_IS_SEND, event, kind);
        break;
    case FOLD_POST_RECV:
        posted_request_add(lanes, lane, REQUEST_IS_RECV, event, kind);
        break;
    case FOLD_POST_COLL:
        posted_request_add(lanes, lane, REQUEST_IS_COLL, event, kind);
        break;
    case FOLD_COLL:
        lane->gathering = operation_begin(lanes, lane, event, kind, &lane->attendee);
        break;
    case FOLD_COMM:
        if (call_makes_comm(kind))
            lane->gathering = operation_begin(lanes, lane, event, kind, &lane->attendee);
        break;
    default:
        break;
    }
    parts_begin(lanes, lane);
    resumed_keep(lanes->analysis, lane);
    if (lanes->analysis->watch && lanes->analysis->watch->call && lane->number)
        lanes->analysis->watch->call(lanes->analysis->watch->data, lane);
}

/* ---- end of a call ----------------------------------------------------------------------------------------------- */

enum { PROGRESS_BYTES = 4096 }; /* a smaller message does not need its other end */

/* Checks whether the call had to wait until the other end of a nonblocking transfer called MPI: that computed all the time
 * since both had begun, and the call ended after it came. By then that one may have returned. */
static void progress_offer(struct analysis_lanes *lanes, const struct analysis_lane *lane, uint32_t comm, int32_t rank,
                           const struct moment *begun, struct blame *blame)
{
    const struct analysis_process *process = &lanes->processes[rank];
    uint64_t ready = begun->ns > lane->begin_ns ? begun->ns : lane->begin_ns;
    const struct analysis_lane *other = process->first;
    if (!other || process->lanes_open != 1 || !other->resumed.path || other->computed_from_ns > ready ||
        other->resumed.ns <= ready || other->resumed.ns >= lane->end_ns)
        return;
    struct arrival cause = {other->resumed, rank};
    need_progress(lanes, &cause.moment);
    blame_offer(blame, WAIT_LATE_PROGRESS, comm, &cause, NULL);
}

/* Checks whether a send had to wait for its receive. A buffered send never has. */
static void sent_offer(struct analysis_lanes *lanes, const struct analysis_lane *lane, const struct message *message,
                       unsigned function, struct blame *blame)
{
    if (!message || function == CALL_MPI_Bsend || function == CALL_MPI_Ibsend || function == CALL_MPI_Bsend_init)
        return;
    const struct analysis_watch *watch = lanes->analysis->watch;
    if (watch && watch->sent)
        watch->sent(watch->data, lane, message);
    const struct moment *posted = matching_posted(&lanes->analysis->matching, message);
    need_sent(lanes, lane, message, function, posted);
    if (posted && posted->ns < lane->end_ns)
        blame_offer(blame, WAIT_LATE_RECEIVER, message->envelope.comm,
                    &(struct arrival){*posted, message->envelope.dest}, NULL);
    if (posted && message->bytes >= PROGRESS_BYTES)
        progress_offer(lanes, lane, message->envelope.comm, message->envelope.dest, posted, blame);
}

void analysis_flow_tell(void *data, const struct receive *receive)
{
    const struct analysis *analysis = data;
    struct analysis_flow flow = {.begun_ns = receive->begun.ns,
                                 .got_ns = receive->got_ns,
                                 .done_ns = receive->done_ns,
                                 .bytes = receive->bytes,
                                 .source = receive->envelope.source,
                                 .dest = receive->envelope.dest,
                                 .source_thread = receive->begun.thread,
                                 .dest_thread = receive->done_thread};
    if (receive->begun.shown && receive->done_shown)
        analysis->watch->flow(analysis->watch->data, &flow);
}

static void received_offer(struct analysis_lanes *lanes, struct analysis_lane *lane, struct receive *receive,
                           const struct event *event, struct blame *blame)
{
    struct analysis *analysis = lanes->analysis;
    struct place place;
    if (!receive)
        return;
    bool unknown = (event->kind & EVENT_FAILED) || event->peer < 0;
    int32_t source = !unknown && event_place_find(lanes, lane->process, event, &place)
                         ? peer_world(lane->process, &place, event->peer)
                         : -1;
    if (source < 0) {
        if (!receive->channel && event_place_find(lanes, lane->process, event, &place))
            lane->process->untold[place.number] = true;
        if (receive->channel)
            last_count(analysis, &receive->envelope, -1);
        matching_gone(&analysis->matching, receive, false);
        need_request_unknown(lanes, event);
        return;
    }
    lane->received = true;
    struct envelope come = receive->envelope;
    come.source = source;
    come.tag = event->tag;
    if (!receive->channel && last_has_no_partner(analysis, &come, -1)) {
        matching_gone(&analysis->matching, receive, true);
        return;
    }
    last_count(analysis, &come, -1);
    receive->got_ns = lane->begin_ns;
    receive->done_call = lane->number;
    receive->done_thread = lane->thread;
    receive->done_shown = lane_is_shown(analysis, lane);
    matching_done(&analysis->matching, receive, source, event->tag, event->bytes, lane->end_ns);
    receive->late = !receive->matched;
    need_received(lanes, lane, receive);
    if (!receive->matched)
        return;
    analysis->decided++;
    if (receive->done_shown)
        analysis_flow_tell(analysis, receive);
    if (!analysis->plan && receive->begun.ns >= lane->begin_ns && lane->end_ns > receive->begun.ns &&
        receive->bytes != UINT64_MAX)
        network_add(&analysis->network, &analysis->job, source, lane->process->world_rank,
                    (struct large_message){lane->end_ns - receive->begun.ns, receive->bytes});
    blame_offer(blame, WAIT_LATE_SENDER, receive->envelope.comm,
                &(struct arrival){receive->begun, receive->envelope.source}, NULL);
    if (receive->goes_on && receive->bytes != UINT64_MAX && receive->bytes >= PROGRESS_BYTES)
        progress_offer(lanes, lane, receive->envelope.comm, receive->envelope.source, &receive->begun, blame);
}

static uint64_t more_of(uint64_t one, uint64_t other)
{
    return one > other ? one : other;
}

static void gathered_offer(struct analysis_lanes *lanes, const struct analysis_lane *lane, struct gathering *gathering,
                           const struct attendee *who, uint64_t bytes, struct blame *blame)
{
    struct arrival cause;
    enum cause_known known = gathering_cause(gathering, who, &cause);
    bool no_neighbors = gathering->form == FORM_NEIGHBORS && !who->neighbors->known;
    gathering->bytes = more_of(gathering->bytes, bytes);
    need_gathered(lanes, lane, gathering, who, known, bytes);
    if (known == CAUSE_UNKNOWN)
        (*(no_neighbors ? &lanes->analysis->neighbours : &lanes->analysis->left_early))++;
    if (known == CAUSE_UNKNOWN && !no_neighbors)
        pause_doubt_operation(lanes->analysis, gathering);
    if (known == CAUSE_KNOWN)
        blame_offer(blame, gathering_pattern(gathering), gathering->comm, &cause, gathering);
}

enum { COLLECTIVE_PROGRESS_NS = 20000 }; /* a shorter rest of a collective is its work */

/* The same for a nonblocking collective that all members have begun: it ends only after members have called MPI again. */
static void gathered_progress_offer(struct analysis_lanes *lanes, const struct analysis_lane *lane,
                                    const struct gathering *gathering, struct blame *blame)
{
    const struct trace_comm *comm = &lanes->analysis->comms.list[gathering->comm];
    const struct moment *latest = gathering_is_complete(gathering) ? &gathering_last(gathering)->moment : NULL;
    uint64_t ready = latest && latest->ns > lane->begin_ns ? latest->ns : lane->begin_ns;
    if (!latest || gathering->inter || lane->end_ns < ready + COLLECTIVE_PROGRESS_NS)
        return;
    for (int32_t i = 0; i < comm->size; i++)
        if (comm->members[i] != lane->process->world_rank)
            progress_offer(lanes, lane, gathering->comm, comm->members[i], latest, blame);
}

static void part_unfinished(struct analysis_lanes *lanes, struct analysis_lane *lane, enum request_class class,
                            const struct event *event)
{
    struct place place;
    bool cancelled = event_kind(event) == RECORD_CANCELLED;
    struct request_object *object = posted_request_take(lane->process, class, event);
    if (!object)
        return;
    if (object->receive) {
        if (!cancelled && !object->receive->channel && event_place_find(lanes, lane->process, event, &place))
            lane->process->untold[place.number] = true;
        if (!cancelled && object->receive->channel)
            last_count(lanes->analysis, &object->receive->envelope, -1);
        matching_gone(&lanes->analysis->matching, object->receive, cancelled);
    }
    object_drop(lanes->analysis, object);
}

/* A gathering that the call leaves is kept until the call's wait is known. */
static void part_end(struct analysis_lanes *lanes, struct analysis_lane *lane, const struct call_part *part,
                     struct blame *blame)
{
    const struct event *event = &part->event;
    unsigned kind = event_kind(event);
    int class = request_class_ended(event);
    if (class < 0) {
        joint_access_end(lanes, event);
        return;
    }
    if (kind == RECORD_CANCELLED || kind == RECORD_FREED) {
        part_unfinished(lanes, lane, (enum request_class) class, event);
        return;
    }
    struct request_object *object = posted_request_take(lane->process, (enum request_class) class, event);
    if (!object) {
        need_request_unknown(lanes, event);
        return;
    }
    sent_offer(lanes, lane, object->sent, object->function, blame);
    received_offer(lanes, lane, object->receive, event, blame);
    if (object->gathering) {
        gathered_offer(lanes, lane, object->gathering, &object->attendee, more_of(event->bytes, part->bytes_out),
                       blame);
        gathered_progress_offer(lanes, lane, object->gathering, blame);
        lane->left[lane->left_count++] = object->gathering;
    }
    object_drop(lanes->analysis, object);
}

static bool left_reserve(struct analysis_lane *lane)
{
    size_t most = lane->call.part_count + 1;
    if (most <= lane->left_capacity)
        return true;
    struct gathering **left = realloc(lane->left, most * sizeof(struct gathering *));
    if (!left)
        return false;
    lane->left = left;
    lane->left_capacity = most;
    return true;
}

void call_end(struct analysis_lanes *lanes, struct analysis_lane *lane)
{
    struct analysis *analysis = lanes->analysis;
    unsigned kind = event_kind(&lane->call.event);
    struct blame blame = {.paths = &analysis->paths, .earliest = kind == CALL_MPI_Waitany || kind == CALL_MPI_Waitsome};
    if (!left_reserve(lane)) {
        analysis->no_memory = true;
        return;
    }
    lane->left_count = 0;
    lane->received = lane->received && call_is_mark(&lane->call);
    memset(lanes->need, 0, lanes->worlds * sizeof *lanes->need);
    lanes->unsure = false;
    sent_offer(lanes, lane, lane->sent, kind, &blame);
    if (call_shape(&lane->call) == FOLD_RECV)
        received_offer(lanes, lane, lane->receive, &lane->call.event, &blame);
    if (lane->gathering) {
        gathered_offer(lanes, lane, lane->gathering, &lane->attendee,
                       more_of(lane->call.event.bytes, lane->call.bytes_out), &blame);
        lane->left[lane->left_count++] = lane->gathering;
    }
    lane->stalled_ns = 0;
    for (size_t i = 0; i < lane->call.part_count; i++) {
        const struct event *event = &lane->call.parts[i].event;
        if (event_kind(event) == RECORD_STALL)
            lane->stalled_ns +=
                (double)clock_ns(run_reader_scale(analysis->job.ranks[lane->process->world_rank].run), event->bytes);
        else if (event_kind(event) == RECORD_RECEIVE)
            received_offer(lanes, lane, lane->receive, event, &blame);
        else
            part_end(lanes, lane, &lane->call.parts[i], &blame);
    }
    lock_end(lanes, lane, &blame);
    epochs_end(lanes, lane, &blame);
    joint_end(lanes, lane, &blame);
    worlds_end(lanes, lane);
    struct place place;
    if (call_probes(&lane->call) && event_place_find(lanes, lane->process, &lane->call.event, &place))
        probe_remember(lanes, lane, place.index, peer_world(lane->process, &place, lane->call.event.peer));
    wait_settle(lanes, lane, &blame);
    path_drop(&analysis->paths, blame.cause.moment.path);
    segment_begin(lane);
    if (analysis->watch && analysis->watch->returned && lane->number)
        analysis->watch->returned(analysis->watch->data, lane);
    for (size_t i = 0; i < lane->left_count; i++)
        gathering_end(analysis, lane->left[i]);
    joint_leave(lanes, lane);
    message_drop(&analysis->matching, lane->sent);
    receive_drop(&analysis->matching, lane->receive);
    lane->sent = NULL;
    lane->receive = NULL;
    lane->gathering = NULL;
}
