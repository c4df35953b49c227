/* Traces made by hand -> serialization, transfer, and the gain of each cure, to the nanosecond. Each rank's MPI_Init returns
 * at time 0. */
#define _GNU_SOURCE
#include "unittest.h"

#include "analysis/analysis.h"
#include "calls.h"
#include "jobfixture.h"

#include <math.h>
#include <string.h>

static struct run_reader readers[RANKS_MAX];
static struct analysis analysis;
static struct selection selection;

enum { INIT = BEGIN + 100 };
#define AT(rank, at, lasts, ...) PUT(rank, INIT + (at), lasts, __VA_ARGS__)

static void ranks_make(int count)
{
    selection = (struct selection){0};
    for (int r = 0; r < count; r++) {
        rank_make(r, count);
        job.ranks[r].run.header->init_ticks = INIT;
    }
}

/* Rank r enters MPI_Finalize at this time. */
static void ended(int rank, uint64_t at)
{
    PUT_IN(0, rank, INIT + at, 10, CALL_MPI_Finalize, .peer = PEER_NONE);
    job.ranks[rank].run.header->finalize_ticks = INIT + at;
    rank_end(rank, RUN_FINALIZED);
}

static void analyse(int count)
{
    for (int r = 0; r < count; r++)
        assert_int_equal(run_reader_open(&readers[r], job.ranks[r].run.path), 0);
    if (analysis_open(&analysis, readers, (size_t)count, &selection, NULL) != 0)
        fail_msg("%s", analysis.report.error);
}

/* All ranks end together. */
static void analyse_until(int count, uint64_t at)
{
    for (int r = 0; r < count; r++)
        ended(r, at);
    analyse(count);
}

static void release(int count)
{
    analysis_release(&analysis);
    for (int r = 0; r < count; r++)
        run_reader_close(&readers[r]);
}

/* The longest run time and computation, and the run time on the ideal network, which is known. */
static void split_check(int count, uint64_t run, uint64_t useful, uint64_t ideal)
{
    if (analysis.no_ideal)
        fail_msg("%s", analysis.no_ideal);
    assert_int_equal(analysis.ideal.run_ns, run);
    assert_int_equal(analysis.ideal.useful_ns, useful);
    assert_int_equal(analysis.ideal.ideal_ns.least, ideal);
    assert_int_equal(analysis.ideal.ideal_ns.most, ideal);
    assert_int_equal(analysis.ideal.unsure, 0);
    assert_true(fabs(analysis.ideal.world_ns[WORLD_RECORDED] - (double)run) < 1e-6);
    assert_true(fabs(analysis.split.communication - (double)useful / (double)run) < 1e-12);
    assert_true(fabs(analysis.split.serialization - (double)useful / (double)ideal) < 1e-12);
    assert_true(fabs(analysis.split.transfer - (double)ideal / (double)run) < 1e-12);
    release(count);
}

static void unknown_check(int count, const char *reason)
{
    assert_non_null(analysis.no_ideal);
    if (!strstr(analysis.no_ideal, reason))
        fail_msg("%s", analysis.no_ideal);
    release(count);
}

TEST(imbalance_is_neither)
{
    ranks_make(2);
    AT(0, 10000, 10000, CALL_MPI_Barrier, .peer = PEER_NONE);
    AT(1, 20000, 0, CALL_MPI_Barrier, .peer = PEER_NONE);
    analyse_until(2, 20000);
    split_check(2, 20000, 20000, 20000);
}

TEST(chain_is_serialization)
{
    ranks_make(2);
    AT(0, 10000, 0, CALL_MPI_Send, .peer = 1, .tag = 7);
    AT(0, 10000, 10000, CALL_MPI_Recv, .peer = 1, .tag = 7);
    AT(1, 0, 10000, CALL_MPI_Recv, .peer = 0, .tag = 7);
    AT(1, 20000, 0, CALL_MPI_Send, .peer = 0, .tag = 7);
    analyse_until(2, 20000);
    split_check(2, 20000, 10000, 20000);
}

TEST(delay_is_transfer)
{
    ranks_make(2);
    for (int r = 0; r < 2; r++) {
        AT(r, 10000, 5000, CALL_MPI_Sendrecv, .peer = 1 - r, .tag = 7);
        AT(r, 10000, CALL_MPI_Sendrecv, RECORD_RECEIVE, .peer = 1 - r, .tag = 7);
    }
    analyse_until(2, 15000);
    split_check(2, 15000, 10000, 10000);
}

/* 0 computes 10000, the message takes 5000, 1 computes 10000, the message takes 5000. */
TEST(chain_over_a_slow_network_is_both)
{
    ranks_make(2);
    AT(0, 10000, 100, CALL_MPI_Send, .peer = 1, .tag = 7);
    AT(0, 10100, 19900, CALL_MPI_Recv, .peer = 1, .tag = 7);
    AT(1, 0, 15000, CALL_MPI_Recv, .peer = 0, .tag = 7);
    AT(1, 25000, 5000, CALL_MPI_Send, .peer = 0, .tag = 7); /* its receive was posted long before */
    analyse_until(2, 30000);
    split_check(2, 30000, 10000, 20000);
}

TEST(requests_count_where_they_complete)
{
    static const uint64_t sends[] = {8000, 4000}, waits[] = {8100, 6100};
    ranks_make(2);
    for (int r = 0; r < 2; r++) {
        AT(r, 0, 0, CALL_MPI_Irecv, .peer = 1 - r, .tag = 7);
        AT(r, sends[r], 100, CALL_MPI_Isend, .peer = 1 - r, .tag = 7);
        AT(r, waits[r], 14000 - waits[r], CALL_MPI_Waitall, .peer = 2, .tag = 2);
        AT(r, 0, CALL_MPI_Irecv, RECORD_RECV_DONE, .peer = 1 - r, .tag = 7);
        AT(r, sends[r], CALL_MPI_Isend, RECORD_SEND_DONE, .peer = 1 - r, .tag = 7);
    }
    analyse_until(2, 14000);
    split_check(2, 14000, 8000, 8000);
}

/* Both times 0 has waited for the receive, and then computes. */
TEST(synchronous_send_waits_for_its_receive)
{
    static const unsigned sends[] = {CALL_MPI_Ssend, CALL_MPI_Send};
    for (int i = 0; i < 2; i++) {
        ranks_make(2);
        AT(0, 1000, 5000, sends[i], .peer = 1, .tag = 7);
        AT(0, 10000, 0, CALL_MPI_Barrier, .peer = PEER_NONE);
        AT(1, 5000, 1000, CALL_MPI_Recv, .peer = 0, .tag = 7);
        AT(1, 6000, 4000, CALL_MPI_Barrier, .peer = PEER_NONE);
        analyse_until(2, 10000);
        split_check(2, 10000, 5000, 9000);
    }
}

