/* Objects that are not freed: the table against a model, and its limit. */
#include "unittest.h"

#include "registry/unfreed.h"

#include <stdlib.h>

/* A model that searches all: the table must have the same objects, whatever is added and removed in which order. */
enum { MODEL = 400, STEPS = 200000, LIMIT = (1 << 16) / 4 * 3 };

static struct unfreed model[MODEL];
static unsigned model_count;

static void count_found(const struct unfreed *object, void *data)
{
    (void)object;
    ++*(unsigned *)data;
}

static unsigned table_count(void)
{
    unsigned count = 0;
    unfreed_visit(count_found, &count);
    return count;
}

static struct unfreed model_remove(enum left_kind kind, uint64_t handle)
{
    unsigned latest = MODEL;
    for (unsigned i = 0; i < model_count; i++)
        if (model[i].kind == kind && model[i].handle == handle &&
            (latest == MODEL || model[i].last > model[latest].last))
            latest = i;
    if (latest == MODEL)
        return (struct unfreed){.kind = LEFT_NONE};
    struct unfreed object = model[latest];
    model[latest] = model[--model_count];
    return object;
}

static void emptied(void)
{
    while (model_count) {
        struct unfreed wanted = model[0];
        wanted = model_remove((enum left_kind)wanted.kind, wanted.handle);
        assert_int_equal(unfreed_remove((enum left_kind)wanted.kind, wanted.handle).last, wanted.last);
    }
    assert_int_equal(table_count(), 0);
}

TEST(the_latest_object_of_a_handle_is_removed)
{
    srand(1);
    for (uint64_t step = 1; step <= STEPS; step++) {
        /* few handles, so that some have several objects, and neighbours in the table */
        uint64_t handle = (uint64_t)(rand() % 97) * UINT64_C(0x9e3779b97f4a7c15);
        enum left_kind kind = rand() % 2 ? LEFT_GROUP : LEFT_COMM;
        if (model_count < MODEL && rand() % 2) {
            struct unfreed object = {.handle = handle, .last = step, .kind = kind, .path = (uint32_t)step};
            if (kind == LEFT_COMM) /* one object a handle: an older one was freed unseen */
                model_remove(kind, handle);
            model[model_count++] = object;
            unfreed_add(kind, handle, object.path, step);
        } else {
            struct unfreed wanted = model_remove(kind, handle), got = unfreed_remove(kind, handle);
            assert_int_equal(got.kind, wanted.kind);
            assert_true(wanted.kind == LEFT_NONE || (got.last == wanted.last && got.path == wanted.path));
        }
    }
    assert_int_equal(table_count(), model_count);
    emptied();
}

TEST(objects_beyond_the_limit_share_an_entry)
{
    for (uint64_t i = 1; i <= LIMIT + 100; i++)
        unfreed_add(LEFT_DATATYPE, i, 1, i);
    assert_int_equal(table_count(), LIMIT + 1);
    struct unfreed others = unfreed_remove(LEFT_DATATYPE, LIMIT + 7);
    assert_true(others.count == 100 && others.first == LIMIT + 1 && others.last == LIMIT + 100 && others.path == 1);
    for (uint64_t i = 1; i < LIMIT + 100; i++)
        assert_int_equal(unfreed_remove(LEFT_DATATYPE, i).kind, LEFT_DATATYPE);
    assert_int_equal(unfreed_remove(LEFT_DATATYPE, 1).kind, LEFT_NONE);
    assert_int_equal(table_count(), 0);
}

TEST(objects_of_one_handle_and_path_share_an_entry)
{
    for (uint64_t i = 1; i <= 1000000; i++)
        unfreed_add(LEFT_GROUP, 5, 1 + i % 2, i);
    assert_int_equal(table_count(), 2);
    struct unfreed latest = unfreed_remove(LEFT_GROUP, 5), other = {.count = 0};
    assert_true(latest.last == 1000000 && latest.path == 1 && latest.count == 500000);
    unfreed_add(LEFT_GROUP, 5, latest.path, latest.last);
    for (uint64_t i = 1; i <= 1000000; i++)
        other = unfreed_remove(LEFT_GROUP, 5);
    assert_true(other.path == 2 && other.count == 1 && table_count() == 0);
}
