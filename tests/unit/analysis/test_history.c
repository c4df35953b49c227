/* What threads did -> the roots of a wait. */
#include "unittest.h"

#include "analysis/history.h"

enum { THREADS = 3 };
static struct history histories[THREADS];
static struct root roots[8];
static size_t root_count;

static int end(void **state)
{
    (void)state;
    for (int i = 0; i < THREADS; i++)
        history_release(&histories[i]);
    root_count = 0;
    return 0;
}

static void add(uint32_t thread, uint64_t from, uint64_t to, enum stretch_kind kind, uint32_t what)
{
    assert_true(history_add(&histories[thread], (struct stretch){from, to, kind, what}, 0));
}

static void root_keep(void *data, const struct root *root)
{
    (void)data;
    assert_true(root_count < sizeof roots / sizeof *roots);
    roots[root_count++] = *root;
}

static void roots_find(uint32_t thread, uint64_t from, uint64_t to)
{
    const struct history *all[THREADS] = {&histories[0], &histories[1], &histories[2]};
    uint64_t sum = 0;
    root_count = 0;
    history_roots(all, thread, from, to, root_keep, NULL);
    for (size_t i = 0; i < root_count; i++)
        sum += roots[i].ns;
    assert_int_equal(sum, to - from);
}

static void root_check(size_t i, uint32_t thread, enum stretch_kind kind, uint32_t what, uint64_t ns)
{
    assert_true(i < root_count);
    assert_int_equal(roots[i].thread, thread);
    assert_int_equal(roots[i].kind, kind);
    assert_int_equal(roots[i].what, what);
    assert_int_equal(roots[i].ns, ns);
}

/* Thread 2 waits for 1, which has waited for 0. */
TEST(thread_that_waited_is_no_root)
{
    add(0, 0, 900, STRETCH_COMPUTES, 7);
    add(0, 900, 910, STRETCH_WORKS, 3);
    add(1, 0, 100, STRETCH_COMPUTES, 8);
    add(1, 100, 900, STRETCH_WAITS, 0);
    add(1, 900, 950, STRETCH_WORKS, 4);
    add(1, 950, 1000, STRETCH_COMPUTES, 9);
    roots_find(1, 200, 1000);
    assert_int_equal(root_count, 3);
    root_check(0, 1, STRETCH_COMPUTES, 9, 50);
    root_check(1, 1, STRETCH_WORKS, 4, 50);
    root_check(2, 0, STRETCH_COMPUTES, 7, 700);
    roots_find(1, 960, 1000);
    assert_int_equal(root_count, 1);
    root_check(0, 1, STRETCH_COMPUTES, 9, 40);
}

TEST(what_is_not_known_is_told_as_such)
{
    add(0, 500, 600, STRETCH_COMPUTES, 7);
    add(0, 650, 700, STRETCH_WORKS, 3);
    roots_find(0, 100, 800);
    assert_int_equal(root_count, 5);
    root_check(0, 0, STRETCH_COMPUTES, 0, 100);
    root_check(1, 0, STRETCH_WORKS, 3, 50);
    root_check(2, 0, STRETCH_COMPUTES, 0, 50);
    root_check(3, 0, STRETCH_COMPUTES, 7, 100);
    root_check(4, 0, STRETCH_COMPUTES, 0, 400);
    roots_find(2, 100, 800); /* it did nothing */
    assert_int_equal(root_count, 1);
    root_check(0, 2, STRETCH_COMPUTES, 0, 700);
}

/* Two threads that wait for each other cannot be in one trace. A damaged one may say so. */
TEST(circle_of_waits_ends)
{
    add(0, 0, 900, STRETCH_WAITS, 1);
    add(1, 0, 900, STRETCH_WAITS, 0);
    roots_find(0, 100, 900);
    assert_int_equal(root_count, 1);
}

TEST(old_stretches_go)
{
    for (uint64_t i = 0; i < 100000; i++)
        add(0, 10 * i, 10 * i + 10, STRETCH_WORKS, (uint32_t)i);
    assert_int_equal(histories[0].count, HISTORY_MOST);
    assert_null(history_before(&histories[0], 10));
    assert_int_equal(history_before(&histories[0], 999995)->what, 99999);
    for (uint64_t i = 0; i < 100; i++)
        assert_true(history_add(&histories[1], (struct stretch){10 * i, 10 * i + 10, STRETCH_WORKS, 1}, 10 * i));
    assert_int_equal(histories[1].count, 1); /* nobody needs the others */
    add(1, 2000, 2000, STRETCH_WORKS, 1);
    assert_int_equal(histories[1].count, 1); /* it is empty */
}

TESTS_EACH(NULL, end)
