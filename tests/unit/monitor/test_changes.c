/* What comes between two records of a communicator: no word of them is overlooked, and none counts twice. */
#include "unittest.h"

#include "monitor/changes.h"

#include <stdio.h>
#include <string.h>

enum { LOW = 3, HIGH = 9, BUCKETS = HIGH - LOW };

/* A record as a snapshot has it on its tape. */
struct record {
    struct comm_snapshot head;
    struct message_cells sends[BUCKETS], receives[BUCKETS];
    uint64_t coll_time[COLLECTIVE_COUNT], coll_count[COLLECTIVE_COUNT], coll_execution[COLLECTIVE_COUNT];
    uint64_t coll_sizes[BUCKET_COUNT];
};

enum {
    WORDS = (sizeof(struct record) - offsetof(struct record, head.sum)) / sizeof(uint64_t),
    MESSAGES_AT = (offsetof(struct record, sends) - offsetof(struct record, head.sum)) / sizeof(uint64_t),
    EXECUTION_AT = (offsetof(struct record, coll_execution) - offsetof(struct record, head.sum)) / sizeof(uint64_t),
};

/* The i-th of the counted words. */
static uint64_t *word_of(struct record *record, size_t i)
{
    return (uint64_t *)((char *)record + offsetof(struct record, head.sum)) + i;
}

static struct record record_make(uint64_t each)
{
    struct record record = {.head = {.low = LOW, .high = HIGH, .collectives = 1}};
    for (size_t i = 0; i < WORDS; i++)
        *word_of(&record, i) = each * (i + 1);
    return record;
}

static uint64_t figures_total(const MPIX_Monitor_figures *figures)
{
    const uint64_t *words = (const uint64_t *)figures;
    uint64_t total = 0;
    for (size_t i = 0; i < sizeof *figures / sizeof *words; i++)
        total += words[i];
    return total;
}

FIXTURE(scale_setup)
{
    book.scale.mult = UINT64_C(1) << 32; /* a tick is a nanosecond */
}

static uint64_t executions_total(const struct record *before, const struct record *after)
{
    struct change_collectives all;
    uint64_t total = 0;
    assert_true(change_collectives(&before->head, &after->head, &all));
    for (unsigned i = 0; i < COLLECTIVE_COUNT; i++)
        total += all.execution_after[i] - all.execution_before[i];
    return total;
}

TESTS_ALL(scale_setup, NULL)

/* Each word alone: it is seen, and comes into one figure, or into its size's and the sum of all sizes. Execution times
 * come into the list of collectives instead. */
TEST(each_word_is_seen)
{
    const struct record before = record_make(1000);
    for (size_t i = 0; i < WORDS; i++) {
        struct record after = before;
        MPIX_Monitor_figures figures = {0};
        *word_of(&after, i) += 7;
        assert_false(change_none(&before.head, &after.head));
        change_add(&figures, &before.head, &after.head);
        bool by_size = i >= MESSAGES_AT && i < MESSAGES_AT + 4 * BUCKETS;
        bool execution = i >= EXECUTION_AT && i < EXECUTION_AT + COLLECTIVE_COUNT;
        assert_int_equal(figures_total(&figures), by_size ? 14 : execution ? 0 : 7);
        assert_int_equal(executions_total(&before, &after), execution ? 7 : 0);
        change_add(&figures, &after.head, &before.head);
        assert_true(change_is_zero(&figures));
    }
}

TEST(equal_ones_have_no_change)
{
    const struct record one = record_make(5), same = record_make(5);
    MPIX_Monitor_figures figures = {0};
    assert_true(change_none(&one.head, &same.head));
    change_add(&figures, &one.head, &same.head);
    assert_true(change_is_zero(&figures));
}

/* The first message of a new size, the first collective. */
TEST(records_of_other_shapes)
{
    const struct record whole = record_make(3);
    struct comm_snapshot empty = {0};
    MPIX_Monitor_figures figures = {0}, from_nothing = {0};
    memcpy(empty.sum, whole.head.sum, sizeof empty.sum);
    assert_false(change_none(&empty, &whole.head));
    change_add(&figures, &empty, &whole.head);
    assert_int_equal(figures.completed, 0); /* the sums are the same, */
    uint64_t sent = 0, collectives = 0;     /* and these were not there */
    for (unsigned i = 0; i < BUCKETS; i++) {
        sent += whole.sends[i].count;
        assert_int_equal(figures.sent_size_count[LOW + i], whole.sends[i].count);
        assert_int_equal(figures.received_size_bytes[LOW + i], whole.receives[i].bytes);
    }
    for (unsigned i = 0; i < COLLECTIVE_COUNT; i++)
        collectives += whole.coll_count[i];
    EQUALS({figures.sent, sent}, {figures.collectives, collectives});
    change_add(&figures, &whole.head, &empty);
    assert_true(change_is_zero(&figures));
    change_add(&from_nothing, NULL, &whole.head);
    EQUALS({from_nothing.completed, whole.head.sum[SUM_P2P_DONE]}, {from_nothing.sent, sent});
    change_add(&from_nothing, &whole.head, NULL);
    assert_true(change_is_zero(&from_nothing));
}

TEST(collectives_by_kind)
{
    const struct record before = record_make(10);
    struct record after = before;
    struct comm_snapshot none = {0};
    struct change_collectives all;
    after.coll_count[COLLECTIVE_COUNT - 1] += 2;
    assert_true(change_collectives(&before.head, &after.head, &all));
    for (unsigned i = 0; i < COLLECTIVE_COUNT; i++) {
        assert_int_equal(all.count_after[i] - all.count_before[i], i == COLLECTIVE_COUNT - 1 ? 2 : 0);
        assert_int_equal(all.time_after[i], all.time_before[i]);
    }
    assert_true(change_collectives(NULL, &after.head, &all));
    EQUALS({all.count_before[0], 0}, {all.count_after[0], after.coll_count[0]});
    assert_false(change_collectives(&none, &none, &all));
    assert_false(change_collectives(NULL, NULL, &all));
}
