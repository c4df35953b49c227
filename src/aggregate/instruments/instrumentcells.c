#include "instruments/instrument.h"

#include <string.h>
#include <sys/mman.h>

enum { ARENA_BYTES = 64 << 10 };

/* A cell is alone in its cache line. */
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

static uint32_t cells_mode(const struct instrument *instrument)
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
    case MPIT_CLASS_STATE:
    case MPIT_CLASS_PERCENTAGE: /* values are checked (instrument_update) */
        return MPIT_MODE_OTHER;
    default:
        return real ? MPIT_MODE_SET_DOUBLE : MPIT_MODE_SET_INTEGER;
    }
}

static bool is_item(const struct instrument *instrument, int64_t value)
{
    for (uint32_t i = 0; instrument->names && i < instrument->names->count; i++)
        if (instrument->names->items[i].value == value)
            return true;
    return !instrument->names;
}

/* The value before the library sets it: 0, or the first item if there is no item for 0. */
static uint64_t first_state(const struct instrument *instrument)
{
    return is_item(instrument, 0) || !instrument->names->count ? 0
                                                               : (uint64_t)(int64_t)instrument->names->items[0].value;
}

static uint32_t cells_of(const struct instrument *instrument)
{
    bool timer = instrument->kind == INSTRUMENT_VARIABLE && instrument->class == MPIT_CLASS_TIMER;
    return instrument->count * (timer ? 2 : 1);
}

void instrument_cells_clear(struct instrument_instance *instance)
{
    const struct instrument *instrument = instance->instrument;
    uint64_t own = 0;
    if (instrument->kind == INSTRUMENT_CONTROL)
        own = instrument->initial.integer;
    if (instrument->kind == INSTRUMENT_VARIABLE && instrument->class == MPIT_CLASS_STATE)
        own = first_state(instrument);
    if (instrument->kind == INSTRUMENT_EVENT && instrument->event)
        own = instrument->event->heard;
    for (uint32_t i = 0; i < cells_of(instrument); i++) {
        struct mpit_cell *cell = &instance->cells[i];
        __atomic_store_n(&cell->owner, 0, __ATOMIC_RELAXED);
        __atomic_store_n(&cell->shared, 0, __ATOMIC_RELAXED);
        __atomic_store_n(&cell->own, own, __ATOMIC_RELAXED);
        __atomic_store_n(&cell->high, 0, __ATOMIC_RELAXED);
        __atomic_store_n(&cell->low, LOW_NEUTRAL, __ATOMIC_RELAXED);
    }
    __atomic_store_n(&instance->closed_high, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&instance->closed_low, LOW_NEUTRAL, __ATOMIC_RELAXED);
}

struct mpit_cell *instrument_cells_make(struct instrument_instance *instance)
{
    const struct instrument *instrument = instance->instrument;
    uint32_t cells = cells_of(instrument);
    instance->cells = arena_take(cells * sizeof *instance->cells);
    for (uint32_t i = 0; instance->cells && i < cells; i++) {
        struct mpit_cell *cell = &instance->cells[i];
        cell->mode = i < instrument->count ? cells_mode(instrument) : (uint32_t)MPIT_MODE_SUM_INTEGER;
        cell->element = i;
        cell->interface_ = instrument_interface_table;
        cell->instance = instance;
    }
    if (instance->cells)
        instrument_cells_clear(instance);
    return instance->cells;
}

struct mpit_cell *instrument_tick_cell(struct mpit_cell *cell)
{
    const struct instrument_instance *instance = cell->instance;
    return cell + instance->instrument->count;
}

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

static bool is_level(const struct instrument *instrument)
{
    return instrument->class == MPIT_CLASS_LEVEL || instrument->class == MPIT_CLASS_HIGHWATERMARK ||
           instrument->class == MPIT_CLASS_LOWWATERMARK;
}

/* A level of integers can be below 0 if one thread subtracts before another one adds. It shows 0 then. */
static uint64_t level_shown(uint64_t level)
{
    return (int64_t)level < 0 ? 0 : level;
}

/* Levels are compared as keys: integers in the order of the values, for any type. */
static uint64_t bits_level_key(const struct instrument *instrument, uint64_t bits)
{
    if (!instrument_is_double(instrument))
        return level_shown(bits);
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
    struct region_cells sum = {.count = cell_load(&instance->moved.count), .time = cell_load(&instance->moved.time)};
    for (const struct ledger *l = __atomic_load_n(&book.threads, __ATOMIC_ACQUIRE); l; l = l->next) {
        const struct region_cells *cells = book_region_peek(l, instance->id);
        if (cells)
            cells_add(&sum, cells, sizeof sum / sizeof(uint64_t));
    }
    return sum;
}

