/* Which post a completion belongs to, where the tick of the post does not say it alone: in the table, and in archives. */
#define _GNU_SOURCE
#include "unittest.h"

#include "archivefixture.h"
#include "calls.h"
#include "trace/requestpairs.h"

static struct trace_requests requests;

FIXTURE(release)
{
    trace_requests_release(&requests);
}

static uint64_t post(uint64_t begin, int32_t peer, int32_t tag)
{
    struct event event = {.begin = begin, .kind = CALL_MPI_Isend, .comm = 1, .peer = peer, .tag = tag};
    return trace_requests_add(&requests, REQUEST_IS_SEND, &event);
}

static uint64_t complete(uint64_t begin, int32_t peer, int32_t tag)
{
    struct event event = {.begin = begin, .duration = CALL_MPI_Isend, .comm = 1, .peer = peer, .tag = tag};
    return trace_requests_take(&requests, REQUEST_IS_SEND, &event);
}

/* Some more than there is room for at first, and in the same buckets as others. */
TEST_WITH(those_of_one_tick_are_told_apart, NULL, release)
{
    enum { COUNT = 1500, STEP = 7 };
    uint64_t ids[COUNT], others[COUNT];
    for (int i = 0; i < COUNT; i++) {
        ids[i] = post(1000, i % 3, i / 3);
        others[i] = post(2000 + (uint64_t)i, 0, 1);
    }
    assert_int_equal(requests.count, 2 * COUNT);
    for (int i = 0, k = 0; i < COUNT; i++, k = (k + STEP) % COUNT) {
        assert_int_equal(complete(1000, k % 3, k / 3), ids[k]);
        assert_int_equal(complete(2000 + (uint64_t)k, 0, 1), others[k]);
    }
    assert_int_equal(requests.count, 0);
    assert_int_equal(complete(1000, 0, 0), 0);
}

/* Of equal ones the first goes first, whatever was freed before it, and however the table has grown. */
TEST_WITH(equal_ones_go_in_their_order, NULL, release)
{
    enum { COUNT = 1000 };
    uint64_t ids[COUNT];
    for (int i = 0; i < 100; i++)
        post(500, 0, i);
    for (int i = 99; i >= 0; i -= 3)
        assert_int_not_equal(complete(500, 0, i), 0);
    for (int i = 0; i < COUNT; i++)
        ids[i] = post(1000, 4, 4);
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(complete(1000, 4, 4), ids[i]);
}

TEST_WITH(the_best_one_is_taken, NULL, release)
{
    uint64_t any = post(1000, PEER_ANY, TAG_ANY), any_tag = post(1000, 2, TAG_ANY), other = post(1000, 3, 5),
             exact = post(1000, 2, 5), nobody = post(1000, PEER_PROC_NULL, 5);
    assert_int_equal(complete(1000, 2, 5), exact);
    assert_int_equal(complete(1000, 2, 5), any_tag);
    assert_int_equal(complete(1000, 2, 5), any);
    assert_int_equal(complete(1000, 2, 5), other); /* the only one of this tick that is a message */
    assert_int_equal(complete(1000, 2, 5), 0);
    assert_int_equal(complete(1000, PEER_PROC_NULL, 5), nobody);
}

TEST_WITH(only_the_one_of_its_tick_is_found, NULL, release)
{
    struct event found;
    assert_int_equal(trace_requests_find(&requests, 1000, &found), 0);
    uint64_t first = post(1000, 1, 5), second = post(1000, 1, 6);
    assert_int_equal(trace_requests_find(&requests, 1000, &found), 0); /* of which? */
    assert_int_equal(complete(1000, 1, 5), first);
    assert_int_equal(trace_requests_find(&requests, 1000, &found), second);
    EQUALS({found.kind, REQUEST_IS_SEND}, {found.peer, 1}, {found.tag, 6});
    assert_int_equal(complete(1000, 1, 6), second);
    assert_int_equal(trace_requests_find(&requests, 1000, &found), 0);
}

