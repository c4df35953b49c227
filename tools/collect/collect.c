#define _GNU_SOURCE
#include "collect/collect.h"

#include "base/array.h"
#include "collect/drain.h"
#include "base/processes.h"
#include "base/text.h"
#include "collect/processlife.h"
#include "reader/runmap.h"
#include "collect/resultfile.h"
#include "collect/resultfolder.h"
#include "format/label.h"
#include "jobfile/drained.h"
#include "jobfile/jobindex.h"
#include "jobfile/jobwriter.h"
#include "job/rundir.h"
#include "job/summarysums.h"
#include "writer/room.h"
#include "writer/run.h"
#include "writer/spool.h"
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
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* A live file. */
struct part {
    struct run_reader run;
    char *name;
    uint64_t part; /* as in its room: where the drained part of its trace ends. 0: there is none */
    bool gone;     /* a job file had it before */
    bool summed;   /* it is in a sum that is being made */
    bool brought;  /* its section is written, or it is in the summary */
    size_t result; /* the place of its job file in work.results, from 1 on. 0: it has none */
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
    parts->list[parts->count++] =
        (struct part){.run = run, .name = copy, .part = room_in((void *)(uintptr_t)run.base)->part};
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

enum { STEM_BYTES = 128 };

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

/* Says to waiting processes that its result can be seen. */
static void part_mark(const struct work *work, const struct part *part)
{
    const uint32_t collected = 1;
    char path[PATH_MAX];
    part_path(work, part, path);
    int fd = open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0) {
        (void)!pwrite(fd, &collected, sizeof collected, offsetof(struct run_header, collected));
        close(fd);
    }
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

/* There may be more live files than maps. Returns false if the file cannot be read again. */
static bool part_wake(const struct part *part)
{
    char error[128];
    errno = EIO;
    return run_reader_wake(&part->run, error) == 0;
}

/* Adds a process to a sum, if its file can be read. Returns false without memory. */
static bool part_add_to(struct summary *whole, struct part *part)
{
    struct summary one = {.ranks = 0};
    bool awake = part_wake(part), good = !awake || summary_of_run(&one, &part->run) == 0;
    part->summed = awake && good && !run_reader_is_torn(&part->run);
    good = good && (!part->summed || summary_merge(whole, &one) == 0);
    summary_release(&one);
    run_reader_rest(&part->run);
    return good;
}

/* Writes the sum of processes of a job: of all that are written (SECTION_TOTAL), or of those that reached their end
 * (SECTION_SUMMARY). */
static int parts_sum_write(struct job_writer *writer, struct part *parts, size_t count, enum section_kind kind)
{
    struct summary whole = {.ranks = 0};
    bool good = true;
    for (size_t i = 0; good && i < count; i++)
        if (kind == SECTION_TOTAL ? parts[i].brought : !is_kept(&parts[i].run.header) && !parts[i].brought)
            good = part_add_to(&whole, &parts[i]);
    summary_sites_trim(&whole, SUMMARY_SITES_MAX);
    good = good && site_names_find(&whole, NULL) == 0;
    errno = ENOMEM;
    struct section_header *section = good ? result_of_summary(&whole, kind) : NULL;
    int result = section ? job_writer_section(writer, section) : -1, problem = errno;
    free(section);
    summary_release(&whole);
    errno = problem;
    return result;
}

/* Writes a run. The file may have become shorter meanwhile: then what was written is not what was recorded. */
static int run_write(struct job_writer *writer, const struct run_reader *run, const struct drained *drained)
{
    if (job_writer_process(writer, run, drained) != 0)
        return -1;
    if (!run_reader_is_torn(run) && !(drained && drained->map && drained->map->torn))
        return 0;
    job_writer_undo(writer);
    errno = EIO;
    return -1;
}

/* Writes the run of a process. A part of the trace may be in the output directory already. */
static int part_write(const struct work *work, struct job_writer *writer, const struct part *part)
{
    char path[PATH_MAX];
    struct drained drained;
    if (!part_wake(part))
        return -1;
    if (!part->run.header.drained)
        return run_write(writer, &part->run, NULL);
    drain_part_path(work->spool->home, part->name, path);
    if (drained_open(&drained, path, part->part) != 0)
        return -1;
    int result = run_write(writer, &part->run, &drained), problem = errno;
    drained_close(&drained);
    errno = problem;
    return result;
}

/* Writes the sections of a job. A process that cannot be written stays. */
static int sections_write(struct work *work, struct job_writer *writer, struct part *parts, size_t count,
                          const char *path)
{
    size_t merged = 0, kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (is_kept(&parts[i].run.header)) {
            parts[i].brought = part_write(work, writer, &parts[i]) == 0 || write_fail(work, path) == 0;
            kept += parts[i].brought;
        } else {
            merged++;
        }
        run_reader_rest(&parts[i].run);
    }
    bool summed =
        merged && (parts_sum_write(writer, parts, count, SECTION_SUMMARY) == 0 || write_fail(work, path) == 0);
    for (size_t i = 0; summed && i < count; i++) {
        parts[i].brought = parts[i].brought || parts[i].summed;
        if (!parts[i].brought && !is_kept(&parts[i].run.header))
            fail(work, "%s/%s cannot be read", work->spool->path, parts[i].name);
    }
    if (kept)
        parts_sum_write(writer, parts, count, SECTION_TOTAL); /* without it tools make it again */
    return kept || summed ? 0 : -1;
}