/* A slow network let the receive look early: MPI_Ssend has to wait for it all the same, MPI_Send not. */
TEST(synchronous_send_waits_where_it_did_not)
{
    static const unsigned sends[] = {CALL_MPI_Ssend, CALL_MPI_Send};
    for (int i = 0; i < 2; i++) {
        ranks_make(2);
        AT(1, 0, 0, CALL_MPI_Send, .peer = 0, .tag = 7);
        AT(0, 0, 6000, CALL_MPI_Recv, .peer = 1, .tag = 7);
        AT(1, 5000, 2000, CALL_MPI_Recv, .peer = 0, .tag = 8);
        AT(0, 6000, 1000, sends[i], .peer = 1, .tag = 8);
        AT(0, 8000, 0, CALL_MPI_Barrier, .peer = PEER_NONE);
        AT(1, 7000, 1000, CALL_MPI_Barrier, .peer = PEER_NONE);
        analyse_until(2, 8000);
        split_check(2, 8000, 5000, i == 0 ? 6000 : 5000);
    }
}

TEST(buffered_send_never_waits)
{
    ranks_make(2);
    AT(0, 1000, 5000, CALL_MPI_Bsend, .peer = 1, .tag = 7);
    AT(0, 10000, 0, CALL_MPI_Barrier, .peer = PEER_NONE);
    AT(1, 5000, 1000, CALL_MPI_Recv, .peer = 0, .tag = 7);
    AT(1, 6000, 4000, CALL_MPI_Barrier, .peer = PEER_NONE);
    analyse_until(2, 10000);
    split_check(2, 10000, 5000, 5000);
}

/* Time between polls is kept. A poll in vain takes no time, and needs nothing. */
TEST(polls_keep_the_time_between_them)
{
    ranks_make(2);
    AT(0, 0, 0, CALL_MPI_Irecv, .peer = 1, .tag = 7);
    AT(0, 1000, 100, CALL_MPI_Test, .peer = 1);
    AT(0, 2000, 500, CALL_MPI_Test, .peer = 1, .tag = 1);
    AT(0, 0, CALL_MPI_Irecv, RECORD_RECV_DONE, .peer = 1, .tag = 7);
    AT(1, 2200, 0, CALL_MPI_Send, .peer = 0, .tag = 7);
    AT(1, 2200, 0, CALL_MPI_Send, .peer = 1, .tag = 9);
    AT(1, 2200, 300, CALL_MPI_Recv, .peer = 1, .tag = 9); /* its own */
    analyse_until(2, 2500);
    split_check(2, 2500, 2200, 2200);
}

TEST(waitany_needs_what_it_returned)
{
    ranks_make(3);
    AT(0, 0, 0, CALL_MPI_Irecv, .peer = 1, .tag = 1);
    AT(0, 0, 0, CALL_MPI_Irecv, .peer = 2, .tag = 2);
    AT(0, 0, 3000, CALL_MPI_Waitany, .peer = 2, .tag = 1);
    AT(0, 0, CALL_MPI_Irecv, RECORD_RECV_DONE, .peer = 1, .tag = 1);
    AT(0, 7000, 3000, CALL_MPI_Waitsome, .peer = 1, .tag = 1);
    AT(0, 0, CALL_MPI_Irecv, RECORD_RECV_DONE, .peer = 2, .tag = 2);
    AT(1, 1000, 0, CALL_MPI_Send, .peer = 0, .tag = 1);
    AT(1, 1000, 9000, CALL_MPI_Barrier, .peer = PEER_NONE);
    AT(2, 2000, 0, CALL_MPI_Send, .peer = 0, .tag = 2);
    AT(2, 2000, 8000, CALL_MPI_Barrier, .peer = PEER_NONE);
    AT(0, 10000, 0, CALL_MPI_Barrier, .peer = PEER_NONE);
    analyse_until(3, 10000);
    split_check(3, 10000, 4000, 5000);
}

TEST(persistent_requests_count_from_their_start)
{
    ranks_make(2);
    AT(0, 1000, 0, CALL_MPI_Startall, .peer = 1, .tag = 1);
    AT(0, 1000, CALL_MPI_Recv_init, RECORD_RECV_POSTED, .peer = 1, .tag = 7);
    AT(0, 2000, 4000, CALL_MPI_Wait, .peer = 1, .tag = 1);
    AT(0, 1000, CALL_MPI_Recv_init, RECORD_RECV_DONE, .peer = 1, .tag = 7);
    AT(1, 3000, 0, CALL_MPI_Start, .peer = 0, .tag = 1);
    AT(1, 3000, CALL_MPI_Send_init, RECORD_SEND_POSTED, .peer = 0, .tag = 7);
    AT(1, 3000, 3000, CALL_MPI_Wait, .peer = 1, .tag = 1);
    AT(1, 3000, CALL_MPI_Send_init, RECORD_SEND_DONE, .peer = 0, .tag = 7);
    analyse_until(2, 6000);
    split_check(2, 6000, 3000, 3000);
}

/* By the clock 0 comes last, because of the network. On the ideal one it is 1. */
TEST(last_one_may_be_another)
{
    ranks_make(2);
    AT(1, 0, 0, CALL_MPI_Send, .peer = 0, .tag = 7);
    AT(0, 0, 4000, CALL_MPI_Recv, .peer = 1, .tag = 7);
    AT(0, 9000, 1000, CALL_MPI_Allreduce, .peer = PEER_NONE);
    AT(1, 8000, 2000, CALL_MPI_Allreduce, .peer = PEER_NONE);
    analyse_until(2, 10000);
    split_check(2, 10000, 8000, 8000);
}

/* Ranks come at 1000, 2000, 3000 and leave at 5000. Then each computes for 4000. The last of them decides. */
TEST(collectives_need_what_their_kind_does)
{
    static const struct {
        unsigned function;
        int32_t peer;
        uint64_t ideal;
    } cases[] = {
        {CALL_MPI_Barrier, PEER_NONE, 7000}, {CALL_MPI_Allgather, PEER_NONE, 7000},
        {CALL_MPI_Scan, PEER_NONE, 7000},    {CALL_MPI_Bcast, 0, 7000},
        {CALL_MPI_Reduce, 0, 7000},          {CALL_MPI_Comm_dup, PEER_NONE, 7000},
    };
    static const uint64_t own[][3] = {{7000, 7000, 7000}, {7000, 7000, 7000}, {5000, 6000, 7000},
                                      {5000, 6000, 7000}, {7000, 6000, 7000}, {7000, 7000, 7000}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int shown = 0; shown < 3; shown++) { /* this rank computes 10000 more, so that it decides */
            ranks_make(3);
            for (int r = 0; r < 3; r++) {
                uint64_t enter = 1000 + 1000 * (uint64_t)r;
                AT(r, enter, 5000 - enter, cases[i].function, .peer = cases[i].peer);
                ended(r, r == shown ? 19000 : 9000);
            }
            analyse(3);
            split_check(3, 19000, 15000 + (uint64_t)shown * 1000, own[i][shown] + 10000);
        }
}

