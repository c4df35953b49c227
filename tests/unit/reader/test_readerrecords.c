/* Damaged run files, their records, and damage at random: an error with a text or a well-formed reading, never a crash.
 */
#define _GNU_SOURCE
#include "readerfixture.h"

TESTS_EACH(restore, NULL)
TESTS_ALL(file_setup, file_teardown)

TEST(thread_record_is_checked)
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
    ERROR_CHECK("two records");
}

TEST(communicator_record_is_checked)
{
    struct comm_record *comm = object(header()->first_comm);
    comm->slot = 0;
    ERROR_CHECK("communicator");
    comm->slot = 1 << 16;
    ERROR_CHECK("communicator");
    comm->slot = 1;
    ERROR_CHECK("two records");
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

TEST(instrument_record_is_checked)
{
    struct instrument_record *array = instrument_at_id(FIXTURE_ARRAY), *named = instrument_at_id(FIXTURE_STATE);
    const uint64_t offsets[] = {8, bytes - 8, bytes, UINT64_MAX - 7, 4097};
    array->id = 0;
    ERROR_CHECK("instrument");
    array->id = FIXTURE_STATE;
    ERROR_CHECK("two records");
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
    ERROR_CHECK("two records");
}

TEST(block_of_a_region_needs_its_region)
{
    struct tally_block *block = object(header()->first_block);
    while (block->kind != BLOCK_REGION)
        block = object(block->next);
    block->page = FIXTURE_STATE;
    ERROR_CHECK("no region");
    block->page = UINT32_MAX;
    ERROR_CHECK("no region");
}

TEST(instruments_are_read_with_their_names)
{
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

TEST(tally_block_is_checked)
{
    struct tally_block *block = object(header()->first_block);
    block->kind = 0;
    ERROR_CHECK("block of counters");
    block->kind = BLOCK_SHARED + 1; /* what the variables call the losses is no block */
    ERROR_CHECK("block of counters");
    block->kind = BLOCK_REGION + 1;
    ERROR_CHECK("block of counters");
    restore(state);
    block->cells = UINT32_MAX;
    ERROR_CHECK("block of counters");
    restore(state);
    block->thread = 2;
    ERROR_CHECK("no thread or communicator");
    restore(state);
    block->comm = 3;
    ERROR_CHECK("no thread or communicator");
}

TEST(lists_that_run_in_circles_are_errors)
{
    struct thread_record *thread = object(header()->first_thread);
    thread->next = header()->first_thread;
    ERROR_CHECK("two records");
    restore(state);
    struct comm_record *comm = object(((struct comm_record *)object(header()->first_comm))->next);
    comm->next = header()->first_comm;
    ERROR_CHECK("two records");
    restore(state);
    struct tally_block *block = object(header()->first_block);
    block->next = header()->first_block;
    ERROR_CHECK("block of counters");
    restore(state);
    ((struct tally_block *)object(block->next))->next = header()->first_block;
    ERROR_CHECK("block of counters");
}

/* ---- random damage ----------------------------------------------------------------------------------------------- */

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

TEST(names_in_tables_are_cleaned)
{
    struct call_record *calls = object(header()->calls);
    struct variable_record *variables = object(header()->variables);
    strcpy(calls[3].name, "M\x1b[31m\n\x9b!");
    strcpy(variables[2].unit, "s\x1b");
    assert_int_equal(run_reader_open(&reader, damaged_path), 0);
    assert_string_equal(run_reader_call_name(&reader, 3), "M?[31m?"
                                                          "?!");
    assert_string_equal(reader.variables[2].unit, "s?");
    assert_string_equal(run_reader_call_name(&reader, 4), calls[4].name);
    assert_int_equal(reader.variables[3].count, variables[3].count);
    run_reader_close(&reader);
}

TEST(random_damage_is_an_error_or_a_reading)
{
    unsigned read = 0, refused = 0;
    seed = 20261121;
    damage_many(6000, 1, &read, &refused);
    damage_many(4000, 20, &read, &refused);
    assert_true(read > 1000 && refused > 1000);
}
