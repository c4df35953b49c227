/* Paths that are shared and compacted, against paths that are copied. */
#define _GNU_SOURCE
#include "unittest.h"

#include "analysis/criticalpath.h"
#include "base/keytable.h"

#include <stdlib.h>
#include <string.h>

enum { LOCATIONS = 6, MESSAGES = 8, KEYS = 40, STEPS = 200000 };

struct copied {
    uint64_t ns[KEYS];
};

static uint64_t state = 1;

static unsigned draw(unsigned below)
{
    state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (unsigned)(state >> 33) % below;
}

static void path_compare(struct paths *paths, const struct path *path, const struct copied *copy)
{
    size_t count = 0;
    struct copied sums = {0};
    struct path_share *shares = path_shares(paths, path, &count);
    for (size_t i = 0; i < count; i++)
        sums.ns[shares[i].key] += shares[i].ns;
    free(shares);
    assert_memory_equal(&sums, copy, sizeof sums);
}

TEST(shared_paths_are_as_copied_ones)
{
    struct paths paths = {0};
    struct path *tails[LOCATIONS], *messages[MESSAGES] = {NULL};
    static struct copied copies[LOCATIONS], sent[MESSAGES];
    size_t most = 0;
    for (int i = 0; i < LOCATIONS; i++)
        tails[i] = path_begin(&paths);
    for (int step = 0; step < STEPS; step++) {
        unsigned at = draw(LOCATIONS), message = draw(MESSAGES), key = draw(KEYS), ns = draw(1000);
        switch (draw(4)) {
        case 0: /* it sends */
            path_drop(&paths, messages[message]);
            messages[message] = path_hold(tails[at]);
            sent[message] = copies[at];
            break;
        case 1: /* it has waited for a message */
            if (messages[message]) {
                path_switch(&paths, &tails[at], messages[message]);
                copies[at] = sent[message];
            }
            break;
        default:
            path_add(&paths, &tails[at], key, ns);
            copies[at].ns[key] += ns;
        }
        most = paths.count > most ? paths.count : most;
        if (step % 1000 == 0)
            path_compare(&paths, tails[at], &copies[at]);
    }
    for (int i = 0; i < LOCATIONS; i++)
        path_compare(&paths, tails[i], &copies[i]);
    assert_true(most < 3000); /* a sweep is due at 1024 */
    paths_sweep(&paths);
    assert_true(paths.count <= 2 * (LOCATIONS + MESSAGES));
    for (int i = 0; i < LOCATIONS; i++) {
        path_compare(&paths, tails[i], &copies[i]);
        path_drop(&paths, tails[i]);
    }
    for (int i = 0; i < MESSAGES; i++)
        path_drop(&paths, messages[i]);
    assert_int_equal(paths.count, 0);
    assert_false(paths.no_memory);
    paths_release(&paths);
}

TEST(detour_moves_a_part_of_the_path)
{
    struct paths paths = {0};
    size_t count = 0;
    struct path *tail = path_begin(&paths), *other = path_begin(&paths);
    path_add(&paths, &tail, 1, 100);
    path_add(&paths, &other, 2, 150);
    struct path *before = path_hold(tail);
    path_add(&paths, &tail, 3, 80);
    path_add(&paths, &tail, 1, 20);
    assert_false(path_detour(&paths, tail, before, other, 3, 81));
    assert_false(path_detour(&paths, tail, other, other, 3, 50));
    assert_true(path_detour(&paths, tail, before, other, 3, 50));
    struct path_share *shares = path_shares(&paths, tail, &count);
    const struct path_share expected[] = {{1, 20}, {2, 150}, {3, 30}};
    assert_int_equal(count, 3);
    assert_memory_equal(shares, expected, sizeof expected);
    free(shares);
    path_drop(&paths, before);
    path_drop(&paths, tail);
    path_drop(&paths, other);
    assert_int_equal(paths.count, 0);
    paths_release(&paths);
}

TEST(table_keeps_what_was_put_in)
{
    struct keytable table = {0};
    assert_null(keytable_sorted(&table));
    for (uint64_t i = 0; i < 5000; i++)
        assert_non_null(keytable_make(&table, i % 7, i, sizeof(struct keyed)));
    for (uint64_t i = 0; i < 5000; i += 2) {
        struct keyed *record = keytable_find(&table, i % 7, i);
        keytable_take(&table, record);
        free(record);
    }
    assert_int_equal(table.count, 2500);
    for (uint64_t i = 0; i < 5000; i++)
        assert_int_equal(keytable_find(&table, i % 7, i) != NULL, i % 2);
    struct keyed **sorted = keytable_sorted(&table);
    for (size_t i = 1; i < 2500; i++)
        assert_true(sorted[i - 1]->key[0] < sorted[i]->key[0] ||
                    (sorted[i - 1]->key[0] == sorted[i]->key[0] && sorted[i - 1]->key[1] < sorted[i]->key[1]));
    free(sorted);
    keytable_release(&table, NULL);
}
