#include "script/script.h"

#include "analysis/analysis_lanes.h"
#include "base/array.h"
#include <math.h>
#include <stdlib.h>

/* What the trace has of a rank: a step, or an operation. */
enum {
    ENTRY_OPERATION = STEP_RECEIVE_END + 1,
    ENTRY_OPERATION_BEGIN, /* of a nonblocking one, */
    ENTRY_OPERATION_END,   /* and its completion */
    ENTRY_JOINT,           /* all members of a communicator wait for each other */
    ENTRY_WORK             /* in a call: `amount` ns, with the way of what it awaits */
};

struct entry {
    uint64_t call;
    uint64_t amount;
    uint64_t number; /* of a message or an operation */
    int32_t peer;    /* of an operation: the communicator */
    int kind;
};

struct script_rank {
    struct entry *entries;
    size_t count;
    uint64_t start_ns;  /* it leaves MPI_Init */
    uint64_t useful_ns; /* of its clock, as far as it is in the entries */
    double work_ns;
};

struct script_operation {
    enum gathering_form form;
    unsigned operation;
    int32_t root; /* rank in the communicator */
    bool told;    /* all its members take part, and it is known which */
    uint64_t bytes;
};

/* ---- entries ----------------------------------------------------------------------------------------------------- */

static void step_add(struct script *script, int32_t rank, struct entry entry)
{
    struct script_rank *to = script->ranks ? &script->ranks[rank] : NULL;
    if (!to || !ARRAY_GROWN(to->entries, to->count)) {
        script->no_memory = true;
        return;
    }
    to->entries[to->count++] = entry;
}

static bool ranks_ready(struct script *script)
{
    if (!script->ranks) {
        script->rank_count = script->analysis.job.size;
        script->begin_ns = UINT64_MAX;
        script->ranks = calloc((size_t)script->rank_count + 1, sizeof *script->ranks);
    }
    script->no_memory |= !script->ranks;
    return script->ranks != NULL;
}

static void call_begun(void *data, const struct analysis_lane *lane)
{
    struct script *script = data;
    int32_t rank = lane->process->world_rank;
    if (!ranks_ready(script))
        return;
    struct script_rank *is = &script->ranks[rank];
    is->start_ns = lane->process->init_ns;
    script->begin_ns = is->start_ns < script->begin_ns ? is->start_ns : script->begin_ns;
    if (lane->clock.useful_ns > is->useful_ns)
        step_add(script, rank,
                 (struct entry){
                     .call = lane->number, .kind = STEP_COMPUTE, .amount = lane->clock.useful_ns - is->useful_ns});
    is->useful_ns = lane->clock.useful_ns;
}

static void message_step_add(struct script *script, int32_t rank, int kind, uint64_t call, int32_t peer,
                             const struct message *message)
{
    step_add(
        script, rank,
        (struct entry){.call = call, .kind = kind, .number = message->number, .amount = message->bytes, .peer = peer});
}

/* The call waited for the end of a send, if the receive was posted before it returned. */
static void message_sent(void *data, const struct analysis_lane *lane, const struct message *message)
{
    struct script *script = data;
    const struct moment *posted = matching_posted(&script->analysis.matching, message);
    if (posted && posted->ns < lane->end_ns)
        message_step_add(script, lane->process->world_rank, STEP_SEND_END, lane->number, message->envelope.dest,
                         message);
}

static void operation_add(struct script *script, const struct analysis_lane *lane, const struct gathering *gathering,
                          int kind)
{
    step_add(script, lane->process->world_rank,
             (struct entry){
                 .call = lane->number, .kind = kind, .number = gathering->number, .peer = (int32_t)gathering->comm});
}