/* Integers in 64 bits as the library counts them. MPI_T cuts them to the size of the type. */
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
        return bits_of_real(real_of_bits(own) + real_of_bits(shared) + (double)ns * 1e-9);
    return is_level(instrument) ? level_shown(own) : own + shared + ns;
}

static uint64_t extreme_since_ever(const struct instrument_instance *instance, bool high)
{
    const struct instrument *instrument = instance->instrument;
    const struct mpit_cell *cell = instance->cells;
    uint64_t segment = __atomic_load_n(high ? &cell->high : &cell->low, __ATOMIC_ACQUIRE);
    uint64_t closed = __atomic_load_n(high ? &instance->closed_high : &instance->closed_low, __ATOMIC_ACQUIRE);
    uint64_t now = bits_level_key(instrument, __atomic_load_n(&cell->own, __ATOMIC_ACQUIRE)), key = now;
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

/* ---- updates that are not inline in the library ------------------------------------------------------------------ */

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
    uint64_t key = bits_level_key(instance->instrument, level);
    key_join(&cell->high, key, true);
    key_join(&cell->low, key, false);
}

static double share_of(double value)
{
    return value < 0 ? 0 : value > 1 ? 1 : value;
}

static void real_add(uint64_t *place, double amount, bool share)
{
    uint64_t seen = __atomic_load_n(place, __ATOMIC_RELAXED), sum;
    do
        sum = bits_of_real(share ? share_of(real_of_bits(seen) + amount) : real_of_bits(seen) + amount);
    while (!__atomic_compare_exchange_n(place, &seen, sum, true, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
}

static bool instrument_is_summed(const struct instrument *instrument)
{
    return instrument->class == MPIT_CLASS_COUNTER || instrument->class == MPIT_CLASS_AGGREGATE ||
           instrument->class == MPIT_CLASS_TIMER;
}

void instrument_sums_tie(struct instrument_sums *sums, struct instrument_instance *instance)
{
    for (uint32_t i = 0; i < instance->instrument->count; i++) /* no thread adds inline from now on */
        __atomic_store_n(&instance->cells[i].owner, UINT64_MAX, __ATOMIC_SEQ_CST);
    if (sums->linked)
        return;
    sums->linked = true;
    sums->next = __atomic_load_n(&instance->sums, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&instance->sums, &sums->next, sums, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        ;
}

void instrument_sums_give(const struct mpit_cell *cell, double amount)
{
    const struct instrument_instance *instance = cell->instance;
    for (struct instrument_sums *s = __atomic_load_n(&instance->sums, __ATOMIC_ACQUIRE); s; s = s->next) {
        uint64_t *at = s->pairs[cell->element];
        for (struct pair seen = pair_load(at); seen.tag & 1;)
            if (pair_swap(at, &seen,
                          (struct pair){.value = bits_of_real(real_of_bits(seen.value) + amount), .tag = seen.tag}))
                break;
    }
}

bool instrument_fits(const struct mpit_cell *cell, enum mpit_operation operation, union mpit_value value)
{
    const struct instrument_instance *instance = cell->instance;
    const struct instrument *instrument = instance->instrument;
    bool real = operation == MPIT_ADD_DOUBLE || operation == MPIT_SET_DOUBLE;
    bool set = operation == MPIT_SET || operation == MPIT_SET_DOUBLE;
    if (instrument->kind != INSTRUMENT_VARIABLE)
        return true;
    if (instrument->class == MPIT_CLASS_STATE) /* adding to it is not possible */
        return set && is_item(instrument, real ? (int64_t)value.real : (int64_t)value.integer);
    double share = real ? value.real : (double)value.integer;
    return instrument->class != MPIT_CLASS_PERCENTAGE || !set || (share >= 0 && share <= 1);
}

/*
 * Converts an integer or a double to the variable's type. A sum that several threads add to goes to `shared`. Its
 * owner, if there is one, writes `own` without a locked instruction. A sum cannot be set.
 */
void instrument_update(struct mpit_cell *cell, enum mpit_operation operation, union mpit_value value)
{
    const struct instrument_instance *instance = cell->instance;
    const struct instrument *instrument = instance->instrument;
    bool real = operation == MPIT_ADD_DOUBLE || operation == MPIT_SET_DOUBLE;
    bool set = operation == MPIT_SET || operation == MPIT_SET_DOUBLE;
    if (instrument->kind != INSTRUMENT_VARIABLE || (set && instrument_is_summed(instrument)))
        return;
    if (instrument->class == MPIT_CLASS_STATE && !instrument_fits(cell, operation, value))
        return;
    uint64_t *place = instrument_is_summed(instrument) ? &cell->shared : &cell->own;
    if (instrument_is_double(instrument)) {
        bool share = instrument->class == MPIT_CLASS_PERCENTAGE;
        double amount = real ? value.real : (double)value.integer;
        if (operation == MPIT_SUBTRACT)
            amount = -amount;
        if (share && amount != amount)
            return;
        if (set)
            __atomic_store_n(place, bits_of_real(share ? share_of(amount) : amount), __ATOMIC_SEQ_CST);
        else
            real_add(place, amount, share);
        if (instrument_is_summed(instrument))
            instrument_sums_give(cell, amount);
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

/* The sum's cells have no other writer, and `from` has no writer any more. */
void instrument_cells_join(struct instrument_instance *to, const struct instrument_instance *from)
{
    const struct instrument *instrument = to->instrument;
    bool added = instrument_is_summed(instrument) || is_level(instrument), real = instrument_is_double(instrument);
    uint32_t cells = cells_of(instrument);
    for (uint32_t i = 0; i < cells; i++) {
        struct mpit_cell *cell = &to->cells[i];
        uint64_t own = from->cells[i].own, shared = from->cells[i].shared;
        bool whole = !real || i >= instrument->count; /* ticks are whole numbers */
        if (!added)
            __atomic_store_n(&cell->own, own, __ATOMIC_RELAXED);
        else if (whole)
            __atomic_store_n(&cell->own, cell->own + own + shared, __ATOMIC_RELAXED);
        else
            __atomic_store_n(&cell->own,
                             bits_of_real(real_of_bits(cell->own) + real_of_bits(own) + real_of_bits(shared)),
                             __ATOMIC_RELAXED);
    }
    if (!is_level(instrument))
        return;
    key_join(&to->closed_high, bits_level_key(instrument, extreme_since_ever(from, true)), true);
    key_join(&to->closed_low, bits_level_key(instrument, extreme_since_ever(from, false)), false);
}

/* ---- windows on levels ------------------------------------------------------------------------------------------- */

static struct instrument_window *windows; /* pushed at the front. Release, pairs with the acquire in windows_give */

static uint64_t *instrument_segment(const struct instrument_window *window)
{
    return window->high ? &window->instance->cells->high : &window->instance->cells->low;
}

static uint64_t level_key(const struct instrument_instance *instance)
{
    return bits_level_key(instance->instrument, __atomic_load_n(&instance->cells->own, __ATOMIC_SEQ_CST));
}

static void windows_give(const struct instrument_instance *instance, bool high, uint64_t key)
{
    for (struct instrument_window *w = __atomic_load_n(&windows, __ATOMIC_ACQUIRE); w; w = w->next)
        if (__atomic_load_n(&w->open, __ATOMIC_ACQUIRE) && w->instance == instance && w->high == high)
            key_join(&w->key, key, high);
}

/* Ends the segment. All windows that need its extreme get it before it is taken out. So readers see it in one place
 * or the other. */
static void instrument_segment_end(const struct instrument_window *window)
{
    struct instrument_instance *instance = window->instance;
    uint64_t *segment = instrument_segment(window), neutral = window->high ? 0 : LOW_NEUTRAL;
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
    instrument_segment_end(window);
    __atomic_store_n(&window->open, true, __ATOMIC_SEQ_CST);
    key_join(&window->key, level_key(window->instance), window->high);
}

void instrument_window_close(struct instrument_window *window)
{
    instrument_segment_end(window);
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

/* The level itself counts, too: a thread that has changed it may not have updated the extremes yet. */
uint64_t instrument_window_read(const struct instrument_window *window)
{
    const struct instrument *instrument = window->instance->instrument;
    bool open = __atomic_load_n(&window->open, __ATOMIC_ACQUIRE);
    uint64_t segment =
        __atomic_load_n(instrument_segment(window), __ATOMIC_SEQ_CST); /* first: it may move into the window */
    uint64_t key = __atomic_load_n(&window->key, __ATOMIC_SEQ_CST);
    if (open)
        key = key_further(key_further(key, segment, window->high), level_key(window->instance), window->high);
    return bits_of_key(instrument, key);
}

/* The level may rise between its read and the exchange. That rise is in the new segment. Or another window has ended
 * that segment meanwhile, and the old key got it. So the level is read again. */
uint64_t instrument_window_take(struct instrument_window *window)
{
    instrument_segment_end(window);
    uint64_t now = level_key(window->instance);
    uint64_t key = __atomic_exchange_n(&window->key, now, __ATOMIC_SEQ_CST);
    key_join(&window->key, level_key(window->instance), window->high);
    if (__atomic_load_n(&window->open, __ATOMIC_ACQUIRE))
        key = key_further(key, now, window->high);
    return bits_of_key(window->instance->instrument, key);
}
