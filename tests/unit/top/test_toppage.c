/* Pages of mpit-top, from jobs made by hand: the list of jobs, the chosen job, and rows that fit any width. */
#define _GNU_SOURCE
#include "top/toppage.h"

#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { JOBS = 3, RANKS = 2, WIDE = 1000, NUMBERS_MOST = 4096 };

static struct top_job jobs[JOBS];
static struct top_rank ranks[JOBS][RANKS];
static struct top_rank *rank_lists[JOBS][RANKS];
static struct top_thread threads[JOBS][RANKS];
static struct top_comm comm;
static struct top_comm *comms[1] = {&comm};
static struct top_model model;
static struct top_view view;
static struct top_page page;

static void rank_fill(struct top_rank *rank, struct top_thread *thread, size_t job, size_t number)
{
    *thread = (struct top_thread){.call = {.name = "MPI_Recv", .since_ns = 5720000000, .peer = 1234567}};
    snprintf(thread->call.comm, sizeof thread->call.comm, "MPI_COMM_WORLD/split#17");
    snprintf(thread->call.where, sizeof thread->call.where, "halo.c:12345 (exchange < step < main)");
    *rank = (struct top_rank){.keyed = {.key = {job + 1, number + 1}},
                              .rank = (int32_t)(1234567 + number),
                              .pid = (uint32_t)(4190000 + 10 * job + number),
                              .state = TOP_RUNNING,
                              .timed = true,
                              .interval_ns = 1000000000,
                              .thread_count = 1,
                              .threads_alive = 12345,
                              .busy = thread};
    snprintf(rank->host, sizeof rank->host, "node0001");
    rank->rates = (struct top_rates){.mpi = .98765,
                                     .stall = .87654,
                                     .work = .11111,
                                     .sent = 54321,
                                     .sent_bytes = 9.8e9,
                                     .received = 1e6,
                                     .received_bytes = 1e12,
                                     .calls = 3e7,
                                     .colls = 12.3};
}

static int setup(void **state)
{
    (void)state;
    view = (struct top_view){.kind = VIEW_JOBS, .sort = -1};
    for (size_t i = 0; i < JOBS; i++) {
        for (size_t k = 0; k < RANKS; k++) {
            rank_fill(&ranks[i][k], &threads[i][k], i, k);
            rank_lists[i][k] = &ranks[i][k];
        }
        jobs[i] = (struct top_job){.keyed = {.key = {100 + i, 1}},
                                   .job = 100 + i,
                                   .alive = true,
                                   .own = true,
                                   .timed = true,
                                   .stall_known = true};
        jobs[i].begin_ns = (1000 + i) * UINT64_C(1000000000); /* as live.h has them: the oldest first */
        jobs[i].launcher = (uint32_t)(4180000 + i);
        jobs[i].world_size = RANKS;
        jobs[i].ranks = rank_lists[i];
        jobs[i].rank_count = jobs[i].running = jobs[i].sharing = RANKS;
        jobs[i].rates = ranks[i][0].rates;
        jobs[i].longest = &ranks[i][0];
        jobs[i].efficiency =
            (struct efficiency){.known = true, .parallel = .12345, .load_balance = .5, .communication = .2469};
        snprintf(jobs[i].finding, sizeof jobs[i].finding, "rank 1234567 computes 2.5 times as long as the others");
        snprintf(jobs[i].program, sizeof jobs[i].program, "/home/user/program%zu", i);
        snprintf(jobs[i].directory, sizeof jobs[i].directory, "/scratch/2026/run%zu", i);
        jobs[i].comms = comms;
        jobs[i].comm_count = 1;
        for (int kind = 0; kind < 3; kind++)
            for (int size = 5; size < 12; size++) {
                jobs[i].now.sizes[kind][size] = 123456789;
                jobs[i].sizes[kind][size] = 54321;
            }
    }
    comm = (struct top_comm){.size = 1234567,
                             .ranks = 1234567,
                             .time_ns = 123456789012345,
                             .rates = {.time = .98765, .sent = 54321, .sent_bytes = 9.8e9, .colls = 12.3}};
    snprintf(comm.name, sizeof comm.name, "MPI_COMM_WORLD/split#17");
    model = (struct top_model){.jobs = jobs, .job_count = JOBS};
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    top_page_clear(&page);
    return 0;
}