/* What a whole job has used up of its steps says that it is damaged. */
TEST_WITH(steps_have_an_end, NULL, release)
{
    enum { COUNT = 3 * LOOKS_LEAST };
    uint64_t first = 0, last = 0;
    for (int i = 0; i < COUNT; i++) {
        last = post(1000, 1, i);
        first = first ? first : last;
    }
    assert_int_equal(complete(1000, 1, COUNT - 1), last);
    assert_int_equal(requests.looks, COUNT - 1);
    requests.looks = LOOKS_MOST;
    assert_int_equal(complete(1000, 1, COUNT - 2), 0);
    assert_int_equal(requests.looks, (uint64_t)LOOKS_MOST + LOOKS_LEAST);
    assert_int_equal(complete(1000, 1, 0), first);
    assert_int_equal(complete(1000, 1, LOOKS_LEAST), first + LOOKS_LEAST);
    assert_int_equal(complete(1000, 1, LOOKS_LEAST + 2), 0);
    for (int i = 0; i < 5; i++)
        post(2000, 1, i);
    assert_int_not_equal(complete(2000, 1, 4), 0);
    assert_int_not_equal(complete(2000, 1, 9), 0); /* there are few: the best one */
}

/* Part of the ranks, or a communicator with processes of another job: these are not in the archive, but are posted. */
TEST_WITH(what_is_absent_takes_no_others, NULL, release)
{
    struct event found, left = {.begin = 1000, .kind = CALL_MPI_Isend, .comm = 2, .peer = 1, .tag = 5};
    assert_true(trace_requests_add_absent(&requests, REQUEST_IS_SEND, &left));
    assert_int_equal(trace_requests_find(&requests, 1000, &found), 0);
    uint64_t kept = post(1000, 1, 5);
    left = (struct event){.begin = 1000, .duration = CALL_MPI_Isend, .comm = 2, .peer = 1, .tag = 5};
    assert_int_equal(trace_requests_take(&requests, REQUEST_IS_SEND, &left), 0);
    assert_int_equal(requests.count, 1);
    assert_int_equal(complete(1000, 1, 5), kept);
}

/* ---- in archives ------------------------------------------------------------------------------------------------- */

TEST_WITH(requests_of_one_startall_are_told_apart, archive_name, job_directory_remove)
{
    rank_make(0, 1);
    PUT_IN(0, 0, 2000, 10, CALL_MPI_Startall, .tag = 3);
    PUT(0, 2000, 0, RECORD_SEND_POSTED, .peer = 0, .tag = 1, .bytes = 5);
    PUT(0, 2000, 0, RECORD_SEND_POSTED, .peer = 0, .tag = 2, .bytes = 6);
    PUT(0, 2000, 0, RECORD_RECV_POSTED, .peer = 0, .tag = 1);
    PUT(0, 2000, 0, RECORD_RECV_POSTED, .peer = 0, .tag = 2);
    PUT_IN(0, 0, 2100, 10, CALL_MPI_Waitall, .peer = 4, .tag = 4);
    PUT(0, 2000, CALL_MPI_Recv_init, RECORD_RECV_DONE, .peer = 0, .tag = 2, .bytes = 6);
    PUT(0, 2000, CALL_MPI_Recv_init, RECORD_RECV_DONE, .peer = 0, .tag = 1, .bytes = 5);
    PUT(0, 2000, CALL_MPI_Send_init, RECORD_SEND_DONE, .peer = 0, .tag = 2, .bytes = 6);
    PUT(0, 2000, CALL_MPI_Send_init, RECORD_SEND_DONE, .peer = 0, .tag = 1, .bytes = 5);
    PUT(0, 2200, 10, CALL_MPI_Irecv, .peer = 0, .tag = 3);
    PUT_IN(0, 0, 2220, 10, CALL_MPI_Cancel, .tag = 1);
    PUT_IN(0, 0, 2240, 10, CALL_MPI_Wait, .peer = 1, .tag = 1);
    PUT(0, 2200, CALL_MPI_Irecv, RECORD_CANCELLED, .peer = 0, .tag = 1);
    PUT(0, 2260, 10, CALL_MPI_Isend, .peer = 0, .tag = 4, .bytes = 9);
    PUT_IN(0, 0, 2280, 10, CALL_MPI_Request_free, .peer = 1, .tag = 1);
    PUT(0, 2260, CALL_MPI_Isend, RECORD_FREED, .peer = 0, .bytes = 9);
    PUT(0, 2300, 10, CALL_MPI_Recv, .peer = 0, .tag = 4, .bytes = 9);
    rank_end(0, RUN_FINALIZED);
    assert_int_equal(archive_convert(1), 0);
    assert_int_equal(archive.report.warning_count, 0);
    archive_judge(true);
    EQUALS({seen.isends, 3}, {seen.isend_completes, 3}, {seen.irecvs, 2}, {seen.irecv_requests, 3}, {seen.cancels, 1},
           {seen.recvs, 1});
}

