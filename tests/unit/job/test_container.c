/* Containers that no mpit has written: names that lead out of a directory, sizes that overflow, cut files. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "format/sealed.h"
#include "job/container.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[] = "/tmp/mpit-container.XXXXXX";

static int file_make(void **state)
{
    (void)state;
    int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int file_remove(void **state)
{
    (void)state;
    return unlink(path);
}

/* A file with this table, which says that it has `count` members. `cut`: the file ends so many bytes earlier. */
static void file_write(const struct container_member *members, size_t listed, uint64_t count, uint64_t begin,
                       size_t cut)
{
    struct container_head head = {.job = 7, .count = count};
    size_t bytes = sizeof head + listed * sizeof *members, packed;
    char *table = malloc(bytes);
    assert_non_null(table);
    memcpy(table, &head, sizeof head);
    memcpy(table + sizeof head, members, bytes - sizeof head);
    char *sealed = sealed_pack(table, bytes, &packed);
    assert_non_null(sealed);
    struct container_header header = {.table_bytes = packed, .members = begin};
    memcpy(header.magic, CONTAINER_MAGIC, sizeof header.magic);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fwrite(&header, sizeof header, 1, file);
    fwrite(sealed, 1, packed > cut ? packed - cut : 0, file);
    assert_int_equal(fclose(file), 0);
    free(sealed);
    free(table);
}

static enum container_kind kind_of(const struct container_member *members, size_t listed, uint64_t count,
                                   uint64_t begin, size_t cut)
{
    char error[128] = "";
    struct container container;
    file_write(members, listed, count, begin, cut);
    enum container_kind kind = container_read(&container, path, (struct run_extent){0}, error);
    assert_true((kind == CONTAINER_BROKEN) == (error[0] != '\0'));
    if (kind == CONTAINER_READ)
        container_release(&container);
    return kind;
}

static enum container_kind kind_of_name(const char *name)
{
    struct container_member member = {.bytes = 1};
    memcpy(member.name, name, strnlen(name, sizeof member.name));
    return kind_of(&member, 1, 1, CONTAINER_ALIGN, 0);
}

static void names_of_results_are_taken(void **state)
{
    (void)state;
    assert_int_equal(kind_of_name("host.1.mpit"), CONTAINER_READ);
    assert_int_equal(kind_of_name("host.1.summary"), CONTAINER_READ);
    assert_int_equal(kind_of_name("00.names"), CONTAINER_READ);
    assert_int_equal(kind_of_name(CONTAINER_TOTAL), CONTAINER_READ);
}

static void other_names_are_refused(void **state)
{
    char longest[CONTAINER_NAME_BYTES + 8];
    (void)state;
    memset(longest, 'a', sizeof longest);
    memcpy(longest + CONTAINER_NAME_BYTES - 5, ".mpit", 5); /* and no NUL */
    assert_int_equal(kind_of_name(longest), CONTAINER_BROKEN);
    assert_int_equal(kind_of_name("../host.mpit"), CONTAINER_BROKEN);
    assert_int_equal(kind_of_name("a/host.mpit"), CONTAINER_BROKEN);
    assert_int_equal(kind_of_name("/host.mpit"), CONTAINER_BROKEN);
    assert_int_equal(kind_of_name(".mpit"), CONTAINER_BROKEN);
    assert_int_equal(kind_of_name(".host.mpit"), CONTAINER_BROKEN);
    assert_int_equal(kind_of_name("authorized_keys"), CONTAINER_BROKEN);
    assert_int_equal(kind_of_name(""), CONTAINER_BROKEN);
}

static void places_that_overflow_are_refused(void **state)
{
    struct container_member member = {.name = "a.mpit", .bytes = 1};
    (void)state;
    assert_int_equal(kind_of(&member, 1, 1, UINT64_MAX - CONTAINER_ALIGN + 1, 0), CONTAINER_BROKEN);
    assert_int_equal(kind_of(&member, 1, 1, 1, 0), CONTAINER_BROKEN); /* not aligned */
    member.begin = UINT64_MAX - CONTAINER_ALIGN + 1;
    assert_int_equal(kind_of(&member, 1, 1, CONTAINER_ALIGN, 0), CONTAINER_BROKEN);
    member.begin = 0;
    member.bytes = UINT64_MAX;
    assert_int_equal(kind_of(&member, 1, 1, CONTAINER_ALIGN, 0), CONTAINER_BROKEN);
    member.bytes = 0; /* would mean the whole file */
    assert_int_equal(kind_of(&member, 1, 1, CONTAINER_ALIGN, 0), CONTAINER_BROKEN);
}

static void counts_that_are_not_in_the_table_are_refused(void **state)
{
    struct container_member member = {.name = "a.mpit", .bytes = 1};
    (void)state;
    assert_int_equal(kind_of(&member, 1, 2, CONTAINER_ALIGN, 0), CONTAINER_BROKEN);
    assert_int_equal(kind_of(&member, 1, 0, CONTAINER_ALIGN, 0), CONTAINER_BROKEN);
    assert_int_equal(kind_of(&member, 1, UINT64_MAX, CONTAINER_ALIGN, 0), CONTAINER_BROKEN);
    assert_int_equal(kind_of(&member, 0, 0, CONTAINER_ALIGN, 0), CONTAINER_READ); /* none at all */
}

static void a_cut_table_is_refused(void **state)
{
    struct container_member member = {.name = "a.mpit", .bytes = 1};
    (void)state;
    for (size_t cut = 1; cut < 100; cut += 7)
        assert_int_equal(kind_of(&member, 1, 1, CONTAINER_ALIGN, cut), CONTAINER_BROKEN);
}

static void another_file_is_none(void **state)
{
    char error[128];
    struct container container;
    (void)state;
    assert_int_equal(truncate(path, 0), 0);
    assert_int_equal(container_read(&container, path, (struct run_extent){0}, error), CONTAINER_NONE);
    assert_int_equal(container_read(&container, "/dev/zero", (struct run_extent){0}, error), CONTAINER_NONE);
    assert_int_equal(container_read(&container, "/tmp", (struct run_extent){0}, error), CONTAINER_NONE);
    assert_int_equal(container_read(&container, "/tmp/no-such-file.mpit", (struct run_extent){0}, error),
                     CONTAINER_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_results_are_taken),
        cmocka_unit_test(other_names_are_refused),
        cmocka_unit_test(places_that_overflow_are_refused),
        cmocka_unit_test(counts_that_are_not_in_the_table_are_refused),
        cmocka_unit_test(a_cut_table_is_refused),
        cmocka_unit_test(another_file_is_none),
    };
    return cmocka_run_group_tests(tests, file_make, file_remove);
}
