/* Run files made by hand -> analysis_open: every figure to the nanosecond (a tick is one; time 0 is tick BEGIN). */
#define _GNU_SOURCE
#include "analysisfixture.h"

#include <stdio.h>

static uint64_t sum_of(const struct keytable *table, enum wait_pattern pattern, unsigned function, int rank)
{
    uint64_t ns = 0;
    for (size_t i = 0; i < table->capacity; i++)
        for (struct keyed *keyed = table->buckets[i]; keyed; keyed = keyed->next)
            if (keyed->key[0] >> 32 == ((uint64_t)pattern << 16 | function) && keyed->key[1] == (uint64_t)rank)
                ns += ((struct analysis_sum *)keyed)->amount;
    return ns;
}

static uint64_t waited(enum wait_pattern pattern, unsigned function, int rank)
{
    return sum_of(&analysis.waits, pattern, function, rank);
}

static uint64_t caused(enum wait_pattern pattern, unsigned function, int rank)
{
    return sum_of(&analysis.causes, pattern, function, rank);
}

static uint64_t on_path(int rank, unsigned function)
{
    for (size_t i = 0; i < analysis.path_count; i++)
        if (analysis.path[i].key == path_key(rank, function))
            return analysis.path[i].ns;
    return 0;
}

static uint64_t unmatched_all(void)
{
    uint64_t sum = 0;
    for (int i = 0; i < UNMATCHED_REASONS; i++)
        sum += analysis.unmatched[i];
    return sum;
}

TEST(late_sender_is_on_the_path)
{
    ranks_make(2);
    PUT(0, 20000, 10000, CALL_MPI_Recv, .peer = 1, .tag = 7, .bytes = 5);
    PUT(0, 31000, 500, CALL_MPI_Recv, .peer = 1, .tag = 7, .bytes = 6); /* was sent long before */
    PUT(1, 27000, 2000, CALL_MPI_Send, .peer = 0, .tag = 7, .bytes = 5);
    PUT(1, 29500, 100, CALL_MPI_Send, .peer = 0, .tag = 7, .bytes = 6);
    PUT(1, 30000, 30, CALL_MPI_Send, .peer = 1, .tag = 1, .bytes = 9);
    PUT(1, 30100, 30, CALL_MPI_Recv, .peer = 1, .tag = 1, .bytes = 9);
    analyse(2);
    EQUALS({analysis.matching.matched, 3}, {analysis.matching.uneven, 0}, {unmatched_all(), 0},
           {waited(WAIT_LATE_SENDER, CALL_MPI_Recv, 0), 7000}, {caused(WAIT_LATE_SENDER, CALL_MPI_Recv, 1), 7000},
           {analysis.waits.count, 1});
    /* it ends where the last one enters MPI_Finalize, which is rank 1 and has waited for nobody */
    assert_true(analysis.has_path);
    EQUALS({analysis.path_rank, 1}, {analysis.path_ns, 50100 - 1001}, {on_path(1, CALL_MPI_Send), 2130},
           {on_path(0, CALL_NONE), 0});
}

