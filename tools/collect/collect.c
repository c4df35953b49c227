#define _GNU_SOURCE
#include "collect/collect.h"

#include "base/array.h"
#include "base/text.h"
#include "jobfile/resultfile.h"
#include "jobfile/summaryfile.h"
#include "jobfile/resultfolder.h"
#include "collect/spoolruns.h"
#include "format/label.h"
#include "jobfile/drained.h"
#include "jobfile/jobindex.h"
#include "jobfile/jobwriter.h"
#include "job/rundir.h"
#include "job/summarysums.h"
#include "reader/runmap.h"
#include "summary/summary.h"
#include "symbols/sitenames.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct work {
    const struct spool *spool;
    bool homeless; /* the output directory cannot be made */
    const struct collect_wish *wish;
    struct collected *sum;
    char *problem;          /* the first one */
    struct result *results; /* job files with their names, but perhaps not yet on the disk */
    size_t result_count;
};

__attribute__((format(printf, 2, 3))) static int fail(struct work *work, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (!work->problem[0])
        vsnprintf(work->problem, COLLECT_PROBLEM_BYTES, format, args);
    va_end(args);
    return -1;
}

/* Returns the lock, or -1 with errno. ENOENT means that the work is done: the owner of the lock has begun with each result. A
 * trace that is drained just now takes a moment. No other process has to wait for one that waits longer. */
static int lock_await(const struct spool *spool, const struct collect_wish *wish)
{
    enum { STEP_MS = 50, DONE_MS = 200, PATIENCE_MS = 500 };
    bool left;
    int lock = spool_lock(spool->path, 0);
    for (int waited = 0; lock < 0 && errno == EWOULDBLOCK && waited < wish->wait_ms; waited += STEP_MS) {
        if (waited == PATIENCE_MS && wish->waiting)
            wish->waiting();
        if (spool_is_marked(spool, &left) && (left || waited >= DONE_MS)) {
            errno = ENOENT;
            return -1;
        }
        lock = spool_lock(spool->path, STEP_MS);
    }
    return lock;
}

enum { STEM_BYTES = 128 };

/* ---- results ----------------------------------------------------------------------------------------------------- */

static bool is_kept(const struct spool_run *run)
{
    const struct run_header *header = &run->reader.header;
    return !run_ended_well(header) || (header->traced != TRACED_NOT && !run->brief) || header->samples_hz ||
           header->apart;
}

/* Marks the runs if the traces of a job are brief, and all are here. */
static void brief_find(const struct work *work, struct spool_run *runs, size_t count)
{
    int64_t size = run_size(&runs[0].reader.header); /* 0: without MPI_Init */
    bool brief = work->wish->traced && (size <= 0 || (int64_t)count == size);
    for (size_t i = 0; i < count; i++)
        brief = brief && run_trace_is_brief(&runs[i].reader.header);
    for (size_t i = 0; i < count; i++)
        runs[i].brief = brief;
}

static int write_fail(struct work *work, const char *path)
{
    return fail(work,
                "%s cannot be written: %s. The recording stays in %s, and mpit-dump %s shows it. \"mpit-collect %s\" "
                "moves it when there is room; with --to DIR it moves it to DIR",
                path, strerror(errno), work->spool->path, work->spool->path, work->spool->path);
}

/* The stem of the names of a job's files: the job on this node. */
static void job_stem(const struct run_header *header, char stem[STEM_BYTES])
{
    char host[sizeof header->host];
    label_clean(host, sizeof host, header->host, sizeof header->host);
    for (char *at = host; (at = strchr(at, '/'));)
        *at = '_';
    snprintf(stem, STEM_BYTES, "%s.%016" PRIx64, host, header->job);
}

/* Adds a process to a sum, if its file can be read. Returns false without memory. */
static bool run_add_to(struct summary *whole, struct spool_run *run)
{
    struct summary one = {.ranks = 0};
    bool awake = spool_run_wake(run), good = !awake || summary_of_run(&one, &run->reader) == 0;
    run->summed = awake && good && !run_reader_is_torn(&run->reader);
    good = good && (!run->summed || summary_merge(whole, &one) == 0);
    summary_release(&one);
    run_reader_rest(&run->reader);
    return good;
}

/* Writes the sum of processes of a job. SECTION_TOTAL: of all that are written. SECTION_SUMMARY: of those without a section
 * of their own (is_kept is false). */
