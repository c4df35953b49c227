/* Control variables: what may be written when, and the trace that is switched while the program runs. */
#include "unittest.h"

#include "registry/book.h"
#include "clock/clock.h"
#include "settings/demand.h"
#include "settings/knobs.h"
#include "ledgerfixture.h"
#include "reader/reader.h"
#include "runfixture.h"
#include "settings/settings.h"
#include "traceappend.h"
#include "settings/tracing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char directory[64];
static char said[4096];
static int lines;

static void run_make(const char *where)
{
    struct run_problem problem;
    assert_int_equal(run_open(&book.run, where, knob_load(KNOB_BUFFER_LIMIT_BYTES), 0, &problem), 0);
    if (!book.comms)
        assert_int_equal(book_open(), 0);
    tracing_begin(knob_load(KNOB_TRACE) != 0);
}

FIXTURE(setup)
{
    fixture_directory_make(directory);
    clock_open();
    book.run.header = NULL;
    for (unsigned i = 0; i < KNOB_COUNT; i++)
        if (knob_table[i].type == KNOB_TEXT)
            knob_write_text((enum knob)i, "");
        else
            knob_store((enum knob)i, knob_table[i].initial);
}

FIXTURE(teardown)
{
    fixture_directory_remove(directory);
}

TESTS_EACH(setup, teardown)

TEST(before_a_run_all_may_be_written)
{
    for (unsigned i = 0; i < KNOB_COUNT; i++) {
        const struct knob_description *knob = &knob_table[i];
        if (knob->type == KNOB_TEXT)
            continue; /* tests of their own */
        assert_int_equal(knob_write((enum knob)i, knob->least), KNOB_WRITTEN);
        assert_int_equal(knob_load((enum knob)i), knob->least);
        assert_int_equal(knob_write((enum knob)i, knob->most), KNOB_WRITTEN);
        assert_true(knob_load((enum knob)i) == knob->most);
        if (knob->most < UINT64_MAX)
            assert_int_equal(knob_write((enum knob)i, knob->most + 1), KNOB_OUT_OF_RANGE);
        if (knob->least > 0)
            assert_int_equal(knob_write((enum knob)i, knob->least - 1), KNOB_OUT_OF_RANGE);
        assert_true(knob_load((enum knob)i) == knob->most);
    }
}

TEST(names_of_events_have_no_blanks)
{
    char text[KNOB_TEXT_BYTES] = "x";
    assert_int_equal(knob_write_text(KNOB_PAPI_EVENTS, "PAPI_TOT_CYC,perf::PAGE-FAULTS"), KNOB_WRITTEN);
    assert_int_equal(knob_write_text(KNOB_PAPI_EVENTS, "PAPI_TOT_CYC, PAPI_TOT_INS"), KNOB_OUT_OF_RANGE);
    knob_read_text(KNOB_PAPI_EVENTS, text);
    assert_string_equal(text, "PAPI_TOT_CYC,perf::PAGE-FAULTS");
    assert_int_equal(knob_write_text(KNOB_PAPI_EVENTS, ""), KNOB_WRITTEN);
}

TEST(the_option_asks_for_the_system)
{
    assert_false(demand_now(DEMAND_OS));
    assert_int_equal(knob_write(KNOB_OS, 1), KNOB_WRITTEN);
    assert_int_equal(knob_write(KNOB_OS, 1), KNOB_WRITTEN);
    assert_true(demand_now(DEMAND_OS));
    assert_int_equal(knob_write(KNOB_OS, 0), KNOB_WRITTEN);
    assert_false(demand_now(DEMAND_OS));
}

