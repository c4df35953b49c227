/* What the options of mpit-dump that leave something out let pass. */
#include "unittest.h"

#include "job/select.h"

static char problem[SELECT_PROBLEM_BYTES];

TEST(everything_passes_unasked)
{
    struct selection selection = {0};
    assert_false(selection_is_given(&selection));
    assert_true(selection_has_rank(&selection, 0) && selection_has_rank(&selection, INT32_MAX));
    assert_true(selection_has_time(&selection, INT64_MIN, INT64_MIN));
    assert_true(selection_has_comm(&selection, NULL, NULL));
    assert_true(selection_has_function(&selection, 0) && selection_has_function(&selection, CALL_COUNT + 7));
}

TEST(ranks_are_a_list_of_ranges)
{
    static const char *const wrong[] = {"", ",", "1,", "a", "3-2", "1--2", "-1", "1 2", "99999999999"};
    struct selection selection = {0};
    assert_int_equal(selection_ranks(&selection, "1,4-6", problem), 0);
    assert_int_equal(selection_ranks(&selection, "9-", problem), 0);
    const bool expected[] = {false, true, false, false, true, true, true, false, false, true, true};
    for (int32_t r = 0; r < 11; r++)
        assert_int_equal(selection_has_rank(&selection, r), expected[r]);
    selection_release(&selection);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        if (selection_ranks(&selection, wrong[i], problem) == 0)
            fail_msg("'%s' was taken", wrong[i]);
        selection_release(&selection);
    }
}

TEST(window_takes_units)
{
    static const char *const wrong[] = {"", ":", "1", "2:1", "1:2:3", "x:2", "1:2h", "-1:2", "1e30:"};
    struct selection selection = {0};
    assert_int_equal(selection_window(&selection, "1.5:2500ms", problem), 0);
    EQUALS({selection.from_ns, 1500000000}, {selection.to_ns, 2500000000});
    assert_true(selection_has_time(&selection, 0, 1500000000));
    assert_false(selection_has_time(&selection, 0, 1499999999));
    assert_true(selection_has_time(&selection, 2500000000, 2600000000));
    assert_false(selection_has_time(&selection, 2500000001, 2600000000));
    assert_true(selection_has_time(&selection, 0, 9000000000));
    assert_int_equal(selection_window(&selection, ":7us", problem), 0);
    assert_true(selection_has_time(&selection, -5, -4) && !selection_has_time(&selection, 7001, 7002));
    assert_int_equal(selection_window(&selection, "3ns:", problem), 0);
    assert_true(selection_has_time(&selection, 0, 3) && !selection_has_time(&selection, 0, 2));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (selection_window(&selection, wrong[i], problem) == 0)
            fail_msg("'%s' was taken", wrong[i]);
}

TEST(comms_go_by_name_or_label)
{
    struct selection selection = {0};
    assert_int_equal(selection_comm(&selection, "MPI_COMM_WORLD/split*", problem), 0);
    assert_int_equal(selection_comm(&selection, "ocean", problem), 0);
    assert_true(selection_has_comm(&selection, "MPI_COMM_WORLD/split#1:0", ""));
    assert_true(selection_has_comm(&selection, "MPI_COMM_WORLD/dup#1", "ocean"));
    assert_false(selection_has_comm(&selection, "MPI_COMM_WORLD", ""));
    assert_false(selection_has_comm(&selection, NULL, NULL));
    assert_int_equal(selection_comm(&selection, "", problem), -1);
}

TEST(names_have_brackets_and_backslashes)
{
    static const char *const fit[][2] = {
        {"halo[0]", "halo[0]"},  {"a\\b", "a\\b"},  {"*", ""},         {"a*b*c", "abxbc"},
        {"*[?]", "x[\xc3\xa9]"}, {"?", "\xc3\xa9"}, {"*aab", "aaaab"}, {"h*", "h"}};
    static const char *const other[][2] = {{"halo[0]", "halo0"}, {"[a-z]", "b"}, {"a\\b", "ab"},
                                           {"\\*", "*"},         {"?", ""},      {"?", "ab"},
                                           {"a*b", "abc"},       {"", "a"}};
    for (size_t i = 0; i < sizeof fit / sizeof *fit; i++)
        if (!selection_name_fits(fit[i][0], fit[i][1]))
            fail_msg("'%s' has not taken '%s'", fit[i][0], fit[i][1]);
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        if (selection_name_fits(other[i][0], other[i][1]))
            fail_msg("'%s' has taken '%s'", other[i][0], other[i][1]);
}

TEST(functions_are_those_of_the_filter)
{
    struct selection selection = {0};
    assert_int_equal(selection_functions(&selection, "p2p,-MPI_Isend", problem), 0);
    assert_true(selection_has_function(&selection, CALL_MPI_Send));
    assert_false(selection_has_function(&selection, CALL_MPI_Isend));
    assert_false(selection_has_function(&selection, CALL_MPI_Init)); /* unlike what is recorded */
    assert_false(selection_has_function(&selection, CALL_NONE));
    assert_int_equal(selection_functions(&selection, "nothing", problem), -1);
}

/* Of ranges in any order, that may overlap; and as fast for as many ranks as there can be. */
TEST(chosen_ranks_are_counted)
{
    static const struct {
        const char *text;
        int32_t size, wanted;
    } cases[] = {{"0,2", 4, 2},         {"2,0,2,0-1", 4, 3},          {"3-", 4, 1},           {"7-9", 4, 0},
                 {"5,3-4,4-6,1", 6, 4}, {"0-", INT32_MAX, INT32_MAX}, {"0-9", INT32_MAX, 10}, {"1,3-3,2-5,9-", 12, 8}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        char problem[SELECT_PROBLEM_BYTES];
        struct selection selection = {0};
        int32_t wanted = 0;
        assert_int_equal(selection_ranks(&selection, cases[c].text, problem), 0);
        assert_int_equal(selection_ranks_below(&selection, cases[c].size), cases[c].wanted);
        for (int32_t rank = 0; rank < 12 && cases[c].size <= 12; rank++)
            wanted += rank < cases[c].size && selection_has_rank(&selection, rank);
        assert_true(cases[c].size > 12 || wanted == cases[c].wanted);
        selection_release(&selection);
    }
    struct selection all = {0};
    assert_int_equal(selection_ranks_below(&all, 7), 7);
}
