#include "unittest.h"

#include "variables/roster.h"

#include <stdio.h>

static struct roster roster;

TEST(indices_and_names_stay_when_it_grows)
{
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

TEST(a_name_and_key_enter_once)
{
    int count = roster_count(&roster);
    assert_int_equal(roster_add(&roster, "name0", 0, &roster), -1);
    assert_int_equal(roster_count(&roster), count);
    assert_int_equal(roster_add(&roster, "name0", 7, &roster), count);
}

TEST(what_is_not_there_is_not_found)
{
    assert_int_equal(roster_find(&roster, "", 0), -1);
    assert_int_equal(roster_find(&roster, "name", 0), -1);
    assert_null(roster_at(&roster, -1));
    assert_null(roster_at(&roster, roster_count(&roster)));
    assert_null(roster_at(&roster, INT32_MAX));
}

TEST(native_indices_are_kept_in_any_order)
{
    assert_int_equal(roster_native(&roster, 5000), -1);
    roster_native_set(&roster, 5000, 1);
    assert_int_equal(roster_native(&roster, 3), -1);
    roster_native_set(&roster, 3, 2);
    assert_int_equal(roster_native(&roster, 90000), -1);
    assert_int_equal(roster_native(&roster, 5000), 1);
    assert_int_equal(roster_native(&roster, 3), 2);
    assert_int_equal(roster_native(&roster, -1), -1);
}
