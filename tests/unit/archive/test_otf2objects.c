/* Windows and files of run files made by hand -> otf2_convert -> read back, and judged by otf2judge. */
#define _GNU_SOURCE
#include "unittest.h"

#include "archivefixture.h"
#include "calls.h"
#include "traceappend.h"

#include <otf2/otf2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* The archive is sound, whatever the run files say; it is told in so many warnings. */
static void convert(int ranks, unsigned warnings)
{
    const struct otf2_report *report = &archive.report;
    if (archive_convert(ranks) != 0)
        fail_msg("%s", report->error);
    for (unsigned i = 0; report->warning_count != warnings && i < report->warning_count; i++)
        print_message("%s\n", report->warnings[i]);
    assert_int_equal(report->warning_count, warnings);
    archive_judge(true);
}

static void ranks_make(int ranks)
{
    for (int r = 0; r < ranks; r++)
        rank_make(r, ranks);
}

static void ranks_end(int ranks)
{
    for (int r = 0; r < ranks; r++)
        rank_end(r, RUN_FINALIZED);
}

static void windows_make(int ranks)
{
    for (int r = 0; r < ranks; r++)
        PUT(r, 2000, 10, CALL_MPI_Win_create, .peer = PEER_NONE, .tag = 1);
}

static void windows_free(int ranks)
{
    for (int r = 0; r < ranks; r++)
        PUT(r, 9000, 10, CALL_MPI_Win_free, .peer = PEER_NONE, .tag = 1);
}

TESTS_EACH(archive_name, job_directory_remove)

TEST(accesses_complete_where_they_are_synchronized)
{
    ranks_make(3);
    windows_make(3);
    PUT(0, 3000, 10, CALL_MPI_Win_lock_all, .peer = PEER_NONE, .tag = 1);
    PUT(0, 3100, 10, CALL_MPI_Put, .peer = 1, .tag = 1, .bytes = 8);
    PUT(0, 3200, 10, CALL_MPI_Put, .peer = 2, .tag = 1, .bytes = 8);
    PUT(0, 3300, 10, CALL_MPI_Get, .peer = 2, .tag = 1, .bytes = 8);
    PUT(0, 3400, 10, CALL_MPI_Win_flush_local, .peer = 2, .tag = 1); /* the put needs more than that */
    PUT(0, 3500, 10, CALL_MPI_Rput, .peer = 1, .tag = 1, .bytes = 4);
    PUT(0, 3600, 10, CALL_MPI_Rget, .peer = 1, .tag = 1, .bytes = 4);
    PUT(0, 3620, 10, CALL_MPI_Test, .tag = 1, .bytes = 3600); /* not yet */
    PUT(0, 3700, 10, CALL_MPI_Waitall, .peer = 2, .tag = 2);
    PUT(0, 3600, CALL_MPI_Rget, RECORD_RMA_DONE, .peer = 1, .tag = 1);
    PUT(0, 3500, CALL_MPI_Rput, RECORD_RMA_DONE, .peer = 1, .tag = 1);
    PUT(0, 3720, 10, CALL_MPI_Rput, .peer = 1, .tag = 1, .bytes = 4);
    PUT(0, 3740, 10, CALL_MPI_Win_flush, .peer = 1, .tag = 1);
    PUT(0, 3760, 10, CALL_MPI_Test, .tag = 1, .bytes = 3720); /* its request knows nothing of the flush */
    PUT(0, 3800, 10, CALL_MPI_Put, .peer = PEER_PROC_NULL, .tag = 1);
    PUT(0, 3900, 10, CALL_MPI_Win_unlock_all, .peer = PEER_NONE, .tag = 1);
    windows_free(3);
    ranks_end(3);
    convert(3, 0);
    EQUALS({seen.windows, 3}, {seen.accesses, 6}, {seen.completed, 6});
    assert_int_equal(seen.completed_there, 2); /* the flushed put, the one whose request was waited for */
    EQUALS({seen.locks, 1}, {seen.unlocks, 1});
}

