#include "handles/windows.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum operation { OPERATION_TIE, OPERATION_START, OPERATION_STOP, OPERATION_RESET };

struct interval {
    uint64_t state[2] PAIR_ALIGNED; /* {extreme so far, segment since which it is open or closed << 1 | open} */
    uint64_t begun[2];              /* span: {ticks when it began, segment} */
    uint64_t ended[2];              /* span: {the last end before the next one began, segment} */
    uint64_t held[2];               /* span: {nanoseconds of the intervals before, segment} */
    /* Set by the thread that claimed it, before it is announced. */
    struct window *window;
    uint64_t owner, argument;
    uint32_t operation; /* that begins it */
    bool open, used;    /* used: its extreme goes on at the next start */
    uint32_t busy;      /* claimed */
    struct interval *next;
};

struct window {
    uint64_t current[2] PAIR_ALIGNED; /* {interval, segment in which it began} */
    struct comm *comm;
    enum extreme extreme;
    bool taken; /* has an owner. Under the lock of the acquiring or releasing thread */
    struct window *next;
};

#define GET(field) __atomic_load_n(&(field), __ATOMIC_ACQUIRE)
#define PUT(field, value) __atomic_store_n(&(field), (value), __ATOMIC_RELEASE)

static bool extreme_is_high(enum extreme extreme)
{
    return extreme_neutral(extreme) == 0;
}

static bool extreme_is_level(enum extreme extreme)
{
    return extreme >= EXTREME_SENDS_HIGH && extreme <= EXTREME_BYTES_LOW;
}

static uint64_t join(enum extreme extreme, uint64_t a, uint64_t b)
{
    return extreme_is_high(extreme) == (a > b) ? a : b;
}

static struct extreme_control *control_of(const struct window *window)
{
    return &window->comm->extremes[window->extreme];
}

/* ---- cells ------------------------------------------------------------------------------------------------------- */

static struct level_cells *level_of(const struct comm *comm, enum extreme extreme)
{
    struct level_cells *const levels[] = {&comm->shared->sends, &comm->shared->recvs, &comm->shared->bytes};
    return levels[(extreme - EXTREME_SENDS_HIGH) / 2];
}

static uint64_t level_now(const struct comm *comm, enum extreme extreme)
{
    return extreme_is_level(extreme) ? __atomic_load_n(&level_of(comm, extreme)->now, __ATOMIC_ACQUIRE)
                                     : extreme_neutral(extreme);
}

static uint64_t *shared_cell(const struct comm *comm, enum extreme extreme)
{
    struct level_cells *level = level_of(comm, extreme);
    return extreme_is_high(extreme) ? &level->high : &level->low;
}

static uint64_t *view_cell(const struct view *view, enum extreme extreme)
{
    struct comm_cells *cells = view->tally.cells;
    return extreme == EXTREME_MESSAGE_HIGH  ? &cells->message_high
           : extreme == EXTREME_MESSAGE_LOW ? &cells->message_low
                                            : &cells->span_first;
}

/* The recorder may have changed the level and not yet looked at the cell. This does it for the recorder, so that a
 * reader of a level also finds it in the extreme. Returns the cell's extreme. */
static uint64_t level_settle(const struct comm *comm, enum extreme extreme)
{
    uint64_t *cell = shared_cell(comm, extreme), level;
    struct pair seen = pair_load(cell);
    do
        level = level_now(comm, extreme);
    while (join(extreme, seen.value, level) != seen.value &&
           !pair_swap(cell, &seen, (struct pair){.value = level, .tag = seen.tag}));
    return join(extreme, seen.value, level);
}

/* The extreme of all cells, of any segment. */
static uint64_t cells_peek(const struct comm *comm, enum extreme extreme)
{
    if (extreme_is_level(extreme))
        return level_settle(comm, extreme);
    uint64_t value = extreme_neutral(extreme);
    for (const struct view *v = GET(comm->views); v; v = v->next)
        value = join(extreme, value, __atomic_load_n(view_cell(v, extreme), __ATOMIC_ACQUIRE));
    return value;
}

