/* The register of other libraries' instruments, without MPI and without a preload. */
#define _GNU_SOURCE
#include "unittest.h"

#include "effort.h"
#include "instruments/instrument.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static const struct mpit_interface table = {.update = instrument_update, .extreme = instrument_extreme};
static char error[INSTRUMENT_ERROR_BYTES];

#include <mpit/instrument.h>

#define VARIABLE(object, title, class, type, elements, bits)                                                           \
    static struct mpit_variable object =                                                                               \
        MPIT_VARIABLE_INITIAL(title, class, type, elements, MPIT_BIND_NONE, bits, NULL, "A variable.")

static void enter(struct mpit_variable *variable)
{
    instrument_interface_table = &table;
    assert_int_equal(instrument_variable_register(variable, "libtest.so", error), MPIT_OK);
}

static const struct instrument_instance *instance_of(const struct mpit_variable *variable)
{
    return ((struct instrument *)variable->entry)->instances;
}

static uint64_t value(const struct mpit_variable *variable, uint32_t class)
{
    return instrument_value(instance_of(variable), class, 0);
}

TEST(sum_is_that_of_all_threads)
{
    VARIABLE(v, "sum", MPIT_CLASS_COUNTER, MPIT_TYPE_UNSIGNED_LONG_LONG, 1, 0);
    enter(&v);
    mpit_add(&v, 3);
    assert_int_equal(v.cell->own, 3);
    v.cell->owner++; /* as if another thread had been the first */
    mpit_add(&v, 4);
    assert_int_equal(v.cell->shared, 4);
    assert_int_equal(value(&v, MPIT_CLASS_COUNTER), 7);
}

TEST(every_class_takes_its_types_only)
{
    static const unsigned types[] = {
        [MPIT_CLASS_STATE] = 0x02,      [MPIT_CLASS_LEVEL] = 0x3c,         [MPIT_CLASS_SIZE] = 0x3c,
        [MPIT_CLASS_PERCENTAGE] = 0x20, [MPIT_CLASS_HIGHWATERMARK] = 0x3c, [MPIT_CLASS_LOWWATERMARK] = 0x3c,
        [MPIT_CLASS_COUNTER] = 0x1c,    [MPIT_CLASS_AGGREGATE] = 0x3c,     [MPIT_CLASS_TIMER] = 0x3c,
        [MPIT_CLASS_GENERIC] = 0x3e};
    for (uint32_t class = MPIT_CLASS_STATE; class <= MPIT_CLASS_GENERIC; class ++)
        for (uint32_t type = 0; type <= MPIT_TYPE_CHAR + 1; type++) {
            char name[32];
            snprintf(name, sizeof name, "typed_%u_%u", class, type);
            struct mpit_variable v = MPIT_VARIABLE_INITIAL(name, class, type, 1, MPIT_BIND_NONE, 0, NULL, NULL);
            int result = instrument_variable_register(&v, "libtest.so", error);
            assert_int_equal(result, types[class] & 1u << type ? MPIT_OK : MPIT_ERR_TYPE);
            assert_true(result == MPIT_OK || strstr(error, "its type is not allowed"));
        }
}

TEST(window_has_the_extreme_since_it_was_opened)
{
    VARIABLE(v, "windows", MPIT_CLASS_LEVEL, MPIT_TYPE_UNSIGNED_LONG_LONG, 1, MPIT_WITH_WATERMARKS);
    static struct instrument_window first, second, low;
    enter(&v);
    struct instrument_instance *instance = (struct instrument_instance *)(uintptr_t)instance_of(&v);
    instrument_window_tie(&first, instance, true);
    instrument_window_open(&first);
    mpit_level_add(&v, 9);
    mpit_level_subtract(&v, 7);
    instrument_window_tie(&second, instance, true);
    instrument_window_open(&second);
    instrument_window_tie(&low, instance, false);
    instrument_window_open(&low);
    mpit_level_add(&v, 3);
    assert_int_equal(instrument_window_read(&first), 9);
    assert_int_equal(instrument_window_read(&second), 5);
    assert_int_equal(instrument_window_read(&low), 2);
    assert_int_equal(instrument_window_take(&first), 9);
    assert_int_equal(instrument_window_read(&first), 5);
    instrument_window_close(&second);
    mpit_level_add(&v, 100);
    assert_int_equal(instrument_window_read(&second), 5);
    assert_int_equal(value(&v, MPIT_CLASS_HIGHWATERMARK), 105);
    assert_int_equal(value(&v, MPIT_CLASS_LEVEL), 105);
}