/* Makes the file of a job. Returns whether it has its name. */
static bool job_file_write(struct work *work, struct part *parts, size_t count, struct result *result)
{
    char stem[STEM_BYTES];
    struct job_writer writer;
    const char *output = work->spool->output;
    job_stem(&parts[0].run.header, stem);
    if (result_begin(result, output, stem) != 0) {
        write_fail(work, result->path);
        return false;
    }
    bool begun = job_writer_begin(&writer, result->fd, parts[0].run.header.job, 1) == 0;
    bool some = begun && sections_write(work, &writer, parts, count, result->path) == 0;
    bool named = some && job_writer_end(&writer) == 0 && result_show(result, output, stem) == 0;
    if (!named && (some || !begun))
        write_fail(work, result->path);
    job_writer_release(&writer);
    if (!named)
        result_drop(result);
    return named;
}

/* Brings the processes of a job to their job file. */
static void job_bring(struct work *work, struct part *parts, size_t count)
{
    struct result result, *results = array_grow(work->results, work->result_count, sizeof *results);
    work->results = results ? results : work->results;
    if (!results)
        fail(work, "no memory");
    if (!results || !job_file_write(work, parts, count, &result))
        return;
    results[work->result_count++] = result;
    for (size_t i = 0; i < count; i++) {
        if (!parts[i].brought)
            continue;
        parts[i].result = work->result_count;
        part_mark(work, &parts[i]);
    }
}

/* The live file goes last: with it the next collector finds what is left. */
static void part_remove(struct work *work, const struct part *part)
{
    char path[PATH_MAX];
    drain_part_path(work->spool->home, part->name, path);
    bool gone = !part->part || unlink(path) == 0 || errno == ENOENT;
    if (gone)
        part_path(work, part, path);
    if (!gone || unlink(path) != 0)
        fail(work, "%s cannot be removed: %s", path, strerror(errno));
}

/* Returns -1 if the disk fails. Some directories cannot be read, and some file systems cannot flush a directory. */
static int directory_sync(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool fails = fd >= 0 && fsync(fd) != 0 && (errno == EIO || errno == ENOSPC || errno == EDQUOT);
    int result = fails ? -1 : 0;
    if (fd >= 0)
        close(fd);
    return result;
}

