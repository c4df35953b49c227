/* Clocks of several nodes: who measures against whom, what a measurement says, what is kept, and the map made of it. */
#include "unittest.h"

#include "clock/clockmap.h"
#include "clock/clocksync.h"

#include <stdlib.h>
#include <string.h>

#define ONE (UINT64_C(1) << 32) /* a tick is a nanosecond */
#define EPOCH UINT64_C(1700000000000000000)

static unsigned rounds_by_doubling(uint32_t nodes)
{
    unsigned rounds = 0;
    for (uint64_t reached = 1; reached < nodes; reached *= 2)
        rounds++;
    return rounds;
}

TEST(every_node_is_measured_once_by_one_that_is_known)
{
    static unsigned char known[3000];
    for (uint32_t nodes = 1; nodes <= 2100; nodes += nodes < 70 ? 1 : 97) {
        assert_int_equal(clock_tree_rounds(nodes), rounds_by_doubling(nodes));
        memset(known, 0, sizeof known);
        known[0] = 1;
        for (unsigned round = 0; round < clock_tree_rounds(nodes); round++)
            for (uint32_t node = 0; node < nodes; node++) {
                uint32_t child = clock_tree_child(node, round, nodes);
                if (!child)
                    continue;
                assert_true(child < nodes && known[node] == 1 && !known[child]);
                assert_int_equal(clock_tree_parent(child), node);
                assert_int_equal(clock_tree_round(child), round);
                known[child] = 2; /* in this round it answers nobody */
                assert_int_equal(clock_tree_child(child, round, nodes), 0);
                known[child] = 1;
            }
        for (uint32_t node = 0; node < nodes; node++)
            assert_int_equal(known[node], 1);
    }
    assert_int_equal(clock_tree_rounds(UINT32_MAX), 32);
    assert_int_equal(clock_tree_child(1, 31, UINT32_MAX), (UINT32_C(1) << 31) + 1);
    assert_int_equal(clock_tree_child(UINT32_MAX - 1, 31, UINT32_MAX), 0);
}

/* The reference clock is `ahead`, the ways take so long; the truth lies within the error that is claimed. */
static struct clock_sync burst_of(int64_t ahead, double drift, const uint64_t (*ways)[2], size_t count)
{
    struct clock_burst burst;
    struct clock_sync sync = {0};
    uint64_t now = 5000000;
    clock_burst_begin(&burst, (struct clock_scale){ONE});
    for (size_t i = 0; i < count; i++) {
        struct clock_echo echo = {.sent_ticks = now};
        now += ways[i][0];
        echo.arrived_ns = EPOCH + now + (uint64_t)(ahead + (int64_t)((double)now * drift));
        now += 30;
        echo.left_ns = EPOCH + now + (uint64_t)(ahead + (int64_t)((double)now * drift));
        now += ways[i][1];
        echo.returned_ticks = now;
        now += 100;
        clock_burst_add(&burst, &echo);
    }
    assert_true(clock_burst_result(&burst, &sync));
    int64_t truth = (int64_t)(EPOCH + sync.ticks) + ahead + (int64_t)((double)sync.ticks * drift);
    assert_true((uint64_t)llabs((int64_t)sync.reference_ns - truth) <= sync.error_ns);
    return sync;
}

TEST(truth_lies_within_the_claimed_error)
{
    const uint64_t even[][2] = {{500, 500}}, one_sided[][2] = {{10, 90000}}, best[][2] = {{800, 90000}, {70000, 700}};
    assert_true(burst_of(3000000000, 0, even, 1).error_ns <= 501);
    assert_true(burst_of(-4000000000, 0, one_sided, 1).error_ns >= 44990);
    assert_true(burst_of(0, 0, best, 2).error_ns < 1000); /* each way's fastest: better than both echoes */
    srand(7);
    for (int i = 0; i < 2000; i++) {
        uint64_t ways[50][2];
        for (int k = 0; k < 50; k++)
            for (int side = 0; side < 2; side++)
                ways[k][side] = (uint64_t)(400 + rand() % 300 + (rand() % 4 ? 0 : rand() % 4000000));
        burst_of((int64_t)rand() * 7 - RAND_MAX, (rand() % 401 - 200) * 1e-6, (const uint64_t(*)[2])ways, 50);
    }
}

TEST(impossible_echoes_are_left_out)
{
    struct clock_burst burst;
    struct clock_sync sync;
    clock_burst_begin(&burst, (struct clock_scale){ONE});
    assert_false(clock_burst_result(&burst, &sync));
    struct clock_echo echo = {1000, 900, EPOCH, EPOCH, 0}; /* it returned before it was sent */
    assert_false(clock_burst_add(&burst, &echo));
    echo = (struct clock_echo){1000, 2000, EPOCH + 10, EPOCH, 0}; /* it left before it arrived */
    assert_false(clock_burst_add(&burst, &echo));
    assert_false(clock_burst_result(&burst, &sync));
}

