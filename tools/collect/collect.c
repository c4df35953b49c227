#define _GNU_SOURCE
#include "collect/collect.h"

#include "base/array.h"
#include "collect/drain.h"
#include "base/processes.h"
#include "base/text.h"
#include "collect/processlife.h"
#include "reader/reader.h"
#include "collect/resultfile.h"
#include "collect/resultfolder.h"
#include "job/rundir.h"
#include "writer/run.h"
#include "writer/spool.h"
#include "summary/summary.h"
#include "symbols/sitenames.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* A live file. */
struct part {
    struct run_reader run;
    char *name;
    size_t result; /* its place in work.results, from 1 on. 0: it has none */
};

struct parts {
    struct part *list;
    size_t count;
};

struct work {
    const struct spool *spool;
    bool homeless; /* the output directory cannot be made */
    const struct collect_wish *wish;
    struct collected *sum;
    char *problem;          /* the first one */
    struct result *results; /* with their names, but perhaps not yet on the disk */
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

/* Not by read(2), because a process that waits for this one takes reads as progress. */
static bool file_is_marked(int directory, const char *name)
{
    int fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    struct stat st;
    bool whole = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size >= RUN_PAGE_BYTES;
    const struct run_header *header = whole ? mmap(NULL, RUN_PAGE_BYTES, PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
    bool marked = header != MAP_FAILED && header->collected;
    if (header != MAP_FAILED)
        munmap((void *)(uintptr_t)header, RUN_PAGE_BYTES);
    if (fd >= 0)
        close(fd);
    return marked;
}

/* The owner of the lock has begun with each result, so it need not be waited for. *left: some are not on the disk yet. */
static bool is_collected(const char *spool, bool *left)
{
    bool all = true;
    DIR *directory = opendir(spool);
    *left = false;
    for (struct dirent *entry; all && directory && (entry = readdir(directory));)
        if (text_ends(entry->d_name, RUN_FILE_SUFFIX)) {
            all = file_is_marked(dirfd(directory), entry->d_name);
            *left = true;
        }
    if (directory)
        closedir(directory);
    return all;
}

/* Returns the lock, or -1 with errno. ENOENT means that the work is done. No other process has to wait for a process
 * that waits here. */
static int lock_await(const struct spool *spool, const struct collect_wish *wish)
{
    enum { STEP_MS = 50, DONE_MS = 200 };
    bool left;
    int lock = spool_lock(spool->path, 0);
    if (lock < 0 && errno == EWOULDBLOCK && wish->waiting)
        wish->waiting();
    for (int waited = 0; lock < 0 && errno == EWOULDBLOCK && waited < wish->wait_ms; waited += STEP_MS) {
        if (is_collected(spool->path, &left) && (left || waited >= DONE_MS)) {
            errno = ENOENT;
            return -1;
        }
        lock = spool_lock(spool->path, STEP_MS);
    }
    return lock;
}

/* ---- live files -------------------------------------------------------------------------------------------------- */

/* Returns whether the process has ended, or is gone. A process that cannot be seen from here counts as running. The
 * last process of a job may still exist, because it waits for its results. */
static bool is_ended(const struct run_reader *run)
{
    const struct run_header *header = &run->header;
    enum process_life life = process_life(header);
    return header->phase == RUN_FINALIZED || header->phase == RUN_EXITED || life == LIFE_GONE ||
           process_is_of_earlier_boot(header) ||
           (life == LIFE_UNSEEN && process_has_let_go(header, run_reader_path(run)));
}

static bool is_idle(const char *path, int seconds)
{
    struct stat st;
    return !seconds || (stat(path, &st) == 0 && time(NULL) - st.st_mtime >= seconds);
}

static void part_close(struct part *part)
{
    run_reader_close(&part->run);
    free(part->name);
}

static void parts_release(struct parts *parts)
{
    for (size_t i = 0; i < parts->count; i++)
        part_close(&parts->list[i]);
    free(parts->list);
    *parts = (struct parts){.list = NULL};
}

/* If a process was killed, or left by _exit, after MPI_Finalize, it has reached its end. */
static void end_settle(struct run_reader *run, const char *path)
{
    uint32_t phase = RUN_FINALIZED;
    if (run->header.phase != RUN_CLOSED || !run_ended_well(&run->header) || process_life(&run->header) != LIFE_GONE)
        return;
    int fd = open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && pwrite(fd, &phase, sizeof phase, offsetof(struct run_header, phase)) == (ssize_t)sizeof phase)
        run->header.phase = phase;
    if (fd >= 0)
        close(fd);
}

/* A file without an output directory, or an unreadable file, is removed after a day. */
enum { FORGET_SECONDS = 24 * 60 * 60 };

/* Returns whether the file belongs to a process that has ended. Its name contains the process number. */
static bool is_forgotten(const char *path, const char *name)
{
    const char *number = name + strlen(name) - strlen(RUN_FILE_SUFFIX);
    while (number > name && number[-1] >= '0' && number[-1] <= '9')
        number--;
    return is_idle(path, FORGET_SECONDS) && !process_has_program((uint32_t)strtoul(number, NULL, 10));
}

/* Returns whether the process writes the header of its file just now. It sets the phase when the rest is there. */
static bool is_beginning(const struct run_header *header)
{
    return header->phase < RUN_STARTING && (!header->pid || process_runs(header->pid, header->process_start));
}

/* An unreadable file may be new, of another version, or damaged. It stays for a day, and as long as the system fails. */
static int part_add(struct work *work, struct parts *parts, const char *name)
{
    char path[PATH_MAX];
    struct run_reader run;
    snprintf(path, sizeof path, "%.3800s/%.255s", work->spool->path, name);
    errno = 0;
    if (run_reader_open(&run, path) != 0) {
        if (errno || !is_forgotten(path, name))
            work->sum->at_work++;
        else
            unlink(path);
        return 0;
    }
    if (is_beginning(&run.header)) {
        work->sum->at_work++;
        run_reader_close(&run);
        return 0;
    }
    end_settle(&run, path);
    struct part *list = array_grow(parts->list, parts->count, sizeof *list);
    char *copy = list ? strdup(name) : NULL;
    parts->list = list ? list : parts->list;
    if (!copy) {
        run_reader_close(&run);
        return fail(work, "no memory");
    }
    parts->list[parts->count++] = (struct part){run, copy, 0};
    return 0;
}

static int part_order(const void *one, const void *other)
{
    const struct run_header *a = &((const struct part *)one)->run.header;
    const struct run_header *b = &((const struct part *)other)->run.header;
    if (a->job != b->job)
        return a->job > b->job ? 1 : -1;
    return run_rank(a) != run_rank(b) ? (run_rank(a) > run_rank(b) ? 1 : -1) : (a->pid > b->pid) - (a->pid < b->pid);
}

static int parts_open(struct work *work, struct parts *parts)
{
    int result = 0;
    DIR *directory = opendir(work->spool->path);
    if (!directory)
        return errno == ENOENT ? 0 : fail(work, "%s cannot be read: %s", work->spool->path, strerror(errno));
    for (struct dirent *entry; result == 0 && (entry = readdir(directory));)
        if (text_ends(entry->d_name, RUN_FILE_SUFFIX))
            result = part_add(work, parts, entry->d_name);
    closedir(directory);
    if (parts->count > 1)
        qsort(parts->list, parts->count, sizeof *parts->list, part_order);
    return result;
}

/* ---- results ----------------------------------------------------------------------------------------------------- */

static bool is_kept(const struct run_header *header)
{
    return !run_ended_well(header) || header->traced != TRACED_NOT || header->samples_hz || header->apart;
}

static int write_fail(struct work *work, const char *path)
{
    return fail(work,
                "%s cannot be written: %s. The recording stays in %s, and mpit-dump %s shows it. \"mpit-collect %s\" "
                "moves it when there is room; with --to DIR it moves it to DIR",
                path, strerror(errno), work->spool->path, work->spool->path, work->spool->path);
}

static void part_path(const struct work *work, const struct part *part, char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, "%.3800s/%.255s", work->spool->path, part->name);
}