/* Each operation has its type and its bytes; one that is not known is the general one. */
TEST(accesses_combine_as_they_say)
{
    ranks_make(2);
    windows_make(2);
    PUT(0, 3000, 10, CALL_MPI_Accumulate | EVENT_OP_SUM, .peer = 1, .tag = 1, .bytes = 1);
    PUT(0, 3100, 10, CALL_MPI_Accumulate | EVENT_OP_REPLACE, .peer = 1, .tag = 1, .bytes = 2);
    PUT(0, 3200, 10, CALL_MPI_Raccumulate, .peer = 1, .tag = 1, .bytes = 4);
    PUT(0, 3300, 10, CALL_MPI_Fetch_and_op | EVENT_OP_SUM, .peer = 1, .tag = 1, .bytes = 8);
    PUT(0, 3400, 10, CALL_MPI_Rget_accumulate | EVENT_OP_SUM, .peer = 1, .tag = 1, .bytes = 16);
    PUT(0, 3500, 10, CALL_MPI_Get_accumulate | EVENT_OP_REPLACE, .peer = 1, .tag = 1, .bytes = 32);
    PUT(0, 3600, 10, CALL_MPI_Fetch_and_op | EVENT_OP_NO_OP, .peer = 1, .tag = 1, .bytes = 64);
    PUT(0, 3700, 10, CALL_MPI_Get_accumulate, .peer = 1, .tag = 1, .bytes = 128);
    PUT(0, 3800, 10, CALL_MPI_Compare_and_swap, .peer = 1, .tag = 1, .bytes = 256);
    PUT(0, 3900, 10, CALL_MPI_Fetch_and_op | EVENT_OP_SUM | EVENT_FAILED, .peer = 1, .tag = 1);
    PUT(0, 4000, 10, CALL_MPI_Win_fence, .peer = PEER_NONE, .tag = 1);
    PUT(1, 4000, 10, CALL_MPI_Win_fence, .peer = PEER_NONE, .tag = 1);
    windows_free(2);
    ranks_end(2);
    convert(2, 0);
    EQUALS({seen.accesses, 9}, {seen.completed, 9}, {seen.atomics[OTF2_RMA_ATOMIC_TYPE_ACCUMULATE], 3},
           {seen.atomics[OTF2_RMA_ATOMIC_TYPE_FETCH_AND_ADD], 2}, {seen.atomics[OTF2_RMA_ATOMIC_TYPE_SWAP], 1},
           {seen.atomics[OTF2_RMA_ATOMIC_TYPE_FETCH_AND_ACCUMULATE], 2},
           {seen.atomics[OTF2_RMA_ATOMIC_TYPE_COMPARE_AND_SWAP], 1},
           {seen.atomic_sent, 1 + 2 + 4 + 8 + 16 + 32 + 128 + 2 * 256},
           {seen.atomic_received, 8 + 16 + 32 + 64 + 128 + 256});
}

/* A test in vain is followed by records, too, when more is measured of calls; it ends no epoch. */
TEST(an_epoch_ends_with_the_test_that_succeeded)
{
    ranks_make(2);
    windows_make(2);
    PUT(0, 3000, 10, CALL_MPI_Win_post, .peer = PEER_NONE, .tag = 1);
    PUT(0, 3000, 0, RECORD_ARGUMENT, .peer = 1, .tag = 1);
    for (uint64_t begin = 3100; begin <= 3300; begin += 100) {
        PUT(0, begin, 10, CALL_MPI_Win_test, .peer = PEER_NONE, .tag = 1);
        if (begin == 3200)
            PUT(0, begin, 0, RECORD_ARGUMENT, .peer = PEER_NONE, .tag = 1);
        PUT(0, begin, CALL_MPI_Win_test, RECORD_FABRIC, .peer = PEER_NONE, .bytes = 5);
    }
    windows_free(2);
    ranks_end(2);
    convert(2, 0);
    assert_int_equal(seen.group_syncs, 2);
    assert_int_equal(seen.group_synced, 2 + 3); /* the creations, the post, a test in vain, and this one */
}

