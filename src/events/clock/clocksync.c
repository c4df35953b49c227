#include "clock/clocksync.h"

#include <stdlib.h>
#include <string.h>

unsigned clock_tree_rounds(uint32_t nodes)
{
    unsigned rounds = 0;
    while (rounds < CLOCK_ROUNDS_MOST && (UINT64_C(1) << rounds) < nodes)
        rounds++;
    return rounds;
}

unsigned clock_tree_round(uint32_t node)
{
    return node ? 31u - (unsigned)__builtin_clz(node) : 0;
}

uint32_t clock_tree_parent(uint32_t node)
{
    return node ? node - (UINT32_C(1) << clock_tree_round(node)) : 0;
}

uint32_t clock_tree_child(uint32_t node, unsigned round, uint32_t nodes)
{
    uint64_t step = UINT64_C(1) << round, child = node + step;
    return node < step && child < nodes ? (uint32_t)child : 0;
}

void clock_burst_begin(struct clock_burst *burst, struct clock_scale scale)
{
    *burst = (struct clock_burst){.scale = scale};
}

/* Half of the range between the two bounds, plus the possible drift between them. */
static int64_t room_between(int64_t most, int64_t most_at, int64_t least, int64_t least_at)
{
    return llabs(most - least) / 2 + (int64_t)clock_drift_most((uint64_t)llabs(most_at - least_at));
}

bool clock_burst_add(struct clock_burst *burst, const struct clock_echo *echo)
{
    const uint64_t far = UINT64_C(1) << 60; /* values must fit into 64 bits, signed */
    if (!burst->count) {
        burst->base_ticks = echo->sent_ticks;
        burst->base_ns = echo->arrived_ns;
    }
    uint64_t sent = clock_ns(burst->scale, echo->sent_ticks - burst->base_ticks);
    uint64_t returned = clock_ns(burst->scale, echo->returned_ticks - burst->base_ticks);
    if (sent > far || returned > far || returned < sent || echo->left_ns < echo->arrived_ns ||
        echo->arrived_ns < burst->base_ns || echo->left_ns - burst->base_ns > far)
        return false;
    int64_t most = (int64_t)(echo->arrived_ns - burst->base_ns) - (int64_t)sent;
    int64_t least = (int64_t)(echo->left_ns - burst->base_ns) - (int64_t)returned;
    int64_t before = burst->room, width = most - least;
    bool first = !burst->count++;
    if (first || most < burst->most) {
        burst->most = most;
        burst->most_at = (int64_t)sent;
    }
    if (first || least > burst->least) {
        burst->least = least;
        burst->least_at = (int64_t)returned;
    }
    if (first || width < burst->fastest_most - burst->fastest_least) {
        burst->fastest_most = most;
        burst->fastest_least = least;
        burst->fastest_at = (int64_t)sent;
    }
    if (first || echo->error_ns > burst->error_ns)
        burst->error_ns = echo->error_ns;
    int64_t both = room_between(burst->most, burst->most_at, burst->least, burst->least_at);
    int64_t one = room_between(burst->fastest_most, 0, burst->fastest_least, 0);
    burst->room = both < one ? both : one;
    return first || burst->room < before - before / 16;
}

bool clock_burst_result(const struct clock_burst *burst, struct clock_sync *sync)
{
    if (!burst->count)
        return false;
    int64_t both = room_between(burst->most, burst->most_at, burst->least, burst->least_at);
    bool pair = both == burst->room;
    int64_t most = pair ? burst->most : burst->fastest_most, least = pair ? burst->least : burst->fastest_least;
    int64_t at = pair ? burst->most_at / 2 + burst->least_at / 2 : burst->fastest_at;
    int64_t ahead = least + (most - least) / 2;
    sync->ticks = burst->base_ticks + clock_ticks(burst->scale, (uint64_t)at);
    sync->reference_ns = burst->base_ns + (uint64_t)(at + ahead);
    sync->error_ns = burst->error_ns + (uint64_t)burst->room + 1; /* whole nanoseconds */
    return true;
}

void clock_syncs_add(struct clock_syncs *syncs, struct clock_sync sync)
{
    uint64_t count = syncs->count;
    if (count >= CLOCK_SYNCS_MOST)
        return;
    syncs->list[count] = sync;
    __atomic_store_n(&syncs->count, count + 1, __ATOMIC_RELEASE); /* partner: clock_syncs_copy */
}

size_t clock_syncs_copy(const struct clock_syncs *syncs, struct clock_sync list[CLOCK_SYNCS_MOST])
{
    uint64_t count = __atomic_load_n(&syncs->count, __ATOMIC_ACQUIRE);
    if (count > CLOCK_SYNCS_MOST)
        return 0;
    memcpy(list, syncs->list, count * sizeof *list);
    return count;
}
