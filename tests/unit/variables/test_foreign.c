#include "unittest.h"

#include "variables/foreign.h"

#include "fakelibrary.h"

#include <stdlib.h>
#include <string.h>

static const MPI_T_pvar_session session = (MPI_T_pvar_session)(uintptr_t)0x10;

static struct catalogue_entry entries[32];
static int entry_count;

/* A handle of the library's newest variable. */
static struct foreign *handle(void)
{
    int index = fake.pvar_count - 1, count = -1;
    struct foreign *f = NULL;
    const struct fake_pvar *p = &fake.pvars[index];
    struct catalogue_entry *entry = &entries[entry_count++ % 32];
    *entry = (struct catalogue_entry){.native_index = index,
                                      .name = (char *)(uintptr_t)p->name,
                                      .class = p->class,
                                      .bind = p->bind,
                                      .readonly = p->readonly,
                                      .continuous = p->continuous,
                                      .atomic = p->atomic,
                                      .datatype = p->datatype};
    assert_int_equal(foreign_alloc(entry, session, &count, &f, &count), MPI_SUCCESS); /* an object is ignored */
    assert_int_equal(count, p->count);
    return f;
}

static unsigned long long value(struct foreign *f)
{
    unsigned long long values[FAKE_VALUES];
    assert_int_equal(foreign_call(&f, HANDLE_READ, values), MPI_SUCCESS);
    return values[0];
}

TEST(a_stop_is_not_seen_by_another_handle)
{
    fake_open();
    struct fake_pvar *p = fake_pvar_add("sum", MPI_T_PVAR_CLASS_COUNTER, native.unsigned_long_long);
    struct foreign *a = handle(), *b = handle();
    p->now.whole[0] = 100;
    assert_int_equal(foreign_call(&a, HANDLE_START, NULL), MPI_SUCCESS);
    assert_int_equal(foreign_call(&b, HANDLE_START, NULL), MPI_SUCCESS);
    assert_int_equal(foreign_call(&b, HANDLE_START, NULL), MPI_SUCCESS);
    p->now.whole[0] = 105;
    assert_int_equal(foreign_call(&a, HANDLE_STOP, NULL), MPI_SUCCESS);
    assert_int_equal(foreign_call(&a, HANDLE_STOP, NULL), MPI_SUCCESS);
    assert_false(fake.frozen);
    p->now.whole[0] = 111;
    assert_int_equal(value(a), 5);
    assert_int_equal(value(b), 11);
    assert_int_equal(foreign_call(&a, HANDLE_START, NULL), MPI_SUCCESS);
    p->now.whole[0] = 113;
    assert_int_equal(value(a), 7);
    assert_int_equal(value(b), 13);
    foreign_free(&a);
    assert_null(a);
    assert_false(fake.frozen);
    assert_int_equal(foreign_call(&a, HANDLE_READ, p), MPI_T_ERR_INVALID_HANDLE);
    foreign_free(&b);
    assert_int_equal(fake.handles, 0);
}

TEST(a_sum_is_written_and_reset_for_one_handle)
{
    fake_open();
    struct fake_pvar *p = fake_pvar_add("sum", MPI_T_PVAR_CLASS_AGGREGATE, native.unsigned_long_long);
    p->continuous = 1;
    p->now.whole[0] = 50;
    struct foreign *a = handle(), *b = handle();
    unsigned long long thousand = 1000;
    assert_int_equal(value(a), 0);
    p->now.whole[0] = 60;
    assert_int_equal(foreign_call(&a, HANDLE_WRITE, &thousand), MPI_SUCCESS);
    assert_int_equal(fake.writes, 0);
    p->now.whole[0] = 63;
    assert_int_equal(value(a), 1003);
    assert_int_equal(value(b), 13);
    assert_int_equal(foreign_call(&a, HANDLE_RESET, NULL), MPI_SUCCESS);
    p->now.whole[0] = 64;
    assert_int_equal(value(a), 1);
    assert_int_equal(value(b), 14);
    assert_int_equal(foreign_call(&a, HANDLE_START, NULL), MPI_T_ERR_PVAR_NO_STARTSTOP);
    assert_int_equal(foreign_call(&a, HANDLE_STOP, NULL), MPI_T_ERR_PVAR_NO_STARTSTOP);
    foreign_free(&a);
    foreign_free(&b);
}