static int sum_write(const struct work *work, struct job_writer *writer, struct spool_run *runs, size_t count,
                     enum section_kind kind)
{
    struct summary whole = {.ranks = 0};
    bool good = true;
    for (size_t i = 0; good && i < count; i++)
        if (kind == SECTION_TOTAL ? runs[i].brought : !is_kept(&runs[i]) && !runs[i].brought)
            good = run_add_to(&whole, &runs[i]);
    if (good && runs[0].brief && run_size(&runs[0].reader.header) > 0)
        work->wish->traced(work->spool->path, &whole);
    summary_sites_trim(&whole, SUMMARY_SITES_MAX);
    good = good && site_names_find(&whole, NULL) == 0;
    errno = ENOMEM;
    struct section_header *section = good ? summary_section_make(&whole, kind) : NULL;
    int result = section ? job_writer_section(writer, section) : -1, problem = errno;
    free(section);
    summary_release(&whole);
    errno = problem;
    return result;
}

/* Writes a run, with its drained chunks. If a file has become shorter meanwhile, the section is wrong, and is taken back. */
static int spool_run_write(const struct work *work, struct job_writer *writer, const struct spool_run *run)
{
    char path[PATH_MAX];
    struct drained drained = {.map = NULL};
    if (!spool_run_wake(run))
        return -1;
    spool_run_part(work->spool, run, path);
    if (run->reader.header.drained && drained_open(&drained, path, run->drained_end) != 0)
        return -1;
    int result = job_writer_process(writer, &run->reader, &drained);
    if (result == 0 && (run_reader_is_torn(&run->reader) || (drained.map && drained.map->torn))) {
        job_writer_undo(writer);
        errno = EIO;
        result = -1;
    }
    int problem = errno;
    drained_close(&drained);
    errno = problem;
    return result;
}

/* Writes the sections of a job. A process that cannot be written stays. */
static int sections_write(struct work *work, struct job_writer *writer, struct spool_run *runs, size_t count,
                          const char *path)
{
    size_t merged = 0, kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (is_kept(&runs[i])) {
            runs[i].brought = spool_run_write(work, writer, &runs[i]) == 0 || write_fail(work, path) == 0;
            kept += runs[i].brought;
        } else {
            merged++;
        }
        run_reader_rest(&runs[i].reader);
    }
    bool summed = merged && (sum_write(work, writer, runs, count, SECTION_SUMMARY) == 0 || write_fail(work, path) == 0);
    for (size_t i = 0; summed && i < count; i++) {
        runs[i].brought = runs[i].brought || runs[i].summed;
        if (!runs[i].brought && !is_kept(&runs[i]))
            fail(work, "%s cannot be read", run_reader_path(&runs[i].reader));
    }
    if (kept)
        sum_write(work, writer, runs, count, SECTION_TOTAL); /* without it tools make it again */
    return kept || summed ? 0 : -1;
}

/* Makes the file of a job. Returns whether it has its name. */
static bool job_file_write(struct work *work, struct spool_run *runs, size_t count, struct result *result)
{
    char stem[STEM_BYTES];
    struct job_writer writer;
    const char *output = work->spool->output;
    job_stem(&runs[0].reader.header, stem);
    if (result_begin(result, output, stem) != 0) {
        write_fail(work, result->path);
        return false;
    }
    bool begun = job_writer_begin(&writer, result->fd, runs[0].reader.header.job, 1) == 0;
    bool some = begun && sections_write(work, &writer, runs, count, result->path) == 0;
    bool named = some && job_writer_end(&writer) == 0 && result_show(result, output, stem) == 0;
    if (!named && (some || !begun))
        write_fail(work, result->path);
    job_writer_release(&writer);
    if (!named)
        result_drop(result);
    return named;
}

/* Brings the processes of a job to their job file. */
static void job_bring(struct work *work, struct spool_run *runs, size_t count)
{
    struct result result, *results = array_grow(work->results, work->result_count, sizeof *results);
    work->results = results ? results : work->results;
    if (!results)
        fail(work, "no memory");
    if (!results || !job_file_write(work, runs, count, &result))
        return;
    results[work->result_count++] = result;
    for (size_t i = 0; i < count; i++) {
        if (!runs[i].brought)
            continue;
        runs[i].result = work->result_count;
        spool_run_mark(&runs[i]);
    }
}

static void run_remove(struct work *work, const struct spool_run *run)
{
    char path[PATH_MAX];
    if (spool_run_remove(work->spool, run, path) != 0)
        fail(work, "%s cannot be removed: %s", path, strerror(errno));
}

/* sync: fsync, or syncfs. */
static int directory_sync(const char *path, int (*sync)(int))
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), result = fd < 0 ? -1 : sync(fd), problem = errno;
    if (fd >= 0)
        close(fd);
    errno = problem;
    return result;
}

/* Some directories cannot be read, and some file systems cannot flush a directory. */
static bool disk_has_failed(void)
{
    return errno == EIO || errno == ENOSPC || errno == EDQUOT;
}

