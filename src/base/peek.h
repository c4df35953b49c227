/*
 * Reads memory of the process that may not be there. A wild address is an answer, and not a signal.
 */
#ifndef MPIT_BASE_PEEK_H
#define MPIT_BASE_PEEK_H

#include <stddef.h>
#include <stdint.h>

/* Copies up to `bytes` bytes, at most a page. Returns how many of them could be read, from the first on. */
size_t memory_peek(void *to, uintptr_t from, size_t bytes);

#endif
