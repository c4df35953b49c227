/* Samples in the run file: what the writer puts there the reader gives back; damage is found, and nothing follows it.
 */
#define _GNU_SOURCE
#include "writerfixture.h"

#include "calls.h"
#include "mpit/collector.h"
#include "samplefixture.h"

static struct sample_writer writer;
static struct sample_cursor cursor;

FIXTURE(samples_setup)
{
    fixture_directory_make(directory);
    clock_open();
    open_with(64 * MEGABYTE, 0);
    run.header->clock_kind = CLOCK_KIND_MONOTONIC;
    run.header->clock_mult = UINT64_C(1) << 32;
    sampler_open(&writer, &run, 0, 5);
}

FIXTURE(samples_teardown)
{
    sample_cursor_close(&cursor);
    if (reader.base)
        run_reader_close(&reader);
    run_close(&run, RUN_FINALIZED, true);
    fixture_directory_remove(directory);
}

static void reading_begin(void)
{
    sample_cursor_close(&cursor);
    if (reader.base)
        run_reader_close(&reader);
    read_back();
    assert_int_equal(sample_cursor_open(&cursor, &reader, 0), 0);
}

static void frames_check(const struct sample *sample, const uint64_t *pcs, unsigned frames)
{
    assert_non_null(sample);
    assert_int_equal(sample->frames, frames);
    for (unsigned i = 0; i < frames; i++)
        assert_int_equal(sample->pcs[i], pcs[i]);
}

TESTS_EACH(samples_setup, samples_teardown)

TEST(a_sample_comes_back_as_it_was_put)
{
    const uint64_t pcs[] = {30, 20, 10};
    struct sample_taken taken = {.head = {.state = MPIT_STATE_STALL_RECV, .call = CALL_MPI_Recv},
                                 .ticks = 1234,
                                 .weight = 7,
                                 .cpu_ns = 999,
                                 .flags = SAMPLE_UNKNOWN};
    assert_true(sample_put(&writer, &taken, pcs, 3));
    reading_begin();
    assert_int_equal(run_reader_sample_streams(&reader), 1);
    const struct sample *sample = sample_cursor_next(&cursor);
    frames_check(sample, pcs, 3);
    EQUALS({sample->ticks, 1234}, {sample->weight, 7}, {sample->cpu_ns, 999}, {sample->flags, SAMPLE_UNKNOWN},
           {sample->state, MPIT_STATE_STALL_RECV}, {sample->call, CALL_MPI_Recv}, {sample->thread, 5},
           {sample->tid, 100}, {sample->period_ns, FIXTURE_PERIOD_NS});
    assert_string_equal(sample->name, "fixture");
    assert_null(sample_cursor_next(&cursor));
    assert_false(cursor.damaged);
}

/* Stacks that are equal, share their outer frames, all but the outermost, or nothing; and none at all. */
TEST(frames_that_the_one_before_had_are_written_once)
{
    static const uint64_t stacks[][4] = {{4, 3, 2, 1}, {4, 3, 2, 1}, {9, 3, 2, 1}, {2, 1},      {8, 7, 2, 1},
                                         {1},          {0},          {4, 3, 2, 6}, {4, 3, 2, 1}};
    static const unsigned frames[] = {4, 4, 4, 2, 4, 1, 0, 4, 4}, fresh[] = {4, 0, 1, 0, 2, 0, 0, 4, 4};
    enum { COUNT = sizeof frames / sizeof *frames };
    for (unsigned i = 0; i < COUNT; i++) {
        uint64_t before = writer.chunk->packed_bytes;
        assert_true(sampler_take(&writer, i, MPIT_STATE_NOT_IN_MPI, 0, stacks[i], frames[i]));
        assert_int_equal(writer.chunk->packed_bytes - before,
                         sizeof(struct sample_taken) + fresh[i] * sizeof(uint64_t));
    }
    reading_begin();
    for (unsigned i = 0; i < COUNT; i++)
        frames_check(sample_cursor_next(&cursor), stacks[i], frames[i]);
    assert_null(sample_cursor_next(&cursor));
    assert_int_equal(cursor.number, COUNT);
}

