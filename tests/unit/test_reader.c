/* Damaged run files: an error with a text or a well-formed reading, never a crash. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "reader.h"
#include "runfixture.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static struct fixture fixture;
static char damaged_path[128];
static char *original, *damaged; /* the whole file: as it is right, and the one that is read, mapped */
static size_t bytes;
static size_t arena_used;
static struct run_reader reader;

static int file_setup(void **state)
{
    (void)state;
    fixture_fill(&fixture);
    int n = snprintf(damaged_path, sizeof damaged_path, "%s/damaged.mpit", fixture.directory);
    int from = open(fixture.run.path, O_RDONLY), to = open(damaged_path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    struct stat st;
    if (n < 0 || from < 0 || to < 0 || fstat(from, &st) != 0)
        return -1;
    bytes = (size_t)st.st_size;
    arena_used = fixture.run.arena_used;
    original = malloc(bytes);
    if (!original || read(from, original, bytes) != (ssize_t)bytes || write(to, original, bytes) != (ssize_t)bytes)
        return -1;
    damaged = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, to, 0);
    close(from);
    close(to);
    return damaged == MAP_FAILED ? -1 : 0;
}

static int file_teardown(void **state)
{
    (void)state;
    munmap(damaged, bytes);
    free(original);
    fixture_remove(&fixture);
    return 0;
}

static int restore(void **state)
{
    (void)state;
    if (truncate(damaged_path, (off_t)bytes) != 0)
        return -1;
    memcpy(damaged, original, bytes);
    return 0;
}

static struct run_header *header(void)
{
    return (struct run_header *)(void *)damaged;
}

static void *object(uint64_t offset)
{
    return damaged + offset;
}

static bool inside(const void *at, size_t size)
{
    const char *begin = at;
    return begin >= reader.base && begin <= reader.base + reader.bytes &&
           size <= (size_t)(reader.base + reader.bytes - begin);
}

static uint64_t events_walk(uint32_t thread)
{
    struct event_cursor cursor;
    uint64_t places = 0, events = 0, sum = 0;
    for (size_t i = 0; i < reader.chunk_count; i++)
        places += reader.chunks[i]->capacity;
    event_cursor_open(&cursor, &reader, thread);
    for (const struct event *event; (event = event_cursor_next(&cursor)); events++) {
        bool unpacked = event >= cursor.unpacked.last && event <= cursor.unpacked.last + PACK_BACK_MOST;
        assert_true(unpacked || inside(event, sizeof *event));
        assert_true(events < places && events < cursor.end);
        sum += event->begin + strlen(run_reader_call_name(&reader, event_kind(event)));
    }
    assert_true(cursor.missing <= cursor.end);
    assert_int_equal(events + cursor.missing, cursor.end);
    return sum;
}

/* Touches all that the reader hands out; what it hands out lies in the file. */
static uint64_t reading_walk(void)
{
    uint64_t sum = run_reader_scale(&reader).mult;
    assert_true(reader.bytes <= bytes);
    for (size_t i = 0; i < reader.chunk_count; i++)
        assert_true(inside(reader.chunks[i], reader.chunks[i]->bytes));
    for (size_t i = 0; i < reader.comm_count; i++)
        if (reader.comms[i]) {
            assert_int_equal(reader.comms[i]->slot, i);
            assert_true(reader.comms[i]->parent < reader.comm_count);
            sum += strlen(reader.comms[i]->label);
            sum += strlen(reader.comms[i]->name);
        }
    for (size_t i = 0; i < reader.block_count; i++) {
        const uint64_t *cells = tally_cells(reader.blocks[i]);
        assert_true(inside(cells, reader.blocks[i]->cells * sizeof *cells));
        assert_true(reader.blocks[i]->thread < reader.thread_count);
        for (size_t c = 0; c < reader.blocks[i]->cells; c++)
            sum += cells[c];
    }
    for (size_t i = 0; i < reader.variable_count; i++) {
        assert_true(inside(&reader.variables[i], sizeof *reader.variables));
        sum += strlen(reader.variables[i].name) + strlen(reader.variables[i].unit);
    }
    for (uint32_t id = 0; id < reader.instrument_count; id++) {
        const struct instrument_record *record = run_reader_instrument(&reader, id);
        if (!record)
            continue;
        assert_true(inside(record, sizeof *record) && record->id == id);
        const uint64_t *values = run_reader_values(&reader, record);
        for (uint32_t i = 0; values && i < record->count + INSTRUMENT_EXTREMES; i++) {
            const char *item = run_reader_item(&reader, record, (int64_t)i);
            assert_true(inside(&values[i], sizeof values[i]));
            sum += values[i] + (item ? strlen(item) : 0);
        }
        sum += strlen(record->name) + strlen(record->unit) + strlen(record->component) + strlen(record->description);
    }
    for (unsigned kind = 0; kind < EVENT_KIND_MASK; kind++)
        sum += strlen(run_reader_call_name(&reader, kind));
    for (size_t i = 0; i < reader.thread_count; i++)
        if (reader.threads[i]) {
            assert_true(inside(reader.threads[i], sizeof *reader.threads[i]) && reader.threads[i]->index == i);
            sum += events_walk((uint32_t)i);
        }
    return sum;
}