/* Says to waiting processes that its result is written, and to readers and to later collectors that they may find it in the
 * output directory. */
static int part_mark(struct work *work, const struct part *part)
{
    const uint32_t collected = 1;
    char path[PATH_MAX];
    part_path(work, part, path);
    int fd = open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
    bool marked = fd >= 0 && pwrite(fd, &collected, sizeof collected, offsetof(struct run_header, collected)) > 0;
    if (!marked)
        fail(work, "%s cannot be written: %s", path, strerror(errno));
    if (fd >= 0)
        close(fd);
    return marked ? 0 : -1;
}

/* Brings a complete result of these live files, or of those that are not kept apart, to its place. */
static void result_bring(struct work *work, const struct result *result, struct part *parts, size_t count, bool kept)
{
    struct result *results = array_grow(work->results, work->result_count, sizeof *results);
    work->results = results ? results : work->results;
    bool good = results || fail(work, "no memory") == 0;
    for (size_t i = 0; good && i < count; i++)
        good = is_kept(&parts[i].run.header) != kept || part_mark(work, &parts[i]) == 0;
    if (good && result_show(result) != 0)
        good = write_fail(work, result->path) == 0;
    if (!good) {
        result_drop(result);
        return;
    }
    results[work->result_count++] = *result;
    for (size_t i = 0; i < count; i++)
        if (is_kept(&parts[i].run.header) == kept)
            parts[i].result = work->result_count;
}