TEST(two_measurements_are_kept)
{
    static struct clock_syncs syncs;
    struct clock_sync list[CLOCK_SYNCS_MOST];
    for (uint64_t i = 0; i < 3; i++) {
        assert_int_equal(clock_syncs_copy(&syncs, list), i);
        if (i)
            assert_int_equal(list[i - 1].ticks, i);
        clock_syncs_add(&syncs, (struct clock_sync){i + 1, i, 0});
    }
    assert_int_equal(clock_syncs_copy(&syncs, list), 2);
    assert_int_equal(list[1].ticks, 2);
    syncs.count = CLOCK_SYNCS_MOST + 1; /* a damaged file */
    assert_int_equal(clock_syncs_copy(&syncs, list), 0);
}

TEST(map_goes_through_what_was_measured_and_never_back)
{
    struct clock_map map;
    clock_map_open(&map, (struct clock_scale){ONE}, 1000, EPOCH);
    assert_int_equal(clock_map_ns(&map, 1500), EPOCH + 500); /* nothing was measured */
    assert_int_equal(clock_map_ns(&map, 400), EPOCH - 600);
    struct clock_sync list[] = {{2000000000, EPOCH + 9000200000, 200}, {1000000000, EPOCH + 8000100000, 100}};
    clock_map_set(&map, &list[1], 1);
    assert_int_equal(clock_map_ns(&map, 1000000000), EPOCH + 8000100000);
    assert_int_equal(clock_map_ns(&map, 3000000000), EPOCH + 10000100000); /* an offset, no drift */
    assert_int_equal(clock_map_ns(&map, 999999000), EPOCH + 8000099000);
    clock_map_set(&map, list, 2);
    EQUALS({map.count, 2}, {map.error_ns, 200});
    assert_true(map.drift > 99.9e-6 && map.drift < 100.1e-6);
    assert_int_equal(clock_map_ns(&map, 1500000000), EPOCH + 8500150000);
    assert_int_equal(clock_map_ns(&map, 3000000000), EPOCH + 10000300000); /* the drift goes on */
    assert_int_equal(clock_map_ns(&map, 0), EPOCH + 7000000000);
    assert_int_equal(clock_map_local_ns(&map, 3000000000), EPOCH + 2999999000);
    uint64_t before = 0;
    for (uint64_t ticks = 999999000; ticks < 1000001000; ticks++) {
        uint64_t ns = clock_map_ns(&map, ticks);
        assert_true(ns >= before);
        before = ns;
    }
}

TEST(impossible_measurements_are_left_out)
{
    struct clock_map map;
    clock_map_open(&map, (struct clock_scale){ONE}, 0, EPOCH);
    clock_map_set(&map, (struct clock_sync[]){{4000000, EPOCH + 4000000, 50}, {5000000, EPOCH + 50000000, 50}}, 2);
    assert_int_equal(map.measured, 1); /* no clock runs so fast */
    clock_map_set(&map, (struct clock_sync[]){{4000000, EPOCH + 4000000, 50}, {4500000, EPOCH + 100, 50}}, 2);
    assert_int_equal(map.measured, 1); /* nor backwards */
    assert_int_equal(map.knots[0].ticks, 4000000);
}

TEST(moved_knots_keep_their_order)
{
    struct clock_map map;
    double by[CLOCK_KNOTS_MOST] = {-300, 500};
    clock_map_open(&map, (struct clock_scale){ONE}, 0, EPOCH);
    struct clock_sync list[] = {{1000000, EPOCH, 50}, {2000000, EPOCH + 1000000, 50}};
    clock_map_set(&map, list, 2);
    clock_map_move(&map, by);
    assert_int_equal(clock_map_ns(&map, 1000000), EPOCH - 300);
    assert_int_equal(clock_map_ns(&map, 2000000), EPOCH + 1000500);
    assert_int_equal(map.moved_ns, 500);
    by[0] = 2000000; /* behind the second */
    clock_map_move(&map, by);
    assert_int_equal(clock_map_ns(&map, 1000000), EPOCH - 300);
}

/* Files may hold anything. */
TEST(anything_makes_a_map_that_does_not_go_back)
{
    static const uint64_t extremes[] = {
        0, 1, 1000, UINT64_C(1) << 60, EPOCH, UINT64_C(1) << 61, UINT64_MAX / 2, UINT64_MAX - 1, UINT64_MAX};
    enum { COUNT = sizeof extremes / sizeof *extremes };
    srand(3);
    for (int i = 0; i < 3000; i++) {
        struct clock_sync list[CLOCK_SYNCS_MOST];
        size_t count = (size_t)rand() % (CLOCK_SYNCS_MOST + 1);
        for (size_t k = 0; k < count; k++)
            for (int word = 0; word < 3; word++)
                (&list[k].ticks)[word] = extremes[rand() % COUNT] + (uint64_t)(rand() % 100000);
        struct clock_map map;
        uint64_t mults[] = {0, 1, ONE, ONE / 3, UINT64_MAX};
        clock_map_open(&map, (struct clock_scale){mults[rand() % 5]}, extremes[rand() % COUNT],
                       extremes[rand() % COUNT]);
        clock_map_set(&map, list, count);
        uint64_t before = 0;
        for (int k = 0; k < COUNT; k++) {
            uint64_t ns = clock_map_ns(&map, extremes[k]);
            assert_true(ns >= before && ns <= CLOCK_MAP_MOST_NS);
            before = ns;
        }
    }
}
