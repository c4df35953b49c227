#include "unittest.h"

#include "figures/bucket.h"

TEST(empty_message_has_the_first_slot_alone)
{
    assert_int_equal(bucket_of(0), 0);
    assert_int_equal(bucket_limit(0), 0);
    assert_int_equal(bucket_of(1), 1);
    assert_int_equal(bucket_limit(1), 1);
}

TEST(slot_k_holds_from_a_power_of_two_to_below_the_next)
{
    for (unsigned k = 1; k < BUCKET_COUNT; k++) {
        uint64_t least = UINT64_C(1) << (k - 1), most = (UINT64_C(1) << k) - 1;
        EQUALS({bucket_of(least), k}, {bucket_of(most), k}, {bucket_of(least - 1), k - 1});
    }
}

TEST(last_slot_is_open)
{
    for (unsigned bit = BUCKET_COUNT - 2; bit < 63; bit++)
        assert_int_equal(bucket_of(UINT64_C(1) << bit), BUCKET_COUNT - 1);
    assert_int_equal(bucket_of(INT64_MAX), BUCKET_COUNT - 1);
    assert_true(bucket_limit(BUCKET_COUNT - 1) == UINT64_MAX);
}

TEST(limit_is_the_largest_size_of_its_slot)
{
    for (unsigned k = 0; k < BUCKET_COUNT - 1; k++) {
        assert_int_equal(bucket_of(bucket_limit(k)), k);
        assert_int_equal(bucket_of(bucket_limit(k) + 1), k + 1);
    }
}

TEST(every_size_lies_in_the_slot_that_a_search_finds)
{
    for (uint64_t bytes = 0; bytes < 100000; bytes++) {
        unsigned slot = 0;
        while (bucket_limit(slot) < bytes)
            slot++;
        if (bucket_of(bytes) != slot)
            fail_msg("%llu bytes: slot %u, not %u", (unsigned long long)bytes, bucket_of(bytes), slot);
    }
}