/* 2 computes, 1 waits for it, 0 for 1; then 0 is the last. */
TEST(path_goes_from_rank_to_rank)
{
    ranks_make(3);
    PUT(2, 11000, 100, CALL_MPI_Send, .peer = 1, .tag = 1);
    PUT(1, 5000, 7000, CALL_MPI_Recv, .peer = 2, .tag = 1);
    PUT(1, 15000, 200, CALL_MPI_Send, .peer = 0, .tag = 1);
    PUT(0, 6000, 9500, CALL_MPI_Recv, .peer = 1, .tag = 1);
    PUT(0, 49000, 4000, CALL_MPI_Barrier, .peer = PEER_NONE);
    PUT(1, 47000, 6000, CALL_MPI_Barrier, .peer = PEER_NONE);
    PUT(2, 48000, 5000, CALL_MPI_Barrier, .peer = PEER_NONE);
    analyse(3);
    /* rank 0 up to its barrier at 49000, which all leave at 53000; before 15000 rank 1, before 11000 rank 2 */
    EQUALS({on_path(2, CALL_NONE), 11000 - 1002}, {on_path(1, CALL_MPI_Recv), 1000}, {on_path(1, CALL_NONE), 3000},
           {on_path(0, CALL_MPI_Recv), 500}, {on_path(0, CALL_NONE), 49000 - 15500});
    uint64_t barrier = on_path(0, CALL_MPI_Barrier) + on_path(1, CALL_MPI_Barrier) + on_path(2, CALL_MPI_Barrier);
    EQUALS({barrier, 4000}, {analysis.path_ns, 53000 - 1002}, {waited(WAIT_AT_BARRIER, CALL_MPI_Barrier, 1), 2000},
           {waited(WAIT_AT_BARRIER, CALL_MPI_Barrier, 2), 1000}, {caused(WAIT_AT_BARRIER, CALL_MPI_Barrier, 0), 3000},
           {analysis.worst_count, 1}, {analysis.worst[0].waited_ns, 3000}, {analysis.worst[0].last_rank, 0},
           {analysis.worst[0].at_ns, 46000});
}

/* The younger receive completes first; the message that it got is all the same the second. */
TEST(order_is_that_of_posting)
{
    ranks_make(2);
    PUT(0, 2000, 5, CALL_MPI_Irecv, .peer = 1, .tag = 5);
    PUT(0, 2010, 5, CALL_MPI_Irecv, .peer = 1, .tag = 5);
    PUT(0, 2100, 900, CALL_MPI_Waitany, .peer = 1, .tag = 2);
    PUT(0, 2010, CALL_MPI_Irecv, RECORD_RECV_DONE, .peer = 1, .tag = 5, .bytes = 22);
    PUT(0, 3100, 100, CALL_MPI_Wait, .peer = 1, .tag = 1);
    PUT(0, 2000, CALL_MPI_Irecv, RECORD_RECV_DONE, .peer = 1, .tag = 5, .bytes = 11);
    PUT(1, 2150, 10, CALL_MPI_Send, .peer = 0, .tag = 5, .bytes = 11);
    PUT(1, 2950, 10, CALL_MPI_Send, .peer = 0, .tag = 5, .bytes = 22);
    analyse(2);
    EQUALS({analysis.matching.matched, 2}, {analysis.matching.uneven, 0},
           {waited(WAIT_LATE_SENDER, CALL_MPI_Waitany, 0), 850}, {waited(WAIT_LATE_SENDER, CALL_MPI_Wait, 0), 0});
}

/* While a receive from anybody is open that is older, nobody can tell; later it can be matched. */
TEST(receive_from_anybody_decides_late)
{
    ranks_make(2);
    PUT(0, 2000, 5, CALL_MPI_Irecv, .peer = PEER_ANY, .tag = TAG_ANY);
    PUT(0, 2010, 5, CALL_MPI_Irecv, .peer = 1, .tag = 5);
    PUT(0, 2100, 900, CALL_MPI_Wait, .peer = 1, .tag = 1);
    PUT(0, 2010, CALL_MPI_Irecv, RECORD_RECV_DONE, .peer = 1, .tag = 5, .bytes = 22);
    PUT(0, 3100, 100, CALL_MPI_Wait, .peer = 1, .tag = 1);
    PUT(0, 2000, CALL_MPI_Irecv, RECORD_RECV_DONE, .peer = 1, .tag = 5, .bytes = 11);
    PUT(1, 2150, 10, CALL_MPI_Send, .peer = 0, .tag = 5, .bytes = 11);
    PUT(1, 2950, 10, CALL_MPI_Send, .peer = 0, .tag = 5, .bytes = 22);
    analyse(2);
    EQUALS({analysis.matching.matched, 2}, {analysis.matching.uneven, 0}, {analysis.decided, 1}, {unmatched_all(), 0});
}

