#include "base/array.h"
#include "top/topmodel.h"

#include "figures/cells.h"
#include "figures/variables.h"

#include <stdlib.h>
#include <string.h>

enum { ATTEMPTS = 4 };

/* The variables to read, as the file itself describes them. */
#define TOP_VARIABLES(X)                                                                                               \
    X(MPI_TIME, "mpit_mpi_time", TIMER)                                                                                \
    X(STALL_TIME, "mpit_stall_time", TIMER)                                                                            \
    X(CALL_COUNT, "mpit_call_count", COUNTER)                                                                          \
    X(SEND_SIZES, "mpit_send_size_count", COUNTER)                                                                     \
    X(RECV_SIZES, "mpit_recv_size_count", COUNTER)                                                                     \
    X(COLL_SIZES, "mpit_coll_size_count", COUNTER)                                                                     \
    X(SEND_BYTES, "mpit_send_bytes", AGGREGATE)                                                                        \
    X(RECV_BYTES, "mpit_recv_bytes", AGGREGATE)                                                                        \
    X(COLL_BYTES, "mpit_coll_bytes", AGGREGATE)                                                                        \
    X(COLL_COUNT, "mpit_coll_count", COUNTER)                                                                          \
    X(P2P_COUNT, "mpit_p2p_count", COUNTER)                                                                            \
    X(SEND_COUNT, "mpit_send_count", COUNTER)                                                                          \
    X(RECV_COUNT, "mpit_recv_count", COUNTER)                                                                          \
    X(COMM_TIME, "mpit_comm_time", TIMER)                                                                              \
    X(COMM_STALL, "mpit_comm_stall_time", TIMER)                                                                       \
    X(FABRIC_OPS, "mpit_fabric_ops", COUNTER)                                                                          \
    X(FABRIC_BYTES, "mpit_fabric_bytes", AGGREGATE)                                                                    \
    X(FABRIC_POLLS, "mpit_fabric_polls", COUNTER)                                                                      \
    X(FABRIC_TIME, "mpit_fabric_time", TIMER)                                                                          \
    X(FABRIC_PENDING, "mpit_fabric_pending", LEVEL)

enum wanted {
#define WANTED(id, name, class) WANT_##id,
    TOP_VARIABLES(WANTED)
#undef WANTED
        WANT_COUNT
};

struct top_reading {
    struct live_process *process;
    const struct run_reader *run;
    const struct variable_record *records[WANT_COUNT];
    struct call_places *places;
};

static void records_find(struct top_reading *reading)
{
    static const struct {
        const char *name;
        uint32_t class;
    } wanted[WANT_COUNT] = {
#define WANTED(id, name, class) {name, VARIABLE_##class},
        TOP_VARIABLES(WANTED)
#undef WANTED
    };
    for (size_t i = 0; i < reading->run->variable_count; i++)
        for (int k = 0; k < WANT_COUNT; k++)
            if (reading->run->variables[i].class == wanted[k].class &&
                strcmp(reading->run->variables[i].name, wanted[k].name) == 0)
                reading->records[k] = &reading->run->variables[i];
}

static uint64_t reading_ns_of(const struct top_reading *reading, uint64_t ticks)
{
    return live_between(reading->process, 0, ticks);
}

enum { VALUES_MOST = 1024, ANY = -1, CALLERS_SHOWN = 2 };

/* Adds a variable's values over blocks first .. end - 1, of one thread or of any. values[count] has them by slot. */
static uint64_t sum_blocks(const struct top_reading *reading, enum wanted which, size_t first, size_t end,
                           int64_t thread, uint64_t *values, size_t count)
{
    uint64_t own[VALUES_MOST], sum = 0;
    const struct variable_record *record = reading->records[which];
    size_t have = record ? record->count : 0;
    if (have > VALUES_MOST)
        have = VALUES_MOST;
    if (have)
        variable_clear(record, own, have);
    for (size_t i = first; have && i < end; i++) {
        const struct run_block *block = &reading->run->blocks[i];
        if (thread == ANY || block->thread == thread)
            variable_take(record, block->kind, block->page, tally_cells(block), block->cells, own, have);
    }
    for (size_t i = 0; i < have; i++) {
        sum += own[i];
        if (i < count)
            values[i] = own[i];
    }
    return sum;
}

