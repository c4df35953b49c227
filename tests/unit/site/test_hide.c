/* Which texts the site hides, and how. */
#define _GNU_SOURCE
#include "unittest.h"

#include "site/hide.h"

#include <stdlib.h>
#include <string.h>

static void set(const char *list, const char *key)
{
    setenv("MPIT_CONF", "", 1);
    setenv("MPIT_HIDE", list, 1);
    setenv("MPIT_HIDE_KEY", key, 1);
    hide_read();
}

TEST(lists_are_read)
{
    char problem[HIDE_PROBLEM_BYTES];
    set("", "");
    assert_false(hides(~0U));
    set("user,\tfiles  regions", "");
    assert_true(hides(HIDE_USER) && hides(HIDE_FILES) && hides(HIDE_REGIONS) && hides(HIDE_PROGRAM | HIDE_USER));
    assert_false(hides(HIDE_ARGUMENTS | HIDE_DIRECTORY | HIDE_PROGRAM | HIDE_FUNCTIONS | HIDE_COMMUNICATORS));
    assert_true(hide_is_known(problem));
}

/* What the administrator meant is not known, so all is hidden. */
TEST(unknown_words_hide_all)
{
    char problem[HIDE_PROBLEM_BYTES];
    set("user programs", "");
    assert_true(hides(HIDE_REGIONS) && hides(HIDE_PROGRAM));
    assert_false(hide_is_known(problem));
    assert_string_equal(problem, "'programs' is not known; allowed are user, arguments, directory, program, functions, "
                                 "communicators, files, regions");
    set("use", "");
    assert_false(hide_is_known(problem));
}

TEST(equal_texts_have_equal_hashes)
{
    char one[64] = "heat", other[64], path[64];
    set("", "a key");
    hide_text(one, sizeof one, one);
    hide_text(other, sizeof other, "heat");
    assert_string_equal(one, other);
    assert_int_equal(strlen(one), 17);
    hide_path(path, sizeof path, "/home/ann/heat");
    assert_string_equal(strrchr(path, '/') + 1, one);
    hide_path(path, sizeof path, "heat");
    assert_string_equal(path, one);
    hide_text(other, sizeof other, "heat2");
    assert_string_not_equal(one, other);
    hide_text(other, sizeof other, "");
    assert_string_equal(other, "");
    set("", "another key");
    hide_text(other, sizeof other, "heat");
    assert_string_not_equal(one, other);
    hide_text(other, 5, "heat");
    assert_int_equal(strlen(other), 4);
    memset(other, 'x', sizeof other); /* nothing of a longer text stays behind the hash */
    hide_text(other, sizeof other, "heat");
    for (size_t i = strlen(other); i < sizeof other; i++)
        assert_int_equal(other[i], '\0');
}

/* The end of a text is part of its hash. */
TEST(all_lengths_differ)
{
    char hashes[32][HIDE_HASH_BYTES], text[33] = "";
    set("", "");
    for (unsigned i = 0; i < 32; i++) {
        text[i] = 'a';
        hide_text(hashes[i], sizeof hashes[i], text);
        for (unsigned k = 0; k < i; k++)
            assert_string_not_equal(hashes[i], hashes[k]);
    }
}

TEST(modules_of_the_system_keep_their_names)
{
    static const char *const well_known[] = {"/usr/lib/libm.so.6",
                                             "/lib/x/libc.so.6",
                                             "/opt/mpi/lib/libmpi.so.40",
                                             "/opt/mpit/lib/libmpit-mpich.so",
                                             "[vdso]",
                                             "/opt/glibc/libc.so.6"};
    char room[HIDE_MODULE_BYTES];
    set("user", "");
    assert_string_equal(hide_module("/home/ann/libheat.so", "/home/ann/heat", room), "/home/ann/libheat.so");
    assert_string_equal(hide_module("", "/home/ann/heat", room), "");
    set("functions", "");
    assert_string_equal(hide_module("/home/ann/libheat.so", "/home/ann/heat", room), "libheat.so");
    assert_string_equal(hide_module("", "/home/ann/heat", room), "heat");
    set("program", "");
    assert_int_equal(hide_module("/home/ann/libheat.so", "#0/#1", room)[0], '#');
    assert_string_equal(hide_module("", "#0/#1", room), "#1");
    for (size_t i = 0; i < sizeof well_known / sizeof well_known[0]; i++)
        assert_string_equal(hide_module(well_known[i], "#0/#1", room), well_known[i]);
}
