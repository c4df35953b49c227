/* Events by hand -> fold -> cells: each shape of call and each kind of record. */
#include "unittest.h"

#include "figures/fold.h"

#include <pthread.h>
#include <string.h>

static struct thread_cells thread;
static struct comm_cells cells;
static struct shared_cells shared;
static struct peer_cells page;
static struct tally tally;
static struct comm_tally comm;

FIXTURE(cells_clear)
{
    memset(&thread, 0, sizeof thread);
    memset(&cells, 0, sizeof cells);
    memset(&shared, 0, sizeof shared);
    memset(&page, 0, sizeof page);
    cells.message_low = cells.span_first = LOW_NEUTRAL;
    tally = (struct tally){.cells = &thread};
    comm = (struct comm_tally){.cells = &cells, .shared = &shared, .page = &page, .peers = 64};
}

#define FOLD_EVENT(...) fold(&tally, &comm, &(struct event){__VA_ARGS__}, NULL)
/* Completion calls are on no communicator. */
#define FOLD_COMPLETED(...) fold(&tally, NULL, &(struct event){__VA_ARGS__}, NULL)

static void level_check(const struct level_cells *level, uint64_t now, uint64_t high, uint64_t low)
{
    EQUALS({level->now, now}, {level->high, high}, {level->low, low});
}

static void messages_check(struct message_cells found, uint64_t count, uint64_t bytes)
{
    EQUALS({found.count, count}, {found.bytes, bytes});
}

TESTS_EACH(cells_clear, NULL)

TEST(send_is_a_message_to_its_peer)
{
    FOLD_EVENT(.begin = 100, .duration = 10, .kind = CALL_MPI_Send | EVENT_LARGE, .comm = 1, .peer = 3, .bytes = 1000);
    FOLD_EVENT(.begin = 200, .duration = 5, .kind = CALL_MPI_Ssend, .comm = 1, .peer = 3, .bytes = 0);
    EQUALS({thread.call_count[CALL_MPI_Send], 1}, {thread.call_time[CALL_MPI_Send], 10},
           {thread.call_time[CALL_MPI_Ssend], 5});
    messages_check(cells.send[10], 1, 1000);
    messages_check(cells.send[0], 1, 0);
    messages_check(page.peer[3].send, 2, 1000);
    messages_check(page.peer[3].recv, 0, 0);
    EQUALS({cells.large, 1}, {cells.p2p_time, 15}, {cells.p2p_done, 2}, {cells.transfer_time, 15},
           {cells.message_high, 1000}, {cells.message_low, 0}, {cells.span_first, 100}, {cells.span_last, 205});
    level_check(&shared.sends, 0, 0, 0);
}

TEST(receive_is_a_message_from_its_peer)
{
    FOLD_EVENT(.begin = 100, .duration = 10, .kind = CALL_MPI_Recv, .comm = 1, .peer = 70, .bytes = 7);
    messages_check(cells.recv[3], 1, 7);
    messages_check(page.peer[70 % PEERS_PER_PAGE].recv, 1, 7);
    EQUALS({cells.p2p_done, 1}, {cells.p2p_time, 10}, {cells.transfer_time, 10}, {cells.large, 0});
}

TEST(timeout_is_counted_where_its_flag_stands)
{
    FOLD_EVENT(.duration = 10, .kind = CALL_MPI_Recv | EVENT_TIMEOUT, .comm = 1, .peer = 0, .bytes = 7);
    FOLD_EVENT(.duration = 10, .kind = CALL_MPI_Recv, .comm = 1, .peer = 0, .bytes = 7);
    assert_int_equal(cells.timeouts, 1);
}

TEST(null_process_is_a_call_and_no_message)
{
    const uint16_t kinds[] = {CALL_MPI_Send, CALL_MPI_Recv, CALL_MPI_Isend, CALL_MPI_Irecv};
    for (unsigned i = 0; i < 4; i++)
        FOLD_EVENT(.begin = 50, .duration = 2, .kind = kinds[i], .comm = 1, .peer = PEER_PROC_NULL, .bytes = 9);
    FOLD_COMPLETED(.begin = 60, .duration = 6, .kind = CALL_MPI_Waitall, .peer = 2, .tag = 2);
    FOLD_EVENT(.begin = 50, .duration = CALL_MPI_Isend, .kind = RECORD_SEND_DONE, .comm = 1, .peer = PEER_PROC_NULL);
    FOLD_EVENT(.begin = 50, .duration = CALL_MPI_Irecv, .kind = RECORD_RECV_DONE, .comm = 1, .peer = PEER_PROC_NULL);
    EQUALS({cells.p2p_time, 8}, {cells.wait_time, 6}, {cells.p2p_done, 0}, {cells.message_high, 0});
    assert_true(cells.message_low == LOW_NEUTRAL);
    assert_true(cells.span_first == LOW_NEUTRAL);
    level_check(&shared.sends, 0, 0, 0);
    level_check(&shared.recvs, 0, 0, 0);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(thread.call_count[kinds[i]], 1);
}

