/*
 * Files that grow in the program's process. Beyond RLIMIT_FSIZE the kernel sends SIGXFSZ to the thread that asks for
 * it, and that would end the program. A check before is not enough: the program may lower the limit at any moment, or
 * prlimit from outside. So the thread holds the signal back here, and takes it off before any handler sees it. A signal
 * that the program had pending already stays.
 *
 * Any thread and signal handler may call this. errno is the errno of the call.
 */
#ifndef MPIT_EVENTS_FILESIZE_H
#define MPIT_EVENTS_FILESIZE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

/* May a file be so long, by the limit of this moment? What would be written in part is then not begun. */
bool filesize_permits(uint64_t bytes);

/* Space for so many bytes more from `begin` on. Returns 0 or an errno. */
int filesize_allocate(int fd, uint64_t begin, uint64_t bytes);
/* As ftruncate, but returns 0 or an errno. */
int filesize_set(int fd, uint64_t bytes);
/* As pwritev. */
ssize_t filesize_write(int fd, const struct iovec *parts, int count, uint64_t offset);

#endif
