/* Calls of ranks -> the beat, the passes; times of passes -> the slow ones. */
#include "unittest.h"

#include "analysis/passes.h"
#include "cures/passfigures.h"

enum { RANKS = 3, MS = 1000000 };

static struct keytable beats;
static struct beat beat;

static int end(void **state)
{
    (void)state;
    beat_release(&beat);
    keytable_release(&beats, NULL);
    return 0;
}

static void count(uint32_t place, int32_t rank, uint64_t ns)
{
    assert_true(beat_count(&beats, beat_key(place, 1, -1), rank, ns));
}

/* Calls at regular times. */
static void loop(uint32_t place, int32_t rank, uint64_t calls, uint64_t begin, uint64_t step)
{
    for (uint64_t i = 0; i < calls; i++)
        count(place, rank, begin + i * step);
}

static void find(uint64_t ns, bool part, bool is_last)
{
    const struct beat_reading of = {.ranks = RANKS, .ns = ns, .part = part, .is_last = is_last};
    assert_int_equal(beat_find(&beat, &beats, &of), 0);
}

TEST(last_call_of_the_loop_is_the_beat)
{
    for (int32_t r = 0; r < RANKS; r++) {
        loop(1, r, 50, 100 * MS, 10 * MS);
        loop(2, r, 50, 108 * MS, 10 * MS);
        loop(3, r, 6, 110 * MS, 90 * MS); /* now and then */
    }
    find(600 * MS, false, false);
    assert_int_equal(beat.count, 50);
    for (int32_t r = 0; r < RANKS; r++)
        assert_int_equal(beat.keys[r], beat_key(2, 1, -1));
}

TEST(ranks_may_have_calls_of_their_own)
{
    for (int32_t r = 0; r < RANKS; r++)
        loop(10 + (uint32_t)r, r, 20, 0, 10 * MS);
    find(200 * MS, false, false);
    assert_int_equal(beat.count, 20);
    assert_int_equal(beat.keys[2], beat_key(12, 1, -1));
}

TEST(inner_loop_is_no_beat)
{
    for (int32_t r = 0; r < RANKS; r++) {
        for (uint64_t i = 0; i < 30; i++)
            loop(1, r, 8, i * 10 * MS, MS / 100);
        loop(2, r, 30, 5 * MS, 10 * MS);
    }
    find(300 * MS, false, false);
    assert_int_equal(beat.count, 30);
    assert_int_equal(beat.keys[0], beat_key(2, 1, -1));
}

/* 512 calls in each pass: one in 512 of the times between them is long, but another call has the passes. */
TEST(long_inner_loop_is_no_beat)
{
    for (int32_t r = 0; r < RANKS; r++) {
        for (uint64_t i = 0; i < 20; i++)
            loop(1, r, 512, i * 10 * MS, MS / 1000);
        loop(2, r, 20, 5 * MS, 10 * MS);
    }
    find(200 * MS, false, false);
    assert_int_equal(beat.count, 20);
}

/* A few slow passes take most of the time. */
TEST(slow_passes_are_passes)
{
    for (int32_t r = 0; r < RANKS; r++)
        for (uint64_t i = 0; i < 1000; i++)
            count(1, r, i * MS + i / 240 * 1000 * MS);
    find(5000 * (uint64_t)MS, false, false);
    assert_int_equal(beat.count, 1000);
}

TEST(no_loop)
{
    for (int32_t r = 0; r < RANKS; r++) {
        loop(1, r, 4, 0, 100 * MS);               /* too few */
        loop(2, r, 50, 0, MS / 1000);             /* too short */
        loop(3, r, 10 + (uint64_t)r, 0, 30 * MS); /* not equally often */
    }
    find(400 * MS, false, false);
    assert_int_equal(beat.count, 0);
}

/* A rank has one call more at the begin of the last part. */
TEST(part_of_a_run_ends_together)
{
    for (int32_t r = 0; r < RANKS; r++)
        loop(1, r, r == 1 ? 21 : 20, r == 1 ? 0 : 10 * MS, 10 * MS);
    find(210 * MS, true, true);
    assert_int_equal(beat.count, 20);
    assert_int_equal(beat.skipped[0], 0);
    assert_int_equal(beat.skipped[1], 1);
    beat_release(&beat);
    find(210 * MS, true, false);
    assert_int_equal(beat.skipped[1], 0);
}