/* Issued by one thread, synchronized by another; the trace has the other thread's events in a list of their own. */
TEST(another_thread_synchronizes)
{
    ranks_make(2);
    thread_make(&job.ranks[0], 1);
    windows_make(2);
    PUT(0, 3000, 10, CALL_MPI_Win_lock, .peer = 1, .tag = 1);
    PUT(0, 3000, 0, RECORD_ARGUMENT, .peer = 1, .tag = 1);
    event_put(0, 1,
              (struct event){.begin = 3100, .duration = 10, .kind = CALL_MPI_Put, .comm = WORLD, .peer = 1, .tag = 1});
    PUT(0, 3200, 10, CALL_MPI_Win_flush, .peer = 1, .tag = 1);
    event_put(0, 1,
              (struct event){.begin = 3300, .duration = 10, .kind = CALL_MPI_Get, .comm = WORLD, .peer = 1, .tag = 1});
    PUT(0, 3400, 10, CALL_MPI_Win_unlock, .peer = 1, .tag = 1);
    windows_free(2);
    ranks_end(2);
    convert(2, 0);
    EQUALS({seen.accesses, 2}, {seen.completed, 2}, {seen.completed_there, 0});
}

/* What no program does, and what is left of one whose beginning was lost. */
TEST(what_does_not_fit_is_left_out)
{
    ranks_make(2);
    PUT(0, 3000, 10, CALL_MPI_Win_unlock, .peer = 1, .tag = 1); /* no lock, no window made */
    PUT(0, 3100, 10, CALL_MPI_Put, .peer = 7, .tag = 1);        /* no such rank */
    PUT(0, 3200, 10, CALL_MPI_Put, .peer = 1, .tag = 0);        /* no such window */
    PUT_IN(77, 0, 3300, 10, CALL_MPI_Put, .peer = 1, .tag = 1);
    PUT(0, 3400, 10, CALL_MPI_Win_complete, .peer = PEER_NONE, .tag = 1); /* no start */
    PUT(0, 3500, 10, CALL_MPI_Win_start, .peer = PEER_NONE, .tag = 1);
    PUT(0, 3500, 0, RECORD_ARGUMENT, .peer = 99);
    PUT(0, 3600, 10, CALL_MPI_Wait, .peer = 1, .tag = 1);
    PUT(0, 3500, CALL_MPI_Rput, RECORD_RMA_DONE, .peer = 99, .tag = 1);
    PUT(0, 3500, CALL_MPI_File_iread, RECORD_IO_DONE, .peer = PEER_NONE, .tag = 1);
    PUT(0, 3700, 10, CALL_MPI_Put, .peer = 1, .tag = 1);
    PUT(0, 3800, 10, CALL_MPI_Win_fence, .peer = PEER_NONE, .tag = 1);
    PUT(0, 3900, 10, CALL_MPI_Win_free, .peer = PEER_NONE, .tag = 1);
    PUT(0, 4000, 10, CALL_MPI_File_write, .peer = PEER_NONE, .tag = 5, .bytes = 9); /* never opened */
    PUT(0, 4100, 10, CALL_MPI_File_write_all_end, .peer = PEER_NONE, .tag = 5, .bytes = 9);
    PUT(0, 4200, 10, CALL_MPI_File_close, .peer = PEER_NONE, .tag = 5);
    ranks_end(2);
    convert(2, 2); /* operations and a peer are left out */
    EQUALS({seen.windows, 0}, {seen.accesses, 1}, {seen.completed, 1}, {seen.unlocks, 0}, {seen.handles, 0},
           {seen.transfers, 0});
}

