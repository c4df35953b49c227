/* Efficiencies of known times, and processors that are shared. */
#include "unittest.h"

#include "summary/efficiency.h"
#include "summary/hostload.h"
#include "summary/summary.h"
#include "summary/summaryopenmp.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void close_check(double is, double should)
{
    if (fabs(is - should) > 1e-9) {
        print_error("%.12f is not %.12f\n", is, should);
        fail();
    }
}

TEST(factors_multiply_to_the_whole)
{
    const struct efficiency_part parts[] = {{10, 8, 0}, {10, 4, 0}, {9, 3, 1}, {10, 1, 1}};
    struct efficiency is = efficiency_of(parts, 4, 2);
    assert_true(is.known);
    close_check(is.parallel, 0.4);
    close_check(is.load_balance, 0.5);
    close_check(is.communication, 0.8);
    close_check(is.load_balance_in_node, 6.0 / 8);
    close_check(is.load_balance_between_nodes, 4.0 / 6);
    close_check(is.load_balance * is.communication, is.parallel);
    close_check(is.load_balance_in_node * is.load_balance_between_nodes, is.load_balance);
}

TEST(ideal_run_splits_communication)
{
    const struct efficiency_part parts[] = {{10, 4, 0}, {10, 2, 0}};
    struct efficiency is = efficiency_of(parts, 2, 1);
    assert_false(is.split);
    efficiency_split(&is, 8);
    assert_true(is.split);
    close_check(is.serialization, 0.5);
    close_check(is.transfer, 0.8);
    close_check(is.serialization * is.transfer, is.communication);
    is = efficiency_of(NULL, 0, 0);
    efficiency_split(&is, 8);
    assert_false(is.split);
}

TEST(threads_multiply_to_the_whole)
{
    const struct efficiency_part parts[] = {{10, 8, 0}, {10, 6, 0}};
    /* two processes with two threads: 28 s outside of MPI */
    const struct openmp_sums sums = {
        .useful = 14, .outside = 28, .serial = 7, .imbalance = 5, .overhead = 2, .threads = 4, .processes = 2};
    struct efficiency is = efficiency_of(parts, 2, 1);
    efficiency_thread(&is, &sums);
    assert_true(is.threaded);
    close_check(is.mpi, 0.7);
    close_check(is.openmp, 0.5);
    close_check(is.openmp_serial, 0.75);
    close_check(is.openmp_balance, 16.0 / 21);
    close_check(is.openmp_scheduling, 14.0 / 16);
    close_check(is.openmp_serial * is.openmp_balance * is.openmp_scheduling, is.openmp);
    close_check(is.parallel, 14.0 / 40); /* useful / (threads x run time) */
}

TEST(a_thread_alone_is_no_openmp)
{
    struct efficiency is = efficiency_of(&(struct efficiency_part){4, 2, 0}, 1, 1);
    efficiency_thread(&is, &(struct openmp_sums){.useful = 2, .outside = 2, .threads = 1, .processes = 1});
    assert_false(is.threaded);
    close_check(is.parallel, 0.5);
    close_check(is.mpi, 0.5);
    close_check(is.openmp, 1);
}

TEST(one_perfect_process_is_fully_efficient)
{
    struct efficiency is = efficiency_of(&(struct efficiency_part){3, 3, 0}, 1, 1);
    close_check(is.parallel, 1);
    close_check(is.load_balance, 1);
    close_check(is.communication, 1);
}

TEST(no_time_means_not_known)
{
    assert_false(efficiency_of(NULL, 0, 0).known);
    assert_false(efficiency_of(&(struct efficiency_part){0, 0, 0}, 1, 1).known);
}

TEST(no_useful_time_is_balanced_but_not_efficient)
{
    const struct efficiency_part parts[] = {{5, 0, 0}, {5, 0, 0}};
    struct efficiency is = efficiency_of(parts, 2, 1);
    close_check(is.load_balance, 1);
    close_check(is.parallel, 0);
    close_check(is.communication, 0);
}