TEST(cancelled_receive_gets_nothing)
{
    ranks_make(2);
    PUT(0, 2000, 5, CALL_MPI_Irecv, .peer = 1, .tag = 5);
    PUT(0, 2010, 5, CALL_MPI_Irecv, .peer = PEER_ANY, .tag = 5);
    PUT(0, 2100, 10, CALL_MPI_Waitall, .peer = 2, .tag = 2);
    PUT(0, 2000, CALL_MPI_Irecv, RECORD_CANCELLED, .peer = 1, .tag = 1);
    PUT(0, 2010, CALL_MPI_Irecv, RECORD_CANCELLED, .peer = PEER_ANY, .tag = 1);
    PUT(0, 3000, 300, CALL_MPI_Recv, .peer = 1, .tag = 5, .bytes = 3);
    PUT(1, 3100, 10, CALL_MPI_Send, .peer = 0, .tag = 5, .bytes = 3);
    PUT(0, 4000, 5, CALL_MPI_Irecv, .peer = 1, .tag = 9); /* never completes */
    analyse(2);
    EQUALS({analysis.matching.matched, 1}, {waited(WAIT_LATE_SENDER, CALL_MPI_Recv, 0), 100},
           {analysis.open_receives, 1}, {unmatched_all(), 0});
}

/* A receive that was freed takes its message all the same; of one from anybody nobody knows which. */
TEST(freed_receive_takes_its_message)
{
    ranks_make(2);
    PUT(0, 2000, 5, CALL_MPI_Irecv, .peer = 1, .tag = 5);
    PUT(0, 2100, 10, CALL_MPI_Request_free, .tag = 1);
    PUT(0, 2000, CALL_MPI_Irecv, RECORD_FREED, .peer = 1, .tag = 1);
    PUT(0, 3000, 300, CALL_MPI_Recv, .peer = 1, .tag = 5, .bytes = 2);
    PUT(0, 4000, 5, CALL_MPI_Irecv, .peer = PEER_ANY, .tag = 6);
    PUT(0, 4100, 10, CALL_MPI_Request_free, .tag = 1);
    PUT(0, 4000, CALL_MPI_Irecv, RECORD_FREED, .peer = PEER_ANY, .tag = 1);
    PUT(0, 5000, 300, CALL_MPI_Recv, .peer = 1, .tag = 6, .bytes = 2);
    PUT(1, 2500, 10, CALL_MPI_Send, .peer = 0, .tag = 5, .bytes = 1);
    PUT(1, 3100, 10, CALL_MPI_Send, .peer = 0, .tag = 5, .bytes = 2);
    PUT(1, 4200, 10, CALL_MPI_Send, .peer = 0, .tag = 6, .bytes = 1);
    PUT(1, 5100, 10, CALL_MPI_Send, .peer = 0, .tag = 6, .bytes = 2);
    analyse(2);
    EQUALS({analysis.matching.matched, 2}, {analysis.matching.uneven, 0}, {analysis.matching.unseen, 1},
           {analysis.decided, 1}, {waited(WAIT_LATE_SENDER, CALL_MPI_Recv, 0), 100},
           {analysis.unmatched[UNMATCHED_RECV_UNTOLD], 1}, {analysis.unmatched[UNMATCHED_SEND_UNTOLD], 2},
           {unmatched_all(), 3});
}

TEST(late_receiver_holds_up_the_sender)
{
    ranks_make(2);
    PUT(0, 2000, 3000, CALL_MPI_Ssend, .peer = 1, .tag = 5);
    PUT(1, 4000, 1100, CALL_MPI_Recv, .peer = 0, .tag = 5);
    PUT(0, 6000, 50, CALL_MPI_Send, .peer = 1, .tag = 5); /* returned before */
    PUT(1, 7000, 50, CALL_MPI_Recv, .peer = 0, .tag = 5);
    PUT(0, 8000, 500, CALL_MPI_Bsend, .peer = 1, .tag = 5); /* never waits */
    PUT(1, 8100, 600, CALL_MPI_Recv, .peer = 0, .tag = 5);
    analyse(2);
    EQUALS({waited(WAIT_LATE_RECEIVER, CALL_MPI_Ssend, 0), 2000}, {caused(WAIT_LATE_RECEIVER, CALL_MPI_Ssend, 1), 2000},
           {analysis.waits.count, 1});
}

