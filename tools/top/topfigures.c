#include "base/array.h"
#include "base/number.h"
#include "top/topmodel.h"

#include "figures/figures.h"

#include <stdlib.h>
#include <string.h>

enum { ATTEMPTS = 4 };

/* The variables to read, as the file itself describes them, and the places of their sums in the figures. */
#define OF_RANK(figure) offsetof(struct top_figures, figure)
#define OF_SLOT(figure) offsetof(struct top_slot_figures, figure)
enum {
    OF_RANK_FIRST = 0,
    OF_SLOT_FIRST = 6,
    OF_SLOT_TIME = OF_SLOT_FIRST,
    P2P_COUNT = 14,
    SIZES_FIRST = 15,
    WANTED = 18
};

static const struct {
    const char *name;
    uint32_t class;
    size_t place;
} wanted[WANTED] = {
    [OF_RANK_FIRST] = {"mpit_call_count", VARIABLE_COUNTER, OF_RANK(calls)},
    {"mpit_fabric_ops", VARIABLE_COUNTER, OF_RANK(fabric_ops)},
    {"mpit_fabric_bytes", VARIABLE_AGGREGATE, OF_RANK(fabric_bytes)},
    {"mpit_fabric_polls", VARIABLE_COUNTER, OF_RANK(fabric_polls)},
    {"mpit_fabric_time", VARIABLE_TIMER, OF_RANK(fabric_ns)},
    {"mpit_fabric_pending", VARIABLE_LEVEL, OF_RANK(fabric_pending)},
    [OF_SLOT_FIRST] = {"mpit_comm_time", VARIABLE_TIMER, OF_SLOT(time_ns)},
    {"mpit_comm_stall_time", VARIABLE_TIMER, OF_SLOT(stall_ns)},
    {"mpit_send_count", VARIABLE_COUNTER, OF_SLOT(sent)},
    {"mpit_send_bytes", VARIABLE_AGGREGATE, OF_SLOT(sent_bytes)},
    {"mpit_recv_count", VARIABLE_COUNTER, OF_SLOT(received)},
    {"mpit_recv_bytes", VARIABLE_AGGREGATE, OF_SLOT(received_bytes)},
    {"mpit_coll_count", VARIABLE_COUNTER, OF_SLOT(colls)},
    {"mpit_coll_bytes", VARIABLE_AGGREGATE, OF_SLOT(coll_bytes)},
    [P2P_COUNT] = {"mpit_p2p_count", VARIABLE_COUNTER, 0},
    [SIZES_FIRST] = {"mpit_send_size_count", VARIABLE_COUNTER, 0},
    {"mpit_recv_size_count", VARIABLE_COUNTER, 0},
    {"mpit_coll_size_count", VARIABLE_COUNTER, 0},
};

struct top_reading {
    struct live_process *process;
    const struct run_reader *run;
    const struct variable_record *records[WANTED];
    struct call_places *places;
};

static uint64_t reading_ns_of(const struct top_reading *reading, uint64_t ticks)
{
    return live_between(reading->process, 0, ticks);
}

enum { CALLERS_SHOWN = 2 };

/* Sums up variables from .. to - 1 over blocks first .. end - 1. */
static void sums_read(const struct top_reading *reading, int from, int to, size_t first, size_t end, void *figures)
{
    for (int k = from; k < to; k++) {
        uint64_t sum = live_sum(reading->run, reading->records[k], first, end, ANY_THREAD, NULL, 0);
        *(uint64_t *)(void *)((char *)figures + wanted[k].place) =
            wanted[k].class == VARIABLE_TIMER ? reading_ns_of(reading, sum) : sum;
    }
}

/* ---- threads ----------------------------------------------------------------------------------------------------- */

static void call_read(const struct top_reading *reading, const struct live_thread *seen, struct top_call *call)
{
    const struct thread_state *state = &seen->state;
    call->name[0] = call->comm[0] = '\0';
    call->place = call_place_find(reading->places, reading->run, state->path);
    call_place_text(reading->places, call->place, CALLERS_SHOWN, call->where);
    call->kind = state->call;
    call->since_ns = seen->since_ns;
    call->stall_ns = seen->stall_ns;
    call->peer = PEER_NONE;
    if (!state->call)
        return;
    label_clean(call->name, sizeof call->name, run_reader_call_name(reading->run, state->call), CALL_NAME_BYTES);
    call->peer = state->peer;
    const struct comm_record *comm = run_reader_comm_record(reading->run, state->comm, state->since);
    if (comm)
        comm_title(call->comm, comm->name, comm->label);
}

