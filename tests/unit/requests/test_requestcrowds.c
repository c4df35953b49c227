/* Requests under way: a million of them, and several threads. */
#define _GNU_SOURCE
#include "requestfixture.h"

/* ---- many -------------------------------------------------------------------------------------------------------- */

enum { MANY = EFFORT(1000000, 60000), ENDS = 8000 };

static struct request **many_make(void)
{
    struct request **many = malloc(MANY * sizeof *many);
    assert_non_null(many);
    for (uint64_t i = 0; i < MANY; i++) {
        many[i] = request_make(own_log);
        assert_non_null(many[i]);
        request_fill(many[i], &(struct posted){.begin = i});
    }
    return many;
}

static void many_release(struct request **many)
{
    for (uint64_t i = 0; i < MANY; i++)
        request_release(own_log, many[i]);
    free(many);
}

static uint64_t handle_of(uint64_t i, uint64_t stride)
{
    return UINT64_C(0x555555000000) + stride * i;
}

/* A take of a request walks those before it in its chain; a chain of n costs 1 + 2 + ... + n for all. */
static void steps_check(struct request *const *many)
{
    uint64_t steps = 0, longest = 0;
    for (int i = 0; i < MANY; i++) {
        uint64_t behind = 1;
        for (uint32_t r = many[i]->chain; r; r = request_at(r)->chain)
            behind++;
        steps += behind;
        longest = behind > longest ? behind : longest;
    }
    if (steps > 3 * (uint64_t)MANY || longest > 24)
        fail_msg("%llu steps for %d requests, at most %llu", (unsigned long long)steps, MANY,
                 (unsigned long long)longest);
}

static void million_handles_are_found_in_a_step_or_two(void **state)
{
    (void)state;
    const uint64_t strides[] = {1, 16, 0x180, 4096};
    struct request **many = many_make();
    for (unsigned s = 0; s < sizeof strides / sizeof strides[0]; s++) {
        for (uint64_t i = 0; i < MANY; i++)
            request_put_new(own_log, many[i], handle_of(i, strides[s]));
        steps_check(many);
        for (uint64_t i = 0; i < MANY; i++)
            assert_ptr_equal(request_take(own_log, handle_of(i, strides[s]), NULL), many[i]);
    }
    assert_null(own_log->requests.displaced);
    many_release(many);
}

/* May the slab of request i not be read? Those of the first and the last must be. */
static bool slab_is_inner(struct request *const *many, uint64_t i, uint64_t ends)
{
    static char *needed[2 * (3 + ENDS / SLAB_REQUESTS) * 4];
    static size_t count;
    if (!count) {
        for (uint64_t n = 0; n < MANY; n++) {
            bool end = n <= ends || n + 1 >= MANY - ends;
            if (end && (!count || needed[count - 1] != request_slab(many[n])))
                needed[count++] = request_slab(many[n]);
            assert_true(count < sizeof needed / sizeof needed[0]);
        }
    }
    for (size_t n = 0; n < count; n++)
        if (needed[n] == request_slab(many[i]))
            return false;
    return true;
}

static void inner_protect(struct request *const *many, uint64_t ends, int how)
{
    uint64_t slabs = 0;
    for (uint64_t i = 0; i < MANY; i++)
        if ((i == 0 || request_slab(many[i]) != request_slab(many[i - 1])) && slab_is_inner(many, i, ends)) {
            assert_int_equal(mprotect(request_slab(many[i]), SLAB_BYTES, how), 0);
            slabs++;
        }
    assert_true(slabs > MANY / SLAB_REQUESTS / 2);
}

/* Whoever walks all requests between the oldest and the youngest reads memory that may not be read. */
static void million_equal_handles_go_in_and_out_at_the_ends(void **state)
{
    (void)state;
    enum { TAKES = 2000 }; /* a search goes some 4,000 beyond these, now and then */
    char variable;
    struct request **used = many_make(); /* so that what is made now comes out of new slabs, side by side */
    struct request **many = many_make();
    for (uint64_t i = 0; i < MANY - ENDS; i++)
        request_put(many[i], 0x7000);
    inner_protect(many, ENDS, PROT_NONE);
    for (uint64_t i = MANY - ENDS; i < MANY; i++)
        request_put(many[i], 0x7000);
    for (uint64_t i = 0; i < TAKES; i++) /* every other one stands in a variable that none was posted from */
        assert_ptr_equal(request_take(own_log, 0x7000, i % 2 ? NULL : &variable), many[i]);
    inner_protect(many, ENDS, PROT_READ | PROT_WRITE);
    for (uint64_t i = TAKES; i < MANY; i++)
        assert_ptr_equal(request_take(own_log, 0x7000, NULL), many[i]);
    assert_null(request_take(own_log, 0x7000, NULL));
    many_release(many);
    many_release(used);
}

/* ---- several threads --------------------------------------------------------------------------------------------- */

enum { THREADS = 4, ROUNDS = EFFORT(20000, 500), DEPTH = 8, SHARED_HANDLE = 0x8000 };

static struct request *concurrent_post(struct log *log, uint64_t handle, uint64_t mark)
{
    assert_null(front_post(handle));
    struct request *request = request_make(log);
    request_fill(request, &(struct posted){.begin = mark});
    request_put(request, handle);
    return request;
}

struct worker {
    pthread_t thread;
    struct log log;
    uint64_t number, taken, disorder;
};

