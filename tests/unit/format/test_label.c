/* Texts of a program, made fit to be shown. */
#include "unittest.h"

#include "format/label.h"

#include <string.h>

TEST(labels_are_made_harmless)
{
    const char *const pairs[][2] = {
        {"ocean", "ocean"},
        {"a\tb\n\x1b[1m", "a?b??[1m"},
        {"gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f"},
        {"\xff\xc3", "??"},
        {"\xc0\x80\xed\xa0\x80", "?????"},
        {"\xe2\x80\xae"
         "x",
         "?x"},
        {"\xc2\x9b"
         "31m",
         "?31m"},
        {"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"},
    };
    char clean[COMM_LABEL_BYTES], title[COMM_TITLE_BYTES], longest[COMM_LABEL_BYTES];
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        label_clean(clean, sizeof clean, pairs[i][0], COMM_LABEL_BYTES);
        assert_string_equal(clean, pairs[i][1]);
    }
    label_clean(clean, 4, "ab\xc3\xbc", 10); /* not inside of a character */
    assert_string_equal(clean, "ab");
    label_clean(clean, 5, "ab\xc3\xbc", 3); /* nor behind what may be read */
    assert_string_equal(clean, "ab?");
    assert_string_equal(comm_title(title, "W/dup#1", ""), "W/dup#1");
    assert_string_equal(comm_title(title, "W/dup#1", "o\n"), "W/dup#1 \"o?\"");
    assert_string_equal(comm_title(title, "f:\xff\n#1", "a \"b\" \\"), "f:??#1 \"a \\\"b\\\" \\\\\"");
    memset(longest, '"', sizeof longest - 1); /* each of them becomes two */
    longest[sizeof longest - 1] = '\0';
    assert_int_equal(strlen(comm_title(title, longest, longest)), COMM_NAME_BYTES + 2 * COMM_LABEL_BYTES);
    text_tidy(longest, 4); /* its end is that of its bytes, whatever stands there */
    assert_string_equal(longest, "\"\"\"");
}
