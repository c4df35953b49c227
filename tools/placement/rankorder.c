#include "placement/rankorder.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { STARTS_MOST = 64, START_RANKS = 32768, PASSES_MOST = 32, WAY_LEAST = 64 };

struct neighbour {
    uint32_t rank;
    uint64_t bytes;
};

struct rank_order {
    uint32_t ranks, hosts;
    const uint32_t *present; /* node of each rank */
    uint64_t *first;         /* of each rank's neighbours in */
    struct neighbour *neighbours;
    uint64_t *to;    /* by rank, then node: bytes that the rank exchanges with the node */
    uint64_t *with;  /* of the rank that moves, or the node that grows: bytes with each other rank */
    int64_t *pull;   /* of a rank: what its best node has more than its own */
    uint32_t *at;    /* node of each rank, as tried */
    uint32_t *moved; /* 1: in this pass */
    uint32_t *swaps; /* of this pass, two ranks each */
    bool compact;    /* nodes grow where they leave little behind, too */
    uint64_t random;
};

uint64_t rank_pairs_between(const struct rank_pair *pairs, size_t count, const uint32_t *hosts)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += hosts[pairs[i].one] != hosts[pairs[i].other] ? pairs[i].bytes : 0;
    return sum;
}

/* ---- what ranks exchange with nodes ------------------------------------------------------------------------------ */

static uint64_t *to_of(const struct rank_order *order, uint32_t rank)
{
    return &order->to[(size_t)rank * order->hosts];
}

static void pull_find(struct rank_order *order, uint32_t rank)
{
    const uint64_t *to = to_of(order, rank);
    uint64_t most = 0;
    for (uint32_t h = 0; h < order->hosts; h++)
        most = h != order->at[rank] && to[h] > most ? to[h] : most;
    order->pull[rank] = (int64_t)(most - to[order->at[rank]]);
}

static void order_try(struct rank_order *order)
{
    memset(order->to, 0, (size_t)order->ranks * order->hosts * sizeof *order->to);
    for (uint32_t r = 0; r < order->ranks; r++)
        for (size_t i = order->first[r]; i < order->first[r + 1]; i++)
            to_of(order, r)[order->at[order->neighbours[i].rank]] += order->neighbours[i].bytes;
    for (uint32_t r = 0; r < order->ranks; r++)
        pull_find(order, r);
}

static void rank_move(struct rank_order *order, uint32_t rank, uint32_t host)
{
    uint32_t before = order->at[rank];
    order->at[rank] = host;
    for (size_t i = order->first[rank]; i < order->first[rank + 1]; i++) {
        const struct neighbour *is = &order->neighbours[i];
        to_of(order, is->rank)[before] -= is->bytes;
        to_of(order, is->rank)[host] += is->bytes;
        pull_find(order, is->rank);
    }
    pull_find(order, rank);
}

static void ranks_swap(struct rank_order *order, uint32_t one, uint32_t other)
{
    uint32_t host = order->at[one];
    rank_move(order, one, order->at[other]);
    rank_move(order, other, host);
}

/* ---- passes ------------------------------------------------------------------------------------------------------ */

/* The rank that wants most to another node, of those that were not moved. */
static uint32_t rank_most_pulled(const struct rank_order *order)
{
    uint32_t most = order->ranks;
    for (uint32_t r = 0; r < order->ranks; r++)
        if (!order->moved[r] && (most == order->ranks || order->pull[r] > order->pull[most]))
            most = r;
    return most;
}

/* The rank on another node that saves most if it changes places with this one. */
static uint32_t partner_find(struct rank_order *order, uint32_t rank, int64_t *saves)
{
    uint32_t best = order->ranks, own = order->at[rank];
    const uint64_t *to = to_of(order, rank);
    for (size_t i = order->first[rank]; i < order->first[rank + 1]; i++)
        order->with[order->neighbours[i].rank] = order->neighbours[i].bytes;
    for (uint32_t r = 0; r < order->ranks; r++) {
        uint32_t host = order->at[r];
        if (order->moved[r] || host == own)
            continue;
        uint64_t more = to[host] + to_of(order, r)[own], less = to[own] + to_of(order, r)[host] + 2 * order->with[r];
        if (best == order->ranks || (int64_t)(more - less) > *saves) {
            best = r;
            *saves = (int64_t)(more - less);
        }
    }
    for (size_t i = order->first[rank]; i < order->first[rank + 1]; i++)
        order->with[order->neighbours[i].rank] = 0;
    return best;
}

/* Returns whether it found a better order. */
static bool pass_make(struct rank_order *order)
{
    int64_t saved = 0, most = 0, saves = 0;
    size_t count = 0, kept = 0;
    memset(order->moved, 0, order->ranks * sizeof *order->moved);
    for (uint32_t rank; (rank = rank_most_pulled(order)) < order->ranks;) {
        uint32_t partner = partner_find(order, rank, &saves);
        order->moved[rank] = 1;
        if (partner == order->ranks)
            continue;
        ranks_swap(order, rank, partner);
        order->moved[partner] = 1;
        order->swaps[2 * count] = rank;
        order->swaps[2 * count++ + 1] = partner;
        saved += saves;
        if (saved > most) {
            most = saved;
            kept = count;
        }
        if (count > kept + WAY_LEAST)
            break;
    }
    for (; count > kept; count--)
        ranks_swap(order, order->swaps[2 * count - 2], order->swaps[2 * count - 1]);
    return most > 0;
}

