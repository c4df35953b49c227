/* Drained chunks come back in the section of their process, to the last event. So they do when a call fails, or the drain is
 * killed. */
#include "unittest.h"

#include "base/hash.h"
#include "calls.h"
#include "collect/drain.h"
#include "format/samples.h"
#include "jobfile/drained.h"
#include "jobfile/jobwriter.h"
#include "replay/replay.h"
#include "runfixture.h"
#include "samplefixture.h"
#include "writer/room.h"

#include "mpit/collector.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- calls that fail --------------------------------------------------------------------------------------------- */

enum { KILLED = 9 };
static int hit_in;     /* so many calls from now on one is hit. 0: none */
static bool hit_kills; /* it ends the process. Else it fails */

static bool call_is_hit(void)
{
    if (hit_in == 0 || --hit_in > 0)
        return false;
    if (hit_kills)
        _exit(KILLED);
    errno = ENOSPC;
    return true;
}

ssize_t __real_pwrite(int fd, const void *bytes, size_t count, off_t place);
ssize_t __wrap_pwrite(int fd, const void *bytes, size_t count, off_t place);
ssize_t __wrap_pwrite(int fd, const void *bytes, size_t count, off_t place)
{
    if (hit_in == 1 && count > 1) /* a part is written */
        (void)!__real_pwrite(fd, bytes, count / 2, place);
    return call_is_hit() ? -1 : __real_pwrite(fd, bytes, count, place);
}

int __real_ftruncate(int fd, off_t bytes);
int __wrap_ftruncate(int fd, off_t bytes);
int __wrap_ftruncate(int fd, off_t bytes)
{
    return call_is_hit() ? -1 : __real_ftruncate(fd, bytes);
}

int __real_fallocate(int fd, int mode, off_t place, off_t bytes);
int __wrap_fallocate(int fd, int mode, off_t place, off_t bytes);
int __wrap_fallocate(int fd, int mode, off_t place, off_t bytes)
{
    return call_is_hit() ? -1 : __real_fallocate(fd, mode, place, bytes);
}

int __real_unlink(const char *path);
int __wrap_unlink(const char *path);
int __wrap_unlink(const char *path)
{
    return call_is_hit() ? -1 : __real_unlink(path);
}

/* ---- the scene: a live file with more chunks than a step has ---------------------------------------------------- */

enum { THREADS = 3, CHUNK_EVENTS = 12, ROUNDS = 90, SAMPLED_ROUND = 20 };

static struct fixture fixture;
static char live[PATH_MAX], part[sizeof fixture.directory + 16], packed[sizeof part];
static char *scene; /* the bytes of the live file */
static size_t scene_bytes;

/* The content of a run. */
struct content {
    uint64_t events, samples, sum, lost, missing, blocks; /* events in the blocks */
};
static struct content whole;

static struct content content_of(const struct run_reader *run)
{
    struct content content = {.sum = HASH_BEGIN, .lost = run->header.lost[LOSS_NO_FILE]};
    for (size_t i = 0; i < run->chunk_count; i++)
        content.blocks += run->chunks[i]->kind == CHUNK_COLUMNS ? run->chunks[i]->capacity : 0;
    for (uint32_t thread = 0; thread < run->thread_count; thread++) {
        struct event_cursor cursor;
        event_cursor_open(&cursor, run, thread);
        cursor.raw = true;
        for (const struct event *event; (event = event_cursor_next(&cursor)); content.events++)
            content.sum = hash_bytes(content.sum, event, sizeof *event);
        content.missing += cursor.missing;
        event_cursor_close(&cursor);
    }
    for (uint32_t stream = 0; stream < run_reader_sample_streams(run); stream++) {
        struct sample_cursor cursor;
        assert_int_equal(sample_cursor_open(&cursor, run, stream), 0);
        for (const struct sample *sample; (sample = sample_cursor_next(&cursor)); content.samples++)
            content.sum = hash_bytes(content.sum, sample->pcs, sample->frames * sizeof *sample->pcs);
        assert_false(cursor.damaged);
        sample_cursor_close(&cursor);
    }
    return content;
}

