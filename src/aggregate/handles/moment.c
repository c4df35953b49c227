#include "handles/moment.h"

#include <stddef.h>
#include <string.h>

/* True if the thread is in a nested call, or back in the outer one. */
static bool is_nested(const struct ledger *ledger, uint64_t end)
{
    uint64_t outermost = cell_load(&ledger->outermost);
    return outermost &&
           (end <= outermost || end == cell_load(&ledger->inner_ends[0]) || end == cell_load(&ledger->inner_ends[1]));
}

void moment_nest(struct ledger *ledger, uint64_t outer_since)
{
    if (!is_nested(ledger, cell_load(&ledger->tally.end)))
        cell_store(&ledger->outermost, outer_since);
}

/* The end before stays until this one is counted. */
void moment_inner_end(struct ledger *ledger, uint64_t end)
{
    bool first = cell_load(&ledger->tally.end) == cell_load(&ledger->inner_ends[1]);
    cell_store(&ledger->inner_ends[first ? 0 : 1], end);
}

void moment_thread_end(struct ledger *ledger, uint64_t end)
{
    cell_store(&ledger->outermost, 0);
    struct pair seen = pair_load(ledger->absent);
    pair_swap(ledger->absent, &seen, (struct pair){.value = seen.value, .tag = end});
}

void moment_thread_return(struct ledger *ledger)
{
    struct pair seen = pair_load(ledger->absent);
    if (seen.tag)
        pair_swap(ledger->absent, &seen, (struct pair){.value = seen.value + clock_now() - seen.tag, .tag = 0});
}

void moment_buffer_make(struct ledger *ledger, uint64_t events)
{
    cell_store(&ledger->buffer_events, events);
}

void moment_buffer_empty(struct ledger *ledger, uint64_t events)
{
    cell_store(&ledger->buffer_first, events);
}

/* Begin of the outermost call that the thread is in. 0: it is in none, the call is not timed, or it is counted already.
 */
static uint64_t outer_call_begin(const struct ledger *ledger, uint64_t end)
{
    const struct thread_state *state = &ledger->record->state;
    if (RELAXED_LOAD(&state->call) == CALL_NONE)
        return 0;
    bool nested = is_nested(ledger, end);
    uint64_t since = nested ? cell_load(&ledger->outermost) : RELAXED_LOAD(&state->since);
    return nested || end <= since ? since : 0;
}

uint64_t moment_progress(const struct ledger *ledger, uint64_t end, uint64_t now)
{
    uint64_t since = outer_call_begin(ledger, end);
    const struct run_header *header = book.run.header;
    /* It is shown, but not counted (probes/recorder/recorder.c). */
    if (!since || since == RELAXED_LOAD(&header->finalize_ticks) || since == RELAXED_LOAD(&header->init_ticks))
        return 0;
    return now > since ? now - since : 0;
}

uint64_t moment_folded(const struct thread_cells *cells)
{
    uint64_t sum = cells_sum(cells->call_time, CALL_COUNT, 1);
    loads_order();
    return sum - cell_load(&cells->nested_time);
}

static uint64_t inside_ticks(const struct ledger *ledger, uint64_t now)
{
    for (;;) {
        uint64_t end = __atomic_load_n(&ledger->tally.end, __ATOMIC_ACQUIRE),
                 folded = moment_folded(ledger->tally.cells);
        uint64_t inside = folded + moment_progress(ledger, end, now);
        loads_order();
        if (cell_load(&ledger->tally.end) == end)
            return inside;
    }
}

static uint64_t alive_ticks(const struct ledger *ledger, uint64_t now)
{
    struct pair absent = pair_load(ledger->absent);
    uint64_t gone = ledger->record->begin_ticks + absent.value, end = absent.tag ? absent.tag : now;
    return end > gone ? end - gone : 0;
}

static enum mpit_state state_of(const struct thread_record *thread)
{
    uint32_t call = RELAXED_LOAD(&thread->state.call);
    if (call == CALL_NONE || call >= CALL_COUNT)
        return MPIT_STATE_NOT_IN_MPI;
    return RELAXED_LOAD(&thread->stalled) ? stall_reason(&call_table[call]) : MPIT_STATE_WORK;
}

enum mpit_state moment_state(void)
{
    const struct thread_state *state = book_thread_state;
    if (!state)
        return MPIT_STATE_NOT_IN_MPI;
    const char *record = (const char *)state - offsetof(struct thread_record, state);
    return state_of((const struct thread_record *)(const void *)record);
}

/* ---- every thread ------------------------------------------------------------------------------------------------ */

