/* Names that are stored with a run: they come back as they were, for the file that they belong to, and no other. */
#define _GNU_SOURCE
#include "unittest.h"

#include "jobfile/summaryfile.h"
#include "symbols/storednames.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { JOB = 77 };

static const uint8_t one_id[] = {1, 2, 3}, other_id[] = {1, 2, 4};
static const struct module one = {.path = "/x/app", .build_id = one_id, .build_id_bytes = 3};
static const struct module rebuilt = {.path = "/x/app", .build_id = other_id, .build_id_bytes = 3};
static const struct module library = {.path = "/x/libfoo.so"};
static struct section_header *stored;

static void list_make(struct names_list *list)
{
    const struct symbol_line solve = {"solve", "/src/solve.c", 12};
    const struct symbol_line inlined[] = {{"kernel", "/src/kernel.h", 3}, {"solve", "/src/solve.c", 14}};
    const struct symbol_line nameless = {.function = NULL};
    names_list_begin(list, JOB);
    assert_true(names_list_module(list, one.path, one_id, 3));
    assert_true(names_list_place(list, &(struct symbol_place){&solve, 1, "app", 0x100, UINT64_MAX}));
    assert_true(names_list_place(list, &(struct symbol_place){inlined, 2, "app", 0x200, UINT64_MAX}));
    assert_true(names_list_module(list, library.path, one_id, 0));
    assert_true(names_list_place(list, &(struct symbol_place){&nameless, 1, "libfoo.so", 0x100, 0xc0}));
    assert_false(list->full);
}

static struct stored_names *section_names(const struct section_header *section, char error[128])
{
    struct summary summary;
    size_t bytes;
    error[0] = '\0';
    void *data = section_unpack(section, SUMMARY_BYTES_MAX, &bytes, error);
    int result = data ? summary_unpack(&summary, data, bytes, error) : -1;
    free(data);
    return result == 0 ? stored_names_open(&summary, error) : NULL;
}

static struct stored_names *names_read(char error[128])
{
    return section_names(stored, error);
}

FIXTURE(setup)
{
    struct names_list list;
    list_make(&list);
    stored = summary_section_make_whole(&list.summary, SECTION_NAMES);
    names_list_release(&list);
    assert_true(stored);
}

FIXTURE(teardown)
{
    free(stored);
}

TEST_WITH(names_come_back_as_they_were, setup, teardown)
{
    char error[128];
    struct stored_names *names = names_read(error);
    assert_non_null(names);
    const struct symbol_place *place = stored_names_find(names, one.path, &one, 0x100);
    assert_non_null(place);
    assert_int_equal(place->count, 1);
    assert_string_equal(place->lines[0].function, "solve");
    assert_string_equal(place->lines[0].file, "/src/solve.c");
    assert_int_equal(place->lines[0].line, 12);
    assert_string_equal(place->module, "app");
    assert_true(place->start == UINT64_MAX);
    place = stored_names_find(names, one.path, &one, 0x200);
    assert_non_null(place);
    assert_int_equal(place->count, 2);
    assert_string_equal(place->lines[0].function, "kernel");
    assert_string_equal(place->lines[1].function, "solve");
    assert_int_equal(place->lines[1].line, 14);
    place = stored_names_find(names, library.path, &library, 0x100);
    assert_non_null(place);
    assert_null(place->lines[0].function);
    assert_int_equal(place->start, 0xc0);
    stored_names_close(names);
}

TEST_WITH(names_count_only_for_their_file, setup, teardown)
{
    char error[128];
    struct stored_names *names = names_read(error);
    assert_non_null(names);
    assert_null(stored_names_find(names, one.path, &rebuilt, 0x100));
    assert_null(stored_names_find(names, "/y/app", &one, 0x100));
    assert_null(stored_names_find(names, one.path, NULL, 0x100));
    assert_null(stored_names_find(names, one.path, &one, 0x101));
    assert_null(stored_names_find(names, one.path, &one, 0x300));
    assert_null(stored_names_find(NULL, one.path, &one, 0x100));
    stored_names_close(names);
}

