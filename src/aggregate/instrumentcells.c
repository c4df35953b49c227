#include "instrument.h"

#include <string.h>
#include <sys/mman.h>

enum { ARENA_BYTES = 64 << 10 };

/* A cell stands alone in its cache line. */
_Static_assert(sizeof(struct mpit_cell) == 64, "cells of different writers share no cache line");

/* Private pages, mapped as they are needed and never unmapped. Under the register's lock. */
static void *arena_take(size_t bytes)
{
    static char *arena;
    static size_t left;
    if (bytes > left) {
        size_t size = bytes > ARENA_BYTES ? bytes : ARENA_BYTES;
        void *fresh = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (fresh == MAP_FAILED)
            return NULL;
        arena = fresh;
        left = size;
    }
    void *taken = arena;
    arena += bytes;
    left -= bytes;
    return taken;
}

static uint32_t mode_of(const struct instrument *instrument)
{
    bool real = instrument_is_double(instrument);
    if (instrument->kind != INSTRUMENT_VARIABLE || (instrument->flags & MPIT_EVERY_UPDATE))
        return MPIT_MODE_OTHER;
    switch (instrument->class) {
    case MPIT_CLASS_COUNTER:
    case MPIT_CLASS_AGGREGATE:
    case MPIT_CLASS_TIMER:
        return real ? MPIT_MODE_SUM_DOUBLE : MPIT_MODE_SUM_INTEGER;
    case MPIT_CLASS_LEVEL:
    case MPIT_CLASS_HIGHWATERMARK:
    case MPIT_CLASS_LOWWATERMARK:
        return real ? MPIT_MODE_OTHER : MPIT_MODE_LEVEL_INTEGER;
    default:
        return real ? MPIT_MODE_SET_DOUBLE : MPIT_MODE_SET_INTEGER;
    }
}

struct mpit_cell *instrument_cells_make(struct instrument_instance *instance)
{
    const struct instrument *instrument = instance->instrument;
    bool timer = instrument->kind == INSTRUMENT_VARIABLE && instrument->class == MPIT_CLASS_TIMER;
    uint32_t cells = instrument->count * (timer ? 2 : 1);
    struct mpit_cell *first = arena_take(cells * sizeof *first);
    for (uint32_t i = 0; first && i < cells; i++) {
        first[i].mode = i < instrument->count ? mode_of(instrument) : (uint32_t)MPIT_MODE_SUM_INTEGER;
        first[i].element = i;
        first[i].low = LOW_NEUTRAL;
        first[i].interface_ = instrument_interface_table;
        first[i].instance = instance;
        if (instrument->kind == INSTRUMENT_CONTROL)
            first[i].own = instrument->initial.integer;
        if (instrument->kind == INSTRUMENT_EVENT && instrument->event)
            first[i].own = instrument->event->heard;
    }
    return first;
}

struct mpit_cell *instrument_tick_cell(struct mpit_cell *cell)
{
    const struct instrument_instance *instance = cell->instance;
    return cell + instance->instrument->count;
}

/* ---- numbers
 * ---------------------------------------------------------------------------------------------------------- */

static double real_of(uint64_t bits)
{
    double real;
    memcpy(&real, &bits, sizeof real);
    return real;
}

static uint64_t bits_of(double real)
{
    uint64_t bits;
    memcpy(&bits, &real, sizeof bits);
    return bits;
}

/* Levels are compared as keys: integers in the order of the values, whatever the type. */
static uint64_t key_of(const struct instrument *instrument, uint64_t bits)
{
    if (!instrument_is_double(instrument))
        return bits;
    return bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
}

static uint64_t bits_of_key(const struct instrument *instrument, uint64_t key)
{
    if (!instrument_is_double(instrument))
        return key;
    return key >> 63 ? key & ~(UINT64_C(1) << 63) : ~key;
}

struct region_cells instrument_region_sum(const struct instrument_instance *instance)
{
    struct region_cells sum = {0};
    for (const struct ledger *l = __atomic_load_n(&book.threads, __ATOMIC_ACQUIRE); l; l = l->next) {
        const struct region_cells *cells = book_region_peek(l, instance->id);
        if (cells) {
            sum.count += cell_load(&cells->count);
            sum.time += cell_load(&cells->time);
        }
    }
    return sum;
}

