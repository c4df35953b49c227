/* Each rule on a summary that has exactly its fault, and on one without it. A run lasts 10 s. */
#define _GNU_SOURCE
#include "unittest.h"

#include "findings/curekind.h"
#include "findings/findings.h"
#include "report/summary_screen.h"
#include "summary/summarysites.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECOND UINT64_C(1000000000)

static struct summary job;
static struct findings found;

/* Adds a rank that computes `useful`, stalls `stall`, and works in MPI for the rest. */
static void rank_add(const char *host, double useful, double stall)
{
    struct summary_row row = {.rank = (int32_t)job.row_count,
                              .pid = (uint32_t)job.row_count + 1,
                              .run_ns = 10 * SECOND,
                              .mpi_ns = (uint64_t)((10 - useful) * 1e9),
                              .stall_ns = (uint64_t)(stall * 1e9),
                              .useful_ns = (uint64_t)(useful * 1e9),
                              .processors = 1,
                              .processor_set = job.row_count + 1,
                              .threads = 1};
    assert_int_equal(summary_row_add(&job, row, host), 0);
    job.ranks++;
    job.stall_known++;
    job.run_seconds.sum += 10;
}

/* Adds a site in halo.c:72 exchange. Times are seconds of all ranks. */
static struct summary_site *site_add(unsigned kind, uint64_t count, double seconds, double stall)
{
    struct summary_sites *sites = &job.sites;
    sites->frames = realloc(sites->frames, (sites->frame_count + 1) * sizeof *sites->frames);
    sites->list = realloc(sites->list, (sites->count + 1) * sizeof *sites->list);
    assert_true(sites->frames && sites->list);
    sites->frames[sites->frame_count] = (struct summary_frame){.function = summary_text_add(sites, "exchange"),
                                                               .file = summary_text_add(sites, "/home/ann/halo.c"),
                                                               .line = 72};
    sites->list[sites->count] = (struct summary_site){.hash = sites->count + 1,
                                                      .kind = kind,
                                                      .first_frame = (uint32_t)sites->frame_count++,
                                                      .frame_count = 1,
                                                      .count = count,
                                                      .time_ns = (uint64_t)(seconds * 1e9),
                                                      .stall_ns = (uint64_t)(stall * 1e9),
                                                      .ranks = job.ranks,
                                                      .least_rank = -1,
                                                      .most_rank = -1};
    job.calls[kind].count += count;
    return &sites->list[sites->count++];
}

static int begin(void **state)
{
    (void)state;
    job = (struct summary){.timed = 1, .run_seconds = {.min = 10, .max = 10}};
    snprintf(job.mpi, sizeof job.mpi, "Open MPI");
    return 0;
}

static int end(void **state)
{
    (void)state;
    summary_release(&job);
    return 0;
}

static const struct finding *finding_named(const char *rule)
{
    for (size_t i = 0; i < found.count; i++)
        if (strcmp(found.list[i].rule, rule) == 0)
            return &found.list[i];
    return NULL;
}

/* The rule is first, costs so many seconds, and its text has these words. */
static void first_check(const char *rule, double seconds, const char *words)
{
    findings_find(&found, &job);
    assert_true(found.known);
    assert_true(found.count > 0);
    assert_string_equal(found.list[0].rule, rule);
    if (!strstr(found.list[0].text, words))
        print_error("'%s' is not in '%s'\n", words, found.list[0].text);
    assert_non_null(strstr(found.list[0].text, words));
    if (fabs(found.list[0].seconds - seconds) > 1e-6)
        print_error("%f is not %f: %s\n", found.list[0].seconds, seconds, found.list[0].text);
    assert_true(fabs(found.list[0].seconds - seconds) < 1e-6);
    assert_true(fabs(found.list[0].share_of_run - seconds / 10) < 1e-6);
}

static void absent_check(const char *rule)
{
    findings_find(&found, &job);
    assert_true(found.known);
    assert_null(finding_named(rule));
}

static void ranks_add(unsigned count, double useful, double stall)
{
    while (count-- > 0)
        rank_add("node1", useful, stall);
}

TEST(nothing_stands_out_of_a_good_job)
{
    ranks_add(4, 9.9, 0.05);
    site_add(CALL_MPI_Allreduce, 400, 0.2, 0.2)->bytes_out = 4 << 20;
    findings_find(&found, &job);
    assert_true(found.known);
    assert_int_equal(found.count, 0);
}

TEST(without_times_nothing_is_known)
{
    ranks_add(3, 2, 7);
    rank_add("node1", 9, 0);
    job.timed = 0;
    findings_find(&found, &job);
    assert_false(found.known);
    assert_int_equal(found.count, 0);
}

TEST(load_imbalance_names_the_long_rank)
{
    ranks_add(2, 4, 5.9);
    rank_add("node1", 9.9, 0);
    rank_add("node1", 4, 5.9);
    site_add(CALL_MPI_Allreduce, 40, 17.7, 17.7)->bytes_out = 4 << 20;
    first_check("load_imbalance", 9.9 - 21.9 / 4, "Rank 2 computes 9.90 s outside of MPI, the mean is 5.47 s");
    assert_non_null(strstr(found.list[0].text, "MPI_Allreduce (halo.c:72 exchange)"));
    assert_int_equal(found.list[0].causes.count, 1);
    assert_int_equal(found.list[0].causes.ranks[0], 2);
    assert_null(finding_named("late_rank"));
}

