/* Who asks for a service: it is told of the first and of the last, and of what holds when many ask at once. */
#include "unittest.h"

#include "settings/demand.h"

#include <pthread.h>

enum { THREADS = 4, ROUNDS = 20000 };

static int told, last;
static bool applied;

static void changed(bool wanted)
{
    __atomic_add_fetch(&told, 1, __ATOMIC_SEQ_CST);
    __atomic_store_n(&last, wanted, __ATOMIC_SEQ_CST);
    __atomic_store_n(&applied, wanted, __ATOMIC_SEQ_CST);
}

FIXTURE(setup)
{
    for (int i = 0; i < DEMANDS; i++)
        demand_changed[i] = NULL;
    told = 0;
    last = -1;
    applied = false;
}

TESTS_EACH(setup, NULL)

TEST(the_first_and_the_last_are_told)
{
    demand_serve(DEMAND_OS, changed);
    assert_int_equal(told, 0);
    assert_false(demand_now(DEMAND_OS));
    demand_change(DEMAND_OS, 1);
    EQUALS({told, 1}, {last, 1});
    demand_change(DEMAND_OS, 1);
    assert_int_equal(told, 1);
    demand_change(DEMAND_OS, -1);
    assert_int_equal(told, 1);
    assert_true(demand_now(DEMAND_OS));
    assert_false(demand_now(DEMAND_COUNTERS));
    demand_change(DEMAND_OS, -1);
    EQUALS({told, 2}, {last, 0});
    assert_false(demand_now(DEMAND_OS));
}

TEST(none_is_nobody)
{
    demand_changed[DEMAND_NONE] = changed;
    demand_change(DEMAND_NONE, 1);
    assert_int_equal(told, 0);
    assert_false(demand_now(DEMAND_NONE));
}

TEST(who_serves_late_is_told)
{
    demand_change(DEMAND_COUNTERS, 1);
    demand_serve(DEMAND_COUNTERS, changed);
    EQUALS({told, 1}, {last, 1});
    demand_change(DEMAND_COUNTERS, -1);
    assert_int_equal(last, 0);
}

static void *asks(void *nothing)
{
    for (int i = 0; i < ROUNDS; i++) {
        demand_change(DEMAND_FABRIC, 1);
        demand_change(DEMAND_FABRIC, -1);
    }
    return nothing;
}

/* Whatever the order, what was told last is what holds when all are through. */
TEST(what_is_told_last_holds)
{
    pthread_t threads[THREADS];
    demand_serve(DEMAND_FABRIC, changed);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < THREADS; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, asks, NULL), 0);
        if (round)
            demand_change(DEMAND_FABRIC, 1);
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
        assert_int_equal(applied, round);
        assert_int_equal(demand_now(DEMAND_FABRIC), round);
    }
    demand_change(DEMAND_FABRIC, -1);
    assert_false(applied);
}