/* Returns whether the damaged file can be read; either way it was an answer. */
static bool survives(void)
{
    static volatile uint64_t sink __attribute__((unused));
    memset(reader.error, 0, sizeof reader.error);
    if (run_reader_open(&reader, damaged_path) != 0) {
        assert_true(reader.error[0] && memchr(reader.error, '\0', sizeof reader.error));
        assert_null(reader.base);
        return false;
    }
    sink += reading_walk();
    run_reader_close(&reader);
    return true;
}

#define ERROR_CHECK(text)                                                                                              \
    do {                                                                                                               \
        if (survives())                                                                                                \
            fail_msg("was read");                                                                                      \
        if (!strstr(reader.error, text))                                                                               \
            fail_msg("\"%s\" does not say \"%s\"", reader.error, text);                                                \
    } while (0)

static void whole_file_is_read(void **state)
{
    (void)state;
    assert_true(survives());
    assert_int_equal(run_reader_open(&reader, damaged_path), 0);
    assert_int_equal(reader.thread_count, 2);
    assert_int_equal(reader.comm_count, 3);
    assert_string_equal(reader.comms[1]->name, "MPI_COMM_WORLD");
    assert_string_equal(run_reader_call_name(&reader, 0), "none");
    assert_string_equal(run_reader_call_name(&reader, 65535), "?");
    run_reader_close(&reader);
    run_reader_close(&reader);
}

static void file_that_is_none_is_an_error(void **state)
{
    (void)state;
    assert_int_equal(run_reader_open(&reader, "/nonexistent/run.mpit"), -1);
    assert_non_null(strstr(reader.error, "No such file"));
    assert_int_equal(run_reader_open(&reader, fixture.directory), -1);
    assert_non_null(strstr(reader.error, "regular"));
    assert_int_equal(run_reader_open(&reader, "/dev/zero"), -1);
    assert_int_equal(truncate(damaged_path, 0), 0);
    ERROR_CHECK("no mpit run file");
}

static void fifo_does_not_hang_the_reader(void **state)
{
    (void)state;
    char path[128];
    snprintf(path, sizeof path, "%s/fifo", fixture.directory);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(run_reader_open(&reader, path), -1);
    assert_int_equal(unlink(path), 0);
}

static void truncated_file_is_an_error_at_every_page(void **state)
{
    (void)state;
    for (size_t length = bytes - RUN_PAGE_BYTES;; length -= RUN_PAGE_BYTES) {
        assert_int_equal(truncate(damaged_path, (off_t)length), 0);
        if (length < RUN_PAGE_BYTES)
            ERROR_CHECK("no mpit run file");
        else
            ERROR_CHECK("truncated");
        if (length == 0)
            break;
    }
}

