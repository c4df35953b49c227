/* The sentence about the last interval: it names the ranks that compute longest, and by how much. */
#include "top/topfinding.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { RANKS_MOST = 64 };

static char text[TOP_FINDING_BYTES];

/* The sentence for these useful times, in an interval of 1. */
static const char *finding(const double *useful, size_t count)
{
    struct efficiency_part parts[RANKS_MOST];
    int32_t ranks[RANKS_MOST];
    for (size_t i = 0; i < count; i++) {
        parts[i] = (struct efficiency_part){.run = 1, .useful = useful[i]};
        ranks[i] = (int32_t)i;
    }
    struct efficiency is = efficiency_of(parts, count, 1);
    finding_write(text, &is, parts, ranks, count);
    return text;
}
#define FINDING(...) finding((const double[]){__VA_ARGS__}, sizeof(double[]){__VA_ARGS__} / sizeof(double))

static void one_rank_that_computes_longer(void **state)
{
    (void)state;
    assert_string_equal(FINDING(.4, .4, 1, .4), "rank 2 computes 2.5 times as long as the others");
    assert_string_equal(FINDING(.8, 1), "rank 1 computes 25 % longer than the others");
    assert_string_equal(FINDING(0, 0, .9), "only rank 2 computes");
}

static void several_ranks_that_compute_longer(void **state)
{
    (void)state;
    assert_string_equal(FINDING(.2, .6, .6, .2), "ranks 1-2 compute 3.0 times as long as the others");
    assert_string_equal(FINDING(.9, .5, .9, .9), "ranks 0, 2-3 compute 1.8 times as long as the others");
}

static void small_differences_are_noise(void **state)
{
    (void)state;
    assert_string_equal(FINDING(.95, .97, .93, .96), "nothing stands out: the ranks compute for 95 % of the time");
    assert_string_equal(FINDING(.9), "nothing stands out: the ranks compute for 90 % of the time");
}

static void much_communication(void **state)
{
    (void)state;
    assert_string_equal(FINDING(.4, .42, .38), "the ranks are in MPI for 60 % of the time, and no rank stands out");
    assert_string_equal(FINDING(0, 0), "the ranks are in MPI for 100 % of the time, and no rank stands out");
}

static void unknown_says_nothing(void **state)
{
    struct efficiency_part part = {.run = 0};
    struct efficiency is = efficiency_of(&part, 1, 1);
    int32_t rank = 0;
    (void)state;
    strcpy(text, "old");
    finding_write(text, &is, &part, &rank, 1);
    assert_string_equal(text, "");
    assert_string_equal(finding(NULL, 0), "");
}

/* Many ranks do not fit into the sentence. Its end stays. */
static void many_ranks_fit(void **state)
{
    double useful[RANKS_MOST];
    (void)state;
    for (size_t i = 0; i < RANKS_MOST; i++)
        useful[i] = i % 2 ? 1 : .5;
    const char *said = finding(useful, RANKS_MOST);
    assert_non_null(strstr(said, "ranks 1, 3, 5"));
    assert_non_null(strstr(said, ", ... compute 2.0 times as long as the others"));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_rank_that_computes_longer), cmocka_unit_test(several_ranks_that_compute_longer),
        cmocka_unit_test(small_differences_are_noise),   cmocka_unit_test(much_communication),
        cmocka_unit_test(unknown_says_nothing),          cmocka_unit_test(many_ranks_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
