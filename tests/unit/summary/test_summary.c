/* Parts of a job's summary: made from run files, merged in any order, packed and unpacked. */
#include "unittest.h"

#include "reader/reader.h"
#include "runfixture.h"
#include "summary/summary.h"
#include "summary/summaryphases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PARTS = 5 };

static struct summary parts[PARTS];

static const char *const names[] = {"MPI_COMM_WORLD", "a", "b/split.1", "c", "MPI_COMM_SELF", "d", "z"};

static void line_fill(struct summary_comm *line, const char *name, unsigned salt)
{
    memset(line, 0, sizeof *line);
    snprintf(line->name, sizeof line->name, "%s", name);
    line->size = 4;
    line->ranks = line->merged = 1;
    line->p2p_time_ns = 10 + salt;
    line->span_ns = 100 * (salt + 1);
    line->send_count = salt;
    line->rma_time_ns = salt * 5;
    line->io_time_ns = salt * 7;
    line->rma_bytes = salt * 11;
    line->io_bytes = salt * 13;
    line->send_bytes = 8 * salt;
    line->small_count = salt;
    line->send_size_count[4] = salt;
    line->recv_size_bytes[39] = salt * 3;
}

static void line_add(struct summary *summary, const char *name, unsigned salt)
{
    struct summary one = {.ranks = 1};
    struct summary_comm line;
    line_fill(&line, name, salt);
    one.comms = &line;
    one.comm_count = 1;
    uint32_t ranks = summary->ranks;
    summary->ranks = summary->ranks ? summary->ranks : 1;
    assert_int_equal(summary_merge(summary, &one), 0);
    summary->ranks = ranks;
}

/* All ranks call one site, and odd ranks another one. */
static void sites_fill(struct summary_sites *sites, unsigned rank)
{
    sites->count = 1 + rank % 2;
    sites->list = calloc(2, sizeof *sites->list);
    assert_non_null(sites->list);
    for (unsigned i = 0; i < sites->count; i++) {
        uint64_t ns = 100 * (rank % 3 + 1) + i;
        sites->list[i] = (struct summary_site){.hash = 5 + i,
                                               .kind = CALL_MPI_Send,
                                               .count = 1,
                                               .time_ns = ns,
                                               .ranks = 1,
                                               .least_ns = ns,
                                               .most_ns = ns,
                                               .least_rank = (int32_t)rank,
                                               .most_rank = (int32_t)rank};
    }
}

static const char *const phases[] = {"solve", "io", "setup"};

static void phase_put(struct summary *part, const char *name, int32_t rank)
{
    struct summary_phase phase = {.rank = rank, .count = 1 + (uint64_t)rank, .run_ns = 100, .mpi_ns = 40};
    snprintf(phase.name, sizeof phase.name, "%s", name);
    assert_int_equal(summary_phase_add(part, &phase), 0);
}

/* Quarters and halves add up exactly in any order. */
static void part_fill(struct summary *part, unsigned rank)
{
    double run = 8 + rank % 3, mpi = 0.25 * (1 + rank);
    *part = (struct summary){.job = 7, .ranks = 1, .world_size = PARTS, .threads = 1 + rank, .events = 10 * rank};
    snprintf(part->mpi, sizeof part->mpi, "Open MPI");
    snprintf(part->program, sizeof part->program, "/bin/heat");
    part->ended_badly = rank == 2;
    part->run_seconds = (struct summary_spread){run, run, run, (int32_t)rank, (int32_t)rank};
    part->mpi_seconds = (struct summary_spread){mpi, mpi, mpi, (int32_t)rank, (int32_t)rank};
    part->mpi_share = (struct summary_spread){0.5, 0.5, 0.5, (int32_t)rank, (int32_t)rank};
    part->lost[LOSS_DISK_FULL] = rank;
    part->calls[CALL_MPI_Send] = (struct summary_call){rank, 100 * rank};
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++)
        if ((rank + i) % 3)
            line_add(part, names[i], rank * 10 + i);
    sites_fill(&part->sites, rank);
    for (unsigned i = 0; i < 3; i++)
        if ((rank + i) % 3)
            phase_put(part, phases[i], (int32_t)rank);
}

FIXTURE(parts_setup)
{
    for (unsigned rank = 0; rank < PARTS; rank++)
        part_fill(&parts[rank], rank);
}

FIXTURE(parts_teardown)
{
    for (unsigned rank = 0; rank < PARTS; rank++)
        summary_release(&parts[rank]);
}

