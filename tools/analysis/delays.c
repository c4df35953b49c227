#include "analysis/delays.h"

#include "base/array.h"

#include <stdlib.h>

static uint64_t thread_key(int32_t rank, uint32_t thread)
{
    return (uint64_t)(uint32_t)rank << 32 | thread;
}

static struct delay_wait *wait_of(struct delays *delays, struct delay *delay, uint32_t target)
{
    if (!delay->number)
        delay->number = (uint32_t)delays->list.count;
    struct delay_wait *wait = keytable_make(&delays->waits, (uint64_t)delay->number << 32 | target, 0, sizeof *wait);
    if (wait && !wait->target) {
        wait->target = target;
        wait->next = delay->waits;
        delay->waits = wait;
    }
    return wait;
}

void delay_add(struct delays *delays, int32_t rank, uint32_t thread, const struct root *root, uint64_t first,
               uint64_t second)
{
    if (!delays->wanted || root->kind != STRETCH_COMPUTES)
        return;
    struct delay_target *target = keytable_make(&delays->targets, first, second, sizeof *target);
    if (target && !target->number)
        target->number = (uint32_t)delays->targets.count;
    struct delay *delay =
        target ? keytable_make(&delays->list, thread_key(rank, thread), root->from_ns, sizeof *delay) : NULL;
    struct delay_wait *wait = delay ? wait_of(delays, delay, target->number) : NULL;
    delays->no_memory |= !wait;
    if (!wait)
        return;
    uint64_t ns = root->to_ns - root->from_ns;
    delay->ns = ns > delay->ns ? ns : delay->ns;
    wait->ns += root->ns;
}

uint32_t delay_target_find(const struct delays *delays, uint64_t first, uint64_t second)
{
    const struct delay_target *target = keytable_find(&delays->targets, first, second);
    return target ? target->number : 0;
}

const struct delay *delay_at(struct keyed *const *sorted, size_t count, int32_t rank, uint32_t thread, uint64_t ns)
{
    uint64_t key = thread_key(rank, thread);
    size_t later = ARRAY_FIRST(i, 0, count, (ORDER(sorted[i]->key[0], key) ?: ORDER(sorted[i]->key[1], ns)) >= 0);
    const struct delay *before = later ? (const struct delay *)sorted[later - 1] : NULL;
    bool holds = before && before->keyed.key[0] == key && ns <= before->keyed.key[1] + before->ns;
    return holds ? before : NULL;
}

void delays_release(struct delays *delays)
{
    keytable_release(&delays->list, NULL);
    keytable_release(&delays->waits, NULL);
    keytable_release(&delays->targets, NULL);
}
