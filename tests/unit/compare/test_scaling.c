/* Scaling of known times: speedup, factors, medians, and what limits. */
#include "unittest.h"

#include "compare/scaling.h"

#include <math.h>
#include <stdlib.h>

static void close_check(double is, double should)
{
    if (fabs(is - should) > 1e-9) {
        print_error("%.12f is not %.12f\n", is, should);
        fail();
    }
}

/* All ranks together compute 16 s, then 20 s, then 32 s. */
static struct scaling made(bool weak)
{
    struct scaling_run runs[] = {
        {8, 8, 4, 5, -1}, {2, 10, 8, 8, -1}, {4, 6.25, 5, 6, -1}}; /* ranks, T, mean, max, ideal */
    struct scaling scaling;
    assert_int_equal(scaling_make(&scaling, runs, 3, weak), 0);
    assert_int_equal(scaling.count, 3);
    return scaling;
}

TEST(rows_are_sorted_by_ranks)
{
    struct scaling scaling = made(false);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(scaling.rows[i].median.ranks, 2u << i);
    scaling_release(&scaling);
}

TEST(strong_scaling_compares_the_time_of_all_ranks)
{
    struct scaling scaling = made(false);
    const struct scaling_row *rows = scaling.rows;
    close_check(rows[0].speedup, 1);
    close_check(rows[1].speedup, 1.6);
    close_check(rows[2].speedup, 1.25);
    close_check(rows[0].factors[FACTOR_COMPUTATION], 1);
    close_check(rows[1].factors[FACTOR_COMPUTATION], 0.8);
    close_check(rows[2].factors[FACTOR_COMPUTATION], 0.5);
    close_check(rows[0].factors[FACTOR_PARALLEL], 0.8);
    close_check(rows[1].factors[FACTOR_BALANCE], 5.0 / 6);
    close_check(rows[1].factors[FACTOR_COMMUNICATION], 0.96);
    close_check(rows[2].factors[FACTOR_PARALLEL], 0.5);
    close_check(rows[2].factors[FACTOR_GLOBAL], 0.25);
    scaling_release(&scaling);
}

TEST(weak_scaling_compares_the_time_of_one_rank)
{
    struct scaling scaling = made(true);
    close_check(scaling.rows[2].speedup, 4 * 1.25);
    close_check(scaling.rows[1].factors[FACTOR_COMPUTATION], 1.6);
    close_check(scaling.rows[2].factors[FACTOR_COMPUTATION], 2);
    close_check(scaling.rows[2].factors[FACTOR_GLOBAL], 1);
    scaling_release(&scaling);
}

TEST(global_efficiency_falls_as_the_speedup_does)
{
    for (int weak = 0; weak < 2; weak++) {
        struct scaling scaling = made(weak);
        for (size_t i = 0; i < scaling.count; i++) {
            const struct scaling_row *row = &scaling.rows[i];
            double larger = row->median.ranks / 2.0;
            close_check(row->factors[FACTOR_GLOBAL] / scaling.rows[0].factors[FACTOR_GLOBAL], row->speedup / larger);
            close_check(row->factors[FACTOR_BALANCE] * row->factors[FACTOR_COMMUNICATION],
                        row->factors[FACTOR_PARALLEL]);
        }
        scaling_release(&scaling);
    }
}

TEST(equal_ranks_are_medians)
{
    struct scaling_run runs[] = {
        {2, 9, 1, 3, 5}, {4, 4, 2, 3, 3.5}, {2, 5, 3, 4, 5}, {4, 6, 3, 3.5, -1}, {2, 7, 2, 9, 6}};
    struct scaling scaling;
    assert_int_equal(scaling_make(&scaling, runs, 5, false), 0);
    EQUALS({scaling.count, 2}, {scaling.rows[0].runs, 3}, {scaling.rows[1].runs, 2});
    close_check(scaling.rows[0].median.seconds, 7);
    close_check(scaling.rows[0].median.mean, 2);
    close_check(scaling.rows[0].median.max, 4);
    close_check(scaling.rows[0].median.ideal, 5);
    close_check(scaling.rows[0].factors[FACTOR_SERIALIZATION], 0.8);
    close_check(scaling.rows[0].factors[FACTOR_TRANSFER], 5.0 / 7);
    close_check(scaling.rows[1].median.seconds, 5); /* between both */
    close_check(scaling.rows[1].median.mean, 2.5);
    assert_true(scaling.rows[1].factors[FACTOR_SERIALIZATION] < 0); /* one run lacks it */
    assert_true(scaling.rows[1].factors[FACTOR_TRANSFER] < 0);
    close_check(scaling.rows[1].speedup, 1.4);
    scaling_release(&scaling);
}

