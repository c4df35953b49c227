/* Numbers and ranks as texts. */
#include "unittest.h"

#include "base/units.h"

#include <math.h>

TEST(a_figure_of_a_file_may_be_any)
{
    assert_int_equal(whole_of(0), 0);
    assert_int_equal(whole_of(4096.9), 4096);
    assert_int_equal(whole_of(0x1p62), INT64_C(1) << 62);
    assert_int_equal(whole_of(0x1p63), INT64_MAX);
    assert_int_equal(whole_of(HUGE_VAL), INT64_MAX);
    assert_int_equal(whole_of(-1), 0);
    assert_int_equal(whole_of(-HUGE_VAL), 0);
    assert_int_equal(whole_of(nan("")), 0);
}

TEST(a_process_may_have_no_rank_yet)
{
    char text[UNIT_TEXT_BYTES];
    assert_string_equal(text_of_rank(text, 0), "0");
    assert_string_equal(text_of_rank(text, INT32_MAX), "2147483647");
    assert_string_equal(text_of_rank(text, -1), "-");
}
