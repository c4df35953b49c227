#include "analysis/placework.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct place_work *work_of(struct place_works *works, uint32_t place)
{
    if (place >= works->capacity) {
        size_t capacity = 2 * (size_t)place + 16;
        struct place_work **list = realloc(works->list, capacity * sizeof(struct place_work *));
        if (!list)
            return NULL;
        memset(list + works->capacity, 0, (capacity - works->capacity) * sizeof(struct place_work *));
        works->list = list;
        works->capacity = capacity;
    }
    if (!works->list[place])
        works->list[place] = calloc(1, sizeof *works->list[place]);
    return works->list[place];
}

/* Four steps a power of two. */
static size_t step_of(double ns)
{
    if (!(ns >= 1))
        return 0;
    if (ns >= (double)(1ull << (WORK_STEPS / 4)))
        return WORK_STEPS - 1;
    uint64_t value = (uint64_t)ns << 2;
    unsigned exponent = 63 - (unsigned)__builtin_clzll(value); /* 2 and more */
    return 4 * (size_t)(exponent - 2) + (size_t)(value >> (exponent - 2) & 3);
}

void place_work_add(struct place_works *works, uint32_t place, double ns, double own_ns)
{
    struct place_work *work = work_of(works, place);
    if (!work)
        return;
    work->counts[step_of(ns)]++;
    work->own[step_of(own_ns)]++;
}

double place_work_usual(const struct place_works *works, uint32_t place, bool own)
{
    uint64_t all = 0, so_far = 0;
    if (place >= works->capacity || !works->list[place])
        return 0;
    const uint32_t *counts = own ? works->list[place]->own : works->list[place]->counts;
    for (size_t i = 0; i < WORK_STEPS; i++)
        all += counts[i];
    for (size_t i = 0; all && i < WORK_STEPS; i++)
        if ((so_far += counts[i]) * 2 >= all)
            return ldexp(0.5 + ((double)(i % 4) + 0.5) / 8, (int)(i / 4) + 1);
    return 0;
}

void place_works_release(struct place_works *works)
{
    for (size_t i = 0; i < works->capacity; i++)
        free(works->list[i]);
    free(works->list);
    *works = (struct place_works){NULL, 0};
}
