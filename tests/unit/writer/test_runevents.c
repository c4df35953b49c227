/* The writer and the reader of run files together: events, in rings and traces. */
#define _GNU_SOURCE
#include "traceappend.h"
#include "writerfixture.h"

/* ---- events ------------------------------------------------------------------------------------------------------ */

static struct fixture recorded;

/* A run of one thread that has emitted `count` events; event n began at n. */
static void record(uint32_t capacity, uint64_t count, bool traced)
{
    fixture_open(&recorded);
    recorded.run.header->traced = traced;
    fixture_thread_add(&recorded, 0, capacity);
    for (uint64_t n = 0; n < count; n++)
        fixture_emit(&recorded, 0, (struct event){.begin = n, .kind = CALL_MPI_Wait}, NULL);
    fixture_close(&recorded, RUN_FINALIZED);
    if (run_reader_open(&reader, recorded.run.path) != 0)
        fail_msg("%s", reader.error);
}

static int record_teardown(void **state)
{
    run_reader_close(&reader);
    fixture_remove(&recorded);
    return directory_teardown(state);
}

/* Events first .. end - 1 come out, the ones before them are missing. */
static void events_check(uint64_t first, uint64_t end)
{
    struct event_cursor cursor;
    event_cursor_open(&cursor, &reader, 0);
    for (uint64_t n = first; n < end; n++) {
        const struct event *event = event_cursor_next(&cursor);
        assert_non_null(event);
        assert_int_equal(event->begin, n);
    }
    assert_null(event_cursor_next(&cursor));
    assert_null(event_cursor_next(&cursor));
    assert_int_equal(cursor.missing, first);
}

TEST_WITH(ring_keeps_all_until_it_is_full, directory_setup, record_teardown)
{
    record(16, 16, false);
    events_check(0, 16);
}

TEST_WITH(ring_drops_oldest_when_full, directory_setup, record_teardown)
{
    record(16, 21, false);
    events_check(5, 21);
}

TEST_WITH(trace_keeps_every_event_in_order, directory_setup, record_teardown)
{
    record(16, 16 * 5 + 3, true);
    events_check(0, 16 * 5 + 3);
    assert_int_equal(reader.chunk_count, 2 + 5);
}

TEST_WITH(trace_of_whole_buffers_is_read_once, directory_setup, record_teardown)
{
    record(16, 32, true);
    events_check(0, 32);
}

TEST_WITH(thread_without_events_has_none, directory_setup, record_teardown)
{
    struct event_cursor cursor;
    record(16, 0, true);
    events_check(0, 0);
    event_cursor_open(&cursor, &reader, 17);
    assert_null(event_cursor_next(&cursor));
    assert_int_equal(cursor.missing, 0);
}

TEST_WITH(chunk_of_another_thread_is_missing, directory_setup, record_teardown)
{
    record(16, 40, true);
    int fd = open(recorded.run.path, O_RDWR);
    for (size_t i = 0; i < reader.chunk_count; i++)
        if (reader.chunks[i]->kind == CHUNK_TRACE && reader.chunks[i]->first_event == 0) {
            uint32_t nobody = 99;
            off_t at = (const char *)&reader.chunks[i]->thread - reader.base;
            assert_int_equal(pwrite(fd, &nobody, sizeof nobody, at), sizeof nobody);
        }
    close(fd);
    struct event_cursor cursor;
    uint64_t n = 16;
    event_cursor_open(&cursor, &reader, 0);
    for (const struct event *event; (event = event_cursor_next(&cursor)); n++)
        assert_int_equal(event->begin, n);
    EQUALS({n, 40}, {cursor.missing, 16});
}