TEST(unknown_times_stay_unknown)
{
    struct scaling_run runs[] = {{1, 8, -1, -1, -1}, {2, 4, 3, 3, -1}};
    struct scaling scaling;
    assert_int_equal(scaling_make(&scaling, runs, 2, false), 0);
    close_check(scaling.rows[1].speedup, 2);
    assert_true(scaling.rows[0].factors[FACTOR_PARALLEL] < 0);
    assert_true(scaling.rows[1].factors[FACTOR_COMPUTATION] < 0);
    assert_true(scaling.rows[1].factors[FACTOR_GLOBAL] < 0);
    close_check(scaling.rows[1].factors[FACTOR_PARALLEL], 0.75);
    assert_true(scaling_growth(&scaling) < 0);
    assert_false(scaling_is_doubtful(&scaling));
    json_t *json = scaling_json(&scaling), *row = json_array_get(json_object_get(json, "rows"), 1);
    assert_true(json_is_null(json_object_get(row, "computation_scaling")));
    assert_true(json_is_null(json_object_get(json_object_get(row, "efficiency"), "serialization")));
    close_check(json_number_value(json_object_get(row, "speedup")), 2);
    close_check(json_number_value(json_object_get(row, "useful_seconds")), 6);
    json_decref(json);
    scaling_release(&scaling);
}

TEST(growth_tells_strong_from_weak)
{
    struct scaling scaling = made(false); /* four times the ranks compute twice as long: neither is sure */
    close_check(scaling_growth(&scaling), 2);
    assert_false(scaling_is_doubtful(&scaling));
    scaling_release(&scaling);
    struct scaling_run grown[] = {{2, 5, 4, 4, -1}, {8, 5, 4, 4, -1}}, equal[] = {{2, 8, 8, 8, -1}, {8, 2, 2, 2, -1}};
    for (int weak = 0; weak < 2; weak++) {
        assert_int_equal(scaling_make(&scaling, grown, 2, weak), 0);
        assert_int_equal(scaling_is_doubtful(&scaling), !weak);
        scaling_release(&scaling);
        assert_int_equal(scaling_make(&scaling, equal, 2, weak), 0);
        assert_int_equal(scaling_is_doubtful(&scaling), weak);
        scaling_release(&scaling);
    }
}

static void limit_check(struct scaling_run last, enum scaling_factor limit)
{
    struct scaling_run runs[] = {{1, 8, 8, 8, 8}, last};
    struct scaling scaling;
    assert_int_equal(scaling_make(&scaling, runs, 2, false), 0);
    assert_int_equal(scaling_limit(&scaling), limit);
    scaling_release(&scaling);
}

TEST(limit_is_the_factor_that_fell_most)
{
    limit_check((struct scaling_run){2, 4, 4, 4, 4}, FACTOR_GLOBAL); /* nothing fell */
    limit_check((struct scaling_run){2, 8, 8, 8, 8}, FACTOR_COMPUTATION);
    limit_check((struct scaling_run){2, 8, 4, 7, -1}, FACTOR_BALANCE);
    limit_check((struct scaling_run){2, 8, 4, 5, -1}, FACTOR_COMMUNICATION);
    limit_check((struct scaling_run){2, 8, 4, 5, 7}, FACTOR_SERIALIZATION);
    limit_check((struct scaling_run){2, 8, 4, 5, 5.5}, FACTOR_TRANSFER);
}
