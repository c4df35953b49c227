/* How the ranks of a job become rows of the page, whatever number of them a summary tells. */
#include "unittest.h"

#include "page/page.h"

#include "summary/summary.h"

#include <stdlib.h>

TEST(every_rank_has_a_row)
{
    static const uint32_t sizes[] = {
        0,           1,           2,           511,        512, 513, 1024, 1025, 1 << 20, INT32_MAX, INT32_MAX + 1u,
        0xfffffe00u, 0xfffffe01u, 0xfffffffeu, 0xffffffffu};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct page_rows rows = page_rows_of(sizes[i]);
        assert_int_equal(rows.ranks, sizes[i]);
        assert_true(rows.per_row >= 1 && rows.count <= PAGE_ROWS);
        assert_true((uint64_t)rows.per_row * rows.count >= sizes[i]);
        assert_true(!sizes[i] || (sizes[i] - 1) / rows.per_row == rows.count - 1); /* and no row is empty */
    }
}

/* A run without files: the summary has a row for each rank. Older ones lack what the ranks received. */
TEST(rows_of_a_summary_have_received_messages)
{
    struct summary_row rows[] = {{.rank = 0, .threads = 1, .sent = 2, .received = 7, .received_bytes = 70},
                                 {.rank = 1, .threads = 1, .received = 8}};
    struct summary_host host = {"node"};
    struct summary *summary = calloc(1, sizeof *summary);
    struct run_job job = {.summary = summary};
    json_t *wanted = json_pack("{s:[ii], s:[ii]}", "recv_count", 7, 8, "recv_bytes", 70, 0);
    *summary = (struct summary){.world_size = 2, .rows = rows, .row_count = 2, .hosts = &host, .host_count = 1};
    json_t *ranks = page_ranks(&job);
    assert_true(json_equal(json_object_get(ranks, "recv_count"), json_object_get(wanted, "recv_count")));
    assert_true(json_equal(json_object_get(ranks, "recv_bytes"), json_object_get(wanted, "recv_bytes")));
    assert_true(json_is_null(json_object_get(ranks, "coll_count")));
    json_decref(wanted);
    json_decref(ranks);
    free(summary);
}
