/* The replay of traces made by hand: equal, different in one cell, not whole, damaged. */
#define _GNU_SOURCE
#include "unittest.h"

#include "reader/reader.h"
#include "replay/replay.h"
#include "runfixture.h"
#include "figures/variables.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct fixture fixture;
static struct run_reader reader;
static char report[4096];
static char *file; /* the whole of it, mapped to be changed */
static size_t bytes;

static void file_open(void)
{
    if (run_reader_open(&reader, fixture.run.path) != 0)
        fail_msg("%s", reader.error);
    int fd = open(fixture.run.path, O_RDWR);
    bytes = reader.bytes;
    file = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    assert_true(file != MAP_FAILED);
}

FIXTURE(filled_setup)
{
    fixture_fill(&fixture);
    file_open();
}

FIXTURE(empty_setup)
{
    fixture_open(&fixture);
    fixture_comm_add(&fixture, 1, 4, "MPI_COMM_WORLD");
    fixture_thread_add(&fixture, 0, 8);
}

FIXTURE(teardown)
{
    if (file)
        munmap(file, bytes);
    file = NULL;
    run_reader_close(&reader);
    fixture_remove(&fixture);
}

/* The same place of the file, to be changed. */
static void *changeable(const void *at)
{
    return file + ((const char *)at - reader.base);
}

static const struct run_block *block_find(unsigned kind, uint32_t thread, uint32_t comm)
{
    for (size_t i = 0; i < reader.block_count; i++)
        if (reader.blocks[i].kind == kind && reader.blocks[i].thread == thread && reader.blocks[i].comm == comm)
            return &reader.blocks[i];
    fail_msg("no such block");
    return NULL;
}

TEST_WITH(equal_trace_replays_equal, filled_setup, teardown)
{
    int differences = replay_verify(&reader, report, sizeof report);
    if (differences != 0)
        fail_msg("%d: %s", differences, report);
    assert_string_equal(report, "");
}

/* The numbers of segments belong to windows, which a replay has none of. */
static bool cell_is_segment(uint32_t kind, size_t cell)
{
    return kind == BLOCK_COMM && (cell == offsetof(struct comm_cells, span_first_segment) / 8 ||
                                  cell == offsetof(struct comm_cells, message_low_segment) / 8 ||
                                  cell == offsetof(struct comm_cells, message_high_segment) / 8);
}

/* Every cell of every block, but levels of two threads' common cells, whose order is not in the trace. */
TEST_WITH(one_changed_cell_is_found, filled_setup, teardown)
{
    for (size_t i = 0; i < reader.block_count; i++) {
        uint64_t *cells = changeable(tally_cells(&reader.blocks[i]));
        if (reader.blocks[i].kind == BLOCK_SHARED)
            continue;
        for (size_t c = 0; c < reader.blocks[i].cells; c++) {
            if (reader.blocks[i].kind == BLOCK_THREAD && c == offsetof(struct thread_cells, events) / 8)
                continue; /* says how long the trace is */
            if (cell_is_segment(reader.blocks[i].kind, c))
                continue;
            cells[c] += 1000;
            if (replay_verify(&reader, report, sizeof report) != 1)
                fail_msg("kind %u, cell %zu: %s", reader.blocks[i].kind, c, report);
            cells[c] -= 1000;
        }
    }
}

TEST_WITH(report_names_the_cell_and_both_values, filled_setup, teardown)
{
    const struct run_block *block = block_find(BLOCK_COMM, 1, 2);
    struct comm_cells *cells = changeable(tally_cells(block));
    cells->wait_time += 7;
    assert_int_equal(replay_verify(&reader, report, sizeof report), 1);
    assert_non_null(strstr(report, "thread 1, comm 2"));
    assert_non_null(strstr(report, "live"));
    assert_non_null(strstr(report, "replayed"));
    char small[20];
    assert_int_equal(replay_verify(&reader, small, sizeof small), 1);
    assert_true(memchr(small, '\0', sizeof small) != NULL);
}

