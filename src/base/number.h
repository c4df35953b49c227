/*
 * Whole numbers: a difference that stops at zero, and the smaller of two.
 */
#ifndef MPIT_BASE_NUMBER_H
#define MPIT_BASE_NUMBER_H

#include <stdint.h>

/* `from` - `part`, or 0 if that is more. */
static inline uint64_t less(uint64_t from, uint64_t part)
{
    return from > part ? from - part : 0;
}

static inline uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

#endif
