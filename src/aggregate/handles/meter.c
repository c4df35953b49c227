#include "handles/meter.h"

#include <stdlib.h>
#include <string.h>

/* Unused pairs of one size. */
struct pairs {
    struct pairs *next;
    unsigned order; /* 2^order pairs */
    uint64_t pairs[] PAIR_ALIGNED;
};

enum { ORDERS = 32 };
static struct pairs *spare[ORDERS];

static uint32_t tag_owner(uint64_t tag)
{
    return (uint32_t)(tag >> 40);
}

static uint32_t tag_version(uint64_t tag)
{
    return (uint32_t)(tag >> 8);
}

static bool tag_is_running(uint64_t tag)
{
    return tag >> 8 & 1;
}

static uint64_t tag_make(uint32_t owner, uint32_t version, uint64_t changes)
{
    return (uint64_t)owner << 40 | (uint64_t)version << 8 | (changes & 0xff);
}

/* The same state, another value. */
static uint64_t tag_changed(uint64_t tag)
{
    return (tag & ~UINT64_C(0xff)) | ((tag + 1) & 0xff);
}

/* The count of all threads until now. The loads are done before all later accesses. */
static inline uint64_t meter_sample(const struct meter *meter, size_t slot)
{
    uint64_t now = 0;
    if (meter->cell == METER_CELLS)
        now = meter->object ? cell_load(&meter->object->cells[meter->variable->record.terms[0].first])
                            : book_sample(meter->variable, meter->comm, slot);
    else
        for (const struct view *v = __atomic_load_n(&meter->comm->views, __ATOMIC_ACQUIRE); v; v = v->next)
            now += cell_load((const uint64_t *)v->tally.cells + meter->cell + slot * meter->step);
    loads_order();
    return meter->timer ? clock_ns(book.scale, now) : now;
}