static void round_record(struct sample_writer *samples, uint64_t round)
{
    const uint64_t pcs[] = {0x1500 + round, 0x1400, 0x1300}, at = FIXTURE_BEGIN_TICKS + 10000 * round;
    for (uint32_t thread = 0; thread < THREADS; thread++)
        for (uint64_t i = 0; i < CHUNK_EVENTS; i++)
            fixture_emit(&fixture, thread,
                         (struct event){.begin = at + 100 * i,
                                        .duration = (uint32_t)(1 + round),
                                        .kind = CALL_MPI_Send,
                                        .comm = 1,
                                        .peer = (int32_t)i,
                                        .bytes = round},
                         NULL);
    sampler_take(samples, at, MPIT_STATE_NOT_IN_MPI, 0, pcs, 3);
    if (round % SAMPLED_ROUND == 0) {
        assert_true(run_samples_flush(&fixture.run, samples));
        sample_put_thread(samples, 0, 100, FIXTURE_PERIOD_NS, (char[16]){"again"});
    }
}

FIXTURE(scene_make)
{
    struct sample_writer samples;
    struct run_reader run;
    fixture_open(&fixture);
    fixture_comm_add(&fixture, 1, 320, "MPI_COMM_WORLD");
    for (uint32_t thread = 0; thread < THREADS; thread++)
        fixture_thread_add(&fixture, thread, CHUNK_EVENTS);
    sampler_open(&samples, &fixture.run, 0, 0);
    for (uint64_t round = 0; round < ROUNDS; round++)
        round_record(&samples, round);
    fixture_close(&fixture, RUN_FINALIZED);
    snprintf(live, sizeof live, "%s", fixture.run.path);
    snprintf(part, sizeof part, "%s/part", fixture.directory);
    snprintf(packed, sizeof packed, "%s/packed", fixture.directory);
    assert_int_equal(run_reader_open(&run, live), 0);
    whole = content_of(&run);
    scene_bytes = run.bytes;
    scene = malloc(scene_bytes);
    assert_non_null(scene);
    memcpy(scene, run.base, scene_bytes);
    run_reader_close(&run);
    EQUALS({whole.events, THREADS * ROUNDS * CHUNK_EVENTS}, {whole.samples, ROUNDS});
}

FIXTURE(scene_end)
{
    free(scene);
    fixture_remove(&fixture);
}