/* Takes time without recording from the thread's time. That before a thread was seen is known if it began in MPI_Init. */
static void off_take(const struct top_reading *reading, const struct thread_record *record, struct top_thread *thread,
                     bool is_new)
{
    const struct run_header *header = &reading->run->header;
    uint64_t off = reading_ns_of(reading, run_off_ticks(header, reading->process->now_ticks));
    if (is_new && record->begin_ticks > header->init_ticks)
        thread->off_before_ns = off;
    if (!thread->ended)
        thread->off_ns = off > thread->off_before_ns ? off - thread->off_before_ns : 0;
    thread->thread_ns -= thread->off_ns < thread->thread_ns ? thread->off_ns : thread->thread_ns;
}

static void thread_read(const struct top_reading *reading, const struct thread_record *record,
                        const struct live_thread *seen, struct top_thread *thread)
{
    uint64_t end = seen->end_ticks, now = reading->process->now_ticks;
    thread->mpi_ns = reading_ns_of(reading, seen->mpi_ticks);
    thread->stall_ns = reading_ns_of(reading, seen->stall_ticks);
    thread->index = record->index;
    thread->tid = record->tid;
    bool known = thread->span_ns != 0;
    if (thread->ended && !end) /* now of a thread that did not exist at the last look */
        thread->idle_ns = less(thread->span_ns, thread->thread_ns + thread->off_ns);
    thread->ended = end != 0;
    thread->span_ns = live_between(reading->process, record->begin_ticks, now);
    thread->thread_ns = live_between(reading->process, record->begin_ticks, end && end < now ? end : now);
    thread->thread_ns -= thread->idle_ns < thread->thread_ns ? thread->idle_ns : thread->thread_ns;
    off_take(reading, record, thread, !known);
    call_read(reading, seen, &thread->call);
    if (run_phase_is_end(reading->run->header.phase))
        thread->call.name[0] = '\0';
    else {
        thread->mpi_ns += thread->call.since_ns;
        thread->stall_ns += thread->call.stall_ns;
    }
}

static int threads_read(const struct top_reading *reading, struct top_rank *rank, struct live_thread **seen)
{
    const struct run_reader *run = reading->run;
    size_t old = rank->thread_count, count = run->thread_count;
    struct top_thread *threads = count > old ? reallocarray(rank->threads, count, sizeof *threads) : rank->threads;
    *seen = calloc(count + 1, sizeof **seen);
    if ((count && !threads) || !*seen)
        return -1;
    rank->threads = threads;
    rank->thread_count = count;
    rank->threads_alive = 0;
    rank->busy = NULL;
    for (size_t i = 0; i < count; i++) {
        struct top_thread *thread = &threads[i], before;
        if (i >= old)
            memset(thread, 0, sizeof *thread);
        before = *thread;
        if (!run->threads[i])
            continue;
        live_thread_read(reading->process, i, &(*seen)[i]);
        thread_read(reading, run->threads[i], &(*seen)[i], thread);
        double time = thread->thread_ns > before.thread_ns ? (double)(thread->thread_ns - before.thread_ns) : 0;
        double mpi = thread->mpi_ns > before.mpi_ns ? (double)(thread->mpi_ns - before.mpi_ns) : 0;
        double stall = thread->stall_ns > before.stall_ns ? (double)(thread->stall_ns - before.stall_ns) : 0;
        thread->mpi = time <= 0 ? 0 : mpi < time ? mpi / time : 1;
        thread->stall = time <= 0 ? 0 : stall / time < thread->mpi ? stall / time : thread->mpi;
        rank->threads_alive += !thread->ended;
        rank->now.mpi_ns += thread->mpi_ns;
        rank->now.stall_ns += thread->stall_ns;
        rank->now.thread_ns += thread->thread_ns;
        if (!rank->busy ||
            (thread->call.name[0] && (!rank->busy->call.name[0] || thread->call.since_ns > rank->busy->call.since_ns)))
            rank->busy = thread;
    }
    return 0;
}

/* ---- communicators ----------------------------------------------------------------------------------------------- */

static double growth_rate(uint64_t now, uint64_t before, double seconds)
{
    return now > before && seconds > 0 ? (double)(now - before) / seconds : 0;
}

/* Reads the counters that a call on the communicator changes: its time, if calls are timed, and completions. */
static uint64_t mark_read(const struct top_reading *reading, size_t first, size_t end)
{
    return live_sum(reading->run, reading->records[OF_SLOT_TIME], first, end, ANY_THREAD, NULL, 0) +
           live_sum(reading->run, reading->records[P2P_COUNT], first, end, ANY_THREAD, NULL, 0);
}

