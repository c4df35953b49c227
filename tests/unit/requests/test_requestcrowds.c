/* Requests under way: a million of them, and several threads. */
#define _GNU_SOURCE
#include "requestfixture.h"

/* ---- many -------------------------------------------------------------------------------------------------------- */

enum { MANY = EFFORT(1000000, 60000) };

static uint64_t handle_of(uint64_t i, uint64_t stride)
{
    return UINT64_C(0x555555000000) + stride * i;
}

/* A take of a request walks those before it in its chain. */
static void steps_check(void)
{
    uint64_t steps = 0, longest = 0, found = 0;
    for (size_t i = 0; i < (size_t)1 << (64 - request_table.shift); i++) {
        uint64_t length = 0;
        for (const struct request *r = request_table.buckets[i]; r; r = r->chain ? request_at(r->chain) : NULL)
            steps += ++length;
        found += length;
        longest = length > longest ? length : longest;
    }
    assert_int_equal(found, MANY);
    if (steps > 5 * found || longest > 24)
        fail_msg("%llu steps for %d requests, at most %llu", (unsigned long long)steps, MANY,
                 (unsigned long long)longest);
}

TESTS_EACH(table_is_clean, NULL)
TESTS_ALL(run_setup, NULL)

TEST(million_handles_are_found_in_a_few_steps)
{
    const uint64_t strides[] = {1, 16, 0x180, 4096};
    for (unsigned s = 0; s < sizeof strides / sizeof strides[0]; s++) {
        for (uint64_t i = 0; i < MANY; i++)
            post(handle_of(i, strides[s]), i + 1);
        steps_check();
        for (uint64_t i = 0; i < MANY; i++)
            take_check(handle_of(i, strides[s]), i + 1);
    }
    assert_null(own_log->requests.displaced);
}

/* All have one handle, and were posted from one variable. If each take walked the others, this would take hours. */
TEST(million_equal_handles_go_in_and_out_at_the_ends)
{
    char variable, elsewhere[2];
    for (uint64_t i = 1; i <= MANY; i++)
        post_from(&variable, shared_handle(), i);
    for (uint64_t i = 1; i <= MANY; i++)
        take_from_check(&elsewhere[i % 2], shared_handle(), i);
    assert_null(request_take(shared_handle(), &variable));
}

/* The same from as many variables, and completed in the order of the variables from the last one on. */
TEST(million_equal_handles_are_found_by_their_variables)
{
    static MPI_Request variables[MANY];
    for (uint64_t i = 0; i < MANY; i++)
        post_from(&variables[i], shared_handle(), i + 1);
    for (uint64_t i = MANY; i-- > 0;)
        take_from_check(&variables[i], shared_handle(), i + 1);
}

/* Others are found in a step or two, however many stand for the shared handle. */
TEST(crowd_is_no_burden_for_others)
{
    static MPI_Request variables[MANY];
    for (uint64_t i = 0; i < MANY; i++) {
        post_from(&variables[i], i % 2 ? shared_handle() : handle_of(i, 16), i + 1);
        assert_null(request_take(handle_of(i, 24) + 8, &variables[i]));
    }
    for (uint64_t i = 0; i < MANY; i++)
        take_from_check(&variables[i], i % 2 ? shared_handle() : handle_of(i, 16), i + 1);
}

/* ---- several threads --------------------------------------------------------------------------------------------- */

enum { THREADS = 4, ROUNDS = EFFORT(20000, 500), HANDED = EFFORT(200000, 3000) };

struct worker {
    pthread_t thread;
    struct log log;
    uint64_t number, taken, disorder;
};

static void concurrent_post(struct worker *worker, uint64_t handle, const void *where, uint64_t mark)
{
    request_put_new(&worker->log, made(mark, where), handle);
}

/* Own handles, and one handle that all threads share, each for its own variable. */
static void *work(void *argument)
{
    enum { DEPTH = 8 };
    struct worker *worker = argument;
    char variables[DEPTH];
    for (uint64_t i = 0; i < ROUNDS; i++) {
        for (uint64_t d = 0; d < DEPTH; d++) {
            concurrent_post(worker, handle_of(worker->number * 64 + d, 0x180), NULL, i + d);
            concurrent_post(worker, shared_handle(), &variables[d], worker->number);
        }
        for (uint64_t d = 0; d < DEPTH; d++) {
            struct request *own = request_take(handle_of(worker->number * 64 + d, 0x180), NULL);
            struct request *shared = request_take(shared_handle(), &variables[d]);
            worker->disorder += !own || own->posted.begin != i + d;
            worker->disorder += !shared || shared->posted.begin != worker->number;
            if (own)
                request_release(own);
            if (shared)
                request_release(shared);
            worker->taken += own && shared;
        }
    }
    assert_null(worker->log.requests.displaced);
    worker->disorder += worker->taken != ROUNDS * (uint64_t)DEPTH;
    return NULL;
}

TEST(threads_neither_lose_nor_mix_requests)
{
    static struct worker workers[THREADS];
    uint64_t disorder = 0;
    book.concurrent = true;
    memset(workers, 0, sizeof workers);
    for (uint64_t i = 0; i < THREADS; i++) {
        workers[i].number = i + 1;
        pthread_create(&workers[i].thread, NULL, work, &workers[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        disorder += workers[i].disorder;
    }
    assert_null(request_take(shared_handle(), NULL));
    assert_int_equal(disorder, 0);
}

/* A call began while threads did not run at once, and a session came meanwhile: MPI may have given the handle of its
 * request to another thread, whose variable is another one. */
TEST(call_that_a_session_overtakes_takes_only_its_own)
{
    int own, others;
    struct request *request = post_from(&others, 4096, 7);
    book.concurrent = true;
    assert_null(request_take_there(4096, &own));
    assert_ptr_equal(request_take_there(4096, &others), request);
    assert_null(request_take_there(4096, &others));
    request_release(request);
}

static void *hand_in(void *argument)
{
    struct worker *worker = argument;
    for (uint64_t i = 1; i <= HANDED; i++)
        concurrent_post(worker, shared_handle(), NULL, i);
    return NULL;
}

/* One thread posts what another completes: in order, and the memory finds its way back. */
TEST(handle_that_passes_between_threads_keeps_its_order)
{
    static struct worker poster;
    book.concurrent = true;
    pthread_create(&poster.thread, NULL, hand_in, &poster);
    uint64_t expected = 1, disorder = 0;
    while (expected <= HANDED) {
        struct request *request = request_take(shared_handle(), &expected); /* not of this variable: the oldest */
        if (!request)
            continue;
        disorder += request->posted.begin != expected++;
        request_release(request);
    }
    pthread_join(poster.thread, NULL);
    EQUALS({disorder, 0}, {book.run.header->lost[LOSS_NO_MEMORY], 0});
}
