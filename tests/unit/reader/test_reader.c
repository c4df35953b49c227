/* Damaged run files, the file as a whole, its header and chunks: an error with a text or a well-formed reading, never a
 * crash. */
#define _GNU_SOURCE
#include "readerfixture.h"

TESTS_EACH(restore, NULL)
TESTS_ALL(file_setup, file_teardown)

TEST(whole_file_is_read)
{
    assert_true(survives());
    assert_int_equal(run_reader_open(&reader, damaged_path), 0);
    EQUALS({reader.thread_count, 2}, {reader.comm_count, 3});
    assert_string_equal(reader.comms[1]->name, "MPI_COMM_WORLD");
    assert_string_equal(run_reader_call_name(&reader, 0), "none");
    assert_string_equal(run_reader_call_name(&reader, 65535), "?");
    run_reader_close(&reader);
    run_reader_close(&reader);
}

TEST(file_that_is_none_is_an_error)
{
    assert_int_equal(run_reader_open(&reader, "/nonexistent/run.mpit"), -1);
    assert_non_null(strstr(reader.error, "No such file"));
    assert_int_equal(run_reader_open(&reader, fixture.directory), -1);
    assert_non_null(strstr(reader.error, "regular"));
    assert_int_equal(run_reader_open(&reader, "/dev/zero"), -1);
    assert_int_equal(truncate(damaged_path, 0), 0);
    ERROR_CHECK("not an mpit run file");
}

TEST(fifo_does_not_hang_the_reader)
{
    char path[128];
    snprintf(path, sizeof path, "%s/fifo", fixture.directory);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(run_reader_open(&reader, path), -1);
    assert_int_equal(unlink(path), 0);
}

TEST(truncated_file_is_an_error_at_every_page)
{
    for (size_t length = bytes - RUN_PAGE_BYTES;; length -= RUN_PAGE_BYTES) {
        assert_int_equal(truncate(damaged_path, (off_t)length), 0);
        if (length < RUN_PAGE_BYTES)
            ERROR_CHECK("not an mpit run file");
        else
            ERROR_CHECK("truncated");
        if (length == 0)
            break;
    }
}

TEST(truncated_file_is_an_error_at_any_byte)
{
    size_t length = bytes;
    srand(11);
    for (int i = 0; i < 500 && length > 0; i++) {
        length -= 1 + (size_t)rand() % (2 * bytes / 500);
        if (length >= bytes)
            break;
        assert_int_equal(truncate(damaged_path, (off_t)length), 0);
        assert_false(survives());
    }
}

TEST(file_that_is_longer_than_what_was_published_is_read)
{
    assert_int_equal(truncate(damaged_path, (off_t)bytes + 12345), 0);
    assert_true(survives());
}

TEST(wrong_beginning_is_an_error_that_says_what)
{
    header()->magic[7] = 'x';
    ERROR_CHECK("not an mpit run file");
    restore(state);
    header()->byte_order = 0x04030201;
    ERROR_CHECK("byte order");
    restore(state);
    header()->version = RUN_VERSION + 1;
    ERROR_CHECK("version");
    restore(state);
    header()->version = RUN_VERSION - 1;
    ERROR_CHECK("version");
    restore(state);
    header()->header_bytes = sizeof(struct run_header) - 1;
    ERROR_CHECK("header");
    restore(state);
    header()->page_bytes = 65536;
    ERROR_CHECK("header");
    restore(state);
    header()->clock_kind = 3;
    ERROR_CHECK("clock");
}

TEST(text_of_the_header_that_does_not_end_is_an_error)
{
    memset(header()->host, 'x', sizeof header()->host);
    ERROR_CHECK("text");
    restore(state);
    memset(header()->mpi, 'x', sizeof header()->mpi);
    ERROR_CHECK("text");
    restore(state);
    memset(header()->boot, 'x', sizeof header()->boot);
    ERROR_CHECK("text");
    restore(state);
    memset(header()->program, 'x', sizeof header()->program);
    ERROR_CHECK("text");
}

TEST(impossible_file_bytes_is_an_error)
{
    const uint64_t lengths[] = {0, 1, RUN_PAGE_BYTES - 1, RUN_PAGE_BYTES + 1, bytes - 1, bytes + 1, UINT64_MAX};
    header()->first_thread = header()->first_comm = header()->first_block = 0;
    header()->variable_count = header()->call_count = 0;
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        header()->file_bytes = lengths[i];
        if (survives())
            fail_msg("%llu file bytes were read", (unsigned long long)lengths[i]);
    }
}

TEST(offset_that_leads_nowhere_is_an_error)
{
    const uint64_t offsets[] = {8, RUN_PAGE_BYTES - 8, bytes - 8, bytes, bytes + 8, UINT64_MAX - 7, UINT64_MAX, 4097};
    const size_t fields[] = {offsetof(struct run_header, first_thread), offsetof(struct run_header, first_comm),
                             offsetof(struct run_header, first_block), offsetof(struct run_header, variables),
                             offsetof(struct run_header, calls)};
    for (size_t f = 0; f < sizeof fields / sizeof fields[0]; f++)
        for (size_t i = 0; i < sizeof offsets / sizeof offsets[0]; i++) {
            restore(state);
            memcpy(damaged + fields[f], &offsets[i], sizeof offsets[i]);
            if (survives())
                fail_msg("field at %zu = %llu was read", fields[f], (unsigned long long)offsets[i]);
        }
}