/* Between the change of a level and that of its extremes anybody may look: a signal handler, another thread. */
TEST(window_is_never_behind_the_level)
{
    VARIABLE(v, "behind", MPIT_CLASS_LEVEL, MPIT_TYPE_UNSIGNED_LONG_LONG, 1, MPIT_WITH_WATERMARKS);
    static struct instrument_window high, low, closed;
    enter(&v);
    struct instrument_instance *instance = (struct instrument_instance *)(uintptr_t)instance_of(&v);
    mpit_level_add(&v, 5);
    instrument_window_tie(&high, instance, true);
    instrument_window_open(&high);
    instrument_window_tie(&low, instance, false);
    instrument_window_open(&low);
    instrument_window_tie(&closed, instance, true);
    instrument_window_open(&closed);
    instrument_window_close(&closed);
    instance->cells->own = 20;
    assert_int_equal(instrument_window_read(&high), 20);
    assert_int_equal(instrument_window_take(&high), 20);
    instance->cells->own = 2;
    assert_int_equal(instrument_window_read(&low), 2);
    assert_int_equal(instrument_window_read(&high), 20);
    instance->cells->own = 30;
    instrument_window_close(&high);
    instance->cells->own = 1;
    assert_int_equal(instrument_window_read(&high), 30);
    assert_int_equal(instrument_window_take(&low), 1);
    assert_int_equal(instrument_window_read(&closed), 5);
}

TEST(doubles_are_ordered_as_numbers)
{
    VARIABLE(v, "reals", MPIT_CLASS_LEVEL, MPIT_TYPE_DOUBLE, 1, MPIT_WITH_WATERMARKS);
    enter(&v);
    const double levels[] = {-1.0, -2.5, 3.0, 0.5};
    for (size_t i = 0; i < 4; i++)
        mpit_set_double(&v, levels[i]);
    assert_true(mpit_instrument_real(value(&v, MPIT_CLASS_HIGHWATERMARK)) == 3.0);
    assert_true(mpit_instrument_real(value(&v, MPIT_CLASS_LOWWATERMARK)) == -2.5);
    mpit_level_add(&v, 2);
    assert_true(mpit_instrument_real(value(&v, MPIT_CLASS_LEVEL)) == 2.5);
}

TEST(removed_one_comes_back_with_its_meaning_only)
{
    VARIABLE(v, "removed", MPIT_CLASS_SIZE, MPIT_TYPE_UNSIGNED, 1, 0);
    VARIABLE(other, "removed", MPIT_CLASS_SIZE, MPIT_TYPE_DOUBLE, 1, 0);
    enter(&v);
    struct instrument *entry = v.entry;
    assert_int_equal(instrument_variable_register(&other, "libother.so", error), MPIT_ERR_DUPLICATE);
    assert_int_equal(instrument_remove(entry, &other, error), MPIT_ERR_ARGUMENT);
    assert_int_equal(instrument_remove(entry, &v, error), MPIT_OK);
    assert_int_equal(instrument_remove(entry, &v, error), MPIT_ERR_ARGUMENT);
    assert_false(instrument_is_active(entry));
    assert_int_equal(instrument_variable_register(&other, "libother.so", error), MPIT_ERR_DUPLICATE);
    assert_non_null(strstr(error, "another definition"));
    v.entry = NULL;
    enter(&v);
    assert_ptr_equal(v.entry, entry);
    assert_true(instrument_is_active(entry));
}

/* A handle's sum begins at 0, whatever was added before. */
TEST(sums_of_handles_know_nothing_of_before)
{
    VARIABLE(v, "precise", MPIT_CLASS_AGGREGATE, MPIT_TYPE_DOUBLE, 2, 0);
    static uint64_t pairs[2][2] PAIR_ALIGNED;
    static struct instrument_sums sums = {.pairs = pairs};
    enter(&v);
    mpit_add_double(&v, 1e14);
    instrument_sums_tie(&sums, (struct instrument_instance *)(uintptr_t)instance_of(&v));
    mpit_add_double(&v, 0.25); /* it does not run yet */
    pairs[0][1] = 1;
    for (int i = 0; i < 3; i++)
        mpit_add_double(&v, 0.001);
    assert_true(mpit_instrument_real(pairs[0][0]) == 0.001 + 0.001 + 0.001);
    assert_int_equal(pairs[1][0], 0);
    assert_true(mpit_instrument_real(value(&v, MPIT_CLASS_AGGREGATE)) > 1e14);
}