static uint64_t last_end(const struct comm *comm)
{
    uint64_t last = 0;
    for (const struct view *v = GET(comm->views); v; v = v->next) {
        uint64_t end = __atomic_load_n(&v->tally.cells->span_last, __ATOMIC_ACQUIRE);
        last = end > last ? end : last;
    }
    return last;
}

/* Joins into a cell that other threads join into at the same time. */
static void cell_join(uint64_t *cell, enum extreme extreme, uint64_t value)
{
    uint64_t seen = cell_load(cell);
    while (join(extreme, seen, value) != seen && !__atomic_compare_exchange_n(cell, &seen, join(extreme, seen, value),
                                                                              true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
}

/* ---- steps of an operation --------------------------------------------------------------------------------------- */

/* Gives an extreme of the segment to an interval that was open then. */
static void interval_give(struct interval *interval, enum extreme extreme, uint64_t value, uint64_t segment)
{
    struct pair seen = pair_load(interval->state);
    while ((seen.tag & 1) && seen.tag >> 1 <= segment && join(extreme, seen.value, value) != seen.value &&
           !pair_swap(interval->state, &seen, (struct pair){.value = value, .tag = seen.tag}))
        ;
}

static void cell_drain(struct comm *comm, enum extreme extreme, uint64_t *cell, uint64_t segment)
{
    uint64_t neutral = extreme_neutral(extreme);
    struct pair seen = pair_load(cell);
    while (seen.tag <= segment) {
        if (seen.value != neutral) {
            cell_join(&comm->shared->closed[extreme], extreme, seen.value);
            if (extreme == EXTREME_SPAN_FIRST)
                cell_join(&comm->span_drained, EXTREME_MESSAGE_HIGH, ~seen.value); /* for windows_span_take */
            for (struct interval *i = GET(comm->extremes[extreme].intervals); i; i = i->next)
                interval_give(i, extreme, seen.value, segment);
        }
        if (pair_swap(cell, &seen, (struct pair){.value = neutral, .tag = segment + 1}))
            break;
    }
}

static void segment_drain(struct comm *comm, enum extreme extreme, uint64_t segment)
{
    if (extreme_is_level(extreme)) {
        level_settle(comm, extreme);
        cell_drain(comm, extreme, shared_cell(comm, extreme), segment);
        return;
    }
    for (struct view *v = GET(comm->views); v; v = v->next)
        cell_drain(comm, extreme, view_cell(v, extreme), segment);
}

/*
 * Like cell_drain, but the segment stays. A thread that is just draining finds nothing, or drains later values. (If it
 * had looked before, it may leave the begin in span_drained once more. Then the next taker finds it, and assumes that a
 * communication began with its window or before.)
 */
uint64_t windows_span_take(struct comm *comm)
{
    uint64_t first = LOW_NEUTRAL;
    for (struct view *v = GET(comm->views); v; v = v->next) {
        uint64_t *cell = view_cell(v, EXTREME_SPAN_FIRST);
        struct pair seen = pair_load(cell);
        while (seen.value != LOW_NEUTRAL) {
            cell_join(&comm->shared->closed[EXTREME_SPAN_FIRST], EXTREME_SPAN_FIRST, seen.value);
            for (struct interval *i = GET(comm->extremes[EXTREME_SPAN_FIRST].intervals); i; i = i->next)
                interval_give(i, EXTREME_SPAN_FIRST, seen.value, seen.tag);
            if (pair_swap(cell, &seen, (struct pair){.value = LOW_NEUTRAL, .tag = seen.tag})) {
                first = seen.value < first ? seen.value : first;
                break;
            }
        }
    }
    uint64_t drained = ~__atomic_exchange_n(&comm->span_drained, 0, __ATOMIC_ACQ_REL);
    return drained < first ? drained : first;
}

/*
 * A writer that looked at the cell before it was drained has stored its level before. But the store may still be on its
 * way. The recorder has no fence there, unless it uses locked instructions anyway. The kernel makes the other threads
 * pass one.
 */
static void writers_fence(void)
{
    const struct ledger *first = GET(book.threads);
    if (book_is_shared() || !first || (!first->next && book_thread_state == &first->record->state))
        return;
    int error = errno;
    syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
    errno = error;
}

static void interval_close(struct interval *interval, uint64_t segment)
{
    struct pair seen = pair_load(interval->state);
    while ((seen.tag & 1) && seen.tag >> 1 < segment &&
           !pair_swap(interval->state, &seen, (struct pair){.value = seen.value, .tag = segment << 1}))
        ;
}

/* Sets a value of a segment once. The first helper decides. */
static uint64_t once(uint64_t *at, uint64_t value, uint64_t segment)
{
    struct pair seen = pair_load(at);
    while (seen.tag < segment)
        if (pair_swap(at, &seen, (struct pair){.value = value, .tag = segment}))
            return value;
    return seen.value;
}

static uint64_t span_ns(uint64_t first, uint64_t begun, uint64_t last)
{
    if (first == LOW_NEUTRAL)
        return 0;
    if (first < begun)
        first = begun; /* posted before the interval: it begins with it */
    return last > first ? clock_ns(book.scale, last - first) : 0;
}

/* The span of an interval that has ended. */
static uint64_t span_closed(const struct interval *old)
{
    uint64_t held = pair_load(old->held).value;
    if (!GET(old->open))
        return held;
    return held + span_ns(pair_load(old->state).value, pair_load(old->begun).value, pair_load(old->ended).value);
}

static void span_begin(struct comm *comm, struct interval *old, struct interval *fresh, uint64_t segment)
{
    uint64_t begun = once(fresh->begun, clock_now(), segment), last = last_end(comm);
    once(old->ended, last < begun ? last : begun, segment);
    enum operation operation = (enum operation)GET(fresh->operation);
    uint64_t held = operation == OPERATION_STOP    ? span_closed(old)
                    : operation == OPERATION_START ? pair_load(old->held).value
                                                   : GET(fresh->argument);
    once(fresh->held, held, segment);
}

static void interval_begin(struct window *window, struct interval *old, struct interval *fresh, uint64_t segment)
{
    enum extreme extreme = window->extreme;
    enum operation operation = (enum operation)GET(fresh->operation);
    uint64_t value = extreme_neutral(extreme);
    if (extreme == EXTREME_SPAN_FIRST)
        span_begin(window->comm, old, fresh, segment);
    else if (operation == OPERATION_STOP || (operation == OPERATION_START && GET(old->used)))
        value = pair_load(old->state).value; /* goes on */
    if (operation != OPERATION_STOP && extreme_is_level(extreme)) {
        writers_fence();
        value = join(extreme, value, level_now(window->comm, extreme));
    }
    struct pair seen = pair_load(fresh->state);
    while (seen.tag >> 1 < segment &&
           !pair_swap(fresh->state, &seen, (struct pair){.value = value, .tag = segment << 1 | GET(fresh->open)}))
        ;
}

/* Finishes the operation that `turn` announces, also for other threads. */
static void operation_finish(struct extreme_control *control, struct pair turn)
{
    struct interval *fresh = (struct interval *)(uintptr_t)turn.value;
    struct window *window = GET(fresh->window);
    struct pair current = pair_load(window->current);
    if (!pair_is(control->turn, turn))
        return; /* it is finished, and the values read here may be of another one */
    if (current.tag <= turn.tag) {
        struct interval *old = (struct interval *)(uintptr_t)current.value;
        segment_drain(window->comm, window->extreme, turn.tag);
        interval_close(old, turn.tag + 1);
        interval_begin(window, old, fresh, turn.tag + 1);
        pair_swap(window->current, &current, (struct pair){.value = turn.value, .tag = turn.tag + 1});
    }
    pair_swap(control->turn, &turn, (struct pair){.value = 0, .tag = turn.tag + 1});
}

/* The turn when there is no operation in progress. */
static struct pair turn_idle(struct extreme_control *control)
{
    for (;;) {
        struct pair turn = pair_load(control->turn);
        if (!turn.value)
            return turn;
        operation_finish(control, turn);
    }
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static void intervals_add(struct extreme_control *control, struct interval *fresh, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        fresh[i].next = GET(control->intervals);
        while (!__atomic_compare_exchange_n(&control->intervals, &fresh[i].next, &fresh[i], true, __ATOMIC_RELEASE,
                                            __ATOMIC_RELAXED))
            ;
    }
}

static struct interval *interval_free(struct extreme_control *control)
{
    for (struct interval *i = GET(control->intervals); i; i = i->next) {
        uint32_t none = 0;
        if (!GET(i->busy) && __atomic_compare_exchange_n(&i->busy, &none, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            return i;
    }
    return NULL;
}

/*
 * Each window adds one spare interval. More are needed only for as many operations at once. mmap is a plain system
 * call.
 */
static struct interval *interval_claim(struct extreme_control *control)
{
    struct interval *interval = interval_free(control);
    while (!interval) {
        int error = errno;
        void *memory = mmap(NULL, RUN_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        errno = error;
        if (memory == MAP_FAILED)
            return NULL;
        intervals_add(control, memory, RUN_PAGE_BYTES / sizeof(struct interval));
        interval = interval_free(control);
    }
    return interval;
}

static struct window *window_make(struct comm *comm, enum extreme extreme)
{
    struct {
        struct window window;
        struct interval intervals[2];
    } *made = aligned_alloc(_Alignof(struct interval), sizeof *made);
    if (!made)
        return NULL;
    memset(made, 0, sizeof *made);
    struct window *window = &made->window;
    window->comm = comm;
    window->extreme = extreme;
    made->intervals[0].busy = 1;
    made->intervals[0].window = window;
    made->intervals[0].state[0] = extreme_neutral(extreme);
    window->current[0] = (uint64_t)(uintptr_t)&made->intervals[0];
    struct extreme_control *control = control_of(window);
    intervals_add(control, made->intervals, 2);
    window->next = control->windows;
    control->windows = window;
    return window;
}

/* ---- operations -------------------------------------------------------------------------------------------------- */

/* The effect of a start, stop or reset on the window. TIE gives it to another owner. */
struct change {
    enum operation operation;
    uint64_t owner, argument;
    uint64_t *value; /* of the interval that ends. NULL: not wanted */
};

static bool change_is_none(const struct change *change, const struct interval *old)
{
    return (change->operation == OPERATION_START && GET(old->open)) ||
           (change->operation == OPERATION_STOP && !GET(old->open));
}

static void change_write(const struct change *change, struct window *window, const struct interval *old,
                         struct interval *fresh)
{
    bool start = change->operation == OPERATION_START, reset = change->operation == OPERATION_RESET;
    PUT(fresh->window, window);
    PUT(fresh->owner, change->owner);
    PUT(fresh->argument, change->argument);
    PUT(fresh->operation, change->operation);
    PUT(fresh->open, start || (reset && GET(old->open)));
    PUT(fresh->used, fresh->open || change->operation == OPERATION_STOP);
}

/* In the child of a fork nothing changes: windows and cells belong to the parent. */
static enum window_result window_change(struct window *window, uint64_t owner, struct change change)
{
    if (book.run.detached)
        return WINDOW_STALE;
    struct extreme_control *control = control_of(window);
    struct interval *fresh = interval_claim(control), *spare = fresh;
    enum window_result result = WINDOW_DONE;
    if (!fresh)
        return WINDOW_NO_MEMORY;
    for (;;) {
        struct pair turn = turn_idle(control);
        struct interval *old = (struct interval *)(uintptr_t)pair_load(window->current).value;
        bool stale = GET(old->owner) != owner, none = change_is_none(&change, old);
        if (stale || none) {
            if (!pair_is(control->turn, turn))
                continue; /* the values read may be of different times */
            result = stale ? WINDOW_STALE : WINDOW_DONE;
            break;
        }
        change_write(&change, window, old, fresh);
        if (!pair_swap(control->turn, &turn, (struct pair){.value = (uint64_t)(uintptr_t)fresh, .tag = turn.tag}))
            continue;
        operation_finish(control, (struct pair){.value = (uint64_t)(uintptr_t)fresh, .tag = turn.tag});
        if (change.value) /* the old interval has left the window, and is ours until released */
            *change.value = window->extreme == EXTREME_SPAN_FIRST ? span_closed(old) : pair_load(old->state).value;
        spare = old;
        break;
    }
    PUT(spare->busy, 0);
    return result;
}

struct window *window_acquire(struct comm *comm, enum extreme extreme, uint64_t owner)
{
    static bool registered;
    if (!registered) {
        registered = true;
        syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
    }
    struct window *window = comm->extremes[extreme].windows;
    while (window && window->taken)
        window = window->next;
    if (!window)
        window = window_make(comm, extreme);
    if (!window || window_change(window, 0, (struct change){.operation = OPERATION_TIE, .owner = owner}) != WINDOW_DONE)
        return NULL;
    window->taken = true;
    return window;
}

void window_release(struct window *window, uint64_t owner)
{
    if (window_change(window, owner, (struct change){.operation = OPERATION_TIE}) == WINDOW_DONE)
        window->taken = false;
}

enum window_result window_start(struct window *window, uint64_t owner)
{
    return window_change(window, owner, (struct change){.operation = OPERATION_START, .owner = owner});
}

enum window_result window_stop(struct window *window, uint64_t owner)
{
    return window_change(window, owner, (struct change){.operation = OPERATION_STOP, .owner = owner});
}

enum window_result window_reset(struct window *window, uint64_t owner)
{
    return window_change(window, owner, (struct change){.operation = OPERATION_RESET, .owner = owner});
}

enum window_result window_readreset(struct window *window, uint64_t owner, uint64_t *value)
{
    return window_change(window, owner, (struct change){.operation = OPERATION_RESET, .owner = owner, .value = value});
}

enum window_result window_write(struct window *window, uint64_t owner, uint64_t value)
{
    return window_change(window, owner,
                         (struct change){.operation = OPERATION_RESET, .owner = owner, .argument = value});
}

/* The value of an interval that is now the window's current one. */
static uint64_t interval_value(const struct window *window, struct interval *interval)
{
    struct comm *comm = window->comm;
    enum extreme extreme = window->extreme;
    uint64_t cells = GET(interval->open) ? cells_peek(comm, extreme) : extreme_neutral(extreme); /* first */
    uint64_t value = join(extreme, cells, pair_load(interval->state).value);
    if (extreme == EXTREME_SPAN_FIRST)
        return pair_load(interval->held).value +
               (GET(interval->open) ? span_ns(value, pair_load(interval->begun).value, last_end(comm)) : 0);
    return value;
}

static bool operation_is_on(const struct window *window, struct pair turn)
{
    return turn.value && GET(((struct interval *)(uintptr_t)turn.value)->window) == window;
}

enum window_result window_read(struct window *window, uint64_t owner, uint64_t *value)
{
    struct extreme_control *control = control_of(window);
    for (;;) {
        struct pair current = pair_load(window->current);
        struct interval *interval = (struct interval *)(uintptr_t)current.value;
        bool stale = GET(interval->owner) != owner;
        if (!stale)
            *value = interval_value(window, interval);
        loads_order();
        struct pair turn = pair_load(control->turn);
        if (operation_is_on(window, turn)) /* it may have begun before the value was read */
            operation_finish(control, turn);
        else if (pair_is(window->current, current))
            return stale ? WINDOW_STALE : WINDOW_DONE;
    }
}

void windows_view_join(struct view *view)
{
    static const enum extreme extremes[] = {EXTREME_MESSAGE_HIGH, EXTREME_MESSAGE_LOW, EXTREME_SPAN_FIRST};
    for (size_t i = 0; i < sizeof extremes / sizeof extremes[0]; i++) {
        struct pair turn = pair_load(view->comm->extremes[extremes[i]].turn);
        uint64_t *cell = view_cell(view, extremes[i]), segment = turn.tag + (turn.value != 0);
        struct pair seen = pair_load(cell);
        while (seen.tag < segment && !pair_swap(cell, &seen, (struct pair){.value = seen.value, .tag = segment}))
            ;
    }
}
