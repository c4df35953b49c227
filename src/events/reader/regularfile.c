#include "reader/regularfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int checked_open(int looked, const char *path)
{
    enum { FLAGS = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY };
    char place[40];
    snprintf(place, sizeof place, "/proc/self/fd/%d", looked);
    int fd = open(place, FLAGS);
    if (fd < 0 && errno == ENOENT && access("/proc/self/fd", F_OK) != 0) /* there is no /proc */
        fd = open(path, FLAGS);
    return fd;
}

int regular_open(const char *path, struct run_extent which, struct stat *st)
{
    int fd = -1, looked = open(path, O_PATH | O_CLOEXEC), problem = errno;
    if (looked < 0)
        return -1;
    if (fstat(looked, st) != 0)
        problem = errno;
    else if (!S_ISREG(st->st_mode))
        problem = EINVAL;
    else if (which.inode && (st->st_dev != which.device || st->st_ino != which.inode))
        problem = ESTALE;
    else if ((fd = checked_open(looked, path)) < 0)
        problem = errno;
    close(looked);
    errno = problem;
    return fd;
}

bool run_header_read(const char *path, struct run_extent which, struct run_header *header)
{
    struct stat st;
    int fd = regular_open(path, which, &st);
    bool read = fd >= 0 && pread(fd, header, sizeof *header, 0) == (ssize_t)sizeof *header &&
                memcmp(header->magic, RUN_MAGIC, sizeof header->magic) == 0;
    header->boot[sizeof header->boot - 1] = header->program[sizeof header->program - 1] = '\0';
    if (fd >= 0)
        close(fd);
    return read;
}

void regular_problem(int error, char *text, size_t room)
{
    if (error == EINVAL || error == ESTALE)
        snprintf(text, room,
                 error == EINVAL ? "is not a regular file" : "was replaced by another file while it was read");
    else
        snprintf(text, room, "cannot be opened: %s", strerror(error));
}