/* Of several requests the last one counts, whatever it is; a probe is charged when its message is received. */
TEST(waitall_waits_for_the_last)
{
    ranks_make(3);
    PUT(0, 2000, 5, CALL_MPI_Irecv, .peer = 1, .tag = 5);
    PUT(0, 2010, 5, CALL_MPI_Irecv, .peer = 2, .tag = 5);
    PUT(0, 2100, 900, CALL_MPI_Waitall, .peer = 2, .tag = 2);
    PUT(0, 2000, CALL_MPI_Irecv, RECORD_RECV_DONE, .peer = 1, .tag = 5);
    PUT(0, 2010, CALL_MPI_Irecv, RECORD_RECV_DONE, .peer = 2, .tag = 5);
    PUT(0, 10000, 900, CALL_MPI_Probe, .peer = PEER_ANY, .tag = 6);
    PUT(0, 10950, 10, CALL_MPI_Recv, .peer = 2, .tag = 6);
    PUT(1, 2800, 10, CALL_MPI_Send, .peer = 0, .tag = 5);
    PUT(2, 2500, 10, CALL_MPI_Send, .peer = 0, .tag = 5);
    PUT(2, 10700, 10, CALL_MPI_Send, .peer = 0, .tag = 6);
    analyse(3);
    EQUALS({waited(WAIT_LATE_SENDER, CALL_MPI_Waitall, 0), 700}, {caused(WAIT_LATE_SENDER, CALL_MPI_Waitall, 1), 700},
           {waited(WAIT_LATE_SENDER, CALL_MPI_Probe, 0), 700}, {caused(WAIT_LATE_SENDER, CALL_MPI_Probe, 2), 700},
           {analysis.waits.count, 2});
}

TEST(probe_leads_the_path_to_the_sender)
{
    ranks_make(2);
    PUT(0, 10000, 900, CALL_MPI_Probe, .peer = 1, .tag = TAG_ANY);
    PUT(0, 11000, 10, CALL_MPI_Recv, .peer = 1, .tag = 6);
    PUT(0, 51000, 10, CALL_MPI_Barrier, .peer = PEER_NONE);
    PUT(1, 10700, 10, CALL_MPI_Send, .peer = 0, .tag = 6);
    PUT(1, 49000, 2010, CALL_MPI_Barrier, .peer = PEER_NONE);
    analyse(2);
    EQUALS({on_path(1, CALL_NONE), 10700 - 1001}, {on_path(0, CALL_MPI_Probe), 200},
           {on_path(0, CALL_NONE), 100 + 51000 - 11010}, {analysis.path_ns, 51010 - 1001});
}

