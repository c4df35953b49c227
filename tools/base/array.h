/*
 * Arrays to which single elements are added.
 */
#ifndef MPIT_TOOLS_ARRAY_H
#define MPIT_TOOLS_ARRAY_H

#include <stdlib.h>

/* Makes room for one more than `count` elements. Doubles the array at the powers of two. Returns NULL without memory. */
static inline void *array_grow(void *array, size_t count, size_t element)
{
    return count & (count - 1) ? array : reallocarray(array, count ? 2 * count : 1, element);
}

#endif