static void call_returned(void *data, const struct analysis_lane *lane)
{
    struct script *script = data;
    int32_t rank = lane->process->world_rank;
    double work_ns = lane->clock.work[WORLD_RECORDED];
    if (!script->ranks)
        return;
    for (size_t i = 0; i < lane->left_count; i++)
        operation_add(script, lane, lane->left[i],
                      lane->left[i] == lane->gathering ? ENTRY_OPERATION : ENTRY_OPERATION_END);
    if (lane->joint && gathering_is_complete(lane->joint) && !lane->joint->mixed)
        operation_add(script, lane, lane->joint, ENTRY_JOINT);
    double own_ns = work_ns > script->ranks[rank].work_ns ? work_ns - script->ranks[rank].work_ns : 0;
    if (!call_probes(&lane->call)) /* that waits for a message, and its receive waits for it, too */
        step_add(script, rank, (struct entry){.call = lane->number, .kind = ENTRY_WORK, .amount = (uint64_t)own_ns});
    script->ranks[rank].work_ns = work_ns;
}

static void operation_begun(void *data, const struct analysis_lane *lane, const struct gathering *gathering)
{
    operation_add(data, lane, gathering, ENTRY_OPERATION_BEGIN);
}

static int32_t member_find(const struct trace_comm *comm, int32_t world_rank)
{
    for (int32_t i = 0; comm->members && i < comm->size; i++)
        if (comm->members[i] == world_rank)
            return i;
    return 0;
}

static void operation_over(void *data, const struct gathering *gathering)
{
    struct script *script = data;
    size_t count = script->operation_count, needed = gathering->number + 1;
    size_t room = needed > count ? array_room(count, 1024, needed) : count;
    if (room > count && !ARRAY_EXTENDED(script->operations, count, room)) {
        script->no_memory = true;
        return;
    }
    script->operation_count = room;
    bool told =
        !gathering->inter && gathering->form != FORM_NEIGHBORS && gathering_is_complete(gathering) && !gathering->mixed;
    script->left_out += !told;
    script->operations[gathering->number] = (struct script_operation){
        .form = gathering->form,
        .operation = gathering->operation,
        .root = member_find(&script->analysis.comms.list[gathering->comm], gathering->root.world_rank),
        .told = told,
        .bytes = gathering->bytes};
}

static void message_matched(void *data, const struct message *message, const struct receive *receive)
{
    struct script *script = data;
    int32_t source = message->envelope.source, dest = message->envelope.dest;
    size_t count = script->matched_count, room = array_room(count, 1024, message->number + 1);
    if (room > count && !ARRAY_EXTENDED(script->matched, count, room)) {
        script->no_memory = true;
        return;
    }
    script->matched_count = room > count ? room : count;
    script->matched[message->number] = true;
    message_step_add(script, source, STEP_SEND_BEGIN, message->begun.call, dest, message);
    message_step_add(script, dest, STEP_RECEIVE_BEGIN, receive->posted.call, source, message);
    if (receive->done_call)
        message_step_add(script, dest, STEP_RECEIVE_END, receive->done_call, source, message);
}

/* Time in calls whose needs are not known, and which is left out. */
#define UNKNOWN_SHARE 0.01

/* Tags of messages are below OPERATION_TAGS. A round of an operation has the next one. */
enum { OPERATION_TAGS = 1 << 30, ROUNDS_MOST = 32, OPERATIONS_MOST = OPERATION_TAGS / ROUNDS_MOST / 2 };

/* ---- the order of a rank ----------------------------------------------------------------------------------------- */

/* A call computes before it, posts receives, then sends, then waits. */
static int entry_phase(const struct entry *entry)
{
    static const int phases[] = {
        [STEP_COMPUTE] = 0,  [STEP_RECEIVE_BEGIN] = 1, [STEP_SEND_BEGIN] = 2, [ENTRY_OPERATION_BEGIN] = 3,
        [STEP_SEND_END] = 4, [STEP_RECEIVE_END] = 4,   [ENTRY_OPERATION] = 5, [ENTRY_OPERATION_END] = 5,
        [ENTRY_JOINT] = 5,   [ENTRY_WORK] = 6};
    return phases[entry->kind];
}

