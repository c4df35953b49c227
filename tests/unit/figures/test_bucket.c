#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "figures/bucket.h"

static void empty_message_has_the_first_slot_alone(void **state)
{
    (void)state;
    assert_int_equal(bucket_of(0), 0);
    assert_int_equal(bucket_limit(0), 0);
    assert_int_equal(bucket_of(1), 1);
    assert_int_equal(bucket_limit(1), 1);
}

static void slot_k_holds_from_a_power_of_two_to_below_the_next(void **state)
{
    (void)state;
    for (unsigned k = 1; k < BUCKET_COUNT; k++) {
        uint64_t least = UINT64_C(1) << (k - 1), most = (UINT64_C(1) << k) - 1;
        assert_int_equal(bucket_of(least), k);
        assert_int_equal(bucket_of(most), k);
        assert_int_equal(bucket_of(least - 1), k - 1);
    }
}

static void last_slot_is_open(void **state)
{
    (void)state;
    for (unsigned bit = BUCKET_COUNT - 2; bit < 63; bit++)
        assert_int_equal(bucket_of(UINT64_C(1) << bit), BUCKET_COUNT - 1);
    assert_int_equal(bucket_of(INT64_MAX), BUCKET_COUNT - 1);
    assert_true(bucket_limit(BUCKET_COUNT - 1) == UINT64_MAX);
}

static void limit_is_the_largest_size_of_its_slot(void **state)
{
    (void)state;
    for (unsigned k = 0; k < BUCKET_COUNT - 1; k++) {
        assert_int_equal(bucket_of(bucket_limit(k)), k);
        assert_int_equal(bucket_of(bucket_limit(k) + 1), k + 1);
    }
}

static void every_size_lies_in_the_slot_that_a_search_finds(void **state)
{
    (void)state;
    for (uint64_t bytes = 0; bytes < 100000; bytes++) {
        unsigned slot = 0;
        while (bucket_limit(slot) < bytes)
            slot++;
        if (bucket_of(bytes) != slot)
            fail_msg("%llu bytes: slot %u, not %u", (unsigned long long)bytes, bucket_of(bytes), slot);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_message_has_the_first_slot_alone),
        cmocka_unit_test(slot_k_holds_from_a_power_of_two_to_below_the_next),
        cmocka_unit_test(last_slot_is_open),
        cmocka_unit_test(limit_is_the_largest_size_of_its_slot),
        cmocka_unit_test(every_size_lies_in_the_slot_that_a_search_finds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