TEST(transfers_end_where_they_complete)
{
    ranks_make(1);
    PUT(0, 2000, 10, CALL_MPI_File_open, .peer = PEER_NONE, .tag = 1);
    PUT(0, 2000, 0, RECORD_ARGUMENT, .peer = PEER_NONE, .tag = ACCESS_READ | ACCESS_CREATE);
    PUT(0, 2100, 10, CALL_MPI_File_read, .peer = PEER_NONE, .tag = 1, .bytes = 5);
    PUT(0, 2100, 0, RECORD_ARGUMENT, .peer = PEER_NONE, .bytes = 100);
    PUT(0, 2200, 10, CALL_MPI_File_iread, .peer = PEER_NONE, .tag = 1);
    PUT(0, 2200, 0, RECORD_ARGUMENT, .peer = PEER_NONE, .bytes = 50);
    PUT(0, 2300, 10, CALL_MPI_File_iwrite, .peer = PEER_NONE, .tag = 1);
    PUT(0, 2300, 0, RECORD_ARGUMENT, .peer = PEER_NONE, .bytes = 7);
    PUT(0, 2400, 10, CALL_MPI_Test, .tag = 1, .bytes = 2200); /* not yet */
    PUT(0, 2500, 10, CALL_MPI_File_write_all_begin, .peer = PEER_NONE, .tag = 1);
    PUT(0, 2500, 0, RECORD_ARGUMENT, .peer = PEER_NONE, .bytes = 12);
    PUT(0, 2600, 10, CALL_MPI_File_write_all_end, .peer = PEER_NONE, .tag = 1, .bytes = 12);
    PUT(0, 2700, 10, CALL_MPI_Wait, .peer = 1, .tag = 1);
    PUT(0, 2200, CALL_MPI_File_iread, RECORD_IO_DONE, .peer = PEER_NONE, .tag = 1, .bytes = 50);
    PUT(0, 2800, 10, CALL_MPI_Request_free, .peer = 0, .tag = 1);
    PUT(0, 2300, CALL_MPI_File_iwrite, RECORD_FREED, .peer = PEER_NONE); /* its end is not known, nor its file here */
    PUT(0, 2900, 10, CALL_MPI_File_read, .peer = PEER_NONE, .tag = 1, .bytes = 0);
    PUT(0, 3000, 10, CALL_MPI_File_close, .peer = PEER_NONE, .tag = 1);
    PUT_IN(0, 0, 3100, 10, CALL_MPI_File_delete, .peer = PEER_NONE, .tag = 1);
    ranks_end(1);
    convert(1, 0);
    EQUALS({seen.handles, 1}, {seen.transfers, 5}, {seen.transferred, 5});
}

/* Rank 0: so many parts of three events each, with gaps between, and one in front of the last 2,000. */
static void gaps_make(const struct event parts[][3], unsigned count)
{
    for (uint64_t i = 0; i < count; i++)
        run_trace_append(&job.ranks[0].run, 0, 10 * i, parts[i], 3);
    struct event *ring = (struct event *)(job.ranks[0].chunks[0] + 1); /* which has nothing of what is missing */
    uint64_t before = 10 * (uint64_t)(count - 1) + 3;
    for (uint64_t i = before; i < before + CHUNK_EVENTS; i++)
        ring[i % CHUNK_EVENTS] = (struct event){3000 + i, 1, CALL_MPI_Iprobe, WORLD, 0, 0, 0};
    *job.ranks[0].cells[0] = before + CHUNK_EVENTS;
    ranks_end(1);
    convert(1, 1); /* records are missing */
}

/* A split operation whose end was lost is not ended by that of another one behind the gap, and what it was asked for is
 * not known where that was lost. */
TEST(gaps_part_split_operations)
{
    const struct event parts[][3] = {
        {{.begin = 2000, .duration = 10, .kind = CALL_MPI_File_open, .comm = WORLD, .peer = PEER_NONE, .tag = 1},
         {.begin = 2000, .kind = RECORD_ARGUMENT, .comm = WORLD, .peer = PEER_NONE, .tag = ACCESS_WRITE},
         {.begin = 2100,
          .duration = 10,
          .kind = CALL_MPI_File_write_all_begin,
          .comm = WORLD,
          .peer = PEER_NONE,
          .tag = 1}},
        {{.begin = 2200,
          .duration = 10,
          .kind = CALL_MPI_File_write_all_end,
          .comm = WORLD,
          .peer = PEER_NONE,
          .tag = 1,
          .bytes = 4},
         {.begin = 2300,
          .duration = 10,
          .kind = CALL_MPI_File_write_all_begin,
          .comm = WORLD,
          .peer = PEER_NONE,
          .tag = 1},
         {.begin = 2300, .kind = RECORD_ARGUMENT, .comm = WORLD, .peer = PEER_NONE, .bytes = 8}},
        {{.begin = 2400,
          .duration = 10,
          .kind = CALL_MPI_File_write_all_end,
          .comm = WORLD,
          .peer = PEER_NONE,
          .tag = 1,
          .bytes = 8},
         {.begin = 2500,
          .duration = 10,
          .kind = CALL_MPI_File_write,
          .comm = WORLD,
          .peer = PEER_NONE,
          .tag = 1,
          .bytes = 2},
         {.begin = 2600, .duration = 10, .kind = CALL_MPI_File_close, .comm = WORLD, .peer = PEER_NONE, .tag = 1}}};
    ranks_make(1);
    gaps_make(parts, 3);
    EQUALS({seen.transfers, 3}, {seen.transferred, 1});
}

