#include "variables/roster.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static struct roster roster;

static void indices_and_names_stay_when_it_grows(void **state)
{
    (void)state;
    enum { MANY = 3000 }; /* several blocks, and more than one name a bucket */
    static char names[MANY][16];
    for (int i = 0; i < MANY; i++) {
        snprintf(names[i], sizeof names[i], "name%d", i);
        assert_int_equal(roster_add(&roster, names[i], i % 3, names[i]), i);
    }
    assert_int_equal(roster_count(&roster), MANY);
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(roster_find(&roster, names[i], i % 3), i);
        assert_int_equal(roster_find(&roster, names[i], i % 3 + 1), -1);
        assert_ptr_equal(roster_at(&roster, i), names[i]);
    }
}

static void a_name_and_key_enter_once(void **state)
{
    (void)state;
    int count = roster_count(&roster);
    assert_int_equal(roster_add(&roster, "name0", 0, &roster), -1);
    assert_int_equal(roster_count(&roster), count);
    assert_int_equal(roster_add(&roster, "name0", 7, &roster), count);
}

static void what_is_not_there_is_not_found(void **state)
{
    (void)state;
    assert_int_equal(roster_find(&roster, "", 0), -1);
    assert_int_equal(roster_find(&roster, "name", 0), -1);
    assert_null(roster_at(&roster, -1));
    assert_null(roster_at(&roster, roster_count(&roster)));
    assert_null(roster_at(&roster, INT32_MAX));
}

static void native_indices_are_kept_in_any_order(void **state)
{
    (void)state;
    assert_int_equal(roster_native(&roster, 5000), -1);
    roster_native_set(&roster, 5000, 1);
    assert_int_equal(roster_native(&roster, 3), -1);
    roster_native_set(&roster, 3, 2);
    assert_int_equal(roster_native(&roster, 90000), -1);
    assert_int_equal(roster_native(&roster, 5000), 1);
    assert_int_equal(roster_native(&roster, 3), 2);
    assert_int_equal(roster_native(&roster, -1), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(indices_and_names_stay_when_it_grows),
        cmocka_unit_test(a_name_and_key_enter_once),
        cmocka_unit_test(what_is_not_there_is_not_found),
        cmocka_unit_test(native_indices_are_kept_in_any_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