TEST(nonblocking_collectives_count_where_they_complete)
{
    ranks_make(2);
    for (int r = 0; r < 2; r++) {
        uint64_t post = r ? 6000 : 1000, wait = r ? 7000 : 2000;
        AT(r, post, 0, CALL_MPI_Ibarrier, .peer = PEER_NONE);
        AT(r, wait, 9000 - wait, CALL_MPI_Wait, .peer = 1, .tag = 1);
        AT(r, post, CALL_MPI_Ibarrier, RECORD_COLL_DONE, .peer = PEER_NONE);
    }
    ended(0, 14000);
    ended(1, 9000);
    analyse(2);
    split_check(2, 14000, 7000, 11000); /* 6000, and 5000 of computation */
}

TEST(probe_waits_where_its_receive_is_posted)
{
    ranks_make(2);
    AT(0, 1000, 4000, CALL_MPI_Probe, .peer = PEER_ANY, .tag = 7);
    AT(0, 7000, 500, CALL_MPI_Recv, .peer = 1, .tag = 7);
    AT(1, 4000, 3500, CALL_MPI_Send, .peer = 0, .tag = 7);
    analyse_until(2, 7500);
    split_check(2, 7500, 4000, 6000); /* the receive is posted in the send: 4000, and 2000 after the probe */
}

/* What a neighborhood collective needs is not known: both bounds are told. */
TEST(unknown_needs_give_bounds)
{
    ranks_make(2);
    AT(0, 1000, 4000, CALL_MPI_Neighbor_allgather, .peer = PEER_NONE);
    AT(1, 4500, 500, CALL_MPI_Neighbor_allgather, .peer = PEER_NONE);
    ended(0, 9000);
    ended(1, 5000);
    analyse(2);
    assert_int_equal(analysis.ideal.ideal_ns.least, 5000);
    assert_int_equal(analysis.ideal.ideal_ns.most, 8500);
    assert_int_equal(analysis.ideal.unsure, 2);
    unknown_check(2, "does not tell for which ranks");
}

/* The barrier afterwards makes the bounds equal again. */
TEST(unknown_needs_may_not_matter)
{
    ranks_make(2);
    for (int r = 0; r < 2; r++) {
        uint64_t enter = r ? 4500 : 1000;
        AT(r, enter, 5000 - enter, CALL_MPI_Neighbor_allgather, .peer = PEER_NONE);
        AT(r, r ? 6000 : 5000, r ? 0 : 1000, CALL_MPI_Barrier, .peer = PEER_NONE);
    }
    analyse_until(2, 6000);
    assert_null(analysis.no_ideal);
    assert_int_equal(analysis.ideal.ideal_ns.least, 5500);
    assert_int_equal(analysis.ideal.ideal_ns.most, 5500);
    assert_int_equal(analysis.ideal.unsure, 2);
    release(2);
}

TEST(windows_gather_their_members)
{
    ranks_make(2);
    for (int r = 0; r < 2; r++) {
        uint64_t enter = r ? 4000 : 1000;
        AT(r, enter, 5000 - enter, CALL_MPI_Win_fence, .peer = PEER_NONE);
    }
    ended(0, 9000);
    ended(1, 5000);
    analyse(2);
    assert_int_equal(analysis.operations.count, 0); /* no finding of its own */
    assert_int_equal(analysis.waits.count, 1);
    split_check(2, 9000, 5000, 8000);
}

/* This fence did not wait for the other rank. */
TEST(fence_that_is_left_early_is_unknown)
{
    ranks_make(2);
    AT(0, 1000, 10, CALL_MPI_Win_fence, .peer = PEER_NONE);
    AT(1, 4000, 10, CALL_MPI_Win_fence, .peer = PEER_NONE);
    analyse_until(2, 5000);
    assert_int_equal(analysis.ideal.unsure, 1);
    assert_null(analysis.no_ideal);
    assert_int_equal(analysis.ideal.ideal_ns.most, 5000 - 10);
    release(2);
}

/* A lock may wait for any rank, but not longer than until all of them are here. */
TEST(lock_may_wait_for_any_rank)
{
    ranks_make(2);
    AT(0, 1000, 4000, CALL_MPI_Win_lock, .peer = 1);
    AT(1, 4500, 0, CALL_MPI_Win_lock, .peer = 1);
    ended(0, 9000);
    ended(1, 5000);
    analyse(2);
    assert_int_equal(analysis.ideal.ideal_ns.least, 5000);
    assert_int_equal(analysis.ideal.ideal_ns.most, 8500);
    assert_true(analysis.unknown_ns == 4000 && analysis.work_ns[0] == 0);
    unknown_check(2, "does not tell for which ranks");
}

TEST(undecided_receive_is_unknown)
{
    ranks_make(2);
    AT(0, 0, 0, CALL_MPI_Irecv, .peer = PEER_ANY, .tag = TAG_ANY);
    AT(0, 0, 0, CALL_MPI_Irecv, .peer = 1, .tag = 5);
    AT(0, 0, 2500, CALL_MPI_Wait, .peer = 1, .tag = 1);
    AT(0, 0, CALL_MPI_Irecv, RECORD_RECV_DONE, .peer = 1, .tag = 5);
    AT(0, 3000, 100, CALL_MPI_Wait, .peer = 1, .tag = 1);
    AT(0, 0, CALL_MPI_Irecv, RECORD_RECV_DONE, .peer = 1, .tag = 6);
    AT(1, 1000, 0, CALL_MPI_Send, .peer = 0, .tag = 5);
    AT(1, 2000, 0, CALL_MPI_Send, .peer = 0, .tag = 6);
    ended(0, 8000);
    ended(1, 2000);
    analyse(2);
    assert_in_range(analysis.ideal.unsure, 1, 2);
    assert_in_range(analysis.ideal.ideal_ns.most, 7400, 7500);
    unknown_check(2, "");
}

TEST(partial_traces_are_unknown)
{
    static const char *const reasons[] = {"not end normally", "mpit_filter", "recording was off", "end of MPI_Init",
                                          "not matched",      "other jobs",  "several threads"};
    for (int i = 0; i < 7; i++) {
        ranks_make(2);
        struct run_header *header = job.ranks[1].run.header;
        for (int r = 0; i == 1 && r < 2; r++)
            strcpy(job.ranks[r].run.header->filter, "-io");
        header->init_ticks = i == 3 ? 0 : header->init_ticks;
        if (i == 2) {
            header->off_count = 1;
            PUT_IN(0, 1, INIT + 1000, 0, EVENT_SWITCHED, .peer = false);
            PUT_IN(0, 1, INIT + 1500, 0, EVENT_SWITCHED, .peer = true);
        }
        if (i == 4)
            AT(1, 1000, 10, CALL_MPI_Recv, .peer = 0, .tag = 7);
        if (i == 5)
            AT(1, 1000, 10, CALL_MPI_Comm_spawn, .peer = PEER_NONE);
        if (i == 6) {
            thread_make(&job.ranks[1], 1);
            event_put(1, 1, (struct event){.begin = 2000, .duration = 5, .kind = CALL_MPI_Barrier, .comm = SELF});
        }
        AT(0, 4000, 10, CALL_MPI_Send, .peer = 0, .tag = 1); /* not received: no harm */
        ended(0, 10000);
        if (i == 0) {
            AT(1, 4000, 10, CALL_MPI_Send, .peer = 0, .tag = 1);
            rank_end(1, RUN_RUNNING);
        } else {
            ended(1, 10000);
        }
        analyse(2);
        unknown_check(2, reasons[i]);
    }
}