static uint64_t *element(const struct meter *meter, size_t i)
{
    return &meter->pairs[2 * (i + 1)];
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static unsigned order_of(size_t pairs)
{
    unsigned order = 0;
    while ((size_t)1 << order < pairs)
        order++;
    return order;
}

static uint32_t cell_of(const struct meter *meter)
{
    const struct variable_term *term = meter->variable->record.terms;
    bool one = meter->comm && term[0].block == BLOCK_COMM && term[0].run == 1 && !term[1].block;
    return one ? term[0].first : METER_CELLS;
}

bool meter_acquire(struct meter *meter)
{
    unsigned order = order_of((size_t)meter->count + 1);
    struct pairs *pairs = order < ORDERS ? spare[order] : NULL;
    if (order >= ORDERS)
        return false;
    if (pairs)
        spare[order] = pairs->next;
    else
        pairs = aligned_alloc(16, sizeof *pairs + (sizeof(struct pair) << order));
    if (!pairs)
        return false;
    pairs->order = order;
    meter->cell = cell_of(meter);
    meter->step = meter->variable->record.terms[0].stride;
    meter->timer = strcmp(meter->variable->record.unit, "ticks") == 0;
    meter->pairs = pairs->pairs;
    for (size_t i = 0; i <= meter->count; i++)
        pair_set(&meter->pairs[2 * i], (struct pair){.tag = tag_make(meter->owner, 0, 0)});
    return true;
}

void meter_release(struct meter *meter)
{
    struct pairs *pairs = (struct pairs *)((char *)meter->pairs - offsetof(struct pairs, pairs));
    for (size_t i = 0; i <= meter->count; i++) {
        struct pair seen = pair_load(&meter->pairs[2 * i]);
        while (!pair_swap(&meter->pairs[2 * i], &seen, (struct pair){.tag = 0}))
            ;
    }
    pairs->next = spare[pairs->order];
    spare[pairs->order] = pairs;
    meter->pairs = NULL;
}

/* ---- start and stop ---------------------------------------------------------------------------------------------- */

/* Sets the wanted version. *version is odd for running. */
static bool version_want(const struct meter *meter, bool running, uint32_t *version)
{
    struct pair seen = pair_load(meter->pairs);
    do {
        if (tag_owner(seen.tag) != meter->owner)
            return false;
        *version = tag_version(seen.tag) + (tag_is_running(seen.tag) != running);
    } while (*version != tag_version(seen.tag) &&
             !pair_swap(meter->pairs, &seen, (struct pair){.tag = tag_make(meter->owner, *version, 0)}));
    return true;
}

static bool element_advance(const struct meter *meter, size_t i, uint32_t version)
{
    struct pair seen = pair_load(element(meter, i)), fresh;
    do {
        if (tag_owner(seen.tag) != meter->owner)
            return false;
        if ((int32_t)(version - tag_version(seen.tag)) <= 0) /* versions turn around after 2^32 starts and stops */
            return true;
        fresh = (struct pair){.value = seen.value, .tag = tag_make(meter->owner, version, seen.tag + 1)};
        if (tag_is_running(fresh.tag) && !tag_is_running(seen.tag))
            fresh.value -= meter_sample(meter, i);
        else if (tag_is_running(seen.tag) && !tag_is_running(fresh.tag))
            fresh.value += meter_sample(meter, i);
    } while (!pair_swap(element(meter, i), &seen, fresh));
    return true;
}

/* A single element needs no pair in front: its own version is the meter's. */
static bool meter_run(const struct meter *meter, bool running)
{
    uint32_t version;
    if (meter->count == 1) {
        struct pair seen = pair_load(element(meter, 0)), fresh;
        do {
            if (tag_owner(seen.tag) != meter->owner)
                return false;
            if (tag_is_running(seen.tag) == running)
                return true;
            uint64_t now = meter_sample(meter, 0);
            fresh.value = running ? seen.value - now : seen.value + now;
            fresh.tag = tag_make(meter->owner, tag_version(seen.tag) + 1, seen.tag + 1);
        } while (!pair_swap(element(meter, 0), &seen, fresh));
        return true;
    }
    if (!version_want(meter, running, &version))
        return false;
    for (size_t i = 0; i < meter->count; i++)
        if (!element_advance(meter, i, version))
            return false;
    return true;
}

bool meter_start(const struct meter *meter)
{
    return meter_run(meter, true);
}

bool meter_stop(const struct meter *meter)
{
    return meter_run(meter, false);
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

bool meter_read(const struct meter *meter, uint64_t *values)
{
    for (size_t i = 0; i < meter->count; i++) {
        struct pair seen;
        do {
            seen = pair_load(element(meter, i));
            if (__builtin_expect(tag_owner(seen.tag) != meter->owner, 0))
                return false;
            values[i] = seen.value + (tag_is_running(seen.tag) ? meter_sample(meter, i) : 0);
        } while (__builtin_expect(!pair_is(element(meter, i), seen), 0));
    }
    return true;
}

/* Sets element i to `value`. `*was` gets its old value. */
static inline bool element_set(const struct meter *meter, size_t i, uint64_t value, uint64_t *was)
{
    struct pair seen = pair_load(element(meter, i));
    uint64_t now;
    do {
        if (tag_owner(seen.tag) != meter->owner)
            return false;
        now = tag_is_running(seen.tag) ? meter_sample(meter, i) : 0;
        *was = seen.value + now;
    } while (!pair_swap(element(meter, i), &seen, (struct pair){.value = value - now, .tag = tag_changed(seen.tag)}));
    return true;
}

bool meter_write(const struct meter *meter, const uint64_t *values)
{
    uint64_t was;
    for (size_t i = 0; i < meter->count; i++)
        if (!element_set(meter, i, values[i], &was))
            return false;
    return true;
}

bool meter_reset(const struct meter *meter)
{
    uint64_t was;
    for (size_t i = 0; i < meter->count; i++)
        if (!element_set(meter, i, 0, &was))
            return false;
    return true;
}

bool meter_readreset(const struct meter *meter, uint64_t *values)
{
    for (size_t i = 0; i < meter->count; i++)
        if (!element_set(meter, i, 0, &values[i]))
            return false;
    return true;
}
