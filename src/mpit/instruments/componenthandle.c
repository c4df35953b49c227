/* Handles of other libraries' variables. See the drawing in component.h. */
#include "instruments/component.h"
#include "base/pair.h"

#include <stdlib.h>
#include <string.h>

struct component_handle {
    struct component_handle *next; /* in the instance's list of unused ones */
    struct instrument_instance *instance;
    uint32_t class;
    bool ever_started;
    struct instrument_window mark;
    struct instrument_sums sums;
    uint64_t pairs[][2] PAIR_ALIGNED; /* one for each element */
};

static const struct instrument *instrument_of(const struct component_handle *handle)
{
    return handle->instance->instrument;
}

static bool is_alive(const struct component_handle *handle)
{
    return instrument_is_active(instrument_of(handle));
}

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

/* In the variable's arithmetic. */
static uint64_t plus(const struct component_handle *handle, uint64_t a, uint64_t b)
{
    return instrument_is_double(instrument_of(handle)) ? bits_of_real(real_of_bits(a) + real_of_bits(b)) : a + b;
}

static uint64_t minus(const struct component_handle *handle, uint64_t a, uint64_t b)
{
    return instrument_is_double(instrument_of(handle)) ? bits_of_real(real_of_bits(a) - real_of_bits(b)) : a - b;
}

/* True if the library adds to the handle itself (instrument_sums). */
static bool is_given(const struct component_handle *handle)
{
    return class_is_sum(handle->class) && instrument_is_double(instrument_of(handle));
}

static uint64_t count_now(const struct component_handle *handle, uint32_t element)
{
    if (is_given(handle))
        return 0;
    return instrument_value(handle->instance, handle->class, element);
}

static void number_store(const struct component_handle *handle, void *buf, uint32_t element, uint64_t value)
{
    switch (instrument_of(handle)->type) {
    case MPIT_TYPE_INT:
        ((int *)buf)[element] = (int)(int64_t)value;
        break;
    case MPIT_TYPE_UNSIGNED:
        ((unsigned *)buf)[element] = (unsigned)value;
        break;
    case MPIT_TYPE_UNSIGNED_LONG:
        ((unsigned long *)buf)[element] = (unsigned long)value;
        break;
    default:
        memcpy((char *)buf + element * sizeof value, &value, sizeof value);
    }
}

static uint64_t number_load(const struct component_handle *handle, const void *buf, uint32_t element)
{
    uint64_t value;
    switch (instrument_of(handle)->type) {
    case MPIT_TYPE_INT:
        return (uint64_t)(int64_t)((const int *)buf)[element];
    case MPIT_TYPE_UNSIGNED:
        return ((const unsigned *)buf)[element];
    case MPIT_TYPE_UNSIGNED_LONG:
        return ((const unsigned long *)buf)[element];
    default:
        memcpy(&value, (const char *)buf + element * sizeof value, sizeof value);
        return value;
    }
}

/* ---- pairs ------------------------------------------------------------------------------------------------------- */

enum { RUNNING = 1, CHANGE = 2 };

static bool runs(struct pair pair)
{
    return pair.tag & RUNNING;
}

/* Starts or stops an element. */
static void element_run(struct component_handle *handle, uint32_t element, bool run)
{
    uint64_t *at = handle->pairs[element];
    for (struct pair seen = pair_load(at); runs(seen) != run;) {
        uint64_t now = count_now(handle, element);
        struct pair fresh = {.value = run ? minus(handle, seen.value, now) : plus(handle, seen.value, now),
                             .tag = (seen.tag + CHANGE) ^ RUNNING};
        if (pair_swap(at, &seen, fresh))
            return;
    }
}

/* Returns the element's value, and starts it again with `begin`. */
static uint64_t element_exchange(struct component_handle *handle, uint32_t element, uint64_t begin)
{
    uint64_t *at = handle->pairs[element];
    for (struct pair seen = pair_load(at);;) {
        uint64_t now = count_now(handle, element);
        uint64_t value = runs(seen) ? plus(handle, seen.value, now) : seen.value;
        struct pair fresh = {.value = runs(seen) ? minus(handle, begin, now) : begin, .tag = seen.tag + CHANGE};
        if (pair_swap(at, &seen, fresh))
            return value;
    }
}

static uint64_t element_read(const struct component_handle *handle, uint32_t element)
{
    for (;;) {
        struct pair seen = pair_load(handle->pairs[element]);
        if (!runs(seen))
            return seen.value;
        uint64_t value = plus(handle, seen.value, count_now(handle, element));
        if (pair_is(handle->pairs[element], seen)) /* else the count includes a change */
            return value;
    }
}

/* ---- handles ----------------------------------------------------------------------------------------------------- */

/* An unused one of the same variable. NULL: there is none. */
static struct component_handle *spare_take(struct instrument_instance *instance, uint32_t class)
{
    struct component_handle *before = NULL, *at = instance->handles;
    while (at && at->class != class) {
        before = at;
        at = at->next;
    }
    if (at && before)
        before->next = at->next;
    else if (at)
        instance->handles = at->next;
    return at;
}