/* ---- worlds ------------------------------------------------------------------------------------------------------ */

static const double *crowded; /* and would have a processor each */
static double usual_ns = 1e9; /* of a call */
static const double *had;

static const uint32_t *hosts_now, *hosts_then; /* of the ranks */
static struct transfer_times times;

/* What the cure gains. `group`: of all calls. */
static void gain_check(int count, struct cure cure, const double *factors, double gain)
{
    double run_ns[WORLDS_MOST];
    uint8_t group = (uint8_t)cure.group;
    struct world_plan plan = {.count = WORLDS_FIXED + 1,
                              .crowded = crowded,
                              .factors = factors,
                              .work_factors = factors,
                              .had = had,
                              .groups = &group,
                              .usual_ns = &usual_ns,
                              .hosts = hosts_now,
                              .better_hosts = hosts_then,
                              .host_count = 2,
                              .times = &times,
                              .place_count = 1};
    plan.worlds[WORLDS_FIXED] = (struct world){{cure}, 1};
    assert_null(analysis.no_worlds);
    assert_int_equal(world_plan_open(&plan), 0);
    struct analysis *reading = analysis_replay(&analysis, &plan, NULL);
    assert_non_null(reading);
    memcpy(run_ns, reading->ideal.world_ns, sizeof reading->ideal.world_ns);
    analysis_reading_release(reading);
    world_plan_release(&plan);
    assert_true(fabs(run_ns[WORLD_RECORDED] - (double)analysis.ideal.run_ns) < 1e-6);
    if (fabs(run_ns[WORLD_RECORDED] - run_ns[WORLDS_FIXED] - gain) > 1e-6)
        fail_msg("it gains %g", run_ns[WORLD_RECORDED] - run_ns[WORLDS_FIXED]);
    release(count);
}

/* Rank 1 has no events after 4,000: what rank 0 sends then is no obstacle. */
TEST(brief_trace_is_read_as_far_as_all_have_it)
{
    ranks_make(2);
    for (int r = 0; r < 2; r++) {
        job.ranks[r].run.header->trace_policy = TRACE_BRIEF;
        AT(r, r ? 4000 : 2000, r ? 100 : 2100, CALL_MPI_Barrier, .peer = PEER_NONE);
    }
    for (int i = 0; i < 10; i++)
        AT(0, 5000 + 100 * i, 10, CALL_MPI_Send, .peer = 1);
    *job.ranks[1].cells[0] = CHUNK_EVENTS + 5;
    job.ranks[1].run.header->finalize_ticks = INIT + 10000;
    rank_end(1, RUN_FINALIZED);
    ended(0, 10000);
    analyse(2);
    assert_null(analysis.no_worlds);
    assert_int_equal(analysis.part_ns, 4100);
    assert_int_equal(analysis.ideal.run_ns, 4100);
    gain_check(2, (struct cure){.kind = CURE_EVEN}, (const double[]){1.5, 0.75}, 1000);
}

/* From here on, the events of the rank are the last ones of a long run. */
static void most_lost(int rank)
{
    *job.ranks[rank].cells[0] = 9 * CHUNK_EVENTS;
}

static void analyse_last(int count, uint64_t at)
{
    for (int r = 0; r < count; r++) {
        ended(r, at);
        assert_int_equal(run_reader_open(&readers[r], job.ranks[r].run.path), 0);
    }
    if (analysis_open_last(&analysis, readers, (size_t)count, &selection, NULL) != 0)
        fail_msg("%s", analysis.report.error);
}

/* After 5,000 rank 0 computes 4,000 and rank 1 2,000 before a message: only this one is matched. */
static void last_step_check(void)
{
    AT(0, 9000, 0, CALL_MPI_Send, .peer = 1, .tag = 7);
    AT(1, 7000, 2100, CALL_MPI_Recv, .peer = 0, .tag = 7);
    AT(0, 9000, 100, CALL_MPI_Barrier, .peer = PEER_NONE);
    AT(1, 9100, 0, CALL_MPI_Barrier, .peer = PEER_NONE);
    analyse_last(2, 9100);
    assert_int_equal(analysis.matching.matched, 1);
    assert_int_equal(analysis.part_ns, 4100);
    gain_check(2, (struct cure){.kind = CURE_EVEN}, (const double[]){0.75, 1.5}, 1000);
}

/* Rank 1 lacks its first receives, and a barrier: the last ones belong together. 4,000 against 2,000 before the last. */
TEST(last_part_is_matched_from_the_end)
{
    ranks_make(2);
    for (int r = 0; r < 2; r++)
        most_lost(r);
    AT(0, 1000, 0, CALL_MPI_Send, .peer = 1, .tag = 7);
    AT(0, 1100, 900, CALL_MPI_Barrier, .peer = PEER_NONE);
    AT(0, 3000, 0, CALL_MPI_Send, .peer = 1, .tag = 7);
    for (int r = 0; r < 2; r++)
        AT(r, r ? 5000 : 3100, r ? 0 : 1900, CALL_MPI_Barrier, .peer = PEER_NONE);
    last_step_check();
}

/* Rank 0 lacks sends, whose receives come from anybody. */
TEST(receives_before_the_last_part_match_nothing)
{
    static const int32_t sources[] = {0, PEER_ANY};
    for (int i = 0; i < 2; i++) {
        ranks_make(2);
        most_lost(0);
        AT(1, 900, 0, CALL_MPI_Irecv, .peer = sources[i], .tag = 7);
        AT(1, 1000, 900, CALL_MPI_Wait, .peer = 1, .tag = 1);
        AT(1, 900, CALL_MPI_Irecv, RECORD_RECV_DONE, .peer = 0, .tag = 7);
        for (int r = 0; r < 2; r++)
            AT(r, r ? 3000 : 5000, r ? 2000 : 0, CALL_MPI_Barrier, .peer = PEER_NONE);
        last_step_check();
    }
}

/* The message was there when the call began, and then the rank had no processor for 800. */
TEST(own_processors_gain_stalls_that_wait_for_nothing)
{
    ranks_make(2);
    AT(0, 0, 100, CALL_MPI_Send, .peer = 1);
    AT(0, 100, 1810, CALL_MPI_Barrier, .peer = PEER_NONE);
    AT(1, 1000, 900, CALL_MPI_Recv, .peer = 0);
    AT(1, 1100, CALL_MPI_Recv, RECORD_STALL, .peer = 0, .bytes = 800);
    AT(1, 1900, 10, CALL_MPI_Barrier, .peer = PEER_NONE);
    analyse_until(2, 1910);
    crowded = (const double[]){0, 0};
    gain_check(2, (struct cure){.kind = CURE_PROGRESS}, NULL, 800);
    crowded = NULL;
}