/* A test in vain tells its request by the tick of its post alone. */
TEST_WITH(a_test_names_no_other_request, archive_name, job_directory_remove)
{
    rank_make(0, 1);
    PUT_IN(0, 0, 2000, 10, CALL_MPI_Startall, .tag = 2);
    PUT(0, 2000, 0, RECORD_RECV_POSTED, .peer = 0, .tag = 1);
    PUT(0, 2000, 0, RECORD_RECV_POSTED, .peer = 0, .tag = 2);
    PUT_IN(0, 0, 2100, 10, CALL_MPI_Test, .tag = 1, .bytes = 2000); /* of which? */
    PUT(0, 2200, 10, CALL_MPI_Send, .peer = 0, .tag = 1);
    PUT(0, 2300, 10, CALL_MPI_Wait, .peer = 1, .tag = 1);
    PUT(0, 2000, CALL_MPI_Recv_init, RECORD_RECV_DONE, .peer = 0, .tag = 1);
    PUT_IN(0, 0, 2400, 10, CALL_MPI_Test, .tag = 1, .bytes = 2000); /* of the second */
    PUT(0, 2500, 10, CALL_MPI_Send, .peer = 0, .tag = 2);
    PUT(0, 2600, 10, CALL_MPI_Wait, .peer = 1, .tag = 1);
    PUT(0, 2000, CALL_MPI_Recv_init, RECORD_RECV_DONE, .peer = 0, .tag = 2);
    rank_end(0, RUN_FINALIZED);
    assert_int_equal(archive_convert(1), 0);
    archive_judge(true);
    EQUALS({seen.tests, 1}, {seen.irecvs, 2});
}

/* Open MPI lets a program free one; so ends, too, what the recorder has lost sight of. */
TEST_WITH(a_freed_creation_is_cancelled, archive_name, job_directory_remove)
{
    rank_make(0, 1);
    PUT(0, 2000, 10, CALL_MPI_Comm_idup, .peer = PEER_NONE);
    PUT_IN(0, 0, 2100, 10, CALL_MPI_Request_free, .peer = 1, .tag = 1);
    PUT(0, 2000, CALL_MPI_Comm_idup, RECORD_FREED, .peer = PEER_NONE);
    rank_end(0, RUN_FINALIZED);
    assert_int_equal(archive_convert(1), 0);
    archive_judge(true);
    EQUALS({seen.collective_requests, 1}, {seen.cancels, 1}, {seen.isend_completes, 0});
}