static int summary_write(struct work *work, struct summary *summary, const char *name, struct result *result)
{
    size_t bytes;
    void *file = result_of_summary(summary, &bytes);
    if (!file)
        return errno == EFBIG ? write_fail(work, "the summary") : fail(work, "no memory");
    int stem = (int)(strlen(name) - strlen(RUN_FILE_SUFFIX));
    int written = result_write(result, work->spool->output, name, stem, SUMMARY_SUFFIX, file, bytes);
    free(file);
    return written == 0 ? 0 : write_fail(work, result->path);
}

/* Merges the processes that reached their end into one summary. */
static void parts_merge(struct work *work, struct part *parts, size_t count)
{
    struct summary whole = {.ranks = 0};
    struct result result;
    const char *name = NULL;
    bool good = true;
    for (size_t i = 0; good && i < count; i++) {
        struct summary part = {.ranks = 0};
        if (is_kept(&parts[i].run.header))
            continue;
        name = name ? name : parts[i].name;
        good = summary_of_run(&part, &parts[i].run) == 0 && summary_merge(&whole, &part) == 0;
        summary_release(&part);
    }
    summary_sites_trim(&whole, SUMMARY_SITES_MAX);
    if (!good || site_names_find(&whole, NULL) != 0)
        fail(work, "no memory");
    else if (name && summary_write(work, &whole, name, &result) == 0)
        result_bring(work, &result, parts, count, false);
    summary_release(&whole);
}

static void part_copy(struct work *work, struct part *part)
{
    char from[PATH_MAX];
    struct result result;
    const char *output = work->spool->output;
    int stem = (int)(strlen(part->name) - strlen(RUN_FILE_SUFFIX)), copied = -1;
    part_path(work, part, from);
    if (!part->run.header.drained) {
        copied = result_copy(&result, output, part->name, stem, RUN_FILE_SUFFIX, from, part->run.header.file_bytes);
    } else if (result_path(output, part->name, stem, RUN_FILE_SUFFIX, result.path) == 0) {
        drain_part_path(work->spool, part->name, result.temporary);
        copied = drain_finish(&result, from);
    }
    if (copied == 0)
        result_bring(work, &result, part, 1, true);
    else
        write_fail(work, result.path);
}

