#include "check_map.h"

#include "check_report.h"

#include <stdlib.h>
#include <string.h>

enum { CAPACITY_FIRST = 64 };

void *check_allocate(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size);
    if (!memory)
        check_give_up("out of memory for the archive");
    return memory;
}

void *check_enlarge(void *array, size_t count, size_t size)
{
    void *memory = reallocarray(array, count, size);
    if (!memory)
        check_give_up("out of memory for the archive");
    return memory;
}

uint64_t check_mix(uint64_t x)
{
    x = (x ^ x >> 31) * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
    return x ^ x >> 32;
}

static size_t home(const struct map *map, uint64_t a, uint64_t b)
{
    return check_mix(a + check_mix(b + 1)) & (map->capacity - 1);
}

static struct map_slot *map_slot_find(const struct map *map, uint64_t a, uint64_t b)
{
    size_t i = home(map, a, b);
    while (map->slots[i].element && (map->slots[i].a != a || map->slots[i].b != b))
        i = (i + 1) & (map->capacity - 1);
    return &map->slots[i];
}

void *map_find(const struct map *map, uint64_t a, uint64_t b)
{
    return map->capacity ? map_slot_find(map, a, b)->element : NULL;
}

static void map_grow(struct map *map)
{
    struct map old = *map;
    map->capacity = old.capacity ? old.capacity * 2 : CAPACITY_FIRST;
    map->slots = check_allocate(map->capacity, sizeof *map->slots);
    MAP_EACH(&old, slot) * map_slot_find(map, slot->a, slot->b) = *slot;
    free(old.slots);
}

void *map_at(struct map *map, uint64_t a, uint64_t b)
{
    if (map->count * 2 >= map->capacity)
        map_grow(map);
    struct map_slot *slot = map_slot_find(map, a, b);
    if (slot->element)
        return slot->element;
    void *element = map->unused;
    if (element) {
        memcpy(&map->unused, element, sizeof map->unused);
        memset(element, 0, map->element_size);
    } else {
        element = check_allocate(1, map->element_size > sizeof(void *) ? map->element_size : sizeof(void *));
    }
    *slot = (struct map_slot){a, b, element};
    map->count++;
    return element;
}

/* An entry after the gap that a search would no longer find moves into the gap. */
void map_remove(struct map *map, uint64_t a, uint64_t b)
{
    if (!map_find(map, a, b))
        return;
    size_t mask = map->capacity - 1, gap = (size_t)(map_slot_find(map, a, b) - map->slots);
    memcpy(map->slots[gap].element, &map->unused, sizeof map->unused);
    map->unused = map->slots[gap].element;
    for (size_t i = (gap + 1) & mask; map->slots[i].element; i = (i + 1) & mask) {
        size_t wanted = home(map, map->slots[i].a, map->slots[i].b);
        if (((i - wanted) & mask) >= ((i - gap) & mask)) {
            map->slots[gap] = map->slots[i];
            gap = i;
        }
    }
    map->slots[gap].element = NULL;
    map->count--;
}
