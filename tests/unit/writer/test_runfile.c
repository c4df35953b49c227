/* The writer and the reader of run files together: objects, limits and faults; what could not be written is counted. */
#define _GNU_SOURCE
#include "traceappend.h"
#include "writer/spool.h"
#include "writerfixture.h"

#include <signal.h>

TESTS_EACH(directory_setup, directory_teardown)

TEST(new_run_says_who_wrote_it_and_when)
{
    uint64_t before = clock_now();
    open_with(MEGABYTE, 0);
    read_back();
    assert_int_equal(reader.header.phase, RUN_STARTING);
    assert_int_equal(reader.header.pid, getpid());
    assert_int_equal(reader.header.world_rank, -1);
    assert_int_equal(reader.header.clock_kind, clock_kind());
    assert_in_range(reader.header.begin_ticks, before, clock_now());
    assert_non_null(strstr(reader.header.program, "test_runfile"));
    assert_true(reader.header.host[0] && reader.header.boot[0]);
    assert_int_equal(reader.header.end_ticks, 0);
    run_close(&run, RUN_FINALIZED, true);
    run_reader_close(&reader);
    read_back();
    assert_int_equal(reader.header.phase, RUN_FINALIZED);
    assert_true(reader.header.end_ticks >= reader.header.begin_ticks);
    assert_true(reader.header.end_realtime_ns >= reader.header.begin_realtime_ns);
}

TEST(two_runs_of_a_process_get_two_files)
{
    static struct run other;
    open_with(MEGABYTE, 0);
    assert_int_equal(run_open(&other, directory, MEGABYTE, 0, &problem), 0);
    assert_true(other.fd >= 0);
    assert_string_not_equal(run.path, other.path);
    run_close(&other, RUN_FINALIZED, true);
    run_close(&run, RUN_FINALIZED, true);
}

TEST(run_is_its_owners_alone_and_leaves_no_file_when_dropped)
{
    open_with(MEGABYTE, 0);
    struct stat st;
    assert_int_equal(stat(run.path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700); /* and is held by its process */
    run_close(&run, RUN_FINALIZED, false);
    assert_int_equal(access(run.path, F_OK), -1);
    run_close(&run, RUN_FINALIZED, false);
}

/* In whichever PID namespace that is. A child of a fork does not hold it. */
TEST(live_file_is_held_until_its_process_ends)
{
    int begun[2], end[2], fd;
    char path[sizeof run.path];
    assert_true(pipe(begun) == 0 && pipe(end) == 0);
    pid_t pid = fork();
    if (pid == 0) {
        umask(0777);
        bool good = run_open(&run, directory, MEGABYTE, 0, &problem) == 0 && fork() >= 0;
        good = good && write(begun[1], run.path, sizeof run.path) == (ssize_t)sizeof run.path;
        close(end[1]);
        _exit(good && read(end[0], path, 1) == 0);
    }
    assert_int_equal(read(begun[0], path, sizeof path), sizeof path);
    assert_true((fd = open(path, O_RDONLY)) >= 0);
    struct stat st;
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    assert_true(spool_file_is_held(fd));
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_false(spool_file_is_held(fd));
    assert_int_equal(fchmod(fd, 0600), 0);
    assert_true(spool_file_is_held(fd)); /* it could not be locked, so nobody knows */
    close(fd);
    close(end[1]); /* ends the child's child */
}

TEST(spool_is_its_users_whatever_the_umask)
{
    char path[SPOOL_PATH_BYTES], reason[SPOOL_PROBLEM_BYTES];
    struct stat st;
    setenv("MPIT_SPOOL", directory, 1);
    for (int i = 0; i < 2; i++) { /* the second time one is there, without rights */
        mode_t before = umask(0777);
        assert_int_equal(spool_make("/nowhere", path, reason), 0);
        umask(before);
        assert_int_equal(strncmp(path, directory, strlen(directory)), 0);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_mode & 0777, 0700);
        *strrchr(path, '/') = '\0';
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_mode & 0777, 0700);
        assert_int_equal(chmod(path, 0), 0);
    }
    unsetenv("MPIT_SPOOL");
}

TEST(deep_directory_is_made)
{
    char deep[128];
    struct stat st;
    snprintf(deep, sizeof deep, "%s/a//b/c/", directory);
    assert_int_equal(run_directory_make(deep, NULL), 0);
    assert_int_equal(run_directory_make(deep, NULL), 0);
    assert_int_equal(stat(deep, &st), 0);
    assert_true(S_ISDIR(st.st_mode));
    assert_int_equal(run_directory_make("/", NULL), 0);
}