TEST(types_of_every_width_are_summed)
{
    fake_open();
    struct fake_pvar *p = fake_pvar_add("half", MPI_T_PVAR_CLASS_COUNTER, native.unsigned_);
    p->count = 3;
    p->now.half[2] = 0xfffffff0u;
    struct foreign *f = handle();
    unsigned halves[3] = {0};
    assert_int_equal(foreign_call(&f, HANDLE_START, NULL), MPI_SUCCESS);
    p->now.half[0] = 4;
    p->now.half[2] = 0x10; /* over the end */
    assert_int_equal(foreign_call(&f, HANDLE_READ, halves), MPI_SUCCESS);
    EQUALS({halves[0], 4}, {halves[1], 0}, {halves[2], 0x20});
    foreign_free(&f);
    p = fake_pvar_add("real", MPI_T_PVAR_CLASS_TIMER, native.double_);
    p->now.real[0] = 1.5;
    f = handle();
    double real = -1;
    assert_int_equal(foreign_call(&f, HANDLE_START, NULL), MPI_SUCCESS);
    p->now.real[0] = 4;
    assert_int_equal(foreign_call(&f, HANDLE_STOP, NULL), MPI_SUCCESS);
    assert_int_equal(foreign_call(&f, HANDLE_READ, &real), MPI_SUCCESS);
    assert_true(real == 2.5);
    foreign_free(&f);
}

TEST(a_level_holds_what_it_was_when_stopped)
{
    fake_open();
    struct fake_pvar *p = fake_pvar_add("level", MPI_T_PVAR_CLASS_LEVEL, native.unsigned_long_long);
    struct foreign *f = handle();
    p->now.whole[0] = 7;
    assert_int_equal(value(f), 0); /* not updated until started */
    assert_int_equal(foreign_call(&f, HANDLE_START, NULL), MPI_SUCCESS);
    assert_int_equal(value(f), 7);
    assert_int_equal(foreign_call(&f, HANDLE_STOP, NULL), MPI_SUCCESS);
    p->now.whole[0] = 9;
    assert_int_equal(value(f), 7);
    assert_int_equal(fake.stops, 0);
    assert_int_equal(foreign_call(&f, HANDLE_START, NULL), MPI_SUCCESS);
    assert_int_equal(value(f), 9);
    foreign_free(&f);
}

TEST(readreset_takes_one_sample_where_it_may)
{
    unsigned long long read = 0;
    fake_open();
    struct fake_pvar *p = fake_pvar_add("sum", MPI_T_PVAR_CLASS_COUNTER, native.unsigned_long_long);
    struct foreign *f = handle();
    assert_int_equal(foreign_call(&f, HANDLE_READRESET, &read), MPI_T_ERR_PVAR_NO_ATOMIC);
    foreign_free(&f);
    p->atomic = 1;
    f = handle();
    assert_int_equal(foreign_call(&f, HANDLE_START, NULL), MPI_SUCCESS);
    p->now.whole[0] = 8;
    assert_int_equal(foreign_call(&f, HANDLE_READRESET, &read), MPI_SUCCESS);
    assert_int_equal(read, 8);
    p->now.whole[0] = 11;
    assert_int_equal(foreign_call(&f, HANDLE_STOP, NULL), MPI_SUCCESS);
    p->now.whole[0] = 20;
    assert_int_equal(foreign_call(&f, HANDLE_READRESET, &read), MPI_SUCCESS);
    assert_int_equal(read, 3);
    assert_int_equal(value(f), 0);
    foreign_free(&f);
}

TEST(a_watermark_keeps_its_mark_over_a_stop)
{
    fake_open();
    struct fake_pvar *p = fake_pvar_add("low", MPI_T_PVAR_CLASS_LOWWATERMARK, native.unsigned_long_long);
    struct foreign *f = handle();
    p->now.whole[0] = 10;
    assert_int_equal(foreign_call(&f, HANDLE_START, NULL), MPI_SUCCESS);
    assert_int_equal(foreign_call(&f, HANDLE_STOP, NULL), MPI_SUCCESS);
    p->now.whole[0] = 30;
    assert_int_equal(foreign_call(&f, HANDLE_START, NULL), MPI_SUCCESS);
    assert_int_equal(value(f), 10);
    p->now.whole[0] = 4;
    assert_int_equal(value(f), 4);
    p->now.whole[0] = 40;
    assert_int_equal(foreign_call(&f, HANDLE_RESET, NULL), MPI_SUCCESS);
    assert_int_equal(value(f), 40);
    foreign_free(&f);
}

