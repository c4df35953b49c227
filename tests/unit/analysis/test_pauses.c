/* Run files made by hand, of a job whose recording was off for a while -> analysis_open. */
#define _GNU_SOURCE
#include "analysisfixture.h"

static void turn(int rank, uint64_t at, bool on)
{
    PUT_IN(0, rank, at, 0, EVENT_SWITCHED, .peer = on);
    job.ranks[rank].run.header->off_count += !on;
}

static uint64_t waited_all(void)
{
    uint64_t ns = 0;
    for (size_t i = 0; i < analysis.waits.capacity; i++)
        for (struct keyed *keyed = analysis.waits.buckets[i]; keyed; keyed = keyed->next)
            ns += ((struct analysis_sum *)keyed)->amount;
    return ns;
}

static uint64_t computing(int rank)
{
    for (size_t i = 0; i < analysis.path_count; i++)
        if (analysis.path[i].key == path_key(rank, CALL_NONE))
            return analysis.path[i].ns;
    return 0;
}

static void left_out(uint64_t sent, uint64_t received, uint64_t visits)
{
    for (int i = 0; i < UNMATCHED_REASONS; i++)
        assert_int_equal(analysis.unmatched[i], i == UNMATCHED_SEND_OFF   ? sent
                                                : i == UNMATCHED_RECV_OFF ? received
                                                                          : 0);
    assert_int_equal(analysis.hidden_visits, visits);
}

TEST(stretches_are_matched_by_themselves)
{
    ranks_make(2);
    for (int stretch = 0; stretch < 3; stretch++) {
        uint64_t at = 2000 + 10000 * (uint64_t)stretch;
        PUT(0, at, 1000, CALL_MPI_Recv, .peer = 1, .tag = 7, .bytes = 5);
        PUT(0, at + 2000, 1000, CALL_MPI_Barrier, .peer = PEER_NONE);
        PUT(1, at + 400, 100, CALL_MPI_Send, .peer = 0, .tag = 7, .bytes = 5);
        PUT(1, at + 2500, 500, CALL_MPI_Barrier, .peer = PEER_NONE);
        for (int r = 0; r < 2; r++) {
            turn(r, at + 4000 + 100 * (uint64_t)r, false);
            turn(r, at + 9000, true);
        }
    }
    analyse(2);
    EQUALS({analysis.matching.matched, 3}, {waited_all(), 3 * (400 + 500)});
    left_out(0, 0, 0);
    assert_true(analysis.has_path);
    assert_int_equal(analysis.path_rank, 1); /* without its three pauses of 4900 */
    assert_int_equal(analysis.path_ns, 50100 - 1001 - 3 * 4900);
    assert_int_equal(computing(1), 50100 - 1001 - 3 * (4900 + 100 + 500));
}

TEST(ends_in_a_pause_are_left_out)
{
    ranks_make(2);
    PUT(0, 2000, 100, CALL_MPI_Recv, .peer = 1, .tag = 7, .bytes = 5);
    PUT(1, 1900, 100, CALL_MPI_Send, .peer = 0, .tag = 7, .bytes = 5);
    PUT(1, 2500, 100, CALL_MPI_Send, .peer = 0, .tag = 8, .bytes = 5); /* received in the pause */
    for (int r = 0; r < 2; r++) {
        turn(r, 4000, false);
        turn(r, 9000, true);
    }
    PUT(0, 9500, 100, CALL_MPI_Recv, .peer = 1, .tag = 8, .bytes = 5); /* sent in the pause */
    analyse(2);
    assert_int_equal(analysis.matching.matched, 1);
    left_out(1, 1, 0);
    assert_true(analysis.has_path);
}

/* The numbers fit, but each receive has got the message before. */
TEST(pairs_that_cannot_be_are_left_out)
{
    ranks_make(2);
    for (int r = 0; r < 2; r++) {
        turn(r, 1500, false);
        turn(r, 2000, true);
    }
    for (uint64_t i = 0; i < 5; i++) {
        PUT(0, 3000 + 1000 * i, 100, CALL_MPI_Recv, .peer = 1, .tag = 7, .bytes = 5);
        PUT(1, 3500 + 1000 * i, 100, CALL_MPI_Send, .peer = 0, .tag = 7, .bytes = 5);
    }
    PUT(0, 8200, 100, CALL_MPI_Recv, .peer = 1, .tag = 9, .bytes = 4);
    PUT(1, 8600, 100, CALL_MPI_Send, .peer = 0, .tag = 8, .bytes = 6);
    PUT(0, 8700, 100, CALL_MPI_Recv, .peer = 1, .tag = 8, .bytes = 5); /* of another size */
    analyse(2);
    EQUALS({analysis.matching.matched, 0}, {waited_all(), 0});
    left_out(6, 7, 0);
    assert_true(analysis.has_path); /* no message comes before it is sent */
}

/* Rank 0 has not recorded one. The others cannot tell which of theirs it shared. */
TEST(collectives_that_differ_are_left_out)
{
    ranks_make(2);
    for (int r = 0; r < 2; r++)
        PUT(r, 2000 + 100 * (uint64_t)r, 300, CALL_MPI_Barrier, .peer = PEER_NONE);
    for (int r = 0; r < 2; r++) {
        turn(r, 4000, false);
        turn(r, 9000, true);
    }
    for (int r = 0; r < 2; r++)
        PUT(r, 10000 + 200 * (uint64_t)r, 300, CALL_MPI_Allreduce, .peer = PEER_NONE, .bytes = 4);
    PUT(1, 11000, 500, CALL_MPI_Allreduce, .peer = PEER_NONE, .bytes = 4);
    analyse(2);
    left_out(0, 0, 3);
    EQUALS({waited_all(), 100}, {analysis.operations.count, 1});
}

TEST(pauses_that_the_trace_does_not_have_leave_out_all)
{
    ranks_make(2);
    PUT(0, 2000, 100, CALL_MPI_Recv, .peer = 1, .tag = 7, .bytes = 5);
    PUT(1, 1900, 100, CALL_MPI_Send, .peer = 0, .tag = 7, .bytes = 5);
    job.ranks[1].run.header->off_count = 1;
    analyse(2);
    assert_false(analysis.has_messages);
    assert_false(analysis.has_collectives);
    assert_false(analysis.has_path);
    assert_non_null(strstr(analysis.report.warnings[0], "the trace does not show when"));
    assert_non_null(strstr(analysis.no_path, "the trace does not show when"));
}
