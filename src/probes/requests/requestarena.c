#include "requests/requestarena.h"

#include "base/invariant.h"

#include <sys/mman.h>

enum { STEP_BYTES = ARENA_STEP * sizeof(struct request), STEPS_MOST = 1 << 14 };

struct request *request_arena;
static uint32_t steps_made, steps_most;

uint32_t arena_count(void)
{
    return __atomic_load_n(&steps_made, __ATOMIC_ACQUIRE) * ARENA_STEP;
}

/* Reserves addresses without memory. A limit of the process may allow only few. */
static bool arena_reserve(void)
{
    for (steps_most = STEPS_MOST; steps_most; steps_most /= 2) {
        void *memory = mmap(NULL, (size_t)steps_most * STEP_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory != MAP_FAILED) {
            request_arena = memory;
            return true;
        }
    }
    return false;
}

static bool arena_is_valid(void)
{
    return request_arena ? steps_made <= steps_most : !steps_made;
}

struct request *arena_extend(void)
{
    MPIT_ASSERT(arena_is_valid());
    if ((!request_arena && !arena_reserve()) || steps_made == steps_most || !run_memory_take(&book.run, STEP_BYTES))
        return NULL;
    struct request *made = request_arena + (size_t)steps_made * ARENA_STEP;
    if (mprotect(made, STEP_BYTES, PROT_READ | PROT_WRITE) != 0) {
        run_memory_give(&book.run, STEP_BYTES);
        return NULL;
    }
    __atomic_store_n(&steps_made, steps_made + 1, __ATOMIC_RELEASE);
    return made;
}
