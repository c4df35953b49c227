/*
 * manyfiles FILE DIRECTORY COUNT JOBS: the run directory of JOBS jobs that have COUNT processes together, out of one
 * run file: copies with other ranks, hosts and numbers of the job. What is nothing but zeros becomes a hole. Names do
 * not follow the ranks, as those of a launcher do not.
 */
#include "format/runfile.h"

#include <err.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RANKS_OF_HOST = 64, STEP = 7919 }; /* a prime: i * STEP modulo a job's size takes all values */

static bool is_zero(const char *page)
{
    static const char zeros[RUN_PAGE_BYTES];
    return memcmp(page, zeros, sizeof zeros) == 0;
}

static void run_write(const char *path, const struct run_header *header, const char *file, size_t bytes)
{
    char first[RUN_PAGE_BYTES];
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0666);
    if (fd < 0)
        err(1, "%s", path);
    memcpy(first, file, sizeof first);
    memcpy(first, header, sizeof *header);
    bool good = ftruncate(fd, (off_t)bytes) == 0 && pwrite(fd, first, sizeof first, 0) == sizeof first;
    for (size_t at = RUN_PAGE_BYTES, end; good && at < bytes; at = end) {
        for (end = at; end < bytes && !is_zero(file + end); end += RUN_PAGE_BYTES)
            continue;
        good = end == at || pwrite(fd, file + at, end - at, (off_t)at) == (ssize_t)(end - at);
        end += end == at ? RUN_PAGE_BYTES : 0;
    }
    if (close(fd) != 0 || !good)
        err(1, "%s", path);
}

int main(int argc, char *argv[])
{
    if (argc != 5)
        errx(2, "usage: manyfiles FILE DIRECTORY COUNT JOBS");
    struct stat st;
    uint32_t count = (uint32_t)strtoul(argv[3], NULL, 0), jobs = (uint32_t)strtoul(argv[4], NULL, 0);
    int fd = open(argv[1], O_RDONLY);
    if (fd < 0 || fstat(fd, &st) != 0)
        err(1, "%s", argv[1]);
    struct run_header header;
    size_t bytes = (size_t)st.st_size;
    const char *file = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    if (file == MAP_FAILED || bytes % RUN_PAGE_BYTES || !jobs || count % jobs)
        errx(1, "%s is no run file, or %u processes do not fit %u jobs", argv[1], count, jobs);
    memcpy(&header, file, sizeof header);
    if (mkdir(argv[2], 0777) != 0)
        err(1, "%s", argv[2]);
    uint32_t size = count / jobs, step = size % STEP ? STEP : 1;
    for (uint32_t i = 0; i < count; i++) {
        char path[512];
        header.world_rank = (int32_t)((uint64_t)(i / jobs) * step % size);
        header.world_size = (int32_t)size;
        header.job = UINT64_C(0x1000) + i % jobs;
        header.pid = 1000 + i;
        snprintf(header.host, sizeof header.host, "host%05" PRId32, header.world_rank / RANKS_OF_HOST);
        snprintf(path, sizeof path, "%s/%s.%u" RUN_FILE_SUFFIX, argv[2], header.host, header.pid);
        run_write(path, &header, file, bytes);
    }
    return 0;
}