TEST(collectives_wait_as_their_kind_does)
{
    static const uint64_t enter[] = {2000, 2300, 2100};
    ranks_make(3);
    for (int r = 0; r < 3; r++) {
        PUT(r, enter[r], 1000, CALL_MPI_Bcast, .peer = 1);
        PUT(r, enter[r] + 2000, 1000, CALL_MPI_Reduce, .peer = 0);
        PUT(r, enter[r] + 4000, 1000, CALL_MPI_Scan, .peer = PEER_NONE);
        PUT(r, enter[r] + 6000, 1000, CALL_MPI_Allreduce, .peer = PEER_NONE);
        PUT(r, enter[r] + 8000, 10, CALL_MPI_Ibarrier, .peer = PEER_NONE);
        PUT(r, enter[r] + 8050, 1000, CALL_MPI_Wait, .peer = 1, .tag = 1);
        PUT(r, enter[r] + 8000, CALL_MPI_Ibarrier, RECORD_COLL_DONE, .peer = PEER_NONE);
        PUT(r, enter[r] + 10000, 10, CALL_MPI_Neighbor_allgather, .peer = PEER_NONE);
    }
    analyse(3);
    EQUALS({waited(WAIT_LATE_BROADCAST, CALL_MPI_Bcast, 0), 300}, {waited(WAIT_LATE_BROADCAST, CALL_MPI_Bcast, 1), 0},
           {waited(WAIT_LATE_BROADCAST, CALL_MPI_Bcast, 2), 200}, {waited(WAIT_EARLY_REDUCE, CALL_MPI_Reduce, 0), 300},
           {waited(WAIT_EARLY_REDUCE, CALL_MPI_Reduce, 2), 0}, {waited(WAIT_EARLY_SCAN, CALL_MPI_Scan, 0), 0},
           {waited(WAIT_EARLY_SCAN, CALL_MPI_Scan, 1), 0}, {waited(WAIT_EARLY_SCAN, CALL_MPI_Scan, 2), 200},
           {waited(WAIT_AT_NXN, CALL_MPI_Allreduce, 0), 300}, {caused(WAIT_AT_NXN, CALL_MPI_Allreduce, 1), 500},
           {waited(WAIT_AT_BARRIER, CALL_MPI_Wait, 0), 250}, {waited(WAIT_AT_BARRIER, CALL_MPI_Wait, 2), 150},
           {analysis.neighbours, 3}, {analysis.left_early, 0}, {analysis.operations.count, 6},
           {analysis.lasts.count, 6});
}

/* What began in a call of its own is matched where it completes; partitioned messages are no ordinary ones. */
TEST(persistent_and_partitioned_messages_match)
{
    ranks_make(2);
    PUT(0, 2000, 10, CALL_MPI_Startall, .peer = 2, .tag = 2);
    PUT(0, 2000, CALL_MPI_Recv_init, RECORD_RECV_POSTED, .peer = 1, .tag = 5, .bytes = 8);
    PUT(0, 2000, CALL_MPI_Precv_init, RECORD_RECV_POSTED, .peer = 1, .tag = 5, .bytes = 4);
    PUT(0, 2100, 500, CALL_MPI_Waitall, .peer = 2, .tag = 2);
    PUT(0, 2000, CALL_MPI_Precv_init, RECORD_RECV_DONE, .peer = 1, .tag = 5, .bytes = 4);
    PUT(0, 2000, CALL_MPI_Recv_init, RECORD_RECV_DONE, .peer = 1, .tag = 5, .bytes = 8);
    PUT(1, 2200, 10, CALL_MPI_Start, .peer = 1, .tag = 1);
    PUT(1, 2200, CALL_MPI_Psend_init, RECORD_SEND_POSTED, .peer = 0, .tag = 5, .bytes = 4);
    PUT(1, 2300, 10, CALL_MPI_Start, .peer = 1, .tag = 1);
    PUT(1, 2300, CALL_MPI_Send_init, RECORD_SEND_POSTED, .peer = 0, .tag = 5, .bytes = 8);
    PUT(1, 2400, 10, CALL_MPI_Waitall, .peer = 2, .tag = 2);
    PUT(1, 2200, CALL_MPI_Psend_init, RECORD_SEND_DONE, .peer = 0, .tag = 5, .bytes = 4);
    PUT(1, 2300, CALL_MPI_Send_init, RECORD_SEND_DONE, .peer = 0, .tag = 5, .bytes = 8);
    analyse(2);
    EQUALS({analysis.matching.matched, 2}, {analysis.matching.uneven, 0},
           {waited(WAIT_LATE_SENDER, CALL_MPI_Waitall, 0), 200}, {analysis.matrix.count, 1});
}

