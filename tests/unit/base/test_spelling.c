/* How far words are from each other. */
#include "unittest.h"

#include "base/spelling.h"

#include <string.h>

TEST(letters_are_counted)
{
    assert_int_equal(spelling_distance("", ""), 0);
    assert_int_equal(spelling_distance("", "abc"), 3);
    assert_int_equal(spelling_distance("abc", ""), 3);
    assert_int_equal(spelling_distance("sumary", "summary"), 1);
    assert_int_equal(spelling_distance("kitten", "sitting"), 3);
    assert_int_equal(spelling_distance("MPI_AllReduce", "MPI_Allreduce"), 0);
}

TEST(long_words_are_no_trouble)
{
    char word[2 * SPELLING_MOST];
    memset(word, 'a', sizeof word - 1);
    word[sizeof word - 1] = '\0';
    assert_int_equal(spelling_distance(word, "aaa"), sizeof word - 4);
    assert_int_equal(spelling_distance("aaa", word), SPELLING_MOST);
}

static const char *nearest(const char *word)
{
    static const char *const known[] = {"output", "os", "call_depth", "trace"};
    struct spelling spelling = {.word = word};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        spelling_try(&spelling, known[i]);
    return spelling.nearest ? spelling.nearest : "";
}

TEST(the_nearest_word_is_found)
{
    assert_string_equal(nearest("ouput"), "output");
    assert_string_equal(nearest("OUPTUT"), "output");
    assert_string_equal(nearest("tracer"), "trace");
    assert_string_equal(nearest("nonsense"), "");
    assert_string_equal(nearest("oss"), "os");
    assert_string_equal(nearest("foo"), ""); /* all words of two letters are near */
}