int component_bind(const struct catalogue_entry *entry, const struct comm *comm, struct component_handle **handle,
                   uint32_t *count)
{
    struct instrument *instrument = entry->instrument;
    uint32_t class = entry->own->record.class;
    if (!instrument_is_active(instrument))
        return MPI_T_ERR_INVALID_INDEX;
    struct instrument_instance *instance = instrument_instance(instrument, comm);
    struct component_handle *fresh = instance ? spare_take(instance, class) : NULL;
    size_t bytes = sizeof *fresh + instrument->count * sizeof fresh->pairs[0];
    if (instance && !fresh) {
        fresh = aligned_alloc(16, (bytes + 15) / 16 * 16);
        if (fresh)
            memset(fresh, 0, bytes);
    }
    if (!fresh)
        return MPI_T_ERR_OUT_OF_HANDLES;
    fresh->instance = instance;
    fresh->class = class;
    fresh->ever_started = false;
    if (class == MPIT_CLASS_TIMER)
        clock_calibrate(); /* so that reading need not */
    fresh->sums.pairs = fresh->pairs;
    if (is_given(fresh))
        instrument_sums_tie(&fresh->sums, instance);
    if (class_is_watermark(class))
        instrument_window_tie(&fresh->mark, instance, class == MPIT_CLASS_HIGHWATERMARK);
    *handle = fresh;
    *count = instrument->count;
    return MPI_SUCCESS;
}

void component_release(struct component_handle *handle)
{
    if (class_is_watermark(handle->class))
        instrument_window_close(&handle->mark);
    for (uint32_t i = 0; i < instrument_of(handle)->count; i++) {
        element_run(handle, i, false);
        element_exchange(handle, i, 0);
    }
    handle->next = handle->instance->handles;
    handle->instance->handles = handle;
}

int component_start(struct component_handle *handle)
{
    if (!is_alive(handle))
        return MPI_T_ERR_INVALID_HANDLE;
    if (class_is_watermark(handle->class)) {
        if (__atomic_load_n(&handle->mark.open, __ATOMIC_ACQUIRE))
            return MPI_SUCCESS;
        if (!__atomic_exchange_n(&handle->ever_started, true, __ATOMIC_ACQ_REL))
            instrument_window_reset(&handle->mark);
        instrument_window_open(&handle->mark);
    } else if (class_is_sum(handle->class)) {
        for (uint32_t i = 0; i < instrument_of(handle)->count; i++)
            element_run(handle, i, true);
    }
    return MPI_SUCCESS;
}

int component_stop(struct component_handle *handle)
{
    if (!is_alive(handle))
        return MPI_T_ERR_INVALID_HANDLE;
    if (class_is_watermark(handle->class))
        instrument_window_close(&handle->mark);
    else if (class_is_sum(handle->class))
        for (uint32_t i = 0; i < instrument_of(handle)->count; i++)
            element_run(handle, i, false);
    return MPI_SUCCESS;
}

int component_reset(struct component_handle *handle)
{
    if (!is_alive(handle))
        return MPI_T_ERR_INVALID_HANDLE;
    if (class_is_watermark(handle->class))
        instrument_window_reset(&handle->mark);
    else if (class_is_sum(handle->class))
        for (uint32_t i = 0; i < instrument_of(handle)->count; i++)
            element_exchange(handle, i, 0);
    return MPI_SUCCESS;
}

int component_read(struct component_handle *handle, void *buf)
{
    if (!is_alive(handle))
        return MPI_T_ERR_INVALID_HANDLE;
    for (uint32_t i = 0; i < instrument_of(handle)->count; i++)
        number_store(handle, buf, i,
                     class_is_watermark(handle->class) ? instrument_window_read(&handle->mark)
                     : class_is_sum(handle->class)     ? element_read(handle, i)
                                                       : count_now(handle, i));
    return MPI_SUCCESS;
}

int component_readreset(struct component_handle *handle, void *buf)
{
    if (!is_alive(handle))
        return MPI_T_ERR_INVALID_HANDLE;
    for (uint32_t i = 0; i < instrument_of(handle)->count; i++)
        number_store(handle, buf, i,
                     class_is_watermark(handle->class) ? instrument_window_take(&handle->mark)
                                                       : element_exchange(handle, i, 0));
    return MPI_SUCCESS;
}

int component_write(struct component_handle *handle, const void *buf)
{
    if (!is_alive(handle))
        return MPI_T_ERR_INVALID_HANDLE;
    if (class_is_watermark(handle->class))
        return MPI_T_ERR_PVAR_NO_WRITE; /* an extreme can be reset, but not written */
    for (uint32_t i = 0; i < instrument_of(handle)->count; i++)
        element_exchange(handle, i, number_load(handle, buf, i));
    return MPI_SUCCESS;
}
