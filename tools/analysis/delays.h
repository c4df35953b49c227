/*
 * Delays: computation of a thread that other ranks waited for, with the causes of waits that it belongs to.
 *
 *   delay: rank, thread, begin ──> end
 *      └─> waits[]   target, ns       a target is a cause of waits, by a key of two numbers
 *
 * They are kept only if the run has samples. Then memory grows with the delays in the trace, and the causes of each.
 */
#ifndef MPIT_TOOLS_DELAYS_H
#define MPIT_TOOLS_DELAYS_H

#include "analysis/history.h"
#include "base/keytable.h"

struct delay_wait {
    struct keyed keyed; /* number of the delay << 32 | target, 0 */
    struct delay_wait *next;
    uint32_t target;
    uint64_t ns; /* of all ranks that waited */
};

struct delay {
    struct keyed keyed; /* rank << 32 | thread, begin */
    uint32_t number;
    uint64_t ns;
    struct delay_wait *waits;
};

struct delay_target {
    struct keyed keyed;
    uint32_t number; /* 1, 2, ... */
};

struct delays {
    struct keytable list, waits, targets;
    bool wanted, no_memory;
};

/* The second number of a key: a rank as a cause of waits in a function, or at a place (struct wait_place). */
static inline uint64_t delay_of_function(int32_t rank)
{
    return (uint32_t)rank;
}

static inline uint64_t delay_of_place(int32_t rank)
{
    return UINT64_C(1) << 32 | (uint32_t)rank;
}

/* Adds a root of a wait, in this thread. Roots that are no computation are left out. */
void delay_add(struct delays *delays, int32_t rank, uint32_t thread, const struct root *root, uint64_t first,
               uint64_t second);
/* Returns the number of a target, or 0 if it has no delays. */
uint32_t delay_target_find(const struct delays *delays, uint64_t first, uint64_t second);
/* Returns the delay of the thread that includes this time, or NULL. `sorted`: all of them (keytable_sorted). */
const struct delay *delay_at(struct keyed *const *sorted, size_t count, int32_t rank, uint32_t thread, uint64_t ns);
void delays_release(struct delays *delays);

#endif
