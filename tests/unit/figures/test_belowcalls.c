/* What happens below MPI: events by hand -> fold -> cells; lines of providers in a summary; providers in a run file. */
#include "unittest.h"

#include "registry/book.h"
#include "figures/fold.h"
#include "readerfixture.h"
#include "summary/summaryfabric.h"

#include <string.h>

static struct thread_cells thread;
static struct comm_cells cells;
static struct shared_cells shared;
static struct fabric_cells fabric;
static struct fabric_call_cells calls;
static struct level_cells pending, pending_all;
static struct tally tally;
static struct comm_tally comm;

FIXTURE(cells_clear)
{
    memset(&thread, 0, sizeof thread);
    memset(&cells, 0, sizeof cells);
    memset(&shared, 0, sizeof shared);
    memset(&fabric, 0, sizeof fabric);
    memset(&calls, 0, sizeof calls);
    memset(&pending, 0, sizeof pending);
    memset(&pending_all, 0, sizeof pending_all);
    tally = (struct tally){.cells = &thread,
                           .fabric = {.cells = &fabric, .pending = &pending, .pending_all = &pending_all},
                           .fabric_calls = &calls};
    comm = (struct comm_tally){.cells = &cells, .shared = &shared};
}

#define FOLD_EVENT(...) fold(&tally, &comm, &(struct event){__VA_ARGS__}, NULL)
#define FOLD_ALONE(...) fold(&tally, NULL, &(struct event){__VA_ARGS__}, NULL)

TEST_WITH(operation_counts_by_kind_and_function, cells_clear, NULL)
{
    FOLD_ALONE(.duration = 10, .kind = EVENT_FABRIC | EVENT_PENDING, .peer = 1, .tag = CALLED_FI_TSEND, .bytes = 100);
    FOLD_ALONE(.duration = 20, .kind = EVENT_FABRIC, .peer = 1, .tag = CALLED_FI_INJECT, .bytes = 8);
    FOLD_ALONE(.duration = 5, .kind = EVENT_FABRIC | EVENT_PENDING, .peer = 1, .tag = CALLED_FI_SENDV, .bytes = 7);
    EQUALS({fabric.kind[FABRIC_SEND].count, 2}, {fabric.kind[FABRIC_SEND].bytes, 107},
           {fabric.kind[FABRIC_INJECT].count, 1}, {fabric.function[CALLED_FI_TSEND].count, 1},
           {fabric.function[CALLED_FI_SENDV].bytes, 7}, {fabric.time, 35}, {fabric.started, 2}, {pending.now, 2},
           {pending_all.high, 2});
    FOLD_ALONE(.duration = 2, .kind = EVENT_FABRIC_DONE, .peer = 1, .tag = 1);
    EQUALS({fabric.completed, 2}, {fabric.errors, 1}, {pending.now, 0}, {pending.high, 2});
}

TEST_WITH(refused_operation_is_none, cells_clear, NULL)
{
    FOLD_ALONE(.duration = 10, .kind = EVENT_FABRIC | EVENT_FAILED, .peer = 1, .tag = CALLED_FI_SEND, .bytes = 100);
    FOLD_ALONE(.duration = 3, .kind = EVENT_FABRIC_AGAIN, .peer = 1, .tag = CALLED_FI_SEND, .bytes = 40);
    EQUALS({fabric.kind[FABRIC_SEND].count, 0}, {fabric.kind[FABRIC_SEND].bytes, 0}, {fabric.errors, 1},
           {fabric.again, 3}, {fabric.time, 50}, {pending.now, 0});
}

TEST_WITH(time_inside_of_a_poll_is_the_polls, cells_clear, NULL)
{
    FOLD_ALONE(.duration = 10, .kind = EVENT_FABRIC | EVENT_NESTED, .peer = 1, .tag = CALLED_UCP_TAG_SEND_NBX);
    FOLD_ALONE(.duration = 4, .kind = EVENT_FABRIC_POLLS, .peer = 1, .tag = 3, .bytes = 200);
    EQUALS({fabric.time, 200}, {fabric.poll_time, 200}, {fabric.polls, 4}, {fabric.empty_polls, 3},
           {fabric.function[CALLED_UCP_TAG_SEND_NBX].time, 10});
}

TEST_WITH(time_below_belongs_to_call_and_communicator, cells_clear, NULL)
{
    FOLD_EVENT(.begin = 100, .duration = 50, .kind = CALL_MPI_Bcast, .comm = 1);
    FOLD_EVENT(.begin = 100, .duration = CALL_MPI_Bcast, .kind = RECORD_FABRIC, .comm = 1, .tag = 2, .bytes = 30);
    FOLD_EVENT(.begin = 110, .duration = CALL_MPI_Bcast, .kind = RECORD_TRANSFERS, .comm = 1, .tag = 3, .bytes = 25);
    EQUALS({calls.time[CALL_MPI_Bcast], 30}, {calls.other, 2}, {cells.fabric_time, 30}, {cells.transfers, 3},
           {cells.transfer_span, 25});
}