static void same_check(const struct summary *a, const struct summary *b)
{
    size_t a_bytes, b_bytes;
    void *a_flat = summary_pack(a, &a_bytes), *b_flat = summary_pack(b, &b_bytes);
    assert_int_equal(a_bytes, b_bytes);
    assert_memory_equal(a_flat, b_flat, a_bytes);
    free(a_flat);
    free(b_flat);
}

static struct summary merged(const unsigned *order, unsigned count)
{
    struct summary result = {.ranks = 0};
    for (unsigned i = 0; i < count; i++)
        assert_int_equal(summary_merge(&result, &parts[order[i]]), 0);
    return result;
}

TEST_WITH(order_of_merging_does_not_matter, parts_setup, parts_teardown)
{
    const unsigned orders[][PARTS] = {{0, 1, 2, 3, 4}, {4, 3, 2, 1, 0}, {2, 0, 4, 1, 3}, {1, 4, 0, 3, 2}};
    struct summary first = merged(orders[0], PARTS);
    for (unsigned i = 1; i < sizeof orders / sizeof orders[0]; i++) {
        struct summary other = merged(orders[i], PARTS);
        same_check(&first, &other);
        summary_release(&other);
    }
    summary_release(&first);
}

TEST_WITH(pairs_of_merging_do_not_matter, parts_setup, parts_teardown)
{
    const unsigned all[] = {0, 1, 2, 3, 4}, left[] = {0, 1}, right[] = {2, 3, 4};
    struct summary one = merged(all, 5), a = merged(left, 2), b = merged(right, 3);
    assert_int_equal(summary_merge(&a, &b), 0);
    same_check(&one, &a);
    summary_release(&one);
    summary_release(&a);
    summary_release(&b);
}

/* One that had no room for anything: no zeros of it are anybody's least. */
TEST_WITH(processes_without_figures_only_lose, parts_setup, parts_teardown)
{
    struct summary blank = {.job = 7, .world_size = PARTS + 1};
    blank.lost[LOSS_DISK_FULL] = 5;
    for (unsigned rank = 0; rank < PARTS; rank++)
        parts[rank].mpi_share.min = parts[rank].mpi_share.max = 0.5;
    for (unsigned place = 0; place <= PARTS; place++) {
        struct summary sum = {.ranks = 0};
        for (unsigned i = 0; i <= PARTS; i++)
            assert_int_equal(summary_merge(&sum, i == place ? &blank : &parts[i - (i > place)]), 0);
        EQUALS({sum.ranks, PARTS}, {sum.world_size, PARTS + 1}, {sum.ended_badly, 1}, {sum.threads, 15},
               {sum.lost[LOSS_DISK_FULL], 10 + 5});
        assert_true(sum.run_seconds.sum == 8 + 9 + 10 + 8 + 9);
        assert_true(sum.mpi_share.min == 0.5);
        summary_release(&sum);
    }
}

TEST_WITH(merged_summary_is_the_sum_of_its_parts, parts_setup, parts_teardown)
{
    const unsigned all[] = {0, 1, 2, 3, 4};
    struct summary sum = merged(all, PARTS);
    EQUALS({sum.ranks, 5}, {sum.world_size, PARTS}, {sum.ended_badly, 1}, {sum.threads, 15}, {sum.events, 100},
           {sum.lost[LOSS_DISK_FULL], 10}, {sum.calls[CALL_MPI_Send].count, 10},
           {sum.calls[CALL_MPI_Send].time_ns, 1000});
    assert_true(sum.run_seconds.sum == 8 + 9 + 10 + 8 + 9);
    EQUALS({sum.run_seconds.min_rank, 0}, {sum.run_seconds.max_rank, 2});
    assert_true(sum.mpi_seconds.max == 1.25 && sum.mpi_seconds.max_rank == 4);
    assert_int_equal(sum.mpi_share.min_rank, 0); /* the first of equal ones */
    EQUALS({sum.mpi_share.max_rank, 0}, {sum.phase_count, 10});
    assert_string_equal(sum.phases[0].name, "io");
    EQUALS({sum.phases[2].rank, 3}, {sum.phases[2].count, 4}, {sum.comm_count, sizeof names / sizeof names[0]});
    for (size_t i = 1; i < sum.comm_count; i++)
        assert_true(strcmp(sum.comms[i - 1].name, sum.comms[i].name) < 0);
    assert_string_equal(sum.comms[1].name, "MPI_COMM_WORLD");
    const struct summary_comm *world = &sum.comms[1]; /* of ranks 1, 2 and 4 */
    EQUALS({world->ranks, 3}, {world->merged, 1}, {world->send_count, 10 + 20 + 40}, {world->send_size_count[4], 70},
           {world->recv_size_bytes[39], 210}, {world->span_ns, 4100});
    summary_release(&sum);
}

