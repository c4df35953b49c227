#include "registry/unfreed.h"

#include "registry/book.h"

#include <sched.h>

/* Memory of places that were never used is never touched. The last quarter is for objects that share an entry. */
enum { PLACES = 1 << 16, OBJECTS_MOST = PLACES / 4 * 3, SPINS_MOST = 1000 };

/* Stands for all further handles, when there are too many. */
#define HANDLE_OTHERS UINT64_MAX

static struct unfreed table[PLACES];

/* Blocks of the table that were used. The others are not read, as that would map them. */
enum { BLOCK = 128 };
static bool touched[PLACES / BLOCK];
static uint32_t used;
static bool locked;

/* As long as no threads run at once nobody waits for it. Returns whether it was taken. */
static bool lock(void)
{
    if (!book_is_shared())
        return false;
    for (int spins = 0; __atomic_exchange_n(&locked, true, __ATOMIC_ACQUIRE); spins++)
        if (spins >= SPINS_MOST) /* its holder may wait for this processor */
            sched_yield();
    return true;
}

static void unlock(bool taken)
{
    if (taken)
        __atomic_store_n(&locked, false, __ATOMIC_RELEASE);
}

/* Where the search for an object begins. It goes on until a place is empty. */
static uint32_t search_begin(uint32_t kind, uint64_t handle)
{
    return (uint32_t)(((handle + kind) * UINT64_C(0x9e3779b97f4a7c15)) >> 48) % PLACES;
}

/* Empties a place. Later objects move up, so that each is still found. */
static void entry_clear(uint32_t place)
{
    for (uint32_t at = (place + 1) % PLACES; table[at].kind != LEFT_NONE; at = (at + 1) % PLACES) {
        uint32_t first = search_begin(table[at].kind, table[at].handle);
        if ((at - first) % PLACES < (at - place) % PLACES)
            continue;
        table[place] = table[at];
        place = at;
    }
    table[place].kind = LEFT_NONE;
    used--;
}

/* The entry of this handle that was made last. PLACES: none. */
static uint32_t latest_find(enum left_kind kind, uint64_t handle)
{
    uint32_t latest = PLACES;
    for (uint32_t at = search_begin(kind, handle); table[at].kind != LEFT_NONE; at = (at + 1) % PLACES)
        if (table[at].kind == kind && table[at].handle == handle &&
            (latest == PLACES || table[at].last >= table[latest].last))
            latest = at;
    return latest;
}

/* Its own entry, or an empty place for it. */
static uint32_t entry_find(enum left_kind kind, uint64_t handle, uint32_t path)
{
    uint32_t at = search_begin(kind, handle);
    while (table[at].kind != LEFT_NONE &&
           (table[at].kind != kind || table[at].handle != handle || table[at].path != path))
        at = (at + 1) % PLACES;
    return at;
}

void unfreed_add(enum left_kind kind, uint64_t handle, uint32_t path, uint64_t ticks)
{
    bool taken = lock();
    uint32_t stale = kind == LEFT_GROUP ? PLACES : latest_find(kind, handle);
    if (stale < PLACES) /* nobody saw that it was freed */
        entry_clear(stale);
    uint32_t at = entry_find(kind, handle, path);
    if (table[at].kind == LEFT_NONE && used >= OBJECTS_MOST) {
        handle = HANDLE_OTHERS;
        at = entry_find(kind, handle, path);
    }
    if (table[at].kind != LEFT_NONE) {
        table[at].last = ticks > table[at].last ? ticks : table[at].last;
        table[at].count++;
    } else if (used < PLACES - 1) {
        table[at] = (struct unfreed){handle, ticks, ticks, kind, path, 1};
        touched[at / BLOCK] = true;
        used++;
    }
    unlock(taken);
}

struct unfreed unfreed_remove(enum left_kind kind, uint64_t handle)
{
    struct unfreed object = {.kind = LEFT_NONE};
    bool taken = lock();
    uint32_t latest = latest_find(kind, handle);
    if (latest == PLACES)
        latest = latest_find(kind, HANDLE_OTHERS);
    if (latest < PLACES) {
        object = table[latest];
        if (--table[latest].count == 0)
            entry_clear(latest);
    }
    unlock(taken);
    return object;
}

void unfreed_visit(void (*found)(const struct unfreed *object, void *data), void *data)
{
    bool taken = lock();
    for (uint32_t i = 0; i < PLACES; i++)
        if (touched[i / BLOCK] && table[i].kind != LEFT_NONE)
            found(&table[i], data);
    unlock(taken);
}
