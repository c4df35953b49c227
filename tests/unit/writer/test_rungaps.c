/* Why each gap of a trace is there, from the run that could not keep something to the reader's words. */
#define _GNU_SOURCE
#include "unittest.h"

#include "calls.h"
#include "reader/readergaps.h"
#include "runfixture.h"

#include <string.h>
#include <sys/resource.h>

enum { BLOCK = 16 };

static struct fixture recorded;
static struct run_reader reader;
static struct run_gaps gaps;
static char cause[GAP_CAUSE_BYTES];
static uint64_t now;

FIXTURE(recorded_setup)
{
    fixture_open(&recorded);
    run_gaps_open(&recorded.run);
    now = FIXTURE_BEGIN_TICKS;
    fixture_thread_add(&recorded, 0, BLOCK);
    fixture_thread_add(&recorded, 1, BLOCK);
}

static void file_size_limit_set(uint64_t bytes)
{
    struct rlimit limit;
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = bytes ? bytes : limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

FIXTURE(recorded_teardown)
{
    run_gaps_release(&gaps);
    file_size_limit_set(0);
    if (reader.base)
        run_reader_close(&reader);
    fixture_remove(&recorded);
}

enum trouble { NONE, LIMIT, DISK };

/* Full buffers of the thread, which the trace keeps or cannot keep. */
static void blocks_emit(uint32_t thread, int count, enum trouble trouble)
{
    struct run *run = &recorded.run;
    assert_true(run_limits_set(run, run->memory_limit, trouble == LIMIT ? run->trace_bytes + 1 : 0));
    if (trouble == DISK)
        file_size_limit_set(run->virtual_bytes + sizeof(struct chunk_header));
    for (int i = 0; i < count * BLOCK; i++)
        fixture_emit(&recorded, thread, (struct event){.begin = ++now, .kind = CALL_MPI_Wait}, NULL);
    file_size_limit_set(0);
}

static void read_back(void)
{
    fixture_close(&recorded, RUN_FINALIZED);
    if (run_reader_open(&reader, recorded.run.path) != 0)
        fail_msg("%s", reader.error);
    assert_int_equal(run_gaps_find(&gaps, &reader), 0);
}

static void gap_check(size_t i, uint32_t thread, uint64_t first, uint64_t count, const char *text)
{
    assert_true(i < gaps.count);
    EQUALS({gaps.list[i].thread, thread}, {gaps.list[i].first, first * BLOCK}, {gaps.list[i].count, count * BLOCK});
    run_gap_cause(&reader, &gaps.list[i], cause);
    assert_string_equal(cause, text);
}

TESTS_EACH(recorded_setup, recorded_teardown)

TEST(gaps_of_one_thread_have_causes_of_their_own)
{
    blocks_emit(0, 1, NONE);
    blocks_emit(0, 2, LIMIT);
    blocks_emit(0, 1, NONE);
    blocks_emit(0, 3, DISK);
    blocks_emit(0, 2, NONE);
    read_back();
    assert_int_equal(gaps.count, 2);
    gap_check(0, 0, 1, 2, "trace_limit");
    gap_check(1, 0, 4, 3, "disk_full");
    const struct gap_table *table = (const void *)(reader.base + reader.header.gaps);
    assert_int_equal(table->count, 2); /* blocks that follow each other are one record */
}

TEST(gap_of_several_causes_has_the_share_of_each)
{
    blocks_emit(0, 1, NONE);
    blocks_emit(0, 2, LIMIT);
    blocks_emit(0, 1, DISK);
    blocks_emit(0, 1, NONE);
    read_back();
    assert_int_equal(gaps.count, 1);
    gap_check(0, 0, 1, 3, "16 disk_full; 32 trace_limit");
}

TEST(gaps_of_threads_are_told_apart)
{
    blocks_emit(0, 1, LIMIT);
    blocks_emit(1, 1, DISK);
    blocks_emit(0, 1, NONE);
    blocks_emit(1, 1, NONE);
    read_back();
    assert_int_equal(gaps.count, 2);
    gap_check(0, 0, 0, 1, "trace_limit");
    gap_check(1, 1, 0, 1, "disk_full");
}

TEST(oldest_of_a_ring_gave_way)
{
    run_trace_policy(&recorded.run, TRACE_RING);
    blocks_emit(0, 4, NONE);
    blocks_emit(0, 2, LIMIT);
    read_back();
    assert_int_equal(gaps.count, 1);
    gap_check(0, 0, 0, 2, "trace_limit, the oldest events were replaced");
    run_trace_policy(&recorded.run, TRACE_STOP); /* gives its memory back */
}

/* The thread ends inside of a block: the rest of the refused one before it is in the buffer. */
TEST(events_that_the_buffer_still_has_are_not_lost)
{
    enum { MORE = 3 };
    blocks_emit(0, 1, NONE);
    blocks_emit(0, 2, LIMIT);
    blocks_emit(1, 1, DISK);
    assert_int_equal(recorded.run.header->lost[LOSS_TRACE_LIMIT], 2 * BLOCK);
    assert_int_equal(recorded.run.header->lost[LOSS_DISK_FULL], BLOCK);
    for (int i = 0; i < MORE; i++)
        fixture_emit(&recorded, 0, (struct event){.begin = ++now, .kind = CALL_MPI_Wait}, NULL);
    read_back();
    EQUALS({reader.header.lost[LOSS_TRACE_LIMIT], BLOCK + MORE}, {reader.header.lost[LOSS_DISK_FULL], 0},
           {gaps.count, 1}, {gaps.list[0].count, BLOCK + MORE});
}

/* It may be written there: the events of a killed process that were on their way. */
TEST(what_nobody_counted_is_told_apart)
{
    blocks_emit(0, 1, LIMIT);
    blocks_emit(0, 2, NONE);
    recorded.run.header->traced = TRACED_NOT;
    blocks_emit(0, 1, NONE); /* the trace was full of them, and is not told of it */
    recorded.run.header->traced = TRACED_WHOLE;
    blocks_emit(0, 1, NONE);
    read_back();
    assert_int_equal(gaps.count, 2);
    gap_check(0, 0, 0, 1, "trace_limit");
    run_gap_cause(&reader, &gaps.list[1], cause);
    assert_string_equal(cause, "trace_limit"); /* of the process: the only one that was counted */
}

TEST(file_without_the_table_tells_of_the_process)
{
    recorded.run.header->gaps = 0;
    blocks_emit(0, 1, LIMIT);
    blocks_emit(0, 1, DISK);
    blocks_emit(0, 1, NONE);
    read_back();
    assert_int_equal(gaps.count, 1);
    gap_check(0, 0, 0, 2, "trace_limit or disk_full");
}

TEST(table_that_is_full_counts_what_it_has_no_place_for)
{
    for (int i = 0; i <= GAP_RECORDS_MOST; i++) {
        blocks_emit(0, 1, i % 2 ? DISK : LIMIT);
        blocks_emit(0, 1, NONE);
    }
    read_back();
    const struct gap_table *table = (const void *)(reader.base + reader.header.gaps);
    EQUALS({gaps.count, GAP_RECORDS_MOST + 1}, {table->count, GAP_RECORDS_MOST}, {table->left_out, BLOCK});
    gap_check(GAP_RECORDS_MOST - 1, 0, 2 * (GAP_RECORDS_MOST - 1), 1, "trace_limit");
    gap_check(GAP_RECORDS_MOST, 0, 2 * GAP_RECORDS_MOST, 1, "trace_limit or disk_full");
}

TEST(damaged_table_is_no_harm)
{
    blocks_emit(0, 1, LIMIT);
    blocks_emit(0, 1, NONE);
    struct gap_table *table = recorded.run.gaps;
    table->count = UINT64_MAX;
    table->list[1] = (struct gap_record){UINT64_MAX - 3, 17, 0, LOSS_DISK_FULL};
    table->list[2] = (struct gap_record){0, UINT64_MAX - 1, 0, LOSS_DISK_FULL};
    table->list[3] = (struct gap_record){0, 16, 0, 12345};
    table->list[4] = (struct gap_record){0, 16, 12345, LOSS_DISK_FULL};
    read_back();
    EQUALS({reader.header.lost[LOSS_TRACE_LIMIT], BLOCK}, {reader.header.lost[LOSS_DISK_FULL], 0});
    gap_check(0, 0, 0, 1, "trace_limit");
    run_reader_close(&reader);
    recorded.run.header->gaps = recorded.run.header->file_bytes - 64;
    assert_int_equal(run_reader_open(&reader, recorded.run.path), -1);
    assert_non_null(strstr(reader.error, "causes of gaps"));
    reader.base = NULL;
}