/* 4,000 against 2,000 before a barrier. Rank 1 had no processor for 1,200 of it, and wanted one for half of that. */
TEST(own_processors_gain_the_delay_of_computation)
{
    ranks_make(2);
    AT(0, 2000, 2100, CALL_MPI_Barrier, .peer = PEER_NONE);
    AT(1, 4000, 100, CALL_MPI_Barrier, .peer = PEER_NONE);
    AT(1, 4000, CALL_MPI_Barrier, RECORD_OFF_PROCESSOR, .peer = PEER_NONE, .bytes = 1200);
    analyse_until(2, 4100);
    crowded = (const double[]){0, 0.5};
    gain_check(2, (struct cure){.kind = CURE_PROGRESS}, NULL, 600);
    crowded = NULL;
}

/* Each send takes 10, but one lost its processor and took 2,000: more than eight times the usual time, which the test says. */
TEST(own_processors_gain_calls_that_lost_theirs)
{
    ranks_make(1);
    AT(0, 0, 10, CALL_MPI_Pack, .peer = PEER_NONE);
    AT(0, 100, 2000, CALL_MPI_Pack, .peer = PEER_NONE);
    analyse_until(1, 2100);
    crowded = (const double[]){0};
    usual_ns = 10;
    gain_check(1, (struct cure){.kind = CURE_PROGRESS}, NULL, 2000 - 8 * 10);
    crowded = NULL;
    usual_ns = 1e9;
}

/* 4,000 against 2,000 before a barrier. */
TEST(even_computation_gains_what_the_longest_has_more)
{
    ranks_make(2);
    AT(0, 2000, 2100, CALL_MPI_Barrier, .peer = PEER_NONE);
    AT(1, 4000, 100, CALL_MPI_Barrier, .peer = PEER_NONE);
    analyse_until(2, 4100);
    gain_check(2, (struct cure){.kind = CURE_EVEN}, (const double[]){1.5, 0.75}, 1000);
}

/* The rank is late by its work in MPI: 2,900 against 1,000. Each has 100 in the barrier. */
TEST(even_work_gains_what_the_longest_has_more)
{
    ranks_make(2);
    AT(0, 0, 1000, CALL_MPI_Pack, .peer = PEER_NONE);
    AT(1, 0, 2900, CALL_MPI_Pack, .peer = PEER_NONE);
    AT(0, 1000, 2000, CALL_MPI_Barrier, .peer = PEER_NONE);
    AT(1, 2900, 100, CALL_MPI_Barrier, .peer = PEER_NONE);
    analyse_until(2, 3000);
    gain_check(2, (struct cure){.kind = CURE_EVEN_WORK}, (const double[]){2, 0.5}, 800);
}

/* The send waits 3,000 for its receive, and transfers for 500. */
TEST(early_receives_gain_the_wait_of_the_send)
{
    ranks_make(2);
    AT(0, 1000, 3500, CALL_MPI_Send, .peer = 1);
    AT(1, 4000, 500, CALL_MPI_Recv, .peer = 0);
    ended(0, 6500);
    ended(1, 4500);
    analyse(2);
    gain_check(2, (struct cure){.kind = CURE_RECEIVES_EARLY}, NULL, 2000); /* then rank 1 ends last */
}

/* The receive waits 2,500 for a send that comes after 3,000 of computation. */
TEST(early_sends_gain_the_computation_before)
{
    ranks_make(2);
    AT(0, 3000, 100, CALL_MPI_Send, .peer = 1);
    AT(1, 500, 2700, CALL_MPI_Recv, .peer = 0);
    ended(0, 3100);
    ended(1, 9200);
    analyse(2);
    gain_check(2, (struct cure){.kind = CURE_SENDS_EARLY}, NULL, 2500);
}

/* A message that came before may be what is computed with. */
TEST(early_sends_come_after_a_receive)
{
    ranks_make(2);
    AT(0, 0, 0, CALL_MPI_Send, .peer = 1, .tag = 1);
    AT(1, 0, 100, CALL_MPI_Recv, .peer = 0, .tag = 1);
    AT(1, 3000, 100, CALL_MPI_Send, .peer = 0, .tag = 2);
    AT(0, 500, 2700, CALL_MPI_Recv, .peer = 1, .tag = 2);
    ended(1, 3100);
    ended(0, 9200);
    analyse(2);
    gain_check(2, (struct cure){.kind = CURE_SENDS_EARLY}, NULL, 0);
}

/* Each rank computes 3,000 in its turn. */
TEST(ranks_in_turn_could_work_at_once)
{
    ranks_make(2);
    AT(0, 3000, 100, CALL_MPI_Send, .peer = 1);
    AT(1, 0, 3200, CALL_MPI_Recv, .peer = 0);
    ended(0, 3100);
    ended(1, 6200);
    analyse(2);
    gain_check(2, (struct cure){.kind = CURE_AT_ONCE}, NULL, 3000);
}

/* Work alternates: the sums are even, and each barrier waits for another rank. */
TEST(barriers_let_even_work_wait)
{
    ranks_make(2);
    AT(0, 1000, 2100, CALL_MPI_Barrier, .peer = PEER_NONE);
    AT(1, 3000, 100, CALL_MPI_Barrier, .peer = PEER_NONE);
    AT(0, 6100, 100, CALL_MPI_Barrier, .peer = PEER_NONE);
    AT(1, 4100, 2100, CALL_MPI_Barrier, .peer = PEER_NONE);
    analyse_until(2, 6200);
    gain_check(2, (struct cure){.kind = CURE_FREE, .group = GROUP_BARRIERS}, NULL, 2200);
}

/* Three messages of 100. The loop between them is gone, too. The wait for the first one stays. */
TEST(small_messages_cost_their_work_and_their_loop)
{
    ranks_make(2);
    for (int i = 0; i < 3; i++) {
        AT(0, 6000 + 150 * i, 100, CALL_MPI_Send, .peer = 1);
        AT(1, i ? 6100 + 150 * i : 0, i ? 100 : 6150, CALL_MPI_Recv, .peer = 0);
    }
    ended(0, 13000);
    ended(1, 13500);
    analyse(2);
    gain_check(2, (struct cure){.kind = CURE_CHEAP, .group = GROUP_SMALL_MESSAGES}, NULL, 500);
}

/* The message of rank 0 arrives only when that calls MPI_Wait, after its computation. */
static void late_progress_make(int bytes)
{
    ranks_make(2);
    AT(0, 0, 10, CALL_MPI_Isend, .peer = 1, .tag = 7, .bytes = (uint64_t)bytes);
    AT(0, 5000, 100, CALL_MPI_Wait, .peer = 1, .tag = 1);
    AT(0, 0, CALL_MPI_Isend, RECORD_SEND_DONE, .peer = 1, .tag = 7, .bytes = (uint64_t)bytes);
    AT(1, 100, 4990, CALL_MPI_Recv, .peer = 0, .tag = 7, .bytes = (uint64_t)bytes);
    ended(0, 5100);
    ended(1, 7090);
    analyse(2);
}

