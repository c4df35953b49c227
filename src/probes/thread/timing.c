#include "thread/timing.h"

void timing_begin(struct timing *timing, uint32_t number)
{
    *timing = (struct timing){.lot = 1, .random = (uint64_t)number * 2 + UINT64_C(0x9e3779b97f4a7c15)};
}

/* Returns a random number below n (xorshift), so that timed calls are not in step with the loops of the program. */
static uint64_t draw(struct timing *timing, uint64_t n)
{
    uint64_t x = timing->random;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    timing->random = x;
    return (uint64_t)(((unsigned __int128)x * n) >> 64);
}

uint64_t timing_next(struct timing *timing)
{
    uint64_t n = RELAXED_LOAD(&knob_sampling), drawn;
    if (timing->lot != n) {
        drawn = n ? draw(timing, n) : 0;
        timing->lot = n;
        timing->wait = n ? drawn + 1 : UINT64_MAX;
        timing->rest = n ? n - 1 - drawn : 0;
    }
    if (n == 1)
        return 1;
    if (n == 0 || --timing->wait)
        return 0;
    drawn = draw(timing, n);
    timing->wait = timing->rest + drawn + 1;
    timing->rest = n - 1 - drawn;
    return n;
}
