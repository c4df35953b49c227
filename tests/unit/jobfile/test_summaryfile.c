/* Summaries in files. */
#include "unittest.h"

#include "jobfile/summaryfile.h"
#include "report/summary_origin.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { TOO_LARGE = 65 << 20 };

/* No reader would accept more. Names are not left out, but a summary becomes smaller. */
TEST(too_large_a_summary_is_reduced)
{
    char error[128];
    struct summary *summary = calloc(1, sizeof *summary);
    size_t ranks = TOO_LARGE / 2 / sizeof *summary->phases + 1, bytes;
    summary->phase_count = 2 * ranks;
    summary->phases = calloc(summary->phase_count, sizeof *summary->phases);
    assert_non_null(summary->phases);
    for (size_t i = 0; i < summary->phase_count; i++) {
        summary->phases[i].name[0] = i < ranks ? 'a' : 'b';
        summary->phases[i].rank = (int32_t)(i % ranks);
        summary->phases[i].run_ns = i < ranks ? 1 : 2;
    }
    assert_null(summary_section_make_whole(summary, SECTION_NAMES));
    assert_int_equal(errno, EFBIG);
    struct section_header *section = summary_section_make(summary, SECTION_SUMMARY);
    assert_non_null(section);
    summary_release(summary);
    void *data = section_unpack(section, SUMMARY_BYTES_MAX, &bytes, error);
    assert_non_null(data);
    assert_int_equal(summary_unpack(summary, data, bytes, error), 0);
    EQUALS({summary->phase_count, ranks}, {summary->instruments_left_out, ranks});
    assert_string_equal(summary->phases[0].name, "b");
    summary_release(summary);
    free(data);
    free(section);
    free(summary);
}

/* The missing ranks of a job as JSON, in one line. */
static char *missing_of(const int32_t *ranks, size_t count, uint32_t world_size)
{
    struct summary *summary = calloc(1, sizeof *summary);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(summary_row_add(summary, (struct summary_row){.rank = ranks[i]}, "host"), 0);
    summary->world_size = world_size;
    json_t *json = summary_missing_json(summary);
    char *text = json_dumps(json, JSON_COMPACT | JSON_ENCODE_ANY);
    json_decref(json);
    summary_release(summary);
    free(summary);
    return text;
}

static void missing_ranks_are(const char *wanted, const int32_t *ranks, size_t count, uint32_t world_size)
{
    char *text = missing_of(ranks, count, world_size);
    assert_string_equal(text, wanted);
    free(text);
}

/* The size of the world is from a file, and any. */
TEST(many_missing_ranks_are_ranges)
{
    missing_ranks_are("null", NULL, 0, 4);
    missing_ranks_are("[]", (int32_t[]){0, 1}, 2, 2);
    missing_ranks_are("[]", (int32_t[]){-1, 0, 0}, 3, 1);
    missing_ranks_are("[]", (int32_t[]){3}, 1, UINT32_MAX);
    missing_ranks_are("[0,2,3,5]", (int32_t[]){-1, 1, 4, 4, 9}, 5, 6);
    missing_ranks_are("[0,\"2-2000\",\"2002-2147483646\"]", (int32_t[]){1, 2001}, 2, INT32_MAX);
    char *text = missing_of((int32_t[]){0}, 1, 1001);
    assert_non_null(strstr(text, "999,1000]"));
    free(text);
    missing_ranks_are("[\"1-1001\"]", (int32_t[]){0}, 1, 1002);
}
