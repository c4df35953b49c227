/* Zeroed memory from the system. Unlike malloc, it may be asked for in a signal handler that has interrupted malloc. */
#ifndef MPIT_BASE_PAGES_H
#define MPIT_BASE_PAGES_H

#include <stddef.h>
#include <sys/mman.h>

/* NULL: there is none. */
static inline void *pages_map(size_t bytes)
{
    void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return pages == MAP_FAILED ? NULL : pages;
}

/* `pages` may be NULL. */
static inline void pages_unmap(void *pages, size_t bytes)
{
    if (pages)
        munmap(pages, bytes);
}

#endif