TEST(late_rank_works_in_mpi_while_others_wait)
{
    rank_add("node1", 4, 0);
    ranks_add(3, 4, 6);
    site_add(CALL_MPI_Bcast, 4, 18, 18)->bytes_out = 1 << 20;
    first_check("late_rank", 10 - (10 + 4 * 3) / 4.0, "Rank 0 may come late: it waits 0 s in MPI, the others 6.00 s");
    assert_int_equal(found.list[0].causes.ranks[0], 0);
    for (size_t i = 1; i < job.row_count; i++)
        job.rows[i].stall_ns = 0; /* nobody waits */
    absent_check("late_rank");
}

TEST(small_messages_count_when_they_cost)
{
    ranks_add(2, 5, 0);
    struct summary_site *site = site_add(CALL_MPI_Send, 1000000, 10, 0);
    site->sent = site->small = 1000000;
    site->bytes_out = 8000000;
    first_check("small_messages", 5,
                "500,000 small messages of a rank (8 B on average) cost it 5.00 s without its waits");
    site->bytes_out = 8000000000;
    absent_check("small_messages");
}

TEST(few_small_messages_are_no_finding)
{
    ranks_add(2, 5, 0);
    struct summary_site *site = site_add(CALL_MPI_Send, 10, 10, 0);
    site->sent = site->small = 10;
    absent_check("small_messages");
}

TEST(polling_is_tests_that_find_nothing)
{
    ranks_add(2, 5, 0);
    struct summary_site *site = site_add(CALL_MPI_Test, 1000000, 10, 0);
    site->empty = 999999;
    first_check("polling", 5, "499,999 of 500,000 polls of a rank find nothing and take 5.00 s");
    site->empty = 500000;
    absent_check("polling");
}

TEST(probes_that_find_messages_are_no_polling)
{
    ranks_add(2, 5, 0);
    site_add(CALL_MPI_Iprobe, 1000000, 10, 0);
    first_check("polling", 5, "500,000 of 500,000 polls of a rank");
    struct summary_comm comm = {.recv_count = 900000};
    job.comms = &comm;
    job.comm_count = 1;
    absent_check("polling");
    job.comms = NULL;
    job.comm_count = 0;
}

TEST(small_collectives_can_be_combined)
{
    ranks_add(2, 5, 0);
    struct summary_site *site = site_add(CALL_MPI_Allreduce, 20000, 10, 0);
    site->bytes_out = site->bytes_in = 8 * 20000;
    first_check("many_small_collectives", 5, "10,000 collectives of a rank with 8 B on average take 5.00 s");
    site->least_ns = SECOND; /* rank 1 comes last, so its time is without waiting */
    site->least_rank = 1;
    first_check("many_small_collectives", 1, "10,000 collectives of a rank with 8 B on average take 1.00 s");
    site_add(CALL_MPI_Send, 20000, 1, 0); /* as many other calls: perhaps none follows another one */
    absent_check("many_small_collectives");
    site = &job.sites.list[0];
    job.sites.count--;
    site->bytes_out = 8000 * 20000;
    absent_check("many_small_collectives");
}

TEST(barriers_cost_what_imbalance_does_not)
{
    ranks_add(2, 4, 6);
    site_add(CALL_MPI_Barrier, 200, 12, 12);
    first_check("barriers", 6, "100 barriers of a rank take 6.00 s");
    job.rows[0].useful_ns = 10 * SECOND;
    job.rows[0].mpi_ns = job.rows[0].stall_ns = 0;
    job.sites.list[0].time_ns = job.sites.list[0].stall_ns = 6 * SECOND;
    absent_check("barriers");
    assert_string_equal(found.list[0].rule, "load_imbalance");
}

TEST(objects_are_made_in_a_loop)
{
    ranks_add(2, 7, 0);
    site_add(CALL_MPI_Comm_dup, 2000, 4, 0);
    site_add(CALL_MPI_Comm_free, 2000, 2, 0);
    first_check("made_in_loop", 3, "2,000 calls of a rank make or free communicators");
    job.sites.list[0].count = job.sites.list[1].count = 2;
    absent_check("made_in_loop");
}

/* site_add puts all sites into one line, each behind a caller of its own as far as the rules know. */
TEST(a_place_is_the_sum_of_its_callers)
{
    ranks_add(2, 5, 0);
    for (int i = 0; i < 40; i++)
        site_add(CALL_MPI_Comm_dup, 20, 0.25, 0);
    first_check("made_in_loop", 5, "400 calls of a rank make or free communicators");
    job.sites.count = 9; /* 90 calls of a rank, all together */
    absent_check("made_in_loop");
    job.sites.count = 0;
    for (int i = 0; i < 40; i++)
        site_add(CALL_MPI_Allreduce, 20, 0.25, 0)->bytes_out = 160;
    struct summary_site *other =
        site_add(CALL_MPI_Send, 700, 0.1, 0); /* fewer than at the place, more than on a path */
    job.sites.frames[other->first_frame].line = 80;
    first_check("many_small_collectives", 5, "400 collectives of a rank with 8 B on average");
    other->count = 900;
    absent_check("many_small_collectives");
}

TEST(small_io_is_read_or_written)
{
    ranks_add(2, 5, 0);
    struct summary_site *site = site_add(CALL_MPI_File_write_at, 10000, 10, 0);
    site->bytes_out = 80000;
    first_check("small_io", 5, "5,000 reads and writes of files of a rank with 8 B on average take 5.00 s");
    site->bytes_out = UINT64_C(10000) << 20;
    absent_check("small_io");
}