/* Rank 1 computes 8 of 10 ms, rank 0 and 2 compute 4 ms. */
TEST(passes_have_what_ranks_did)
{
    for (int32_t r = 0; r < RANKS; r++)
        loop(1, r, 10, 0, 10 * MS);
    find(100 * MS, false, false);
    struct passes *passes = passes_open(&beat, RANKS);
    assert_non_null(passes);
    for (uint64_t i = 0; i < 10; i++)
        for (int32_t r = 0; r < RANKS; r++) {
            uint64_t useful = r == 1 ? 8 * MS : 4 * MS;
            passes_compute(passes, r, 7, useful);
            passes_call(passes, r, beat_key(9, 1, -1), &(struct pass_clock){.ns = 0}); /* another call */
            passes_call(passes, r, beat_key(1, 1, -1),
                        &(struct pass_clock){.ns = (i + 1) * 10 * MS + (uint64_t)r,
                                             .useful_ns = i * useful,
                                             .off_ns = i * MS,
                                             .stalled_ns = i * 2 * MS,
                                             .ideal_ns = (double)(i * 9 * MS)});
        }
    assert_int_equal(passes->window_count, 9);
    for (size_t w = 0; w < 9; w++) {
        assert_int_equal(passes->windows[w].computing_ns, 13 * MS);
        assert_int_equal(passes->windows[w].off_ns, 3 * MS);
        assert_int_equal(passes->windows[w].stalled_ns, 6 * MS);
        assert_int_equal(passes->windows[w].work_ns, 8 * MS);
        assert_int_equal(passes->windows[w].most_ns, 8 * MS);
        assert_int_equal(passes->longest[w].rank, 1);
        assert_int_equal(passes->longest[w].segment, 7);
        assert_int_equal(passes->ends[w + 1] - passes->ends[w], 10 * MS);
        assert_int_equal(passes->ideal_ns[w + 1] - passes->ideal_ns[w], 9 * MS);
    }
    passes_release(passes);
}

TEST(many_passes_share_windows)
{
    for (int32_t r = 0; r < RANKS; r++)
        loop(1, r, 1002, 0, MS);
    find(1002 * MS, false, false);
    struct passes *passes = passes_open(&beat, RANKS);
    size_t in[PASS_WINDOWS] = {0};
    assert_non_null(passes);
    assert_int_equal(passes->window_count, PASS_WINDOWS);
    for (uint64_t pass = 2; pass <= 1002; pass++)
        in[pass_window_of(passes, pass)]++;
    for (size_t w = 0; w < PASS_WINDOWS; w++)
        assert_in_range(in[w], 5, 6);
    passes_release(passes);
}

/* Times of passes in ms, the first one of pass 2. */
static struct slow_passes slow_of(const double *ms, size_t count)
{
    struct slow_passes slow;
    double ns[100], run = 0;
    for (size_t i = 0; i < count; i++)
        run += ns[i] = ms[i] * MS;
    assert_true(slow_passes_find(&slow, ns, count, run));
    return slow;
}

TEST(slow_passes_in_a_row)
{
    const double ms[] = {5, 5, 5, 5, 12, 13, 12, 5, 5, 5, 5, 5, 18, 5, 5};
    struct slow_passes slow = slow_of(ms, 15);
    assert_int_equal(slow.first, 6);
    assert_int_equal(slow.last, 8);
    assert_false(slow.drifts);
    assert_int_equal(slow.usual_ns, 5 * MS);
    assert_in_range(slow.ns, 12 * MS, 13 * MS);
    assert_int_equal(slow.rank, -1);
}

TEST(one_slow_pass_among_regular_ones)
{
    double ms[100];
    for (size_t i = 0; i < 100; i++)
        ms[i] = i % 10 == 9 ? 15 : 5;
    ms[49] = 30;
    struct slow_passes slow = slow_of(ms, 100);
    assert_int_equal(slow.first, 51);
    assert_int_equal(slow.last, 51);
}

TEST(passes_that_drift)
{
    double ms[100];
    for (size_t i = 0; i < 100; i++)
        ms[i] = 5 + (double)i / 10;
    struct slow_passes slow = slow_of(ms, 100);
    assert_true(slow.drifts);
    assert_int_equal(slow.last, 101);
    assert_in_range(slow.usual_ns, 6 * MS, 7 * MS);
    assert_in_range(slow.ns, 13 * MS, 14 * MS);
}

TEST(even_passes_are_not_slow)
{
    double ms[100];
    for (size_t i = 0; i < 100; i++)
        ms[i] = 5 + (double)(i * 7 % 10) / 10;
    assert_int_equal(slow_of(ms, 100).first, 0);
    ms[30] = 8; /* costs little */
    assert_int_equal(slow_of(ms, 100).first, 0);
    assert_int_equal(slow_of(ms, 0).first, 0);
}

TESTS_EACH(NULL, end)