TEST_WITH(trace_stops_at_its_limit_and_the_ring_goes_on, directory_setup, record_teardown)
{
    fixture_open(&recorded);
    recorded.run.trace_limit = 2 * RUN_PAGE_BYTES;
    fixture_thread_add(&recorded, 0, 16);
    for (uint64_t n = 0; n < 100; n++)
        fixture_emit(&recorded, 0, (struct event){.begin = n, .kind = CALL_MPI_Wait}, NULL);
    assert_int_equal(recorded.run.trace_bytes, 2 * RUN_PAGE_BYTES);
    assert_int_equal(recorded.run.header->lost[LOSS_TRACE_LIMIT], (100 / 16 - 2) * 16);
    fixture_close(&recorded, RUN_FINALIZED);
    assert_int_equal(run_reader_open(&reader, recorded.run.path), 0);
    struct event_cursor cursor;
    uint64_t expected = 0, seen = 0;
    event_cursor_open(&cursor, &reader, 0);
    for (const struct event *event; (event = event_cursor_next(&cursor)); seen++) {
        if (expected == 32)
            expected = 100 - 16;
        assert_int_equal(event->begin, expected++);
    }
    EQUALS({seen, 48}, {cursor.missing, 52});
}

/* A block belongs to the trace if it began within the time. */
TEST_WITH(trace_stops_when_its_time_is_over, directory_setup, record_teardown)
{
    enum { BLOCK = 1100 }; /* the fixture does not pack so many */
    fixture_open(&recorded);
    run_time_limit(&recorded.run, 1, 1);
    recorded.run.trace_end = 2 * BLOCK + 1;
    fixture_thread_add(&recorded, 0, BLOCK);
    for (uint64_t n = 0; n < 5 * BLOCK + 10; n++)
        fixture_emit(&recorded, 0, (struct event){.begin = n, .kind = CALL_MPI_Wait}, NULL);
    assert_int_equal(recorded.run.header->lost[LOSS_TRACE_LIMIT], 2 * BLOCK);
    fixture_close(&recorded, RUN_FINALIZED);
    assert_int_equal(run_reader_open(&reader, recorded.run.path), 0);
    assert_int_equal(reader.header.trace_limit_ns, 1);
    struct event_cursor cursor;
    uint64_t seen = 0;
    event_cursor_open(&cursor, &reader, 0);
    for (const struct event *event; (event = event_cursor_next(&cursor)); seen++)
        assert_int_equal(event->begin, seen < 3 * BLOCK ? seen : seen + cursor.missing);
    assert_true(cursor.missing > 0 && seen + cursor.missing == 5 * BLOCK + 10);
}

/* Appends chunks of one to `most` events, and returns the number of the next event. */
static uint64_t chunks_append(uint64_t number, unsigned chunks, uint32_t most)
{
    static struct event events[1000];
    while (chunks--) {
        uint32_t count = 1 + (uint32_t)rand() % most;
        assert_true(run_trace_append(&run, 0, number, events, count));
        number += count;
    }
    return number;
}

/* What is older than the time is gone when the next chunk comes, what is younger stays, and the file does not grow. */
TEST_WITH(ring_trace_keeps_the_last_time, directory_setup, directory_teardown)
{
    const uint64_t forever = UINT64_C(1) << 60;
    open_with(64 * MEGABYTE, 0);
    run_trace_policy(&run, TRACE_RING);
    run_time_limit(&run, 1, forever);
    srand(12);
    uint64_t number = chunks_append(0, 100, 1000), bytes = run.trace_bytes, dropped = 0;
    assert_int_equal(run.header->lost[LOSS_TRACE_LIMIT], 0);
    for (unsigned round = 0; round < 20; round++) {
        dropped = number;
        run.trace_ticks = 1;
        usleep(1);
        number = chunks_append(number, 1, 1000);
        assert_int_equal(run.header->lost[LOSS_TRACE_LIMIT], dropped);
        run.trace_ticks = forever;
        number = chunks_append(number, 50, 900);
        EQUALS({run.header->lost[LOSS_TRACE_LIMIT], dropped}, {run.trace_bytes, bytes});
    }
    run_close(&run, RUN_FINALIZED, true);
    read_back();
    uint64_t kept = 0;
    for (size_t i = 0; i < reader.chunk_count; i++)
        if (reader.chunks[i]->kind == CHUNK_TRACE) {
            assert_true(reader.chunks[i]->first_event >= dropped);
            kept += reader.chunks[i]->capacity;
        }
    assert_int_equal(kept, number - dropped);
    run_trace_policy(&run, TRACE_STOP); /* gives its memory back */
}

