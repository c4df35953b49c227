/* Ages in the options of tools. */
#include "unittest.h"

#include "base/age.h"

TEST(ages_are_read)
{
    static const struct {
        const char *text;
        double seconds;
    } ages[] = {{"30m", 1800}, {"12h", 43200}, {"7d", 604800}, {"8w", 4838400}, {"0d", 0}, {"1.5h", 5400}};
    for (size_t i = 0; i < sizeof ages / sizeof ages[0]; i++) {
        double seconds = -1;
        assert_true(age_read(ages[i].text, &seconds));
        assert_true(seconds == ages[i].seconds);
    }
}

TEST(other_texts_are_refused)
{
    static const char *const texts[] = {"",   "d",    "7",    "7D",   "7days", "7 d", "-1d",
                                        "5y", "nand", "infd", "1e6d", "0x1d",  "7d8"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        double seconds = -1;
        assert_false(age_read(texts[i], &seconds));
        assert_true(seconds == -1);
    }
}
