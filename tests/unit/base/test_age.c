/* Ages in the options of tools. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/age.h"

static void ages_are_read(void **state)
{
    static const struct {
        const char *text;
        double seconds;
    } ages[] = {{"30m", 1800}, {"12h", 43200}, {"7d", 604800}, {"8w", 4838400}, {"0d", 0}, {"1.5h", 5400}};
    (void)state;
    for (size_t i = 0; i < sizeof ages / sizeof ages[0]; i++) {
        double seconds = -1;
        assert_true(age_read(ages[i].text, &seconds));
        assert_true(seconds == ages[i].seconds);
    }
}

static void other_texts_are_refused(void **state)
{
    static const char *const texts[] = {"",   "d",    "7",    "7D",   "7days", "7 d", "-1d",
                                        "5y", "nand", "infd", "1e6d", "0x1d",  "7d8"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        double seconds = -1;
        assert_false(age_read(texts[i], &seconds));
        assert_true(seconds == -1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(ages_are_read), cmocka_unit_test(other_texts_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