/* Flushes the results to the disk, and removes the live files. If the disk fails, the result is removed instead. */
static void results_settle(struct work *work, const struct spool_runs *runs)
{
    if (work->wish->visible && !work->problem[0])
        work->wish->visible();
    bool named = !work->result_count || directory_sync(work->spool->output, fsync) == 0 || !disk_has_failed();
    for (size_t i = 0; i < work->result_count; i++) {
        struct result *result = &work->results[i];
        if (named && fsync(result->fd) == 0) {
            close(result->fd);
            continue;
        }
        write_fail(work, result->path);
        result_drop(result);
        result->fd = -1;
    }
    for (size_t i = 0; i < runs->count; i++) {
        const struct spool_run *run = &runs->list[i];
        if (!run->result)
            continue;
        if (work->results[run->result - 1].fd >= 0) {
            run_remove(work, run);
            continue;
        }
        work->sum->left++;
        *(is_kept(run) ? &work->sum->kept : &work->sum->merged) -= 1;
    }
    free(work->results);
}

/* ---- what an earlier collector has left --------------------------------------------------------------------------- */

/* Returns whether a sum of the job has the process. */
static bool job_has(const struct run_job *job, const struct spool_run *run)
{
    struct summary one = {.ranks = 0};
    const uint64_t begin = run->reader.header.begin_realtime_ns;
    const struct summary *sum = job->stored;
    bool found = sum && begin >= sum->origin.begin_ns && begin <= sum->origin.end_ns && spool_run_wake(run) &&
                 summary_of_run(&one, &run->reader) == 0 &&
                 summary_sums_have(&(struct summary_sums){{job->stored}}, &one);
    summary_release(&one);
    return found;
}

/* Returns whether the file has the process: in a whole section of its own, or in a sum if it would be there. */
static bool dir_has(const struct run_dir *dir, const struct spool_run *run)
{
    bool found = run_dir_reads(dir, run_identity(&run->reader.header));
    bool summed = !is_kept(run) || run->reader.header.trace_policy == TRACE_BRIEF;
    for (size_t i = 0; !found && summed && i < dir->job_count; i++)
        found = job_has(&dir->jobs[i], run);
    return found;
}

/* Removes the live files of processes that this job file has. */
static void file_settle(struct work *work, const char *path, struct spool_run *runs, size_t count)
{
    struct run_dir dir;
    char error[512];
    bool synced = false;
    bool reads = run_dir_open(&dir, path, error) == 0;
    for (size_t i = 0; reads && i < count; i++) {
        if (runs[i].gone || !dir_has(&dir, &runs[i]))
            continue;
        synced = synced || directory_sync(work->spool->output, syncfs) == 0;
        if (!synced)
            break; /* they are written again: readers count them once */
        runs[i].gone = true;
        run_remove(work, &runs[i]);
    }
    run_dir_close(&dir);
}

/* Returns whether a job file may have some of the runs: one has the mark, or the name of their file is taken. */
static bool some_are_suspect(const struct work *work, const struct spool_run *runs, size_t count)
{
    char stem[STEM_BYTES], path[PATH_MAX];
    for (size_t i = 0; i < count; i++)
        if (runs[i].reader.header.collected)
            return true;
    job_stem(&runs[0].reader.header, stem);
    return result_path(work->spool->output, stem, 0, path) == 0 && access(path, F_OK) == 0;
}

/* Removes live files whose processes are in a job file already: its collector was killed, or could not remove them. Returns
 * how many are left. */
static size_t earlier_settle(struct work *work, struct spool_run *runs, size_t count)
{
    size_t left = 0;
    DIR *directory = some_are_suspect(work, runs, count) ? opendir(work->spool->output) : NULL;
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%.3800s/%.255s", work->spool->output, entry->d_name);
        if (text_ends(entry->d_name, RUN_FILE_SUFFIX) && job_file_is_of(path, runs[0].reader.header.job))
            file_settle(work, path, runs, count);
    }
    if (directory)
        closedir(directory);
    for (size_t i = 0; i < count; i++)
        left += !runs[i].gone;
    return left;
}

/* Returns whether the parent of the output directory is gone. */
static bool is_homeless(const char *output)
{
    char above[PATH_MAX];
    snprintf(above, sizeof above, "%.4000s", output);
    char *slash = strrchr(above, '/');
    if (access(output, F_OK) == 0 || !slash)
        return false;
    slash[slash == above] = '\0';
    return access(above, F_OK) != 0 && errno == ENOENT;
}

/* Returns whether the results of a job should become one file: they are on several nodes. The node of rank 0 does it. */
static bool is_to_join(const struct work *work, const struct spool_run *runs, size_t count)
{
    if (work->wish->join == JOIN_NOT || (work->wish->join == JOIN_OF_SITE && !result_is_of_site(work->spool->output)))
        return false;
    const struct run_header *first = &runs[0].reader.header;
    for (size_t i = 1; i < count && run_rank(first) != 0; i++)
        first = &runs[i].reader.header;
    return run_rank(first) == 0 && (int64_t)count < run_size(first);
}