static void truncated_file_is_an_error_at_any_byte(void **state)
{
    (void)state;
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

static void file_that_is_longer_than_what_was_published_is_read(void **state)
{
    (void)state;
    assert_int_equal(truncate(damaged_path, (off_t)bytes + 12345), 0);
    assert_true(survives());
}

static void wrong_beginning_is_an_error_that_says_what(void **state)
{
    header()->magic[7] = 'x';
    ERROR_CHECK("no mpit run file");
    restore(state);
    header()->byte_order = 0x04030201;
    ERROR_CHECK("byte order");
    restore(state);
    header()->version = RUN_VERSION + 1;
    ERROR_CHECK("version");
    restore(state);
    header()->version = RUN_VERSION_LEAST - 1;
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

/* What the header of an older version does not have is nothing, whatever stands there. */
static void fields_that_an_older_version_lacks_are_not_looked_at(void **state)
{
    for (uint32_t version = RUN_VERSION_LEAST; version < RUN_VERSION; version++) {
        restore(state);
        header()->version = version;
        header()->header_bytes = offsetof(struct run_header, clock_syncs);
        header()->clock_syncs = header()->first_object = 12345;
        if (version == RUN_VERSION_LEAST)
            header()->trace_policy = TRACE_RING;
        assert_int_equal(run_reader_open(&reader, damaged_path), 0);
        assert_int_equal(reader.header.version, version);
        assert_true(!reader.header.clock_syncs && !reader.header.first_object && !reader.object_count);
        assert_int_equal(reader.header.trace_policy, TRACE_STOP);
        run_reader_close(&reader);
        assert_true(survives());
        header()->header_bytes--;
        ERROR_CHECK("header");
    }
}

/* A kind would be taken for another. */
static void older_version_with_other_calls_is_an_error(void **state)
{
    (void)state;
    header()->version = RUN_VERSION - 1;
    assert_true(survives());
    struct call_record *calls = (void *)(damaged + header()->calls);
    calls[2].name[0] = 'X';
    ERROR_CHECK("other calls");
    header()->version = RUN_VERSION;
    assert_true(survives());
}

static void text_of_the_header_that_does_not_end_is_an_error(void **state)
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

static void impossible_file_bytes_is_an_error(void **state)
{
    (void)state;
    const uint64_t lengths[] = {0, 1, RUN_PAGE_BYTES - 1, RUN_PAGE_BYTES + 1, bytes - 1, bytes + 1, UINT64_MAX};
    header()->first_thread = header()->first_comm = header()->first_block = 0;
    header()->variable_count = header()->call_count = 0;
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        header()->file_bytes = lengths[i];
        if (survives())
            fail_msg("%llu file bytes were read", (unsigned long long)lengths[i]);
    }
}

static void offset_that_leads_nowhere_is_an_error(void **state)
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

static void table_of_impossible_length_is_an_error(void **state)
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

static void chunk_that_is_none_is_an_error(void **state)
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

static void capacity_over_the_size_of_its_chunk_is_an_error(void **state)
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

static void packed_chunk_that_ends_early_or_repeats_nothing_is_missing_from_there(void **state)
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

static void first_event_of_a_chunk_may_be_any_number(void **state)
{
    const uint64_t numbers[] = {1, 13, UINT64_MAX, UINT64_MAX - 3, UINT64_C(1) << 63};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        restore(state);
        chunk_find(CHUNK_TRACE)->first_event = numbers[i];
        assert_true(survives());
    }
}

/* A counter that says less than the trace has, or more than there can be. */
static void cursor_ends_where_the_counter_says(void **state)
{
    const uint64_t counts[] = {0, 1, 5, 11, 12, 13, 30, 1000, UINT64_C(1) << 63, UINT64_MAX};
    const struct thread_record *thread = object(header()->first_thread);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        restore(state);
        memcpy(object(thread->events_cell), &counts[i], sizeof counts[i]);
        assert_true(survives());
    }
}

static void thread_record_is_checked(void **state)
{
    struct thread_record *thread = object(header()->first_thread);
    thread->index = 1 << 20;
    ERROR_CHECK("thread");
    restore(state);
    thread->events_cell = bytes;
    ERROR_CHECK("counter");
    restore(state);
    thread->events_cell = 0;
    ERROR_CHECK("counter");
    restore(state);
    struct thread_record *other = object(thread->next);
    thread->index = other->index;
    ERROR_CHECK("twice");
}

static void communicator_record_is_checked(void **state)
{
    struct comm_record *comm = object(header()->first_comm);
    comm->slot = 0;
    ERROR_CHECK("communicator");
    comm->slot = 1 << 16;
    ERROR_CHECK("communicator");
    comm->slot = 1;
    ERROR_CHECK("twice");
    restore(state);
    memset(comm->name, 'c', sizeof comm->name);
    ERROR_CHECK("communicator");
}

