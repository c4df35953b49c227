/* Sums of communicators: what goes to them, and what they are called. */
#include "unittest.h"

#include "registry/commsum.h"

#include <stdlib.h>
#include <string.h>

TEST(patterns_leave_out_what_tells_apart)
{
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
    }
    memset(longest, '#', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    comm_pattern(again, longest);
    assert_true(strlen(again) < sizeof again);
}

/* Whatever comm_kind_has takes for one of the kind has the pattern; and those of a loop are known by it. */
TEST(kinds_have_one_pattern)
{
    const char *const names[] = {"W/dup#1",
                                 "W/dup#17",
                                 "W/dup#1/dup#1",
                                 "W/dup#2/dup#1",
                                 "W/dup#2/dup#20",
                                 "W/dup#2/split#20:1",
                                 "W/split#1:4",
                                 "W/split#2:-4",
                                 "W/split#2:",
                                 "W/split#2",
                                 "W/split#2:1/dup#1",
                                 "W/dup#",
                                 "W/dup#1:1",
                                 "W/dup#1#1",
                                 "W/dup#1/",
                                 "W/dup",
                                 "W",
                                 "",
                                 "unnamed:0123456789abcdef",
                                 "0123456789abcdef...3/dup#4/dup#5",
                                 "0123456789abcdef...3/dup#4/dup#6",
                                 "0123456789abcdef#..3/dup#4"};
    enum { NAMES = sizeof names / sizeof names[0] };
    char patterns[NAMES][COMM_NAME_BYTES];
    unsigned known = 0;
    for (size_t i = 0; i < NAMES; i++)
        comm_pattern(patterns[i], names[i]);
    for (size_t i = 0; i < NAMES; i++) {
        struct comm_kind kind;
        comm_kind_learn(&kind, patterns[i], names[i]);
        for (size_t j = 0; j < NAMES; j++)
            if (comm_kind_has(&kind, names[j])) {
                assert_string_equal(patterns[i], patterns[j]);
                known += i != j;
            }
    }
    assert_true(known >= 6); /* W/dup#1 and #17, W/dup#2/dup#1 and #20, W/split#1:4 and #2:-4 */
}

static void text_random(char *text, size_t most)
{
    size_t length = (size_t)rand() % most;
    for (size_t i = 0; i < length; i++)
        text[i] = "a/#:*1"[rand() % 6];
    text[length] = '\0';
}

TEST(kinds_of_any_text_have_one_pattern)
{
    unsigned known = 0;
    srand(1);
    for (unsigned i = 0; i < 300000; i++) {
        char names[2][10], patterns[2][COMM_NAME_BYTES];
        struct comm_kind kind;
        for (unsigned k = 0; k < 2; k++) {
            text_random(names[k], sizeof names[k]);
            if (k && i % 2) /* a relation of the first */
                memcpy(names[1], names[0], strnlen(names[1], (size_t)rand() % 8));
            comm_pattern(patterns[k], names[k]);
        }
        comm_kind_learn(&kind, patterns[0], names[0]);
        if (!comm_kind_has(&kind, names[1]))
            continue;
        assert_string_equal(patterns[0], patterns[1]);
        known += strcmp(names[0], names[1]) != 0;
    }
    assert_true(known > 100);
}

/* But for the extremes, of which there is one each, and the numbers of segments beside them. */
static bool word_is_counted(size_t word)
{
    return word < offsetof(struct comm_cells, span_last) / sizeof(uint64_t) ||
           word >= offsetof(struct comm_cells, coll_bytes) / sizeof(uint64_t);
}

TEST(each_cell_alone_goes_to_the_sum)
{
    enum { WORDS = sizeof(struct comm_cells) / sizeof(uint64_t) };
    static struct comm_cells to, from;
    to.span_first = to.message_low = from.span_first = from.message_low = LOW_NEUTRAL;
    for (size_t word = 0; word < WORDS; word++) {
        if (!word_is_counted(word))
            continue;
        uint64_t *source = (uint64_t *)&from + word, *sum = (uint64_t *)&to + word;
        *source = word + 1;
        comm_cells_move(&to, &from, true);
        EQUALS({*source, 0}, {*sum, word + 1});
        *sum = 0;
        for (size_t other = 0; other < WORDS; other++)
            if (word_is_counted(other))
                assert_int_equal(((uint64_t *)&to)[other], 0);
    }
}
