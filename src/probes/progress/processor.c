#include "progress/processor.h"

#include <stdbool.h>
#include <time.h>

enum { LONG_NS = 1000000, WORTH_TELLING = 50 }; /* a fiftieth of the computation */

uint64_t processor_long_ticks = UINT64_MAX;
static struct clock_scale scale;

void processor_open(struct clock_scale known)
{
    scale = known;
    processor_long_ticks = clock_ticks(scale, LONG_NS);
}

uint64_t processor_time(struct clock_scale known)
{
    struct timespec used;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return clock_ticks(known, (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec);
}

void processor_left(struct processor *processor, uint64_t now)
{
    processor->looked = now;
    processor->had = processor_time(scale);
}

bool processor_entered(struct processor *processor, uint64_t end, uint64_t now)
{
    const struct processor before = *processor;
    processor_left(processor, now);
    uint64_t from = before.looked > end ? before.looked : end, between = from - before.looked;
    uint64_t took = now - from, had = processor->had - before.had;
    if (between < took / WORTH_TELLING) /* it hardly matters whether it had one there */
        had = had > between ? had - between : 0;
    processor->off = before.looked && took > had ? took - had : 0;
    return processor->off > took / WORTH_TELLING;
}