/* Flushes the results to the disk, and removes the live files. If the disk fails, the result is removed instead. */
static void results_settle(struct work *work, const struct parts *parts)
{
    if (work->wish->visible && !work->problem[0])
        work->wish->visible();
    bool named = !work->result_count || directory_sync(work->spool->output) == 0;
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
    for (size_t i = 0; i < parts->count; i++) {
        const struct part *part = &parts->list[i];
        if (!part->result)
            continue;
        if (work->results[part->result - 1].fd >= 0) {
            part_remove(work, part);
            continue;
        }
        work->sum->left++;
        *(is_kept(&part->run.header) ? &work->sum->kept : &work->sum->merged) -= 1;
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

/* Returns whether a sum of the job has the process. */
static bool job_has(const struct run_job *job, const struct part *part)
{
    struct summary one = {.ranks = 0};
    const uint64_t begin = part->run.header.begin_realtime_ns;
    const struct summary *sum = job->stored;
    bool found = sum && begin >= sum->origin.begin_ns && begin <= sum->origin.end_ns && part_wake(part) &&
                 summary_of_run(&one, &part->run) == 0 &&
                 summary_sums_have(&(struct summary_sums){{job->stored}}, &one);
    summary_release(&one);
    return found;
}

/* Returns whether the file has the process: in a whole section of its own, or in a sum if it would be there. */
static bool dir_has(const struct run_dir *dir, const struct part *part)
{
    bool found = run_dir_reads(dir, run_identity(&part->run.header));
    for (size_t i = 0; !found && !is_kept(&part->run.header) && i < dir->job_count; i++)
        found = job_has(&dir->jobs[i], part);
    return found;
}

/* Removes the live files of processes that this job file has. */
static void file_settle(struct work *work, const char *path, struct part *parts, size_t count)
{
    struct run_dir dir;
    char error[512];
    bool synced = false;
    run_dir_open(&dir, path, error);
    for (size_t i = 0; i < count; i++) {
        if (parts[i].gone || !dir_has(&dir, &parts[i]))
            continue;
        synced = synced || output_sync(work->spool->output) == 0;
        if (!synced)
            break; /* they are written again: readers count them once */
        parts[i].gone = true;
        part_remove(work, &parts[i]);
    }
    run_dir_close(&dir);
}

/* Returns whether a job file may have some of the parts: one has the mark, or the name of their file is taken. */
static bool some_are_suspect(const struct work *work, const struct part *parts, size_t count)
{
    char stem[STEM_BYTES], path[PATH_MAX];
    for (size_t i = 0; i < count; i++)
        if (parts[i].run.header.collected)
            return true;
    job_stem(&parts[0].run.header, stem);
    return result_path(work->spool->output, stem, 0, path) == 0 && access(path, F_OK) == 0;
}

/* Removes live files whose processes are in a job file already: its collector was killed, or could not remove them. Returns
 * how many are left. */
static size_t earlier_settle(struct work *work, struct part *parts, size_t count)
{
    size_t left = 0;
    DIR *directory = some_are_suspect(work, parts, count) ? opendir(work->spool->output) : NULL;
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%.3800s/%.255s", work->spool->output, entry->d_name);
        if (text_ends(entry->d_name, RUN_FILE_SUFFIX) && job_file_is_of(path, parts[0].run.header.job))
            file_settle(work, path, parts, count);
    }
    if (directory)
        closedir(directory);
    for (size_t i = 0; i < count; i++)
        left += !parts[i].gone;
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

/* Returns whether the results of a job should become one file: they are on several nodes. The node of rank 0 does it. */
static bool is_to_join(const struct work *work, const struct part *parts, size_t count)
{
    if (work->wish->join == JOIN_NOT || (work->wish->join == JOIN_OF_SITE && !result_is_of_site(work->spool->output)))
        return false;
    const struct run_header *first = &parts[0].run.header;
    for (size_t i = 1; i < count && run_rank(first) != 0; i++)
        first = &parts[i].run.header;
    return run_rank(first) == 0 && (int64_t)count < run_size(first);
}

/* Puts the parts that are gone behind the others. */
static void gone_last(struct part *parts, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (parts[i].gone)
            continue;
        struct part part = parts[i];
        memmove(&parts[kept + 1], &parts[kept], (i - kept) * sizeof *parts);
        parts[kept++] = part;
    }
}

/* All processes of a job on this node. Those whose results cannot be written stay. */
static void job_collect(struct work *work, struct part *parts, size_t count)
{
    if ((errno = result_folder_make(work->spool->output)) != 0) {
        write_fail(work, work->spool->output);
        work->sum->left += count;
        return;
    }
    size_t left = earlier_settle(work, parts, count);
    if (left < count)
        gone_last(parts, count);
    if (!left)
        return;
    if (is_to_join(work, parts, left))
        spool_join_ask(work->spool->path);
    job_bring(work, parts, left);
    for (size_t i = 0; i < left; i++) {
        work->sum->left += !parts[i].result;
        work->sum->kept += parts[i].result && is_kept(&parts[i].run.header);
        work->sum->merged += parts[i].result && !is_kept(&parts[i].run.header);
    }
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
    if (work.homeless && !all_are_idle(spool, FORGET_SECONDS)) {
        close(lock);
        return 0;
    }
    bool opened = parts_open(&work, &parts) == 0, some = parts.count;
    if (opened) {
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