/* The record of an instrument; that of the region is the last of the list. */
static struct instrument_record *instrument_at_id(uint32_t id)
{
    struct instrument_record *record = object(header()->first_instrument);
    while (record->id != id)
        record = object(record->next);
    return record;
}

static void instrument_record_is_checked(void **state)
{
    struct instrument_record *array = instrument_at_id(FIXTURE_ARRAY), *named = instrument_at_id(FIXTURE_STATE);
    const uint64_t offsets[] = {8, bytes - 8, bytes, UINT64_MAX - 7, 4097};
    array->id = 0;
    ERROR_CHECK("instrument");
    array->id = FIXTURE_STATE;
    ERROR_CHECK("twice");
    array->id = INSTRUMENT_IDS_MAX;
    ERROR_CHECK("instrument");
    restore(state);
    array->kind = INSTRUMENT_CONTROL;
    ERROR_CHECK("instrument");
    restore(state);
    array->count = 0;
    ERROR_CHECK("instrument");
    array->count = INSTRUMENT_ELEMENTS_MAX + 1;
    ERROR_CHECK("instrument");
    restore(state);
    array->comm = 3;
    ERROR_CHECK("instrument");
    restore(state);
    named->item_count = UINT32_MAX;
    ERROR_CHECK("instrument");
    for (size_t i = 0; i < sizeof offsets / sizeof offsets[0]; i++) {
        restore(state);
        array->values = offsets[i];
        ERROR_CHECK("values or items");
        restore(state);
        named->items = offsets[i];
        ERROR_CHECK("values or items");
        restore(state);
        header()->first_instrument = offsets[i];
        assert_false(survives());
    }
    restore(state);
    memset(((struct item_record *)object(named->items))->name, 'x', ITEM_NAME_BYTES);
    ERROR_CHECK("values or items");
    restore(state);
    memset(array->name, 'x', sizeof array->name);
    ERROR_CHECK("instrument");
    restore(state);
    array->next = header()->first_instrument;
    ERROR_CHECK("twice");
}

static void block_of_a_region_needs_its_region(void **state)
{
    (void)state;
    struct tally_block *block = object(header()->first_block);
    while (block->kind != BLOCK_REGION)
        block = object(block->next);
    block->page = FIXTURE_STATE;
    ERROR_CHECK("no region");
    block->page = UINT32_MAX;
    ERROR_CHECK("no region");
    block->page = FIXTURE_REGION;
    block->comm = 1;
    ERROR_CHECK("no region");
}

static void instruments_are_read_with_their_names(void **state)
{
    (void)state;
    assert_int_equal(run_reader_open(&reader, damaged_path), 0);
    const struct instrument_record *named = run_reader_instrument(&reader, FIXTURE_STATE);
    const struct instrument_record *array = run_reader_instrument(&reader, FIXTURE_ARRAY);
    assert_non_null(named);
    assert_string_equal(run_reader_item(&reader, named, -7), "minus seven");
    assert_null(run_reader_item(&reader, named, 2));
    assert_null(run_reader_item(&reader, array, 0));
    assert_int_equal(run_reader_values(&reader, array)[4], 5);
    assert_null(run_reader_instrument(&reader, 3));
    assert_null(run_reader_instrument(&reader, UINT32_MAX));
    run_reader_close(&reader);
}

static void tally_block_is_checked(void **state)
{
    struct tally_block *block = object(header()->first_block);
    block->kind = 0;
    ERROR_CHECK("tally block");
    block->kind = BLOCK_SHARED + 1; /* what the variables call the losses is no block */
    ERROR_CHECK("tally block");
    block->kind = BLOCK_REGION + 1;
    ERROR_CHECK("tally block");
    restore(state);
    block->cells = UINT32_MAX;
    ERROR_CHECK("tally block");
    restore(state);
    block->thread = 2;
    ERROR_CHECK("nobody");
    restore(state);
    block->comm = 3;
    ERROR_CHECK("nobody");
}

