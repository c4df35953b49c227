/* Polls of the progress engine: the quick way makes of them what the other one does. */
#include "unittest.h"

#include "effort.h"
#include "progress/polling.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct watched {
    struct log log;
    struct thread_record record;
};

static void watched_open(struct watched *watched)
{
    memset(watched, 0, sizeof *watched);
    watched->log.own.record = &watched->record;
    watched->log.state = &watched->record.state;
    watched->log.stall.patience = PATIENCE_LEAST;
    watched->log.stall.left = PATIENCE_LEAST;
}

static void call_begin(struct watched *watched, uint32_t call, uint64_t since)
{
    watched->record.state.since = since;
    watched->record.state.call = call;
    if (call != CALL_NONE)
        stall_call_begin(&watched->log.stall);
}

enum inside { NOTHING, NESTED_VAIN, NESTED_FOUND, SLEEP, BY_THE_WAY, INSIDES };

static void inside_do(enum inside inside)
{
    struct log *log;
    switch (inside) {
    case NESTED_VAIN:
    case NESTED_FOUND:
        assert_false(stall_waiting() && poll_is_quick(thread_log));
        log = poll_begin();
        if (log)
            poll_end(log, inside == NESTED_FOUND);
        break;
    case SLEEP:
        log = sleep_begin();
        if (log)
            sleep_end(log);
        break;
    case BY_THE_WAY:
        poll_found();
        break;
    default:
        break;
    }
}

/* As a probe does; false: not the quick way. */
static bool poll_one(struct watched *watched, bool may_be_quick, enum inside inside, bool found)
{
    struct log *log = thread_log = &watched->log;
    if (may_be_quick && poll_is_quick(log)) {
        uint64_t after = poll_quick_begin(log);
        inside_do(inside);
        poll_quick_end(log, after, found);
        return true;
    }
    log = poll_begin();
    inside_do(inside);
    if (log)
        poll_end(log, found);
    return false;
}

static void sleep_outside(struct watched *watched)
{
    thread_log = &watched->log;
    inside_do(SLEEP);
}

static bool waits(const struct watched *watched)
{
    return stall_may_wait[watched->record.state.call];
}

static void same(const struct watched *a, const struct watched *b)
{
    const struct stall *x = &a->log.stall, *y = &b->log.stall;
    EQUALS({x->since != 0, y->since != 0}, {a->record.stalled != 0, b->record.stalled != 0}, {x->times, y->times},
           {x->depth, y->depth});
    if (!waits(a)) /* then nobody asks how many are left */
        return;
    assert_int_equal(x->left, y->left);
    uint64_t since = a->record.state.since;
    assert_int_equal(x->moved == since, y->moved == since);
}

FIXTURE(setup)
{
    clock_open();
    stall_open();
    struct log none;
    stall_scale(&none, (struct clock_scale){0}, false); /* so that what is learned does not depend on time */
}

TESTS_ALL(setup, NULL)

TEST(the_quick_way_counts_as_the_other)
{
    static struct watched quick, slow;
    uint64_t since = 1000;
    unsigned went_quickly = 0, stalls = 0;
    watched_open(&quick);
    watched_open(&slow);
    srand(1);
    for (int round = 0; round < EFFORT(2000, 50); round++) {
        static const uint32_t calls[] = {CALL_MPI_Recv, CALL_MPI_Wait, CALL_MPI_Test, CALL_NONE};
        uint32_t call = calls[rand() % 4];
        since += 10;
        call_begin(&quick, call, call ? since : since - 10); /* a call that has ended leaves its begin */
        call_begin(&slow, call, call ? since : since - 10);
        int rarely = 1 + rand() % 40; /* seldom enough for stalls to begin, too */
        for (int polls = rand() % 400; polls; polls--) {
            enum inside inside = rand() % (8 * rarely) ? NOTHING : (enum inside)(rand() % INSIDES);
            bool found = rand() % (4 * rarely) == 0;
            went_quickly += poll_one(&quick, true, inside, found);
            assert_false(poll_one(&slow, false, inside, found));
            same(&quick, &slow);
            if (rand() % (16 * rarely) == 0) {
                sleep_outside(&quick);
                sleep_outside(&slow);
                same(&quick, &slow);
            }
        }
        stalls += slow.log.stall.times;
        stall_forget(&quick.log);
        stall_forget(&slow.log);
        same(&quick, &slow);
    }
    thread_log = NULL;
    assert_true(went_quickly > 1000);
    assert_true(stalls > 100);
}