TEST(start_longer_than_the_run)
{
    ranks_add(2, 10, 0);
    job.calls[CALL_MPI_Init] = (struct summary_call){2, 30 * SECOND};
    first_check("long_init", 15, "MPI_Init and MPI_Finalize take 15.0 s, longer than the run");
    job.calls[CALL_MPI_Init].time_ns = 10 * SECOND;
    absent_check("long_init");
}

TEST(crowded_hosts_come_first)
{
    ranks_add(3, 2, 7);
    rank_add("node1", 9.9, 0);
    for (size_t i = 0; i < job.row_count; i++)
        job.rows[i].processor_set = job.rows[i].processors = 2;
    first_check("oversubscribed", 5, "4 ranks share 2 processors of node1");
    assert_non_null(finding_named("load_imbalance"));
    assert_null(finding_named("waits_unexplained"));
    for (size_t i = 0; i < job.row_count; i++)
        job.rows[i].processors = 4;
    absent_check("oversubscribed");
}

/* Processor time and run delay of a rank, in seconds. */
static void usage_set(size_t row, double had, double delay)
{
    job.rows[row].usage = (struct run_usage){.user_ns = (uint64_t)(had * 0.75e9),
                                             .system_ns = (uint64_t)(had * 0.25e9),
                                             .run_delay_ns = (uint64_t)(delay * 1e9),
                                             .known = USAGE_TIMES | USAGE_DELAY};
}

static void helpers_set(size_t row, uint32_t processors, uint64_t helpers, double seconds)
{
    usage_set(row, 10 + seconds, 0);
    job.rows[row].processors = processors;
    job.rows[row].usage.helpers = helpers;
    job.rows[row].usage.helper_ns = (uint64_t)(seconds * 1e9);
}

/* A summary may be damaged: such a cure is left out. */
TEST(cures_that_no_replay_finds_are_left_out)
{
    ranks_add(2, 9, 0.5);
    static const struct summary_cure damaged[] = {
        {.kind = -1, .gain_ns = 1},       {.kind = CURE_KINDS},
        {.kind = CURE_LEVELLED},          {.kind = CURE_CHEAP, .group = CALL_GROUPS},
        {.kind = CURE_FREE, .group = -1}, {.kind = CURE_CHEAP, .group = GROUP_NONE}};
    job.traced = (struct summary_traced){.there = true, .replayed = true, .cure_count = 1};
    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
        job.traced.cures[0] = damaged[i];
        findings_find(&found, &job);
        assert_int_equal(found.count, 0);
    }
}

/* 9 s outside of MPI, and 3 s of another thread: 6 s each. */
TEST(threads_that_compute_less_are_idle)
{
    ranks_add(2, 9, 0.5);
    helpers_set(0, 2, 1, 3);
    helpers_set(1, 2, 1, 3);
    findings_find(&found, &job);
    const struct finding *idle = finding_named("idle_threads");
    assert_non_null(idle);
    assert_true(fabs(idle->seconds - 3) < 1e-6);
    assert_non_null(strstr(idle->text, "the run would take 7.00 s in place of 10.0 s"));
    assert_null(idle->around[0]);
    site_add(CALL_MPI_Allreduce, 10, 1, 0);
    job.traced = (struct summary_traced){.there = true, .longest_from = 1, .longest_to = 1}; /* the hash of the site */
    findings_find(&found, &job);
    idle = finding_named("idle_threads");
    assert_non_null(idle);
    assert_ptr_equal(idle->around[1], &job.sites.list[0]);
    assert_non_null(
        strstr(idle->text, " Most of that is between one MPI_Allreduce (halo.c:72 exchange) and the next."));
    helpers_set(1, 2, 1, 9); /* this one's compute as long as it does: the run does not get shorter */
    absent_check("idle_threads");
    helpers_set(1, 1, 1, 3); /* there is no processor for them */
    absent_check("idle_threads");
    helpers_set(1, 2, 0, 0); /* it has none */
    absent_check("idle_threads");
    helpers_set(1, 2, 1, 3);
    job.rows[1].threads = 2; /* which of them call MPI is not known */
    absent_check("idle_threads");
}

/* Four threads of OpenMP. Seconds of all of them. */
static void openmp_set(size_t rank, double serial, double imbalance, double overhead)
{
    job.rows[rank].openmp = (struct row_openmp){.threads = 4,
                                                .regions = 10,
                                                .serial_ns = (uint64_t)(serial * 1e9),
                                                .imbalance_ns = (uint64_t)(imbalance * 1e9),
                                                .overhead_ns = (uint64_t)(overhead * 1e9)};
}

TEST(threads_of_openmp_that_are_idle_have_a_place)
{
    const struct summary_site *site;
    struct summary_site region = {
        .hash = 7, .frame_count = 1, .count = 10, .stall_ns = 1, .overhead_ns = 1, .serial_ns = 1};
    ranks_add(2, 9, 0.5);
    site = site_add(CALL_MPI_Allreduce, 10, 1, 0);
    region.first_frame = site->first_frame;
    job.parallel = job.sites;
    job.parallel.list = &region;
    openmp_set(0, 12, 0, 0);
    openmp_set(1, 8, 0, 0);
    helpers_set(0, 4, 3, 3); /* what the processors tell is no finding then */
    first_check("serial_part", 2,
                "3 of 4 threads of rank 0 are idle for 4.00 s outside of parallel regions, most after the region at "
                "halo.c:72 exchange. Shared by all, the run would take 8.00 s in place of 10.0 s.");
    assert_null(finding_named("idle_threads"));
    openmp_set(0, 0, 8, 0);
    openmp_set(1, 0, 12, 0);
    first_check("openmp_imbalance", 2,
                "Threads of rank 1 wait 3.00 s on average for the slowest thread of a region, most in the region at "
                "halo.c:72 exchange. In balance, the run would take 8.00 s in place of 10.0 s.");
    openmp_set(0, 0, 0, 4);
    openmp_set(1, 0, 0, 4);
    first_check("openmp_overhead", 1, "Threads of rank 0 wait 1.00 s each in parallel regions, though none is slower");
    openmp_set(1, 0.1, 0.1, 0.1); /* this rank would be as long outside of MPI as before */
    for (size_t i = 0; i < 3; i++)
        absent_check((const char *const[]){"serial_part", "openmp_imbalance", "openmp_overhead"}[i]);
    job.parallel = (struct summary_sites){0};
}