/* Puts the runs that are gone behind the others. */
static void gone_last(struct spool_run *runs, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (runs[i].gone)
            continue;
        struct spool_run run = runs[i];
        memmove(&runs[kept + 1], &runs[kept], (i - kept) * sizeof *runs);
        runs[kept++] = run;
    }
}

/* All processes of a job on this node. Those whose results cannot be written stay. */
static void job_collect(struct work *work, struct spool_run *runs, size_t count)
{
    if ((errno = result_folder_make(work->spool->output)) != 0) {
        write_fail(work, work->spool->output);
        work->sum->left += count;
        return;
    }
    size_t left = earlier_settle(work, runs, count);
    if (left < count)
        gone_last(runs, count);
    if (!left)
        return;
    brief_find(work, runs, left);
    if (is_to_join(work, runs, left))
        spool_join_ask(work->spool->path);
    job_bring(work, runs, left);
    for (size_t i = 0; i < left; i++) {
        work->sum->left += !runs[i].result;
        work->sum->kept += runs[i].result && is_kept(&runs[i]);
        work->sum->merged += runs[i].result && !is_kept(&runs[i]);
    }
}

static bool job_has_ended(const struct work *work, const struct spool_run *runs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!spool_run_has_ended(&runs[i]) || !file_is_idle(run_reader_path(&runs[i].reader), work->wish->idle_seconds))
            return false;
    return true;
}

static void jobs_collect(struct work *work, const struct spool_runs *runs)
{
    for (size_t begin = 0, end; begin < runs->count; begin = end) {
        uint64_t job = runs->list[begin].reader.header.job;
        for (end = begin + 1; end < runs->count && runs->list[end].reader.header.job == job;)
            end++;
        if (!job_has_ended(work, &runs->list[begin], end - begin))
            work->sum->at_work += end - begin;
        else if (work->homeless)
            for (size_t i = begin; i < end; i++)
                unlink(run_reader_path(&runs->list[i].reader));
        else
            job_collect(work, &runs->list[begin], end - begin);
    }
}

/* ---- the spool --------------------------------------------------------------------------------------------------- */

int collect_spool(const struct spool *spool, const struct collect_wish *wish, struct collected *sum,
                  char problem[COLLECT_PROBLEM_BYTES])
{
    struct work work = {.spool = spool, .wish = wish, .sum = sum, .problem = problem};
    struct spool_runs runs;
    problem[0] = '\0';
    run_reader_guard(); /* files may become shorter while they are read */
    if (spool->owner != geteuid())
        return fail(&work, "%s belongs to another user; only that user can collect it", spool->path);
    int lock = lock_await(spool, wish);
    if (lock < 0 && errno == ENOENT)
        return 0; /* another process has just collected it */
    if (lock < 0)
        return fail(&work, "%s cannot be locked: %s", spool->path,
                    errno == EWOULDBLOCK ? "another process is collecting it" : strerror(errno));
    work.homeless = wish->idle_seconds && is_homeless(spool->output); /* holds the lock: this may take forever */
    if (work.homeless && !spool_is_idle(spool, FORGET_SECONDS)) {
        close(lock);
        return 0;
    }
    bool opened = spool_runs_open(&runs, spool, &sum->at_work) == 0, some = runs.count;
    if (!opened) {
        fail(&work, "%s cannot be read: %s", spool->path, strerror(errno));
    } else {
        jobs_collect(&work, &runs);
        results_settle(&work, &runs);
    }
    if (!problem[0] && (some || file_is_idle(spool->path, wish->idle_seconds)))
        spool_remove(spool);
    spool_runs_close(&runs);
    close(lock);
    return problem[0] ? -1 : 0;
}

int collect_output(const char *output, const struct collect_wish *wish, struct collected *sum,
                   char problem[COLLECT_PROBLEM_BYTES])
{
    struct spool_list spools;
    int result = spools_find(&spools, output), failed = 0;
    if (result != 0)
        snprintf(problem, COLLECT_PROBLEM_BYTES, "no memory");
    for (size_t i = 0; result == 0 && i < spools.count; i++) {
        char other[COLLECT_PROBLEM_BYTES];
        size_t used = failed ? strlen(problem) : 0;
        struct collect_wish own = *wish;
        own.visible = i + 1 < spools.count ? NULL : wish->visible;
        if (collect_spool(&spools.list[i], &own, sum, other) != 0)
            snprintf(problem + used, COLLECT_PROBLEM_BYTES - used, "%s%s", failed++ ? "; " : "", other);
    }
    spools_release(&spools);
    return failed ? -1 : result;
}