/* Chunks of all sizes, and other pieces of the file between them: the last ones are there, one behind the other. */
TEST_WITH(ring_trace_keeps_the_last_within_its_limit, directory_setup, directory_teardown)
{
    enum { PAGES = 40, ROUNDS = 3000 };
    static struct event events[16 * RUN_PAGE_BYTES / sizeof(struct event)];
    uint64_t number = 0, offset, lost = 0;
    open_with(64 * MEGABYTE, PAGES * RUN_PAGE_BYTES);
    run_trace_policy(&run, TRACE_RING);
    srand(11);
    for (unsigned round = 0; round < ROUNDS; round++) {
        uint32_t count = 1 + (uint32_t)rand() % (uint32_t)(sizeof events / sizeof *events - 2);
        if (rand() % 100 == 0)
            assert_non_null(run_alloc(&run, 300000, &offset));
        for (uint32_t i = 0; i < count; i++)
            events[i].begin = number + i;
        assert_true(run_trace_append(&run, 0, number, events, count));
        number += count;
        assert_true(run.trace_bytes <= PAGES * RUN_PAGE_BYTES);
        if (round % 50)
            continue;
        read_back();
        uint64_t kept = 0, next = 0, bytes = 0;
        for (size_t i = 0; i < reader.chunk_count; i++) {
            const struct chunk_header *chunk = reader.chunks[i];
            bytes += chunk->kind == CHUNK_TRACE || chunk->kind == CHUNK_FREE ? chunk->bytes : 0;
            if (chunk->kind != CHUNK_TRACE)
                continue;
            if (kept)
                assert_int_equal(chunk->first_event, next);
            for (uint32_t e = 0; e < chunk->capacity; e++)
                assert_int_equal(((const struct event *)(chunk + 1))[e].begin, chunk->first_event + e);
            next = chunk->first_event + chunk->capacity;
            kept += chunk->capacity;
        }
        assert_int_equal(next, number);
        assert_true(bytes <= PAGES * RUN_PAGE_BYTES);
        lost = run.header->lost[LOSS_TRACE_LIMIT];
        assert_int_equal(lost, number - kept);
        run_reader_close(&reader);
    }
    assert_true(lost > 0);
    struct event *too_many = calloc(PAGES * 128, sizeof *too_many);
    assert_false(run_trace_append(&run, 0, number, too_many, PAGES * 128));
    free(too_many);
    assert_int_equal(run.cause, LOSS_TRACE_LIMIT);
    run_close(&run, RUN_FINALIZED, true);
    assert_false(run_trace_append(&run, 0, number, events, 10));
    read_back();
    run_trace_policy(&run, TRACE_STOP); /* gives its memory back */
}

/* One step of the move of a thread, whichever it needs. False: it has ended, in the one way or the other. */
static bool move_step(struct trace_move *move)
{
    if (!move->taken)
        return run_trace_take(&run, move, (size_t)rand() % 9000);
    if (move->done < move->bytes)
        return run_trace_put(&run, move, (size_t)rand() % 9000);
    (void)!run_trace_publish(&run, move);
    return false;
}

/* How many events of the thread the file has, in order, up to `end`, and that each is what it was. */
static uint64_t moved_count(uint32_t thread, uint64_t end)
{
    uint64_t kept = 0, next = 0;
    for (size_t i = 0; i < reader.chunk_count; i++) {
        const struct chunk_header *chunk = reader.chunks[i];
        if (chunk->kind != CHUNK_TRACE || chunk->thread != thread)
            continue;
        assert_true(chunk->first_event >= next);
        next = chunk->first_event + chunk->capacity;
        for (uint32_t e = 0; e < chunk->capacity; e++)
            assert_true(((const struct event *)(chunk + 1))[e].begin ==
                        (thread + 1) * UINT64_C(1000000000) + chunk->first_event + e);
        kept += chunk->capacity;
    }
    assert_true(next <= end);
    return kept;
}

