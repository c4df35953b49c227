#include "top/topmodel.h"

#include "base/processes.h"
#include "base/processlife.h"
#include "base/spools.h"
#include "run/launcher.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ANCESTORS_MOST = 64 };

/* Returns the nearest ancestor that is a launcher, or 0. A daemon of a launcher on another node has none here. */
static uint32_t launcher_of(uint32_t pid)
{
    char program[PROCESS_NAME_BYTES];
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

enum { ENVIRONMENT_MOST = 1 << 20 };

/* MPIT_PASSES of its environment: how many passes its loop will make. 0: it does not say. */
static uint64_t passes_wanted(const struct live_process *process)
{
    static const char name[] = "MPIT_PASSES=";
    char path[40];
    snprintf(path, sizeof path, "/proc/%d/environ", (int)process->pid);
    FILE *file = fopen(path, "r");
    char *text = file ? malloc(ENVIRONMENT_MOST + 1) : NULL;
    size_t bytes = text ? fread(text, 1, ENVIRONMENT_MOST, file) : 0;
    uint64_t wanted = 0;
    if (text)
        text[bytes] = '\0';
    for (const char *at = text; at && at < text + bytes; at += strlen(at) + 1)
        if (strncmp(at, name, sizeof name - 1) == 0)
            wanted = strtoull(at + sizeof name - 1, NULL, 10);
    free(text);
    if (file)
        fclose(file);
    return wanted;
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
            job->passes_wanted = passes_wanted(process);
        }
    }
}