TEST(failed_call_is_timed_and_counts_no_message)
{
    FOLD_EVENT(.begin = 1, .duration = 3, .kind = CALL_MPI_Send | EVENT_FAILED, .comm = 1, .peer = 1, .bytes = 9);
    FOLD_EVENT(.begin = 9, .duration = 4, .kind = CALL_MPI_Irecv | EVENT_FAILED, .comm = 1, .peer = 1, .bytes = 9);
    FOLD_EVENT(.begin = 20, .duration = 5, .kind = CALL_MPI_Bcast | EVENT_FAILED, .comm = 1, .bytes = 9);
    EQUALS({thread.call_count[CALL_MPI_Send], 1}, {cells.p2p_time, 7}, {cells.coll_time[COLLECTIVE_BCAST], 5},
           {cells.coll_count[COLLECTIVE_BCAST], 0}, {cells.coll_execution[COLLECTIVE_BCAST], 0});
    messages_check(cells.send[4], 0, 0);
    level_check(&shared.recvs, 0, 0, 0);
    assert_true(cells.span_first == LOW_NEUTRAL);
}

TEST(nonblocking_send_counts_when_posted_and_transfers_when_done)
{
    FOLD_EVENT(.begin = 100, .duration = 2, .kind = CALL_MPI_Isend, .comm = 1, .peer = 1, .bytes = 300);
    FOLD_EVENT(.begin = 110, .duration = 2, .kind = CALL_MPI_Isend, .comm = 1, .peer = 1, .bytes = 500);
    messages_check(page.peer[1].send, 2, 800);
    assert_int_equal(cells.p2p_done, 0);
    level_check(&shared.sends, 2, 2, 0);
    level_check(&shared.bytes, 800, 800, 0);
    FOLD_COMPLETED(.begin = 150, .duration = 50, .kind = CALL_MPI_Wait, .peer = 1, .tag = 1);
    FOLD_EVENT(.begin = 100, .duration = CALL_MPI_Isend, .kind = RECORD_SEND_DONE, .comm = 1, .peer = 1, .bytes = 300);
    level_check(&shared.sends, 1, 2, 0);
    level_check(&shared.bytes, 500, 800, 0);
    EQUALS({cells.p2p_done, 1}, {cells.transfer_time, 100}, {cells.wait_time, 50}, {cells.span_last, 200});
    messages_check(page.peer[1].send, 2, 800);
}

TEST(nonblocking_receive_counts_what_arrived)
{
    FOLD_EVENT(.begin = 10, .duration = 1, .kind = CALL_MPI_Irecv, .comm = 1, .peer = PEER_ANY, .bytes = 9999);
    level_check(&shared.recvs, 1, 1, 0);
    messages_check(page.peer[5].recv, 0, 0);
    FOLD_COMPLETED(.begin = 20, .duration = 5, .kind = CALL_MPI_Wait, .peer = 1, .tag = 1);
    FOLD_EVENT(.begin = 10, .duration = CALL_MPI_Irecv, .kind = RECORD_RECV_DONE, .comm = 1, .peer = 5, .bytes = 33);
    level_check(&shared.recvs, 0, 1, 0);
    messages_check(page.peer[5].recv, 1, 33);
    messages_check(cells.recv[6], 1, 33);
    EQUALS({cells.transfer_time, 15}, {cells.message_high, 33});
    level_check(&shared.bytes, 0, 0, 0);
}