/* Of a brief trace the file has the first events of a thread, and those before its last two chunks. */
static void both_ends_check(uint32_t thread, uint64_t end, uint64_t most)
{
    uint64_t first = UINT64_MAX, last = 0;
    for (size_t i = 0; i < reader.chunk_count; i++) {
        const struct chunk_header *chunk = reader.chunks[i];
        if (chunk->kind != CHUNK_TRACE || chunk->thread != thread)
            continue;
        first = chunk->first_event < first ? chunk->first_event : first;
        last = chunk->first_event + chunk->capacity;
    }
    assert_int_equal(first, 0);
    assert_true(last + 2 * most > end);
}

/* Several threads are on their way at the same time; at every moment the file holds whole chunks alone, and what it
 * does not hold is counted. */
static void moves_in_pieces(enum trace_policy policy, uint64_t limit)
{
    enum { THREADS = 5, EVENTS = 1500, STEPS = 20000 };
    static struct event events[THREADS][EVENTS];
    struct trace_move moves[THREADS] = {{.data = NULL}};
    uint64_t numbers[THREADS] = {0}, under_way = 0, kept = 0, all = 0, offset;
    open_with(64 * MEGABYTE, limit);
    run_trace_policy(&run, policy);
    srand(17);
    for (unsigned step = 0; step < STEPS; step++) {
        unsigned t = (unsigned)rand() % THREADS;
        if (rand() % 2000 == 0)
            assert_non_null(run_alloc(&run, 300000, &offset));
        if (!moves[t].data) {
            uint32_t count = 1 + (uint32_t)rand() % EVENTS;
            for (uint32_t i = 0; i < count; i++)
                events[t][i].begin = (t + 1) * UINT64_C(1000000000) + numbers[t] + i;
            moves[t] = (struct trace_move){
                .chunk = {.kind = CHUNK_TRACE, .thread = t, .capacity = count, .first_event = numbers[t]},
                .data = events[t],
                .bytes = count * sizeof(struct event)};
            numbers[t] += count;
        } else if (!move_step(&moves[t])) {
            moves[t].data = NULL;
        }
        assert_true(!limit || run.trace_bytes <= limit);
        if (step % 500 != 499)
            continue;
        read_back();
        under_way = kept = all = 0;
        for (unsigned i = 0; i < THREADS; i++) {
            kept += moved_count(i, numbers[i]);
            under_way += moves[i].data ? moves[i].chunk.capacity : 0;
            all += numbers[i];
        }
        if (policy != TRACE_BRIEF)
            assert_int_equal(run.header->lost[LOSS_TRACE_LIMIT] + kept + under_way, all);
        for (unsigned i = 0; policy == TRACE_BRIEF && i < THREADS; i++)
            both_ends_check(i, numbers[i], EVENTS);
        run_reader_close(&reader);
    }
    if (policy == TRACE_BRIEF)
        assert_true(kept + under_way < all && run.header->trace_bytes_over && !run.header->lost[LOSS_TRACE_LIMIT]);
    else
        assert_true(kept > 0 && (run.header->lost[LOSS_TRACE_LIMIT] > 0) == (limit > 0));
    run_close(&run, RUN_FINALIZED, true);
    assert_int_equal(file_size(run.path), run.header->file_bytes); /* what was made ready for more is cut off */
    run_trace_policy(&run, TRACE_STOP);                            /* gives its memory back */
}

TEST_WITH(threads_move_their_events_in_pieces, directory_setup, directory_teardown)
{
    moves_in_pieces(TRACE_STOP, 0);
    moves_in_pieces(TRACE_STOP, 3 * MEGABYTE);
    moves_in_pieces(TRACE_RING, 60 * RUN_PAGE_BYTES);
    moves_in_pieces(TRACE_BRIEF, 1000 * RUN_PAGE_BYTES);
}