/* As in a file that was joined of the files of several nodes. */
TEST_WITH(a_second_section_has_what_the_first_has_not, setup, teardown)
{
    char error[128];
    const struct symbol_line inner = {"inner", NULL, 0};
    struct names_list list;
    names_list_begin(&list, JOB);
    assert_true(names_list_module(&list, one.path, one_id, 3));
    assert_true(names_list_place(&list, &(struct symbol_place){&inner, 1, "app", 0x300, UINT64_MAX}));
    struct section_header *second = summary_section_make_whole(&list.summary, SECTION_NAMES);
    names_list_release(&list);
    assert_non_null(second);
    struct stored_names *names = NULL;
    stored_names_add(&names, names_read(error));
    stored_names_add(&names, section_names(second, error));
    assert_string_equal(stored_names_find(names, one.path, &one, 0x100)->lines[0].function, "solve");
    assert_string_equal(stored_names_find(names, one.path, &one, 0x300)->lines[0].function, "inner");
    assert_null(stored_names_find(names, one.path, &one, 0x400));
    stored_names_close(names);
    free(second);
}

TEST(a_text_is_stored_once)
{
    struct names_list list;
    list_make(&list);
    size_t count = 0;
    const struct summary_sites *sites = &list.summary.sites;
    for (uint64_t at = 1; at < sites->text_bytes; at += strlen(sites->texts + at) + 1)
        count += strcmp(sites->texts + at, "/src/solve.c") == 0;
    assert_int_equal(count, 1);
    names_list_release(&list);
}

/* Each byte of the frame in turn is changed. */
TEST_WITH(a_damaged_section_is_refused, setup, teardown)
{
    char error[128], *frame = (char *)(stored + 1);
    assert_true(stored->payload_bytes > 100);
    for (uint64_t at = 0; at < stored->payload_bytes; at++) {
        frame[at] ^= 0x20;
        assert_null(names_read(error));
        assert_true(error[0]);
        frame[at] ^= 0x20;
    }
    stored->payload_bytes /= 2;
    assert_null(names_read(error));
    assert_true(error[0]);
}

enum fault { NO_MODULE, UNSORTED_MODULES, UNSORTED, TWICE, HALF, TORN, IN_A_TEXT, BEHIND_TEXTS, NO_PATH, FAULTS };

static void fault_make(struct summary_sites *sites, enum fault fault)
{
    struct summary_frame *frames = sites->frames, swapped = frames[0];
    switch (fault) {
    case NO_MODULE:
        frames[0].module = 0;
        break;
    case UNSORTED_MODULES:
        frames[0].module = 2;
        break;
    case UNSORTED:
        frames[0] = frames[2];
        frames[2] = swapped;
        break;
    case TWICE:
        frames[1].address = frames[2].address = frames[0].address;
        break;
    case HALF:
        frames[3].inlined = 1;
        break;
    case TORN:
        frames[2].address++;
        break;
    case IN_A_TEXT:
        frames[0].function++;
        break;
    case BEHIND_TEXTS:
        frames[0].file = (uint32_t)sites->text_bytes + 100;
        break;
    default:
        sites->modules[1].path = 0;
    }
}

/* A file with a right checksum that somebody else wrote. */
TEST_WITH(names_out_of_order_are_refused, setup, teardown)
{
    for (int fault = 0; fault < FAULTS; fault++) {
        char error[128];
        struct names_list list;
        list_make(&list);
        fault_make(&list.summary.sites, (enum fault)fault);
        struct section_header *section = summary_section_make_whole(&list.summary, SECTION_NAMES);
        names_list_release(&list);
        assert_non_null(section);
        struct stored_names *names = section_names(section, error);
        free(section);
        if (names)
            fail_msg("fault %d is not noticed", fault);
        assert_non_null(strstr(error, "damaged"));
    }
}

TEST_WITH(stored_names_come_before_files, setup, teardown)
{
    char error[128], note[SYMBOLS_NOTE_BYTES];
    struct stored_names *names = names_read(error);
    struct symbols *symbols = symbols_open(names);
    assert_non_null(names);
    assert_non_null(symbols);
    struct module module = one;
    module.bias = 0x40000;
    const struct symbol_place *place = symbols_look_up(symbols, &module, "", 0x40100);
    assert_non_null(place);
    assert_string_equal(place->lines[0].function, "solve");
    module.path = "";
    place = symbols_look_up(symbols, &module, "/x/app", 0x40100);
    assert_string_equal(place->lines[0].function, "solve");
    assert_false(symbols_note(symbols, 0, note)); /* no file was looked at */
    module.build_id = other_id;
    place = symbols_look_up(symbols, &module, "/x/app", 0x40100);
    assert_null(place->lines[0].function);
    assert_true(symbols_note(symbols, 0, note));
    symbols_close(symbols);
    stored_names_close(names);
}
