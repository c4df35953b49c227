#include "monitor/snapshot.h"

#include "base/array.h"
#include "handles/moment.h"
#include "handles/windows.h"
#include "registry/paths.h"

#include <stdlib.h>
#include <string.h>

void (*snapshot_run_ends)(void);

static struct snapshot *open_snapshots; /* under the lock of the callers */

#define WORDS(type) (sizeof(type) / sizeof(uint64_t))
#define CELL_AT(field) (offsetof(struct comm_cells, field) / sizeof(uint64_t))
/* Upper limit for the words of a record. */
#define RECORD_WORDS                                                                                                   \
    (WORDS(struct comm_snapshot) + (size_t)4 * BUCKET_COUNT + (size_t)3 * COLLECTIVE_COUNT + BUCKET_COUNT)
enum { FIRST_COUNT = SUM_COLL_BYTES, ATTEMPTS_MOST = 4 };

_Static_assert(CELL_AT(p2p_time) == SUM_P2P_TIME && CELL_AT(rma_bytes) == SUM_RMA_BYTES &&
                   CELL_AT(large) == SUM_LARGE && (int)SUM_LARGE + 1 == (int)FIRST_COUNT,
               "the first cells are sums in the same order");
_Static_assert(CELL_AT(transfer_span) - CELL_AT(stall_time) == SUM_TRANSFER_SPAN - SUM_STALL_TIME &&
                   CELL_AT(coll_count) - CELL_AT(coll_time) == COLLECTIVE_COUNT,
               "the last ones, too; counts of collectives follow their times");

/* ---- words ------------------------------------------------------------------------------------------------------- */

/*
 * Two counters at once. Processors load 16 bytes in pieces of at least 8 aligned bytes, also across a boundary. So each
 * counter is read whole, as by two loads. The thread sanitizer and other machines use two loads.
 */
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
typedef uint64_t word_pair __attribute__((vector_size(16), aligned(8), may_alias));
#define AT_ONCE 2
static inline word_pair pair_of(const uint64_t *from)
{
    word_pair pair;
    __asm__ volatile("movups %1, %0"
                     : "=x"(pair)
                     : "m"(*(const word_pair *)from)); /* volatile would cost an address more */
    return pair;
}
#else
typedef uint64_t word_pair;
#define AT_ONCE 1
static inline word_pair pair_of(const uint64_t *from)
{
    return cell_load(from);
}
#endif

static inline __attribute__((always_inline)) void words_copy(uint64_t *to, const uint64_t *from, size_t count)
{
    size_t i = 0;
#pragma GCC unroll 8
    for (; i + AT_ONCE <= count; i += AT_ONCE)
        *(word_pair *)(to + i) = pair_of(from + i);
    if (i < count)
        to[i] = cell_load(from + i);
}

static inline uint64_t pair_any(word_pair pair)
{
    const uint64_t *halves = (const uint64_t *)&pair;
    uint64_t any = 0;
    for (size_t half = 0; half < AT_ONCE; half++)
        any |= halves[half];
    return any;
}