TEST(a_deep_stack_keeps_its_innermost_frames)
{
    uint64_t pcs[SAMPLE_FRAMES_MOST + 10];
    for (unsigned i = 0; i < SAMPLE_FRAMES_MOST + 10; i++)
        pcs[i] = 1000 + i;
    assert_true(sampler_take(&writer, 1, MPIT_STATE_NOT_IN_MPI, 0, pcs, SAMPLE_FRAMES_MOST + 10));
    assert_true(sampler_take(&writer, 2, MPIT_STATE_NOT_IN_MPI, 0, pcs, SAMPLE_FRAMES_MOST));
    reading_begin();
    frames_check(sample_cursor_next(&cursor), pcs, SAMPLE_FRAMES_MOST);
    frames_check(sample_cursor_next(&cursor), pcs, SAMPLE_FRAMES_MOST);
}

TEST(the_module_is_the_one_that_was_mapped_then)
{
    const uint64_t pcs[] = {0x1500};
    sampler_map(&writer, 0x1000, 0x2000, 0x800, "/lib/one.so", 20);
    sampler_map(&writer, 0x4000, 0x5000, 0x4000, "", 0);
    assert_true(sampler_take(&writer, 1, MPIT_STATE_NOT_IN_MPI, 0, pcs, 1));
    sampler_map(&writer, 0x1000, 0x1800, 0x1000, "/lib/two.so", SAMPLE_BUILD_ID_MOST);
    assert_true(sampler_take(&writer, 2, MPIT_STATE_NOT_IN_MPI, 0, pcs, 1));
    reading_begin();
    assert_non_null(sample_cursor_next(&cursor));
    const struct module *module = sample_cursor_module(&cursor, 0x1500);
    assert_string_equal(module->path, "/lib/one.so");
    EQUALS({module->bias, 0x800}, {module->build_id_bytes, 20}, {module->build_id[19], 20});
    assert_string_equal(sample_cursor_module(&cursor, 0x4fff)->path, "");
    assert_null(sample_cursor_module(&cursor, 0x2000));
    assert_null(sample_cursor_module(&cursor, 0xfff));
    assert_non_null(sample_cursor_next(&cursor));
    assert_string_equal(sample_cursor_module(&cursor, 0x1500)->path, "/lib/two.so");
    assert_string_equal(sample_cursor_module(&cursor, 0x1900)->path, "/lib/one.so");
}

/* As of a program that loads and unloads: more often than there is room for modules, two by turns at one address. */
TEST(modules_told_anew_are_those_there_were)
{
    const uint64_t pcs[] = {0x1500};
    enum { ROUNDS = 40000 };
    for (int i = 0; i < ROUNDS; i++) {
        if (writer.chunk->packed_bytes > SAMPLE_BUFFER_BYTES / 2) {
            assert_true(run_samples_flush(&run, &writer));
            char name[16] = "again";
            assert_true(sample_put_thread(&writer, 5, 1, FIXTURE_PERIOD_NS, name));
        }
        sampler_map(&writer, 0x4000, 0x5000, 0x4000, "", 0);
        sampler_map(&writer, 0x1000, 0x2000, 0x1000, i % 2 ? "/lib/two.so" : "/lib/one.so", 20);
        assert_true(sampler_take(&writer, (uint64_t)i, MPIT_STATE_NOT_IN_MPI, 0, pcs, 1));
    }
    reading_begin();
    for (int i = 0; i < ROUNDS; i++) {
        assert_non_null(sample_cursor_next(&cursor));
        assert_string_equal(sample_cursor_module(&cursor, 0x1500)->path, i % 2 ? "/lib/two.so" : "/lib/one.so");
        assert_string_equal(sample_cursor_module(&cursor, 0x4500)->path, "");
    }
    assert_null(sample_cursor_next(&cursor));
    EQUALS({cursor.module_count, 3}, {cursor.missing, 0});
    assert_false(cursor.damaged);
}

static void take_until_full(void)
{
    const uint64_t deep[] = {3, 2, 1}, other[] = {6, 5, 4};
    while (sampler_take(&writer, writer.number, MPIT_STATE_WORK, CALL_MPI_Send, writer.number % 2 ? deep : other, 3))
        ;
}

static void thread_put(uint32_t thread)
{
    char name[16] = "again";
    assert_true(sample_put_thread(&writer, thread, 1, FIXTURE_PERIOD_NS, name));
}

static uint64_t samples_count(void)
{
    uint64_t count = 0;
    for (const struct sample *sample; (sample = sample_cursor_next(&cursor)); count++) {
        EQUALS({sample->ticks, cursor.number - 1}, {sample->frames, 3}, {sample->pcs[0], sample->ticks % 2 ? 3 : 6});
    }
    return count;
}