TEST(objects_are_zeroed_aligned_and_where_their_offset_says)
{
    enum { OBJECTS = 2000 };
    static struct {
        uint64_t offset;
        size_t bytes;
    } made[OBJECTS];
    open_with(64 * MEGABYTE, 0);
    srand(3);
    for (unsigned i = 0; i < OBJECTS; i++) {
        made[i].bytes = i % 500 == 7 ? 300000 : 1 + (size_t)rand() % 1000;
        unsigned char *object = run_alloc(&run, made[i].bytes, &made[i].offset);
        assert_non_null(object);
        assert_true(made[i].offset && made[i].offset % RUN_ALIGN == 0 && (uintptr_t)object % RUN_ALIGN == 0);
        for (size_t b = 0; b < made[i].bytes; b++)
            if (object[b])
                fail_msg("byte %zu of object %u is not zero", b, i);
        memset(object, (int)(i % 255 + 1), made[i].bytes);
    }
    read_back();
    for (unsigned i = 0; i < OBJECTS; i++)
        for (size_t b = 0; b < made[i].bytes; b++)
            if ((unsigned char)reader.base[made[i].offset + b] != i % 255 + 1)
                fail_msg("byte %zu of object %u is another one's", b, i);
    run_close(&run, RUN_FINALIZED, true);
}

TEST(file_bytes_covers_whole_chunks_at_every_moment)
{
    uint64_t offset;
    static struct event events[1000];
    open_with(64 * MEGABYTE, 0);
    for (unsigned i = 0; i < 60; i++) {
        if (i % 3 == 0)
            assert_non_null(run_alloc(&run, 200000, &offset));
        else if (i % 3 == 1)
            assert_non_null(run_ring_open(&run, i, 100 + i));
        else
            assert_true(run_trace_append(&run, i, 0, events, 10 * i));
        assert_true(file_size(run.path) >= run.header->file_bytes);
        read_back();
        EQUALS({reader.bytes, run.virtual_bytes}, {reader.chunk_count, i + 1});
        run_reader_close(&reader);
    }
    run_close(&run, RUN_FINALIZED, true);
}

TEST(lists_are_read_and_blocks_lie_by_communicator)
{
    struct fixture fixture;
    fixture_open(&fixture);
    for (uint32_t slot = 1; slot < FIXTURE_COMMS; slot++)
        fixture_comm_add(&fixture, slot, 4, "c");
    for (uint32_t index = 0; index < FIXTURE_THREADS; index++)
        fixture_thread_add(&fixture, index, 8);
    if (run_reader_open(&reader, fixture.run.path) != 0)
        fail_msg("%s", reader.error);
    EQUALS({reader.thread_count, FIXTURE_THREADS}, {reader.comm_count, FIXTURE_COMMS},
           {reader.block_count, FIXTURE_THREADS + FIXTURE_COMMS - 1}, {reader.blocks[0].kind, BLOCK_THREAD},
           {reader.blocks[0].thread, FIXTURE_THREADS - 1});
    for (uint32_t slot = 1; slot < FIXTURE_COMMS; slot++) {
        assert_int_equal(reader.comm_blocks[slot + 1] - reader.comm_blocks[slot], 1);
        assert_int_equal(reader.blocks[reader.comm_blocks[slot]].comm, slot);
    }
    for (uint32_t slot = 1; slot < FIXTURE_COMMS; slot++)
        assert_int_equal(reader.comms[slot]->slot, slot);
    assert_null(reader.comms[0]);
    fixture_close(&fixture, RUN_FINALIZED);
    fixture_remove(&fixture);
}

/* ---- limits and faults ----------------------------------------------------------------------------------------------
 */

TEST(memory_stays_under_its_limit)
{
    uint64_t offset, refused = 0;
    open_with(MEGABYTE, 0);
    for (unsigned i = 0; i < 100; i++)
        refused += run_alloc(&run, 50000, &offset) == NULL;
    assert_true(refused > 0 && refused < 100);
    assert_int_equal(run.header->lost[LOSS_NO_MEMORY], refused);
    assert_true(run.memory_bytes <= MEGABYTE);
    assert_null(run_ring_open(&run, 0, MEGABYTE));
    assert_int_equal(run.header->lost[LOSS_NO_MEMORY], refused + 1);
    read_back();
    run_close(&run, RUN_FINALIZED, true);
}

TEST(trace_is_no_memory)
{
    static struct event events[8190];
    open_with(MEGABYTE, 0);
    uint64_t before = run.memory_bytes;
    for (unsigned i = 0; i < 20; i++)
        assert_true(run_trace_append(&run, 0, i * UINT64_C(8190), events, 8190));
    assert_int_equal(run.memory_bytes, before);
    run_close(&run, RUN_FINALIZED, true);
}

