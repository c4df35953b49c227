#include "variables/roster.h"

#include "base/array.h"
#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

struct roster_slot {
    const char *name;
    void *thing;
    int key;
    int same_hash; /* index of the next slot in the bucket + 1 */
};

static unsigned bucket_of_name(const char *name, int key)
{
    return hash_text(HASH_BEGIN ^ (unsigned)key, name) % ROSTER_BUCKETS;
}

static struct roster_slot *slot(const struct roster *roster, int index)
{
    return &roster->blocks[index / ROSTER_BLOCK][index % ROSTER_BLOCK];
}

int roster_count(const struct roster *roster)
{
    return __atomic_load_n(&roster->count, __ATOMIC_ACQUIRE);
}

void *roster_at(const struct roster *roster, int index)
{
    return index >= 0 && index < roster_count(roster) ? slot(roster, index)->thing : NULL;
}

int roster_find(const struct roster *roster, const char *name, int key)
{
    for (int at = __atomic_load_n(&roster->buckets[bucket_of_name(name, key)], __ATOMIC_ACQUIRE); at;) {
        const struct roster_slot *s = slot(roster, at - 1);
        if (s->key == key && strcmp(s->name, name) == 0)
            return at - 1;
        at = s->same_hash;
    }
    return -1;
}

int roster_add(struct roster *roster, const char *name, int key, void *thing)
{
    int index = roster->count, block = index / ROSTER_BLOCK;
    if (index >= ROSTER_BLOCKS * ROSTER_BLOCK || roster_find(roster, name, key) >= 0)
        return -1;
    if (!roster->blocks[block])
        roster->blocks[block] = calloc(ROSTER_BLOCK, sizeof(struct roster_slot));
    if (!roster->blocks[block])
        return -1;
    int *bucket = &roster->buckets[bucket_of_name(name, key)];
    *slot(roster, index) = (struct roster_slot){.name = name, .thing = thing, .key = key, .same_hash = *bucket};
    __atomic_store_n(bucket, index + 1, __ATOMIC_RELEASE); /* partner: roster_find */
    __atomic_store_n(&roster->count, index + 1, __ATOMIC_RELEASE);
    return index;
}

int roster_native(struct roster *roster, int native_index)
{
    if (native_index < 0)
        return ROSTER_WAITS;
    if (native_index >= roster->native_room) {
        int room = 2 * native_index + 64;
        if (!ARRAY_RESIZED(roster->native, (size_t)room))
            return ROSTER_WAITS;
        for (int i = roster->native_room; i < room; i++)
            roster->native[i] = ROSTER_WAITS;
        roster->native_room = room;
    }
    return roster->native[native_index];
}

void roster_native_set(struct roster *roster, int native_index, int index)
{
    if (native_index >= 0 && native_index < roster->native_room)
        roster->native[native_index] = index;
}

void roster_natives(struct roster *roster, int count, int (*admit)(int native_index))
{
    if (count > roster->native_room)
        roster_native(roster, count - 1);
    for (int i = 0; i < count; i++)
        if (i >= roster->native_room || roster->native[i] == ROSTER_WAITS)
            admit(i);
}
