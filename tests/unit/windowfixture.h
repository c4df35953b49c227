/* A communicator with one log, and windows on its extremes: for the tests of windows. */
#ifndef MPIT_TESTS_WINDOWFIXTURE_H
#define MPIT_TESTS_WINDOWFIXTURE_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "effort.h"
#include "ledgerfixture.h"
#include "windows.h"

#include <pthread.h>
#include <string.h>

static uint64_t handle_last = 0x1000;
static struct ledger *ledger;
static struct comm *comm;
static struct view *view;

static inline int book_setup(void **state)
{
    (void)state;
    struct run_problem problem;
    clock_open();
    book.scale.mult = UINT64_C(1) << 32; /* ticks are nanoseconds here */
    return run_open(&book.run, NULL, UINT64_C(1) << 30, 0, &problem) != 0 ? -1 : book_open();
}

static inline int comm_setup(void **state)
{
    (void)state;
    handle_last += 0x40;
    ledger = ledger_make(1);
    comm = book_comm_add(&(struct comm_facts){.handle = handle_last, .size = 4, .name = "test"});
    view = view_of(ledger, comm);
    view_page_select(view, 1);
    return 0;
}

static inline void message_in(struct view *into, uint64_t bytes)
{
    struct event event = {.begin = 10, .duration = 1, .kind = CALL_MPI_Send, .peer = 1, .bytes = bytes};
    view_page_select(into, 1);
    fold(&ledger->tally, &into->tally, &event, NULL);
}

static inline void message(uint64_t bytes)
{
    message_in(view, bytes);
}

static inline void sends_change(int by)
{
    if (by > 0)
        level_add(false, &comm->shared->sends, (uint64_t)by);
    else
        level_subtract(false, &comm->shared->sends, (uint64_t)-by);
}

enum { OWNER = 7 };

static inline struct window *window_new(enum extreme extreme)
{
    struct window *window = window_acquire(comm, extreme, OWNER);
    assert_non_null(window);
    return window;
}

static inline uint64_t value_read(struct window *window)
{
    uint64_t value = 4711;
    assert_int_equal(window_read(window, OWNER, &value), WINDOW_DONE);
    return value;
}

static inline void window_opens(struct window *window)
{
    assert_int_equal(window_start(window, OWNER), WINDOW_DONE);
}

static inline void window_closes(struct window *window)
{
    assert_int_equal(window_stop(window, OWNER), WINDOW_DONE);
}

static inline void window_resets(struct window *window)
{
    assert_int_equal(window_reset(window, OWNER), WINDOW_DONE);
}

static inline uint64_t value_of(const char *name, enum variable_class class)
{
    uint64_t values[2] = {0, 0};
    for (size_t i = 0; i < variable_count; i++)
        if (variables[i].record.class == class && strcmp(variables[i].record.name, name) == 0)
            book_values(&variables[i], comm, values, 1);
    return values[0];
}

#endif
