/* Packed runs hold what the live files held, to the last event; damaged ones are refused or cut, never a crash. */
#include "unittest.h"

#include "format/packedrun.h"
#include "jobfile/jobwriter.h"
#include "replay/replay.h"
#include "emulated.h"
#include "runfixture.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

static bool no_memory;

ZSTD_DCtx *__real_ZSTD_createDCtx(void);
__attribute__((visibility("default"))) ZSTD_DCtx *
__wrap_ZSTD_createDCtx(void); /* libzstd may be the one that calls it */
ZSTD_DCtx *__wrap_ZSTD_createDCtx(void)
{
    return no_memory ? NULL : __real_ZSTD_createDCtx();
}

static struct event events[COLUMNS_EVENTS];
static struct columns columns;
static struct unpacked unpacked;

static uint64_t random_state = 88172645463325252u;

static uint64_t draw(uint64_t below)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state % below;
}

static struct columns_cursor columns_open(void)
{
    struct columns_cursor cursor = {0};
    for (int i = 0; i < COLUMN_COUNT; i++) {
        cursor.at[i] = column_bytes(&columns, i);
        cursor.end[i] = cursor.at[i] + columns.bytes[i];
    }
    unpacked_begin(&unpacked);
    return cursor;
}

/* Returns the bytes of all columns. */
static size_t round_trip(uint32_t count)
{
    size_t sum = 0;
    columns_write(&columns, events, count);
    for (int i = 0; i < COLUMN_COUNT; i++) {
        assert_true(columns.bytes[i] <= (size_t)COLUMN_MOST(i));
        sum += columns.bytes[i];
    }
    struct columns_cursor cursor = columns_open();
    for (uint32_t i = 0; i < count; i++) {
        const struct event *event = columns_next(&cursor, &unpacked);
        assert_non_null(event);
        assert_memory_equal(event, &events[i], sizeof *event);
    }
    assert_null(columns_next(&cursor, &unpacked));
    cursor = columns_open();
    for (uint32_t done = 0; done < count;) { /* several at a time */
        size_t place = unpacked.count & PACK_BACK_MOST, most = 1 + draw(PACK_BACK_MOST / 2);
        most = most > PACK_BACK_MOST + 1 - place ? PACK_BACK_MOST + 1 - place : most;
        size_t got = columns_take(&cursor, &unpacked, most);
        assert_int_equal(got, most < count - done ? most : count - done);
        assert_memory_equal(&unpacked.last[place], &events[done], got * sizeof *events);
        done += (uint32_t)got;
    }
    assert_int_equal(columns_take(&cursor, &unpacked, 1), 0);
    return sum;
}

static void any_event_draw(struct event *event)
{
    unsigned char *bytes = (unsigned char *)event;
    for (size_t i = 0; i < sizeof *event; i++)
        bytes[i] = draw(3) ? (unsigned char)draw(256) : (unsigned char)(0 - draw(2));
    if (draw(2))
        event->kind = (uint16_t)(RECORD_FIRST + draw(RECORD_END - RECORD_FIRST));
}

TEST(any_events_come_through)
{
    for (int round = 0; round < 50; round++) {
        uint32_t count = (uint32_t)draw(COLUMNS_EVENTS + 1);
        for (uint32_t i = 0; i < count; i++)
            if (i && draw(3) == 0)
                events[i] = events[i - 1 - draw(i < 700 ? i : 700)];
            else
                any_event_draw(&events[i]);
        round_trip(count);
    }
    memset(events, 0xff, sizeof events);
    round_trip(COLUMNS_EVENTS);
    for (size_t i = 0; i < COLUMNS_EVENTS; i++)
        events[i].begin = i % 2 ? 0 : UINT64_MAX / 2 + 1;
    round_trip(COLUMNS_EVENTS);
    round_trip(0);
}