/* The oldest places of a ring may be half of another event when the process dies; not if the ring has just become full.
 */
TEST_WITH(killed_process_shows_no_event_that_was_being_written_over, directory_setup, directory_teardown)
{
    for (uint64_t i = 0; i < 600; i++) {
        uint64_t written = i / 2, turned = i % 2 ? written : 0;
        bool whole = written % 64 == 0 && written > turned;
        uint64_t spare = whole ? 0 : RING_SPARE, first = written + spare > 64 ? written + spare - 64 : 0, seen = 0;
        fixture_open(&recorded);
        recorded.run.trace_limit = 1;
        fixture_thread_add(&recorded, 0, 64);
        for (uint64_t n = 0; n < written; n++)
            fixture_emit(&recorded, 0, (struct event){.begin = n, .kind = CALL_MPI_Wait}, NULL);
        recorded.threads[0].ring->turned = turned;
        fixture_close(&recorded, RUN_RUNNING);
        assert_int_equal(run_reader_open(&reader, recorded.run.path), 0);
        struct event_cursor cursor;
        event_cursor_open(&cursor, &reader, 0);
        for (const struct event *event; (event = event_cursor_next(&cursor)); seen++)
            assert_int_equal(event->begin, first + seen);
        EQUALS({seen, written - first}, {cursor.missing, first});
        run_reader_close(&reader);
        fixture_remove(&recorded);
    }
}

/* A killed process may have been writing over 33 events at once. */
TEST_WITH(killed_process_may_have_lost_its_oldest_events, directory_setup, directory_teardown)
{
    fixture_open(&recorded);
    recorded.run.trace_limit = 1;
    fixture_thread_add(&recorded, 0, 64);
    for (uint64_t n = 0; n < 100; n++)
        fixture_emit(&recorded, 0, (struct event){.begin = n, .kind = CALL_MPI_Wait}, NULL);
    fixture_close(&recorded, RUN_RUNNING);
    assert_int_equal(run_reader_open(&reader, recorded.run.path), 0);
    events_check(100 + RING_SPARE - 64, 100);
    run_reader_close(&reader);
    fixture_remove(&recorded);
}

/* A thread with a buffer of 64 whose trace had no place but for events 92 .. 99 of its 100. */
static void record_last_block(enum run_phase phase)
{
    struct event events[8] = {{.begin = 0}};
    fixture_open(&recorded);
    recorded.run.trace_limit = 1;
    fixture_thread_add(&recorded, 0, 64);
    for (uint64_t n = 0; n < 100; n++)
        fixture_emit(&recorded, 0, (struct event){.begin = n, .kind = CALL_MPI_Wait}, NULL);
    for (uint64_t n = 0; n < 8; n++)
        events[n] = (struct event){.begin = 92 + n, .kind = CALL_MPI_Wait};
    recorded.run.trace_limit = 0;
    assert_true(run_trace_append(&recorded.run, 0, 92, events, 8));
    fixture_close(&recorded, phase);
    assert_int_equal(run_reader_open(&reader, recorded.run.path), 0);
}

TEST_WITH(buffer_shows_what_lies_before_the_first_of_the_trace, directory_setup, record_teardown)
{
    record_last_block(RUN_FINALIZED);
    events_check(100 - 64, 100);
    assert_int_equal(run_reader_events_missing(&reader, 0), 100 - 64);
    run_reader_close(&reader);
    fixture_remove(&recorded);
    record_last_block(RUN_RUNNING);
    events_check(100 + RING_SPARE - 64, 100);
    assert_int_equal(run_reader_events_missing(&reader, 0), 100 + RING_SPARE - 64);
}

