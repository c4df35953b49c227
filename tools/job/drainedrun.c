#define _GNU_SOURCE
#include "job/drainedrun.h"

#include "base/processlife.h"
#include "base/spools.h"
#include "jobfile/drained.h"
#include "jobfile/jobwriter.h"
#include "reader/reader.h"
#include "writer/room.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int unnamed_file(void)
{
    const char *directory = getenv("TMPDIR");
    return open(directory && directory[0] ? directory : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
}

static int run_pack(const struct run_reader *run, const struct drained *drained, int fd)
{
    struct job_writer writer;
    int result = job_writer_begin(&writer, fd, run->header.job, 1);
    if (result == 0)
        result = job_writer_process(&writer, run, drained);
    if (result == 0)
        result = job_writer_end(&writer);
    job_writer_release(&writer);
    return result;
}

/* Opens the live file again: a drain may have gone on since it was opened. Returns a descriptor, or -1. */
static int both_pack(const char *live, const char *part)
{
    struct run_reader run;
    struct drained drained;
    int fd = -1;
    if (run_reader_open(&run, live) != 0)
        return -1;
    if (drained_open(&drained, part, room_in((void *)(uintptr_t)run.base)->drained_end) == 0) {
        fd = drained.map ? unnamed_file() : -1;
        if (fd >= 0 && run_pack(&run, &drained, fd) != 0) {
            close(fd);
            fd = -1;
        }
        drained_close(&drained);
    }
    run_reader_close(&run);
    return fd;
}

int drained_run_open(const struct run_header *header, const char *path)
{
    enum { COLLECTOR_MS = 5000 };
    char folder[PATH_MAX], part[PATH_MAX];
    struct spool spool;
    snprintf(folder, sizeof folder, "%.4000s", path);
    char *name = strrchr(folder, '/');
    if (!header->drained || !name || !run_file_has_ended(header, path))
        return -1;
    *name++ = '\0';
    if (!spool_at(&spool, folder))
        return -1;
    drained_path(spool.home, name, part);
    int lock = spool_lock(spool.path, COLLECTOR_MS), fd = -1;
    if (lock >= 0 && access(path, F_OK) == 0) /* no collector had it meanwhile */
        fd = both_pack(path, part);
    if (lock >= 0)
        close(lock);
    return fd;
}
