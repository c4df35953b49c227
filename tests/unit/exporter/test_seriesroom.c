/*
 * Room for series: its bound, and what one user leaves for others.
 */
#include "exporter/seriesroom.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { ANN = 1001, BEN, CAT };

static void one_user_has_all(void **state)
{
    (void)state;
    struct series_room room = {.most = 80};
    assert_true(series_room_take(&room, ANN, 80));
    assert_false(series_room_take(&room, ANN, 1));
    assert_false(series_room_take(&room, BEN, 3));
    assert_int_equal(room.used, 80);
    assert_int_equal(room.left_out, 4);
    series_room_free(&room);
}

static void shared_room_keeps_an_eighth(void **state)
{
    (void)state;
    struct series_room room = {.most = 80, .shared = true};
    assert_true(series_room_take(&room, ANN, 70));
    assert_false(series_room_take(&room, ANN, 1));
    assert_true(series_room_take(&room, BEN, 6));
    assert_false(series_room_take(&room, BEN, 5)); /* 11 are more than an eighth */
    assert_true(series_room_take(&room, CAT, 4));
    assert_false(series_room_take(&room, CAT, 1));
    assert_int_equal(room.used, 80);
    assert_int_equal(room.left_out, 7);
    series_room_free(&room);
}

static void series_that_exist_stay(void **state)
{
    (void)state;
    struct series_room room = {.most = 80, .shared = true};
    assert_int_equal(series_room_note(&room, ANN, 100), 0);
    assert_int_equal(room.left_out, 0);
    assert_false(series_room_take(&room, ANN, 1));
    assert_false(series_room_take(&room, BEN, 1));
    assert_int_equal(room.used, 100);
    series_room_free(&room);
}

static void no_room_for_anything(void **state)
{
    (void)state;
    struct series_room room = {.most = 0, .shared = true};
    assert_false(series_room_take(&room, ANN, 1));
    assert_true(series_room_take(&room, ANN, 0));
    series_room_free(&room);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_user_has_all),
        cmocka_unit_test(shared_room_keeps_an_eighth),
        cmocka_unit_test(series_that_exist_stay),
        cmocka_unit_test(no_room_for_anything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