TEST(values_that_no_class_allows_are_not_shown)
{
    static const struct mpit_item items[] = {{3, "red"}, {5, "blue"}};
    static struct mpit_enumeration colours = {NULL, "colours", "", items, 2};
    VARIABLE(share, "share", MPIT_CLASS_PERCENTAGE, MPIT_TYPE_DOUBLE, 1, 0);
    VARIABLE(level, "low_level", MPIT_CLASS_LEVEL, MPIT_TYPE_UNSIGNED_LONG_LONG, 1, MPIT_WITH_WATERMARKS);
    static struct mpit_variable colour =
        MPIT_VARIABLE_INITIAL("colour", MPIT_CLASS_STATE, MPIT_TYPE_INT, 1, MPIT_BIND_NONE, 0, &colours, "A variable.");
    static struct instrument_window high;
    enter(&share);
    enter(&level);
    enter(&colour);
    const double given[] = {0.25, 5, -1, 0.5, 0.0 / 0.0}, shown[] = {0.25, 1, 0, 0.5, 0.5};
    for (size_t i = 0; i < 5; i++) {
        mpit_set_double(&share, given[i]);
        assert_true(mpit_instrument_real(value(&share, MPIT_CLASS_PERCENTAGE)) == shown[i]);
    }
    assert_int_equal(value(&colour, MPIT_CLASS_STATE), 3);
    mpit_set_int(&colour, 5);
    mpit_set_int(&colour, 77);
    assert_int_equal(value(&colour, MPIT_CLASS_STATE), 5);
    instrument_window_tie(&high, (struct instrument_instance *)(uintptr_t)instance_of(&level), true);
    instrument_window_open(&high);
    mpit_level_subtract(&level, 2);
    assert_int_equal(value(&level, MPIT_CLASS_LEVEL), 0);
    assert_int_equal(instrument_window_read(&high), 0);
    mpit_level_add(&level, 4); /* the balance is right */
    assert_int_equal(value(&level, MPIT_CLASS_LEVEL), 2);
    assert_int_equal(instrument_window_read(&high), 2);
    assert_int_equal(value(&level, MPIT_CLASS_LOWWATERMARK), 0);
}

enum { THREADS = 4, ADDS = EFFORT(100000, 500) };

static void *adder(void *variables)
{
    struct mpit_variable **v = variables;
    for (int i = 0; i < ADDS; i++) {
        mpit_add(v[0], 1);
        mpit_add_double(v[1], 0.5);
        mpit_level_add(v[2], 1);
        mpit_level_subtract(v[2], 1);
    }
    return NULL;
}

TEST(threads_lose_nothing)
{
    VARIABLE(a, "threads_a", MPIT_CLASS_COUNTER, MPIT_TYPE_UNSIGNED_LONG_LONG, 1, 0);
    VARIABLE(b, "threads_b", MPIT_CLASS_AGGREGATE, MPIT_TYPE_DOUBLE, 1, 0);
    VARIABLE(c, "threads_c", MPIT_CLASS_LEVEL, MPIT_TYPE_UNSIGNED_LONG, 1, MPIT_WITH_WATERMARKS);
    static struct mpit_variable *all[] = {&a, &b, &c};
    static struct instrument_window window;
    pthread_t threads[THREADS];
    for (int i = 0; i < 3; i++)
        enter(all[i]);
    instrument_window_tie(&window, (struct instrument_instance *)(uintptr_t)instance_of(&c), true);
    instrument_window_open(&window);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, adder, all), 0);
    for (int i = 0; i < 1000; i++) {
        uint64_t most = instrument_window_take(&window);
        assert_true(most <= THREADS);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(value(&a, MPIT_CLASS_COUNTER), THREADS * ADDS);
    assert_true(mpit_instrument_real(value(&b, MPIT_CLASS_AGGREGATE)) == THREADS * ADDS * 0.5);
    assert_int_equal(value(&c, MPIT_CLASS_LEVEL), 0);
}
