#include "symbols/coderanges.h"

#include "base/array.h"
#include <stdlib.h>

enum { RANGES_MOST = 1 << 22 };

void code_ranges_add(struct code_ranges *ranges, uint64_t low, uint64_t high, uint64_t owner)
{
    if (ranges->count == RANGES_MOST)
        return;
    if (!ARRAY_GROWN(ranges->list, ranges->count))
        return;
    ranges->list[ranges->count++] = (struct code_range){.low = low, .high = high, .owner = owner};
}

/* A search goes backwards, so the preferred range comes last. */
static int range_order(const void *one, const void *other)
{
    const struct code_range *a = one, *b = other;
    return ORDER(a->low, b->low) ?: ORDER(b->high, a->high) ?: ORDER(b->owner, a->owner);
}

void code_ranges_sort(struct code_ranges *ranges)
{
    uint64_t reach = 0;
    if (ranges->count)
        qsort(ranges->list, ranges->count, sizeof *ranges->list, range_order);
    for (size_t i = 0; i < ranges->count; i++) {
        reach = ranges->list[i].high > reach ? ranges->list[i].high : reach;
        ranges->list[i].reach = reach;
    }
}

const struct code_range *code_ranges_find(const struct code_ranges *ranges, uint64_t address)
{
    size_t first = ARRAY_FIRST(i, 0, ranges->count, ranges->list[i].low > address);
    for (; first && ranges->list[first - 1].reach > address; first--)
        if (ranges->list[first - 1].high > address)
            return &ranges->list[first - 1];
    return NULL;
}
