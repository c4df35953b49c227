/*
 * Files that grow in the program's process. Beyond RLIMIT_FSIZE the kernel sends SIGXFSZ to the writing thread, which
 * would end the program. A check before the write is not enough: the program may lower the limit at any time, or
 * prlimit may from outside. So the thread blocks the signal here, and removes it before any handler sees it. A signal
 * that the program already had pending stays.
 *
 * Any thread and signal handler may call this. errno is the errno of the call.
 */
#ifndef MPIT_EVENTS_FILESIZE_H
#define MPIT_EVENTS_FILESIZE_H

#include "base/linkage.h"
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

/* True if the current limit allows a file of `bytes`. Avoids partial writes. */
MUST_CHECK bool filesize_permits(uint64_t bytes);

/* Allocates `bytes` from `begin` on. Returns 0 or an errno. */
MUST_CHECK int filesize_allocate(int fd, uint64_t begin, uint64_t bytes);
/* Like ftruncate, but returns 0 or an errno. */
MUST_CHECK int filesize_set(int fd, uint64_t bytes);
struct filesize_writes {
    uint64_t bytes, calls;
};
/* What the process has written so far with filesize_write. */
struct filesize_writes filesize_written(void);
/* As pwritev. */
ssize_t filesize_write(int fd, const struct iovec *parts, int count, uint64_t offset);

#endif
