/* Memory that is there, that ends, and that is not there. */
#define _GNU_SOURCE
#include "unittest.h"

#include "base/peek.h"

#include <string.h>
#include <sys/mman.h>

TEST(what_is_there_is_read_up_to_its_end)
{
    enum { PAGE = 4096, LAST = 40 };
    char seen[64], *page = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(page, MAP_FAILED);
    memset(page, 'a', 2 * PAGE);
    assert_int_equal(munmap(page + 2 * PAGE, PAGE), 0);
    assert_int_equal(memory_peek(seen, (uintptr_t)(page + PAGE - 10), sizeof seen), sizeof seen); /* of two pages */
    assert_int_equal(seen[63], 'a');
    assert_int_equal(memory_peek(seen, (uintptr_t)(page + 2 * PAGE - LAST), sizeof seen), LAST);
    assert_int_equal(mprotect(page + PAGE, PAGE, PROT_NONE), 0);
    assert_int_equal(memory_peek(seen, (uintptr_t)(page + PAGE - 3), sizeof seen), 3);
    assert_int_equal(memory_peek(seen, (uintptr_t)(page + PAGE), sizeof seen), 0);
    munmap(page, 2 * PAGE);
}

TEST(wild_addresses_are_an_answer)
{
    const uintptr_t wild[] = {0,     1, 8, UINTPTR_MAX, UINTPTR_MAX - 4095, UINTPTR_MAX / 2 + 1, (uintptr_t)1 << 47,
                              0xdead};
    char seen[64];
    for (size_t i = 0; i < sizeof wild / sizeof *wild; i++)
        assert_int_equal(memory_peek(seen, wild[i], sizeof seen), 0);
}
