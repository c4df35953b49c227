#define _GNU_SOURCE
#include "job/drainedrun.h"

#include "base/processlife.h"
#include "base/spools.h"
#include "jobfile/drained.h"
#include "jobfile/jobwriter.h"
#include "reader/reader.h"
#include "reader/runmap.h"
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
    int result = job_writer_begin(&writer, fd, run->header.job, 1)
                     ?: job_writer_process(&writer, run, drained) ?: job_writer_end(&writer);
    job_writer_release(&writer);
    return result;
}

/* Both files, opened while nobody changes them. Nobody drains a process that has ended. */
struct both {
    struct run_reader run;
    struct drained drained;
};

/* Returns false, with nothing open, if they cannot be read, or are not there any more. */
static bool both_open(struct both *both, const struct spool *spool, const char *live, const char *name, int wait_ms)
{
    char part[PATH_MAX];
    int lock = spool_lock(spool->path, wait_ms);
    drained_path(spool->home, name, part);
    bool opened = lock >= 0 && run_reader_open(&both->run, live) == 0;
    bool good =
        opened && drained_open(&both->drained, part, room_in((void *)(uintptr_t)both->run.base)->drained_end) == 0;
    if (lock >= 0)
        close(lock);
    if (opened && !good)
        run_reader_close(&both->run);
    if (good && !both->drained.map) {
        drained_close(&both->drained);
        run_reader_close(&both->run);
    }
    return good && both->drained.map;
}

int drained_run_open(const struct run_header *header, const char *path, bool *busy)
{
    enum { COLLECTOR_MS = 2000 };
    char folder[PATH_MAX];
    struct spool spool;
    struct both both;
    snprintf(folder, sizeof folder, "%.4000s", path);
    char *name = strrchr(folder, '/');
    if (!header->drained || !name || !run_file_has_ended(header, path))
        return -1;
    *name++ = '\0';
    if (!spool_at(&spool, folder))
        return -1;
    *busy = !both_open(&both, &spool, path, name, *busy ? 0 : COLLECTOR_MS);
    int fd = *busy ? -1 : unnamed_file();
    if (fd >= 0 && (run_pack(&both.run, &both.drained, fd) != 0 || run_reader_is_torn(&both.run) ||
                    both.drained.map->torn)) { /* they have become shorter */
        close(fd);
        fd = -1;
    }
    if (!*busy) {
        drained_close(&both.drained);
        run_reader_close(&both.run);
    }
    return fd;
}