/* With a stall behind the same call, and without. */
TEST_WITH(requests_share_the_time_below, cells_clear, NULL)
{
    for (int stalled = 0; stalled < 2; stalled++) {
        struct comm_cells before = cells;
        FOLD_ALONE(.begin = 100, .duration = 50, .kind = CALL_MPI_Waitall, .peer = 2, .tag = 2);
        if (stalled)
            FOLD_ALONE(.begin = 100, .duration = CALL_MPI_Waitall, .kind = RECORD_STALL, .peer = 2, .bytes = 21);
        FOLD_ALONE(.begin = 100, .duration = CALL_MPI_Waitall, .kind = RECORD_FABRIC, .peer = 2, .bytes = 31);
        FOLD_EVENT(.begin = 10, .duration = CALL_MPI_Isend, .kind = RECORD_SEND_DONE, .comm = 1, .peer = -1);
        EQUALS({cells.fabric_time - before.fabric_time, 16}, {cells.stall_time - before.stall_time, stalled ? 11 : 0});
        FOLD_EVENT(.begin = 10, .duration = CALL_MPI_Isend, .kind = RECORD_SEND_DONE, .comm = 1, .peer = -1);
        EQUALS({cells.fabric_time - before.fabric_time, 31}, {cells.stall_time - before.stall_time, stalled ? 21 : 0});
    }
    struct comm_cells before = cells;
    FOLD_ALONE(.begin = 100, .duration = 50, .kind = CALL_MPI_Waitall, .peer = 1, .tag = 1);
    FOLD_EVENT(.begin = 10, .duration = CALL_MPI_Isend, .kind = RECORD_SEND_DONE, .comm = 1, .peer = -1);
    EQUALS({cells.fabric_time, before.fabric_time}, {cells.stall_time, before.stall_time});
}

/* A summary with providers of these names, each with so many polls. */
static void summary_of(struct summary *summary, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        static struct summary one;
        memset(&one, 0, sizeof one);
        strcpy(one.providers[0].name, names[i]);
        one.providers[0].polls = i + 1;
        one.providers[0].ranks = 1;
        one.providers[0].pending_high = 10 - i;
        one.providers[0].functions[CALLED_FI_SEND].count = 1;
        summary_fabric_merge(summary, &one);
    }
}

TEST(providers_are_merged_by_name)
{
    static struct summary summary;
    memset(&summary, 0, sizeof summary);
    summary_of(&summary, (const char *const[]){"ucx", "net", "ucx"}, 3);
    assert_string_equal(summary.providers[0].name, "net");
    assert_int_equal(summary.providers[0].polls, 2);
    assert_string_equal(summary.providers[1].name, "ucx");
    EQUALS({summary.providers[1].polls, 4}, {summary.providers[1].ranks, 2}, {summary.providers[1].pending_high, 10},
           {summary.providers[1].functions[CALLED_FI_SEND].count, 2});
    assert_string_equal(summary.providers[2].name, "");
}

TEST(providers_over_the_limit_share_a_line)
{
    static struct summary summary;
    uint64_t polls = 0;
    memset(&summary, 0, sizeof summary);
    summary_of(&summary, (const char *const[]){"a", "b", "c", "d", "e", "f"}, 6);
    assert_string_equal(summary.providers[0].name, "a");
    assert_string_equal(summary.providers[SUMMARY_PROVIDERS_MAX - 1].name, "others");
    for (unsigned i = 0; i < SUMMARY_PROVIDERS_MAX; i++)
        polls += summary.providers[i].polls;
    assert_int_equal(polls, 1 + 2 + 3 + 4 + 5 + 6);
}

/* What a tool reads by MPI_T is what providers have under way, all together. */
TEST(level_is_read_of_all_providers)
{
    struct level_cells one = {.now = 7}, two = {.now = 5};
    const struct variable *level = variables, *end = variables + variable_count;
    while (level < end &&
           (strcmp(level->record.name, "mpit_fabric_pending") != 0 || level->record.class != VARIABLE_LEVEL))
        level++;
    assert_true(level < end);
    assert_int_equal(book_sample(level, NULL, 0), 0);
    book.pending[1] = &one;
    book.pending[FABRIC_PROVIDERS_MOST] = &two;
    assert_int_equal(book_sample(level, NULL, 0), 12);
    book.pending[1] = book.pending[FABRIC_PROVIDERS_MOST] = NULL;
}

/* A tally block of the file becomes one of a provider. */
TEST_WITH(provider_record_is_checked, file_setup, file_teardown)
{
    header()->first_provider = 8; /* in the middle of the header */
    ERROR_CHECK("provider");
    header()->first_provider = bytes;
    ERROR_CHECK("provider");
    header()->first_provider = 0;
    struct tally_block *block = object(header()->first_block);
    uint32_t kind = block->kind;
    block->kind = BLOCK_FABRIC;
    block->page = 1;
    ERROR_CHECK("no provider");
    block->kind = BLOCK_FABRIC_LEVEL;
    ERROR_CHECK("no provider");
    block->kind = kind;
}