TEST_WITH(sites_know_the_ranks_with_the_least_and_the_most_time, parts_setup, parts_teardown)
{
    const unsigned all[] = {4, 3, 2, 1, 0}, more[] = {0};
    struct summary sum = merged(all, PARTS), old = merged(more, 1);
    const struct summary_site *site = sum.sites.list; /* 100, 200, 300, 100, 200 */
    EQUALS({sum.sites.count, 2}, {site[0].ranks, 5}, {site[0].time_ns, 900}, {site[0].least_ns, 100},
           {site[0].least_rank, 0}, {site[0].most_ns, 300}, {site[0].most_rank, 2});
    assert_int_equal(site[1].ranks, 2); /* 201, 101 */
    EQUALS({site[1].least_rank, 3}, {site[1].most_rank, 1});
    old.sites.list[0].least_rank = -1;
    assert_int_equal(summary_merge(&sum, &old), 0);
    EQUALS({sum.sites.list[0].least_rank, -1}, {sum.sites.list[0].most_rank, -1});
    summary_release(&sum);
    summary_release(&old);
}

TEST_WITH(merging_copies_and_leaves_the_other_as_it_was, parts_setup, parts_teardown)
{
    struct summary before, sum = {.ranks = 0};
    part_fill(&before, 3);
    summary_merge(&sum, &parts[3]);
    summary_merge(&sum, &parts[1]);
    same_check(&before, &parts[3]);
    assert_ptr_not_equal(sum.comms, parts[3].comms);
    summary_release(&before);
    summary_release(&sum);
}

TEST_WITH(packed_summary_comes_back_the_same, parts_setup, parts_teardown)
{
    const unsigned all[] = {0, 1, 2, 3, 4};
    struct summary sum = merged(all, PARTS), back, empty = {.ranks = 0};
    size_t bytes;
    char error[128];
    void *flat = summary_pack(&sum, &bytes);
    assert_int_equal(summary_unpack(&back, flat, bytes, error), 0);
    same_check(&sum, &back);
    assert_ptr_not_equal(back.comms, sum.comms);
    free(flat);
    summary_release(&back);
    flat = summary_pack(&empty, &bytes);
    assert_int_equal(summary_unpack(&back, flat, bytes, error), 0);
    assert_int_equal(back.comm_count, 0);
    assert_null(back.comms);
    free(flat);
    summary_release(&sum);
}

TEST_WITH(cut_pack_is_an_error_at_every_length, parts_setup, parts_teardown)
{
    struct summary back;
    size_t bytes;
    char error[128];
    char *flat = summary_pack(&parts[0], &bytes);
    for (size_t length = 0; length <= bytes + 1; length++) {
        if (length == bytes)
            continue;
        char *cut = calloc(1, length ? length : 1); /* of that length: the sanitizer sees a read behind it */
        memcpy(cut, flat, length < bytes ? length : bytes);
        error[0] = '\0';
        assert_int_equal(summary_unpack(&back, cut, length, error), -1);
        assert_true(error[0] && memchr(error, '\0', sizeof error));
        assert_null(back.comms);
        free(cut);
    }
    free(flat);
}

TEST_WITH(damaged_pack_is_an_error_or_a_summary, parts_setup, parts_teardown)
{
    struct summary back, sum = {.ranks = 0};
    size_t bytes;
    unsigned refused = 0;
    char error[128];
    unsigned char *flat = summary_pack(&parts[1], &bytes), *copy = malloc(bytes);
    srand(5);
    for (unsigned i = 0; i < 4000; i++) {
        memcpy(copy, flat, bytes);
        size_t at = i % 2 ? (size_t)rand() % 48 : (size_t)rand() % bytes;
        copy[at] ^= (unsigned char)(1 + rand() % 255);
        if (summary_unpack(&back, copy, bytes, error) != 0) {
            refused++;
            continue;
        }
        assert_true(back.comm_count <= SUMMARY_COMMS_MAX + 1);
        for (size_t c = 0; c < back.comm_count; c++)
            assert_true(strlen(back.comms[c].name) < COMM_NAME_BYTES);
        assert_true(strlen(back.mpi) < sizeof back.mpi && strlen(back.program) < sizeof back.program);
        assert_int_equal(summary_merge(&sum, &back), 0);
        summary_release(&back);
    }
    assert_true(refused > 1500 && refused < 3000);
    summary_release(&sum);
    free(copy);
    free(flat);
}

