#define _GNU_SOURCE
#include "top/topmodel.h"

#include "base/processlife.h"
#include "base/spools.h"
#include "run/launcher.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ANCESTORS_MOST = 64, STAT_BYTES = 512, PROGRAM_BYTES = 64 };

/* Reads the parent of a process, and the name of its program (of 15 bytes at most). Returns 0 if it is gone. */
static uint32_t process_parent(uint32_t pid, char program[PROGRAM_BYTES])
{
    char path[48], text[STAT_BYTES];
    snprintf(path, sizeof path, "/proc/%" PRIu32 "/stat", pid);
    FILE *file = fopen(path, "re");
    size_t bytes = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file)
        fclose(file);
    text[bytes] = '\0';
    char *begin = strchr(text, '('), *end = strrchr(text, ')'); /* the name may have parentheses */
    if (!begin || !end || end < begin || strlen(end) < 4)
        return 0;
    snprintf(program, PROGRAM_BYTES, "%.*s", (int)(end - begin - 1), begin + 1);
    return (uint32_t)strtoul(end + 4, NULL, 10); /* ") S 1234" */
}

/* Returns the nearest ancestor that is a launcher, or 0. A daemon of a launcher on another node has none here. */
static uint32_t launcher_of(uint32_t pid)
{
    char program[PROGRAM_BYTES];
    uint32_t parent = process_parent(pid, program);
    for (int i = 0; i < ANCESTORS_MOST && parent > 1; i++) {
        pid = parent;
        parent = process_parent(pid, program);
        if (parent && launcher_named(program))
            return pid;
    }
    return 0;
}

/* The run file is in a spool, in the output directory, or in memory. */
static void directory_find(struct top_job *job, const struct live_process *process)
{
    char path[PATH_MAX];
    struct spool *spool = malloc(sizeof *spool);
    snprintf(path, sizeof path, "%s", process->path);
    char *slash = strrchr(path, '/');
    if (!spool || !slash || strncmp(path, "/proc/", 6) == 0) {
        free(spool);
        return;
    }
    *slash = '\0';
    const char *directory = spool_at(spool, path) ? spool->output : path;
    label_clean(job->directory, sizeof job->directory, directory, strlen(directory));
    free(spool);
}

void top_origin_find(struct top_job *job, const struct live_job *live)
{
    job->begin_ns = 0;
    if (!job->job) { /* processes of any jobs */
        job->launcher = 0;
        job->launcher_sought = false;
        job->directory[0] = '\0';
    }
    for (size_t i = 0; i < live->count; i++) {
        const struct live_process *process = &live->processes[i];
        const struct run_header *header = &process->run.header;
        if (!process->readable)
            continue;
        if (!job->begin_ns || header->begin_realtime_ns < job->begin_ns)
            job->begin_ns = header->begin_realtime_ns;
        if (!job->directory[0])
            directory_find(job, process);
        if (!job->launcher_sought && process->alive && process->here && process_is_here(header)) {
            job->launcher_sought = true;
            job->launcher = launcher_of(header->pid);
        }
    }
}