/* An exchange as programs make it: two posted, one call that waits for both, behind it a record of each. */
TEST(a_loop_of_requests_takes_little)
{
    uint64_t now = 1000000;
    for (size_t i = 0; i + 5 <= COLUMNS_EVENTS; i += 5) {
        for (size_t k = 0; k < 3; k++, now += 200 + draw(64)) {
            uint32_t lasts = (uint32_t)(300 + draw(256));
            events[i + k] = (struct event){now, lasts, (uint16_t)(10 + k), 1, (int32_t)k, 7, 800};
            now += lasts;
        }
        events[i + 3] = (struct event){events[i].begin, 10, RECORD_SEND_DONE, 1, 0, 7, 800};
        events[i + 4] = (struct event){events[i + 1].begin, 11, RECORD_RECV_DONE, 1, 1, 7, 800};
    }
    uint32_t count = COLUMNS_EVENTS / 5 * 5;
    round_trip(count);
    /* of each call a gap of 9 and a duration of 9 or 10 bits at the most; zigzag doubles the gap */
    assert_true(columns.bytes[COLUMN_BITS] <= (count / 5 * 3 * (9 + 9) + 7) / 8 + 16);
    assert_int_equal(columns.bytes[COLUMN_FIELDS], 5 * COLUMN_FIELD_BYTES);
}

TEST(damaged_columns_end_the_block_and_nothing_else)
{
    for (int round = 0; round < 3000; round++) {
        uint32_t count = (uint32_t)draw(300), got = 0;
        for (uint32_t i = 0; i < count; i++)
            if (i && draw(2))
                events[i] = events[i - 1 - draw(i)];
            else
                any_event_draw(&events[i]);
        columns_write(&columns, events, count);
        unsigned char *copies[COLUMN_COUNT]; /* so that a sanitizer sees a read behind the end */
        struct columns_cursor cursor = {0};
        for (int i = 0; i < COLUMN_COUNT; i++) {
            size_t bytes = columns.bytes[i] - (draw(4) ? 0 : draw(columns.bytes[i] + 1));
            copies[i] = malloc(bytes + 1);
            memcpy(copies[i], column_bytes(&columns, i), bytes);
            for (uint64_t damages = draw(4); bytes && damages; damages--)
                copies[i][draw(bytes)] ^= (unsigned char)(1 + draw(255));
            cursor.at[i] = copies[i];
            cursor.end[i] = copies[i] + bytes;
        }
        unpacked_begin(&unpacked);
        while (columns_next(&cursor, &unpacked))
            got++;
        assert_true(got <= 2 * 300); /* a byte of shape each */
        for (int i = 0; i < COLUMN_COUNT; i++)
            free(copies[i]);
    }
}

/* ---- files */

static struct fixture fixture;
static char packed[128];          /* the job file of the run */
static struct run_extent section; /* its section */
static uint64_t process;          /* the identity in that */

FIXTURE(fixture_make)
{
    fixture_fill(&fixture);
}

FIXTURE(fixture_end)
{
    fixture_remove(&fixture);
}

static struct event kept[4][4096];
static size_t kept_count[4];

static size_t events_read(const struct run_reader *reader, uint32_t thread, struct event *into, size_t most)
{
    struct event_cursor cursor;
    size_t count = 0;
    event_cursor_open(&cursor, reader, thread);
    cursor.raw = true;
    for (const struct event *event; count < most && (event = event_cursor_next(&cursor)); count++)
        into[count] = *event;
    event_cursor_close(&cursor);
    return count;
}

static void run_keep(void)
{
    struct run_reader reader;
    assert_int_equal(run_reader_open(&reader, fixture.run.path), 0);
    assert_null(reader.file);
    for (uint32_t thread = 0; thread < reader.thread_count; thread++)
        kept_count[thread] = events_read(&reader, thread, kept[thread], 4096);
    run_reader_close(&reader);
}