TEST(progress_gains_the_wait_for_the_next_call)
{
    late_progress_make(1 << 20);
    uint64_t waited = 0;
    for (size_t i = 0; i < analysis.waits.capacity; i++)
        for (const struct keyed *keyed = analysis.waits.buckets[i]; keyed; keyed = keyed->next)
            if (keyed->key[0] >> 48 == WAIT_LATE_PROGRESS)
                waited += ((const struct analysis_sum *)keyed)->amount;
    assert_int_equal(waited, 4900);
    gain_check(2, (struct cure){.kind = CURE_PROGRESS}, NULL, 7090 - 5100);
}

TEST(small_messages_need_no_progress)
{
    late_progress_make(64);
    gain_check(2, (struct cure){.kind = CURE_PROGRESS}, NULL, 0);
}

/* Rank 1 enters the collective last, at 1,000. But it goes on only when rank 1 calls MPI again, at 60,000: then rank 0 works on. */
TEST(progress_gains_the_wait_for_a_member_of_a_collective)
{
    ranks_make(2);
    for (int r = 0; r < 2; r++) {
        AT(r, 1000 * r, 0, CALL_MPI_Ibarrier, .peer = PEER_NONE);
        AT(r, r ? 60000 : 2000, r ? 0 : 58500, CALL_MPI_Wait, .peer = 1, .tag = 1);
        AT(r, 1000 * r, CALL_MPI_Ibarrier, RECORD_COLL_DONE, .peer = PEER_NONE);
    }
    AT(0, 90000, 0, CALL_MPI_Barrier, .peer = PEER_NONE);
    AT(1, 60000, 30000, CALL_MPI_Barrier, .peer = PEER_NONE);
    analyse_until(2, 90000);
    gain_check(2, (struct cure){.kind = CURE_PROGRESS}, NULL, 30000); /* rank 1 is the last then */
}

/* A damaged trace: the receive was posted for rank 1, and has a message of rank 2. The wait is for the send that it got. */
TEST(damaged_receive_waits_for_its_send)
{
    ranks_make(3);
    AT(1, 500, 10, CALL_MPI_Send, .peer = 0, .tag = 5);
    AT(0, 0, 0, CALL_MPI_Irecv, .peer = 1, .tag = 5);
    AT(0, 0, 2500, CALL_MPI_Wait, .peer = 1, .tag = 1);
    AT(0, 0, CALL_MPI_Irecv, RECORD_RECV_DONE, .peer = 2, .tag = 5);
    analyse_until(3, 3000);
    for (size_t i = 0; i < analysis.causes.capacity; i++)
        for (const struct keyed *keyed = analysis.causes.buckets[i]; keyed; keyed = keyed->next)
            assert_int_equal(keyed->key[1], 1);
    release(3);
}

/* Two ranks compute 2,000 while they hold the lock of rank 0. The second waits for the first. */
TEST(short_locks_gain_the_computation_of_others)
{
    ranks_make(3);
    for (int r = 0; r < 3; r++)
        AT(r, 0, 100, CALL_MPI_Win_create, .peer = PEER_NONE, .tag = 1);
    AT(1, 200, 100, CALL_MPI_Win_lock, .peer = 0, .tag = 1);
    AT(1, 2300, 100, CALL_MPI_Win_unlock, .peer = 0, .tag = 1);
    AT(2, 200, 2200, CALL_MPI_Win_lock, .peer = 0, .tag = 1);
    AT(2, 4400, 100, CALL_MPI_Win_unlock, .peer = 0, .tag = 1);
    ended(0, 200);
    ended(1, 2400);
    ended(2, 4500);
    analyse(3);
    assert_int_equal(analysis.ideal.unsure, 0);
    gain_check(3, (struct cure){.kind = CURE_LOCKS_SHORT}, NULL, 2100); /* the lock is free when rank 2 comes */
}

/* Rank 0 exposes its window when it has computed 3,000. Rank 1 waits for that, and computes 1,000 then. */
TEST(early_posts_gain_the_wait_of_the_origin)
{
    ranks_make(2);
    for (int r = 0; r < 2; r++)
        AT(r, 0, 100, CALL_MPI_Win_create, .peer = PEER_NONE, .tag = 1);
    AT(0, 3100, 0, CALL_MPI_Win_post, .peer = PEER_NONE, .tag = 1);
    AT(0, 3100, 0, RECORD_ARGUMENT, .peer = 1, .tag = 1);
    AT(0, 3100, 100, CALL_MPI_Win_wait, .peer = PEER_NONE, .tag = 1);
    AT(1, 100, 0, CALL_MPI_Win_start, .peer = PEER_NONE, .tag = 1);
    AT(1, 100, 0, RECORD_ARGUMENT, .peer = 0, .tag = 1);
    AT(1, 100, 3000, CALL_MPI_Win_complete, .peer = PEER_NONE, .tag = 1);
    ended(0, 3200);
    ended(1, 4100);
    analyse(2);
    assert_int_equal(analysis.ideal.unsure, 0);
    assert_int_equal(analysis.waits.count, 1);
    gain_check(2, (struct cure){.kind = CURE_POSTS_EARLY}, NULL, 900); /* rank 0 takes 3,200 */
}

/* Rank 1 computes 3,000 in its epoch, and rank 0 waits for the end of that. */
TEST(exposure_ends_with_the_last_access)
{
    ranks_make(3);
    for (int r = 0; r < 3; r++)
        AT(r, 0, 100, CALL_MPI_Win_create, .peer = PEER_NONE, .tag = 1);
    AT(0, 100, 0, CALL_MPI_Win_post, .peer = PEER_NONE, .tag = 1);
    AT(0, 100, 0, RECORD_ARGUMENT, .peer = 1, .tag = 1);
    AT(0, 100, 0, RECORD_ARGUMENT, .peer = 2, .tag = 1);
    AT(0, 100, 3000, CALL_MPI_Win_wait, .peer = PEER_NONE, .tag = 1);
    for (int r = 1; r < 3; r++) {
        AT(r, 100, 0, CALL_MPI_Win_start, .peer = PEER_NONE, .tag = 1);
        AT(r, 100, 0, RECORD_ARGUMENT, .peer = 0, .tag = 1);
        AT(r, r == 1 ? 3100 : 200, 0, CALL_MPI_Win_complete, .peer = PEER_NONE, .tag = 1);
    }
    ended(0, 5100);
    ended(1, 3100);
    ended(2, 200);
    analyse(3);
    assert_int_equal(analysis.waits.count, 1);
    split_check(3, 5100, 3000, 5000);
}

