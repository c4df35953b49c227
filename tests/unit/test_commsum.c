/* Sums of communicators: what goes to them, and what they are called. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "commsum.h"

#include <string.h>

static void patterns_leave_out_what_tells_apart(void **state)
{
    (void)state;
    const char *const pairs[][2] = {
        {"MPI_COMM_WORLD/dup#17", "MPI_COMM_WORLD/dup#*"},
        {"MPI_COMM_WORLD/split#3:-4", "MPI_COMM_WORLD/split#*:*"},
        {"MPI_COMM_WORLD/create#3:00ab/dup#1", "MPI_COMM_WORLD/create#*:*/dup#*"},
        {"unnamed:0123456789abcdef", "unnamed:*"},
        {"0123456789abcdef...3/dup#4/dup#5", "*.../dup#*"},
        {"test", "test"},
        {"", ""},
    };
    char pattern[COMM_NAME_BYTES], again[COMM_NAME_BYTES], longest[COMM_NAME_BYTES];
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        comm_pattern(pattern, pairs[i][0]);
        assert_string_equal(pattern, pairs[i][1]);
        for (size_t j = 0; j < sizeof pairs / sizeof pairs[0]; j++) {
            bool hashed = pairs[i][1][0] == '*'; /* such a name is told by comm_pattern alone */
            assert_int_equal(comm_pattern_fits(pairs[j][1], pairs[i][0]), i == j && !hashed);
        }
    }
    memset(longest, '#', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    comm_pattern(again, longest);
    assert_true(strlen(again) < sizeof again);
}

/* But for the extremes, of which there is one each, and the numbers of segments beside them. */
static bool word_is_counted(size_t word)
{
    return word < offsetof(struct comm_cells, span_last) / sizeof(uint64_t) ||
           word >= offsetof(struct comm_cells, coll_bytes) / sizeof(uint64_t);
}

static void each_cell_alone_goes_to_the_sum(void **state)
{
    (void)state;
    enum { WORDS = sizeof(struct comm_cells) / sizeof(uint64_t) };
    static struct comm_cells to, from;
    to.span_first = to.message_low = from.span_first = from.message_low = LOW_NEUTRAL;
    for (size_t word = 0; word < WORDS; word++) {
        if (!word_is_counted(word))
            continue;
        uint64_t *source = (uint64_t *)&from + word, *sum = (uint64_t *)&to + word;
        from.message_low = from.message_high = 8; /* no message is counted without these */
        *source = word + 1;
        comm_cells_move(&to, &from);
        assert_int_equal(*source, 0);
        assert_int_equal(*sum, word + 1);
        *sum = 0;
        for (size_t other = 0; other < WORDS; other++)
            if (word_is_counted(other))
                assert_int_equal(((uint64_t *)&to)[other], 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patterns_leave_out_what_tells_apart),
        cmocka_unit_test(each_cell_alone_goes_to_the_sum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