/* Packs the run of the fixture into a job file. */
static void run_pack(void)
{
    struct run_reader reader;
    struct job_writer writer;
    snprintf(packed, sizeof packed, "%s/packed", fixture.directory);
    int fd = open(packed, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(run_reader_open(&reader, fixture.run.path), 0);
    assert_int_equal(job_writer_begin(&writer, fd, reader.header.job, 1), 0);
    assert_int_equal(job_writer_process(&writer, &reader, NULL), 0);
    assert_int_equal(job_writer_end(&writer), 0);
    assert_int_equal(writer.count, 1);
    process = run_identity(&reader.header);
    assert_true(writer.list[0].process == process);
    section = (struct run_extent){.begin = writer.list[0].begin, .bytes = writer.list[0].bytes};
    job_writer_release(&writer);
    run_reader_close(&reader);
    close(fd);
}

TEST_WITH(a_packed_run_tells_the_same, fixture_make, fixture_end)
{
    struct stat before, after;
    struct run_reader reader;
    char report[4096];
    static struct event again[4096];
    run_keep();
    assert_int_equal(stat(fixture.run.path, &before), 0);
    run_pack();
    assert_int_equal(stat(packed, &after), 0);
    assert_true(after.st_size * 10 < before.st_size);
    assert_int_equal(run_reader_open_part(&reader, packed, section), 0);
    assert_non_null(reader.file);
    uint64_t sum = 0;
    for (uint32_t thread = 0; thread < reader.thread_count; thread++) {
        assert_int_equal(events_read(&reader, thread, again, 4096), kept_count[thread]);
        assert_memory_equal(again, kept[thread], kept_count[thread] * sizeof *again);
        sum += kept_count[thread];
    }
    assert_true(sum > 0);
    assert_int_equal(replay_verify(&reader, report, sizeof report), 0);
    run_reader_close(&reader);
}

/* The index of a joined file says which process a section is of. */
TEST_WITH(a_copy_is_of_the_same_process, fixture_make, fixture_end)
{
    struct job_writer writer;
    run_pack();
    int from = open(packed, O_RDONLY | O_CLOEXEC), fd = open(fixture.run.path, O_RDWR | O_TRUNC | O_CLOEXEC);
    const struct section_entry entry = {.kind = SECTION_PROCESS, .begin = section.begin, .bytes = section.bytes};
    assert_int_equal(job_writer_begin(&writer, fd, 7, 2), 0);
    assert_int_equal(job_writer_copy(&writer, from, &entry), 0);
    assert_true(writer.list[0].process == process);
    job_writer_undo(&writer);
    EQUALS({writer.count, 0}, {writer.end, sizeof(struct job_header)});
    job_writer_release(&writer);
    close(from);
    close(fd);
}

/* When many others have come to rest, an image has gone. It comes back where it was. */
TEST_WITH(an_image_goes_and_comes_back, fixture_make, fixture_end)
{
    char error[128], report[4096];
    run_pack();
    struct run_reader *readers = calloc(RUN_MAPS_MOST + 1, sizeof *readers);
    assert_non_null(readers);
    for (size_t i = 0; i <= RUN_MAPS_MOST; i++) {
        assert_int_equal(run_reader_open_part(&readers[i], packed, section), 0);
        run_reader_rest(&readers[i]);
    }
    const char *base = readers[0].base;
    assert_int_equal(((const struct run_header *)(const void *)base)->version, 0); /* it has gone */
    for (int round = 0; round < 2; round++) {
        assert_int_equal(run_reader_wake(&readers[0], error), 0);
        assert_ptr_equal(readers[0].base, base);
        assert_int_equal(replay_verify(&readers[0], report, sizeof report), 0);
    }
    for (size_t i = 0; i <= RUN_MAPS_MOST; i++)
        run_reader_close(&readers[i]);
    free(readers);
}

TEST_WITH(a_program_without_the_codec_says_so, fixture_make, fixture_end)
{
    struct run_reader reader;
    run_pack();
    reader_packed = NULL;
    assert_int_equal(run_reader_open_part(&reader, packed, section), -1);
    assert_string_equal(reader.error, "is in a job file, which this program cannot read");
    packed_enable();
    assert_int_equal(run_reader_open(&reader, packed), -1);
    assert_string_equal(reader.error, "is a job file, with the files of several processes");
}

static void file_write(const char *path, const unsigned char *bytes, size_t count)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, count), count);
    close(fd);
}