/* Returns true if it has changed since the last look, or may have. May be repeated within a look. */
static bool slot_read(const struct top_reading *reading, struct top_rank *rank, uint32_t slot,
                      const struct live_thread *seen)
{
    size_t first = reading->run->comm_blocks[slot], end = reading->run->comm_blocks[slot + 1];
    struct top_slot *into = &rank->slots[slot];
    uint64_t since = reading->run->comms[slot]->since_ticks;
    if (into->since_ticks != since || !into->look)
        *into = (struct top_slot){.since_ticks = since};
    else if (into->look != rank->look)
        into->before = into->now;
    /* the mark is read first, so that the next look finds later changes */
    uint64_t mark = rank->timed ? mark_read(reading, first, end) : 0;
    bool changed = !into->look || !rank->timed || mark != into->mark;
    if (changed)
        sums_read(reading, OF_SLOT_FIRST, P2P_COUNT, first, end, &into->cells);
    into->mark = mark;
    into->look = rank->look;
    into->now = into->cells;
    for (size_t i = 0; i < rank->thread_count && !run_phase_is_end(reading->run->header.phase); i++)
        if (seen[i].state.call && seen[i].state.comm == slot) {
            into->now.time_ns += seen[i].since_ns;
            into->now.stall_ns += seen[i].stall_ns;
        }
    return changed;
}

static void slot_rates(struct top_slot *slot, double seconds)
{
    const struct top_slot_figures *now = &slot->now, *old = &slot->before;
    struct top_comm_rates *rates = &slot->rates;
    rates->time = growth_rate(now->time_ns, old->time_ns, seconds * 1e9);
    rates->stall = growth_rate(now->stall_ns, old->stall_ns, seconds * 1e9);
    rates->sent = growth_rate(now->sent, old->sent, seconds);
    rates->sent_bytes = growth_rate(now->sent_bytes, old->sent_bytes, seconds);
    rates->messages = rates->sent + growth_rate(now->received, old->received, seconds);
    rates->colls = growth_rate(now->colls, old->colls, seconds);
    rates->bytes = rates->sent_bytes + growth_rate(now->received_bytes, old->received_bytes, seconds) +
                   growth_rate(now->coll_bytes, old->coll_bytes, seconds);
}

static int slots_make(const struct top_reading *reading, struct top_rank *rank)
{
    const struct run_reader *run = reading->run;
    if (run->slot_count <= rank->slot_count)
        return 0;
    if (!ARRAY_EXTENDED(rank->slots, rank->slot_count, run->slot_count))
        return -1;
    rank->slot_count = run->slot_count;
    return 0;
}

/* Reads the communicators, and the sums of the process over all of them. */
static void slots_read(const struct top_reading *reading, struct top_rank *rank, const struct live_thread *seen,
                       const struct top_figures *last, bool *changed)
{
    const struct run_reader *run = reading->run;
    struct top_figures *now = &rank->now;
    now->sent = now->sent_bytes = now->received = now->received_bytes = now->colls = now->coll_bytes = 0;
    for (uint32_t slot = 1; slot < run->slot_count; slot++) {
        if (!run->comms[slot])
            continue;
        *changed = slot_read(reading, rank, slot, seen) || *changed;
        const struct top_slot_figures *one = &rank->slots[slot].now;
        now->sent += one->sent;
        now->sent_bytes += one->sent_bytes;
        now->received += one->received;
        now->received_bytes += one->received_bytes;
        now->colls += one->colls;
        now->coll_bytes += one->coll_bytes;
    }
    for (int i = 0; i < 3 && *changed; i++)
        live_sum(run, reading->records[SIZES_FIRST + i], run->comm_blocks[1], run->block_count, ANY_THREAD,
                 now->sizes[i], BUCKET_COUNT);
    if (!*changed)
        memcpy(now->sizes, last->sizes, sizeof now->sizes);
}

/* ---- the process ------------------------------------------------------------------------------------------------- */

/* Reads the figures that belong to no communicator. */
static void totals_read(const struct top_reading *reading, struct top_figures *now)
{
    static const struct variable_record counters = {
        .count = COUNTER_COUNT,
        .combine = COMBINE_SUM,
        .terms = {{.block = BLOCK_COUNTERS, .weight = 1, .run = PLACE_COUNT, .step = 1, .stride = PLACE_COUNT}}};
    size_t end = reading->run->comm_blocks[1]; /* of no communicator */
    sums_read(reading, OF_RANK_FIRST, OF_SLOT_FIRST, 0, end, now);
    live_sum(reading->run, &counters, 0, end, ANY_THREAD, now->counters, COUNTER_COUNT);
}

