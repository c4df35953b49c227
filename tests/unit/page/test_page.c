/* How the ranks of a job become rows of the page, whatever number of them a summary tells. */
#include "page/page.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void every_rank_has_a_row(void **state)
{
    static const uint32_t sizes[] = {
        0,           1,           2,           511,        512, 513, 1024, 1025, 1 << 20, INT32_MAX, INT32_MAX + 1u,
        0xfffffe00u, 0xfffffe01u, 0xfffffffeu, 0xffffffffu};
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct page_rows rows = page_rows_of(sizes[i]);
        assert_int_equal(rows.ranks, sizes[i]);
        assert_true(rows.per_row >= 1 && rows.count <= PAGE_ROWS);
        assert_true((uint64_t)rows.per_row * rows.count >= sizes[i]);
        assert_true(!sizes[i] || (sizes[i] - 1) / rows.per_row == rows.count - 1); /* and no row is empty */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_rank_has_a_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
