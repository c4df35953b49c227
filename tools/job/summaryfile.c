#define _GNU_SOURCE
#include "job/summaryfile.h"

#include "collect/resultfile.h"
#include "format/sealed.h"
#include "reader/regularfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* `owner` is set where the file could be opened. */
static void *extent_read(const char *path, struct run_extent extent, size_t *bytes, uid_t *owner, char error[128])
{
    struct stat st = {0};
    void *data = NULL;
    int fd = regular_open(path, extent, &st);
    size_t wanted = extent.bytes ? extent.bytes : (size_t)st.st_size;
    if (fd < 0)
        regular_problem(errno, error, 128);
    else if (wanted > SUMMARY_BYTES_MAX)
        snprintf(error, 128, "is not a summary");
    else if (!(data = malloc(wanted + 1)))
        snprintf(error, 128, "cannot be read: no memory");
    *bytes = 0;
    if (fd >= 0)
        *owner = st.st_uid;
    while (data && *bytes < wanted) {
        ssize_t got = pread(fd, (char *)data + *bytes, wanted - *bytes, (off_t)(extent.begin + *bytes));
        if (got <= 0) {
            snprintf(error, 128, "cannot be read: %s", got < 0 ? strerror(errno) : "it became shorter");
            free(data);
            data = NULL;
        } else {
            *bytes += (size_t)got;
        }
    }
    if (fd >= 0)
        close(fd);
    return data;
}

int summary_part_read(struct summary *summary, const char *path, struct run_extent extent, uid_t *owner,
                      char error[128])
{
    size_t bytes;
    void *file = extent_read(path, extent, &bytes, owner, error), *data = NULL;
    if (file && sealed_is(file, bytes))
        data = sealed_unpack(file, bytes, SUMMARY_BYTES_MAX, &bytes, error);
    else if (file)
        snprintf(error, 128, "is not an mpit summary");
    free(file);
    int result = data ? summary_unpack(summary, data, bytes, error) : -1;
    free(data);
    return result;
}

void summary_file_path(char path[PATH_MAX], const char *stem, unsigned number, const char *suffix)
{
    char text[16] = "";
    if (number)
        snprintf(text, sizeof text, ".%u", number);
    snprintf(path, PATH_MAX, "%.3900s%s%s", stem, text, suffix);
}

/* Gives a complete file the first free name. */
static int file_name(const char *temporary, const char *stem, const char *suffix)
{
    char path[PATH_MAX];
    for (unsigned number = 0; number < UINT16_MAX; number++) {
        summary_file_path(path, stem, number, suffix);
        if (link(temporary, path) == 0)
            return unlink(temporary);
        if (errno == EEXIST)
            continue;
        if (access(path, F_OK) != 0) /* a file system without links */
            return rename(temporary, path);
    }
    errno = EEXIST;
    return -1;
}

int summary_file_add(const struct summary *summary, const char *stem, const char *suffix)
{
    char temporary[PATH_MAX];
    size_t bytes;
    void *file = result_of_all(summary, &bytes);
    snprintf(temporary, sizeof temporary, "%.3900s%s.part-XXXXXX", stem, suffix);
    int fd = file ? part_make(temporary) : -1;
    int result = fd >= 0 && bytes_write(fd, file, bytes) == 0 ? fsync(fd) : -1, problem = errno;
    if (fd >= 0 && close(fd) != 0 && result == 0) {
        result = -1;
        problem = errno;
    }
    if (result == 0) {
        result = file_name(temporary, stem, suffix);
        problem = errno;
    }
    if (result != 0 && fd >= 0)
        unlink(temporary);
    free(file);
    errno = problem;
    return result;
}