TEST_WITH(level_that_is_now_wrong_is_found, filled_setup, teardown)
{
    struct shared_cells *shared = changeable(tally_cells(block_find(BLOCK_SHARED, 0, 1)));
    shared->sends.now++;
    assert_int_equal(replay_verify(&reader, report, sizeof report), 1);
    shared->sends.now--;
    shared->bytes.now += 5;
    assert_int_equal(replay_verify(&reader, report, sizeof report), 1);
}

TEST_WITH(changed_event_is_found, filled_setup, teardown)
{
    for (size_t i = 0; i < reader.chunk_count; i++) {
        if (reader.chunks[i]->kind != CHUNK_TRACE)
            continue;
        struct event *event = changeable(reader.chunks[i] + 1);
        event->duration += 3;
        assert_true(replay_verify(&reader, report, sizeof report) > 0);
        event->duration -= 3;
    }
    assert_int_equal(replay_verify(&reader, report, sizeof report), 0);
}

TEST_WITH(missing_events_are_no_verdict, filled_setup, teardown)
{
    for (size_t i = 0; i < reader.chunk_count; i++) {
        if (reader.chunks[i]->kind == CHUNK_ARENA || reader.chunks[i]->kind == CHUNK_SAMPLES)
            continue;
        struct chunk_header *chunk = changeable(reader.chunks[i]);
        chunk->thread += 100;
        assert_int_equal(replay_verify(&reader, report, sizeof report), -1);
        assert_non_null(strstr(report, "not in the trace"));
        chunk->thread -= 100;
    }
    assert_int_equal(replay_verify(&reader, report, sizeof report), 0);
}

TEST_WITH(run_without_a_trace_is_no_verdict, filled_setup, teardown)
{
    reader.header.traced = 0;
    assert_int_equal(replay_verify(&reader, report, sizeof report), -1);
    assert_non_null(strstr(report, "no trace"));
}

TEST_WITH(wide_event_at_the_end_is_no_verdict, empty_setup, teardown)
{
    fixture_emit(&fixture, 0, (struct event){.duration = 1, .kind = CALL_MPI_Barrier, .comm = 1}, NULL);
    ((struct event *)(fixture.threads[0].ring + 1))->kind |= EVENT_WIDE;
    fixture_close(&fixture, RUN_FINALIZED);
    file_open();
    assert_int_equal(replay_verify(&reader, report, sizeof report), -1);
    assert_non_null(strstr(report, "inside an event"));
}

TEST_WITH(levels_of_one_thread_are_compared_in_time, empty_setup, teardown)
{
    struct event post = {.begin = 1, .duration = 1, .kind = CALL_MPI_Isend, .comm = 1, .peer = 1, .bytes = 10};
    fixture_emit(&fixture, 0, post, NULL);
    fixture_emit(&fixture, 0, post, NULL);
    fixture_close(&fixture, RUN_FINALIZED);
    file_open();
    assert_int_equal(replay_verify(&reader, report, sizeof report), 0);
    struct shared_cells *shared = changeable(tally_cells(block_find(BLOCK_SHARED, 0, 1)));
    shared->sends.high++;
    assert_int_equal(replay_verify(&reader, report, sizeof report), 1);
}

/* A window took the extremes out of the cells; together with what it left in `closed` they are the trace's. */
TEST_WITH(closed_windows_are_no_difference, empty_setup, teardown)
{
    struct event send = {.begin = 50, .duration = 1, .kind = CALL_MPI_Send, .comm = 1, .peer = 1, .bytes = 900};
    fixture_emit(&fixture, 0, send, NULL);
    struct comm_cells *cells = fixture.threads[0].views[1].tally.cells;
    struct shared_cells *shared = fixture.shared[1];
    shared->closed[EXTREME_MESSAGE_HIGH] = cells->message_high;
    shared->closed[EXTREME_MESSAGE_LOW] = cells->message_low;
    shared->closed[EXTREME_SPAN_FIRST] = cells->span_first;
    cells->message_high = 0;
    cells->message_low = cells->span_first = LOW_NEUTRAL;
    send.begin = 90;
    send.bytes = 30;
    fixture_emit(&fixture, 0, send, NULL);
    fixture_close(&fixture, RUN_FINALIZED);
    file_open();
    int differences = replay_verify(&reader, report, sizeof report);
    if (differences != 0)
        fail_msg("%d: %s", differences, report);
}