TEST(a_filter_is_taken_before_a_run_and_not_in_it)
{
    char text[KNOB_TEXT_BYTES], *long_text = malloc(KNOB_TEXT_BYTES + 1);
    assert_int_equal(knob_write_text(KNOB_FILTER, "-io,MPI_Send"), KNOB_WRITTEN);
    assert_int_equal(knob_write_text(KNOB_FILTER, "nonsense"), KNOB_OUT_OF_RANGE);
    memset(long_text, ',', KNOB_TEXT_BYTES);
    long_text[KNOB_TEXT_BYTES] = '\0';
    assert_int_equal(knob_write_text(KNOB_FILTER, long_text), KNOB_OUT_OF_RANGE);
    knob_read_text(KNOB_FILTER, text);
    assert_string_equal(text, "-io,MPI_Send");
    long_text[KNOB_TEXT_BYTES - 1] = '\0';
    assert_int_equal(knob_write_text(KNOB_FILTER, long_text), KNOB_WRITTEN);
    free(long_text);
    assert_int_equal(knob_write_text(KNOB_FILTER, ""), KNOB_WRITTEN);
    run_make(NULL);
    assert_int_equal(knob_write_text(KNOB_FILTER, "io"), KNOB_NEVER);
    knob_read_text(KNOB_FILTER, text);
    assert_string_equal(text, "");
}

static int changes;

static void changed(void)
{
    changes++;
}

TEST(what_needs_times_has_every_call_timed)
{
    knobs_changed = changed;
    assert_int_equal(knob_timed, 1);
    assert_int_equal(knob_write(KNOB_TIMING, 0), KNOB_WRITTEN);
    assert_int_equal(knob_timed, 0);
    assert_true(changes > 0);
    knobs_attend(1);
    assert_int_equal(knob_timed, 1);
    assert_int_equal(knob_load(KNOB_TIMING), 0);
    knobs_attend(-1);
    assert_int_equal(knob_timed, 0);
    run_make(directory);
    assert_int_equal(knob_write(KNOB_TRACE, 1), KNOB_WRITTEN);
    assert_int_equal(knob_timed, 1);
    assert_int_equal(knob_write(KNOB_TIMING, 0), KNOB_WRITTEN);
    assert_int_equal(knob_timed, 1);
    assert_int_equal(knob_write(KNOB_TRACE, 0), KNOB_WRITTEN);
    assert_int_equal(knob_timed, 0);
    changes = 0;
    assert_int_equal(knob_write(KNOB_RECORD_LOCAL_CALLS, 1), KNOB_WRITTEN);
    assert_true(changes > 0);
    knobs_changed = NULL;
}

TEST(in_a_run_bounds_go_down_to_what_is_in_use)
{
    run_make(directory);
    assert_int_equal(knob_write(KNOB_FLIGHT_EVENTS, 1), KNOB_NEVER);
    assert_int_equal(knob_load(KNOB_FLIGHT_EVENTS), 4096);
    uint64_t offset;
    assert_non_null(run_alloc(&book.run, 3 << 20, &offset));
    assert_int_equal(knob_write(KNOB_BUFFER_LIMIT_BYTES, 2 << 20), KNOB_NOT_NOW);
    assert_int_equal(knob_load(KNOB_BUFFER_LIMIT_BYTES), 64 << 20);
    assert_int_equal(book.run.memory_limit, 64 << 20);
    assert_int_equal(knob_write(KNOB_BUFFER_LIMIT_BYTES, 8 << 20), KNOB_WRITTEN);
    assert_int_equal(book.run.memory_limit, 8 << 20);
    struct event events[100] = {{.kind = 0}};
    assert_true(run_trace_append(&book.run, 0, 0, events, 100));
    assert_int_equal(knob_write(KNOB_TRACE_LIMIT_BYTES, 4095), KNOB_NOT_NOW);
    assert_int_equal(knob_write(KNOB_TRACE_LIMIT_BYTES, 4096), KNOB_WRITTEN);
    assert_false(run_trace_append(&book.run, 0, 100, events, 100));
    assert_int_equal(knob_write(KNOB_TRACE_LIMIT_BYTES, 0), KNOB_WRITTEN);
    assert_true(run_trace_append(&book.run, 0, 100, events, 100));
    book.run.header->phase = RUN_FINALIZED;
    assert_int_equal(knob_write(KNOB_TRACE_LIMIT_BYTES, 1 << 20), KNOB_NEVER);
    assert_int_equal(knob_write(KNOB_LARGE_MESSAGE_BYTES, 1), KNOB_WRITTEN);
}