TEST(completion_time_is_shared_evenly_and_the_first_gets_the_rest)
{
    struct comm_cells other_cells = cells;
    struct comm_tally other = comm;
    other.cells = &other_cells;
    struct event first = {.kind = RECORD_RECV_DONE, .duration = CALL_MPI_Irecv, .comm = 1, .peer = PEER_PROC_NULL};
    FOLD_COMPLETED(.begin = 100, .duration = 11, .kind = CALL_MPI_Waitall, .peer = 3, .tag = 3);
    fold(&tally, &comm, &first, NULL);
    fold(&tally, &other, &first, NULL);
    fold(&tally, &other, &first, NULL);
    EQUALS({cells.wait_time, 5}, {other_cells.wait_time, 6}, {thread.call_time[CALL_MPI_Waitall], 11});
}

TEST(completion_of_nothing_is_the_process_alone)
{
    FOLD_COMPLETED(.begin = 100, .duration = 11, .kind = CALL_MPI_Test, .peer = 0, .tag = 1);
    EQUALS({thread.call_count[CALL_MPI_Test], 1}, {thread.call_time[CALL_MPI_Test], 11}, {cells.wait_time, 0});
}

TEST(cancelled_receive_is_a_call_and_no_message)
{
    FOLD_EVENT(.begin = 10, .duration = 1, .kind = CALL_MPI_Irecv, .comm = 1, .peer = 2, .bytes = 8);
    FOLD_COMPLETED(.begin = 20, .duration = 5, .kind = CALL_MPI_Wait, .peer = 1, .tag = 1);
    FOLD_EVENT(.begin = 10, .duration = CALL_MPI_Irecv, .kind = RECORD_CANCELLED, .comm = 1, .peer = 2, .tag = 1);
    level_check(&shared.recvs, 0, 1, 0);
    messages_check(page.peer[2].recv, 0, 0);
    EQUALS({cells.p2p_done, 0}, {cells.wait_time, 5});
}

TEST(freed_send_leaves_no_pending_bytes)
{
    FOLD_EVENT(.begin = 10, .duration = 1, .kind = CALL_MPI_Isend, .comm = 1, .peer = 2, .bytes = 8);
    FOLD_COMPLETED(.begin = 20, .duration = 5, .kind = CALL_MPI_Request_free, .peer = 1, .tag = 1);
    FOLD_EVENT(.begin = 10, .duration = CALL_MPI_Isend, .kind = RECORD_FREED, .comm = 1, .peer = 2, .bytes = 8);
    level_check(&shared.sends, 0, 1, 0);
    level_check(&shared.bytes, 0, 8, 0);
    messages_check(page.peer[2].send, 1, 8);
    assert_int_equal(cells.p2p_done, 0);
}

/* Nothing waited for it: it has no share in the time of the last call that completed something. */
TEST(missed_end_lowers_levels_and_takes_no_time)
{
    FOLD_COMPLETED(.begin = 5, .duration = 5, .kind = CALL_MPI_Wait, .peer = 0, .tag = 1);
    FOLD_EVENT(.begin = 10, .duration = 1, .kind = CALL_MPI_Isend, .comm = 1, .peer = 2, .bytes = 8);
    FOLD_EVENT(.begin = 10, .duration = CALL_MPI_Isend, .kind = RECORD_FREED | EVENT_FAILED, .comm = 1, .peer = 2,
               .bytes = 8);
    FOLD_EVENT(.begin = 20, .duration = 1, .kind = CALL_MPI_Irecv, .comm = 1, .peer = PEER_ANY, .bytes = 8);
    FOLD_EVENT(.begin = 20, .duration = CALL_MPI_Irecv, .kind = RECORD_FREED | EVENT_FAILED, .comm = 1,
               .peer = PEER_ANY, .tag = 1);
    level_check(&shared.sends, 0, 1, 0);
    level_check(&shared.bytes, 0, 8, 0);
    level_check(&shared.recvs, 0, 1, 0);
    EQUALS({cells.wait_time, 0}, {cells.p2p_done, 0});
}