static void make(enum top_view_kind kind, int width)
{
    view.kind = kind;
    page.width = width;
    top_page_make(&page, &view, &model);
}

/* The rows as text, without marks. The caller frees it. */
static char *printed(void)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    assert_non_null(out);
    top_page_print(&page, out);
    assert_int_equal(fclose(out), 0);
    return text;
}

static void newest_job_is_first(void **state)
{
    (void)state;
    make(VIEW_JOBS, 200);
    assert_int_equal(page.head, 1);
    assert_int_equal(page.count, 1 + JOBS);
    for (size_t i = 0; i < JOBS; i++) {
        assert_int_equal(page.rows[1 + i].key[0], 100 + JOBS - 1 - i);
        assert_ptr_equal(top_job_of_key(&model, page.rows[1 + i].key), &jobs[JOBS - 1 - i]);
    }
    char *text = printed();
    const char *const wanted[] = {
        "program2", "4180002", "98.8", "87.7", "12.3", "MPI_Recv 5.72 s, rank 1234567", "/scratch/2026/run2"};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        assert_non_null(strstr(text, wanted[i]));
    free(text);
}

static void list_on_80_columns_has_what_matters(void **state)
{
    (void)state;
    make(VIEW_JOBS, 80);
    const char *const wanted[] = {"program ", "launcher", "start", "ranks", "MPI %", "stalled %", "longest call"};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        assert_non_null(strstr(page.rows[0].text, wanted[i]));
}

static void unknown_shares_are_dashes(void **state)
{
    (void)state;
    jobs[2].sharing = 0;
    jobs[2].efficiency.known = false;
    ranks[2][0].state = ranks[2][1].state = TOP_STARTING;
    make(VIEW_JOBS, 200);
    char *text = printed();
    char *row = strstr(text, "program2");
    assert_non_null(row);
    row[strcspn(row, "\n")] = '\0';
    assert_null(strstr(row, "98.8"));
    assert_null(strstr(row, "12.3"));
    free(text);
    top_view_choose(&view, &jobs[2]);
    make(VIEW_RANKS, 200);
    text = printed();
    assert_null(strstr(text, "98.8"));
    free(text);
}

/* The keys of the rows after the head: the ranks are numbered from 1. */
static void ranks_are_sorted(int column, bool reverse, uint64_t first, uint64_t second)
{
    view.sort = column;
    view.reverse = reverse;
    make(VIEW_RANKS, 200);
    assert_int_equal(page.rows[page.head].key[1], first);
    assert_int_equal(page.rows[page.head + 1].key[1], second);
}

static void highest_figure_is_first_and_unknown_ones_are_last(void **state)
{
    (void)state;
    enum { RANK = 0, MPI = 2, SENT = 7, CALL = 22 };
    top_view_choose(&view, &jobs[1]);
    ranks[1][1].rates.sent = 1e6;
    threads[1][1].call.since_ns = 1;
    ranks_are_sorted(RANK, false, 1, 2); /* the lowest number */
    ranks_are_sorted(SENT, false, 2, 1);
    ranks_are_sorted(SENT, true, 1, 2);
    ranks_are_sorted(CALL, false, 1, 2);
    threads[1][0].call.name[0] = '\0';
    ranks_are_sorted(CALL, false, 2, 1);
    ranks_are_sorted(MPI, false, 1, 2);
    ranks[1][0].timed = false;
    ranks_are_sorted(MPI, false, 2, 1);
}

static void chosen_job_stays(void **state)
{
    (void)state;
    top_view_choose(&view, &jobs[1]);
    model.jobs = jobs + 1; /* an older one is gone */
    model.job_count = JOBS - 1;
    top_view_follow(&view, &model);
    assert_ptr_equal(top_view_job(&view, &model), &jobs[1]);
    model.jobs = jobs + 2; /* this one, too */
    model.job_count = JOBS - 2;
    top_view_follow(&view, &model);
    assert_null(top_view_job(&view, &model));
    make(VIEW_RANKS, 80);
    assert_int_equal(view.kind, VIEW_JOBS);
}

