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
    char *problem;
};

__attribute__((format(printf, 2, 3))) static int fail(struct work *work, const char *format, ...)
{
    va_list args;
    va_start(args, format);
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

/* The owner of the lock has collected all results. *left: it still waits for the disk. Otherwise it will soon be done. */
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
    return header->phase == RUN_FINALIZED || header->phase == RUN_EXITED || process_life(header) == LIFE_GONE ||
           process_is_of_earlier_boot(header) || process_has_let_go(header, run_reader_path(run));
}

static bool is_idle(const char *path, int seconds)
{
    struct stat st;
    return !seconds || (stat(path, &st) == 0 && time(NULL) - st.st_mtime >= seconds);
}

static void parts_release(struct parts *parts)
{
    for (size_t i = 0; i < parts->count; i++) {
        run_reader_close(&parts->list[i].run);
        free(parts->list[i].name);
    }
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
    return header->phase < RUN_STARTING && (!header->pid || process_has_program(header->pid));
}

/* An unreadable file may be new, of another version, or damaged. It stays for a day. */
static int part_add(struct work *work, struct parts *parts, const char *name)
{
    char path[PATH_MAX];
    struct run_reader run;
    snprintf(path, sizeof path, "%.3800s/%.255s", work->spool->path, name);
    if (run_reader_open(&run, path) != 0) {
        if (!is_forgotten(path, name))
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
    parts->list[parts->count++] = (struct part){run, copy};
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

static int summary_write(struct work *work, struct summary *summary, const char *name)
{
    char path[PATH_MAX];
    size_t bytes;
    void *file = result_of_summary(summary, &bytes);
    if (!file)
        return errno == EFBIG ? write_fail(work, "the summary") : fail(work, "no memory");
    int stem = (int)(strlen(name) - strlen(RUN_FILE_SUFFIX));
    int result = result_write(work->spool->output, name, stem, SUMMARY_SUFFIX, file, bytes, path);
    free(file);
    return result == 0 ? 0 : write_fail(work, path);
}

/* Merges the processes that reached their end into one summary. */
static int parts_merge(struct work *work, const struct part *parts, size_t count, size_t *merged)
{
    struct summary whole = {.ranks = 0};
    const char *name = NULL;
    int result = 0;
    for (size_t i = 0; result == 0 && i < count; i++) {
        struct summary part = {.ranks = 0};
        if (is_kept(&parts[i].run.header))
            continue;
        name = name ? name : parts[i].name;
        if (summary_of_run(&part, &parts[i].run) != 0 || summary_merge(&whole, &part) != 0)
            result = fail(work, "no memory");
        summary_release(&part);
        ++*merged;
    }
    summary_sites_trim(&whole, SUMMARY_SITES_MAX);
    if (site_names_find(&whole, NULL) != 0)
        result = fail(work, "no memory");
    if (result == 0 && name)
        result = summary_write(work, &whole, name);
    summary_release(&whole);
    return result;
}

static void part_path(const struct work *work, const struct part *part, char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, "%.3800s/%.255s", work->spool->path, part->name);
}

static int part_copy(struct work *work, const struct part *part)
{
    char path[PATH_MAX] = "", from[PATH_MAX], drained[PATH_MAX];
    int stem = (int)(strlen(part->name) - strlen(RUN_FILE_SUFFIX));
    part_path(work, part, from);
    if (part->run.header.drained) {
        drain_part_path(work->spool, part->name, drained);
        if (result_path(work->spool->output, part->name, stem, RUN_FILE_SUFFIX, path) == 0 &&
            drain_finish(from, drained, path) == 0)
            return 0;
        return write_fail(work, path);
    }
    return result_copy(work->spool->output, part->name, stem, RUN_FILE_SUFFIX, from, part->run.header.file_bytes,
                       path) == 0
               ? 0
               : write_fail(work, path);
}

/* Sets whether readers leave out the result. */
static void part_mark(const struct work *work, const struct part *part, uint32_t collected)
{
    char path[PATH_MAX];
    part_path(work, part, path);
    int fd = open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return;
    bool marked = pwrite(fd, &collected, sizeof collected, offsetof(struct run_header, collected)) > 0;
    close(fd);
    if (!marked && collected)
        unlink(path); /* else it would be counted twice */
}

static bool part_is_marked(const struct work *work, const struct part *part)
{
    char path[PATH_MAX];
    uint32_t collected = 0;
    part_path(work, part, path);
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    bool read = fd >= 0 && pread(fd, &collected, sizeof collected, offsetof(struct run_header, collected)) > 0;
    if (fd >= 0)
        close(fd);
    return read && collected;
}

/* A result of this live file without its final name: NAME SUFFIX.part, or NAME.N SUFFIX.part. */
static int result_recover(struct work *work, const char *name, const char *suffix)
{
    enum { NUMBERS = 64 };
    int stem = (int)(strlen(name) - strlen(RUN_FILE_SUFFIX));
    for (unsigned i = 0; i < NUMBERS; i++) {
        char part[PATH_MAX], path[PATH_MAX], number[16] = "";
        if (i)
            snprintf(number, sizeof number, ".%u", i);
        snprintf(part, sizeof part, "%.3700s/%.*s%s%s.part", work->spool->output, stem, name, number, suffix);
        if (access(part, F_OK) != 0)
            continue;
        if (result_path(work->spool->output, name, stem, suffix, path) != 0 || rename(part, path) != 0)
            return write_fail(work, part);
    }
    return 0;
}

/* A process was killed after it set the marks and before it renamed. Renames its complete files. */
static int results_recover(struct work *work, const struct parts *parts)
{
    int result = 0;
    for (size_t i = 0; result == 0 && i < parts->count; i++) {
        if (!parts->list[i].run.header.collected)
            continue;
        result = result_recover(work, parts->list[i].name, RUN_FILE_SUFFIX);
        if (result == 0)
            result = result_recover(work, parts->list[i].name, SUMMARY_SUFFIX);
    }
    return result;
}

/* Shows the results and flushes them to the disk. Then it removes the live files, or their marks. */
static int results_settle(struct work *work, const struct parts *parts)
{
    char path[PATH_MAX];
    bool good = results_show(path) == 0;
    if (good && work->wish->visible)
        work->wish->visible();
    good = good && results_sync(path) == 0;
    int result = good ? 0 : write_fail(work, path);
    if (!good)
        results_drop();
    for (size_t i = 0; i < parts->count; i++) {
        if (!part_is_marked(work, &parts->list[i]))
            continue;
        part_path(work, &parts->list[i], path);
        if (good)
            unlink(path);
        else
            part_mark(work, &parts->list[i], 0);
    }
    return result;
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

/* All processes of a job on this node. */
static int job_collect(struct work *work, const struct part *parts, size_t count)
{
    size_t kept = 0, merged = 0;
    int result = result_folder_make(work->spool->output);
    if (result) {
        work->sum->left += count;
        errno = result;
        return write_fail(work, work->spool->output);
    }
    result = parts_merge(work, parts, count, &merged);
    for (size_t i = 0; result == 0 && i < count; i++)
        if (is_kept(&parts[i].run.header)) {
            result = part_copy(work, &parts[i]);
            kept += result == 0;
        }
    if (result == 0 && is_to_join(work, parts, count, kept))
        spool_join_ask(work->spool->path);
    for (size_t i = 0; result == 0 && i < count; i++)
        part_mark(work, &parts[i], 1);
    work->sum->kept += result == 0 ? kept : 0;
    work->sum->merged += result == 0 ? merged : 0;
    work->sum->left += result == 0 ? 0 : count;
    return result;
}

static bool job_has_ended(const struct work *work, const struct part *parts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!is_ended(&parts[i].run) || !is_idle(run_reader_path(&parts[i].run), work->wish->idle_seconds))
            return false;
    return true;
}

/* When the first mark was made, the results had all of its processes. It was killed between two marks. */
static bool job_is_marked(const struct work *work, const struct part *parts, size_t count)
{
    size_t marked = 0;
    for (size_t i = 0; i < count; i++)
        marked += parts[i].run.header.collected != 0;
    for (size_t i = 0; marked && marked < count && i < count; i++)
        if (!parts[i].run.header.collected && is_ended(&parts[i].run))
            part_mark(work, &parts[i], 1);
    return marked > 0;
}

static int jobs_collect(struct work *work, const struct parts *parts)
{
    int result = 0;
    for (size_t begin = 0, end; result == 0 && begin < parts->count; begin = end) {
        uint64_t job = parts->list[begin].run.header.job;
        for (end = begin + 1; end < parts->count && parts->list[end].run.header.job == job;)
            end++;
        if (job_is_marked(work, &parts->list[begin], end - begin))
            continue;
        if (!job_has_ended(work, &parts->list[begin], end - begin))
            work->sum->at_work += end - begin;
        else if (work->homeless)
            job_forget(work, &parts->list[begin], end - begin);
        else
            result = job_collect(work, &parts->list[begin], end - begin);
    }
    return result;
}

/* ---- the spool --------------------------------------------------------------------------------------------------- */

void spool_remove(const struct spool *spool)
{
    struct timespec since;
    bool empty = !spool_is_watched(spool->path) && !spool_join_is_asked(spool->path, &since);
    DIR *directory = opendir(spool->path);
    for (struct dirent *entry; empty && directory && (entry = readdir(directory));)
        empty = !text_ends(entry->d_name, RUN_FILE_SUFFIX);
    if (directory)
        rewinddir(directory);
    for (struct dirent *entry; empty && directory && (entry = readdir(directory));)
        if (entry->d_name[0] != '.' && !text_ends(entry->d_name, RUN_FILE_SUFFIX)) /* a process may begin just now */
            unlinkat(dirfd(directory), entry->d_name, 0);
    if (directory)
        closedir(directory);
    if (empty && rmdir(spool->path) != 0 && errno == ENOTEMPTY)
        spool_link(spool->path, spool->output);
}

int collect_spool(const struct spool *spool, const struct collect_wish *wish, struct collected *sum,
                  char problem[COLLECT_PROBLEM_BYTES])
{
    struct work work = {spool, false, wish, sum, problem};
    struct parts parts = {.list = NULL};
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
    int result = parts_open(&work, &parts);
    if (result == 0)
        result = results_recover(&work, &parts);
    if (result == 0)
        result = jobs_collect(&work, &parts);
    if (result != 0)
        results_drop();
    else
        result = results_settle(&work, &parts);
    if (result == 0 && (parts.count || is_idle(spool->path, wish->idle_seconds)))
        spool_remove(spool);
    parts_release(&parts);
    close(lock);
    return result;
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
        if (collect_spool(&spools.list[i], wish, sum, other) != 0 && !failed++)
            memcpy(problem, other, sizeof other);
    }
    spools_release(&spools);
    return failed ? -1 : result;
}