static void memory_only_check(unsigned cause)
{
    uint64_t offset;
    struct event event = {.kind = 1};
    assert_false(run_has_file(&run));
    assert_string_equal(run.path, "");
    char *object = run_alloc(&run, 100, &offset);
    assert_non_null(object);
    object[99] = 1;
    assert_int_equal(offset != 0, run.fd >= 0); /* neighbours find it where it has the form of a file */
    run_link(&run, &run.header->first_comm, (uint64_t *)(void *)object, offset);
    assert_int_equal(run.header->first_comm, offset);
    assert_non_null(run_ring_open(&run, 0, 100));
    assert_int_equal(run.header->lost[LOSS_NO_FILE], cause);
    assert_false(run_trace_append(&run, 0, 0, &event, 1));
    assert_int_equal(run.header->lost[LOSS_NO_FILE], cause + 1);
    run_close(&run, RUN_FINALIZED, true);
    assert_int_equal(run.header->phase, RUN_FINALIZED);
}

TEST(run_without_a_directory_lives_in_memory)
{
    assert_int_equal(run_open(&run, NULL, MEGABYTE, 0, &problem), 0);
    assert_string_equal(problem.text, "");
    memory_only_check(0);
}

TEST(directory_that_is_a_file_is_a_problem_and_no_end)
{
    char path[128];
    snprintf(path, sizeof path, "%s/file", directory);
    close(open(path, O_CREAT | O_WRONLY, 0600));
    assert_int_equal(run_open(&run, path, MEGABYTE, 0, &problem), 0);
    assert_non_null(strstr(problem.text, path));
    assert_non_null(strstr(problem.text, "Not a directory"));
    memory_only_check(1);
    strcat(path, "/below");
    assert_int_equal(run_open(&run, path, MEGABYTE, 0, &problem), 0);
    assert_non_null(strstr(problem.text, "Not a directory"));
    memory_only_check(1);
}

