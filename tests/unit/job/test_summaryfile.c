/* Summaries in files. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "job/summaryfile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { TOO_LARGE = 65 << 20 };

static char directory[] = "/tmp/mpit-summaryfile.XXXXXX", stem[64];

static int directory_make(void **state)
{
    (void)state;
    snprintf(stem, sizeof stem, "%s/job", mkdtemp(directory) ? directory : "");
    return stem[0] ? 0 : -1;
}

static int directory_remove(void **state)
{
    (void)state;
    return rmdir(directory); /* fails if a file is left */
}

static void a_second_file_has_a_number(void **state)
{
    char path[PATH_MAX], error[128];
    uid_t owner;
    struct summary *summary = calloc(1, sizeof *summary);
    (void)state;
    for (unsigned number = 0; number < 2; number++) {
        summary->job = 7 + number;
        assert_int_equal(summary_file_add(summary, stem, ".names"), 0);
    }
    for (unsigned number = 0; number < 2; number++) {
        summary_file_path(path, stem, number, ".names");
        assert_int_equal(summary_file_read(summary, path, &owner, error), 0);
        assert_int_equal(summary->job, 7 + number);
        summary_release(summary);
        unlink(path);
    }
    free(summary);
}

/* No reader would accept it. */
static void too_large_a_summary_is_not_written(void **state)
{
    struct summary *summary = calloc(1, sizeof *summary);
    (void)state;
    summary->comm_count = TOO_LARGE / sizeof *summary->comms;
    summary->comms = calloc(summary->comm_count, sizeof *summary->comms);
    assert_non_null(summary->comms);
    assert_int_equal(summary_file_add(summary, stem, ".names"), -1);
    assert_int_equal(errno, EFBIG);
    assert_int_equal(summary_file_write(summary, directory, "job.mpit", 3, ".summary"), -1);
    assert_int_equal(errno, EFBIG);
    summary_release(summary);
    free(summary);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_second_file_has_a_number),
        cmocka_unit_test(too_large_a_summary_is_not_written),
    };
    return cmocka_run_group_tests(tests, directory_make, directory_remove);
}