/* Flushes the results to the disk, and removes the live files. If the disk fails, the result is removed instead. */
static void results_settle(struct work *work, const struct parts *parts)
{
    char path[PATH_MAX];
    if (work->wish->visible && !work->problem[0])
        work->wish->visible();
    for (size_t i = 0; i < work->result_count; i++) {
        struct result *result = &work->results[i];
        if (fsync(result->fd) == 0) {
            close(result->fd);
            continue;
        }
        write_fail(work, result->path);
        result_drop(result);
        result->fd = -1;
    }
    for (size_t i = 0; i < parts->count; i++) {
        part_path(work, &parts->list[i], path);
        size_t result = parts->list[i].result;
        bool good = result && work->results[result - 1].fd >= 0;
        if (good && unlink(path) != 0)
            fail(work, "%s cannot be removed: %s", path, strerror(errno));
        if (!result || good)
            continue;
        work->sum->left++;
        *(is_kept(&parts->list[i].run.header) ? &work->sum->kept : &work->sum->merged) -= 1;
    }
    free(work->results);
}

/* ---- what an earlier collector has left --------------------------------------------------------------------------- */

static int output_sync(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), result = fd < 0 ? -1 : syncfs(fd);
    if (fd >= 0)
        close(fd);
    return result;
}

/* Returns whether the part is to be collected. Otherwise it has its result already, and goes, or it may have it: a file cannot be
 * read. */
static bool part_is_open(struct work *work, const struct run_dir *dir, const struct part *part)
{
    char path[PATH_MAX];
    bool brought = false;
    const char *unread = NULL;
    part_path(work, part, path);
    for (size_t i = 0; !brought && i < dir->brought_count; i++)
        brought = strcmp(dir->brought[i].path, path) == 0;
    for (size_t i = 0; !unread && i < dir->problem_count; i++)
        if (strncmp(dir->problems[i], dir->path, strlen(dir->path)) == 0)
            unread = dir->problems[i];
    if (!part->run.header.collected || (!brought && !unread))
        return true;
    work->sum->left += !brought;
    if (!brought)
        fail(work, "%s stays. Its result may be in %s, but %s", path, dir->path, unread);
    else if (output_sync(dir->path) != 0 || unlink(path) != 0)
        fail(work, "%s cannot be removed: %s", path, strerror(errno));
    return false;
}