/* ---- threads ----------------------------------------------------------------------------------------------------- */

/* Reads a state and accumulators that match: the thread was in the same call before and after. */
static struct thread_state state_read(const struct top_reading *reading, const struct thread_record *record,
                                      struct top_thread *thread, uint64_t *stalled)
{
    const size_t *blocks = reading->run->comm_blocks;
    struct thread_state state = {0};
    for (int i = 0; i < ATTEMPTS; i++) {
        const volatile struct thread_state *there = &record->state;
        state = (struct thread_state){.since = there->since,
                                      .call = there->call,
                                      .comm = there->comm,
                                      .peer = there->peer,
                                      .partner = there->partner,
                                      .path = there->path};
        *stalled = RELAXED_LOAD(&record->stalled);
        loads_order();
        thread->mpi_ns =
            reading_ns_of(reading, sum_blocks(reading, WANT_MPI_TIME, blocks[0], blocks[1], record->index, NULL, 0));
        thread->stall_ns =
            reading_ns_of(reading, sum_blocks(reading, WANT_STALL_TIME, blocks[0], blocks[1], record->index, NULL, 0));
        loads_order();
        if (there->since == state.since && there->call == state.call)
            break;
    }
    return state;
}

static void call_read(const struct top_reading *reading, const struct thread_state *state, uint64_t stalled,
                      struct top_call *call)
{
    uint64_t now = reading->process->now_ticks;
    call->name[0] = call->comm[0] = call->where[0] = '\0';
    call->place = 0;
    call->kind = state->call;
    call->since_ns = call->stall_ns = 0;
    call->peer = PEER_NONE;
    if (!state->call)
        return;
    label_clean(call->name, sizeof call->name, run_reader_call_name(reading->run, state->call), CALL_NAME_BYTES);
    call->since_ns = live_between(reading->process, state->since, now);
    call->stall_ns = stalled ? live_between(reading->process, stalled, now) : 0;
    if (call->stall_ns > call->since_ns)
        call->stall_ns = call->since_ns;
    call->peer = state->peer;
    top_comm_title(reading->run, state->comm, state->since, call->comm);
    call->place = call_place_find(reading->places, reading->run, state->path);
    call_place_text(reading->places, call->place, CALLERS_SHOWN, call->where);
}

static uint64_t ended_idle(const struct top_thread *thread)
{
    uint64_t busy = thread->thread_ns + thread->off_ns;
    return thread->span_ns > busy ? thread->span_ns - busy : 0;
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
                        struct top_thread *thread, struct thread_state *state)
{
    uint64_t stalled, end = RELAXED_LOAD(&record->end_ticks), now = reading->process->now_ticks;
    *state = state_read(reading, record, thread, &stalled);
    thread->index = record->index;
    thread->tid = record->tid;
    bool known = thread->span_ns != 0;
    if (thread->ended && !end) /* now of a thread that did not exist at the last look */
        thread->idle_ns = ended_idle(thread);
    thread->ended = end != 0;
    thread->span_ns = live_between(reading->process, record->begin_ticks, now);
    if (end) /* another thread may use its thread state next */
        *state = (struct thread_state){0};
    thread->thread_ns = live_between(reading->process, record->begin_ticks, end && end < now ? end : now);
    thread->thread_ns -= thread->idle_ns < thread->thread_ns ? thread->idle_ns : thread->thread_ns;
    off_take(reading, record, thread, !known);
    call_read(reading, state, stalled, &thread->call);
    if (run_phase_is_end(reading->run->header.phase))
        thread->call.name[0] = '\0';
    else {
        thread->mpi_ns += thread->call.since_ns;
        thread->stall_ns += thread->call.stall_ns;
    }
}

