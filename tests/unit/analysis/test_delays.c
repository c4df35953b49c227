/* Computation that others waited for, found again by its time. */
#include "unittest.h"

#include "analysis/delays.h"

#include <stdlib.h>

static struct delays delays;

static void delay(int32_t rank, uint32_t thread, uint64_t from_ns, uint64_t ns, uint64_t target, uint64_t waited_ns)
{
    const struct root root = {
        .kind = ns ? STRETCH_COMPUTES : STRETCH_WORKS, .ns = waited_ns, .from_ns = from_ns, .to_ns = from_ns + ns};
    delay_add(&delays, rank, thread, &root, target, delay_of_function(rank));
}

static const struct delay *found(int32_t rank, uint32_t thread, uint64_t ns)
{
    struct keyed **sorted = keytable_sorted(&delays.list);
    const struct delay *delay = delay_at(sorted, delays.list.count, rank, thread, ns);
    free(sorted);
    return delay;
}

FIXTURE(setup)
{
    delays = (struct delays){.wanted = true};
}

FIXTURE(teardown)
{
    delays_release(&delays);
}

TESTS_EACH(setup, teardown)

TEST(a_delay_is_found_by_thread_and_time)
{
    delay(1, 0, 100, 50, 7, 10);
    delay(1, 0, 200, 50, 7, 10);
    delay(1, 1, 120, 10, 7, 10);
    delay(2, 0, 100, 900, 7, 10);
    assert_null(found(1, 0, 100)); /* the call before ends then */
    assert_int_equal(found(1, 0, 101)->keyed.key[1], 100);
    assert_int_equal(found(1, 0, 150)->keyed.key[1], 100);
    assert_null(found(1, 0, 151));
    assert_null(found(1, 0, 200));
    assert_int_equal(found(1, 0, 250)->keyed.key[1], 200);
    assert_null(found(1, 0, 251));
    assert_int_equal(found(1, 1, 125)->ns, 10);
    assert_null(found(1, 2, 125));
    assert_null(found(0, 0, 125));
    assert_int_equal(found(2, 0, 500)->ns, 900);
    assert_null(found(3, 0, 500));
}

TEST(waits_of_several_ranks_for_one_computation_are_one_delay)
{
    delay(1, 0, 100, 50, 7, 10);
    delay(1, 0, 100, 50, 7, 30);
    delay(1, 0, 100, 50, 8, 5);
    EQUALS({delays.list.count, 1}, {delays.targets.count, 2});
    uint64_t sums[3] = {0};
    for (const struct delay_wait *wait = found(1, 0, 120)->waits; wait; wait = wait->next)
        sums[wait->target] += wait->ns;
    assert_int_equal(sums[delay_target_find(&delays, 7, delay_of_function(1))], 40);
    assert_int_equal(sums[delay_target_find(&delays, 8, delay_of_function(1))], 5);
    assert_int_equal(delay_target_find(&delays, 8, delay_of_place(1)), 0);
}

TEST(nothing_is_kept_without_samples_or_computation)
{
    delay(1, 0, 0, 0, 7, 10);
    delays.wanted = false;
    delay(1, 0, 100, 50, 7, 10);
    assert_int_equal(delays.list.count, 0);
    assert_null(found(1, 0, 120));
}