/* One request, two messages: the time of the call goes to it once. */
TEST(nonblocking_sendrecv_is_two_messages_and_one_request)
{
    FOLD_COMPLETED(.begin = 100, .duration = 10, .kind = CALL_MPI_Isendrecv, .peer = 2, .tag = 1);
    FOLD_EVENT(.begin = 100, .duration = CALL_MPI_Isendrecv, .kind = RECORD_SEND_POSTED, .comm = 1, .peer = 1,
               .bytes = 4);
    FOLD_EVENT(.begin = 100, .duration = CALL_MPI_Isendrecv, .kind = RECORD_RECV_POSTED, .comm = 1, .peer = 2,
               .bytes = 9);
    assert_int_equal(cells.p2p_time, 10);
    level_check(&shared.sends, 1, 1, 0);
    level_check(&shared.recvs, 1, 1, 0);
    FOLD_COMPLETED(.begin = 120, .duration = 30, .kind = CALL_MPI_Wait, .peer = 1, .tag = 1);
    FOLD_EVENT(.begin = 100, .duration = CALL_MPI_Isendrecv, .kind = RECORD_HALF_DONE, .comm = 1, .peer = 1,
               .bytes = 4);
    assert_int_equal(cells.wait_time, 0);
    FOLD_EVENT(.begin = 100, .duration = CALL_MPI_Isendrecv, .kind = RECORD_RECV_DONE, .comm = 1, .peer = 2,
               .bytes = 9);
    EQUALS({cells.wait_time, 30}, {cells.p2p_done, 2}, {cells.transfer_time, 100});
    messages_check(page.peer[1].send, 1, 4);
    messages_check(page.peer[2].recv, 1, 9);
    level_check(&shared.sends, 0, 1, 0);
    level_check(&shared.bytes, 0, 4, 0);
    level_check(&shared.recvs, 0, 1, 0);
}

TEST(freed_collective_touches_no_level)
{
    FOLD_EVENT(.begin = 10, .duration = CALL_MPI_Ibarrier, .kind = RECORD_FREED, .comm = 1, .peer = 0, .tag = 0);
    level_check(&shared.sends, 0, 0, 0);
    level_check(&shared.recvs, 0, 0, 0);
}

TEST(both_halves_of_a_sendrecv_are_messages)
{
    FOLD_EVENT(.begin = 100, .duration = 10, .kind = CALL_MPI_Sendrecv, .comm = 1, .peer = 1, .bytes = 4);
    FOLD_EVENT(.begin = 100, .kind = RECORD_RECEIVE, .comm = 1, .peer = 2, .bytes = 5);
    messages_check(page.peer[1].send, 1, 4);
    messages_check(page.peer[2].recv, 1, 5);
    EQUALS({cells.p2p_done, 2}, {cells.transfer_time, 20}, {cells.p2p_time, 10}, {cells.span_first, 100},
           {cells.span_last, 110});
}

/* The edge of a grid: nothing to send, something to receive. */
TEST(span_covers_the_receive_of_a_sendrecv_to_nobody)
{
    FOLD_EVENT(.begin = 100, .duration = 10, .kind = CALL_MPI_Sendrecv, .comm = 1, .peer = PEER_PROC_NULL);
    assert_true(cells.span_first == LOW_NEUTRAL);
    FOLD_EVENT(.begin = 100, .kind = RECORD_RECEIVE, .comm = 1, .peer = 2, .bytes = 5);
    messages_check(page.peer[2].recv, 1, 5);
    EQUALS({cells.p2p_done, 1}, {cells.span_first, 100}, {cells.span_last, 110});
}

TEST(started_requests_share_the_time_of_their_start)
{
    FOLD_COMPLETED(.begin = 100, .duration = 7, .kind = CALL_MPI_Startall, .peer = 2, .tag = 2);
    FOLD_EVENT(.begin = 100, .kind = RECORD_SEND_POSTED, .comm = 1, .peer = 1, .bytes = 16);
    FOLD_EVENT(.begin = 100, .kind = RECORD_RECV_POSTED, .comm = 1, .peer = PEER_ANY, .bytes = 16);
    assert_int_equal(cells.p2p_time, 7);
    level_check(&shared.sends, 1, 1, 0);
    level_check(&shared.recvs, 1, 1, 0);
    level_check(&shared.bytes, 16, 16, 0);
    messages_check(page.peer[1].send, 1, 16);
    assert_int_equal(cells.span_first, 100);
    FOLD_EVENT(.begin = 100, .kind = RECORD_SEND_POSTED, .comm = 1, .peer = PEER_PROC_NULL, .bytes = 16);
    FOLD_EVENT(.begin = 100, .kind = RECORD_RECV_POSTED, .comm = 1, .peer = PEER_PROC_NULL, .bytes = 16);
    level_check(&shared.sends, 1, 1, 0);
    level_check(&shared.recvs, 1, 1, 0);
}