/* In a process of its own, which gives up its rights: root may write everywhere. */
TEST(unwritable_directory_is_a_problem_and_no_end)
{
    pid_t child = fork();
    if (child == 0) {
        if (chmod(directory, 0555) != 0 || (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0))
            _exit(2);
        bool right = run_open(&run, directory, MEGABYTE, 0, &problem) == 0 && !run_has_file(&run) &&
                     strstr(problem.text, "cannot write into the directory of live files") &&
                     strstr(problem.text, directory) && strstr(problem.text, "Permission denied") &&
                     run.header->lost[LOSS_NO_FILE] == 1;
        _exit(right ? 0 : 1);
    }
    int status;
    waitpid(child, &status, 0);
    chmod(directory, 0700);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void file_size_limit_set(uint64_t bytes)
{
    struct rlimit limit;
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = bytes ? bytes : limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* SIGXFSZ would end this program. */
TEST(file_size_limit_is_a_full_disk_and_no_signal)
{
    uint64_t offset;
    static struct event events[2000];
    open_with(64 * MEGABYTE, 0);
    assert_non_null(run_alloc(&run, 100, &offset));
    uint64_t file_bytes = run.header->file_bytes;
    file_size_limit_set(file_bytes + RUN_PAGE_BYTES);
    assert_false(run_trace_append(&run, 0, 0, events, 2000));
    assert_int_equal(run.header->lost[LOSS_DISK_FULL], 2000);
    assert_true(run_trace_append(&run, 0, 2000, events, 10));
    char *object = run_alloc(&run, 300000, &offset);
    file_size_limit_set(0);
    assert_non_null(object);
    assert_int_equal(offset, 0);
    memset(object, 1, 300000);
    EQUALS({run.header->lost[LOSS_DISK_FULL], 2001}, {run.header->file_bytes, file_bytes + RUN_PAGE_BYTES});
    assert_non_null(run_ring_open(&run, 0, 100));
    run_close(&run, RUN_FINALIZED, true);
    read_back();
    assert_int_equal(reader.chunk_count, 2);
}

/* A program that closes what it does not know, and puts another file there. */
TEST(a_file_that_was_taken_away_stays_the_cause)
{
    uint64_t offset;
    static struct event events[2000];
    open_with(64 * MEGABYTE, 0);
    assert_non_null(run_alloc(&run, 100, &offset));
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_true(null >= 0);
    unlink(run.path); /* so that it is not opened again */
    assert_int_equal(dup2(null, run.fd), run.fd);
    close(null);
    assert_non_null(run_alloc(&run, 300000, &offset));
    EQUALS({offset, 0}, {run.header->lost[LOSS_NO_FILE], 1});
    assert_false(run_trace_append(&run, 0, 0, events, 2000));
    EQUALS({run.header->lost[LOSS_NO_FILE], 2001}, {run.header->lost[LOSS_DISK_FULL], 0});
    run_close(&run, RUN_FINALIZED, true);
}

TEST(no_space_for_the_header_is_a_problem_and_no_file)
{
    file_size_limit_set(100);
    int result = run_open(&run, directory, MEGABYTE, 0, &problem);
    file_size_limit_set(0);
    assert_int_equal(result, 0);
    assert_non_null(strstr(problem.text, "File too large"));
    memory_only_check(1);
    assert_int_equal(rmdir(directory), 0); /* it is empty */
}

TEST(what_comes_after_the_end_lives_in_memory)
{
    uint64_t offset;
    open_with(MEGABYTE, 0);
    run_close(&run, RUN_FINALIZED, true);
    uint64_t size = file_size(run.path);
    memset(run_alloc(&run, 1000, &offset), 1, 1000);
    assert_int_equal(offset, 0);
    assert_int_equal(file_size(run.path), size);
    read_back();
}

TEST(run_that_goes_on_grows_in_its_file)
{
    uint64_t offset;
    open_with(MEGABYTE, 0);
    run_close(&run, RUN_FINALIZED, true);
    assert_int_not_equal(run.header->end_ticks, 0);
    assert_true(run_reopen(&run));
    EQUALS({run.header->phase, RUN_RUNNING}, {run.header->end_ticks, 0});
    assert_non_null(run_alloc(&run, MEGABYTE / 4, &offset));
    assert_int_not_equal(offset, 0);
    assert_true(file_size(run.path) >= offset);
    run_close(&run, RUN_FINALIZED, true);
    read_back();
}

static void *losses_count(void *argument)
{
    for (int i = 0; i < 50000; i++)
        run_lost(argument, LOSS_UNKNOWN_REQUEST, 2);
    return NULL;
}

TEST(losses_of_all_threads_are_counted)
{
    pthread_t threads[4];
    open_with(MEGABYTE, 0);
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, losses_count, &run);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(run.header->lost[LOSS_UNKNOWN_REQUEST], 400000);
    run_close(&run, RUN_FINALIZED, true);
    run_lost(&(struct run){.header = NULL}, LOSS_NO_FILE, 1);
}

/* ---- a file that is read while it is written ------------------------------------------------------------------------
 */

static bool written;

/* What a recorder does meanwhile: chunks of the trace; communicators and blocks in the order in which the book links
 * them, each in a chunk that was not there before. */
static void *grow(void *argument)
{
    enum { STEPS = 300, LINKED = 8, ARENA_BYTES = 256 << 10 };
    struct event event = {.kind = 1};
    (void)argument;
    for (uint32_t i = 1; i < STEPS; i++) {
        uint64_t comm_offset, block_offset;
        run_trace_append(&run, 0, i, &event, 1);
        if (i % LINKED)
            continue;
        struct comm_record *comm = run_alloc(&run, ARENA_BYTES, &comm_offset);
        struct tally_block *block = run_alloc(&run, ARENA_BYTES, &block_offset);
        if (!comm || !block)
            break;
        comm->slot = i;
        block->kind = BLOCK_SHARED;
        block->comm = i;
        block->cells = 100;
        run_link(&run, &run.header->first_comm, &comm->next, comm_offset);
        run_link(&run, &run.header->first_block, &block->next, block_offset);
    }
    __atomic_store_n(&written, true, __ATOMIC_RELEASE);
    return NULL;
}

/* Reads one run while it grows; returns the number of readings that failed. */
static unsigned grown_read(char error[512])
{
    pthread_t writer;
    uint64_t thread_offset, cell;
    unsigned errors = 0;
    open_with(UINT64_C(2048) * MEGABYTE, 0);
    assert_non_null(run_alloc(&run, 64, &cell));
    struct thread_record *thread = run_alloc(&run, sizeof *thread, &thread_offset);
    thread->events_cell = cell;
    run_link(&run, &run.header->first_thread, &thread->next, thread_offset);
    written = false;
    pthread_create(&writer, NULL, grow, NULL);
    while (!__atomic_load_n(&written, __ATOMIC_ACQUIRE)) {
        if (run_reader_open(&reader, run.path) == 0) {
            run_reader_close(&reader);
            continue;
        }
        errors++;
        memcpy(error, reader.error, sizeof reader.error);
    }
    pthread_join(writer, NULL);
    run_close(&run, RUN_FINALIZED, false);
    return errors;
}

TEST(file_that_grows_is_read_without_an_error)
{
    enum { RUNS = 20 };
    char error[sizeof reader.error];
    unsigned errors = 0;
    for (int i = 0; i < RUNS; i++)
        errors += grown_read(error);
    if (errors)
        fail_msg("%u readings failed, the last one: %s", errors, error);
}