static int step_order(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    int phases = entry_phase(a) - entry_phase(b);
    return ORDER(a->call, b->call) ?: phases ?: ORDER(a->number, b->number);
}

static int script_check(const struct script *script, const struct run_job *job, char error[OUTPUT_ERROR_BYTES])
{
    const struct analysis *analysis = &script->analysis;
    const char *why = analysis->no_worlds ? analysis->no_worlds : analysis->no_ideal;
    if (!why && analysis->unknown_ns > UNKNOWN_SHARE * analysis->recorded_ns)
        why = "the trace does not tell for which ranks some calls waited";
    if (!why && analysis->brief)
        why = "it has the first and the last events alone (mpit-run --trace records every event)";
    if (!why && script->operation_count > OPERATIONS_MOST)
        why = "it has more than 16 million collectives";
    if (script->no_memory || analysis->no_memory)
        snprintf(error, OUTPUT_ERROR_BYTES, "out of memory for the script");
    else if (why || !run_job_has_trace(job))
        snprintf(error, OUTPUT_ERROR_BYTES, "the trace cannot be replayed: %s",
                 why ? why : "the run has none (mpit-run --trace records every event)");
    return error[0] ? -1 : 0;
}

static int script_fill(struct script *script, const struct run_job *job, char error[OUTPUT_ERROR_BYTES])
{
    static const struct selection all;
    const struct analysis_watch watch = {.data = script,
                                         .call = call_begun,
                                         .returned = call_returned,
                                         .begun = operation_begun,
                                         .sent = message_sent,
                                         .message = message_matched,
                                         .operation = operation_over};
    *script = (struct script){0};
    error[0] = '\0';
    if (analysis_open_watched(&script->analysis, job->files, job->file_count, &all, job->names, &watch) != 0) {
        snprintf(error, OUTPUT_ERROR_BYTES, "%s",
                 job->file_count ? script->analysis.report.error
                                 : "the run has no trace: mpit-run --trace records one");
        return -1;
    }
    for (int32_t r = 0; r < script->rank_count; r++)
        if (script->ranks[r].count)
            qsort(script->ranks[r].entries, script->ranks[r].count, sizeof(struct entry), step_order);
    script->latency_ns = (double)script->analysis.network.latency_ns;
    script->byte_ns = network_byte_ns(&script->analysis.network);
    return script_check(script, job, error);
}

static void script_empty(struct script *script)
{
    for (int32_t r = 0; r < script->rank_count && script->ranks; r++)
        free(script->ranks[r].entries);
    free(script->ranks);
    free(script->operations);
    free(script->matched);
    analysis_release(&script->analysis);
}

/* ---- operations as messages -------------------------------------------------------------------------------------- */

/* A rank that walks through its steps. */
struct walk {
    const struct script *script;
    int32_t rank;
    void *data;
    void (*take)(void *data, const struct step *step);
    const struct trace_comm *comm; /* of the last operation, */
    int32_t me;                    /* and this rank's there */
    unsigned messages;             /* that the call awaits, one after the other, and bytes: */
    uint64_t received, sent;
};

static void step_take(struct walk *walk, enum step_kind kind, int32_t peer, uint32_t tag, uint64_t amount)
{
    walk->take(walk->data, &(struct step){kind, peer, tag, amount});
}

/* What the call awaits takes so long on the recorded network. */
static double way_ns(const struct walk *walk)
{
    uint64_t bytes = walk->received > walk->sent ? walk->received : walk->sent;
    return walk->messages * walk->script->latency_ns + (double)bytes * walk->script->byte_ns;
}

static void way_awaits(struct walk *walk, unsigned messages, uint64_t received, uint64_t sent)
{
    walk->messages = messages > walk->messages ? messages : walk->messages;
    walk->received += received;
    walk->sent += sent;
}

enum part { PART_BEGIN = 1, PART_FINISH = 2, PART_BOTH = 3 };