static void lists_that_run_in_circles_are_errors(void **state)
{
    struct thread_record *thread = object(header()->first_thread);
    thread->next = header()->first_thread;
    ERROR_CHECK("twice");
    restore(state);
    struct comm_record *comm = object(((struct comm_record *)object(header()->first_comm))->next);
    comm->next = header()->first_comm;
    ERROR_CHECK("twice");
    restore(state);
    struct tally_block *block = object(header()->first_block);
    block->next = header()->first_block;
    ERROR_CHECK("tally block");
    restore(state);
    ((struct tally_block *)object(block->next))->next = header()->first_block;
    ERROR_CHECK("tally block");
}

/* ---- random damage --------------------------------------------------------------------------------------------------
 */

static uint64_t seed;

static uint64_t draw(uint64_t below)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed % below;
}

/* A byte that says something: of the header, the arena's records, a chunk's header or its events. */
static size_t place_draw(void)
{
    switch (draw(4)) {
    case 0:
        return draw(sizeof(struct run_header));
    case 1:
        return RUN_PAGE_BYTES + draw(arena_used);
    case 2: {
        size_t at = RUN_PAGE_BYTES;
        for (uint64_t chunks = draw(8); chunks > 0; chunks--) {
            const struct chunk_header *chunk = (const void *)(original + at);
            if (at + chunk->bytes < bytes)
                at += chunk->bytes;
        }
        return at + draw(sizeof(struct chunk_header));
    }
    default:
        return draw(bytes);
    }
}

static void damage_draw(void)
{
    static const uint64_t words[] = {0, 1, 7, 64, 4096, 0x7fffffff, 0xffffffff, INT64_MAX, UINT64_MAX, UINT64_MAX - 7};
    size_t at = place_draw();
    switch (draw(3)) {
    case 0:
        damaged[at] ^= (char)(1 << draw(8));
        break;
    case 1:
        damaged[at] = (char)draw(256);
        break;
    default: {
        uint64_t word = draw(2) ? words[draw(sizeof words / sizeof words[0])] : draw(bytes / 8) * 8;
        at = at / 8 * 8;
        memcpy(damaged + at, &word, sizeof word);
    }
    }
}

static void damage_many(unsigned mutations, unsigned most, unsigned *read, unsigned *refused)
{
    for (unsigned i = 0; i < mutations; i++) {
        for (uint64_t n = 1 + draw(most); n > 0; n--)
            damage_draw();
        ++*(survives() ? read : refused);
        memcpy(damaged, original, bytes);
    }
}

static void random_damage_is_an_error_or_a_reading(void **state)
{
    (void)state;
    unsigned read = 0, refused = 0;
    seed = 20261121;
    damage_many(6000, 1, &read, &refused);
    damage_many(4000, 20, &read, &refused);
    assert_true(read > 1000 && refused > 1000);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, restore)
    const struct CMUnitTest tests[] = {
        TEST(whole_file_is_read),
        TEST(file_that_is_none_is_an_error),
        TEST(fifo_does_not_hang_the_reader),
        TEST(truncated_file_is_an_error_at_every_page),
        TEST(truncated_file_is_an_error_at_any_byte),
        TEST(file_that_is_longer_than_what_was_published_is_read),
        TEST(wrong_beginning_is_an_error_that_says_what),
        TEST(fields_that_an_older_version_lacks_are_not_looked_at),
        TEST(older_version_with_other_calls_is_an_error),
        TEST(text_of_the_header_that_does_not_end_is_an_error),
        TEST(impossible_file_bytes_is_an_error),
        TEST(offset_that_leads_nowhere_is_an_error),
        TEST(table_of_impossible_length_is_an_error),
        TEST(chunk_that_is_none_is_an_error),
        TEST(capacity_over_the_size_of_its_chunk_is_an_error),
        TEST(packed_chunk_that_ends_early_or_repeats_nothing_is_missing_from_there),
        TEST(first_event_of_a_chunk_may_be_any_number),
        TEST(cursor_ends_where_the_counter_says),
        TEST(thread_record_is_checked),
        TEST(communicator_record_is_checked),
        TEST(instrument_record_is_checked),
        TEST(block_of_a_region_needs_its_region),
        TEST(instruments_are_read_with_their_names),
        TEST(tally_block_is_checked),
        TEST(lists_that_run_in_circles_are_errors),
        TEST(random_damage_is_an_error_or_a_reading),
    };
    return cmocka_run_group_tests(tests, file_setup, file_teardown);
}