#define WINDOW_EVENT(at, what, target)                                                                                 \
    {                                                                                                                  \
        .begin = at, .duration = 10, .kind = what, .comm = WORLD, .peer = target, .tag = 1                             \
    }
#define WINDOW_ARGUMENT(at, target)                                                                                    \
    {                                                                                                                  \
        .begin = at, .kind = RECORD_ARGUMENT, .comm = WORLD, .peer = target, .tag = 1                                  \
    }

/* What ends behind a gap need not be what began before it: epochs, locks, accesses. */
TEST(gaps_part_what_windows_have_open)
{
    const struct event parts[][3] = {
        {WINDOW_EVENT(2000, CALL_MPI_Win_create, PEER_NONE), WINDOW_EVENT(2100, CALL_MPI_Win_start, PEER_NONE),
         WINDOW_ARGUMENT(2100, 0)},
        {WINDOW_EVENT(2200, CALL_MPI_Win_complete, PEER_NONE), WINDOW_EVENT(2300, CALL_MPI_Win_lock, 0),
         WINDOW_EVENT(2400, CALL_MPI_Put, 0)},
        {WINDOW_EVENT(2500, CALL_MPI_Win_unlock, 0), WINDOW_EVENT(2600, CALL_MPI_Win_lock_all, PEER_NONE),
         WINDOW_EVENT(2700, CALL_MPI_Rput, 0)},
        {WINDOW_EVENT(2800, CALL_MPI_Win_unlock_all, PEER_NONE),
         WINDOW_EVENT(2900, CALL_MPI_Wait, 1),
         {.begin = 2700, .duration = CALL_MPI_Rput, .kind = RECORD_RMA_DONE, .comm = WORLD, .peer = 0, .tag = 1}}};
    ranks_make(1);
    gaps_make(parts, 4);
    assert_int_equal(seen.windows, 1);
    assert_int_equal(seen.group_syncs, 1); /* the start */
    EQUALS({seen.locks, 2}, {seen.unlocks, 0}, {seen.accesses, 2});
    assert_int_equal(seen.completed, 1); /* its request says so */
    assert_int_equal(seen.completed_there, 0);
}