/* The buffer goes on under the reader: what has been written over is missing, and nothing newer stands in its place. */
TEST_WITH(living_process_shows_no_event_in_the_place_of_another, directory_setup, record_teardown)
{
    fixture_open(&recorded);
    recorded.run.trace_limit = 1;
    fixture_thread_add(&recorded, 0, 64);
    uint64_t n = 0, seen = 0;
    while (n < 100)
        fixture_emit(&recorded, 0, (struct event){.begin = n++, .kind = CALL_MPI_Wait}, NULL);
    assert_int_equal(run_reader_open(&reader, recorded.run.path), 0);
    struct event_cursor cursor;
    event_cursor_open(&cursor, &reader, 0);
    for (const struct event *event; (event = event_cursor_next(&cursor)); seen++) {
        assert_int_equal(event->begin, 100 + RING_SPARE - 64 + seen);
        if (seen == 3)
            while (n < 109)
                fixture_emit(&recorded, 0, (struct event){.begin = n++, .kind = CALL_MPI_Wait}, NULL);
    }
    EQUALS({seen, 4}, {cursor.missing, 100 - 4});
    run_reader_close(&reader);
    fixture_close(&recorded, RUN_RUNNING);
}

/* Calls have their paths, and all of their bytes: also more than fit beside a path, and the time of a posting. */
TEST_WITH(calls_have_their_paths_and_all_bytes, directory_setup, directory_teardown)
{
    const uint64_t begin = UINT64_C(7) << 45, posted = begin - 12345, wide = (UINT64_C(9) << 40) + 77;
    const struct {
        struct event event;
        uint64_t path, bytes, high; /* bytes: as the cursor shows them */
    } cases[] = {{{.kind = CALL_MPI_Send, .bytes = 100}, 3, 100, 0},
                 {{.kind = CALL_MPI_Test, .bytes = posted & EVENT_BYTES_MASK}, 65535, posted, 0},
                 {{.kind = CALL_MPI_Test}, 4, 0, 0},
                 {{.kind = CALL_MPI_Put | EVENT_WIDE, .bytes = 77}, 5, wide, 10},
                 {{.kind = CALL_MPI_Test | EVENT_WIDE, .bytes = 5}, 5, 5, 1},
                 {{.kind = CALL_MPI_Barrier | EVENT_WIDE, .bytes = 6}, 6, 6, 0},
                 {{.kind = CALL_MPI_Recv, .bytes = EVENT_BYTES_MASK}, 7, EVENT_BYTES_MASK, 0}};
    enum { CASES = sizeof cases / sizeof cases[0], ROUNDS = 700 };
    for (int traced = 0; traced < 2; traced++) {
        fixture_open(&recorded);
        fixture_thread_add(&recorded, 0, traced ? 64 : 16384);
        for (unsigned n = 0; n < ROUNDS * CASES; n++) {
            struct event event = cases[n % CASES].event;
            struct event_extension more = {.kind = RECORD_EXTENSION, .bytes_high = cases[n % CASES].high};
            event.begin = begin;
            event.bytes |= cases[n % CASES].path << EVENT_PATH_SHIFT;
            fixture_emit(&recorded, 0, event, &more);
        }
        fixture_close(&recorded, RUN_FINALIZED);
        assert_int_equal(run_reader_open(&reader, recorded.run.path), 0);
        struct event_cursor cursor;
        event_cursor_open(&cursor, &reader, 0);
        uint64_t number = 0;
        for (unsigned n = 0; n < ROUNDS * CASES; n++) {
            const struct event *event = event_cursor_next(&cursor);
            assert_non_null(event);
            EQUALS({event->kind, cases[n % CASES].event.kind}, {cursor.path, cases[n % CASES].path});
            assert_true(event->bytes == cases[n % CASES].bytes);
            assert_int_equal(cursor.next, ++number);
            if (!(event->kind & EVENT_WIDE))
                continue;
            event = event_cursor_next(&cursor);
            assert_int_equal(event_kind(event), RECORD_EXTENSION);
            assert_int_equal(cursor.next, ++number);
        }
        assert_null(event_cursor_next(&cursor));
        event_cursor_close(&cursor);
        run_reader_close(&reader);
        fixture_remove(&recorded);
    }
}