/* Integers in 64 bits as the library counts them; MPI_T cuts them to the size of the type. */
static uint64_t plain_value(const struct instrument_instance *instance, uint32_t element)
{
    const struct instrument *instrument = instance->instrument;
    const struct mpit_cell *cell = &instance->cells[element];
    uint64_t own = __atomic_load_n(&cell->own, __ATOMIC_ACQUIRE);
    uint64_t shared = __atomic_load_n(&cell->shared, __ATOMIC_ACQUIRE);
    bool timer = instrument->class == MPIT_CLASS_TIMER;
    uint64_t ns = 0;
    if (timer) {
        const struct mpit_cell *ticks = cell + instrument->count;
        ns = clock_ns(clock_calibrated(), __atomic_load_n(&ticks->own, __ATOMIC_RELAXED) +
                                              __atomic_load_n(&ticks->shared, __ATOMIC_RELAXED));
    }
    if (instrument_is_double(instrument))
        return bits_of(real_of(own) + real_of(shared) + (double)ns * 1e-9);
    return own + shared + ns;
}

static uint64_t extreme_since_ever(const struct instrument_instance *instance, bool high)
{
    const struct instrument *instrument = instance->instrument;
    const struct mpit_cell *cell = instance->cells;
    uint64_t segment = __atomic_load_n(high ? &cell->high : &cell->low, __ATOMIC_ACQUIRE);
    uint64_t closed = __atomic_load_n(high ? &instance->closed_high : &instance->closed_low, __ATOMIC_ACQUIRE);
    uint64_t now = key_of(instrument, __atomic_load_n(&cell->own, __ATOMIC_ACQUIRE)), key = now;
    if (high ? closed > key : closed < key)
        key = closed;
    if (high ? segment > key : segment < key)
        key = segment;
    return bits_of_key(instrument, key);
}

uint64_t instrument_value(const struct instrument_instance *instance, uint32_t class, uint32_t element)
{
    if (instance->instrument->kind == INSTRUMENT_REGION) {
        struct region_cells sum = instrument_region_sum(instance);
        return class == MPIT_CLASS_COUNTER ? sum.count : clock_ns(clock_calibrated(), sum.time);
    }
    if (class == MPIT_CLASS_HIGHWATERMARK || class == MPIT_CLASS_LOWWATERMARK)
        return extreme_since_ever(instance, class == MPIT_CLASS_HIGHWATERMARK);
    return plain_value(instance, element);
}

/* ---- updates that the library does not make in line
 * ---------------------------------------------------------------------- */