static void starting_job_is_followed_to_its_number(void **state)
{
    (void)state;
    jobs[1].job = 0;
    top_view_choose(&view, &jobs[1]);
    view.kind = VIEW_RANKS;
    jobs[1].job = 4711;
    top_view_follow(&view, &model);
    assert_ptr_equal(top_view_job(&view, &model), &jobs[1]);
    assert_int_equal(view.job, 4711);
    assert_int_equal(view.kind, VIEW_RANKS);
}

static void only_job_of_a_named_run_is_opened(void **state)
{
    (void)state;
    view.direct = true;
    model.job_count = 1;
    top_view_follow(&view, &model);
    assert_int_equal(view.kind, VIEW_RANKS);
    assert_ptr_equal(top_view_job(&view, &model), &jobs[0]);

    view = (struct top_view){.kind = VIEW_JOBS, .sort = -1, .direct = true};
    model.job_count = JOBS;
    top_view_follow(&view, &model);
    assert_int_equal(view.kind, VIEW_JOBS);
    model.job_count = 1; /* later there is one: nobody chose it */
    top_view_follow(&view, &model);
    assert_int_equal(view.kind, VIEW_JOBS);
}

/* ---- widths ------------------------------------------------------------------------------------------------------ */

static char *numbers[NUMBERS_MOST];
static size_t number_count;

static void number_add(char *number)
{
    assert_true(number_count < NUMBERS_MOST);
    numbers[number_count++] = strdup(number);
}

static void number_check(char *number)
{
    for (size_t i = 0; i < number_count; i++)
        if (strcmp(numbers[i], number) == 0)
            return;
    fail_msg("%s is no number of the wide page", number);
}

/* Visits the numbers of a text, without the dots and commas at their ends. */
static void numbers_visit(const char *text, void (*visit)(char *number))
{
    while (*(text += strcspn(text, "0123456789"))) {
        size_t bytes = strspn(text, "0123456789.,");
        char number[64];
        assert_true(bytes < sizeof number);
        memcpy(number, text, bytes);
        number[bytes] = '\0';
        for (size_t end = bytes; end && strchr(".,", number[end - 1]); end--)
            number[end - 1] = '\0';
        visit(number);
        text += bytes;
    }
}

static void numbers_are_whole_at_any_width(void **state)
{
    static const enum top_view_kind kinds[] = {VIEW_JOBS, VIEW_RANKS, VIEW_COMMS, VIEW_SIZES, VIEW_HELP};
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        view.chosen = false;
        if (kinds[i] != VIEW_JOBS)
            top_view_choose(&view, &jobs[1]);
        make(kinds[i], WIDE);
        char *text = printed();
        numbers_visit(text, number_add);
        free(text);
        for (int width = 10; width < 250; width++) {
            make(kinds[i], width);
            for (size_t row = 0; row < page.count; row++)
                assert_true(top_text_columns(page.rows[row].text) <= width);
            text = printed();
            numbers_visit(text, number_check);
            free(text);
        }
        while (number_count)
            free(numbers[--number_count]);
    }
}

static void wrapped_text_is_whole(void **state)
{
    (void)state;
    for (page.width = 10; page.width < 60; page.width++) {
        top_page_clear(&page);
        top_page_wrap(&page, STYLE_PLAIN, 4, "mpit_call_count COUNTER MPI_Init 1, MPI_Sendrecv 7821, MPI_Barrier 391");
        size_t found = 0;
        for (size_t i = 0; i < page.count; i++) {
            assert_true(top_text_columns(page.rows[i].text) <= page.width);
            found += (strstr(page.rows[i].text, " 7821") != NULL) + (strstr(page.rows[i].text, " 391") != NULL);
        }
        if (page.width > 20)
            assert_int_equal(found, 2);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
#define PAGE_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        PAGE_TEST(newest_job_is_first),
        PAGE_TEST(list_on_80_columns_has_what_matters),
        PAGE_TEST(unknown_shares_are_dashes),
        PAGE_TEST(highest_figure_is_first_and_unknown_ones_are_last),
        PAGE_TEST(chosen_job_stays),
        PAGE_TEST(starting_job_is_followed_to_its_number),
        PAGE_TEST(only_job_of_a_named_run_is_opened),
        PAGE_TEST(numbers_are_whole_at_any_width),
        PAGE_TEST(wrapped_text_is_whole),
    };
    setlocale(LC_CTYPE, "C.UTF-8");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
