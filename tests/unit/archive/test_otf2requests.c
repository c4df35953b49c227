/* Which post a completion belongs to, where the tick of the post does not say it alone. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "calls.h"
#include "archive/otf2_requests.h"

static struct trace_requests requests;

static int release(void **state)
{
    (void)state;
    trace_requests_release(&requests);
    return 0;
}

static uint64_t post(uint64_t begin, int32_t peer, int32_t tag)
{
    struct event event = {.begin = begin, .kind = CALL_MPI_Isend, .comm = 1, .peer = peer, .tag = tag};
    return trace_requests_add(&requests, REQUEST_IS_SEND, &event);
}

static uint64_t complete(uint64_t begin, int32_t peer, int32_t tag)
{
    struct event event = {.begin = begin, .duration = CALL_MPI_Isend, .comm = 1, .peer = peer, .tag = tag};
    return trace_requests_take(&requests, REQUEST_IS_SEND, &event);
}

/* Some more than there is room for at first, and in the same buckets as others. */
static void those_of_one_tick_are_told_apart(void **state)
{
    (void)state;
    enum { COUNT = 1500, STEP = 7 };
    uint64_t ids[COUNT], others[COUNT];
    for (int i = 0; i < COUNT; i++) {
        ids[i] = post(1000, i % 3, i / 3);
        others[i] = post(2000 + (uint64_t)i, 0, 1);
    }
    assert_int_equal(requests.count, 2 * COUNT);
    for (int i = 0, k = 0; i < COUNT; i++, k = (k + STEP) % COUNT) {
        assert_int_equal(complete(1000, k % 3, k / 3), ids[k]);
        assert_int_equal(complete(2000 + (uint64_t)k, 0, 1), others[k]);
    }
    assert_int_equal(requests.count, 0);
    assert_int_equal(complete(1000, 0, 0), 0);
}

/* Of equal ones the first goes first, whatever was freed before it, and however the table has grown. */
static void equal_ones_go_in_their_order(void **state)
{
    (void)state;
    enum { COUNT = 1000 };
    uint64_t ids[COUNT];
    for (int i = 0; i < 100; i++)
        post(500, 0, i);
    for (int i = 99; i >= 0; i -= 3)
        assert_int_not_equal(complete(500, 0, i), 0);
    for (int i = 0; i < COUNT; i++)
        ids[i] = post(1000, 4, 4);
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(complete(1000, 4, 4), ids[i]);
}

static void the_best_one_is_taken(void **state)
{
    (void)state;
    uint64_t any = post(1000, PEER_ANY, TAG_ANY), any_tag = post(1000, 2, TAG_ANY), other = post(1000, 3, 5),
             exact = post(1000, 2, 5), nobody = post(1000, PEER_PROC_NULL, 5);
    assert_int_equal(complete(1000, 2, 5), exact);
    assert_int_equal(complete(1000, 2, 5), any_tag);
    assert_int_equal(complete(1000, 2, 5), any);
    assert_int_equal(complete(1000, 2, 5), other); /* the only one of this tick that is a message */
    assert_int_equal(complete(1000, 2, 5), 0);
    assert_int_equal(complete(1000, PEER_PROC_NULL, 5), nobody);
}

static void only_the_one_of_its_tick_is_found(void **state)
{
    (void)state;
    struct event found;
    assert_int_equal(trace_requests_find(&requests, 1000, &found), 0);
    uint64_t first = post(1000, 1, 5), second = post(1000, 1, 6);
    assert_int_equal(trace_requests_find(&requests, 1000, &found), 0); /* of which? */
    assert_int_equal(complete(1000, 1, 5), first);
    assert_int_equal(trace_requests_find(&requests, 1000, &found), second);
    assert_int_equal(found.kind, REQUEST_IS_SEND);
    assert_int_equal(found.peer, 1);
    assert_int_equal(found.tag, 6);
    assert_int_equal(complete(1000, 1, 6), second);
    assert_int_equal(trace_requests_find(&requests, 1000, &found), 0);
}

/* What a whole job has used up of its steps says that it is damaged. */
static void steps_have_an_end(void **state)
{
    (void)state;
    enum { COUNT = 3 * LOOKS_LEAST };
    uint64_t first = 0, last = 0;
    for (int i = 0; i < COUNT; i++) {
        last = post(1000, 1, i);
        first = first ? first : last;
    }
    assert_int_equal(complete(1000, 1, COUNT - 1), last);
    assert_int_equal(requests.looks, COUNT - 1);
    requests.looks = LOOKS_MOST;
    assert_int_equal(complete(1000, 1, COUNT - 2), 0);
    assert_int_equal(requests.looks, (uint64_t)LOOKS_MOST + LOOKS_LEAST);
    assert_int_equal(complete(1000, 1, 0), first);
    assert_int_equal(complete(1000, 1, LOOKS_LEAST), first + LOOKS_LEAST);
    assert_int_equal(complete(1000, 1, LOOKS_LEAST + 2), 0);
    for (int i = 0; i < 5; i++)
        post(2000, 1, i);
    assert_int_not_equal(complete(2000, 1, 4), 0);
    assert_int_not_equal(complete(2000, 1, 9), 0); /* there are few: the best one */
}

/* Part of the ranks, or a communicator with processes of another job: these are not in the archive, but are posted. */
static void what_is_absent_takes_no_others(void **state)
{
    (void)state;
    struct event found, left = {.begin = 1000, .kind = CALL_MPI_Isend, .comm = 2, .peer = 1, .tag = 5};
    assert_true(trace_requests_add_absent(&requests, REQUEST_IS_SEND, &left));
    assert_int_equal(trace_requests_find(&requests, 1000, &found), 0);
    uint64_t kept = post(1000, 1, 5);
    left = (struct event){.begin = 1000, .duration = CALL_MPI_Isend, .comm = 2, .peer = 1, .tag = 5};
    assert_int_equal(trace_requests_take(&requests, REQUEST_IS_SEND, &left), 0);
    assert_int_equal(requests.count, 1);
    assert_int_equal(complete(1000, 1, 5), kept);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, release)
    const struct CMUnitTest tests[] = {
        TEST(those_of_one_tick_are_told_apart),
        TEST(equal_ones_go_in_their_order),
        TEST(the_best_one_is_taken),
        TEST(only_the_one_of_its_tick_is_found),
        TEST(steps_have_an_end),
        TEST(what_is_absent_takes_no_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
