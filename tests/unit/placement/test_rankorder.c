/* Orders of ranks: against all orders of small jobs, and patterns whose best order is known. */
#include "unittest.h"

#include "placement/rankorder.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 1024, PAIRS_MOST = 4 * MOST };

static struct rank_pair pairs[PAIRS_MOST];
static size_t pair_count;
static uint32_t ranks, nodes, hosts[MOST], better[MOST];

static void pair_put(uint32_t one, uint32_t other, uint64_t bytes)
{
    pairs[pair_count++] = (struct rank_pair){one, other, bytes};
}

/* Returns the bytes between nodes in the order that is found. It has the present number of ranks on each node. */
static uint64_t ordered(void)
{
    uint32_t now[MOST] = {0}, then[MOST] = {0};
    assert_int_equal(rank_order_find(better, hosts, ranks, nodes, pairs, pair_count), 0);
    for (uint32_t r = 0; r < ranks; r++) {
        assert_true(better[r] < nodes);
        now[hosts[r]]++;
        then[better[r]]++;
    }
    assert_memory_equal(now, then, sizeof now);
    uint64_t bytes = rank_pairs_between(pairs, pair_count, better);
    assert_true(bytes <= rank_pairs_between(pairs, pair_count, hosts));
    return bytes;
}

/* ---- all orders -------------------------------------------------------------------------------------------------- */

static uint32_t tried[MOST], room[MOST];
static uint64_t least;

static void orders_try(uint32_t rank)
{
    if (rank == ranks) {
        uint64_t bytes = rank_pairs_between(pairs, pair_count, tried);
        least = bytes < least ? bytes : least;
        return;
    }
    for (uint32_t node = 0; node < nodes; node++) {
        if (!room[node])
            continue;
        room[node]--;
        tried[rank] = node;
        orders_try(rank + 1);
        room[node]++;
    }
}

static uint32_t below(uint32_t most)
{
    static uint64_t state = 7;
    state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (uint32_t)((state >> 33) % most);
}

static void graph_make(void)
{
    ranks = 4 + below(6);
    nodes = 2 + below(2);
    pair_count = 0;
    memset(room, 0, sizeof room);
    for (uint32_t r = 0; r < ranks; r++) {
        hosts[r] = r < nodes ? r : below(nodes);
        room[hosts[r]]++;
        for (uint32_t other = 0; other < r; other++)
            if (below(10) < 6)
                pair_put(other, r, 1 + below(1000));
    }
}

TEST(random_graphs_are_ordered_about_as_well_as_possible)
{
    enum { GRAPHS = 300 };
    unsigned best = 0;
    for (unsigned i = 0; i < GRAPHS; i++) {
        graph_make();
        least = UINT64_MAX;
        orders_try(0);
        uint64_t bytes = ordered();
        best += bytes == least;
        assert_true((double)bytes <= 1.05 * (double)least);
    }
    assert_true(best >= GRAPHS * 98 / 100);
}

/* ---- known ones -------------------------------------------------------------------------------------------------- */

TEST(partners_half_of_all_ranks_apart_come_together)
{
    ranks = 128;
    nodes = 8;
    pair_count = 0;
    for (uint32_t r = 0; r < ranks; r++)
        hosts[r] = r * nodes / ranks;
    for (uint32_t r = 0; r < ranks / 2; r++)
        pair_put(r, r + ranks / 2, 1000);
    assert_int_equal(ordered(), 0);
}

TEST(a_good_order_stays)
{
    ranks = 64;
    nodes = 8;
    pair_count = 0;
    for (uint32_t r = 0; r < ranks; r++)
        hosts[r] = r * nodes / ranks;
    for (uint32_t r = 0; r + 1 < ranks; r++)
        pair_put(r, r + 1, 1000);
    assert_int_equal(ordered(), 7000);
    assert_memory_equal(better, hosts, ranks * sizeof *hosts);
}

TEST(rings_of_nodes_with_different_room_are_found)
{
    static const uint32_t room_of[] = {7, 1, 12, 4};
    uint32_t first = 0;
    ranks = 24;
    nodes = 4;
    pair_count = 0;
    for (uint32_t node = 0, at = 0; node < nodes; first += room_of[node++])
        for (uint32_t i = 0; i < room_of[node]; i++, at++) {
            hosts[at * 7 % ranks] = node; /* 7 and 24 have no common factor */
            if (i + 1 < room_of[node])
                pair_put(first + i, first + i + 1, 10);
        }
    assert_int_equal(ordered(), 0);
}

/* A grid of 16 x 16 on 16 nodes: the best are squares, with 24 sides of 4. */
TEST(a_grid_comes_close_to_squares)
{
    enum { SIDE = 16 };
    ranks = SIDE * SIDE;
    nodes = SIDE;
    pair_count = 0;
    for (uint32_t y = 0; y < SIDE; y++)
        for (uint32_t x = 0; x < SIDE; x++) {
            hosts[y * SIDE + x] = y;
            if (x + 1 < SIDE)
                pair_put(y * SIDE + x, y * SIDE + x + 1, 100);
            if (y + 1 < SIDE)
                pair_put(y * SIDE + x, y * SIDE + x + SIDE, 100);
        }
    uint64_t bytes = ordered();
    assert_true(bytes >= 9600 && bytes <= 9600 * 5 / 4);
}

TEST(no_messages_and_too_many_ranks_leave_the_order)
{
    ranks = 3;
    nodes = 2;
    pair_count = 0;
    hosts[0] = hosts[2] = 1;
    hosts[1] = 0;
    assert_int_equal(ordered(), 0);
    assert_memory_equal(better, hosts, ranks * sizeof *hosts);
    uint32_t *many = calloc(2 * (ORDER_RANKS_MOST + 1), sizeof *many), *as = many + ORDER_RANKS_MOST + 1;
    assert_non_null(many);
    many[1] = 1;
    pair_put(0, 1, 10);
    assert_int_equal(rank_order_find(as, many, ORDER_RANKS_MOST + 1, 2, pairs, pair_count), 0);
    assert_memory_equal(as, many, (ORDER_RANKS_MOST + 1) * sizeof *many);
    free(many);
}