static void key_join(uint64_t *cell, uint64_t key, bool high)
{
    uint64_t seen = __atomic_load_n(cell, __ATOMIC_SEQ_CST);
    while ((high ? key > seen : key < seen) &&
           !__atomic_compare_exchange_n(cell, &seen, key, true, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
        ;
}

void instrument_extreme(struct mpit_cell *cell, uint64_t level)
{
    const struct instrument_instance *instance = cell->instance;
    uint64_t key = key_of(instance->instrument, level);
    key_join(&cell->high, key, true);
    key_join(&cell->low, key, false);
}

static void real_add(uint64_t *place, double amount)
{
    uint64_t seen = __atomic_load_n(place, __ATOMIC_RELAXED), sum;
    do
        sum = bits_of(real_of(seen) + amount);
    while (!__atomic_compare_exchange_n(place, &seen, sum, true, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
}

static bool is_level(const struct instrument *instrument)
{
    return instrument->class == MPIT_CLASS_LEVEL || instrument->class == MPIT_CLASS_HIGHWATERMARK ||
           instrument->class == MPIT_CLASS_LOWWATERMARK;
}

static bool is_sum(const struct instrument *instrument)
{
    return instrument->class == MPIT_CLASS_COUNTER || instrument->class == MPIT_CLASS_AGGREGATE ||
           instrument->class == MPIT_CLASS_TIMER;
}

/*
 * An integer and a double are turned into what the variable holds. A sum that several threads add to goes to `shared`:
 * its owner, if there is one, writes `own` without a locked instruction. A sum is not set.
 */
void instrument_update(struct mpit_cell *cell, enum mpit_operation operation, union mpit_value value)
{
    const struct instrument_instance *instance = cell->instance;
    const struct instrument *instrument = instance->instrument;
    bool real = operation == MPIT_ADD_DOUBLE || operation == MPIT_SET_DOUBLE;
    bool set = operation == MPIT_SET || operation == MPIT_SET_DOUBLE;
    if (instrument->kind != INSTRUMENT_VARIABLE || (set && is_sum(instrument)))
        return;
    uint64_t *place = is_sum(instrument) ? &cell->shared : &cell->own;
    if (instrument_is_double(instrument)) {
        double amount = real ? value.real : (double)value.integer;
        if (set)
            __atomic_store_n(place, bits_of(amount), __ATOMIC_SEQ_CST);
        else
            real_add(place, operation == MPIT_SUBTRACT ? -amount : amount);
    } else {
        uint64_t amount = real ? (uint64_t)(int64_t)value.real : value.integer;
        if (set)
            __atomic_store_n(place, amount, __ATOMIC_SEQ_CST);
        else
            __atomic_fetch_add(place, operation == MPIT_SUBTRACT ? -amount : amount, __ATOMIC_SEQ_CST);
    }
    if (is_level(instrument))
        instrument_extreme(cell, __atomic_load_n(&cell->own, __ATOMIC_SEQ_CST));
}

/* ---- windows on levels
 * --------------------------------------------------------------------------------------------------- */

static struct instrument_window *windows; /* pushed at the front; release, pairs with the acquire in windows_give */

static uint64_t *segment_of(const struct instrument_window *window)
{
    return window->high ? &window->instance->cells->high : &window->instance->cells->low;
}

static uint64_t level_key(const struct instrument_instance *instance)
{
    return key_of(instance->instrument, __atomic_load_n(&instance->cells->own, __ATOMIC_SEQ_CST));
}

static void windows_give(const struct instrument_instance *instance, bool high, uint64_t key)
{
    for (struct instrument_window *w = __atomic_load_n(&windows, __ATOMIC_ACQUIRE); w; w = w->next)
        if (__atomic_load_n(&w->open, __ATOMIC_ACQUIRE) && w->instance == instance && w->high == high)
            key_join(&w->key, key, high);
}

/* Ends the segment: all who need its extreme have it before it is taken out, so whoever looks sees it in one place or
 * the other. */
static void segment_end(const struct instrument_window *window)
{
    struct instrument_instance *instance = window->instance;
    uint64_t *segment = segment_of(window), neutral = window->high ? 0 : LOW_NEUTRAL;
    uint64_t key = __atomic_load_n(segment, __ATOMIC_SEQ_CST);
    do {
        key_join(window->high ? &instance->closed_high : &instance->closed_low, key, window->high);
        windows_give(instance, window->high, key);
    } while (!__atomic_compare_exchange_n(segment, &key, neutral, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
}

void instrument_window_tie(struct instrument_window *window, struct instrument_instance *instance, bool high)
{
    __atomic_store_n(&window->open, false, __ATOMIC_RELEASE);
    window->instance = instance;
    window->high = high;
    __atomic_store_n(&window->key, level_key(instance), __ATOMIC_SEQ_CST);
    if (window->linked)
        return;
    window->linked = true;
    window->next = __atomic_load_n(&windows, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&windows, &window->next, window, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        ;
}

void instrument_window_open(struct instrument_window *window)
{
    segment_end(window);
    __atomic_store_n(&window->open, true, __ATOMIC_SEQ_CST);
    key_join(&window->key, level_key(window->instance), window->high);
}

void instrument_window_close(struct instrument_window *window)
{
    segment_end(window);
    if (__atomic_load_n(&window->open, __ATOMIC_ACQUIRE))
        key_join(&window->key, level_key(window->instance), window->high);
    __atomic_store_n(&window->open, false, __ATOMIC_RELEASE);
}

void instrument_window_reset(struct instrument_window *window)
{
    (void)instrument_window_take(window);
}

static uint64_t key_further(uint64_t key, uint64_t other, bool high)
{
    return (high ? other > key : other < key) ? other : key;
}

/* The level itself counts, too: who has changed it may not have come to the extremes yet. */
uint64_t instrument_window_read(const struct instrument_window *window)
{
    const struct instrument *instrument = window->instance->instrument;
    bool open = __atomic_load_n(&window->open, __ATOMIC_ACQUIRE);
    uint64_t segment = __atomic_load_n(segment_of(window), __ATOMIC_SEQ_CST); /* first: it may move into the window */
    uint64_t key = __atomic_load_n(&window->key, __ATOMIC_SEQ_CST);
    if (open)
        key = key_further(key_further(key, segment, window->high), level_key(window->instance), window->high);
    return bits_of_key(instrument, key);
}

/* What rises between the level's reading and the exchange lies in the new segment, or, where another window has ended
 * that meanwhile, was given to the key that goes: so the level is looked at again. */
uint64_t instrument_window_take(struct instrument_window *window)
{
    segment_end(window);
    uint64_t now = level_key(window->instance);
    uint64_t key = __atomic_exchange_n(&window->key, now, __ATOMIC_SEQ_CST);
    key_join(&window->key, level_key(window->instance), window->high);
    if (__atomic_load_n(&window->open, __ATOMIC_ACQUIRE))
        key = key_further(key, now, window->high);
    return bits_of_key(window->instance->instrument, key);
}