TEST(what_has_one_end_is_counted_with_its_reason)
{
    ranks_make(3); /* and rank 3 has no file */
    for (int r = 0; r < 3; r++)
        job.ranks[r].run.header->world_size = 4;
    for (int r = 0; r < 3; r++)
        comm_make(r, (struct comm_record){.slot = 3, .size = 4, .rank = r, .created_ticks = 1, .name = "all"});
    PUT_IN(3, 0, 2000, 10, CALL_MPI_Send, .peer = 3, .tag = 1);
    PUT_IN(3, 0, 2100, 10, CALL_MPI_Recv, .peer = 3, .tag = 1);
    PUT_IN(3, 0, 2200, 10, CALL_MPI_Send, .peer = 1, .tag = 1);
    PUT_IN(3, 0, 2300, 10, CALL_MPI_Recv, .peer = 1, .tag = 1);
    PUT_IN(3, 0, 2400, 10, CALL_MPI_Send, .peer = 2, .tag = 1);
    PUT_IN(3, 0, 2500, 10, CALL_MPI_Recv, .peer = 2, .tag = 1);
    PUT_IN(3, 0, 2600, 10, CALL_MPI_Send, .peer = 17, .tag = 1);
    rank_end(2, RUN_RUNNING);
    for (int r = 0; r < 2; r++)
        rank_end(r, RUN_FINALIZED);
    analysis_make(3);
    EQUALS({analysis.unmatched[UNMATCHED_SEND_NO_FILE], 1}, {analysis.unmatched[UNMATCHED_RECV_NO_FILE], 1},
           {analysis.unmatched[UNMATCHED_SEND_NOT_RECEIVED], 1}, {analysis.unmatched[UNMATCHED_RECV_NOT_SENT], 1},
           {analysis.unmatched[UNMATCHED_SEND_CRASHED], 1}, {analysis.unmatched[UNMATCHED_RECV_CRASHED], 1},
           {unmatched_all(), 6}, {analysis.unplaced, 1}, {analysis.matching.matched, 0});
    assert_false(analysis.has_path);
}

/* Everybody waits for the other group, and ranks are those of the other group. */
TEST(inter_communicator_waits_for_the_other_group)
{
    static const uint64_t enter[] = {2500, 2000, 2900};
    ranks_make(3);
    for (int r = 0; r < 3; r++) {
        comm_make(r, (struct comm_record){.slot = 3,
                                          .parent = WORLD,
                                          .size = r == 0 ? 1 : 2,
                                          .rank = r == 2,
                                          .remote_size = r == 0 ? 2 : 1,
                                          .flags = COMM_INTER,
                                          .name = "inter"});
        PUT_IN(3, r, enter[r], 1000, CALL_MPI_Barrier, .peer = PEER_NONE);
        /* rank 2 is the root, for rank 0; rank 1 has no part in it */
        PUT_IN(3, r, enter[r] + 3000, 1000, CALL_MPI_Bcast, .peer = r == 0 ? 1 : r == 1 ? PEER_PROC_NULL : PEER_ROOT);
    }
    PUT_IN(3, 0, 8000, 500, CALL_MPI_Recv, .peer = 1, .tag = 1, .bytes = 4);
    PUT_IN(3, 2, 8100, 20, CALL_MPI_Send, .peer = 0, .tag = 1, .bytes = 4);
    analyse(3);
    EQUALS({waited(WAIT_AT_BARRIER, CALL_MPI_Barrier, 0), 400}, {waited(WAIT_AT_BARRIER, CALL_MPI_Barrier, 1), 500},
           {waited(WAIT_AT_BARRIER, CALL_MPI_Barrier, 2), 0}, {waited(WAIT_LATE_BROADCAST, CALL_MPI_Bcast, 0), 400},
           {waited(WAIT_LATE_BROADCAST, CALL_MPI_Bcast, 1), 0}, {waited(WAIT_LATE_SENDER, CALL_MPI_Recv, 0), 100},
           {caused(WAIT_LATE_SENDER, CALL_MPI_Recv, 2), 100}, {analysis.left_early, 0});
}