/* A line of three ranks: 0 and 2 do not wait for each other. */
TEST(neighborhood_needs_its_sources)
{
    static const int sources[][2] = {{0, 1}, {1, 0}, {1, 2}, {2, 1}};
    ranks_make(3);
    for (int r = 0; r < 3; r++) {
        AT(r, 0, 0, CALL_MPI_Cart_create, .peer = PEER_NONE);
        for (size_t i = 0; i < 4; i++)
            if (sources[i][0] == r)
                AT(r, 0, 0, RECORD_ARGUMENT, .peer = sources[i][1]);
        uint64_t enter = r == 0 ? 1000 : r == 1 ? 2000 : 4000, leave = r == 0 ? 2000 : 4000;
        AT(r, enter, leave - enter, CALL_MPI_Neighbor_allgather, .peer = PEER_NONE);
    }
    ended(0, 6000);
    ended(1, 4000);
    ended(2, 4000);
    analyse(3);
    assert_int_equal(analysis.neighbours, 0);
    assert_int_equal(analysis.waits.count, 2);
    split_check(3, 6000, 5000, 6000);
}

/* Rank 0 works 1,000 on each message. That of rank 2 comes first, and it asks for the one of rank 1. */
TEST(any_order_gains_the_work_on_what_is_there)
{
    ranks_make(3);
    AT(0, 0, 3000, CALL_MPI_Recv, .peer = 1, .tag = 7);
    AT(0, 4000, 0, CALL_MPI_Recv, .peer = 2, .tag = 7);
    AT(1, 3000, 0, CALL_MPI_Send, .peer = 0, .tag = 7);
    AT(2, 1000, 0, CALL_MPI_Send, .peer = 0, .tag = 7);
    ended(0, 5000);
    ended(1, 3000);
    ended(2, 1000);
    analyse(3);
    gain_check(3, (struct cure){.kind = CURE_ANY_ORDER}, NULL, 1000);
}

/* A wait for two messages has no order, though those of the next step are there. */
TEST(any_order_is_not_of_waits_for_all)
{
    ranks_make(3);
    for (int step = 0; step < 2; step++) {
        uint64_t at = step ? 2000 : 0;
        for (int r = 1; r < 3; r++)
            AT(0, at, 0, CALL_MPI_Irecv, .peer = r, .tag = 7);
        AT(0, at, step ? 0 : 1000, CALL_MPI_Waitall, .peer = 2, .tag = 2);
        for (int r = 1; r < 3; r++)
            AT(0, at, CALL_MPI_Irecv, RECORD_RECV_DONE, .peer = r, .tag = 7);
    }
    AT(1, 0, 0, CALL_MPI_Send, .peer = 0, .tag = 7);
    AT(1, 10, 0, CALL_MPI_Send, .peer = 0, .tag = 7);
    AT(2, 1000, 0, CALL_MPI_Send, .peer = 0, .tag = 7);
    AT(2, 1000, 0, CALL_MPI_Send, .peer = 0, .tag = 7);
    ended(0, 3000);
    ended(1, 10);
    ended(2, 1000);
    analyse(3);
    gain_check(3, (struct cure){.kind = CURE_ANY_ORDER}, NULL, 0);
}

/* A rank that has no source waits for nobody, and that is known. */
TEST(neighborhood_without_sources_needs_nothing)
{
    ranks_make(2);
    for (int r = 0; r < 2; r++) {
        AT(r, 0, 0, CALL_MPI_Dist_graph_create_adjacent, .peer = PEER_NONE);
        AT(r, 0, 0, RECORD_ARGUMENT, .peer = PEER_PROC_NULL);
        if (r == 1)
            AT(1, 0, 0, RECORD_ARGUMENT, .peer = 0);
        AT(r, r ? 1000 : 4000, r ? 3000 : 0, CALL_MPI_Neighbor_alltoall, .peer = PEER_NONE);
    }
    analyse_until(2, 5000);
    assert_int_equal(analysis.ideal.unsure, 0);
    assert_int_equal(analysis.waits.count, 1);
    split_check(2, 5000, 5000, 5000);
}

/* Another process had the processor of rank 1 for half of the time. */
TEST(a_processor_gains_what_others_took)
{
    ranks_make(2);
    AT(0, 1000, 3000, CALL_MPI_Barrier, .peer = PEER_NONE);
    AT(1, 4000, 0, CALL_MPI_Barrier, .peer = PEER_NONE);
    analyse_until(2, 4000);
    had = (const double[]){1, 0.5};
    gain_check(2, (struct cure){.kind = CURE_ON_PROCESSOR}, NULL, 2000);
    had = NULL;
}

/* A thread of rank 0 receives at 3,000 what rank 1 has computed. Another one goes on then, and computes 1,000 if it slept until
 * the message was there. If it slept shorter or longer, it was for another reason. */
TEST(threads_of_a_rank_wait_for_each_other_without_a_processor)
{
    static const struct {
        uint64_t slept, gain;
    } cases[] = {{1000, 0}, {3000, 1500}, {3800, 0}};
    for (int i = 0; i < 3; i++) {
        ranks_make(2);
        thread_make(&job.ranks[0], 1);
        event_put(
            0, 1,
            (struct event){
                .begin = INIT + 100, .duration = 2900, .kind = CALL_MPI_Recv, .comm = WORLD, .peer = 1, .tag = 7});
        AT(0, 4000, 0, CALL_MPI_Barrier, .peer = PEER_NONE);
        AT(0, 4000, CALL_MPI_Barrier, RECORD_OFF_PROCESSOR, .peer = PEER_NONE, .bytes = cases[i].slept);
        AT(1, 3000, 0, CALL_MPI_Send, .peer = 0, .tag = 7);
        AT(1, 4000, 0, CALL_MPI_Barrier, .peer = PEER_NONE);
        analyse_until(2, 4000);
        assert_non_null(strstr(analysis.no_ideal, "several threads"));
        assert_int_equal(analysis.rank_times[0].run_ns, 4000 + 2900);
        assert_int_equal(analysis.rank_times[0].off_ns, cases[i].slept);
        gain_check(2, (struct cure){.kind = CURE_EVEN}, (const double[]){1, 0.5}, (double)cases[i].gain);
    }
}

/* A thread of rank 0 computes until 3,000, and ends. The main one sleeps until then, and computes 1,000 before MPI_Finalize. */
TEST(the_end_waits_for_the_other_threads)
{
    ranks_make(2);
    thread_make(&job.ranks[0], 1);
    for (int i = 0; i < 2; i++)
        event_put(0, 1, (struct event){.begin = INIT + (i ? 3000 : 100), .kind = CALL_MPI_Barrier, .comm = SELF});
    PUT_IN(0, 0, INIT + 4000, 10, CALL_MPI_Finalize, .peer = PEER_NONE);
    PUT_IN(0, 0, INIT + 4000, CALL_MPI_Finalize, RECORD_OFF_PROCESSOR, .peer = PEER_NONE, .bytes = 3000);
    job.ranks[0].run.header->finalize_ticks = INIT + 4000;
    rank_end(0, RUN_FINALIZED);
    ended(1, 4000);
    analyse(2);
    gain_check(2, (struct cure){.kind = CURE_EVEN}, (const double[]){0.5, 0.25}, 1450);
}

