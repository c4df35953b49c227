/*
 * No way in which a file of the recorder's grows lets SIGXFSZ reach the program, at whatever length the limit on the
 * size of files falls, and at whatever moment.
 *
 * getrlimit is this test's, and never tells of a limit: as if that had been set right behind the look. Each length is
 * tried in a process of its own, whose disposition of the signal is the one that ends it.
 */
#define _GNU_SOURCE
#include "unittest.h"

#include "clock/clock.h"
#include "writer/filesize.h"
#include "runfixture.h"
#include "samplefixture.h"
#include "traceappend.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EVENTS = 300, BLOCKS = 12, RING_LIMIT = 60000, ARENA_BYTES = 300 << 10, STEP_BYTES = 8 << 10 };
enum { OTHER_SIGNALS = 3, NO_RUN, NO_LIMIT }; /* statuses of a process that tries a length */

static char directory[64];

/* In place of the library's. */
int getrlimit(__rlimit_resource_t resource, struct rlimit *limit)
{
    (void)resource;
    *limit = (struct rlimit){RLIM_INFINITY, RLIM_INFINITY};
    return 0;
}

static void limit_set(uint64_t bytes)
{
    struct rlimit limit;
    prlimit(0, RLIMIT_FSIZE, NULL, &limit);
    limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
        _exit(NO_LIMIT);
}

static bool signal_is_pending(void)
{
    sigset_t pending;
    sigpending(&pending);
    return sigismember(&pending, SIGXFSZ) == 1;
}

/* All that writes. Returns the length that the file came to. */
static uint64_t run_write(enum trace_policy policy)
{
    static struct event events[EVENTS];
    struct run run;
    struct run_problem problem;
    struct sample_writer writer = {0};
    uint64_t offset, pcs[] = {1, 2, 3};
    if (run_open(&run, directory, UINT64_C(1) << 30, policy == TRACE_RING ? RING_LIMIT : 0, &problem) != 0)
        _exit(NO_RUN);
    run_trace_policy(&run, policy);
    run_gaps_open(&run);
    run_ring_open(&run, 0, EVENTS);
    sampler_open(&writer, &run, 0, 0);
    for (uint64_t i = 0; i < BLOCKS; i++) {
        run_trace_append(&run, 0, i * EVENTS, events, EVENTS);
        if (i % 4 == 0)
            run_alloc(&run, ARENA_BYTES, &offset);
        sampler_take(&writer, i, 0, 0, pcs, 3);
        run_samples_flush(&run, &writer);
    }
    uint64_t bytes = run.virtual_bytes;
    run_trace_policy(&run, TRACE_STOP); /* gives its memory back */
    run_close(&run, RUN_FINALIZED, true);
    if (run.path[0])
        unlink(run.path);
    return bytes;
}

/* What the program has pending, and whether that is there still, once. */
enum program { DEFAULT, THREAD_PENDING, PROCESS_PENDING, PROGRAMS };

static void signal_raise(enum program program)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGXFSZ);
    if (program == DEFAULT)
        return;
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    if (program == THREAD_PENDING)
        raise(SIGXFSZ);
    else
        kill(getpid(), SIGXFSZ);
}

static bool signal_is_as_before(enum program program)
{
    sigset_t set, mask;
    sigemptyset(&set);
    sigaddset(&set, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    int count = 0;
    bool pending = signal_is_pending();
    while (pending && sigtimedwait(&set, NULL, &(struct timespec){0, 0}) == SIGXFSZ)
        count++;
    return sigismember(&mask, SIGXFSZ) == (program != DEFAULT) && count == (program != DEFAULT);
}

static int run_status(enum trace_policy policy, enum program program, uint64_t limit)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        signal_raise(program);
        limit_set(limit);
        run_write(policy);
        _exit(signal_is_as_before(program) ? 0 : OTHER_SIGNALS);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

TEST(no_limit_ends_the_program)
{
    for (enum trace_policy policy = TRACE_STOP; policy <= TRACE_RING; policy++) {
        uint64_t whole = run_write(policy);
        assert_true(whole > 20 * STEP_BYTES);
        for (enum program program = DEFAULT; program < PROGRAMS; program++)
            for (uint64_t limit = 0; limit <= whole + STEP_BYTES; limit += program == DEFAULT ? STEP_BYTES : whole / 16)
                assert_int_equal(run_status(policy, program, limit), 0);
    }
}

/* Each way by itself: the answer is that of the limit. */
TEST(each_way_of_growing_answers)
{
    char path[sizeof directory + 8], byte = 1;
    snprintf(path, sizeof path, "%s/file", directory);
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
    assert_true(fd >= 0);
    limit_set(STEP_BYTES);
    assert_int_equal(filesize_set(fd, STEP_BYTES), 0);
    assert_int_equal(filesize_allocate(fd, 0, STEP_BYTES), 0);
    assert_int_equal(filesize_set(fd, STEP_BYTES + 1), EFBIG);
    assert_int_equal(filesize_allocate(fd, STEP_BYTES, 1), EFBIG);
    errno = 0;
    assert_int_equal(filesize_write(fd, &(struct iovec){&byte, 1}, 1, STEP_BYTES), -1);
    assert_int_equal(errno, EFBIG);
    assert_int_equal(filesize_write(fd, &(struct iovec){&byte, 1}, 1, STEP_BYTES - 1), 1);
    limit_set(RLIM_INFINITY);
    assert_int_equal(filesize_set(-1, 1), EBADF);
    assert_false(signal_is_pending());
    close(fd);
    unlink(path);
}

int main(void)
{
    clock_open();
    fixture_directory_make(directory);
    int failed = tests_run();
    fixture_directory_remove(directory);
    return failed;
}
