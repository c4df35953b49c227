#include "thread/scratch.h"

#include "thread/log.h"

#include <sys/mman.h>

void *scratch_get(struct scratch *scratch, size_t bytes)
{
    if (bytes <= scratch->bytes)
        return scratch->memory;
    size_t size = 4096;
    while (size < bytes && size < SCRATCH_KEPT)
        size *= 2;
    if (size < bytes)
        size = (bytes + 4095) / 4096 * 4096;
    void *memory = log_map(size);
    if (!memory)
        return NULL;
    scratch_release(scratch);
    scratch->memory = memory;
    scratch->bytes = size;
    __atomic_fetch_add(&book.run.passing_bytes, size, __ATOMIC_RELAXED);
    return memory;
}

void scratch_release(struct scratch *scratch)
{
    if (scratch->memory)
        munmap(scratch->memory, scratch->bytes);
    __atomic_fetch_sub(&book.run.passing_bytes, scratch->bytes, __ATOMIC_RELAXED);
    scratch->memory = NULL;
    scratch->bytes = 0;
}