/* Two ranks at two visits: 1,000 and 3,000, then 5,000 and 1,000. */
TEST(segments_are_balanced_at_each_visit)
{
    static const double times[2][2] = {{1000, 5000}, {3000, 1000}};
    static const struct {
        enum cure_kind kind;
        double wanted[2][2];
    } cases[] = {
        {CURE_BALANCED, {{2000, 3000}, {2000, 3000}}},
        {CURE_LEVELLED, {{3000, 3000}, {2000, 2000}}},
        {CURE_AS_OTHERS, {{3000, 1000}, {3000, 1000}}}, /* rank 0 */
    };
    struct segments segments = {.no_memory = false};
    uint32_t number = segment_find(&segments, 1, 2);
    for (int32_t r = 0; r < 2; r++)
        for (uint64_t visit = 0; visit < 2; visit++) {
            struct segment_sum *sum = segment_of_rank(&segments, number, r);
            sum->ns += (uint64_t)times[r][visit];
            segment_visit_add(&segments, number, sum->count++, times[r][visit]);
        }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct world_plan plan = {.count = WORLDS_FIXED + 1, .figures = &segments, .segment_count = number + 1};
        plan.worlds[WORLDS_FIXED] = (struct world){
            {{.kind = cases[i].kind, .segment = number, .rank = cases[i].kind == CURE_BALANCED ? -1 : 0}}, 1};
        assert_int_equal(world_plan_open(&plan), 0);
        for (int32_t r = 0; r < 2; r++)
            for (uint64_t visit = 0; visit < 2; visit++) {
                double taken[WORLDS_MOST];
                struct computation is = {r, number, visit, times[r][visit], 0};
                world_plan_compute(&plan, &is, taken, plan.count);
                assert_true(taken[WORLD_RECORDED] == times[r][visit]);
                assert_true(fabs(taken[WORLDS_FIXED] - cases[i].wanted[r][visit]) < 1e-6);
                is.segment = 0; /* another one */
                world_plan_compute(&plan, &is, taken, plan.count);
                assert_true(taken[WORLDS_FIXED] == times[r][visit]);
            }
        world_plan_release(&plan);
    }
    /* after another cure, which makes all of rank 0 twice as long */
    struct world_plan both = {.count = WORLDS_FIXED + 1,
                              .figures = &segments,
                              .segment_count = number + 1,
                              .factors = (const double[]){2, 0.5}};
    both.worlds[WORLDS_FIXED] =
        (struct world){{{.kind = CURE_EVEN}, {.kind = CURE_BALANCED, .segment = number, .rank = -1}}, 2};
    double taken[WORLDS_MOST];
    assert_int_equal(world_plan_open(&both), 0);
    world_plan_compute(&both, &(struct computation){0, number, 0, 1000, 0}, taken, both.count);
    assert_true(fabs(taken[WORLDS_FIXED] - 4000) < 1e-6);
    world_plan_release(&both);
    segments_release(&segments);
}

TEST(usual_work_is_the_median)
{
    struct place_works works = {NULL, 0};
    assert_true(place_work_usual(&works, 3, false) == 0);
    for (int i = 0; i < 100; i++)
        place_work_add(&works, 3, i < 60 ? 1000 + i : 1e7, 100);
    assert_true(fabs(place_work_usual(&works, 3, false) - 1000) < 200);
    assert_true(fabs(place_work_usual(&works, 3, true) - 100) < 20);
    assert_true(place_work_usual(&works, 2, false) == 0);
    place_work_add(&works, 5, 0, 0);
    assert_true(place_work_usual(&works, 5, false) < 2);
    place_work_add(&works, 6, 1e300, 1);
    assert_true(place_work_usual(&works, 6, false) > 1e11);
    place_works_release(&works);
}

TESTS_EACH(job_directory_make, job_directory_remove)

/* A message takes 5,000 between nodes, and 500 inside. There and back. */
static void answered(uint64_t way)
{
    ranks_make(2);
    AT(0, 1000, 100, CALL_MPI_Send, .peer = 1, .tag = 7);
    AT(1, 0, 1000 + way, CALL_MPI_Recv, .peer = 0, .tag = 7);
    AT(1, 1000 + way, 100, CALL_MPI_Send, .peer = 0, .tag = 7);
    AT(1, 1100 + way, way - 100, CALL_MPI_Barrier, .peer = PEER_NONE);
    AT(0, 1100, 2 * way - 100, CALL_MPI_Recv, .peer = 1, .tag = 7);
    AT(0, 1000 + 2 * way, 0, CALL_MPI_Barrier, .peer = PEER_NONE);
    analyse_until(2, 1000 + 2 * way);
}

TEST(another_order_of_ranks_changes_the_way_of_messages)
{
    static const uint32_t apart[] = {0, 1}, together[] = {1, 1};
    for (unsigned between = 0; between < 2; between++)
        for (unsigned i = 0; i < BUCKET_COUNT; i++)
            times.ns[between][i] = i ? -1 : between ? 5000 : 500;
    hosts_now = apart;
    hosts_then = together;
    answered(5000);
    gain_check(2, (struct cure){.kind = CURE_PLACEMENT}, NULL, 9000);
    hosts_now = together;
    hosts_then = apart;
    answered(500);
    gain_check(2, (struct cure){.kind = CURE_PLACEMENT}, NULL, -9000);
    hosts_then = together;
    answered(500);
    gain_check(2, (struct cure){.kind = CURE_PLACEMENT}, NULL, 0);
}

/* Times by size: known ones, between them, smaller, larger. */
TEST(times_of_messages_follow_their_sizes)
{
    static struct network network;
    static struct trace_rank on[] = {{.host = 0}, {.host = 1}};
    const struct trace_job two = {.ranks = on, .size = 2, .host_count = 2};
    for (uint64_t i = 0; i < 300; i++) {
        network_add(&network, &two, 0, 1, (struct large_message){i == 7 ? 900000 : 2000, 8});
        network_add(&network, &two, 1, 0, (struct large_message){100000 + 10 * (i % 3), 100000});
        network_add(&network, &two, 1, 1, (struct large_message){1, 8}); /* its own */
    }
    for (uint64_t i = 0; i < 3; i++)
        network_add(&network, &two, 0, 1, (struct large_message){5, 1 << 12}); /* too few */
    transfer_times_find(&times, &network);
    assert_true(transfer_ns(&times, false, 8) < 0);
    assert_true(fabs(transfer_ns(&times, true, 8) - 2000) < 1e-6);
    assert_true(fabs(transfer_ns(&times, true, 0) - 2000) < 1e-6);
    assert_true(fabs(transfer_ns(&times, true, 100000) - 100010) < 1e-6);
    assert_true(fabs(transfer_ns(&times, true, 1000000) - 1000100) < 1e-6);
    assert_true(fabs(transfer_ns(&times, true, 50004) - (2000 + 98010 * 49996.0 / 99992)) < 1e-6);
}