void moment_states(int *values, size_t count)
{
    memset(values, 0, count * sizeof *values);
    for (const struct ledger *l = __atomic_load_n(&book.threads, __ATOMIC_ACQUIRE); l; l = l->next)
        if (l->index < count)
            values[l->index] = (int)state_of(l->record);
}

void moment_calls(int *values, size_t count)
{
    memset(values, 0, count * sizeof *values);
    for (const struct ledger *l = __atomic_load_n(&book.threads, __ATOMIC_ACQUIRE); l; l = l->next)
        if (l->index < count)
            values[l->index] = (int)RELAXED_LOAD(&l->record->state.call);
}

/* A call may return, and another one begin, while its begin is read. */
static uint64_t call_ticks(const struct ledger *ledger, uint64_t now)
{
    for (;;) {
        uint64_t end = __atomic_load_n(&ledger->tally.end, __ATOMIC_ACQUIRE), since = outer_call_begin(ledger, end);
        loads_order();
        if (cell_load(&ledger->tally.end) == end)
            return since && now > since ? now - since : 0;
    }
}

void moment_call_times(uint64_t *values, size_t count)
{
    uint64_t now = clock_now();
    memset(values, 0, count * sizeof *values);
    for (const struct ledger *l = __atomic_load_n(&book.threads, __ATOMIC_ACQUIRE); l; l = l->next)
        if (l->index < count)
            values[l->index] = clock_ns(book.scale, call_ticks(l, now));
}

void moment_thread_ids(uint64_t *values, size_t count)
{
    memset(values, 0, count * sizeof *values);
    for (const struct ledger *l = __atomic_load_n(&book.threads, __ATOMIC_ACQUIRE); l; l = l->next)
        if (l->index < count && !RELAXED_LOAD(&l->record->end_ticks))
            values[l->index] = (uint64_t)RELAXED_LOAD(&l->record->tid);
}

/* The call in progress may be counted between the two reads. Then its stall counts once or not at all. */
static uint64_t stalled_ticks(const struct ledger *ledger, uint64_t now)
{
    uint64_t since = RELAXED_LOAD(&ledger->record->stalled);
    uint64_t sum = cells_sum(ledger->tally.cells->stall_time, STATE_COUNT, 1);
    return since && since < now && RELAXED_LOAD(&ledger->record->stalled) == since ? sum + (now - since) : sum;
}

struct presence moment_presence(void)
{
    struct presence sum = {0, 0, 0};
    uint64_t now = clock_now();
    for (const struct ledger *l = __atomic_load_n(&book.threads, __ATOMIC_ACQUIRE); l; l = l->next) {
        sum.inside += inside_ticks(l, now);
        sum.stalled += stalled_ticks(l, now);
        sum.alive += alive_ticks(l, now);
    }
    return sum;
}

static double share(uint64_t part, uint64_t part_then, uint64_t whole, uint64_t whole_then)
{
    int64_t inside = (int64_t)(part - part_then), alive = (int64_t)(whole - whole_then);
    if (alive <= 0 || inside <= 0)
        return 0;
    return inside < alive ? (double)inside / (double)alive : 1;
}

double moment_fraction(struct presence then)
{
    struct presence now = moment_presence();
    return share(now.inside, then.inside, now.alive, then.alive);
}

double moment_stall_fraction(struct presence then)
{
    struct presence now = moment_presence();
    return share(now.stalled, then.stalled, now.alive, then.alive);
}

double moment_buffer_fill(void)
{
    double most = 0;
    for (const struct ledger *l = __atomic_load_n(&book.threads, __ATOMIC_ACQUIRE); l; l = l->next) {
        uint64_t room = cell_load(&l->buffer_events), first = __atomic_load_n(&l->buffer_first, __ATOMIC_ACQUIRE);
        uint64_t events = cell_load(&l->tally.cells->events) - first;
        double fill = room == 0 ? 0 : events < room ? (double)events / (double)room : 1;
        most = fill > most ? fill : most;
    }
    return most;
}

uint64_t moment_last_return(void)
{
    uint64_t last = 0;
    for (const struct ledger *l = __atomic_load_n(&book.threads, __ATOMIC_ACQUIRE); l; l = l->next) {
        uint64_t end = cell_load(&l->tally.end);
        last = end > last ? end : last;
    }
    const struct run_header *header = book.run.header;
    if (!header || last <= header->begin_ticks || !book.scale.mult)
        return 0;
    return header->begin_realtime_ns + clock_ns(book.scale, last - header->begin_ticks);
}