static bool lacks(void)
{
    findings_find(&found, &job);
    return found.lack[0];
}

TEST(times_are_not_judged_where_others_took_the_processors)
{
    ranks_add(3, 2, 7);
    rank_add("node1", 9.9, 0);
    assert_false(lacks()); /* it is not known */
    assert_non_null(finding_named("load_imbalance"));
    for (size_t i = 0; i < 4; i++)
        usage_set(i, 8, 1);
    assert_false(lacks());
    usage_set(2, 4, 5); /* one is enough: the others wait for it */
    assert_true(lacks());
    assert_non_null(strstr(found.lack, "Ranks on node1 had a processor for 44.4 % of the time they wanted one"));
    assert_int_equal(found.count, 0);
    job.rows[2].usage.known = USAGE_TIMES; /* a kernel that does not say */
    assert_false(lacks());
    usage_set(2, 0.1, 0.15); /* it sleeps, and wants a processor only for a moment */
    assert_false(lacks());
}

TEST(crowded_ranks_lack_what_others_take)
{
    ranks_add(4, 5, 5);
    for (size_t i = 0; i < 4; i++) {
        job.rows[i].processor_set = job.rows[i].processors = 2;
        usage_set(i, 5, 5); /* they poll by turns */
    }
    assert_false(lacks());
    for (size_t i = 0; i < 4; i++)
        usage_set(i, 2.5, 2.5); /* they sleep for half of the run */
    assert_false(lacks());
    for (size_t i = 0; i < 4; i++)
        usage_set(i, 3, 7);
    assert_true(lacks());
    assert_int_equal(found.count, 1);
    assert_string_equal(found.list[0].rule, "oversubscribed");
    for (size_t i = 0; i < 4; i++) {
        job.rows[i].processors = 4;
        usage_set(i, 5, 45); /* many threads of their own */
    }
    usage_set(0, 40, 400);
    assert_true(lacks());
    for (size_t i = 0; i < 4; i++)
        usage_set(i, 40, 400);
    assert_false(lacks());
}

TEST(all_ranks_of_a_slow_node_are_slow)
{
    for (unsigned i = 0; i < 4; i++)
        rank_add(i < 2 ? "fast" : "slow", i < 2 ? 6 : 9, i < 2 ? 4 : 1);
    first_check("slow_node", 1.5, "All ranks of slow compute longer than any other rank: 9.00 s, the others 6.00 s");
    assert_int_equal(found.list[0].causes.count, 2);
    assert_int_equal(found.list[0].causes.ranks[0], 2);
    assert_null(finding_named("load_imbalance"));
    job.rows[3].useful_ns = 5 * SECOND;
    absent_check("slow_node");
    assert_string_equal(found.list[0].rule, "load_imbalance");
}

TEST(ranks_that_all_wait_may_wait_in_turn)
{
    ranks_add(2, 5, 5);
    site_add(CALL_MPI_Recv, 2, 10, 10)->bytes_in = 1 << 24;
    first_check("waits_unexplained", 5,
                "Each rank waits at least 5.00 s in MPI, most in MPI_Recv (halo.c:72 exchange)");
    job.rows[0].stall_ns = SECOND / 10;
    absent_check("waits_unexplained");
}

TEST(costs_below_two_percent_are_not_said)
{
    rank_add("node1", 9.9, 0.1);
    rank_add("node1", 9.6, 0.1);
    findings_find(&found, &job);
    assert_int_equal(found.count, 0);
    job.rows[0].useful_ns = 0;
    findings_find(&found, &job);
    assert_true(found.count > 0);
}

TEST(findings_are_ordered_by_cost)
{
    ranks_add(2, 3, 0);
    struct summary_site *site = site_add(CALL_MPI_Send, 1000000, 4, 0);
    site->sent = site->small = 1000000;
    site_add(CALL_MPI_File_write_at, 10000, 10, 0);
    findings_find(&found, &job);
    assert_int_equal(found.count, 2);
    assert_string_equal(found.list[0].rule, "small_io");
    assert_string_equal(found.list[1].rule, "small_messages");
}

/* Fills in all that has a line on the screen: notes, oversubscription, findings, sites with long names. */
TEST(late_receives_let_sends_wait)
{
    ranks_add(2, 5, 5);
    site_add(CALL_MPI_Send, 10, 4, 4)->ranks = 1;
    first_check("late_receives", 4,
                "Sends may wait because receives are posted late: 4.00 s of a sending rank on average, most in "
                "MPI_Send (halo.c:72");
    assert_non_null(finding_named("waits_unexplained"));
    job.sites.list[0].kind = CALL_MPI_Bsend;
    absent_check("late_receives");
    job.sites.list[0].kind = CALL_MPI_Send;
    job.rows[1].useful_ns = 10 * SECOND; /* it computes longer: no wonder */
    job.rows[1].mpi_ns = job.rows[1].stall_ns = 0;
    absent_check("late_receives");
}

