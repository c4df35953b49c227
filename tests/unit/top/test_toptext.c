/* Texts of mpit-top: a number is shown as a whole, or not at all. */
#define _GNU_SOURCE
#include "top/toptext.h"

#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const char *cut(const char *text, int columns)
{
    static char kept[256];
    char dots[4];
    size_t bytes = top_text_cut(text, columns, dots);
    snprintf(kept, sizeof kept, "%.*s%s", (int)bytes, text, dots);
    return kept;
}

static void text_that_fits_stays(void **state)
{
    (void)state;
    assert_string_equal(cut("MPI_Send 54", 11), "MPI_Send 54");
    assert_string_equal(cut("", 0), "");
}

static void long_text_ends_with_dots(void **state)
{
    (void)state;
    assert_string_equal(cut("MPI_COMM_WORLD", 10), "MPI_COM...");
    assert_string_equal(cut("MPI_COMM_WORLD", 2), "..");
    assert_string_equal(cut("MPI_COMM_WORLD", 0), "");
    assert_string_equal(cut("\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac", 4), "\xe2\x82\xac...");
}

static void number_is_never_cut(void **state)
{
    static const char text[] = "wait 12.5 ms, 7,660 calls, halo.c:123 (main)";
    (void)state;
    assert_string_equal(cut("MPI_Init 510343090 ns", 15), "MPI_Init ...");
    assert_string_equal(cut("MPI_Init 510343090 ns", 17), "MPI_Init ...");
    assert_string_equal(cut("calls 1,234,567, at x", 15), "calls ...");
    assert_string_equal(cut("510343090", 6), "...");
    for (int columns = 0; columns < (int)sizeof text; columns++) {
        char dots[4];
        size_t kept = top_text_cut(text, columns, dots);
        assert_true((int)(kept + strlen(dots)) <= columns);
        if (kept && strchr("0123456789.,", text[kept - 1])) /* a number may end here, and goes on nowhere */
            assert_null(strchr("0123456789", text[kept]) && text[kept] ? text + kept : NULL);
    }
}

static void marks_take_no_columns(void **state)
{
    (void)state;
    char text[] = {STYLE_BAD, 'd', 'e', 'a', 'd', STYLE_PLAIN, '\0'};
    assert_int_equal(top_text_columns(text), 4);
    assert_string_equal(cut(text, 4), text);
}

static void numbers_are_short(void **state)
{
    static const struct {
        double value;
        const char *text;
    } cases[] = {{0, "0"},       {0.001, "<.01"}, {0.5, "0.50"},   {9.99, "9.99"},   {12.34, "12.3"},
                 {123.4, "123"}, {999.4, "999"},  {1234, "1.23k"}, {5.4e7, "54.0M"}, {2e12, "2.00T"}};
    char text[TOP_NUMBER_BYTES];
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(top_number(text, cases[i].value), cases[i].text);
    assert_string_equal(top_bytes(text, 0), "0 B");
    assert_string_equal(top_bytes(text, 0.2), "<1 B");
    assert_string_equal(top_bytes(text, 512), "512 B");
    assert_string_equal(top_bytes(text, 149504), "146 KiB");
}

static void bar_has_its_width(void **state)
{
    char text[80];
    (void)state;
    for (int stall = 0; stall <= 10; stall++)
        for (int work = 0; work + stall <= 10; work++)
            assert_int_equal(top_text_columns(top_bar(text, sizeof text, 12, work / 10.0, stall / 10.0)), 12);
}

static void most_important_parts_stay(void **state)
{
    static const struct top_part parts[] = {{"first", 3}, {"second", 1}, {"", 1}, {NULL, 1}, {"third", 2}};
    char line[64];
    (void)state;
    top_parts_join(line, sizeof line, 80, parts, 5);
    assert_string_equal(line, "first  second  third");
    top_parts_join(line, sizeof line, 19, parts, 5);
    assert_string_equal(line, "second  third");
    top_parts_join(line, sizeof line, 12, parts, 5);
    assert_string_equal(line, "second");
    top_parts_join(line, sizeof line, 5, parts, 5);
    assert_string_equal(line, "second");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_that_fits_stays),      cmocka_unit_test(long_text_ends_with_dots),
        cmocka_unit_test(number_is_never_cut),       cmocka_unit_test(marks_take_no_columns),
        cmocka_unit_test(numbers_are_short),         cmocka_unit_test(bar_has_its_width),
        cmocka_unit_test(most_important_parts_stay),
    };
    setlocale(LC_CTYPE, "C.UTF-8");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