TEST(brief_trace_becomes_one_that_is_kept)
{
    run_make(directory);
    knob_store(KNOB_TRACE, TRACE_BRIEFLY);
    tracing_begin(true);
    book.run.header->trace_policy = TRACE_BRIEF;
    assert_true(run_limits_set(&book.run, book.run.memory_limit, 4096));
    assert_int_equal(knob_write(KNOB_TRACE, 0), KNOB_WRITTEN); /* nobody has asked for it: it goes on */
    assert_int_equal(book.run.header->trace_policy, TRACE_BRIEF);
    assert_int_equal(knob_load(KNOB_TRACE), TRACE_BRIEFLY);
    assert_int_equal(knob_write(KNOB_TRACE, 1), KNOB_WRITTEN);
    assert_int_equal(knob_load(KNOB_TRACE), 1);
    assert_int_equal(book.run.header->trace_policy, TRACE_STOP);
    assert_int_equal(book.run.header->traced, TRACED_IN_PART); /* from now on */
    assert_int_equal(book.run.trace_limit, 0);
}

TEST(without_a_file_there_is_no_trace)
{
    run_make(NULL);
    assert_int_equal(knob_write(KNOB_TRACE, 1), KNOB_NEVER);
    assert_int_equal(knob_load(KNOB_TRACE), 0);
    assert_int_equal(knob_write(KNOB_TRACE, 0), KNOB_WRITTEN);
    assert_int_equal(book.run.header->traced, TRACED_NOT);
}

static const struct run_reader *read_back(void)
{
    static struct run_reader reader;
    if (run_reader_open(&reader, book.run.path) != 0)
        fail_msg("%s", reader.error);
    return &reader;
}

/* One thread's events: each a call at the given tick, with a record behind it. */
static struct thread_record *events_write(const uint64_t *begins, uint32_t count)
{
    struct ledger *ledger = ledger_make(1);
    struct chunk_header *ring = run_ring_open(&book.run, ledger->index, 64);
    struct event *events = (struct event *)(ring + 1);
    for (uint32_t i = 0; i < count; i++) {
        events[2 * i] = (struct event){.begin = begins[i], .kind = CALL_MPI_Wait, .peer = 1, .tag = (int32_t)i};
        events[2 * i + 1] = (struct event){.begin = 1, .kind = RECORD_SEND_DONE, .tag = (int32_t)i};
    }
    ledger->tally.cells->events = 2 * count;
    return ledger->record;
}

/* Between two ticks of the clock. */
static uint64_t moment(void)
{
    uint64_t now = clock_now();
    while (clock_now() <= now + 1)
        ;
    return now + 1;
}

TEST(calls_of_the_stretches_come_out_with_what_follows)
{
    uint64_t begins[5];
    run_make(directory);
    begins[0] = moment();
    assert_false(tracing_covers(begins[0]));
    assert_int_equal(knob_write(KNOB_TRACE, 1), KNOB_WRITTEN);
    assert_true(tracing_covers(begins[0])); /* the buffer that holds it may hold later ones */
    begins[1] = moment();
    assert_int_equal(knob_write(KNOB_TRACE, 0), KNOB_WRITTEN);
    begins[2] = moment();
    assert_true(tracing_covers(begins[1]));
    assert_false(tracing_covers(begins[2]));
    assert_int_equal(knob_write(KNOB_TRACE, 1), KNOB_WRITTEN);
    begins[3] = moment();
    begins[4] = moment();
    events_write(begins, 5);
    const struct run_reader *reader = read_back();
    EQUALS({reader->header.traced, TRACED_IN_PART}, {reader->stretch_count, 2});
    struct event_cursor cursor;
    const int expected[] = {1, 3, 4};
    event_cursor_open(&cursor, reader, reader->header.first_thread ? (uint32_t)(reader->thread_count - 1) : 0);
    for (unsigned i = 0; i < 3; i++) {
        const struct event *call = event_cursor_next(&cursor);
        assert_non_null(call);
        EQUALS({call->kind, CALL_MPI_Wait}, {call->tag, expected[i]});
        const struct event *record = event_cursor_next(&cursor);
        assert_non_null(record);
        EQUALS({record->kind, RECORD_SEND_DONE}, {record->tag, expected[i]});
    }
    assert_null(event_cursor_next(&cursor));
    assert_int_equal(cursor.missing, 0);
    run_reader_close((struct run_reader *)(uintptr_t)reader);
}