TEST(a_wait_is_a_stall_after_as_many_polls_in_vain)
{
    static struct watched watched;
    watched_open(&watched);
    call_begin(&watched, CALL_MPI_Recv, 5);
    for (int i = 0; i < PATIENCE_LEAST; i++) {
        assert_true(poll_one(&watched, true, NOTHING, false));
        assert_int_equal(watched.log.stall.since, 0);
    }
    poll_one(&watched, true, NOTHING, false);
    assert_int_not_equal(watched.log.stall.since, 0);
    assert_false(poll_one(&watched, true, NOTHING, false));
    poll_one(&watched, true, NOTHING, true);
    EQUALS({watched.log.stall.since, 0}, {watched.log.stall.times, 1});
    thread_log = NULL;
}

/* Outside of polls, as of a thread that another one wakes up. */
TEST(a_call_that_has_slept_has_all_of_its_patience_again)
{
    static struct watched watched;
    watched_open(&watched);
    call_begin(&watched, CALL_MPI_Recv, 5);
    sleep_outside(&watched);
    EQUALS({watched.log.stall.since, 0}, {watched.log.stall.times, 1});
    for (int i = 0; i < PATIENCE_LEAST; i++)
        assert_true(poll_one(&watched, true, NOTHING, false));
    assert_int_equal(watched.log.stall.since, 0);
    poll_one(&watched, true, NOTHING, false);
    assert_int_not_equal(watched.log.stall.since, 0);
    assert_int_equal(watched.log.stall.times, 2);
    thread_log = NULL;
}

TEST(what_does_not_wait_is_no_stall)
{
    static struct watched watched;
    static const struct {
        uint32_t call;
        uint64_t since;
    } cases[] = {{CALL_MPI_Test, 7}, {CALL_NONE, 7}, {CALL_MPI_Recv, 0}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        watched_open(&watched);
        call_begin(&watched, cases[c].call, cases[c].since);
        for (int i = 0; i < 2 * PATIENCE_MOST; i++)
            assert_int_equal(poll_one(&watched, true, NOTHING, false), i < PATIENCE_LEAST);
        assert_int_equal(watched.log.stall.times, 0);
    }
    thread_log = NULL;
}

/* What polls before it have used up is not its own. */
TEST(a_call_begins_with_all_of_its_patience)
{
    static struct watched watched;
    static const uint32_t before[] = {CALL_MPI_Test, CALL_MPI_Recv};
    for (size_t c = 0; c < 2; c++) {
        watched_open(&watched);
        call_begin(&watched, before[c], 5);
        for (int i = 0; i < PATIENCE_LEAST; i++)
            assert_true(poll_one(&watched, true, NOTHING, false));
        call_begin(&watched, CALL_MPI_Recv, 9);
        for (int i = 0; i < PATIENCE_LEAST; i++)
            assert_true(poll_one(&watched, true, NOTHING, false));
        assert_int_equal(watched.log.stall.times, 0);
        assert_false(poll_one(&watched, true, NOTHING, false));
        assert_int_equal(watched.log.stall.times, 1);
        stall_forget(&watched.log);
    }
    thread_log = NULL;
}