TEST(at_one_time_begins_come_first)
{
    ranks_make(3);
    for (int r = 0; r < 3; r++) /* the last one comes when the first one leaves */
        PUT(r, 2000 + (uint64_t)r * 500, 1000, CALL_MPI_Barrier, .peer = PEER_NONE);
    PUT(2, 7000, 1000, CALL_MPI_Recv, .peer = 0, .tag = 5);
    PUT(0, 8000, 10, CALL_MPI_Send, .peer = 2, .tag = 5);
    analyse(3);
    EQUALS({waited(WAIT_AT_BARRIER, CALL_MPI_Barrier, 0), 1000}, {waited(WAIT_LATE_SENDER, CALL_MPI_Recv, 2), 1000},
           {analysis.left_early, 0}, {analysis.decided, 1});
}

/* Clocks that differ: matched, but nothing is made of the times. */
TEST(message_from_the_future_is_told)
{
    ranks_make(2);
    PUT(0, 2000, 100, CALL_MPI_Recv, .peer = 1, .tag = 5);
    PUT(1, 5000, 10, CALL_MPI_Send, .peer = 0, .tag = 5);
    analyse(2);
    EQUALS({analysis.matching.matched, 1}, {analysis.matching.early, 1}, {analysis.matching.early_most_ns, 2900},
           {analysis.waits.count, 0});
    assert_false(analysis.has_path);
}

TEST(selection_leaves_out_waits_and_not_matches)
{
    char problem[SELECT_PROBLEM_BYTES];
    ranks_make(2);
    assert_int_equal(selection_ranks(&selection, "1", problem), 0);
    assert_int_equal(selection_window(&selection, ":5us", problem), 0);
    PUT(0, 2000, 1000, CALL_MPI_Recv, .peer = 1, .tag = 5);
    PUT(1, 2500, 10, CALL_MPI_Send, .peer = 0, .tag = 5);
    PUT(1, 3000, 1000, CALL_MPI_Recv, .peer = 0, .tag = 5);
    PUT(0, 3500, 10, CALL_MPI_Send, .peer = 1, .tag = 5);
    PUT(1, 7000, 1000, CALL_MPI_Recv, .peer = 0, .tag = 5);
    PUT(0, 7500, 10, CALL_MPI_Send, .peer = 1, .tag = 5);
    analyse(2);
    EQUALS({analysis.matching.matched, 3}, {waited(WAIT_LATE_SENDER, CALL_MPI_Recv, 0), 0},
           {waited(WAIT_LATE_SENDER, CALL_MPI_Recv, 1), 500}, {analysis.matrix.count, 1});
    assert_int_equal(analysis_join_phases(&analysis), 0);
    assert_null(analysis.phases); /* a phase has all calls of its rank */
    release();
    selection_release(&selection);
}

TEST(missing_partners_have_their_reason)
{
    static const char *const reasons[] = {"mpit_filter leaves out", "the trace was switched on or off"};
    for (int i = 0; i < 2; i++) {
        ranks_make(2);
        struct run_header *header = job.ranks[1].run.header;
        if (i)
            header->traced = TRACED_IN_PART;
        else
            snprintf(header->filter, sizeof header->filter, "-MPI_Send");
        analyse(2);
        assert_false(analysis.has_messages);
        assert_non_null(strstr(analysis.no_path, reasons[i]));
        release();
    }
}

/* What is under way stays in memory, and no more. */
TEST(memory_does_not_grow_with_the_trace)
{
    ranks_make(2);
    for (uint64_t i = 0; i < 900; i++) {
        uint64_t at = 2000 + i * 50;
        PUT((int)(i % 2), at, 20, CALL_MPI_Recv, .peer = (int)((i + 1) % 2), .tag = (int32_t)i);
        PUT((int)((i + 1) % 2), at + 10, 5, CALL_MPI_Send, .peer = (int)(i % 2), .tag = (int32_t)i);
    }
    analyse(2);
    EQUALS({analysis.matching.matched, 900}, {analysis.matching.channels.count, 0});
    assert_true(analysis.matching.channels.capacity <= 64);
    assert_true(analysis.paths.count <= 4);
    assert_int_equal(waited(WAIT_LATE_SENDER, CALL_MPI_Recv, 0), 4500);
}