static void add(struct summary *summary, int32_t rank, const char *host, uint64_t set, uint32_t processors)
{
    struct summary_row row = {.rank = rank,
                              .pid = (uint32_t)rank + 1,
                              .run_ns = 4000000000,
                              .useful_ns = 1000000000,
                              .threads = 1,
                              .processors = processors,
                              .processor_set = set};
    assert_int_equal(summary_row_add(summary, row, host), 0);
}

static struct summary timed_summary(void)
{
    struct summary summary = {.ranks = 2, .timed = 1, .run_seconds = {.sum = 8, .min = 4, .max = 4}};
    snprintf(summary.mpi, sizeof summary.mpi, "Open MPI");
    add(&summary, 0, "a", 1, 2);
    add(&summary, 1, "a", 1, 2);
    return summary;
}

/* Each of these counts calls as useful time that were MPI's. */
TEST(calls_that_were_not_recorded_make_it_unknown)
{
    struct summary summary = timed_summary();
    close_check(summary_efficiency(&summary).parallel, 0.25);
    summary.timed = 0;
    assert_false(summary_efficiency(&summary).known);
    summary.timed = 1;
    snprintf(summary.filter, sizeof summary.filter, "p2p");
    assert_false(summary_efficiency(&summary).known);
    summary.filter[0] = '\0';
    summary.off_seconds.max = 1;
    assert_false(summary_efficiency(&summary).known);
    summary.off_seconds.min = 1;
    summary.rows[0].off_ns = summary.rows[1].off_ns = 1000000000; /* of both ranks: shares of the other three seconds */
    close_check(summary_efficiency(&summary).parallel, 1.0 / 3);
    summary.off_seconds.max = summary.off_seconds.min = 0;
    for (size_t i = 0; i < summary.row_count; i++)
        summary.rows[i].threads = 0;
    assert_false(summary_efficiency(&summary).known);
    summary_release(&summary);
}

/* Runs of 10 s. Rank 0 slept 2 s and waited 6 s for a processor, rank 1 only waited, a helper of rank 2 waited as well, and of
 * rank 3 nothing is known. */
TEST(sleep_is_told_from_delay)
{
    struct summary summary = {.ranks = 0};
    static const uint64_t had[] = {2, 5, 5}, delay[] = {6, 5, 9};
    for (int32_t rank = 0; rank < 3; rank++) {
        add(&summary, rank, "crowded", 77, 1);
        struct summary_row *row = &summary.rows[rank];
        row->run_ns = 10000000000;
        row->usage = (struct run_usage){.user_ns = had[rank] * 1000000000,
                                        .run_delay_ns = delay[rank] * 1000000000,
                                        .known = USAGE_TIMES | USAGE_DELAY};
    }
    double *shares = row_asleep_shares(&summary, 4);
    close_check(shares[0], 0.2);
    close_check(shares[1], 0);
    close_check(shares[2], 0);
    close_check(shares[3], 1);
    free(shares);
    summary_release(&summary);
}

TEST(processors_are_counted_by_what_is_shared)
{
    struct summary summary = {.ranks = 0};
    for (int32_t rank = 0; rank < 4; rank++)
        add(&summary, rank, "crowded", 77, 2);
    for (int32_t rank = 4; rank < 8; rank++)
        add(&summary, rank, "bound", (uint64_t)rank, 1);
    for (int32_t rank = 8; rank < 12; rank++)
        add(&summary, rank, "halves", rank < 10 ? 5 : 9, 2);
    add(&summary, 12, "old", 0, 0);
    struct host_load *loads = host_loads_of(&summary);
    const struct host_load bound = loads[0], crowded = loads[1], halves = loads[2], old = loads[3];
    EQUALS({bound.ranks, 4}, {bound.processors, 4}, {bound.crowded_ranks, 0}, {crowded.processors, 2},
           {crowded.crowded_ranks, 4}, {crowded.crowded_processors, 2}, {halves.processors, 4},
           {halves.crowded_ranks, 0}, {old.ranks, 1}, {old.processors, 0});
    free(loads);
    summary_release(&summary);
}