TEST(full_buffers_are_appended_and_read_in_order)
{
    uint64_t file_bytes = run.header->file_bytes;
    for (int i = 0; i < 4; i++) {
        take_until_full();
        assert_true(run_samples_flush(&run, &writer));
        thread_put(5);
    }
    take_until_full();
    assert_true(run.header->file_bytes >= file_bytes + UINT64_C(4) * SAMPLE_BUFFER_BYTES);
    assert_int_equal(run.header->samples_lost, 0);
    reading_begin();
    assert_int_equal(samples_count(), writer.number);
    assert_int_equal(cursor.missing, 0);
    assert_false(cursor.damaged);
}

/* A process that died between the two steps of a flush. */
TEST(a_chunk_and_its_buffer_are_one)
{
    take_until_full();
    char *before = malloc(writer.chunk->bytes);
    struct chunk_header *buffer = writer.chunk;
    assert_non_null(before);
    memcpy(before, buffer, buffer->bytes);
    assert_true(run_samples_flush(&run, &writer));
    memcpy(buffer, before, buffer->bytes);
    free(before);
    reading_begin();
    assert_int_equal(samples_count(), writer.number);
    assert_int_equal(cursor.missing, 0);
}

TEST(samples_without_a_place_are_counted)
{
    take_until_full();
    uint64_t first = writer.number;
    assert_true(run_limits_set(&run, run.memory_limit, 1)); /* of a trace nothing more, but samples are none */
    run.broken = true;                                      /* as after a disk was full */
    assert_true(run_samples_flush(&run, &writer));
    EQUALS({run.header->samples_lost, first}, {writer.chunk->packed_bytes, 0});
    thread_put(5);
    const uint64_t pcs[] = {6, 5, 4}, odd[] = {3, 2, 1};
    assert_true(sampler_take(&writer, writer.number, MPIT_STATE_WORK, CALL_MPI_Send, writer.number % 2 ? odd : pcs, 3));
    reading_begin();
    assert_int_equal(samples_count(), 1);
    EQUALS({cursor.missing, first}, {cursor.number, first + 1});
}

TEST(nobody_waits_for_the_runs_lock)
{
    take_until_full();
    uint64_t used = writer.chunk->packed_bytes;
    pthread_mutex_lock(&run.lock);
    assert_false(run_samples_flush(&run, &writer));
    pthread_mutex_unlock(&run.lock);
    assert_int_equal(writer.chunk->packed_bytes, used);
    assert_true(run_samples_flush(&run, &writer));
    assert_int_equal(writer.chunk->packed_bytes, 0);
}

TEST(streams_are_apart)
{
    struct sample_writer other;
    const uint64_t pcs[] = {1}, others[] = {2};
    sampler_open(&other, &run, 3, SAMPLE_NO_THREAD);
    assert_true(sampler_take(&writer, 10, MPIT_STATE_WORK, CALL_MPI_Send, pcs, 1));
    assert_true(sampler_take(&other, 20, MPIT_STATE_NOT_IN_MPI, 0, others, 1));
    reading_begin();
    assert_int_equal(run_reader_sample_streams(&reader), 4);
    frames_check(sample_cursor_next(&cursor), pcs, 1);
    assert_null(sample_cursor_next(&cursor));
    sample_cursor_close(&cursor);
    assert_int_equal(sample_cursor_open(&cursor, &reader, 1), 0);
    assert_null(sample_cursor_next(&cursor));
    sample_cursor_close(&cursor);
    assert_int_equal(sample_cursor_open(&cursor, &reader, 3), 0);
    const struct sample *sample = sample_cursor_next(&cursor);
    frames_check(sample, others, 1);
    EQUALS({sample->thread, SAMPLE_NO_THREAD}, {sample->tid, 103});
}

/* ---- damage ------------------------------------------------------------------------------------------------------ */