TEST(persistent_collective_is_one_operation_each_time_it_is_started)
{
    FOLD_EVENT(.begin = 50, .duration = 4, .kind = CALL_MPI_Allreduce_init, .comm = 1, .peer = PEER_NONE);
    EQUALS({cells.coll_time[COLLECTIVE_ALLREDUCE], 4}, {cells.coll_count[COLLECTIVE_ALLREDUCE], 0});
    assert_true(cells.span_first == LOW_NEUTRAL);
    for (unsigned i = 1; i <= 2; i++) {
        FOLD_COMPLETED(.begin = 100 * i, .duration = 7, .kind = CALL_MPI_Startall, .peer = 2, .tag = 2);
        FOLD_EVENT(.begin = 100 * i, .duration = CALL_MPI_Allreduce_init, .kind = RECORD_COLL_POSTED, .comm = 1,
                   .peer = PEER_NONE);
        FOLD_EVENT(.begin = 100 * i, .duration = CALL_MPI_Neighbor_alltoall_init, .kind = RECORD_COLL_POSTED, .comm = 1,
                   .peer = PEER_NONE);
        assert_int_equal(cells.coll_count[COLLECTIVE_ALLREDUCE], i - 1);
        FOLD_COMPLETED(.begin = 100 * i + 10, .duration = 6, .kind = CALL_MPI_Waitall, .peer = 2, .tag = 2);
        FOLD_EVENT(.begin = 100 * i, .duration = CALL_MPI_Allreduce_init, .kind = RECORD_COLL_DONE, .comm = 1,
                   .peer = PEER_NONE, .tag = 8, .bytes = 8);
        FOLD_EVENT(.begin = 100 * i, .duration = CALL_MPI_Neighbor_alltoall_init, .kind = RECORD_COLL_DONE, .comm = 1,
                   .peer = PEER_NONE, .tag = 20, .bytes = 12);
        EQUALS({cells.coll_count[COLLECTIVE_ALLREDUCE], i}, {cells.coll_count[COLLECTIVE_NEIGHBOR_ALLTOALL], i},
               {cells.coll_bytes, 48 * i});
        assert_int_equal(cells.coll_time[COLLECTIVE_ALLREDUCE], 4 + 4 * i); /* its share of 7, with what is left */
        assert_int_equal(cells.coll_time[COLLECTIVE_NEIGHBOR_ALLTOALL], 3 * i);
        assert_int_equal(cells.coll_execution[COLLECTIVE_ALLREDUCE], 16 * i); /* begin of start to end of wait */
        EQUALS({cells.coll_execution[COLLECTIVE_NEIGHBOR_ALLTOALL], 16 * i}, {cells.wait_time, 6 * i});
    }
    EQUALS({cells.span_first, 100}, {cells.span_last, 216});
    FOLD_COMPLETED(.begin = 300, .duration = 2, .kind = CALL_MPI_Request_free, .peer = 1, .tag = 1);
    FOLD_EVENT(.begin = 290, .duration = CALL_MPI_Allreduce_init, .kind = RECORD_FREED, .comm = 1, .peer = PEER_NONE,
               .bytes = 8);
    EQUALS({cells.coll_count[COLLECTIVE_ALLREDUCE], 2}, {cells.wait_time, 14});
    level_check(&shared.sends, 0, 0, 0);
    level_check(&shared.bytes, 0, 0, 0);
}

TEST(probe_takes_time_and_is_no_communication)
{
    FOLD_EVENT(.begin = 100, .duration = 7, .kind = CALL_MPI_Iprobe, .comm = 1, .peer = 1, .bytes = 0);
    EQUALS({cells.p2p_time, 7}, {cells.p2p_done, 0});
    assert_true(cells.span_first == LOW_NEUTRAL);
}

TEST(collective_counts_what_went_in_and_out)
{
    FOLD_EVENT(.begin = 1, .duration = 9, .kind = CALL_MPI_Allreduce, .comm = 1, .peer = PEER_NONE, .tag = 24,
               .bytes = 8);
    EQUALS({cells.coll_count[COLLECTIVE_ALLREDUCE], 1}, {cells.coll_time[COLLECTIVE_ALLREDUCE], 9},
           {cells.coll_execution[COLLECTIVE_ALLREDUCE], 9}, {cells.coll_bytes, 32},
           {cells.coll_size_count[bucket_of(32)], 1}, {cells.span_last, 10}, {cells.p2p_time, 0},
           {cells.message_high, 0});
}