static int threads_read(const struct top_reading *reading, struct top_rank *rank, struct thread_state **states)
{
    const struct run_reader *run = reading->run;
    size_t old = rank->thread_count, count = run->thread_count;
    struct top_thread *threads = count > old ? reallocarray(rank->threads, count, sizeof *threads) : rank->threads;
    *states = calloc(count + 1, sizeof **states);
    if ((count && !threads) || !*states)
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
        thread_read(reading, run->threads[i], thread, &(*states)[i]);
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

const char *top_comm_title(const struct run_reader *run, uint32_t slot, uint64_t ticks, char title[COMM_TITLE_BYTES])
{
    uint32_t number = slot ? run_reader_comm_at(run, slot, ticks) : 0;
    const struct comm_record *record = number && number < run->comm_count ? run->comms[number] : NULL;
    title[0] = '\0';
    return record ? comm_title(title, record->name, record->label) : title;
}

static double growth_rate(uint64_t now, uint64_t before, double seconds)
{
    return now > before && seconds > 0 ? (double)(now - before) / seconds : 0;
}

static void cells_read(const struct top_reading *reading, size_t first, size_t end, struct top_slot_figures *cells)
{
    cells->time_ns = reading_ns_of(reading, sum_blocks(reading, WANT_COMM_TIME, first, end, ANY, NULL, 0));
    cells->stall_ns = reading_ns_of(reading, sum_blocks(reading, WANT_COMM_STALL, first, end, ANY, NULL, 0));
    cells->sent = sum_blocks(reading, WANT_SEND_COUNT, first, end, ANY, NULL, 0);
    cells->sent_bytes = sum_blocks(reading, WANT_SEND_BYTES, first, end, ANY, NULL, 0);
    cells->received = sum_blocks(reading, WANT_RECV_COUNT, first, end, ANY, NULL, 0);
    cells->received_bytes = sum_blocks(reading, WANT_RECV_BYTES, first, end, ANY, NULL, 0);
    cells->colls = sum_blocks(reading, WANT_COLL_COUNT, first, end, ANY, NULL, 0);
    cells->coll_bytes = sum_blocks(reading, WANT_COLL_BYTES, first, end, ANY, NULL, 0);
}

/* Reads the counters that a call on the communicator changes: its time, if calls are timed, and completions. */
static uint64_t mark_read(const struct top_reading *reading, size_t first, size_t end)
{
    return sum_blocks(reading, WANT_COMM_TIME, first, end, ANY, NULL, 0) +
           sum_blocks(reading, WANT_P2P_COUNT, first, end, ANY, NULL, 0);
}

/* Returns true if it has changed since the last look, or may have. May be repeated within a look. */
static bool slot_read(const struct top_reading *reading, struct top_rank *rank, uint32_t slot,
                      const struct thread_state *states)
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
        cells_read(reading, first, end, &into->cells);
    into->mark = mark;
    into->look = rank->look;
    into->now = into->cells;
    for (size_t i = 0; i < rank->thread_count && !run_phase_is_end(reading->run->header.phase); i++)
        if (states[i].call && states[i].comm == slot) {
            into->now.time_ns += rank->threads[i].call.since_ns;
            into->now.stall_ns += rank->threads[i].call.stall_ns;
        }
    return changed;
}

static void slot_rates(struct top_slot *slot, double seconds)
{
    const struct top_slot_figures *now = &slot->now, *old = &slot->before;
    slot->time = growth_rate(now->time_ns, old->time_ns, seconds * 1e9);
    slot->stall = growth_rate(now->stall_ns, old->stall_ns, seconds * 1e9);
    slot->sent_rate = growth_rate(now->sent, old->sent, seconds);
    slot->sent_byte_rate = growth_rate(now->sent_bytes, old->sent_bytes, seconds);
    slot->message_rate = slot->sent_rate + growth_rate(now->received, old->received, seconds);
    slot->coll_rate = growth_rate(now->colls, old->colls, seconds);
    slot->byte_rate = slot->sent_byte_rate + growth_rate(now->received_bytes, old->received_bytes, seconds) +
                      growth_rate(now->coll_bytes, old->coll_bytes, seconds);
}

static int slots_make(const struct top_reading *reading, struct top_rank *rank)
{
    const struct run_reader *run = reading->run;
    if (run->slot_count <= rank->slot_count)
        return 0;
    struct top_slot *slots = array_extend(rank->slots, rank->slot_count, run->slot_count, sizeof *slots);
    if (!slots)
        return -1;
    rank->slots = slots;
    rank->slot_count = run->slot_count;
    return 0;
}

