/*
 * An order of ranks with fewer bytes between nodes. Each node keeps its number of ranks.
 *
 * From several starts (the present order, and nodes that grow around a rank), pairs of ranks change their places: the pair
 * that saves most first, also where it saves nothing, and then back to the best order on this way (Kernighan and Lin).
 */
#ifndef MPIT_TOOLS_RANKORDER_H
#define MPIT_TOOLS_RANKORDER_H

#include <stddef.h>
#include <stdint.h>

/* Bytes in both directions, of two different ranks. Each pair is there once. */
struct rank_pair {
    uint32_t one, other;
    uint64_t bytes;
};

/* In a larger job the present order is returned. */
enum { ORDER_RANKS_MOST = 8192, ORDER_PLACES_MOST = 1 << 24 };

/* Returns the bytes of pairs on different nodes. `hosts`: by rank. */
uint64_t rank_pairs_between(const struct rank_pair *pairs, size_t count, const uint32_t *hosts);

/* Fills in `better`: the node of each rank, below host_count. It is never worse than `hosts`. Returns 0, or -1 without memory. */
int rank_order_find(uint32_t *better, const uint32_t *hosts, uint32_t ranks, uint32_t host_count,
                    const struct rank_pair *pairs, size_t count);

#endif