/* ---- more communicators than have a line of their own ------------------------------------------------------------ */

enum { MANY = SUMMARY_COMMS_MAX + 50 };

static const struct summary_comm *line_find(const struct summary *summary, const char *name)
{
    for (size_t i = 0; i < summary->comm_count; i++)
        if (strcmp(summary->comms[i].name, name) == 0)
            return &summary->comms[i];
    return NULL;
}

static void crowd_fill(struct summary *summary, unsigned first, unsigned end)
{
    char name[32];
    *summary = (struct summary){.ranks = 1};
    for (unsigned i = first; i < end; i++) {
        snprintf(name, sizeof name, "comm%05u", i);
        line_add(summary, name, 2);
    }
}

static uint64_t sends_of(const struct summary *summary)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < summary->comm_count; i++)
        sum += summary->comms[i].send_count;
    return sum;
}

TEST(communicators_over_the_limit_share_one_line)
{
    struct summary crowd, back;
    size_t bytes;
    char error[128];
    crowd_fill(&crowd, 0, MANY);
    assert_int_equal(crowd.comm_count, SUMMARY_COMMS_MAX + 1);
    const struct summary_comm *others = line_find(&crowd, "(other communicators)");
    assert_non_null(others);
    EQUALS({others->merged, 50}, {others->send_count, 100});
    assert_int_equal(sends_of(&crowd), 2 * MANY);
    void *flat = summary_pack(&crowd, &bytes);
    assert_int_equal(summary_unpack(&back, flat, bytes, error), 0);
    same_check(&crowd, &back);
    free(flat);
    summary_release(&back);
    summary_release(&crowd);
}

TEST(crowds_lose_nothing_when_they_are_merged)
{
    struct summary a, b;
    crowd_fill(&a, 0, MANY);
    crowd_fill(&b, MANY, 2 * MANY);
    assert_int_equal(summary_merge(&a, &b), 0);
    assert_int_equal(a.comm_count, SUMMARY_COMMS_MAX + 1);
    assert_int_equal(sends_of(&a), 4 * MANY);
    uint64_t lines = 0;
    for (size_t i = 0; i < a.comm_count; i++)
        lines += a.comms[i].merged;
    assert_int_equal(lines, 2 * MANY);
    summary_release(&a);
    summary_release(&b);
}

TEST(order_of_merging_crowds_does_not_matter)
{
    struct summary a, b, again_a, again_b;
    crowd_fill(&a, 0, 700);
    crowd_fill(&b, 600, 1400);
    crowd_fill(&again_a, 0, 700);
    crowd_fill(&again_b, 600, 1400);
    assert_int_equal(summary_merge(&a, &b), 0);
    assert_int_equal(summary_merge(&again_b, &again_a), 0);
    assert_int_equal(a.comm_count, again_b.comm_count);
    for (size_t i = 0; i < a.comm_count; i++) {
        assert_string_equal(a.comms[i].name, again_b.comms[i].name);
        assert_int_equal(a.comms[i].send_count, again_b.comms[i].send_count);
    }
    summary_release(&a);
    summary_release(&b);
    summary_release(&again_a);
    summary_release(&again_b);
}

/* ---- from run files ---------------------------------------------------------------------------------------------- */

TEST(part_of_a_run_file_has_its_figures)
{
    struct fixture fixture;
    struct run_reader reader;
    struct summary part;
    fixture_fill(&fixture);
    assert_int_equal(run_reader_open(&reader, fixture.run.path), 0);
    assert_int_equal(summary_of_run(&part, &reader), 0);
    EQUALS({part.job, 7}, {part.ranks, 1}, {part.world_size, 2}, {part.threads, 2}, {part.ended_badly, 0});
    assert_true(part.run_seconds.sum == 1e-3);
    EQUALS({part.calls[CALL_MPI_Send].count, 2 * 8}, {part.calls[CALL_MPI_Recv].time_ns, 2 * 6 * 20},
           {part.comm_count, 2});
    const struct summary_comm *world = line_find(&part, "MPI_COMM_WORLD");
    assert_non_null(world);
    EQUALS({world->size, 320}, {world->send_count, 2 * (6 + 1 + 1 + 1 + 1)}, {world->recv_count, 2 * (6 + 1)},
           {world->recv_bytes, 2 * (600 + 65)}, {world->recv_size_count[7], 2 * (6 + 1)}, {world->coll_count, 2 * 2});
    summary_release(&part);
    run_reader_close(&reader);
    fixture_remove(&fixture);
}

