/*
 * A hash table from two numbers to an element of configurable size. Elements do not move until they are removed.
 */
#ifndef MPIT_TESTS_CHECK_MAP_H
#define MPIT_TESTS_CHECK_MAP_H

#include <stddef.h>
#include <stdint.h>

struct map_slot {
    uint64_t a, b;
    void *element; /* NULL: free */
};

struct map {
    struct map_slot *slots;
    size_t count, capacity, element_size;
    void *unused; /* removed elements: the first word of each points to the next */
};

/* Sums of the result distinguish multisets. */
uint64_t check_mix(uint64_t x);

void *map_find(const struct map *map, uint64_t a, uint64_t b);

/* Returns the element. A new one has zero bytes. Set `element_size` before. */
void *map_at(struct map *map, uint64_t a, uint64_t b);

void map_remove(struct map *map, uint64_t a, uint64_t b);

/* Allocates memory. Ends the check if there is none. */
void *check_allocate(size_t count, size_t size);
void *check_enlarge(void *array, size_t count, size_t size);

#define MAP_EACH(map, slot)                                                                                            \
    for (const struct map_slot *slot = (map)->slots; slot && slot < (map)->slots + (map)->capacity; slot++)            \
        if (slot->element)

#endif
