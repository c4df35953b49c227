/*
 * Arrays that grow, and the order of their members. Each function that makes an array longer returns the array, which may
 * have moved, or NULL without memory. Then the array is as before.
 */
#ifndef MPIT_BASE_ARRAY_H
#define MPIT_BASE_ARRAY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Makes room for one more than `count` elements. Doubles the array at the powers of two. */
static inline void *array_grow(void *array, size_t count, size_t element)
{
    return count & (count - 1) ? array : reallocarray(array, count ? 2 * count : 1, element);
}

/* The same for an array that is emptied and filled again. There is room for *room elements. */
static inline void *array_reserve(void *array, size_t *room, size_t count, size_t element)
{
    if (count < *room)
        return array;
    size_t more = *room ? 2 * *room : 16;
    void *grown = reallocarray(array, more, element);
    if (grown)
        *room = more;
    return grown;
}

/* Makes the array longer, from `old` to `count` elements. The new ones are zero. */
static inline void *array_extend(void *array, size_t old, size_t count, size_t element)
{
    char *grown = reallocarray(array, count, element);
    if (grown)
        memset(grown + old * element, 0, (count - old) * element);
    return grown;
}

/* Stores where an array is now: `list` is the address of a pointer. */
static inline bool array_moved(void *list, void *moved)
{
    if (moved)
        memcpy(list, &moved, sizeof moved);
    return moved != NULL;
}

/* The same for an array that is kept in `list`: true if it is long enough now. */
#define ARRAY_GROWN(list, count) array_moved(&(list), array_grow((list), (count), sizeof *(list)))
#define ARRAY_RESERVED(list, room, count) array_moved(&(list), array_reserve((list), (room), (count), sizeof *(list)))
#define ARRAY_EXTENDED(list, old, count) array_moved(&(list), array_extend((list), (old), (count), sizeof *(list)))
#define ARRAY_RESIZED(list, count) array_moved(&(list), reallocarray((list), (count), sizeof *(list)))

/* For qsort and bsearch: -1, 0 or 1, the smaller number first. Swap them for the larger one first. ?: joins several keys. */
#define ORDER(a, b) (((a) > (b)) - ((a) < (b)))

static inline int double_order(const void *one, const void *other)
{
    return ORDER(*(const double *)one, *(const double *)other);
}

static inline int uint64_order(const void *one, const void *other)
{
    return ORDER(*(const uint64_t *)one, *(const uint64_t *)other);
}

/* The first index from `low` up to `high` for which the condition holds, or `high`. It holds for all indices after that
 * one, too. */
#define ARRAY_FIRST(index, low, high, condition)                                                                       \
    ({                                                                                                                 \
        size_t first_##index = (low), end_##index = (high);                                                            \
        while (first_##index < end_##index) {                                                                          \
            size_t index = first_##index + (end_##index - first_##index) / 2;                                          \
            if (condition)                                                                                             \
                end_##index = index;                                                                                   \
            else                                                                                                       \
                first_##index = index + 1;                                                                             \
        }                                                                                                              \
        first_##index;                                                                                                 \
    })

/* The index of the member for which `order` is 0, or where that member belongs. `order` compares the key with the member at
 * an index, as ORDER(key, member). The members are in that order. */
#define ARRAY_PLACE(index, count, order, found)                                                                        \
    ({                                                                                                                 \
        const size_t place_##index = ARRAY_FIRST(index, 0, (count), (order) <= 0);                                     \
        const size_t index = place_##index;                                                                            \
        *(found) = index < (count) && (order) == 0;                                                                    \
        index;                                                                                                         \
    })

/* Doubles `room`, which is `first` at the beginning, until it is `least` or more. */
static inline size_t array_room(size_t room, size_t first, size_t least)
{
    for (room = room ? room : first; room < least;)
        room *= 2;
    return room;
}

#endif
