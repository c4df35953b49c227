#define _GNU_SOURCE
#include "resultfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

struct result {
    char temporary[PATH_MAX + 16];
    int fd;
};

/* Processes have the same number again: in other namespaces, after many others, or because one executes the next. */
int result_path(const char *directory, const char *name, int stem, const char *suffix, char path[PATH_MAX])
{
    int length = snprintf(path, PATH_MAX, "%s/%.*s%s", directory, stem, name, suffix);
    for (unsigned i = 1; length < PATH_MAX && i < UINT16_MAX && access(path, F_OK) == 0; i++)
        length = snprintf(path, PATH_MAX, "%s/%.*s.%u%s", directory, stem, name, i, suffix);
    if (length < PATH_MAX)
        return 0;
    errno = ENAMETOOLONG;
    return -1;
}

static int result_begin(struct result *result, const char *path)
{
    snprintf(result->temporary, sizeof result->temporary, "%s.part", path);
    unlink(result->temporary); /* of somebody who was killed: the lock of the spool is ours */
    result->fd = open(result->temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    return result->fd < 0 ? -1 : 0;
}

static void result_drop(struct result *result)
{
    int error = errno;
    close(result->fd);
    unlink(result->temporary);
    errno = error;
}

static int result_end(struct result *result, const char *path)
{
    if (fsync(result->fd) != 0 || rename(result->temporary, path) != 0) {
        result_drop(result);
        return -1;
    }
    return close(result->fd);
}

static int bytes_write(int fd, const char *data, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t n = write(fd, data + done, bytes - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -1;
        done += (size_t)n;
    }
    return 0;
}

int result_write(const char *directory, const char *name, int stem, const char *suffix, const void *data, size_t bytes,
                 char path[PATH_MAX])
{
    struct result result;
    if (result_path(directory, name, stem, suffix, path) != 0 || result_begin(&result, path) != 0)
        return -1;
    if (bytes_write(result.fd, data, bytes) == 0)
        return result_end(&result, path);
    result_drop(&result);
    return -1;
}

static int file_copy(int to, int from, uint64_t bytes)
{
    enum { PIECE = 1 << 20 };
    for (uint64_t done = 0; done < bytes;) {
        ssize_t n = sendfile(to, from, NULL, bytes - done < PIECE ? (size_t)(bytes - done) : PIECE);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        if (n == 0) {
            errno = EIO; /* it became shorter */
            return -1;
        }
        done += (uint64_t)n;
    }
    return 0;
}

int result_copy(const char *directory, const char *name, int stem, const char *suffix, const char *from, uint64_t bytes,
                char path[PATH_MAX])
{
    struct result result;
    if (result_path(directory, name, stem, suffix, path) != 0)
        return -1;
    int source = open(from, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (source < 0 || result_begin(&result, path) != 0) {
        if (source >= 0)
            close(source);
        return -1;
    }
    int copied = file_copy(result.fd, source, bytes);
    close(source);
    if (copied == 0)
        return result_end(&result, path);
    result_drop(&result);
    return -1;
}
