#include "registry/commmap.h"

#include "base/invariant.h"

#include <stdbool.h>
#include <stdlib.h>

struct comm_place {
    uint64_t handle; /* 0 = empty */
    struct comm *comm;
};

struct comm_map {
    uint64_t mask, used;
    struct comm_map *older; /* the one that it replaced, which readers may still use */
    struct comm_place places[];
};

/* A search ends at an empty place. */
static bool comm_map_is_valid(const struct comm_map *map)
{
    return !(map->mask & (map->mask + 1)) && 2 * map->used <= map->mask;
}

static uint64_t handle_home(uint64_t handle)
{
    return (handle * UINT64_C(0x9e3779b97f4a7c15)) >> 20;
}

struct comm *comm_map_find(struct comm_map *const *where, uint64_t handle)
{
    struct comm_map *map = __atomic_load_n(where, __ATOMIC_ACQUIRE);
    if (!map || !handle)
        return NULL;
    for (uint64_t i = handle_home(handle);; i++) {
        struct comm_place *place = &map->places[i & map->mask];
        uint64_t found = __atomic_load_n(&place->handle, __ATOMIC_ACQUIRE);
        if (!found)
            return NULL;
        if (found != handle)
            continue;
        struct comm *comm = __atomic_load_n(&place->comm, __ATOMIC_ACQUIRE);
        /* Another handle may have taken the place meanwhile. It is stored there before its communicator. */
        return __atomic_load_n(&place->handle, __ATOMIC_ACQUIRE) == handle ? comm : NULL;
    }
}

/* The place that has the handle, else a place for it: a vacated one on the way, or the empty one at its end. */
static struct comm_place *place_for(struct comm_map *map, uint64_t handle)
{
    struct comm_place *vacated = NULL;
    MPIT_ASSERT(comm_map_is_valid(map));
    for (uint64_t i = handle_home(handle);; i++) {
        struct comm_place *place = &map->places[i & map->mask];
        if (place->handle == handle)
            return place;
        if (!place->handle)
            return vacated ? vacated : place;
        if (!place->comm && !vacated)
            vacated = place;
    }
}

static void comm_put(struct comm_map *map, uint64_t handle, struct comm *comm)
{
    struct comm_place *place = place_for(map, handle);
    if (place->handle != handle) {
        map->used += !place->handle;
        __atomic_store_n(&place->handle, handle, __ATOMIC_RELEASE);
    }
    __atomic_store_n(&place->comm, comm, __ATOMIC_RELEASE);
}

/* Empties the vacated places around this one that are not on the way of a search. A place is on the way of a handle
 * after it if that handle found the place taken. */
static void tidy(struct comm_map *map, uint64_t at)
{
    uint64_t reach = 0; /* how many places before this one lead to a handle after it */
    while (map->places[at & map->mask].handle)
        at++;
    for (struct comm_place *place; (place = &map->places[--at & map->mask])->handle;) {
        bool needed = reach > 0;
        reach -= needed;
        if (place->comm) {
            uint64_t way = (at - handle_home(place->handle)) & map->mask;
            reach = way > reach ? way : reach;
        } else if (!needed) {
            __atomic_store_n(&place->handle, 0, __ATOMIC_RELEASE);
            map->used--;
        }
    }
}

void comm_map_remove(struct comm_map *map, uint64_t handle, const struct comm *comm)
{
    struct comm_place *place = map && handle ? place_for(map, handle) : NULL;
    if (!place || place->handle != handle || (comm && place->comm != comm))
        return;
    __atomic_store_n(&place->comm, NULL, __ATOMIC_RELEASE);
    tidy(map, (uint64_t)(place - map->places));
}

static struct comm_map *larger(const struct comm_map *old)
{
    uint64_t live = 0, size = 64;
    for (uint64_t i = 0; old && i <= old->mask; i++)
        live += old->places[i].comm != NULL;
    while (size < 4 * live)
        size *= 2; /* vacated places are not copied */
    struct comm_map *map = calloc(1, sizeof *map + size * sizeof map->places[0]);
    if (!map)
        return NULL;
    map->mask = size - 1;
    map->older = (struct comm_map *)(uintptr_t)old;
    for (uint64_t i = 0; old && i <= old->mask; i++)
        if (old->places[i].comm)
            comm_put(map, old->places[i].handle, old->places[i].comm);
    return map;
}

int comm_map_set(struct comm_map **where, uint64_t handle, struct comm *comm)
{
    struct comm_map *map = *where;
    if (!comm) { /* forgets the handle, which has a place or needs none */
        comm_map_remove(map, handle, NULL);
        return 0;
    }
    if (!map || 2 * (map->used + 1) > map->mask) {
        map = larger(map);
        if (!map)
            return -1;
        __atomic_store_n(where, map, __ATOMIC_RELEASE);
    }
    comm_put(map, handle, comm);
    return 0;
}