/* Reads the communicators, and the sums of the process over all of them. */
static void slots_read(const struct top_reading *reading, struct top_rank *rank, const struct thread_state *states,
                       const struct top_figures *last, bool *changed)
{
    static const enum wanted sizes[3] = {WANT_SEND_SIZES, WANT_RECV_SIZES, WANT_COLL_SIZES};
    const struct run_reader *run = reading->run;
    struct top_figures *now = &rank->now;
    now->sent = now->sent_bytes = now->received = now->received_bytes = now->colls = now->coll_bytes = 0;
    for (uint32_t slot = 1; slot < run->slot_count; slot++) {
        if (!run->comms[slot])
            continue;
        *changed = slot_read(reading, rank, slot, states) || *changed;
        const struct top_slot_figures *one = &rank->slots[slot].now;
        now->sent += one->sent;
        now->sent_bytes += one->sent_bytes;
        now->received += one->received;
        now->received_bytes += one->received_bytes;
        now->colls += one->colls;
        now->coll_bytes += one->coll_bytes;
    }
    for (int i = 0; i < 3 && *changed; i++)
        sum_blocks(reading, sizes[i], run->comm_blocks[1], run->block_count, ANY, now->sizes[i], BUCKET_COUNT);
    if (!*changed)
        memcpy(now->sizes, last->sizes, sizeof now->sizes);
}

/* ---- the process ------------------------------------------------------------------------------------------------- */

/* Reads the figures that belong to no communicator. */
static void totals_read(const struct top_reading *reading, struct top_figures *now)
{
    const struct run_reader *run = reading->run;
    size_t own = run->comm_blocks[1]; /* of no communicator */
    now->calls = sum_blocks(reading, WANT_CALL_COUNT, 0, own, ANY, NULL, 0);
    now->fabric_ops = sum_blocks(reading, WANT_FABRIC_OPS, 0, own, ANY, NULL, 0);
    now->fabric_bytes = sum_blocks(reading, WANT_FABRIC_BYTES, 0, own, ANY, NULL, 0);
    now->fabric_polls = sum_blocks(reading, WANT_FABRIC_POLLS, 0, own, ANY, NULL, 0);
    now->fabric_ns = reading_ns_of(reading, sum_blocks(reading, WANT_FABRIC_TIME, 0, own, ANY, NULL, 0));
    now->fabric_pending = sum_blocks(reading, WANT_FABRIC_PENDING, 0, own, ANY, NULL, 0);
    for (size_t i = 0; i < own; i++) {
        const struct run_block *block = &run->blocks[i];
        size_t count = block->kind == BLOCK_COUNTERS ? block->cells / PLACE_COUNT : 0;
        for (size_t k = 0; k < count && k < COUNTER_COUNT; k++)
            for (int place = 0; place < PLACE_COUNT; place++)
                now->counters[k] += cell_load(&tally_cells(block)[k * PLACE_COUNT + (size_t)place]);
    }
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

static uint64_t changes_load(const struct run_reader *run)
{
    const struct run_header *header = (const struct run_header *)(const void *)run->base;
    return __atomic_load_n(&header->comm_changes, __ATOMIC_ACQUIRE);
}

int top_rank_read(struct top_rank *rank, struct live_process *process, struct call_places *places)
{
    struct top_reading reading = {.process = process, .run = &process->run, .places = places};
    struct thread_state *states = NULL;
    struct top_figures last = rank->now;
    uint64_t run_ns = rank->run_ns, changes;
    bool changed = false;
    records_find(&reading);
    live_now(process);
    rank->now = (struct top_figures){0};
    rank->run_ns = process->now_ns;
    rank->interval_ns = rank->is_new ? process->now_ns : process->now_ns > run_ns ? process->now_ns - run_ns : 0;
    totals_read(&reading, &rank->now);
    int result = threads_read(&reading, rank, &states);
    if (result == 0)
        result = slots_make(&reading, rank);
    /* When a slot goes to another communicator, its figures move, and are missing or doubled for a moment. */
    for (int i = 0; result == 0 && i < ATTEMPTS; i++) {
        changes = changes_load(reading.run);
        slots_read(&reading, rank, states, &last, &changed);
        if (!(changes & 1) && changes_load(reading.run) == changes)
            break;
    }
    for (uint32_t slot = 1; result == 0 && slot < reading.run->slot_count; slot++)
        if (reading.run->comms[slot])
            slot_rates(&rank->slots[slot], (double)rank->interval_ns * 1e-9);
    rank->before = last;
    rates_make(rank);
    efficiency_part_make(rank, process);
    free(states);
    return result;
}