/* An operation as this rank sees it. */
struct rounds {
    const struct trace_comm *comm;
    uint32_t tag;
    int32_t me; /* rank in the communicator */
    enum part part;
    unsigned count;
    uint64_t bytes; /* of a message */
};

/* One round: a message from `from`, and one to `to`, as ranks of the communicator. Below 0: none. */
static void round_walk(struct walk *walk, const struct rounds *rounds, int32_t from, int32_t to, unsigned number)
{
    const int32_t *members = rounds->comm->members;
    uint32_t tag = rounds->tag + number;
    if ((rounds->part & PART_BEGIN) && from >= 0)
        step_take(walk, STEP_RECEIVE_BEGIN, members[from], tag, rounds->bytes);
    if ((rounds->part & PART_BEGIN) && to >= 0)
        step_take(walk, STEP_SEND_BEGIN, members[to], tag, rounds->bytes);
    if ((rounds->part & PART_FINISH) && from >= 0)
        step_take(walk, STEP_RECEIVE_END, members[from], tag, rounds->bytes);
    if ((rounds->part & PART_FINISH) && to >= 0)
        step_take(walk, STEP_SEND_END, members[to], tag, rounds->bytes);
}

/* Dissemination: after the last round each has heard of all. */
static void all_walk(struct walk *walk, const struct rounds *rounds)
{
    int32_t size = rounds->comm->size;
    unsigned number = 0;
    for (int64_t away = 1; away < size; away *= 2, number++)
        round_walk(walk, rounds, (int32_t)((rounds->me - away + size) % size), (int32_t)((rounds->me + away) % size),
                   number);
}

/* A binomial tree, down from the root or up to it. Nonblocking: the root has a message with each member. */
static void tree_walk(struct walk *walk, const struct rounds *rounds, int32_t root, bool down)
{
    int32_t size = rounds->comm->size, me = (rounds->me - root + size) % size;
    bool flat = rounds->part != PART_BOTH;
    for (unsigned i = 0; i < rounds->count; i++) {
        unsigned number = down ? i : rounds->count - 1 - i;
        int32_t away = 1 << number, other = me < away ? me + away : me - away;
        if (flat || me >= 2 * away || other >= size)
            continue;
        bool sends = (me < away) == down;
        round_walk(walk, rounds, sends ? -1 : (other + root) % size, sends ? (other + root) % size : -1, number);
    }
    for (int32_t other = 1; flat && other < size; other++)
        if (me == 0)
            round_walk(walk, rounds, down ? -1 : (other + root) % size, down ? (other + root) % size : -1, 0);
    if (flat && me)
        round_walk(walk, rounds, down ? root : -1, down ? -1 : root, 0);
}

static void prefix_walk(struct walk *walk, const struct rounds *rounds)
{
    if (rounds->me > 0)
        round_walk(walk, rounds, rounds->me - 1, -1, 0);
    if (rounds->me + 1 < rounds->comm->size)
        round_walk(walk, rounds, -1, rounds->me + 1, 0);
}

/* The bytes of a message. Each one of a broadcast or a reduction has all bytes of the operation. Messages of other operations
 * share them. */
static uint64_t round_bytes(const struct script_operation *operation, unsigned messages)
{
    switch (operation->operation) {
    case COLLECTIVE_BCAST:
    case COLLECTIVE_ALLREDUCE:
    case COLLECTIVE_REDUCE:
    case COLLECTIVE_SCAN:
    case COLLECTIVE_EXSCAN:
        return operation->bytes;
    default:
        return messages ? operation->bytes / messages : 0;
    }
}

