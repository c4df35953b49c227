/* Segments by pair of places and rank: numbers, sums, the order by cost. */
#define _GNU_SOURCE
#include "unittest.h"

#include "analysis/segments.h"

#include <stdlib.h>

static void visit(struct segments *segments, uint32_t number, int32_t rank, uint64_t ns)
{
    struct segment_sum *sum = segment_of_rank(segments, number, rank);
    assert_non_null(sum);
    sum->count++;
    sum->ns += ns;
}

TEST(the_longest_time_of_a_rank_comes_first)
{
    struct segments segments = {0};
    uint32_t small = segment_find(&segments, 7, 8), large = segment_find(&segments, 8, 7);
    assert_int_not_equal(small, large);
    assert_int_equal(segment_find(&segments, 7, 8), small);
    for (int32_t rank = 0; rank < 4; rank++) {
        visit(&segments, small, rank, 10);
        visit(&segments, large, rank, rank == 2 ? 394 : 44);
        visit(&segments, large, rank, 6);
    }
    segment_of_rank(&segments, large, 3)->critical_ns = 40;
    segment_of_rank(&segments, large, 2)->blamed_ns = 300;
    size_t count;
    struct segment_figures *list = segments_by_cost(&segments, &count);
    assert_int_equal(count, 2);
    const struct segment_figures *first = &list[0];
    assert_true(first->number == large && first->from == 8 && first->to == 7 && first->max_rank == 2);
    assert_true(first->min_ns == 50 && first->max_ns == 400 && first->sum_ns == 550);
    assert_true(first->count == 8 && first->ranks == 4 && first->critical_ns == 40 && first->blamed_ns == 300);
    assert_true(list[1].number == small && list[1].max_rank == 0 && list[1].min_ns == 10 && list[1].max_ns == 10);
    free(list);
    segments_release(&segments);
}

/* A part that is not selected has no visits, but may be on the critical path. */
TEST(segments_without_visits_are_left_out)
{
    struct segments segments = {0};
    uint32_t unseen = segment_find(&segments, 1, 2), seen = segment_find(&segments, 2, 1);
    segment_of_rank(&segments, unseen, 0)->critical_ns = 1000;
    segment_of_rank(&segments, seen, 0)->critical_ns = 5;
    visit(&segments, seen, 1, 3);
    size_t count;
    struct segment_figures *list = segments_by_cost(&segments, &count);
    assert_int_equal(count, 1);
    assert_true(list[0].number == seen && list[0].ranks == 1 && list[0].max_rank == 1 && list[0].min_ns == 3);
    assert_null(segment_of_rank(&segments, 0, 0));
    free(list);
    segments_release(&segments);
}