TEST_WITH(damaged_files_are_refused_or_read_in_part, fixture_make, fixture_end)
{
    if (is_emulated())
        skip();
    char path[sizeof fixture.directory + 16];
    run_pack();
    int fd = open(packed, O_RDONLY | O_CLOEXEC);
    struct stat st;
    assert_true(fd >= 0 && fstat(fd, &st) == 0);
    size_t bytes = (size_t)st.st_size, refused = 0;
    unsigned char *sound = malloc(bytes), *damaged = malloc(bytes);
    assert_int_equal(read(fd, sound, bytes), bytes);
    close(fd);
    snprintf(path, sizeof path, "%s/damaged", fixture.directory);
    for (int round = 0; round < 2000; round++) {
        static struct event again[4096];
        struct run_reader reader;
        char report[4096];
        size_t count = draw(8) ? bytes : draw(bytes);
        memcpy(damaged, sound, bytes);
        for (uint64_t damages = draw(5); damages; damages--)
            damaged[section.begin + draw(draw(2) ? section.bytes : 512)] ^= (unsigned char)(1 << draw(8));
        file_write(path, damaged, count);
        if (run_reader_open_part(&reader, path, section) != 0) {
            assert_true(reader.error[0] != '\0');
            refused++;
            continue;
        }
        for (uint32_t thread = 0; thread < reader.thread_count; thread++)
            events_read(&reader, thread, again, 4096);
        replay_verify(&reader, report, sizeof report);
        run_reader_close(&reader);
    }
    assert_true(refused > 100 && refused < 2000);
    free(sound);
    free(damaged);
}

/* The events of a thread that can be read are those that were there; the others are told as missing. */
static size_t kept_compare(const struct run_reader *reader, uint32_t thread)
{
    struct event_cursor cursor;
    size_t count = 0;
    event_cursor_open(&cursor, reader, thread);
    cursor.raw = true;
    for (const struct event *event; (event = event_cursor_next(&cursor)); count++) {
        assert_true(cursor.next <= kept_count[thread]);
        assert_memory_equal(event, &kept[thread][cursor.next - 1], sizeof *event);
    }
    event_cursor_close(&cursor);
    assert_int_equal(count + cursor.missing, kept_count[thread]);
    return count;
}

TEST_WITH(what_is_read_of_a_damaged_file_is_what_was_recorded, fixture_make, fixture_end)
{
    if (is_emulated())
        skip();
    char path[sizeof fixture.directory + 16], report[4096];
    size_t refused = 0, partial = 0, bytes;
    struct stat st;
    run_keep();
    run_pack();
    int fd = open(packed, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0 && fstat(fd, &st) == 0);
    bytes = (size_t)st.st_size;
    unsigned char *file = malloc(bytes);
    assert_int_equal(read(fd, file, bytes), bytes);
    close(fd);
    snprintf(path, sizeof path, "%s/damaged", fixture.directory);
    for (int round = 0; round < 3000; round++) {
        struct run_reader reader;
        size_t at = section.begin + draw(section.bytes);
        unsigned char change = (unsigned char)(1 + draw(255));
        file[at] ^= change;
        file_write(path, file, bytes);
        file[at] ^= change;
        if (run_reader_open_part(&reader, path, section) != 0) {
            refused++;
            continue;
        }
        size_t all = 0, read = 0;
        for (uint32_t thread = 0; thread < reader.thread_count; thread++) {
            all += kept_count[thread];
            read += kept_compare(&reader, thread);
        }
        partial += read < all;
        assert_int_equal(replay_verify(&reader, report, sizeof report) == 0, read == all);
        run_reader_close(&reader);
    }
    print_message("%zu refused, %zu read in part\n", refused, partial);
    assert_true(refused > 100 && partial > 100);
    free(file);
}

