#include "handles/objectcells.h"

#include <stdlib.h>

enum { CHAINS = 256 };
static struct object_cells *chains[CHAINS];

static uint64_t cells_key(enum object_kind kind, uint32_t slot, uint32_t number)
{
    _Static_assert(COMM_SLOTS <= 1 << 30 && OBJECT_FILE < 1 << 2, "a key has room for both");
    return (uint64_t)number << 32 | slot << 2 | kind;
}

static struct object_cells **chain_of(uint64_t key)
{
    return &chains[(key * UINT64_C(0x9e3779b97f4a7c15)) >> 56];
}

static struct object_cells *cells_find(uint64_t key)
{
    struct object_cells *cells = __atomic_load_n(chain_of(key), __ATOMIC_ACQUIRE);
    while (cells && __atomic_load_n(&cells->key, __ATOMIC_ACQUIRE) != key)
        cells = cells->next;
    return cells;
}

/* Returns cells of a freed object, without handles. Under the registry's lock. */
static struct object_cells *find_spare(struct object_cells *cells)
{
    while (cells && (object_cells_live(cells) || __atomic_load_n(&cells->handles, __ATOMIC_ACQUIRE)))
        cells = cells->next;
    return cells;
}

/*
 * Under the registry's lock. NULL: no memory. The first values of the counters do not matter, as handles use
 * differences.
 */
static struct object_cells *cells_make(uint64_t key)
{
    struct object_cells **chain = chain_of(key), *fresh = find_spare(*chain);
    if (fresh) {
        __atomic_store_n(&fresh->key, key, __ATOMIC_RELEASE);
        return fresh;
    }
    fresh = calloc(1, sizeof *fresh);
    if (!fresh)
        return NULL;
    *fresh = (struct object_cells){.next = *chain, .key = key};
    __atomic_store_n(chain, fresh, __ATOMIC_RELEASE);
    return fresh;
}

bool object_cells_acquire(enum object_kind kind, uint64_t handle, struct object_cells **cells)
{
    pthread_mutex_lock(&book.lock); /* so that the object is not freed meanwhile */
    struct object object = objects_find(kind == OBJECT_WINDOW ? &book.windows : &book.files, handle);
    bool known = object.comm && object.number;
    if (known) {
        uint64_t key = cells_key(kind, object.comm->slot, object.number);
        struct object_cells *found = cells_find(key);
        *cells = found ? found : cells_make(key);
        if (*cells)
            __atomic_add_fetch(&(*cells)->handles, 1, __ATOMIC_RELAXED);
    }
    pthread_mutex_unlock(&book.lock);
    return known;
}

void object_cells_release(struct object_cells *cells)
{
    __atomic_sub_fetch(&cells->handles, 1, __ATOMIC_RELEASE);
}

void object_cells_close(enum object_kind kind, const struct object *object)
{
    struct object_cells *cells = cells_find(cells_key(kind, object->comm->slot, object->number));
    if (cells)
        __atomic_store_n(&cells->key, 0, __ATOMIC_RELEASE);
}

void object_cells_add(enum object_kind kind, const struct event *event, uint64_t ticks)
{
    struct object_cells *cells = cells_find(cells_key(kind, event->comm, (uint32_t)event->tag));
    if (!cells)
        return;
    __atomic_fetch_add(&cells->cells[OBJECT_TIME], ticks, __ATOMIC_RELAXED);
    if (event->bytes && !(event->kind & EVENT_FAILED)) {
        __atomic_fetch_add(&cells->cells[OBJECT_COUNT], 1, __ATOMIC_RELAXED);
        __atomic_fetch_add(&cells->cells[OBJECT_BYTES], event->bytes, __ATOMIC_RELAXED);
    }
}