/* One good sample, the record that is to be damaged, and one more behind it. Returns where the record is. */
static char *record_between(enum sample_kind kind)
{
    const uint64_t pcs[] = {4, 3, 2, 1}, fresh[] = {9, 8, 2, 1};
    assert_true(sampler_take(&writer, 1, MPIT_STATE_WORK, CALL_MPI_Send, pcs, 4));
    char *record = (char *)(writer.chunk + 1) + writer.chunk->packed_bytes;
    if (kind == SAMPLE_MODULE)
        sampler_map(&writer, 0x1000, 0x2000, 0, "/lib/one.so", 8);
    else if (kind == SAMPLE_THREAD)
        thread_put(6);
    else
        assert_true(sampler_take(&writer, 2, MPIT_STATE_WORK, CALL_MPI_Send, fresh, 4));
    assert_true(sampler_take(&writer, 3, MPIT_STATE_WORK, CALL_MPI_Send, pcs, 4));
    return record;
}

/* What lies before the record is read, and nothing from there on. */
static void damage_is_found(void)
{
    reading_begin();
    assert_non_null(sample_cursor_next(&cursor));
    assert_null(sample_cursor_next(&cursor));
    assert_true(cursor.damaged);
    assert_null(sample_cursor_next(&cursor));
}

TEST(record_soundness_is_what_the_damage_takes)
{
    record_between(SAMPLE_TAKEN);
    reading_begin();
    for (int i = 0; i < 3; i++)
        assert_non_null(sample_cursor_next(&cursor));
    assert_null(sample_cursor_next(&cursor));
    assert_false(cursor.damaged);
}

#define DAMAGE_TEST(name, kind, type, change)                                                                          \
    TEST(name)                                                                                                         \
    {                                                                                                                  \
        type *record = (type *)(void *)record_between(kind);                                                           \
        change;                                                                                                        \
        damage_is_found();                                                                                             \
    }

DAMAGE_TEST(unknown_kind, SAMPLE_TAKEN, struct sample_head, record->kind = 77)
DAMAGE_TEST(no_words, SAMPLE_TAKEN, struct sample_head, record->words = 0)
DAMAGE_TEST(too_many_words, SAMPLE_TAKEN, struct sample_head, record->words = UINT16_MAX)
DAMAGE_TEST(words_of_another_record, SAMPLE_TAKEN, struct sample_head, record->words--)
DAMAGE_TEST(unknown_state, SAMPLE_TAKEN, struct sample_head, record->state = MPIT_STATE_STALL_OTHER + 1)
DAMAGE_TEST(too_many_frames, SAMPLE_TAKEN, struct sample_taken, record->frames = UINT16_MAX)
DAMAGE_TEST(more_fresh_than_frames, SAMPLE_TAKEN, struct sample_taken, record->frames = 1)
DAMAGE_TEST(frames_that_no_one_had, SAMPLE_TAKEN, struct sample_taken, record->frames = 7)
DAMAGE_TEST(fresh_beyond_the_record, SAMPLE_TAKEN, struct sample_taken, record->fresh = 3)
DAMAGE_TEST(empty_module, SAMPLE_MODULE, struct sample_module, record->end = record->begin)
DAMAGE_TEST(long_build_id, SAMPLE_MODULE, struct sample_module, record->build_id_bytes = SAMPLE_BUILD_ID_MOST + 1)
DAMAGE_TEST(no_path, SAMPLE_MODULE, struct sample_module, record->path_bytes = 0)
DAMAGE_TEST(long_path, SAMPLE_MODULE, struct sample_module, record->path_bytes = UINT32_MAX)
DAMAGE_TEST(endless_path, SAMPLE_MODULE, struct sample_module, record->path[record->path_bytes - 1] = 'x')
DAMAGE_TEST(short_module, SAMPLE_MODULE, struct sample_head, record->words = 3)
DAMAGE_TEST(short_thread, SAMPLE_THREAD, struct sample_head, record->words = 2)
DAMAGE_TEST(no_period, SAMPLE_THREAD, struct sample_thread, record->period_ns = 0)

TEST(used_beyond_the_chunk)
{
    record_between(SAMPLE_TAKEN);
    writer.chunk->packed_bytes = writer.chunk->bytes;
    assert_int_equal(run_reader_open(&reader, run.path), -1); /* as with any chunk */
    assert_non_null(strstr(reader.error, "is damaged"));
    reader.base = NULL;
}

TEST(no_thread_first)
{
    const uint64_t pcs[] = {1};
    writer.chunk->packed_bytes = 0; /* as if the thread had not been told */
    assert_true(sampler_take(&writer, 1, MPIT_STATE_WORK, CALL_MPI_Send, pcs, 1));
    reading_begin();
    assert_null(sample_cursor_next(&cursor));
    assert_true(cursor.damaged);
}