static void operation_walk(struct walk *walk, const struct entry *entry, enum part part)
{
    static const struct script_operation barrier = {.form = FORM_BARRIER, .told = true}, none;
    const struct script *script = walk->script;
    bool joint = entry->kind == ENTRY_JOINT;
    const struct script_operation *is = joint                                     ? &barrier
                                        : entry->number < script->operation_count ? &script->operations[entry->number]
                                                                                  : &none;
    const struct trace_comm *comm = &script->analysis.comms.list[entry->peer];
    uint32_t tag = (uint32_t)(entry->number * 2 + joint) * ROUNDS_MOST & (OPERATION_TAGS - 1);
    bool rooted = is->form == FORM_ONE_TO_ALL || is->form == FORM_ALL_TO_ONE;
    if (!is->told || !comm->members)
        return;
    if (walk->comm != comm) {
        walk->comm = comm;
        walk->me = member_find(comm, walk->rank);
    }
    struct rounds rounds = {.comm = comm, .tag = OPERATION_TAGS + tag, .me = walk->me, .part = part};
    for (int64_t away = 1; away < comm->size; away *= 2)
        rounds.count++;
    rounds.bytes = round_bytes(is, rooted && part != PART_BOTH ? (unsigned)comm->size : rounds.count);
    if (part & PART_FINISH)
        way_awaits(walk, rounds.count, rounds.count * rounds.bytes, 0);
    if (is->form == FORM_PREFIX)
        prefix_walk(walk, &rounds);
    else if (rooted)
        tree_walk(walk, &rounds, is->root, is->form == FORM_ONE_TO_ALL);
    else
        all_walk(walk, &rounds);
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

static void entry_walk(struct walk *walk, const struct entry *entry)
{
    uint32_t tag = (uint32_t)(entry->number & (OPERATION_TAGS - 1));
    switch (entry->kind) {
    case ENTRY_OPERATION:
    case ENTRY_JOINT:
        operation_walk(walk, entry, PART_BOTH);
        break;
    case ENTRY_OPERATION_BEGIN:
        operation_walk(walk, entry, PART_BEGIN);
        break;
    case ENTRY_OPERATION_END:
        operation_walk(walk, entry, PART_FINISH);
        break;
    case ENTRY_WORK:
        if ((double)entry->amount > way_ns(walk))
            step_take(walk, STEP_COMPUTE, -1, 0, entry->amount - (uint64_t)way_ns(walk));
        walk->messages = 0;
        walk->received = walk->sent = 0;
        break;
    default:
        if (entry->kind == STEP_SEND_END &&
            (entry->number >= walk->script->matched_count || !walk->script->matched[entry->number]))
            return; /* of a message that nobody received */
        if (entry->kind == STEP_RECEIVE_END)
            way_awaits(walk, 1, entry->amount, 0);
        if (entry->kind == STEP_SEND_END && entry->amount >= SCRIPT_LARGE)
            way_awaits(walk, 1, 0, entry->amount);
        step_take(walk, (enum step_kind)entry->kind, entry->peer, tag, entry->amount);
    }
}

void script_walk(const struct script *script, int32_t rank, void *data,
                 void (*take)(void *data, const struct step *step))
{
    const struct script_rank *is = &script->ranks[rank];
    struct walk walk = {.script = script, .rank = rank, .data = data, .take = take};
    if (is->count && is->start_ns > script->begin_ns) /* the others have left MPI_Init before */
        step_take(&walk, STEP_COMPUTE, -1, 0, is->start_ns - script->begin_ns);
    for (size_t i = 0; i < is->count; i++)
        entry_walk(&walk, &is->entries[i]);
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

int script_write(const struct run_job *job, enum script_format format, const char *directory, uint64_t *left_out,
                 char error[OUTPUT_ERROR_BYTES])
{
    struct script script;
    int result = script_fill(&script, job, error);
    if (result == 0)
        result = output_directory_make(directory, error);
    if (format == SCRIPT_GOAL) /* LogGOPSim has whole nanoseconds for a byte: the rest stays computation */
        script.byte_ns = floor(script.byte_ns);
    if (result == 0)
        result =
            format == SCRIPT_GOAL ? goal_write(&script, directory, error) : simgrid_write(&script, directory, error);
    *left_out = script.left_out;
    script_empty(&script);
    return result;
}