TEST(table_of_impossible_length_is_an_error)
{
    const uint64_t counts[] = {10001, UINT64_MAX, UINT64_C(1) << 61};
    for (size_t i = 0; i < 3; i++) {
        restore(state);
        header()->variable_count = counts[i];
        ERROR_CHECK("damaged");
        restore(state);
        header()->call_count = counts[i];
        ERROR_CHECK("damaged");
    }
    restore(state);
    struct variable_record *variables = object(header()->variables);
    memset(variables[3].name, 'n', sizeof variables[3].name);
    ERROR_CHECK("variable 3");
    restore(state);
    struct call_record *calls = object(header()->calls);
    memset(calls[9].name, 'n', sizeof calls[9].name);
    ERROR_CHECK("call 9");
}

TEST(chunk_that_is_none_is_an_error)
{
    struct chunk_header *chunk = object(RUN_PAGE_BYTES);
    chunk->magic++;
    ERROR_CHECK("no chunk");
    restore(state);
    chunk->kind = 0;
    ERROR_CHECK("kind");
    restore(state);
    chunk->kind = CHUNK_FREE + 1;
    ERROR_CHECK("kind");
    const uint64_t sizes[] = {0, 32, chunk->bytes + 1, UINT64_MAX, UINT64_MAX << 12};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        restore(state);
        chunk->bytes = sizes[i];
        ERROR_CHECK("chunk");
    }
}

/* The first chunk of that kind. */
static struct chunk_header *chunk_find(enum chunk_kind kind)
{
    struct chunk_header *chunk = object(RUN_PAGE_BYTES);
    while (chunk->kind != kind)
        chunk = (struct chunk_header *)(void *)((char *)chunk + chunk->bytes);
    return chunk;
}

TEST(capacity_over_the_size_of_its_chunk_is_an_error)
{
    const enum chunk_kind kinds[] = {CHUNK_RING, CHUNK_TRACE, CHUNK_PACKED};
    for (unsigned i = 0; i < 3; i++) {
        restore(state);
        chunk_find(kinds[i])->capacity = 0;
        ERROR_CHECK("capacity");
        chunk_find(kinds[i])->capacity = (RUN_PAGE_BYTES - sizeof(struct chunk_header)) / sizeof(struct event) + 1;
        ERROR_CHECK("capacity");
        chunk_find(kinds[i])->capacity = UINT32_MAX;
        ERROR_CHECK("capacity");
    }
    restore(state);
    chunk_find(CHUNK_PACKED)->packed_bytes = chunk_find(CHUNK_PACKED)->bytes;
    ERROR_CHECK("capacity");
}

/* The events of the thread that the chunk belongs to. */
static uint64_t events_left(const struct chunk_header *chunk, uint64_t *missing)
{
    struct event_cursor cursor;
    uint64_t events = 0;
    assert_int_equal(run_reader_open(&reader, damaged_path), 0);
    event_cursor_open(&cursor, &reader, chunk->thread);
    while (event_cursor_next(&cursor))
        events++;
    assert_int_equal(events + cursor.missing, cursor.end);
    *missing = cursor.missing;
    run_reader_close(&reader);
    return events;
}

TEST(packed_chunk_that_ends_early_or_repeats_nothing_is_missing_from_there)
{
    uint64_t missing, all, left;
    restore(state);
    struct chunk_header *chunk = chunk_find(CHUNK_PACKED);
    all = events_left(chunk, &missing);
    assert_int_equal(missing, 0);
    chunk->packed_bytes -= PACK_LEAST;
    left = events_left(chunk, &missing);
    assert_int_equal(left + 1, all);
    restore(state);
    memset(chunk + 1, 0, PACK_LEAST); /* repeats what was never there */
    left = events_left(chunk, &missing);
    assert_int_equal(left + chunk->capacity, all);
}

TEST(first_event_of_a_chunk_may_be_any_number)
{
    const uint64_t numbers[] = {1, 13, UINT64_MAX, UINT64_MAX - 3, UINT64_C(1) << 63};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        restore(state);
        chunk_find(CHUNK_TRACE)->first_event = numbers[i];
        assert_true(survives());
    }
}

/* A counter that says less than the trace has, or more than there can be. */
TEST(cursor_ends_where_the_counter_says)
{
    const uint64_t counts[] = {0, 1, 5, 11, 12, 13, 30, 1000, UINT64_C(1) << 63, UINT64_MAX};
    const struct thread_record *thread = object(header()->first_thread);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        restore(state);
        memcpy(object(thread->events_cell), &counts[i], sizeof counts[i]);
        assert_true(survives());
    }
}

/* What was looked at when the file was opened may be gone when it is read. */
TEST(thread_record_that_is_overwritten_has_no_events)
{
    struct event_cursor cursor;
    struct thread_record *thread = object(header()->first_thread);
    uint32_t index = thread->index;
    assert_int_equal(run_reader_open(&reader, damaged_path), 0);
    event_cursor_open(&cursor, &reader, index);
    assert_non_null(event_cursor_next(&cursor));
    event_cursor_close(&cursor);
    memset(thread, 0, sizeof *thread);
    event_cursor_open(&cursor, &reader, index);
    assert_null(event_cursor_next(&cursor));
    event_cursor_close(&cursor);
    run_reader_close(&reader);
}