/* Found beside the polls, or inside of one: a poll that is over leaves nothing of it. */
TEST(what_was_found_is_told_once)
{
    static struct watched watched;
    for (int how = 0; how < 2; how++) {
        watched_open(&watched);
        call_begin(&watched, CALL_MPI_Recv, 5);
        for (int i = 0; i < PATIENCE_LEAST - 1; i++)
            poll_one(&watched, true, NOTHING, false);
        if (how == 0)
            inside_do(BY_THE_WAY); /* not in a poll: it tells nothing about those */
        assert_int_equal(poll_one(&watched, true, how ? BY_THE_WAY : NOTHING, false), how);
        EQUALS({watched.log.stall.left, how ? PATIENCE_LEAST : 0}, {watched.log.stall.moved, how ? 5 : 0});
        assert_int_equal(poll_one(&watched, true, NOTHING, false), how);
        assert_int_equal(watched.log.stall.times, !how);
        stall_forget(&watched.log);
    }
    thread_log = NULL;
}

/* 1 tick is 1 ns */
static const struct clock_scale ns_scale = {UINT64_C(1) << 32};

static uint64_t ns_of(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t stalled_in(struct watched *watched, uint64_t begin)
{
    struct event call = {.kind = watched->record.state.call}, record;
    struct probe probe = {.begin = begin};
    assert_true(stall_end(&watched->log, &probe, &call, ns_of(CLOCK_MONOTONIC) - begin, &record));
    return record.bytes;
}

/* A poll that finds something at last, after it slept or worked. A call on a file may sleep. */
TEST(without_a_processor_it_does_not_work)
{
    enum { WAIT = 5000000, GAP = 20000000, SLACK = 2000000 };
    static const struct {
        uint32_t call;
        bool works;
    } cases[] = {{CALL_MPI_Recv, false}, {CALL_MPI_Recv, true}, {CALL_MPI_File_write_all, false}};
    static struct watched watched;
    bool counter = clock_is_counter;
    clock_is_counter = false; /* the clock is in ns */
    watched_open(&watched);
    stall_scale(&watched.log, ns_scale, false);
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        uint64_t begin = ns_of(CLOCK_MONOTONIC);
        call_begin(&watched, cases[c].call, begin);
        while (ns_of(CLOCK_MONOTONIC) < begin + WAIT)
            poll_one(&watched, true, NOTHING, false);
        struct log *log = poll_begin();
        assert_non_null(log);
        uint64_t found = ns_of(CLOCK_MONOTONIC), used = ns_of(CLOCK_THREAD_CPUTIME_ID);
        while (cases[c].works && ns_of(CLOCK_THREAD_CPUTIME_ID) < used + GAP)
            ;
        if (!cases[c].works)
            usleep(GAP / 1000);
        used = ns_of(CLOCK_THREAD_CPUTIME_ID) - used;
        uint64_t ended = ns_of(CLOCK_MONOTONIC);
        poll_end(log, true);
        uint64_t stalled = stalled_in(&watched, begin);
        uint64_t expected = cases[c].call == CALL_MPI_Recv ? ended - begin - used : found - begin;
        assert_in_range(stalled + SLACK, expected, expected + 2 * SLACK);
    }
    clock_is_counter = counter;
    stall_scale(&watched.log, (struct clock_scale){0}, false);
    thread_log = NULL;
}

TEST(where_polls_yield_the_first_one_is_a_stall)
{
    static struct watched watched;
    bool counter = clock_is_counter;
    clock_is_counter = false;
    watched_open(&watched);
    stall_scale(&watched.log, ns_scale, true);
    thread_log = &watched.log;
    for (int i = 0; i < 3; i++) {
        uint64_t begin = ns_of(CLOCK_MONOTONIC);
        call_begin(&watched, CALL_MPI_Recv, begin);
        struct log *log = poll_begin();
        assert_false(poll_is_quick(log));
        usleep(2000); /* others have the processor */
        poll_end(log, false);
        assert_int_equal(watched.log.stall.times, 1);
        poll_one(&watched, true, NOTHING, true);
        uint64_t ended = ns_of(CLOCK_MONOTONIC);
        assert_in_range(stalled_in(&watched, begin), 1900000, ended - begin);
    }
    clock_is_counter = counter;
    stall_patience = PATIENCE_LEAST;
    stall_scale(&watched.log, (struct clock_scale){0}, false);
    thread_log = NULL;
}