/* True if one of them is not 0. Nearly always one of the first is, or none. */
static inline bool words_any(const uint64_t *from, size_t count)
{
    size_t i = 0;
    uint64_t any = 0;
    for (; i + 4 * AT_ONCE <= count && !any; i += 4 * AT_ONCE)
        any = pair_any(pair_of(from + i) | pair_of(from + i + AT_ONCE) | pair_of(from + i + 2 * AT_ONCE) |
                       pair_of(from + i + 3 * AT_ONCE));
    for (; i < count && !any; i++)
        any = cell_load(from + i);
    return any != 0;
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* Makes an array `least` elements long, if it is shorter. `first`: its first length. */
#define EXTENDED(list, room, first, least)                                                                             \
    ({                                                                                                                 \
        size_t more = array_room(room, first, least);                                                                  \
        bool grown = ARRAY_EXTENDED(list, room, more);                                                                 \
        if (grown)                                                                                                     \
            room = (__typeof__(room))more;                                                                             \
        grown;                                                                                                         \
    })

bool snapshot_prepare(struct snapshot *snapshot)
{
    uint32_t slots = __atomic_load_n(&book.comm_count, __ATOMIC_ACQUIRE);
    uint32_t threads = __atomic_load_n(&book.thread_count, __ATOMIC_RELAXED);
    /*
     * Only records with counts are on the tape. There is room for 16 records at first, and later for as many as there
     * were once.
     */
    return (snapshot->tape || EXTENDED(snapshot->tape, snapshot->room, 16 * RECORD_WORDS, 16 * RECORD_WORDS)) &&
           (slots <= snapshot->slot_room || EXTENDED(snapshot->index, snapshot->slot_room, 64, slots)) &&
           (threads <= snapshot->call_room || EXTENDED(snapshot->calls, snapshot->call_room, 16, threads));
}

void snapshot_free(struct snapshot *snapshot)
{
    free(snapshot->tape);
    free(snapshot->index);
    free(snapshot->calls);
    free(snapshot->paths);
    memset(snapshot, 0, sizeof *snapshot);
}

/* ---- begins of first communications ------------------------------------------------------------------------------ */

void snapshot_open(struct snapshot *snapshot)
{
    snapshot->next = open_snapshots;
    open_snapshots = snapshot;
}

void snapshot_close(struct snapshot *snapshot)
{
    for (struct snapshot **at = &open_snapshots; *at; at = &(*at)->next)
        if (*at == snapshot) {
            *at = snapshot->next;
            return;
        }
}

void snapshots_forget(void)
{
    open_snapshots = NULL;
}

static void first_give(const struct comm *comm, uint64_t first)
{
    for (struct snapshot *s = open_snapshots; s; s = s->next) {
        struct comm_snapshot *record = snapshot_of(s, comm->slot);
        if (record && record->lives == RELAXED_LOAD(&comm->lives) && first < cell_load(&record->first))
            cell_store(&record->first, first);
    }
}

/* Does not take the begin from a freed communicator, whose cells may be moving into a sum. */
static uint64_t first_look(struct comm *comm, enum snapshot_edge edge)
{
    uint64_t first = LOW_NEUTRAL;
    for (const struct view *v = __atomic_load_n(&comm->views, __ATOMIC_ACQUIRE); v; v = v->next) {
        uint64_t seen = cell_load(&v->tally.cells->span_first);
        first = seen < first ? seen : first;
    }
    loads_order();
    uint64_t drained = ~__atomic_load_n(&comm->span_drained, __ATOMIC_ACQUIRE);
    first = drained < first ? drained : first;
    if (first == LOW_NEUTRAL || edge == SNAPSHOT_END || __atomic_load_n(&comm->freed, __ATOMIC_ACQUIRE))
        return first;
    first_give(comm, windows_span_take(comm));
    return LOW_NEUTRAL;
}

/* ---- communicators ----------------------------------------------------------------------------------------------- */

/* Every message in a bucket has been compared with the extremes, or soon will be, and then it belongs to the next
 * period. Cells are read before `closed`, since their values move into it. */
static void range_find(const struct comm *comm, const struct view *views, struct comm_snapshot *record)
{
    uint64_t low = LOW_NEUTRAL, high = 0;
    for (const struct view *v = views; v; v = v->next) {
        uint64_t l = cell_load(&v->tally.cells->message_low), h = cell_load(&v->tally.cells->message_high);
        low = l < low ? l : low;
        high = h > high ? h : high;
    }
    loads_order();
    uint64_t l = cell_load(&comm->shared->closed[EXTREME_MESSAGE_LOW]);
    uint64_t h = cell_load(&comm->shared->closed[EXTREME_MESSAGE_HIGH]);
    low = l < low ? l : low;
    high = h > high ? h : high;
    record->low = low == LOW_NEUTRAL ? 0 : bucket_of(low);
    record->high = low == LOW_NEUTRAL ? 0 : bucket_of(high) + 1;
    if (record->high <
        record->low) /* one of the two is moving to another slot (then all is taken again), or into here */
        record->high = record->low;
}

static void sums_take(struct comm_snapshot *record, const struct comm_cells *cells, bool first)
{
    const uint64_t *words = (const uint64_t *)cells;
    uint64_t last = cell_load(&cells->span_last);
    if (first) {
        words_copy(record->sum, words, FIRST_COUNT);
        record->sum[SUM_COLL_BYTES] = cell_load(&cells->coll_bytes);
        words_copy(&record->sum[SUM_STALL_TIME], words + CELL_AT(stall_time), SUM_COUNT - SUM_STALL_TIME);
        record->last = last;
        return;
    }
    cells_add(record->sum, words, FIRST_COUNT);
    record->sum[SUM_COLL_BYTES] += cell_load(&cells->coll_bytes);
    cells_add(&record->sum[SUM_STALL_TIME], words + CELL_AT(stall_time), SUM_COUNT - SUM_STALL_TIME);
    record->last = last > record->last ? last : record->last;
}

static inline void words_fill(uint64_t *to, const uint64_t *from, size_t count, bool first)
{
    if (first)
        words_copy(to, from, count);
    else
        cells_add(to, from, count);
}

static uint64_t *messages_take(uint64_t *at, const struct comm_snapshot *record, const struct view *views)
{
    size_t words = (size_t)2 * (record->high - record->low);
    for (const struct view *v = views; v; v = v->next) {
        words_fill(at, (const uint64_t *)&v->tally.cells->send[record->low], words, v == views);
        words_fill(at + words, (const uint64_t *)&v->tally.cells->recv[record->low], words, v == views);
    }
    return at + 2 * words;
}

/* True if there was any collective. Posted ones have a time before they are complete. */
static bool collectives_any(const struct view *views)
{
    for (const struct view *v = views; v; v = v->next)
        if (words_any(v->tally.cells->coll_time, (size_t)2 * COLLECTIVE_COUNT))
            return true;
    return false;
}

static uint64_t *collectives_take(uint64_t *at, struct comm_snapshot *record, const struct view *views)
{
    record->collectives = collectives_any(views);
    if (!record->collectives)
        return at;
    for (const struct view *v = views; v; v = v->next)
        words_fill(at, v->tally.cells->coll_time, (size_t)2 * COLLECTIVE_COUNT, v == views);
    at += (size_t)2 * COLLECTIVE_COUNT;
    for (const struct view *v = views; v; v = v->next)
        words_fill(at, v->tally.cells->coll_execution, COLLECTIVE_COUNT, v == views);
    at += COLLECTIVE_COUNT;
    for (const struct view *v = views; v; v = v->next)
        words_fill(at, v->tally.cells->coll_size_count, BUCKET_COUNT, v == views);
    return at + BUCKET_COUNT;
}

static bool comm_take(struct snapshot *snapshot, struct comm *comm, unsigned parts, enum snapshot_edge edge)
{
    const struct view *views = __atomic_load_n(&comm->views, __ATOMIC_ACQUIRE);
    if (!views)
        return true;
    if (snapshot->used + RECORD_WORDS > snapshot->room &&
        !EXTENDED(snapshot->tape, snapshot->room, 16 * RECORD_WORDS, snapshot->used + RECORD_WORDS))
        return false;
    struct comm_snapshot *record = (struct comm_snapshot *)(snapshot->tape + snapshot->used);
    const struct shared_cells *shared = comm->shared;
    record->first = LOW_NEUTRAL;
    record->first_beside = first_look(comm, edge);
    record->slot = comm->slot;
    record->lives = RELAXED_LOAD(&comm->lives);
    record->freed = __atomic_load_n(&comm->freed, __ATOMIC_RELAXED);
    record->is_sum = RELAXED_LOAD(&comm->is_sum);
    record->size = RELAXED_LOAD(&comm->size);
    record->rank = RELAXED_LOAD(&comm->rank);
    record->remote_size = RELAXED_LOAD(&comm->remote_size);
    record->low = record->high = record->collectives = 0;
    record->pending[0] = cell_load(&shared->sends.now);
    record->pending[1] = cell_load(&shared->recvs.now);
    record->pending[2] = cell_load(&shared->bytes.now);
    for (const struct view *v = views; v; v = v->next)
        sums_take(record, v->tally.cells, v == views);
    uint64_t *at = (uint64_t *)(record + 1);
    if (parts & SNAPSHOT_MESSAGES) {
        range_find(comm, views, record);
        at = messages_take(at, record, views);
    }
    if (parts & SNAPSHOT_COLLECTIVES)
        at = collectives_take(at, record, views);
    snapshot->index[comm->slot] = (uint32_t)snapshot->used;
    snapshot->used = (size_t)(at - snapshot->tape);
    return true;
}

static void comms_take(struct snapshot *snapshot, const struct comm *only, unsigned parts, enum snapshot_edge edge)
{
    uint32_t slots = __atomic_load_n(&book.comm_count, __ATOMIC_ACQUIRE);
    snapshot->used = 1; /* 0 means none */
    snapshot->slots = slots;
    snapshot->whole = slots <= snapshot->slot_room || EXTENDED(snapshot->index, snapshot->slot_room, 64, slots);
    if (!snapshot->whole) {
        snapshot->slots = 0;
        return;
    }
    memset(snapshot->index, 0, slots * sizeof *snapshot->index);
    for (uint32_t slot = 1; slot < slots && snapshot->whole; slot++) {
        struct comm *comm = __atomic_load_n(&book.comms[slot], __ATOMIC_ACQUIRE);
        if (!only || comm == only)
            snapshot->whole = comm_take(snapshot, comm, parts, edge);
    }
}

/* ---- threads ----------------------------------------------------------------------------------------------------- */

static void call_take(struct snapshot *snapshot, const struct ledger *ledger, const struct thread_state *state,
                      uint64_t ticks)
{
    struct process_snapshot *process = &snapshot->process;
    if (process->calls == snapshot->call_room &&
        !EXTENDED(snapshot->calls, snapshot->call_room, 16, process->calls + 1)) {
        snapshot->whole = false;
        return;
    }
    unsigned class = call_table[state->call < CALL_COUNT ? state->call : CALL_NONE].class;
    snapshot->calls[process->calls++] = (struct call_snapshot){
        .thread = ledger->index,
        .call = state->call,
        .slot = state->comm,
        .tid = RELAXED_LOAD(&ledger->record->tid),
        .peer = state->peer,
        .charged = class == CLASS_P2P || class == CLASS_COLLECTIVE,
        .since = state->since,
        .ticks = ticks,
    };
    process->progress += ticks;
}

/* A call that returns between two reads is seen either as under way or as counted, never as both or neither. */
static void thread_take(struct snapshot *snapshot, const struct ledger *ledger, uint64_t now)
{
    const struct thread_cells *cells = ledger->tally.cells;
    struct thread_state state;
    uint64_t folded, progress, end;
    int attempts = 0;
    do {
        end = __atomic_load_n(&ledger->tally.end, __ATOMIC_ACQUIRE);
        folded = moment_folded(cells);
        state.call = RELAXED_LOAD(&ledger->record->state.call);
        state.since = RELAXED_LOAD(&ledger->record->state.since);
        state.comm = RELAXED_LOAD(&ledger->record->state.comm);
        state.peer = RELAXED_LOAD(&ledger->record->state.peer);
        progress = moment_progress(ledger, end, now);
        loads_order();
    } while (cell_load(&ledger->tally.end) != end && ++attempts < ATTEMPTS_MOST);
    snapshot->process.events += cell_load(&cells->events);
    snapshot->process.folded += folded;
    snapshot->process.stalled += cells_sum(cells->stall_time, STATE_COUNT, 1);
    snapshot->process.threads++;
    if (progress)
        call_take(snapshot, ledger, &state, progress);
}

static void fabric_take(struct process_snapshot *process, const struct ledger *ledger)
{
    for (uint32_t i = 1; i <= FABRIC_PROVIDERS_MOST; i++) {
        const struct fabric_cells *cells = __atomic_load_n(&ledger->fabric[i], __ATOMIC_ACQUIRE);
        if (!cells)
            continue;
        process->fabric[0] += cell_load(&cells->time);
        process->fabric[1] += cell_load(&cells->polls);
        process->fabric[2] += cell_load(&cells->empty_polls);
        process->fabric[3] += cell_load(&cells->poll_time);
        for (unsigned kind = 0; kind < FABRIC_KIND_COUNT; kind++) {
            process->fabric[4] += cell_load(&cells->kind[kind].count);
            process->fabric[5] += cell_load(&cells->kind[kind].bytes);
        }
    }
}

static void counters_take(struct process_snapshot *process, const struct ledger *ledger)
{
    const struct counter_cells *cells = __atomic_load_n(&ledger->tally.counters, __ATOMIC_ACQUIRE);
    unsigned used = COUNTER_ASKED + (book.counters ? (unsigned)book.counters->count : 0);
    if (cells)
        cells_add(process->counters[0], cells->count[0], (size_t)used * PLACE_COUNT);
}

static void process_take(struct snapshot *snapshot, unsigned parts)
{
    struct process_snapshot *process = &snapshot->process;
    memset(process, 0, parts & SNAPSHOT_OTHER ? sizeof *process : offsetof(struct process_snapshot, fabric));
    for (const struct ledger *l = __atomic_load_n(&book.threads, __ATOMIC_ACQUIRE); l; l = l->next) {
        thread_take(snapshot, l, snapshot->ticks);
        if (parts & SNAPSHOT_OTHER) {
            fabric_take(process, l);
            counters_take(process, l);
        }
    }
    process->fabric_watched = demand_now(DEMAND_FABRIC);
    process->fabric_known = process->fabric_watched && book_provider_name(1);
    process->counters_known = demand_now(DEMAND_OS);
}

/* ---- call paths -------------------------------------------------------------------------------------------------- */

static void path_snapshot_add(struct path_snapshot *path, const struct path_cells *cells)
{
    path->calls += cell_load(&cells->calls);
    path->time += cell_load(&cells->time);
    path->stall_time += cell_load(&cells->stall_time);
    path->sent += cell_load(&cells->sent);
    path->bytes_out += cell_load(&cells->bytes_out);
    path->received += cell_load(&cells->received);
    path->bytes_in += cell_load(&cells->bytes_in);
}

static void paths_take(struct snapshot *snapshot, unsigned parts)
{
    uint32_t count = parts & SNAPSHOT_PATHS ? paths_last() + 1 : 0;
    snapshot->path_count = 0;
    if (count > snapshot->path_room && !EXTENDED(snapshot->paths, snapshot->path_room, 256, count)) {
        snapshot->whole = false;
        return;
    }
    if (count)
        memset(snapshot->paths, 0, count * sizeof *snapshot->paths);
    for (const struct ledger *l = __atomic_load_n(&book.threads, __ATOMIC_ACQUIRE); l && count; l = l->next)
        for (uint32_t number = 1; number < count; number++) {
            const struct path_cells *cells = path_counters_look(l, number);
            if (cells)
                path_snapshot_add(&snapshot->paths[number], cells);
        }
    snapshot->path_count = count;
}

void snapshot_take(struct snapshot *snapshot, const struct comm *only, unsigned parts, enum snapshot_edge edge)
{
    const uint64_t *changes = &book.run.header->comm_changes;
    uint64_t before = __atomic_load_n(changes, __ATOMIC_ACQUIRE);
    snapshot->ticks = clock_now();
    snapshot->parts = parts;
    comms_take(snapshot, only, parts, edge);
    loads_order();
    if (__builtin_expect((before & 1) || cell_load(changes) != before, 0)) {
        /* A slot goes to another communicator. Its counts are moving from cell to cell. */
        pthread_mutex_lock(&book.lock);
        comms_take(snapshot, only, parts, edge);
        pthread_mutex_unlock(&book.lock);
    }
    process_take(snapshot, parts);
    paths_take(snapshot, parts);
}