static void scene_restore(void)
{
    __real_unlink(live);
    int fd = open(live, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_int_equal(__real_pwrite(fd, scene, scene_bytes, 0), scene_bytes);
    close(fd);
    if (__real_unlink(part) != 0)
        assert_int_equal(errno, ENOENT);
}

/* Packs the live file with its drained part, as the collector does. Returns the content of the section. */
static struct content collected(void)
{
    struct run_reader run;
    struct drained drained;
    struct job_writer writer;
    char report[4096];
    __real_unlink(packed);
    int fd = open(packed, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_int_equal(run_reader_open(&run, live), 0);
    bool some = run.header.drained != 0;
    assert_int_equal(some ? drained_open(&drained, part, room_in((void *)(uintptr_t)run.base)->drained_end) : 0, 0);
    assert_int_equal(job_writer_begin(&writer, fd, 1, 1), 0);
    assert_int_equal(job_writer_process(&writer, &run, some ? &drained : NULL), 0);
    assert_int_equal(job_writer_end(&writer), 0);
    const struct run_extent section = {.begin = writer.list[0].begin, .bytes = writer.list[0].bytes};
    job_writer_release(&writer);
    close(fd);
    if (some)
        drained_close(&drained);
    run_reader_close(&run);
    assert_int_equal(run_reader_open_part(&run, packed, section), 0);
    struct content content = content_of(&run);
    if (!content.missing)
        assert_int_equal(replay_verify(&run, report, sizeof report), 0);
    run_reader_close(&run);
    return content;
}

static void all_comes_back(void)
{
    struct content content = collected();
    content.blocks = 0;
    assert_memory_equal(&content, &whole, sizeof whole);
}

static uint64_t bytes_drained(void)
{
    struct run_reader run;
    assert_int_equal(run_reader_open(&run, live), 0);
    uint64_t drained = run.header.drained;
    run_reader_close(&run);
    return drained;
}

static void part_cut(off_t bytes)
{
    assert_int_equal(truncate(part, bytes), 0);
}

static off_t part_bytes(void)
{
    struct stat st;
    assert_int_equal(stat(part, &st), 0);
    return st.st_size;
}

/* All chunks that are finished were drained. */
static void nothing_is_left(void)
{
    struct run_reader run;
    assert_int_equal(run_reader_open(&run, live), 0);
    for (size_t i = 0; i < run.chunk_count; i++) {
        assert_true(run.chunks[i]->kind != CHUNK_TRACE && run.chunks[i]->kind != CHUNK_PACKED);
        assert_true(run.chunks[i]->kind != CHUNK_SAMPLES || run.chunks[i]->reserved[0]);
    }
    run_reader_close(&run);
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

TESTS_ALL(scene_make, scene_end)

TEST(all_that_is_finished_is_drained)
{
    all_comes_back();
    scene_restore();
    drain_file(live, part);
    nothing_is_left();
    assert_int_equal(collected().blocks, whole.events); /* none is there twice */
    drain_file(live, part);                             /* there is nothing left */
    all_comes_back();
}

/* The file grows between two looks. */
TEST(what_comes_later_is_drained_later)
{
    uint64_t ends[] = {scene_bytes / 4, scene_bytes / 2, scene_bytes}, before = 0;
    scene_restore();
    int fd = open(live, O_WRONLY | O_CLOEXEC);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        uint64_t end = RUN_PAGE_BYTES; /* of a chunk */
        while (end < ends[i])
            end += ((const struct chunk_header *)(const void *)(scene + end))->bytes;
        assert_int_equal(__real_pwrite(fd, &end, sizeof end, offsetof(struct run_header, file_bytes)), sizeof end);
        drain_file(live, part);
        uint64_t now = bytes_drained();
        assert_true(now > before);
        before = now;
    }
    close(fd);
    all_comes_back();
}

/* Drains with one call hit. Returns whether there was such a call. */
static bool hit_drain(int call, bool kills)
{
    int status;
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        hit_in = call;
        hit_kills = kills;
        drain_file(live, part);
        _exit(hit_in ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status) != 0;
}

static void drains_are_hit(bool kills)
{
    int calls = 0;
    for (int call = 1;; call += call < 30 ? 1 : 19) {
        scene_restore();
        if (!hit_drain(call, kills))
            break;
        calls++;
        all_comes_back();
        if (call % 3) {
            drain_file(live, part);
            nothing_is_left();
            all_comes_back();
        }
    }
    assert_true(calls > 60);
}

TEST(a_call_that_fails_costs_nothing)
{
    drains_are_hit(false);
}

TEST(a_killed_drain_costs_nothing)
{
    drains_are_hit(true);
}

/* Its events are missing, and that counts as one loss. */
static void some_is_lost(void)
{
    struct content content = collected();
    assert_int_equal(content.lost, whole.lost + 1);
    assert_true(content.events <= whole.events); /* a ring may still have the last ones */
    assert_int_equal(content.events + content.missing, whole.events);
}

TEST(what_is_gone_is_counted)
{
    scene_restore();
    drain_file(live, part);
    off_t bytes = part_bytes();
    for (off_t cut = 1; cut < bytes; cut = 3 * cut) {
        scene_restore();
        drain_file(live, part);
        part_cut(bytes - cut);
        some_is_lost();
    }
    part_cut(0);
    some_is_lost();
    __real_unlink(part);
    some_is_lost();
}

TEST(a_part_that_goes_while_it_grows_is_counted)
{
    for (int gone = 0; gone < 2; gone++) {
        scene_restore();
        assert_true(hit_drain(300, true)); /* one step is written */
        assert_true(bytes_drained() > 0);
        gone ? (void)__real_unlink(part) : part_cut(100);
        drain_file(live, part);
        some_is_lost();
    }
}

/* Damage costs a chunk, and never the process. */
TEST(a_damaged_part_costs_a_part)
{
    scene_restore();
    drain_file(live, part);
    off_t bytes = part_bytes();
    int fd = open(part, O_RDWR | O_CLOEXEC);
    for (off_t at = 0; at < bytes; at += 1 + bytes / 150) {
        unsigned char byte, other;
        assert_int_equal(pread(fd, &byte, 1, at), 1);
        other = (unsigned char)(byte ^ 0x10);
        assert_int_equal(__real_pwrite(fd, &other, 1, at), 1);
        struct content content = collected();
        assert_int_equal(content.events + content.missing, whole.events);
        assert_true(content.missing <= COLUMNS_EVENTS);
        assert_true(content.lost == whole.lost + 1 || content.missing || content.sum == whole.sum);
        assert_int_equal(__real_pwrite(fd, &byte, 1, at), 1);
    }
    close(fd);
    all_comes_back();
}

AT_START(codec_enable, packed_enable())