TEST(run_that_broke_off_ended_badly_at_its_last_event)
{
    struct fixture fixture;
    struct run_reader reader;
    struct summary part;
    fixture_open(&fixture);
    fixture_comm_add(&fixture, 1, 2, "MPI_COMM_WORLD");
    fixture_thread_add(&fixture, 0, 8);
    fixture_emit(&fixture, 0,
                 (struct event){.begin = FIXTURE_BEGIN_TICKS + 500, .duration = 500, .kind = CALL_MPI_Send, .comm = 1},
                 NULL);
    fixture_close(&fixture, RUN_RUNNING);
    assert_int_equal(run_reader_open(&reader, fixture.run.path), 0);
    assert_int_equal(summary_of_run(&part, &reader), 0);
    assert_int_equal(part.ended_badly, 1);
    assert_true(part.run_seconds.sum == 1e-6);
    assert_true(part.mpi_share.sum == 0.5);
    summary_release(&part);
    run_reader_close(&reader);
    fixture_remove(&fixture);
}

/* Calls on no communicator are the last ones of a program that polls until it is killed; one is too long for its event;
 * behind one stands what another library has counted since. */
TEST(killed_run_lasts_to_its_last_call)
{
    for (unsigned variant = 0; variant < 3; variant++) {
        bool wide = variant == 1;
        struct fixture fixture;
        struct run_reader reader;
        struct summary part;
        struct event_extension more = {.duration = 2500, .kind = RECORD_EXTENSION};
        struct event test = {.begin = FIXTURE_BEGIN_TICKS + 1500, .duration = 500, .kind = CALL_MPI_Test};
        test.kind |= wide ? EVENT_WIDE : 0;
        fixture_open(&fixture);
        fixture_comm_add(&fixture, 1, 2, "MPI_COMM_WORLD");
        fixture_thread_add(&fixture, 0, 512);
        fixture_emit(
            &fixture, 0,
            (struct event){.begin = FIXTURE_BEGIN_TICKS + 500, .duration = 500, .kind = CALL_MPI_Send, .comm = 1},
            NULL);
        fixture_emit(&fixture, 0, test, wide ? &more : NULL);
        for (unsigned i = 0; i < 300 && variant == 2; i++)
            fixture_emit(&fixture, 0, (struct event){.begin = FIXTURE_BEGIN_TICKS + 2500 + i, .kind = EVENT_METRIC},
                         NULL);
        fixture_close(&fixture, RUN_RUNNING);
        assert_int_equal(run_reader_open(&reader, fixture.run.path), 0);
        assert_int_equal(summary_of_run(&part, &reader), 0);
        assert_true(part.run_seconds.sum == (wide ? 4e-6 : 2e-6));
        assert_true(part.mpi_share.sum == (wide ? 0.75 : 0.5));
        summary_release(&part);
        run_reader_close(&reader);
        fixture_remove(&fixture);
    }
}

/* No room for a thread is no thread that did nothing. */
TEST(run_file_that_could_not_grow_has_no_figures)
{
    for (unsigned lost = 0; lost < 2; lost++) {
        struct fixture fixture;
        struct run_reader reader;
        struct summary part;
        fixture_open(&fixture);
        fixture.run.header->lost[LOSS_DISK_FULL] = lost;
        fixture_close(&fixture, RUN_FINALIZED);
        assert_int_equal(run_reader_open(&reader, fixture.run.path), 0);
        assert_int_equal(summary_of_run(&part, &reader), 0);
        EQUALS({part.ranks, 1 - lost}, {part.lost[LOSS_DISK_FULL], lost});
        summary_release(&part);
        run_reader_close(&reader);
        fixture_remove(&fixture);
    }
}