TEST(hot_spot_receives_for_all)
{
    rank_add("node1", 4, 0);
    ranks_add(3, 4, 5);
    struct summary_site *site = site_add(CALL_MPI_Recv, 3000, 6, 0);
    site->received = 3000;
    site->bytes_in = 3000 << 10;
    job.rows[0].received = 3000;
    job.rows[0].received_bytes = 3000 << 10;
    first_check(
        "hot_spot", 6 - (6 + 3) / 4.0,
        "Rank 0 may be a hot spot: it receives 100.0 % of all bytes, most in MPI_Recv (halo.c:72 exchange), and "
        "works 6.00 s in MPI, the others 1.00 s on average.");
    assert_int_equal(found.list[0].causes.ranks[0], 0);
    assert_null(finding_named("late_rank")); /* it is the same */
    for (size_t i = 1; i < 4; i++)
        job.rows[i].received = 100; /* bytes decide */
    assert_true(found.list[0].seconds > 3);
    first_check("hot_spot", 3.75, "of all bytes");
    for (size_t i = 1; i < 4; i++)
        job.rows[i].received_bytes = 2000 << 10, job.rows[i].received = 1;
    first_check("hot_spot", 3.75, "99.9 % of all messages");
    for (size_t i = 1; i < 4; i++)
        job.rows[i].received = 2000;
    absent_check("hot_spot");
    assert_non_null(finding_named("late_rank"));
}

static void screen_fill(void)
{
    ranks_add(3, 1, 6);
    rank_add("node1", 7, 0);
    for (size_t i = 0; i < job.row_count; i++)
        job.rows[i].processor_set = job.rows[i].processors = 2;
    for (unsigned i = 0; i < 8; i++)
        site_add(CALL_MPI_Neighbor_alltoallw, 1000000, 2, 1)->empty = 0;
    struct summary_site *site = site_add(CALL_MPI_File_write_at, 10000, 8, 0);
    site->bytes_out = 80000;
    for (uint64_t i = 0; i < job.sites.frame_count; i++)
        job.sites.frames[i].function = summary_text_add(
            &job.sites, "solver::multigrid::exchange_boundaries_with_neighbors<double, 3>(field const&, halo const&)");
    job.origin = (struct summary_origin){.told = 1, .begin_ns = SECOND};
    memset(job.origin.command, 'x', sizeof job.origin.command - 1);
    memset(job.origin.user, 'u', sizeof job.origin.user - 1);
    memset(job.origin.scheduler_job, 's', sizeof job.origin.scheduler_job - 1);
    memset(job.mpi, 'm', sizeof job.mpi - 1);
    job.world_size = 400000;
    job.ended_badly = 3;
    job.lost[LOSS_DISK_FULL] = 5;
}

TEST(first_screen_has_24_lines_of_80_columns)
{
    char *text = NULL;
    size_t bytes;
    unsigned lines = 0;
    screen_fill();
    FILE *out = open_memstream(&text, &bytes);
    summary_screen_print(&job, out);
    fclose(out);
    for (char *line = text, *end; (end = strchr(line, '\n')) != NULL; line = end + 1, lines++)
        if (end - line > 80) {
            print_error("%.*s\n", (int)(end - line), line);
            fail();
        }
    if (lines > 22) /* two are for the next command */
        print_error("%s", text);
    assert_true(lines <= 22 && lines > 10);
    assert_non_null(strstr(text, "4 ranks share 2 processors"));
    assert_non_null(strstr(text, "What stands out"));
    assert_non_null(strstr(text, "Call sites by time"));
    assert_non_null(strstr(text, "cause disk_full"));
    free(text);
}

/* gcc takes the text for a variable of this function if it is inline. */
__attribute__((noinline)) static char *screen_made(void)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    assert_non_null(out);
    summary_screen_print(&job, out);
    fclose(out);
    return text;
}

static void screen_check(const char *words, bool there)
{
    char *text = screen_made();
    if (!strstr(text, words) == there)
        print_error("%s", text);
    assert_int_equal(strstr(text, words) != NULL, there);
    free(text);
}

/* The screen has some of the findings, and says how many it leaves out. */
static void left_out_check(bool some)
{
    char *text = screen_made();
    size_t all = 0, shown = 0;
    findings_find(&found, &job);
    for (size_t i = 0; i < found.count; i++)
        all += !found.list[i].note;
    const char *line = strstr(text, "What stands out");
    assert_non_null(line);
    const char *more = strstr(line, " more: mpit-dump --full");
    while (more && more[-1] >= '0' && more[-1] <= '9')
        more--;
    for (const char *end = line; (end = strchr(end, '\n')) && end[1] != '\n'; end++)
        shown += strncmp(end, "\n  ", 3) == 0 && end[7] == '%';
    if (!shown || shown + (more ? strtoul(more, NULL, 10) : 0) != all || !more == some)
        print_error("%zu findings\n%s", all, text);
    assert_true(shown);
    assert_int_equal(shown + (more ? strtoul(more, NULL, 10) : 0), all);
    assert_int_equal(more != NULL, some);
    free(text);
}

