/* A run file to be damaged, and all that its reader hands out: for the tests of the reader. */
#ifndef MPIT_TESTS_READERFIXTURE_H
#define MPIT_TESTS_READERFIXTURE_H

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

static inline int file_setup(void **state)
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

static inline int file_teardown(void **state)
{
    (void)state;
    munmap(damaged, bytes);
    free(original);
    fixture_remove(&fixture);
    return 0;
}

static inline int restore(void **state)
{
    (void)state;
    if (truncate(damaged_path, (off_t)bytes) != 0)
        return -1;
    memcpy(damaged, original, bytes);
    return 0;
}

static inline struct run_header *header(void)
{
    return (struct run_header *)(void *)damaged;
}

static inline void *object(uint64_t offset)
{
    return damaged + offset;
}

static inline bool inside(const void *at, size_t size)
{
    const char *begin = at;
    return begin >= reader.base && begin <= reader.base + reader.bytes &&
           size <= (size_t)(reader.base + reader.bytes - begin);
}

static inline uint64_t events_walk(uint32_t thread)
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
static inline uint64_t reading_walk(void)
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
        const uint64_t *cells = tally_cells(&reader.blocks[i]);
        assert_true(inside(cells, reader.blocks[i].cells * sizeof *cells));
        assert_true(reader.blocks[i].thread < reader.thread_count);
        for (size_t c = 0; c < reader.blocks[i].cells; c++)
            sum += cells[c];
    }
    for (size_t i = 0; i < reader.variable_count; i++) {
        assert_true(reader.variables_copy || inside(&reader.variables[i], sizeof *reader.variables));
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
static inline bool survives(void)
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

#endif