/* Own handles, in order; and one handle that all threads share. */
static void *work(void *argument)
{
    struct worker *worker = argument;
    for (uint64_t i = 0; i < ROUNDS; i++) {
        uint64_t handle = handle_of(worker->number * 64 + i % 64, 0x180);
        for (uint64_t d = 0; d < DEPTH; d++)
            concurrent_post(&worker->log, handle, i * DEPTH + d);
        concurrent_post(&worker->log, SHARED_HANDLE, 1);
        for (uint64_t d = 0; d < DEPTH; d++) {
            struct request *request = request_take(&worker->log, handle, NULL);
            worker->disorder += !request || request->posted.begin != i * DEPTH + d;
            if (request)
                request_release(&worker->log, request);
        }
        struct request *shared = request_take(&worker->log, SHARED_HANDLE, NULL);
        if (!shared)
            continue;
        worker->taken += shared->posted.begin;
        request_release(&worker->log, shared);
    }
    return NULL;
}

static void threads_neither_lose_nor_mix_requests(void **state)
{
    (void)state;
    static struct worker workers[THREADS];
    uint64_t taken = 0, disorder = 0;
    book.concurrent = true;
    book.plain = false;
    memset(workers, 0, sizeof workers);
    for (uint64_t i = 0; i < THREADS; i++) {
        workers[i].number = i;
        pthread_create(&workers[i].thread, NULL, work, &workers[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        taken += workers[i].taken;
        disorder += workers[i].disorder;
    }
    assert_null(request_take(own_log, SHARED_HANDLE, NULL));
    book.concurrent = false;
    book.plain = true;
    assert_int_equal(disorder, 0);
    assert_int_equal(taken, THREADS * ROUNDS);
}

enum { HANDED = EFFORT(200000, 3000) };

/* A session was opened behind MPI_Init: what lives in front is where threads look for it, as the oldest of its handle.
 */
static void requests_in_front_are_found_when_threads_come(void **state)
{
    (void)state;
    struct comm comm = {.slot = 1, .holds = 1}, *comms[] = {NULL, &comm};
    struct view view = {.slot = 1, .comm = &comm};
    struct ledger ledger = {.plain_handle = 0x5000};
    book.comms = comms;
    book.threads = &ledger;
    *front_post(0x5000) = (struct posted){.begin = 1, .view = &view};
    for (uint64_t i = 2; i <= 4; i++)
        post(0x5000, i);
    assert_true(post(0x6000, 9));
    book_share();
    request_front_leave(own_log);
    assert_true(book.concurrent && !book.plain && ledger.tally.concurrent);
    assert_true(ledger.plain_handle == PLAIN_NEVER);
    assert_null(front_post(0x7000));
    assert_int_equal(comm.holds, 2); /* by the one that counted on the front */
    for (uint64_t i = 1; i <= 4; i++)
        take_check(0x5000, i);
    assert_null(request_take(own_log, 0x5000, NULL));
    take_check(0x6000, 9);
    assert_int_equal(comm.holds, 1);
    book.comms = NULL;
    book.threads = NULL;
    for (unsigned i = 0; i < FRONT_PLACES; i++)
        request_front[i].overflow = 0; /* of no meaning any more */
}

/* A call began while threads did not run at once, and a session came meanwhile: MPI may have given the handle of its
 * request to another thread, whose variable is another one. */
static void call_that_a_session_overtakes_takes_only_its_own(void **state)
{
    (void)state;
    const uint64_t handle = 4096;
    int own, others;
    struct request *request = request_make(own_log);
    request_fill(request, &(struct posted){.begin = 7, .where = &others});
    request_put(request, handle);
    book.concurrent = true;
    assert_null(request_take_there(handle, &own));
    assert_ptr_equal(request_take_there(handle, &others), request);
    request_release(own_log, request);
    assert_null(request_take_there(handle, &others));
    book.concurrent = false;
    front_place(handle)->overflow--; /* as request_front_leave leaves it: nobody looks there any more */
}

static void *hand_in(void *argument)
{
    struct worker *worker = argument;
    for (uint64_t i = 1; i <= HANDED; i++)
        concurrent_post(&worker->log, SHARED_HANDLE, i);
    return NULL;
}

/* One thread posts what another completes: in order, and the requests find their way back. */
static void handle_that_passes_between_threads_keeps_its_order(void **state)
{
    (void)state;
    static struct worker poster;
    book.concurrent = true;
    book.plain = false;
    memset(&poster, 0, sizeof poster);
    pthread_create(&poster.thread, NULL, hand_in, &poster);
    uint64_t expected = 1, disorder = 0;
    while (expected <= HANDED) {
        struct request *request = request_take(own_log, SHARED_HANDLE, NULL);
        if (!request)
            continue;
        disorder += request->posted.begin != expected++;
        request_release(own_log, request);
    }
    pthread_join(poster.thread, NULL);
    book.concurrent = false;
    book.plain = true;
    assert_int_equal(disorder, 0);
    assert_int_equal(book.run.header->lost[LOSS_NO_MEMORY], 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, front_is_clean)
    const struct CMUnitTest tests[] = {
        TEST(call_that_a_session_overtakes_takes_only_its_own),
        TEST(requests_in_front_are_found_when_threads_come),
        TEST(million_handles_are_found_in_a_step_or_two),
        TEST(million_equal_handles_go_in_and_out_at_the_ends),
        TEST(threads_neither_lose_nor_mix_requests),
        TEST(handle_that_passes_between_threads_keeps_its_order),
    };
    return cmocka_run_group_tests(tests, run_setup, NULL);
}
