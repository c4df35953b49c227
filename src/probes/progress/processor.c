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

static void processor_read(struct processor *processor, uint64_t now)
{
    struct timespec used;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    processor->looked = now;
    processor->had = clock_ticks(scale, (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec);
}

void processor_left(struct processor *processor, uint64_t now)
{
    processor_read(processor, now);
}

bool processor_entered(struct processor *processor, uint64_t end, uint64_t now)
{
    const struct processor before = *processor;
    processor_read(processor, now);
    uint64_t from = before.looked > end ? before.looked : end, between = from - before.looked;
    uint64_t took = now - from, had = processor->had - before.had;
    if (between < took / WORTH_TELLING) /* it hardly matters whether it had one there */
        had = had > between ? had - between : 0;
    processor->off = before.looked && took > had ? took - had : 0;
    return processor->off > took / WORTH_TELLING;
}