TEST(what_cannot_be_written_says_so)
{
    fake_open();
    struct fake_pvar *p = fake_pvar_add("size", MPI_T_PVAR_CLASS_SIZE, native.unsigned_long_long);
    p->readonly = 1;
    struct foreign *f = handle();
    assert_int_equal(foreign_call(&f, HANDLE_WRITE, p), MPI_T_ERR_PVAR_NO_WRITE);
    assert_int_equal(foreign_call(&f, HANDLE_RESET, NULL), MPI_T_ERR_PVAR_NO_WRITE);
    assert_int_equal(fake.writes, 0);
    foreign_free(&f);
}

TEST(a_dead_variable_is_refused)
{
    int count;
    unsigned long long values[FAKE_VALUES];
    fake_open();
    struct fake_pvar *p = fake_pvar_add("sum", MPI_T_PVAR_CLASS_COUNTER, native.unsigned_long_long);
    struct foreign *f = handle(), *other = NULL;
    struct catalogue_entry entry = {
        .name = (char *)(uintptr_t) "sum", .class = p->class, .bind = p->bind, .datatype = p->datatype};
    p->dead = true;
    assert_int_equal(foreign_call(&f, HANDLE_READ, values), MPI_T_ERR_INVALID_HANDLE);
    assert_int_equal(foreign_call(&f, HANDLE_START, NULL), MPI_T_ERR_INVALID_HANDLE);
    assert_int_equal(foreign_alloc(&entry, session, NULL, &other, &count), MPI_T_ERR_INVALID_INDEX);
    p->dead = false;
    p->class = MPI_T_PVAR_CLASS_LEVEL; /* it came back as something else */
    assert_int_equal(foreign_alloc(&entry, session, NULL, &other, &count), MPI_T_ERR_INVALID_INDEX);
    assert_null(other);
    foreign_free(&f);
}

TEST(objects_that_cannot_be_looked_at_are_refused)
{
    int count;
    unsigned long long read;
    struct foreign *f = NULL;
    MPI_Comm stack[64]; /* whatever is behind the tool's variable */
    memset(stack, 0xff, sizeof stack);
    stack[0] = (MPI_Comm)(uintptr_t)0x44;
    fake_open();
    struct fake_pvar *p = fake_pvar_add("of a communicator", MPI_T_PVAR_CLASS_SIZE, native.unsigned_long_long);
    p->bind = MPI_T_BIND_MPI_COMM;
    p->readonly = p->continuous = 1;
    struct catalogue_entry entry = {.name = (char *)(uintptr_t)p->name,
                                    .class = p->class,
                                    .bind = p->bind,
                                    .readonly = 1,
                                    .continuous = 1,
                                    .datatype = p->datatype};
    assert_int_equal(foreign_alloc(&entry, session, NULL, &f, &count), MPI_T_ERR_INVALID);
    fake_finalized(true);
    assert_int_equal(foreign_alloc(&entry, session, stack, &f, &count), MPI_T_ERR_INVALID_HANDLE);
    fake_finalized(false);
    assert_int_equal(foreign_alloc(&entry, session, stack, &f, &count), MPI_SUCCESS);
    assert_int_equal(foreign_call(&f, HANDLE_READ, &read), MPI_SUCCESS);
    fake_finalized(true);
    assert_int_equal(foreign_call(&f, HANDLE_READ, &p->now), MPI_T_ERR_INVALID_HANDLE);
    foreign_free(&f);
    assert_int_equal(fake.handles, 1); /* the library is not called any more */
    free(fake.last);
    fake_finalized(false);
}

TEST(a_thread_inside_the_library_is_refused)
{
    fake_open();
    fake_pvar_add("sum", MPI_T_PVAR_CLASS_COUNTER, native.unsigned_long_long);
    struct foreign *f = handle();
    unsigned long long read = 77;
    assert_true(native_enter()); /* here comes the signal */
    assert_int_equal(foreign_call(&f, HANDLE_READ, &read), DOOR_BUSY);
    assert_int_equal(foreign_call(&f, HANDLE_START, NULL), DOOR_BUSY);
    assert_int_equal(read, 77);
    native_leave();
    assert_int_equal(foreign_call(&f, HANDLE_READ, &read), MPI_SUCCESS);
    native_hold(); /* in MPI_Init the thread itself may still ask */
    assert_int_equal(foreign_call(&f, HANDLE_READ, &read), MPI_SUCCESS);
    native_release();
    foreign_free(&f);
}