/* ---- starts ------------------------------------------------------------------------------------------------------ */

static uint32_t random_below(struct rank_order *order, uint32_t most)
{
    order->random = order->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((order->random >> 33) % most);
}

/* The rank without a node that belongs most to the node: what it exchanges with ranks there (`with`) counts twice, what it
 * exchanges with ranks without a node (`pull`, below 0) against it, in compact nodes. */
static uint32_t rank_most_attached(struct rank_order *order)
{
    uint32_t from = random_below(order, order->ranks), most = order->ranks;
    int64_t best = 0;
    for (uint32_t i = 0; i < order->ranks; i++) {
        uint32_t r = (from + i) % order->ranks;
        int64_t is = (int64_t)(2 * order->with[r]) + (order->compact ? order->pull[r] : 0);
        if (!order->moved[r] && (most == order->ranks || is > best)) {
            most = r;
            best = is;
        }
    }
    return most;
}

static void rank_attach(struct rank_order *order, uint32_t rank, uint32_t host)
{
    order->moved[rank] = 1;
    order->at[rank] = host;
    for (size_t i = order->first[rank]; i < order->first[rank + 1]; i++) {
        const struct neighbour *is = &order->neighbours[i];
        order->with[is->rank] += is->bytes;
        order->pull[is->rank] += (int64_t)is->bytes;
    }
}

/* Nodes grow around a rank, one after the other, each to its number of ranks. */
static void nodes_grow(struct rank_order *order, uint32_t first)
{
    memset(order->moved, 0, order->ranks * sizeof *order->moved);
    for (uint32_t r = 0; r < order->ranks; r++) {
        order->pull[r] = 0;
        for (size_t i = order->first[r]; i < order->first[r + 1]; i++)
            order->pull[r] -= (int64_t)order->neighbours[i].bytes;
    }
    for (uint32_t k = 0; k < order->hosts; k++) {
        uint32_t host = (first + k) % order->hosts;
        memset(order->with, 0, order->ranks * sizeof *order->with);
        for (uint32_t place = 0; place < order->ranks; place++)
            if (order->present[place] == host)
                rank_attach(order, rank_most_attached(order), host);
    }
    memset(order->with, 0, order->ranks * sizeof *order->with);
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

/* Returns 0, or -1 without memory. */
static int order_open(struct rank_order *order, const struct rank_pair *pairs, size_t count)
{
    size_t ranks = order->ranks;
    order->to = calloc(ranks * order->hosts + 3 * ranks + 2, sizeof *order->to);
    order->at = calloc(3 * ranks, sizeof *order->at);
    order->neighbours = calloc(2 * count, sizeof *order->neighbours);
    if (!order->to || !order->at || !order->neighbours)
        return -1;
    order->with = order->to + ranks * order->hosts;
    order->pull = (int64_t *)(order->with + ranks);
    order->first = order->with + 2 * ranks;
    order->moved = order->at + ranks;
    order->swaps = order->moved + ranks;
    for (size_t i = 0; i < count; i++) { /* first[r + 2]: how many r has */
        order->first[pairs[i].one + 2]++;
        order->first[pairs[i].other + 2]++;
    }
    for (size_t r = 2; r < ranks + 2; r++)
        order->first[r] += order->first[r - 1];
    for (size_t i = 0; i < count; i++) { /* first[r + 1]: where its next one goes */
        order->neighbours[order->first[pairs[i].one + 1]++] = (struct neighbour){pairs[i].other, pairs[i].bytes};
        order->neighbours[order->first[pairs[i].other + 1]++] = (struct neighbour){pairs[i].one, pairs[i].bytes};
    }
    return 0;
}

/* Keeps the order if it is the best so far. */
static void order_take(const struct rank_order *order, uint32_t *better, uint64_t *least, const struct rank_pair *pairs,
                       size_t count)
{
    uint64_t between = rank_pairs_between(pairs, count, order->at);
    if (between >= *least)
        return;
    *least = between;
    memcpy(better, order->at, order->ranks * sizeof *better);
}

int rank_order_find(uint32_t *better, const uint32_t *hosts, uint32_t ranks, uint32_t host_count,
                    const struct rank_pair *pairs, size_t count)
{
    struct rank_order order = {.ranks = ranks, .hosts = host_count, .present = hosts, .random = 1};
    uint64_t least = rank_pairs_between(pairs, count, hosts);
    double all = 0; /* counters of a damaged file may be any */
    for (size_t i = 0; i < count; i++)
        all += (double)pairs[i].bytes;
    memcpy(better, hosts, ranks * sizeof *better);
    if (!least || all > INT64_MAX / 8 || ranks > ORDER_RANKS_MOST || (uint64_t)ranks * host_count > ORDER_PLACES_MOST)
        return 0;
    int result = order_open(&order, pairs, count);
    uint32_t starts = 2 + START_RANKS / ranks;
    for (uint32_t start = 0; result == 0 && least && start < starts && start < STARTS_MOST; start++) {
        order.compact = start % 2;
        if (start)
            nodes_grow(&order, start % host_count);
        else
            memcpy(order.at, hosts, ranks * sizeof *hosts);
        order_try(&order);
        for (int pass = 0; pass < PASSES_MOST && pass_make(&order); pass++)
            ;
        order_take(&order, better, &least, pairs, count);
    }
    free(order.to);
    free(order.at);
    free(order.neighbours);
    return result;
}