TEST(trace_from_the_start_ends_where_it_is_switched_off)
{
    uint64_t begins[2];
    knob_store(KNOB_TRACE, 1);
    run_make(directory);
    assert_int_equal(book.run.header->traced, TRACED_WHOLE);
    begins[0] = moment();
    assert_int_equal(knob_write(KNOB_TRACE, 1), KNOB_WRITTEN);
    assert_int_equal(book.run.header->traced, TRACED_WHOLE);
    assert_int_equal(knob_write(KNOB_TRACE, 0), KNOB_WRITTEN);
    begins[1] = moment();
    events_write(begins, 2);
    const struct run_reader *reader = read_back();
    struct event_cursor cursor;
    event_cursor_open(&cursor, reader, (uint32_t)(reader->thread_count - 1));
    assert_int_equal(event_cursor_next(&cursor)->tag, 0);
    assert_int_equal(event_cursor_next(&cursor)->tag, 0);
    assert_null(event_cursor_next(&cursor));
    run_reader_close((struct run_reader *)(uintptr_t)reader);
}

TEST(damaged_stretches_are_told)
{
    struct run_reader reader;
    run_make(directory);
    assert_int_equal(knob_write(KNOB_TRACE, 1), KNOB_WRITTEN);
    assert_int_equal(knob_write(KNOB_TRACE, 0), KNOB_WRITTEN);
    uint64_t good = book.run.header->first_stretch;
    const uint64_t bad[] = {8, good + 1, UINT64_MAX - 7, book.run.header->file_bytes};
    for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        book.run.header->first_stretch = bad[i];
        assert_int_equal(run_reader_open(&reader, book.run.path), -1);
        assert_non_null(strstr(reader.error, "when the trace was on"));
    }
    book.run.header->first_stretch = good;
    struct trace_stretch *stretch = (struct trace_stretch *)(void *)(book.run.arena + (good - book.run.arena_offset));
    stretch->next = good; /* a loop */
    assert_int_equal(run_reader_open(&reader, book.run.path), -1);
    stretch->next = 0;
    stretch->end_ticks = stretch->begin_ticks - 1;
    assert_int_equal(run_reader_open(&reader, book.run.path), -1);
}

static void say(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    size_t used = strlen(said);
    vsnprintf(said + used, sizeof said - used, format, args);
    va_end(args);
    lines++;
}

TEST(environment_is_read_once)
{
    setenv("MPIT_LARGE_MESSAGE_BYTES", "77", 1);
    setenv("MPIT_TRACE", "2", 1);
    setenv("MPIT_FILTER", "p2p,MPI_Sned", 1);
    setenv("MPIT_PAPI_EVENTS", "PAPI_TOT_INS CYCLES", 1);
    setenv("MPIT_SAMPLE_HZ", "10001", 1);
    setenv("MPIT_TIMING", "0", 1);
    settings_read();
    char text[KNOB_TEXT_BYTES] = "x";
    assert_int_equal(knob_load(KNOB_TIMING), 0);
    assert_int_equal(knob_load(KNOB_SAMPLE_HZ), 0);
    knob_read_text(KNOB_FILTER, text);
    assert_string_equal(text, "");
    assert_int_equal(knob_load(KNOB_LARGE_MESSAGE_BYTES), 77);
    assert_int_equal(knob_load(KNOB_TRACE), 0);
    settings_tell(say);
    assert_int_equal(lines, 4);
    assert_non_null(strstr(said, "MPIT_FILTER=p2p,MPI_Sned cannot be used: 'MPI_Sned' is neither"));
    assert_non_null(strstr(said, "MPIT_PAPI_EVENTS=PAPI_TOT_INS CYCLES cannot be used: allowed are names"));
    assert_non_null(strstr(said, "MPIT_SAMPLE_HZ=10001 cannot be used: allowed are whole numbers from 0 to 10000"));
    assert_non_null(strstr(said, "MPIT_TRACE=2 cannot be used: allowed are whole numbers from 0 to 1"));
    assert_int_equal(knob_write(KNOB_LARGE_MESSAGE_BYTES, 78), KNOB_WRITTEN);
    settings_read();
    assert_int_equal(knob_load(KNOB_LARGE_MESSAGE_BYTES), 78);
}