/* Old receives that are open, of which only the second contests: nobody is asked again before that one is done. */
TEST(undecided_receives_wait_for_one)
{
    enum { RECEIVES = 2000 };
    struct matching matching = {0};
    struct receive *old[2], *young[RECEIVES];
    const struct envelope channel = {.comm = 1, .tag = 7}, other = {.comm = 1, .source = FROM_ANY, .tag = 5},
                          contests = {.comm = 1, .tag = OF_ANY_TAG},
                          anybody = {.comm = 1, .source = FROM_ANY, .tag = 7};
    old[0] = matching_post(&matching, other, (struct moment){0});
    old[1] = matching_post(&matching, contests, (struct moment){0});
    for (int i = 0; i < RECEIVES; i++)
        young[i] = matching_post(&matching, anybody, (struct moment){0});
    for (int i = 0; i <= RECEIVES; i++)
        message_drop(&matching, matching_send(&matching, channel, 8, (struct moment){.ns = (uint64_t)i}));
    for (int i = 0; i < RECEIVES; i++)
        matching_done(&matching, young[i], 0, 7, 8, 10000);
    EQUALS({matching.matched, 0}, {matching.asked, 0});
    matching_done(&matching, old[1], 0, 7, 8, 10000);
    EQUALS({matching.matched, RECEIVES + 1}, {matching.asked, RECEIVES}, {old[1]->begun.ns, 0});
    for (int i = 0; i < RECEIVES; i++) {
        assert_int_equal(young[i]->begun.ns, i + 1);
        receive_drop(&matching, young[i]);
    }
    for (int i = 0; i < 2; i++)
        receive_drop(&matching, old[i]);
    assert_int_equal(matching.channels.count, 0);
    matching_release(&matching);
}

/* As many open receives that contest as there are undecided ones: nobody is asked again for each that leaves. */
TEST(undecided_receives_are_asked_seldom)
{
    enum { RECEIVES = 500, FIRST_LAST = 1, ANY_TAG = 2, MANY_TAGS = 4, WAYS = 8 };
    for (int way = 0; way < WAYS; way++) {
        struct matching matching = {0};
        struct receive *all[2 * RECEIVES];
        for (int i = 0; i < 2 * RECEIVES; i++) {
            int tag = (way & MANY_TAGS) ? i % RECEIVES : 7;
            struct envelope channel = {.comm = 1, .source = 1, .tag = tag}, asked = channel;
            if (i < RECEIVES)
                asked.source = FROM_ANY;
            if (i < RECEIVES && (way & ANY_TAG))
                asked.tag = OF_ANY_TAG;
            all[i] = matching_post(&matching, asked, (struct moment){0});
            message_drop(&matching, matching_send(&matching, channel, 8, (struct moment){.ns = (uint64_t)i}));
        }
        for (int i = 0; i < 2 * RECEIVES; i++) {
            int left = i - RECEIVES, which = left < 0 ? i + RECEIVES : (way & FIRST_LAST) ? RECEIVES - 1 - left : left;
            matching_done(&matching, all[which], 1, (way & MANY_TAGS) ? which % RECEIVES : 7, 8, 10000);
            assert_true(left >= 0 || matching.matched == 0);
        }
        assert_int_equal(matching.matched, 2 * RECEIVES);
        assert_in_range(matching.asked, RECEIVES, 2 * 2 * RECEIVES);
        for (int i = 0; i < 2 * RECEIVES; i++) {
            assert_int_equal(all[i]->begun.ns, i);
            receive_drop(&matching, all[i]);
        }
        assert_int_equal(matching.channels.count + matching.openings.count, 0);
        matching_release(&matching);
    }
}