static void rates_make(struct top_rank *rank)
{
    const struct top_figures *now = &rank->now, *old = &rank->before;
    double seconds = (double)rank->interval_ns * 1e-9;
    double time = now->thread_ns > old->thread_ns ? (double)(now->thread_ns - old->thread_ns) * 1e-9 : 0;
    struct top_rates *rates = &rank->rates;
    *rates = (struct top_rates){.calls = growth_rate(now->calls, old->calls, seconds),
                                .sent = growth_rate(now->sent, old->sent, seconds),
                                .sent_bytes = growth_rate(now->sent_bytes, old->sent_bytes, seconds),
                                .received = growth_rate(now->received, old->received, seconds),
                                .received_bytes = growth_rate(now->received_bytes, old->received_bytes, seconds),
                                .colls = growth_rate(now->colls, old->colls, seconds),
                                .coll_bytes = growth_rate(now->coll_bytes, old->coll_bytes, seconds),
                                .fabric_ops = growth_rate(now->fabric_ops, old->fabric_ops, seconds),
                                .fabric_bytes = growth_rate(now->fabric_bytes, old->fabric_bytes, seconds),
                                .fabric_polls = growth_rate(now->fabric_polls, old->fabric_polls, seconds),
                                .fabric = growth_rate(now->fabric_ns, old->fabric_ns, seconds * 1e9)};
    for (size_t i = 0; i < COUNTER_COUNT; i++)
        rates->counters[i] = growth_rate(now->counters[i], old->counters[i], seconds);
    rates->mpi = growth_rate(now->mpi_ns, old->mpi_ns, time * 1e9);
    rates->mpi = rates->mpi < 1 ? rates->mpi : 1;
    rates->stall = growth_rate(now->stall_ns, old->stall_ns, time * 1e9);
    rates->stall = rates->stall < rates->mpi ? rates->stall : rates->mpi;
    rates->work = rates->mpi - rates->stall;
}

/* The part of the interval after MPI_Init. A process has one thread in MPI_Init, and that thread is in MPI. */
static void efficiency_part_make(struct top_rank *rank, const struct live_process *process)
{
    const struct run_header *header = &process->run.header;
    const struct top_figures *now = &rank->now, *old = &rank->before;
    uint64_t init_ns = live_between(process, header->begin_ticks, header->init_ticks);
    uint64_t begin_ns = rank->run_ns - rank->interval_ns, in_init = init_ns > begin_ns ? init_ns - begin_ns : 0;
    uint64_t threads = now->thread_ns > old->thread_ns ? now->thread_ns - old->thread_ns : 0;
    uint64_t mpi = now->mpi_ns > old->mpi_ns ? now->mpi_ns - old->mpi_ns : 0;
    rank->measured = rank->state == TOP_RUNNING && rank->timed && rank->recorded && header->init_ticks &&
                     !header->finalize_ticks && rank->interval_ns > in_init && threads > in_init;
    if (!rank->measured)
        return;
    double run = (double)(rank->interval_ns - in_init), outside = threads > mpi ? (double)(threads - mpi) : 0;
    double share = outside / (double)(threads - in_init);
    rank->part = (struct efficiency_part){.run = run, .useful = run * (share < 1 ? share : 1)};
}

int top_rank_read(struct top_rank *rank, struct live_process *process, struct call_places *places)
{
    struct top_reading reading = {.process = process, .run = &process->run, .places = places};
    struct live_thread *seen = NULL;
    struct top_figures last = rank->now;
    uint64_t run_ns = rank->run_ns, changes;
    bool changed = false;
    for (int k = 0; k < WANTED; k++)
        reading.records[k] = run_reader_variable(reading.run, wanted[k].name, wanted[k].class);
    live_now(process);
    rank->now = (struct top_figures){0};
    rank->run_ns = process->now_ns;
    rank->interval_ns = rank->is_new ? process->now_ns : process->now_ns > run_ns ? process->now_ns - run_ns : 0;
    totals_read(&reading, &rank->now);
    int result = threads_read(&reading, rank, &seen) ?: slots_make(&reading, rank);
    /* When a slot goes to another communicator, its figures move, and are missing or doubled for a moment. */
    for (int i = 0; result == 0 && i < ATTEMPTS; i++) {
        changes = live_comm_changes(reading.run);
        slots_read(&reading, rank, seen, &last, &changed);
        if (!(changes & 1) && live_comm_changes(reading.run) == changes)
            break;
    }
    for (uint32_t slot = 1; result == 0 && slot < reading.run->slot_count; slot++)
        if (reading.run->comms[slot])
            slot_rates(&rank->slots[slot], (double)rank->interval_ns * 1e-9);
    rank->before = last;
    rates_make(rank);
    efficiency_part_make(rank, process);
    free(seen);
    return result;
}