TEST_WITH(what_there_is_no_memory_for_is_told, fixture_make, fixture_end)
{
    struct run_reader reader;
    size_t count = 0;
    run_keep();
    run_pack();
    assert_int_equal(run_reader_open_part(&reader, packed, section), 0);
    enum packed_trouble before = packed_trouble_seen();
    assert_int_not_equal(before, PACKED_NO_MEMORY);
    for (uint32_t thread = 0; thread < reader.thread_count; thread++)
        count += kept_compare(&reader, thread);
    assert_int_equal(packed_trouble_seen(), before);
    assert_int_not_equal(count, 0);
    no_memory = true;
    for (uint32_t thread = 0; thread < reader.thread_count; thread++)
        assert_int_equal(kept_compare(&reader, thread), 0);
    no_memory = false;
    assert_int_equal(packed_trouble_seen(), PACKED_NO_MEMORY);
    run_reader_close(&reader);
}

/* Nothing that is compressed holds a header: which events of whom these are, and where a piece of the image belongs. */
TEST_WITH(each_byte_of_a_header_is_missed, fixture_make, fixture_end)
{
    char path[sizeof fixture.directory + 16];
    struct stat st;
    size_t blocks = 0, pieces = 0;
    run_keep();
    run_pack();
    int fd = open(packed, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0 && fstat(fd, &st) == 0);
    size_t bytes = (size_t)st.st_size;
    unsigned char *file = malloc(bytes);
    assert_int_equal(read(fd, file, bytes), bytes);
    close(fd);
    snprintf(path, sizeof path, "%s/damaged", fixture.directory);
    for (size_t at = section.begin + sizeof(struct section_header), next; at < section.begin + section.bytes;
         at = next) {
        const struct chunk_header *chunk = (const void *)(file + at);
        bool block = chunk->kind == CHUNK_COLUMNS;
        size_t held = sizeof *chunk + (block ? sizeof(struct column_sizes) : 0);
        next = at + chunk->bytes;
        blocks += block;
        pieces += !block;
        for (size_t i = at; i < at + held; i++) {
            struct run_reader reader;
            unsigned char change = (unsigned char)(1 + draw(255));
            file[i] ^= change;
            file_write(path, file, bytes);
            file[i] ^= change;
            assert_int_not_equal(run_reader_open_part(&reader, path, section), 0);
        }
    }
    assert_true(blocks > 1 && pieces > 1);
    free(file);
}

static void phase_write(enum run_phase phase)
{
    uint32_t value = phase;
    int fd = open(fixture.run.path, O_WRONLY | O_CLOEXEC);
    assert_int_equal(pwrite(fd, &value, sizeof value, offsetof(struct run_header, phase)), sizeof value);
    close(fd);
}

TEST_WITH(the_file_of_a_killed_process_is_packed, fixture_make, fixture_end)
{
    struct run_reader reader;
    phase_write(RUN_RUNNING);
    run_keep();
    run_pack();
    assert_int_equal(run_reader_open_part(&reader, packed, section), 0);
    assert_int_equal(reader.header.phase, RUN_RUNNING);
    for (uint32_t thread = 0; thread < reader.thread_count; thread++) {
        static struct event again[4096];
        assert_int_equal(events_read(&reader, thread, again, 4096), kept_count[thread]);
        assert_memory_equal(again, kept[thread], kept_count[thread] * sizeof *again);
    }
    run_reader_close(&reader);
}

/* As the threads of a tool do: each opens, looks at and closes files of its own, all of which may be put to rest.
 */
static void *files_open(void *path)
{
    for (int i = 0; i < 500; i++) {
        struct run_reader reader;
        if (run_reader_open(&reader, path) != 0)
            return reader.error[0] ? path : NULL;
        uint64_t sum = 0;
        for (size_t chunk = 0; chunk < reader.chunk_count; chunk++)
            sum += reader.chunks[chunk]->bytes; /* a page each */
        run_reader_close(&reader);
        if (!sum)
            return path;
    }
    return NULL;
}

TEST(threads_open_files_at_once)
{
    static struct fixture recorded;
    pthread_t threads[4];
    fixture_fill(&recorded);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, files_open, recorded.run.path), 0);
    for (int i = 0; i < 4; i++) {
        void *failed;
        assert_int_equal(pthread_join(threads[i], &failed), 0);
        assert_null(failed);
    }
    fixture_remove(&recorded);
}

AT_START(codec_enable, packed_enable())