/* Ticks may be longer than a call: 40 ns on some machines. */
TEST_WITH(posts_of_one_tick_are_told_apart, archive_name, job_directory_remove)
{
    rank_make(0, 1);
    PUT(0, 2000, 0, CALL_MPI_Irecv, .peer = PEER_PROC_NULL, .tag = 1);
    PUT(0, 2000, 0, CALL_MPI_Irecv, .peer = 0, .tag = 1);
    PUT(0, 2000, 0, CALL_MPI_Isend, .peer = PEER_PROC_NULL, .tag = 1);
    PUT(0, 2000, 1, CALL_MPI_Isend, .peer = 0, .tag = 1, .bytes = 5);
    PUT_IN(0, 0, 2001, 10, CALL_MPI_Waitall, .peer = 4, .tag = 4);
    PUT(0, 2000, CALL_MPI_Irecv, RECORD_RECV_DONE, .peer = PEER_PROC_NULL, .tag = -1);
    PUT(0, 2000, CALL_MPI_Irecv, RECORD_RECV_DONE, .peer = 0, .tag = 1, .bytes = 5);
    PUT(0, 2000, CALL_MPI_Isend, RECORD_SEND_DONE, .peer = PEER_PROC_NULL, .tag = 1);
    PUT(0, 2000, CALL_MPI_Isend, RECORD_SEND_DONE, .peer = 0, .tag = 1, .bytes = 5);
    rank_end(0, RUN_FINALIZED);
    assert_int_equal(archive_convert(1), 0);
    assert_int_equal(archive.report.warning_count, 0);
    archive_judge(true);
    EQUALS({seen.isends, 1}, {seen.isend_completes, 1}, {seen.irecvs, 1});
}

TEST_WITH(persistent_collectives_are_requests_of_their_starts, archive_name, job_directory_remove)
{
    for (int r = 0; r < 2; r++) {
        rank_make(r, 2);
        PUT(r, 1990, 5, CALL_MPI_Bcast_init, .peer = 0);
        PUT_IN(0, r, 2000, 10, CALL_MPI_Startall, .peer = 3, .tag = 3);
        PUT(r, 2000, CALL_MPI_Neighbor_alltoall_init, RECORD_COLL_POSTED, .peer = PEER_NONE);
        PUT(r, 2000, CALL_MPI_Bcast_init, RECORD_COLL_POSTED, .peer = 0);
        PUT(r, 2000, CALL_MPI_Barrier_init, RECORD_COLL_POSTED, .peer = PEER_NONE);
        PUT_IN(0, r, 2100, 10, CALL_MPI_Waitall, .peer = 2, .tag = 2);
        PUT(r, 2000, CALL_MPI_Barrier_init, RECORD_COLL_DONE, .peer = PEER_NONE);
        PUT(r, 2000, CALL_MPI_Neighbor_alltoall_init, RECORD_COLL_DONE, .peer = PEER_NONE, .tag = 6, .bytes = 5);
        PUT_IN(0, r, 2200, 10, CALL_MPI_Request_free, .peer = 1, .tag = 1);
        PUT(r, 2000, CALL_MPI_Bcast_init, RECORD_FREED, .peer = 0, .bytes = 8);
        PUT(r, 2300, 10, CALL_MPI_Neighbor_allgather, .peer = PEER_NONE, .tag = 2, .bytes = 3);
        rank_end(r, RUN_FINALIZED);
    }
    assert_int_equal(archive_convert(2), 0);
    assert_int_equal(archive.report.warning_count, 0);
    archive_judge(true);
    EQUALS({seen.collective_requests, 6}, {seen.collective_completes, 4}, {seen.cancels, 2}, {seen.isend_completes, 0});
}

TEST_WITH(request_may_complete_on_another_thread, archive_name, job_directory_remove)
{
    rank_make(0, 1);
    thread_make(&job.ranks[0], 1);
    event_put(0, 1, (struct event){2000, 10, CALL_MPI_Isend, WORLD, 0, 1, 5});
    event_put(0, 1, (struct event){2000, 20, CALL_MPI_Irecv, WORLD, 0, 1, 5});
    PUT(0, 2005, 50, CALL_MPI_Waitall, .peer = 2, .tag = 2);
    PUT(0, 2000, CALL_MPI_Irecv, RECORD_RECV_DONE, .peer = 0, .tag = 1, .bytes = 5);
    PUT(0, 2000, CALL_MPI_Isend, RECORD_SEND_DONE, .peer = 0, .tag = 1, .bytes = 5);
    rank_end(0, RUN_FINALIZED);
    assert_int_equal(archive_convert(1), 0);
    archive_judge(true);
    EQUALS({archive.report.locations, 2}, {seen.isend_completes, 1}, {seen.irecvs, 1});
}