TEST(screen_says_how_many_findings_it_leaves_out)
{
    ranks_add(2, 3, 3);
    struct summary_site *site = site_add(CALL_MPI_Send, 1000000, 4, 0);
    site->sent = site->small = 1000000;
    left_out_check(false);
    summary_release(&job);
    begin(NULL);
    screen_fill();
    left_out_check(true);
}

TEST(start_of_mpi_is_a_note)
{
    ranks_add(2, 9.9, 0);
    job.calls[CALL_MPI_Init] = (struct summary_call){2, 30 * SECOND};
    screen_check("  !          MPI_Init and MPI_Finalize take 15.0 s", true);
    screen_check("  Nothing stands out.\n", true);
    ranks_add(1, 2, 0);
    findings_find(&found, &job);
    assert_string_equal(found.list[0].rule, "long_init"); /* before costlier ones */
    assert_true(found.list[0].note && !found.list[1].note);
}

TEST(memory_is_a_note)
{
    ranks_add(4, 9.9, 0);
    for (size_t i = 0; i < job.row_count; i++)
        job.rows[i].memory = (struct row_memory){.peak_bytes = (uint64_t)1 << 30, .node_bytes = (uint64_t)64 << 30};
    findings_find(&found, &job);
    assert_int_equal(found.count, 0);
    job.rows[2].memory.peak_bytes = (uint64_t)14 << 30;
    site_add(CALL_MPI_Bcast, 1, 0.01, 0);
    job.rows[2].memory.peak_site = job.sites.list[0].hash;
    first_check("memory_uneven", 0,
                "Rank 2 needs 14 GiB of memory, the others 1 GiB on average: it had most before MPI_Bcast");
    screen_check("  !          Rank 2 needs 14 GiB of memory", true);
    screen_check("  Nothing stands out.\n", true);
    for (size_t i = 0; i < job.row_count; i++)
        job.rows[i].memory.node_bytes = (uint64_t)18 << 30;
    findings_find(&found, &job);
    assert_non_null(finding_named("memory_full"));
    assert_string_equal(finding_named("memory_full")->text,
                        "4 ranks of node1 need up to 17 GiB of its 18 GiB of memory.");
    job.rows[0].memory.grown_bytes = (uint64_t)512 << 20;
    job.rows[0].memory.grown_ns = 4 * SECOND;
    findings_find(&found, &job);
    assert_string_equal(finding_named("memory_grows")->text,
                        "Rank 0: memory still grew in the second half of the run, by up to 128 MiB a second.");
    job.traced.passes.count = 100;
    job.traced.passes.median_ns = SECOND / 10;
    findings_find(&found, &job);
    assert_string_equal(finding_named("memory_grows")->text,
                        "Rank 0: memory still grew in the second half of the run, by up to 12.8 MiB a pass.");
}

TEST(shared_processors_explain_what_they_cost)
{
    ranks_add(4, 5, 4);
    for (size_t i = 0; i < job.row_count; i++) {
        job.rows[i].processors = 2;
        job.rows[i].processor_set = 7;
    }
    job.traced.replayed = 1;
    job.traced.shared_ns = 4 * SECOND;
    screen_check("  Nothing stands out beside the shared processors.\n", true);
    job.traced.shared_ns = 2 * SECOND;
    screen_check("  No fault that mpit knows explains the efficiency of 50.0 %.\n", true);
}

TEST(low_efficiency_stands_out)
{
    ranks_add(2, 7.9, 0);
    screen_check("  No fault that mpit knows explains the efficiency of 79.0 %.\n", true);
    job.rows[0].useful_ns = job.rows[1].useful_ns = 8 * SECOND;
    screen_check("  Nothing stands out.\n", true);
}

TEST(findings_on_the_screen_have_their_advice)
{
    ranks_add(2, 3, 3);
    struct summary_site *site = site_add(CALL_MPI_Send, 1000000, 4, 0);
    site->sent = site->small = 1000000;
    site_add(CALL_MPI_File_write_at, 10000, 10, 0);
    for (unsigned i = 0; i < 5; i++)
        site_add(CALL_MPI_Recv, 100, 1, 1);
    screen_check("Collect data into", true);
    screen_check("messages to the same rank into one", true);
    job.calls[CALL_MPI_Init] = (struct summary_call){2, 30 * SECOND}; /* its note takes two lines more */
    screen_check("Collect data into", true);
    screen_check("messages to the same rank into one", true);
}

TEST(run_with_a_trace_needs_no_trace)
{
    ranks_add(2, 3, 6);
    site_add(CALL_MPI_Win_lock, 10, 12, 12);
    screen_check("Record a trace", true);
    job.traced.there = true;
    screen_check("Record a trace", false);
    screen_check("timeline", true);
}

TEST(first_screen_splits_communication_with_a_trace)
{
    char *text = NULL;
    size_t bytes;
    ranks_add(2, 4, 5);
    job.traced = (struct summary_traced){.split = true, .ideal_ns = 8 * SECOND};
    FILE *out = open_memstream(&text, &bytes);
    summary_screen_print(&job, out);
    fclose(out);
    assert_non_null(strstr(text, "= load balance 100.0 % x communication 40.0 %\n"
                                 "             communication = serialization 50.0 % x transfer 80.0 %\n"));
    free(text);
}

/* A run of 10 s that a replay makes 4 s shorter. */
static void cure_check(struct summary_cure cure, const char *rule, const char *text, const char *advice)
{
    cure.gain_ns = 4 * SECOND;
    cure.run_ns = 6 * SECOND;
    job.traced =
        (struct summary_traced){.there = true,
                                .replayed = true,
                                .cures = {cure},
                                .cure_count = 1,
                                .placement = {.known = 1, .between_bytes = UINT64_C(3) << 30, .better_bytes = 1 << 30}};
    first_check(rule, 4, text);
    assert_non_null(strstr(found.list[0].advice, advice));
    assert_true(found.list[0].share_of_run > 0.39 && found.list[0].share_of_run < 0.41);
}