/* A process has a line for each phase, and for its first regions. Communicators of a region share one. */
TEST(regions_follow_the_phases)
{
    struct summary *summary = calloc(1, sizeof *summary);
    const struct region_cells cells = {.count = 1, .time = 10, .calls = 2, .mpi_time = 4};
    const struct clock_scale scale = {.mult = UINT64_C(1) << 32};
    char name[INSTRUMENT_NAME_BYTES];
    for (int i = 0; i < SUMMARY_REGIONS_MOST + 5; i++) {
        snprintf(name, sizeof name, "a%02d", i);
        assert_int_equal(summary_phase_fill(summary, name, false, 0, &cells, scale), 0);
    }
    assert_int_equal(summary->phase_count, SUMMARY_REGIONS_MOST);
    assert_int_equal(summary_phase_fill(summary, "a07", false, 0, &cells, scale), 0);
    assert_int_equal(summary_phase_fill(summary, PHASE_PREFIX "a07", true, 0, &cells, scale), 0);
    EQUALS({summary->phase_count, SUMMARY_REGIONS_MOST + 1}, {summary->phases[0].region, 0});
    assert_string_equal(summary->phases[0].name, "a07");
    EQUALS({summary->phases[8].count, 2}, {summary->phases[8].calls, 4});
    assert_int_equal(summary_phase_lines(summary, 0), 1);
    assert_true(summary_phases_are_sound(summary));
    summary->phases[1].region = 2;
    assert_false(summary_phases_are_sound(summary));
    summary_release(summary);
    free(summary);
}

/* Ranks may run several programs, and their files come in any order. */
TEST(the_program_is_the_one_of_the_lowest_rank)
{
    struct summary sum = {0}, low = {.ranks = 1, .origin = {.told = 1, .rank = 0}, .program = "master"},
                   high = {.ranks = 1, .origin = {.told = 1, .rank = 1}, .program = "worker"};
    assert_int_equal(summary_merge(&sum, &high), 0);
    assert_string_equal(sum.program, "worker");
    assert_int_equal(summary_merge(&sum, &low), 0);
    assert_string_equal(sum.program, "master");
    assert_int_equal(summary_merge(&sum, &high), 0);
    assert_string_equal(sum.program, "master");
    summary_release(&sum);
}

/* Two ranks on two nodes, which should change places. */
static void placed_make(struct summary *placed)
{
    *placed = (struct summary){.job = 7, .ranks = 2, .world_size = 2};
    assert_int_equal(summary_row_add(placed, (struct summary_row){.rank = 0}, "b"), 0);
    assert_int_equal(summary_row_add(placed, (struct summary_row){.rank = 1}, "a"), 0);
    placed->rows[0].better_host = 0;
    placed->rows[1].better_host = 1;
    placed->rows[0].between_bytes = 100;
    placed->links = calloc(1, sizeof *placed->links);
    assert_non_null(placed->links);
    placed->links[0] = (struct summary_link){.from = 1, .to = 0, .messages = 3, .bytes = 100};
    placed->link_count = 1;
    placed->traced.placement = (struct summary_placement){.known = 1, .between_bytes = 100, .better_bytes = 40};
}

TEST(bytes_between_nodes_are_of_one_whole_job)
{
    struct summary placed, back, part = {.ranks = 1};
    char error[128];
    size_t bytes;
    placed_make(&placed);
    void *flat = summary_pack(&placed, &bytes);
    assert_int_equal(summary_unpack(&back, flat, bytes, error), 0);
    assert_int_equal(back.link_count, 1);
    assert_memory_equal(back.links, placed.links, sizeof *placed.links);
    free(flat);
    summary_placement_drop(&back);
    assert_int_equal(back.traced.placement.known, 0);
    summary_traced_take(&back, &placed);
    assert_int_equal(back.traced.placement.better_bytes, 40);
    assert_int_equal(back.link_count, 1);
    assert_int_equal(back.rows[0].better_host, 0);
    assert_int_equal(summary_row_add(&part, (struct summary_row){.rank = 2}, "aa"), 0);
    summary_traced_take(&part, &placed); /* of other ranks: nothing is taken */
    assert_int_equal(part.traced.placement.known, 0);
    assert_int_equal(summary_merge(&back, &part), 0);
    assert_int_equal(back.traced.placement.known, 0);
    assert_int_equal(back.link_count, 0);
    summary_release(&part);
    placed.links[0].to = 2; /* there are two nodes */
    flat = summary_pack(&placed, &bytes);
    summary_release(&back);
    assert_int_equal(summary_unpack(&back, flat, bytes, error), -1);
    free(flat);
    summary_release(&placed);
}