TEST(wide_event_takes_time_and_bytes_from_its_extension)
{
    struct event event = {.begin = 1,
                          .duration = EVENT_DURATION_WIDE,
                          .kind = CALL_MPI_Alltoall | EVENT_WIDE,
                          .comm = 1,
                          .tag = 3,
                          .bytes = UINT64_C(1) << 33};
    struct event_extension more = {
        .duration = UINT64_C(1) << 40, .kind = RECORD_EXTENSION, .bytes_out = UINT64_C(1) << 34};
    fold(&tally, &comm, &event, &more);
    assert_true(cells.coll_time[COLLECTIVE_ALLTOALL] == UINT64_C(1) << 40);
    assert_true(cells.coll_bytes == (UINT64_C(1) << 33) + (UINT64_C(1) << 34));
    assert_true(cells.span_last == (UINT64_C(1) << 40) + 1);
}

TEST(nonblocking_collective_counts_when_it_is_done)
{
    FOLD_EVENT(.begin = 100, .duration = 3, .kind = CALL_MPI_Ibcast, .comm = 1, .peer = 0, .bytes = 64);
    EQUALS({cells.coll_count[COLLECTIVE_BCAST], 0}, {cells.coll_time[COLLECTIVE_BCAST], 3});
    FOLD_COMPLETED(.begin = 110, .duration = 10, .kind = CALL_MPI_Wait, .peer = 1, .tag = 1);
    FOLD_EVENT(.begin = 100, .duration = CALL_MPI_Ibcast, .kind = RECORD_COLL_DONE, .comm = 1, .tag = 64, .bytes = 0);
    EQUALS({cells.coll_count[COLLECTIVE_BCAST], 1}, {cells.coll_execution[COLLECTIVE_BCAST], 20},
           {cells.coll_bytes, 64}, {cells.wait_time, 10}, {cells.span_last, 120});
}

TEST(communicator_call_is_charged_to_the_parent)
{
    FOLD_EVENT(.begin = 100, .duration = 3, .kind = CALL_MPI_Comm_dup, .comm = 1, .peer = PEER_NONE);
    FOLD_EVENT(.kind = RECORD_CREATED, .comm = 2, .peer = 1);
    EQUALS({cells.comm_time, 3}, {cells.p2p_time, 0});
    assert_true(cells.span_first == LOW_NEUTRAL);
}

TEST(nested_call_is_taken_off_the_outermost_time)
{
    FOLD_EVENT(.begin = 100, .duration = 3, .kind = CALL_MPI_Send | EVENT_NESTED, .comm = 1, .peer = 1);
    FOLD_EVENT(.begin = 90, .duration = 20, .kind = CALL_MPI_Bcast, .comm = 1, .peer = 0);
    assert_int_equal(thread.nested_time, 3);
    assert_int_equal(thread.call_time[CALL_MPI_Send] + thread.call_time[CALL_MPI_Bcast] - thread.nested_time, 20);
}

TEST(call_without_a_communicator_touches_the_thread_alone)
{
    struct comm_cells before = cells;
    for (unsigned kind = 1; kind < CALL_COUNT; kind++)
        FOLD_COMPLETED(.begin = 5, .duration = 2, .kind = (uint16_t)kind, .peer = 1, .bytes = 3);
    for (unsigned kind = RECORD_FIRST; kind < RECORD_END; kind++)
        FOLD_COMPLETED(.begin = 5, .duration = 2, .kind = (uint16_t)kind, .peer = 1, .bytes = 3);
    for (unsigned kind = 1; kind < CALL_COUNT; kind++)
        assert_int_equal(thread.call_time[kind], 2);
    assert_memory_equal(&before, &cells, sizeof cells);
}

TEST(unknown_kinds_change_nothing)
{
    struct thread_cells thread_before = thread;
    struct comm_cells before = cells;
    for (unsigned kind = CALL_COUNT; kind <= EVENT_KIND_MASK; kind++)
        if (kind < RECORD_FIRST || kind >= RECORD_END)
            FOLD_EVENT(.begin = 5, .duration = 2, .kind = (uint16_t)kind, .peer = 1, .bytes = 3);
    FOLD_EVENT(.begin = 5, .duration = 60000, .kind = RECORD_COLL_DONE | EVENT_FAILED, .comm = 1);
    assert_memory_equal(&thread_before, &thread, sizeof thread);
    assert_int_equal(cells.coll_bytes, before.coll_bytes);
}