TEST(replay_tells_who_takes_longer)
{
    ranks_add(3, 4, 6);
    site_add(CALL_MPI_Send, 300, 1, 1);
    site_add(CALL_MPI_Recv, 300, 1, 1);
    struct summary_cure cure = {.kind = CURE_BALANCED,
                                .causes = {{2}, 1},
                                .from = 1,
                                .to = 2,
                                .own_ns = 8 * SECOND,
                                .others_ns = 2 * SECOND,
                                .waits = 2};
    cure_check(
        cure, "load_imbalance",
        "Rank 2 takes 8.00 s between MPI_Send (halo.c:72 exchange) and MPI_Recv (halo.c:72 exchange), the others "
        "2.00 s. With even times the run would take 6.00 s in place of 10.0 s.",
        "less work");
    assert_int_equal(found.list[0].causes.count, 1);
    assert_int_equal(found.list[0].causes.ranks[0], 2);
    assert_ptr_equal(found.list[0].around[0], &job.sites.list[0]);
    assert_ptr_equal(found.list[0].around[1], &job.sites.list[1]);
    assert_ptr_equal(found.list[0].site, &job.sites.list[1]);
    cure.kind = CURE_AS_OTHERS;
    cure_check(cure, "late_root", "Rank 2 takes 8.00 s between", "ahead");
    cure.from = cure.to = 0; /* without places */
    cure_check(cure, "late_root", "If rank 2 took as long as the others, the run", "ahead");
    cure.from = 1;
    cure.to = 2;
    job.rows[2].received = 1000;
    cure.kind = CURE_EVEN;
    cure_check(cure, "hot_spot", "If rank 2 and the others took equally long", "several ranks");
    cure.kind = CURE_EVEN_WORK;
    cure_check(cure, "hot_spot", "If rank 2 and the others worked equally long in MPI, the run", "several ranks");
    job.rows[2].received = 0;
    cure_check(cure, "late_rank", "Rank 2 works 8.00 s there, without its waits.", "other ranks");
    cure.kind = CURE_BALANCED;
    cure.moves = true;
    cure.causes.count = 0;
    cure_check(cure, "moving_imbalance", "Another rank takes long each time between MPI_Send", "each step");
    cure.moves = false;
    cure.causes.count = 1;
    cure.to = 1;
    cure_check(cure, "load_imbalance", "between one MPI_Send (halo.c:72 exchange) and the next", "less work");
}

TEST(replay_tells_what_need_not_be)
{
    static const struct {
        struct summary_cure cure;
        enum call call;
        const char *rule, *text, *advice;
    } cases[] = {
        {{.kind = CURE_CHEAP, .group = GROUP_SMALL_MESSAGES},
         CALL_MPI_Send,
         "small_messages",
         "If the 1,000 small messages of a rank cost nothing, the run would take 6.00 s in place of 10.0 s. Most of "
         "their time is in MPI_Send (halo.c:72 exchange).",
         "into one"},
        {{.kind = CURE_CHEAP, .group = GROUP_SMALL_COLLECTIVES},
         CALL_MPI_Allreduce,
         "many_small_collectives",
         "small collectives of a rank did no work",
         "Combine"},
        {{.kind = CURE_FREE, .group = GROUP_BARRIERS},
         CALL_MPI_Barrier,
         "barriers",
         "barriers of a rank were not there",
         "Leave out"},
        {{.kind = CURE_FREE, .group = GROUP_OBJECTS},
         CALL_MPI_Comm_dup,
         "made_in_loop",
         "make or free objects",
         "once"},
        {{.kind = CURE_CHEAP, .group = GROUP_SMALL_IO}, CALL_MPI_File_write, "small_io", "reads and writes", "larger"},
        {{.kind = CURE_CHEAP, .group = GROUP_POLLS}, CALL_MPI_Iprobe, "polling", "polls of a rank", "Test less"},
        {{.kind = CURE_RECEIVES_EARLY},
         CALL_MPI_Send,
         "late_receives",
         "If receives were posted before their sends, the run",
         "MPI_Irecv"},
        {{.kind = CURE_POSTS_EARLY},
         CALL_MPI_Win_complete,
         "late_post",
         "If windows were exposed before others access them, the run",
         "MPI_Win_post"},
        {{.kind = CURE_ANY_ORDER, .causes = {{1}, 1}},
         CALL_MPI_Recv,
         "wrong_order",
         "If messages were taken in the order in which they come, the run would take 6.00 s in place of 10.0 s. Rank 1 "
         "waits in MPI_Recv (halo.c:72 exchange).",
         "MPI_ANY_SOURCE"},
        {{.kind = CURE_ON_PROCESSOR, .causes = {{1}, 1}},
         CALL_MPI_Recv,
         "interference",
         "If rank 1 always had a processor, the run would take 6.00 s in place of 10.0 s",
         "other processes"},
        {{.kind = CURE_PLACEMENT},
         CALL_MPI_Recv,
         "placement",
         "If ranks that exchange most were on the same node, the run would take 6.00 s in place of 10.0 s. Messages "
         "between "
         "nodes would have 1 GiB in place of 3 GiB. Most waiting is in MPI_Recv (halo.c:72 exchange).",
         "--export placement"},
        {{.kind = CURE_SENDS_EARLY},
         CALL_MPI_Recv,
         "late_sender",
         "If sends came before the computation",
         "Send first"},
        {{.kind = CURE_PROGRESS},
         CALL_MPI_Recv,
         "no_overlap",
         "If nonblocking transfers ran while ranks compute",
         "MPI_Test"},
        {{.kind = CURE_LOCKS_SHORT}, CALL_MPI_Win_lock, "lock_contention", "while it holds a lock", "before the lock"},
        {{.kind = CURE_AT_ONCE}, CALL_MPI_Recv, "serialization", "in turn, the run would take", "at the same time"},
    };
    ranks_add(2, 4, 6);
    struct summary_site *site = site_add(CALL_MPI_Send, 2000, 6, 1);
    site->sent = 2000;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct summary_cure cure = cases[i].cure;
        site->kind = cases[i].call;
        site->sent = site->kind == CALL_MPI_Send ? 2000 : 0;
        cure.waits = site->hash;
        cure_check(cure, cases[i].rule, cases[i].text, cases[i].advice);
        assert_ptr_equal(found.list[0].site, site);
    }
}