/* The same for a communicator that two threads use: one had the largest, the other the smallest message. */
TEST_WITH(closed_windows_over_two_threads_are_no_difference, empty_setup, teardown)
{
    struct event send = {.begin = 50, .duration = 1, .kind = CALL_MPI_Send, .comm = 1, .peer = 1, .bytes = 900};
    fixture_thread_add(&fixture, 1, 8);
    fixture_emit(&fixture, 0, send, NULL);
    send.bytes = 30;
    send.begin = 80;
    fixture_emit(&fixture, 1, send, NULL);
    struct shared_cells *shared = fixture.shared[1];
    shared->closed[EXTREME_MESSAGE_HIGH] = 900;
    shared->closed[EXTREME_MESSAGE_LOW] = 30;
    shared->closed[EXTREME_SPAN_FIRST] = 50;
    for (unsigned thread = 0; thread < 2; thread++) {
        struct comm_cells *cells = fixture.threads[thread].views[1].tally.cells;
        cells->message_high = 0;
        cells->message_low = cells->span_first = LOW_NEUTRAL;
    }
    fixture_close(&fixture, RUN_FINALIZED);
    file_open();
    int differences = replay_verify(&reader, report, sizeof report);
    if (differences != 0)
        fail_msg("%d: %s", differences, report);
}

/* A block of common cells that is shorter than they are, at the very end of the file. */
TEST_WITH(short_block_at_the_end_of_the_file_is_not_read_behind, empty_setup, teardown)
{
    uint64_t offset;
    fixture_emit(&fixture, 0, (struct event){.duration = 1, .kind = CALL_MPI_Barrier, .comm = 1}, NULL);
    struct tally_block *block = run_alloc(&fixture.run, (1 << 20) - sizeof(struct chunk_header), &offset);
    assert_non_null(block);
    uint64_t last = (1 << 20) - sizeof(struct chunk_header) - sizeof *block - 8;
    block = (struct tally_block *)(void *)((char *)block + last);
    *block = (struct tally_block){.kind = BLOCK_SHARED, .comm = 1, .cells = 1};
    run_link(&fixture.run, &fixture.run.header->first_block, &block->next, offset + last);
    fixture_close(&fixture, RUN_FINALIZED);
    if (run_reader_open(&reader, fixture.run.path) != 0)
        fail_msg("%s", reader.error);
    void *behind = mmap((char *)(uintptr_t)reader.base + reader.bytes, RUN_PAGE_BYTES, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    assert_int_equal(replay_verify(&reader, report, sizeof report), 0);
    if (behind != MAP_FAILED)
        munmap(behind, RUN_PAGE_BYTES);
}

TEST_WITH(damaged_trace_is_an_answer, filled_setup, teardown)
{
    size_t used = RUN_PAGE_BYTES + fixture.run.arena_used;
    char *original = malloc(bytes);
    unsigned replayed = 0;
    memcpy(original, file, bytes);
    run_reader_close(&reader);
    srand(7);
    for (unsigned i = 0; i < 3000; i++) {
        for (int flips = 1 + rand() % 4; flips > 0; flips--) {
            size_t at = rand() % 3 ? (size_t)rand() % used : (size_t)rand() % bytes;
            file[at] ^= (char)(1 << rand() % 8);
        }
        if (run_reader_open(&reader, fixture.run.path) == 0) {
            replayed++;
            replay_verify(&reader, report, sizeof report);
            assert_true(memchr(report, '\0', sizeof report) != NULL);
            run_reader_close(&reader);
        }
        memcpy(file, original, bytes);
    }
    assert_true(replayed > 500);
    free(original);
}