TEST(low_of_a_level_is_reached_by_completions)
{
    shared.sends = (struct level_cells){.now = 5, .high = 0, .low = LOW_NEUTRAL};
    level_subtract(false, &shared.sends, 2);
    level_add(false, &shared.sends, 1);
    level_check(&shared.sends, 4, 4, 3);
    level_subtract(true, &shared.sends, 4);
    level_add(true, &shared.sends, 9);
    level_check(&shared.sends, 9, 9, 0);
}

enum { ROUNDS = 200000, WORKERS = 4 };

static void *levels_change(void *argument)
{
    struct level_cells *level = argument;
    for (int i = 0; i < ROUNDS; i++) {
        level_add(true, level, 3);
        level_subtract(true, level, 3);
    }
    return NULL;
}

TEST(concurrent_levels_lose_nothing)
{
    pthread_t workers[WORKERS];
    shared.bytes = (struct level_cells){.now = 10, .high = 0, .low = LOW_NEUTRAL};
    for (int i = 0; i < WORKERS; i++)
        pthread_create(&workers[i], NULL, levels_change, &shared.bytes);
    for (int i = 0; i < WORKERS; i++)
        pthread_join(workers[i], NULL);
    EQUALS({shared.bytes.now, 10}, {shared.bytes.low, 10});
    assert_in_range(shared.bytes.high, 13, 10 + 3 * WORKERS);
}

/* What was counted in a call goes to the place of its kind, and what before it to the one outside. */
TEST(counters_go_where_the_thread_was)
{
    static struct counter_cells counters;
    const struct {
        unsigned kind, place;
    } calls[] = {{CALL_MPI_Send, PLACE_P2P},   {CALL_MPI_Waitall, PLACE_COMPLETION}, {CALL_MPI_Bcast, PLACE_COLLECTIVE},
                 {CALL_MPI_Put, PLACE_ACCESS}, {CALL_MPI_File_open, PLACE_ACCESS},   {CALL_MPI_Comm_dup, PLACE_OTHER}};
    uint64_t outside = 0, wanted[PLACE_COUNT] = {0};
    memset(&counters, 0, sizeof counters);
    tally.counters = &counters;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        uint64_t before = (UINT64_C(3) << 32) + i, inside = UINT64_MAX / 16 + i;
        struct event event = counter_event(COUNTER_ASKED + 2, calls[i].kind, 100, before, inside);
        assert_int_equal(counter_of(&event), COUNTER_ASKED + 2);
        assert_int_equal(counter_call(&event), calls[i].kind);
        assert_true(counter_outside(&event) == before);
        fold(&tally, NULL, &event, NULL);
        outside += before;
        wanted[calls[i].place] += inside;
    }
    struct event last = counter_event(COUNTER_ASKED + 2, CALL_NONE, 100, 7, 0);
    fold(&tally, NULL, &last, NULL);
    wanted[PLACE_OUTSIDE] = outside + 7;
    assert_memory_equal(counters.count[COUNTER_ASKED + 2], wanted, sizeof wanted);
    struct event beyond = counter_event(COUNTER_COUNT, CALL_MPI_Send, 100, 7, 7); /* of a damaged file */
    fold(&tally, NULL, &beyond, NULL);
    assert_int_equal(counters.count[COUNTER_COUNT - 1][PLACE_OUTSIDE], 0);
    tally.counters = NULL;
}

/* Figures of a phase come with its event. One inside of itself only counts. */
TEST(phase_adds_its_figures)
{
    struct region_cells region = {.count = 1, .calls = 1};
    struct event phase = {.begin = 100,
                          .duration = EVENT_DURATION_WIDE,
                          .kind = EVENT_REGION | EVENT_WIDE | EVENT_CALLS,
                          .tag = -1, /* the low half of the calls */
                          .bytes = 30};
    struct event_extension more = {.duration = 900, .reserved = 2, .bytes_out = 20, .bytes_high = 7};
    tally.region = &region;
    fold(&tally, NULL, &phase, &more);
    const struct region_cells expected = {2, 900, (UINT64_C(3) << 32), 30, 20, 7};
    assert_memory_equal(&region, &expected, sizeof region);
    phase.kind |= EVENT_NESTED;
    fold(&tally, NULL, &phase, &more);
    phase.kind = EVENT_REGION;
    phase.duration = 5;
    fold(&tally, NULL, &phase, NULL);
    EQUALS({region.count, 4}, {region.time, 905}, {region.mpi_time, 30});
}