/* Without both of its records a seek is a call and no more. */
TEST(seeks_say_how_far_they_are)
{
    ranks_make(1);
    PUT(0, 1900, 10, CALL_MPI_File_seek, .peer = PEER_NONE, .tag = 1); /* not open */
    PUT(0, 1900, 0, RECORD_ARGUMENT, .peer = PEER_NONE, .tag = SEEK_FROM_START, .bytes = 4);
    PUT(0, 1900, 0, RECORD_ARGUMENT, .peer = PEER_NONE, .tag = SEEK_ARRIVED, .bytes = 4);
    PUT(0, 2000, 10, CALL_MPI_File_open, .peer = PEER_NONE, .tag = 1);
    PUT(0, 2000, 0, RECORD_ARGUMENT, .peer = PEER_NONE, .tag = ACCESS_READ);
    PUT(0, 2100, 10, CALL_MPI_File_seek, .peer = PEER_NONE, .tag = 1);
    PUT(0, 2200, 10, CALL_MPI_File_seek, .peer = PEER_NONE, .tag = 1);
    PUT(0, 2200, 0, RECORD_ARGUMENT, .peer = PEER_NONE, .tag = SEEK_FROM_START, .bytes = 4);
    PUT(0, 2300, 10, CALL_MPI_File_seek, .peer = PEER_NONE, .tag = 1);
    PUT(0, 2300, 0, RECORD_ARGUMENT, .peer = PEER_NONE, .tag = -7, .bytes = 4);
    PUT(0, 2300, 0, RECORD_ARGUMENT, .peer = PEER_NONE, .tag = SEEK_ARRIVED, .bytes = 4);
    PUT(0, 2400, 10, CALL_MPI_File_seek | EVENT_FAILED, .peer = PEER_NONE, .tag = 1);
    PUT(0, 2400, 0, RECORD_ARGUMENT, .peer = PEER_NONE, .tag = SEEK_FROM_START, .bytes = 4);
    PUT(0, 2400, 0, RECORD_ARGUMENT, .peer = PEER_NONE, .tag = SEEK_ARRIVED, .bytes = 4);
    PUT(0, 2500, 10, CALL_MPI_File_seek_shared, .peer = PEER_NONE, .tag = 1);
    PUT(0, 2500, 0, RECORD_ARGUMENT, .peer = PEER_NONE, .tag = SEEK_FROM_START, .bytes = 4);
    PUT(0, 2500, 0, RECORD_ARGUMENT, .peer = PEER_NONE, .tag = SEEK_ARRIVED, .bytes = 20);
    PUT(0, 2600, 10, CALL_MPI_File_seek, .peer = PEER_NONE, .tag = 1);
    PUT(0, 2600, 0, RECORD_ARGUMENT, .peer = PEER_NONE, .tag = SEEK_FROM_END, .bytes = (uint64_t)-12);
    PUT(0, 2600, 0, RECORD_ARGUMENT, .peer = PEER_NONE, .tag = SEEK_ARRIVED, .bytes = 988);
    PUT(0, 3000, 10, CALL_MPI_File_close, .peer = PEER_NONE, .tag = 1);
    ranks_end(1);
    convert(1, 1);
    EQUALS({seen.handles, 1}, {seen.seeks[OTF2_IO_SEEK_FROM_START], 1}, {seen.seeks[OTF2_IO_SEEK_FROM_CURRENT], 0},
           {seen.seeks[OTF2_IO_SEEK_FROM_END], 1}, {seen.sought, -12}, {seen.arrived, 988}, {seen.transfers, 0});
}

static struct object_record *name_make(uint32_t kind, const char *name)
{
    uint64_t offset;
    struct run *run = &job.ranks[0].run;
    struct object_record *record = run_alloc(run, sizeof *record, &offset);
    record->kind = kind;
    record->slot = WORLD;
    record->number = 1;
    record->ticks = 2000;
    snprintf(record->name, sizeof record->name, "%s", name);
    run_link(run, &run->header->first_object, &record->next, offset);
    return record;
}

TEST(damaged_names_are_refused)
{
    struct run_reader reader;
    rank_make(0, 1);
    struct object_record *first = name_make(OBJECT_WINDOW, "one"), *second = name_make(OBJECT_FILE, "two");
    const char *path = job.ranks[0].run.path;
    rank_end(0, RUN_FINALIZED); /* the file is still mapped */
    assert_int_equal(run_reader_open(&reader, path), 0);
    assert_int_equal(reader.object_count, 2);
    assert_string_equal(reader.objects[0]->name, "two");
    run_reader_close(&reader);
    uint64_t next = second->next;
    first->next = job.ranks[0].run.header->first_object; /* a loop */
    assert_int_equal(run_reader_open(&reader, path), -1);
    first->next = 0;
    second->next = UINT64_MAX - 7;
    assert_int_equal(run_reader_open(&reader, path), -1);
    second->next = next;
    second->kind = OBJECT_DELETED + 1;
    assert_int_equal(run_reader_open(&reader, path), -1);
    second->kind = OBJECT_FILE;
    memset(first->name, 'x', sizeof first->name);
    assert_int_equal(run_reader_open(&reader, path), -1);
    assert_non_null(strstr(reader.error, "name record"));
    first->name[3] = '\0';
    assert_int_equal(run_reader_open(&reader, path), 0);
    run_reader_close(&reader);
}
