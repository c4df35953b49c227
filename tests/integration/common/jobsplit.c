/*
 * jobsplit [--plain | --nameless] RUN OUT: each process of a run gets a job file of its own, OUT/HOST.PID.N.mpit. The first has
 * the stored names of functions.
 *
 *   --nameless  no file has them
 *   --plain     the bytes that were packed, for tests that look for words in them
 */
#include "jobfile/jobwriter.h"
#include "job/rundir.h"

#include <err.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void run_write(int fd, const struct run_reader *run, const struct run_piece *names)
{
    struct job_writer writer;
    if (job_writer_begin(&writer, fd, run->header.job, 1) != 0 || job_writer_process(&writer, run, NULL) != 0)
        err(1, "job_writer_process");
    int from = names ? open(names->path, O_RDONLY) : -1;
    const struct section_entry entry = {
        .kind = SECTION_NAMES, .begin = names ? names->extent.begin : 0, .bytes = names ? names->extent.bytes : 0};
    if (names && (from < 0 || job_writer_copy(&writer, from, &entry) != 0))
        err(1, "job_writer_copy");
    if (job_writer_end(&writer) != 0)
        err(1, "job_writer_end");
    if (from >= 0)
        close(from);
    job_writer_release(&writer);
}

static bool plain, nameless;

static void job_split(const struct run_job *job, const char *out)
{
    const struct run_piece *names = NULL;
    for (size_t i = 0; i < job->piece_count && !nameless; i++)
        names = job->pieces[i].kind == SECTION_NAMES ? &job->pieces[i] : names;
    for (size_t i = 0; i < job->file_count; i++) {
        char path[PATH_MAX];
        const struct run_reader *run = run_job_file(job, i);
        snprintf(path, sizeof path, "%s/%s.%u.%zu.mpit", out, run->header.host, run->header.pid, i);
        int fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
        if (fd < 0)
            err(1, "%s", path);
        if (plain && write(fd, run->base, run->bytes) != (ssize_t)run->bytes)
            err(1, "%s", path);
        if (!plain)
            run_write(fd, run, i ? NULL : names);
        close(fd);
    }
}

int main(int argc, char *argv[])
{
    struct run_dir dir;
    char error[512];
    plain = argc == 4 && strcmp(argv[1], "--plain") == 0;
    nameless = argc == 4 && strcmp(argv[1], "--nameless") == 0;
    if (argc != 3 + plain + nameless)
        errx(2, "jobsplit [--plain | --nameless] RUN OUT");
    const char *run = argv[argc - 2], *out = argv[argc - 1];
    if (run_dir_open(&dir, run, error) != 0)
        errx(1, "%s", error);
    mkdir(out, 0700);
    for (size_t i = 0; i < dir.job_count; i++)
        job_split(&dir.jobs[i], out);
    run_dir_close(&dir);
    return 0;
}