/* Removes live files whose results have their names: their collector was killed, or could not remove them. */
static void earlier_settle(struct work *work, struct parts *parts)
{
    struct run_dir dir;
    char error[512];
    size_t count = 0, marked = 0;
    for (size_t i = 0; i < parts->count; i++)
        marked += parts->list[i].run.header.collected != 0;
    if (!marked || work->homeless)
        return;
    run_dir_open(&dir, work->spool->output, error);
    for (size_t i = 0; i < parts->count; i++) {
        if (part_is_open(work, &dir, &parts->list[i]))
            parts->list[count++] = parts->list[i];
        else
            part_close(&parts->list[i]);
    }
    parts->count = count;
    run_dir_close(&dir);
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

static bool all_are_idle(const struct spool *spool, int seconds)
{
    bool idle = true;
    DIR *directory = opendir(spool->path);
    for (struct dirent *entry; idle && directory && (entry = readdir(directory));) {
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%.3800s/%.255s", spool->path, entry->d_name);
        idle = !text_ends(entry->d_name, RUN_FILE_SUFFIX) || is_idle(path, seconds);
    }
    if (directory)
        closedir(directory);
    return idle;
}

static void job_forget(const struct work *work, const struct part *parts, size_t count)
{
    char path[PATH_MAX];
    for (size_t i = 0; i < count; i++) {
        part_path(work, &parts[i], path);
        unlink(path);
    }
}

/* Returns whether the results of a job on this node should become one file, with files of other nodes. The node of rank 0
 * does it. A killed process leaves a large file, which is compressed then. */
static bool is_to_join(const struct work *work, const struct part *parts, size_t count, size_t kept)
{
    if (work->wish->join == JOIN_NOT || (work->wish->join == JOIN_OF_SITE && !result_is_of_site(work->spool->output)))
        return false;
    const struct run_header *first = &parts[0].run.header;
    for (size_t i = 1; i < count && run_rank(first) != 0; i++)
        first = &parts[i].run.header;
    return run_rank(first) == 0 && (kept || (int64_t)count < run_size(first));
}

/* All processes of a job on this node. Those whose results cannot be written stay. */
static void job_collect(struct work *work, struct part *parts, size_t count)
{
    size_t kept = 0, brought = 0;
    for (size_t i = 0; i < count; i++)
        kept += is_kept(&parts[i].run.header);
    if ((errno = result_folder_make(work->spool->output)) != 0) {
        write_fail(work, work->spool->output);
        work->sum->left += count;
        return;
    }
    if (is_to_join(work, parts, count, kept))
        spool_join_ask(work->spool->path);
    parts_merge(work, parts, count);
    for (size_t i = 0; i < count; i++)
        if (is_kept(&parts[i].run.header))
            part_copy(work, &parts[i]);
    for (size_t i = 0; i < count; i++) {
        brought += parts[i].result != 0;
        work->sum->kept += parts[i].result && is_kept(&parts[i].run.header);
        work->sum->merged += parts[i].result && !is_kept(&parts[i].run.header);
    }
    work->sum->left += count - brought;
}

static bool job_has_ended(const struct work *work, const struct part *parts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!is_ended(&parts[i].run) || !is_idle(run_reader_path(&parts[i].run), work->wish->idle_seconds))
            return false;
    return true;
}

static void jobs_collect(struct work *work, const struct parts *parts)
{
    for (size_t begin = 0, end; begin < parts->count; begin = end) {
        uint64_t job = parts->list[begin].run.header.job;
        for (end = begin + 1; end < parts->count && parts->list[end].run.header.job == job;)
            end++;
        if (!job_has_ended(work, &parts->list[begin], end - begin))
            work->sum->at_work += end - begin;
        else if (work->homeless)
            job_forget(work, &parts->list[begin], end - begin);
        else
            job_collect(work, &parts->list[begin], end - begin);
    }
}

/* ---- the spool --------------------------------------------------------------------------------------------------- */

int collect_spool(const struct spool *spool, const struct collect_wish *wish, struct collected *sum,
                  char problem[COLLECT_PROBLEM_BYTES])
{
    struct work work = {.spool = spool, .wish = wish, .sum = sum, .problem = problem};
    struct parts parts = {.list = NULL};
    problem[0] = '\0';
    if (spool->owner != geteuid())
        return fail(&work, "%s belongs to another user; only that user can collect it", spool->path);
    int lock = lock_await(spool, wish);
    if (lock < 0 && errno == ENOENT)
        return 0; /* another process has just collected it */
    if (lock < 0)
        return fail(&work, "%s cannot be locked: %s", spool->path,
                    errno == EWOULDBLOCK ? "another process is collecting it" : strerror(errno));
    work.homeless = wish->idle_seconds && is_homeless(spool->output); /* holds the lock: this may take forever */
    if (work.homeless && !all_are_idle(spool, FORGET_SECONDS)) {
        close(lock);
        return 0;
    }
    bool opened = parts_open(&work, &parts) == 0, some = parts.count;
    if (opened) {
        earlier_settle(&work, &parts);
        jobs_collect(&work, &parts);
        results_settle(&work, &parts);
    }
    if (!problem[0] && (some || is_idle(spool->path, wish->idle_seconds)))
        spool_remove(spool);
    parts_release(&parts);
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