/* Calls without a place may be of the group, and a part of the run has not all of its calls. */
TEST(counts_of_calls_say_what_they_lack)
{
    ranks_add(2, 4, 6);
    site_add(CALL_MPI_Barrier, 2000, 6, 1);
    site_add(CALL_NONE, 5000, 1, 1)->hash = SITE_OTHERS;
    struct summary_cure cure = {.kind = CURE_FREE, .group = GROUP_BARRIERS, .waits = 1};
    cure_check(cure, "barriers", "If the 1,000 or more barriers of a rank were not there, the run would", "Leave out");
    assert_false(found.of_part);
    job.traced.part_ns = 10 * SECOND;
    findings_find(&found, &job);
    assert_true(found.of_part);
    assert_non_null(strstr(found.list[0].text, "If barriers of a rank were not there, the analysed part would take"));
}

/* Cures come in their order, each with the run after those before it, and rules on sums say nothing beside. */
TEST(replayed_cures_add_up)
{
    ranks_add(2, 4, 6);
    site_add(CALL_MPI_Barrier, 2000, 6, 1);
    job.traced = (struct summary_traced){
        .there = true,
        .replayed = true,
        .cure_count = 2,
        .cures = {{.kind = CURE_RECEIVES_EARLY, .gain_ns = 2 * SECOND, .run_ns = 8 * SECOND},
                  {.kind = CURE_FREE, .group = GROUP_BARRIERS, .gain_ns = 3 * SECOND, .run_ns = 5 * SECOND}}};
    findings_find(&found, &job);
    assert_int_equal(found.count, 2);
    assert_string_equal(found.list[0].rule, "late_receives");
    assert_non_null(strstr(found.list[1].text, "it would then take 5.00 s"));
    job.traced.cures[1] = (struct summary_cure){.kind = CURE_BALANCED,
                                                .gain_ns = 3 * SECOND,
                                                .run_ns = 5 * SECOND,
                                                .causes = {{1}, 1},
                                                .from = 1,
                                                .to = 1,
                                                .own_ns = 4 * SECOND,
                                                .off_ns = 3 * SECOND,
                                                .others_ns = SECOND,
                                                .waits = 1};
    findings_find(&found, &job);
    assert_string_equal(
        found.list[1].text,
        "Rank 1 takes 4.00 s between one MPI_Barrier (halo.c:72 exchange) and the next, "
        "the others 1.00 s. It has no processor for 3.00 s of that: it sleeps, reads or waits for one.");
    job.traced.cures[1].off_ns = SECOND;
    findings_find(&found, &job);
    assert_null(strstr(found.list[1].text, "processor"));
    job.traced.cure_count = 0;
    findings_find(&found, &job);
    assert_int_equal(found.count, 0);
    job.traced.replayed = false;
    first_check("barriers", 3, "barriers of a rank");
}

/* Sums over threads count as means of a rank's threads, as useful time does. */
TEST(threads_of_a_rank_share_its_cost)
{
    ranks_add(2, 5, 0);
    job.rows[0].threads = job.rows[1].threads = 4;
    job.rows[0].mpi_ns = job.rows[1].mpi_ns = 20 * SECOND;
    struct summary_site *site = site_add(CALL_MPI_Allreduce, 20000, 40, 0);
    site->bytes_out = site->bytes_in = 8 * 20000;
    first_check("many_small_collectives", 5, "take 5.00 s, most in");
    site->time_ns = 400 * SECOND; /* more than there is */
    first_check("many_small_collectives", 5, "most in");
}

TEST(run_that_was_cut_short_tells_nothing)
{
    ranks_add(2, 5, 0);
    job.rows[1].useful_ns = 8 * SECOND;
    job.ended_badly = 2;
    first_check("load_imbalance", 1.5, "Rank 1 computes");
    for (size_t i = 0; i < job.row_count; i++)
        job.rows[i].run_ns /= 1000, job.rows[i].useful_ns /= 1000;
    findings_find(&found, &job);
    assert_false(found.known);
    job.ended_badly = 0;
    findings_find(&found, &job);
    assert_true(found.known);
    for (size_t i = 0; i < job.row_count; i++)
        job.rows[i].run_ns /= 100, job.rows[i].useful_ns /= 100; /* nothing but noise */
    findings_find(&found, &job);
    assert_false(found.known);
}

TESTS_EACH(begin, end)
