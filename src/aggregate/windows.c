#include "windows.h"

static struct window *windows; /* pushed at the front; release, pairs with the acquire in segment_end */

static bool extreme_is_high(uint32_t extreme)
{
    return extreme_neutral((enum extreme)extreme) == 0;
}

static uint64_t join(uint32_t extreme, uint64_t a, uint64_t b)
{
    return extreme_is_high(extreme) == (a > b) ? a : b;
}

/* Joins a value into a cell that others join into at the same time. */
static void cell_join(uint64_t *cell, uint32_t extreme, uint64_t value)
{
    uint64_t seen = cell_load(cell);
    while (join(extreme, seen, value) != seen && !__atomic_compare_exchange_n(cell, &seen, join(extreme, seen, value),
                                                                              true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
}

/* The current segment's cell in shared_cells, or NULL where each thread has its own. */
static uint64_t *shared_extreme(const struct comm *comm, uint32_t extreme)
{
    struct level_cells *const levels[] = {&comm->shared->sends, &comm->shared->recvs, &comm->shared->bytes};
    if (extreme < EXTREME_SENDS_HIGH || extreme > EXTREME_BYTES_LOW)
        return NULL;
    struct level_cells *level = levels[(extreme - EXTREME_SENDS_HIGH) / 2];
    return extreme_is_high(extreme) ? &level->high : &level->low;
}

static uint64_t *view_extreme(const struct view *view, uint32_t extreme)
{
    struct comm_cells *cells = view->tally.cells;
    return extreme == EXTREME_MESSAGE_HIGH  ? &cells->message_high
           : extreme == EXTREME_MESSAGE_LOW ? &cells->message_low
                                            : &cells->span_first;
}

static uint64_t segment_peek(const struct comm *comm, uint32_t extreme)
{
    const uint64_t *shared = shared_extreme(comm, extreme);
    uint64_t value = extreme_neutral((enum extreme)extreme);
    if (shared)
        return __atomic_load_n(shared, __ATOMIC_ACQUIRE);
    for (const struct view *v = __atomic_load_n(&comm->views, __ATOMIC_ACQUIRE); v; v = v->next)
        value = join(extreme, value, __atomic_load_n(view_extreme(v, extreme), __ATOMIC_ACQUIRE));
    return value;
}

static void windows_give(const struct comm *comm, uint32_t extreme, uint64_t value)
{
    for (struct window *w = __atomic_load_n(&windows, __ATOMIC_ACQUIRE); w; w = w->next)
        if (__atomic_load_n(&w->open, __ATOMIC_ACQUIRE) && w->comm == comm && w->extreme == extreme)
            cell_join(&w->value, extreme, value);
}

/* Takes a cell's extreme out once all who need it have it: whoever looks sees it in one place or the other. The release
 * pairs with the acquire in segment_peek: who finds the cell empty finds the windows filled. */
static void cell_take(uint64_t *cell, const struct comm *comm, uint32_t extreme)
{
    uint64_t neutral = extreme_neutral((enum extreme)extreme), value;
    do {
        value = cell_load(cell);
        cell_join(&comm->shared->closed[extreme], extreme, value);
        windows_give(comm, extreme, value);
    } while (!__atomic_compare_exchange_n(cell, &value, neutral, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

/* Ends the current segment and gives its extreme to all open windows on it. */
static void segment_end(const struct comm *comm, uint32_t extreme)
{
    uint64_t *shared = shared_extreme(comm, extreme);
    if (shared)
        cell_take(shared, comm, extreme);
    else
        for (struct view *v = __atomic_load_n(&comm->views, __ATOMIC_ACQUIRE); v; v = v->next)
            cell_take(view_extreme(v, extreme), comm, extreme);
}

/* The starting value: the level at this moment. */
static uint64_t level_now(const struct comm *comm, uint32_t extreme)
{
    const struct level_cells *const levels[] = {&comm->shared->sends, &comm->shared->recvs, &comm->shared->bytes};
    if (extreme < EXTREME_SENDS_HIGH || extreme > EXTREME_BYTES_LOW)
        return extreme_neutral((enum extreme)extreme);
    return cell_load(&levels[(extreme - EXTREME_SENDS_HIGH) / 2]->now);
}

void window_tie(struct window *window, const struct comm *comm, enum extreme extreme)
{
    __atomic_store_n(&window->open, false, __ATOMIC_RELEASE);
    window->comm = comm;
    window->extreme = extreme;
    cell_store(&window->value, level_now(comm, extreme));
    if (window->linked)
        return;
    window->linked = true;
    window->next = __atomic_load_n(&windows, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&windows, &window->next, window, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        ;
}

void window_open(struct window *window)
{
    segment_end(window->comm, window->extreme);
    cell_join(&window->value, window->extreme, level_now(window->comm, window->extreme));
    __atomic_store_n(&window->open, true, __ATOMIC_RELEASE);
}

void window_close(struct window *window)
{
    segment_end(window->comm, window->extreme);
    __atomic_store_n(&window->open, false, __ATOMIC_RELEASE);
}

void window_reset(struct window *window)
{
    segment_end(window->comm, window->extreme);
    cell_store(&window->value, level_now(window->comm, window->extreme));
}

uint64_t window_read(const struct window *window)
{
    if (!__atomic_load_n(&window->open, __ATOMIC_ACQUIRE))
        return cell_load(&window->value);
    uint64_t segment = segment_peek(window->comm, window->extreme); /* first: it may move into the window's value */
    return join(window->extreme, segment, cell_load(&window->value));
}
