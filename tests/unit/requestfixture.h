/* Requests that are posted and taken as wrappers do it: for the tests of their table. */
#ifndef MPIT_TESTS_REQUESTFIXTURE_H
#define MPIT_TESTS_REQUESTFIXTURE_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "effort.h"
#include "request.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static struct log *own_log;

static inline int run_setup(void **state)
{
    (void)state;
    struct run_problem problem;
    clock_open();
    own_log = calloc(1, sizeof *own_log);
    return own_log ? run_open(&book.run, NULL, UINT64_C(1) << 30, 0, &problem) : -1;
}

static inline int front_is_clean(void **state)
{
    (void)state;
    book.concurrent = false;
    book.plain = true;
    for (unsigned i = 0; i < FRONT_PLACES; i++)
        if (request_front[i].handle || request_front[i].overflow)
            fail_msg("the test before left place %u in use", i);
    return 0;
}

/* As a wrapper does: in front where there is room, else into the table. `mark` tells the request. */
static inline bool post(uint64_t handle, uint64_t mark)
{
    struct posted *front = front_post(handle);
    if (front) {
        *front = (struct posted){.begin = mark, .bytes = mark};
        return true;
    }
    struct request *request = request_make(own_log);
    assert_non_null(request);
    request_fill(request, &(struct posted){.begin = mark, .bytes = mark});
    request_put(request, handle);
    return false;
}

static inline void take_check(uint64_t handle, uint64_t mark)
{
    struct request *request = request_take(own_log, handle, NULL);
    assert_non_null(request);
    assert_int_equal(request->posted.begin, mark);
    assert_int_equal(request->handle, handle);
    assert_true(request->active);
    request_release(own_log, request);
}

/* Another handle with the same place in front. */
static inline uint64_t neighbour_of(uint64_t handle)
{
    uint64_t other = handle + 8;
    while (front_place(other) != front_place(handle))
        other += 8;
    return other;
}

#endif
