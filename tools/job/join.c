#include "job/join.h"

#include "jobfile/resultfile.h"
#include "format/runfile.h"
#include "jobfile/jobindex.h"
#include "jobfile/jobwriter.h"
#include "jobfile/summaryfile.h"
#include "job/summarysums.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- which jobs -------------------------------------------------------------------------------------------------- */

static bool is_beside(const struct run_dir *dir, const struct run_piece *piece)
{
    size_t bytes = strlen(dir->path);
    return strncmp(piece->path, dir->path, bytes) == 0 && piece->path[bytes] == '/' &&
           !strchr(piece->path + bytes + 1, '/');
}

static bool can_be_replaced(const struct run_dir *dir, const struct run_job *job)
{
    if (dir->named || job->part || job->torn)
        return false;
    for (size_t i = 0; i < job->piece_count; i++)
        if (!is_beside(dir, &job->pieces[i]))
            return false;
    return true;
}

bool run_job_is_one_file(const struct run_job *job)
{
    for (size_t i = 0; i < job->piece_count; i++)
        if (!job->pieces[i].kind || strcmp(job->pieces[i].path, job->pieces[0].path) != 0)
            return false;
    return true;
}

/* Returns whether it is the file that was read. */
static bool piece_is_same(const struct run_piece *piece, const struct stat *st)
{
    return S_ISREG(st->st_mode) && st->st_dev == piece->extent.device && st->st_ino == piece->extent.inode &&
           (uint64_t)st->st_size == piece->file_bytes;
}

/* Opens it: a server of files tells the present state then. */
static bool file_is_same(const struct run_piece *piece)
{
    struct stat st;
    int fd = open(piece->path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    bool same = fd >= 0 && fstat(fd, &st) == 0 && piece_is_same(piece, &st) && st.st_uid == geteuid();
    if (fd >= 0)
        close(fd);
    return same;
}

/* Returns whether the piece is the first one of its file. */
static bool is_first_of_file(const struct run_job *job, size_t i)
{
    return !i || strcmp(job->pieces[i].path, job->pieces[i - 1].path) != 0;
}

static bool pieces_are_same(const struct run_job *job)
{
    for (size_t i = 0; i < job->piece_count; i++)
        if (is_first_of_file(job, i) && !file_is_same(&job->pieces[i]))
            return false;
    return true;
}

/* ---- the new file ------------------------------------------------------------------------------------------------ */

struct joining {
    int fd, from; /* the new file; the file that `of` has its path from. -1: none */
    const char *of;
    char path[PATH_MAX], temporary[PATH_MAX + 16];
    struct job_writer writer;
};

/* The access that the owner has given to the file of this path. The settings of this process may be of another job. */
static void access_take(int fd, const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return;
    if (fchown(fd, (uid_t)-1, st.st_gid) == 0)
        fchmod(fd, st.st_mode & 07777);
    else /* it has another group, which gets no access */
        fchmod(fd, st.st_mode & 0700);
}

static int joining_begin(struct joining *joining, const struct run_job *job)
{
    uint64_t parts = 0;
    for (size_t i = 0; i < job->piece_count; i++)
        parts += is_first_of_file(job, i) ? job_file_parts(job->pieces[i].path, (struct run_extent){0}) : 0;
    snprintf(joining->path, sizeof joining->path, "%s", job->pieces[0].path);
    snprintf(joining->temporary, sizeof joining->temporary, "%s.part-XXXXXX", joining->path);
    joining->fd = part_make(joining->temporary);
    if (joining->fd < 0)
        return -1;
    access_take(joining->fd, joining->path);
    return job_writer_begin(&joining->writer, joining->fd, job->job, parts);
}

static int joining_end(struct joining *joining, int result)
{
    int problem = errno;
    job_writer_release(&joining->writer);
    if (joining->from >= 0)
        close(joining->from);
    if (joining->fd >= 0 && result != 0)
        unlink(joining->temporary);
    if (joining->fd >= 0)
        close(joining->fd);
    errno = problem;
    return result;
}

/* Opens the file of a piece. ESTALE: it is not the file that was read. */
static int piece_open(struct joining *joining, const struct run_piece *piece)
{
    struct stat st;
    if (joining->from >= 0 && joining->of && strcmp(joining->of, piece->path) == 0)
        return 0;
    if (joining->from >= 0)
        close(joining->from);
    joining->of = piece->path;
    joining->from = open(piece->path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (joining->from < 0 || (fstat(joining->from, &st) == 0 && piece_is_same(piece, &st)))
        return joining->from < 0 ? -1 : 0;
    errno = ESTALE;
    return -1;
}

static int live_pack(struct joining *joining, const struct run_piece *piece)
{
    struct run_reader run;
    errno = ESTALE;
    if (run_reader_open_part(&run, piece->path, piece->extent) != 0)
        return -1;
    int result = job_writer_process(&joining->writer, &run, NULL), problem = errno;
    run_reader_close(&run);
    errno = problem;
    return result;
}

/* Summaries become one, and so do totals. They are written later. If the trace goes, process sections are left out: the
 * summary has their figures. */
static int piece_write(struct joining *joining, const struct run_job *job, const struct run_piece *piece)
{
    bool of_process = !piece->kind || piece->kind == SECTION_PROCESS;
    if (piece->kind == SECTION_SUMMARY || piece->kind == SECTION_TOTAL || (of_process && job->trace_goes))
        return 0;
    if (!piece->kind)
        return live_pack(joining, piece);
    const struct section_entry entry = {
        .kind = piece->kind, .begin = piece->extent.begin, .bytes = piece->extent.bytes};
    return piece_open(joining, piece) == 0 ? job_writer_copy(&joining->writer, joining->from, &entry) : -1;
}

static int summary_put(struct joining *joining, struct summary *summary, enum section_kind kind)
{
    struct section_header *section = summary_section_make(summary, kind);
    int result = section ? job_writer_section(&joining->writer, section) : -1, problem = errno;
    free(section);
    errno = problem;
    return result;
}

static int summaries_put(struct joining *joining, const struct run_job *job)
{
    struct summary_sums sums = {{NULL}};
    int result = 0;
    for (size_t i = 0; result == 0 && i < job->piece_count; i++) {
        char error[128];
        uid_t owner;
        struct summary *part = job->pieces[i].kind == SECTION_SUMMARY ? calloc(1, sizeof *part) : NULL;
        if (!part)
            continue;
        result = summary_part_read(part, job->pieces[i].path, job->pieces[i].extent, &owner, error);
        if (result == 0)
            summary_sums_add_once(&sums, part);
        else
            free(part);
        errno = ESTALE;
    }
    struct summary *whole = summary_sums_end(&sums);
    if (result == 0 && whole)
        result = summary_put(joining, whole, SECTION_SUMMARY);
    int problem = errno;
    if (whole)
        summary_release(whole);
    free(whole);
    errno = problem;
    return result;
}

static int sections_put(struct joining *joining, const struct run_job *job)
{
    int result = 0;
    bool some = false; /* processes with sections of their own */
    for (size_t i = 0; result == 0 && i < job->piece_count; i++) {
        result = piece_write(joining, job, &job->pieces[i]);
        some = some || !job->pieces[i].kind || job->pieces[i].kind == SECTION_PROCESS;
    }
    if (result == 0 && job->trace_goes)
        result = summary_put(joining, job->summary, SECTION_SUMMARY);
    else if (result == 0)
        result = summaries_put(joining, job);
    if (result == 0 && some && job->summary && !job->trace_goes)
        result = summary_put(joining, job->summary, SECTION_TOTAL);
    return result == 0 ? job_writer_end(&joining->writer) : -1;
}

/* Gives the new file a free name: a collector may make a file of any name at any time. */
static int joining_show(struct joining *joining, const struct run_job *job)
{
    enum { NUMBERS_MOST = 1 << 16 };
    char stem[PATH_MAX];
    int named = -1;
    if (fsync(joining->fd) != 0)
        return -1;
    errno = ESTALE;
    if (!pieces_are_same(job))
        return -1;
    snprintf(stem, sizeof stem, "%.*s", (int)(strlen(joining->path) - strlen(RUN_FILE_SUFFIX)), joining->path);
    for (unsigned number = 1; named != 0 && number < NUMBERS_MOST; number++) {
        snprintf(joining->path, sizeof joining->path, "%.3900s.%u" RUN_FILE_SUFFIX, stem, number);
        named = result_name(joining->temporary, joining->path);
        if (named != 0 && errno != EEXIST)
            return -1;
    }
    return named;
}

/* Removes the files that the new one has, and gives it the name of the first one. */
static void sources_remove(const struct joining *joining, const struct run_job *job, int directory)
{
    fsync(directory); /* the new name first */
    for (size_t i = 0; i < job->piece_count; i++)
        if (is_first_of_file(job, i) && file_is_same(&job->pieces[i]))
            unlink(job->pieces[i].path);
    (void)!result_name(joining->path, job->pieces[0].path);
}

/* ---- the job ----------------------------------------------------------------------------------------------------- */

static int job_files_join(const struct run_job *job, int directory)
{
    struct joining joining = {.fd = -1, .from = -1};
    errno = ESTALE;
    int result = pieces_are_same(job) ? joining_begin(&joining, job) : -1;
    if (result == 0 && (result = sections_put(&joining, job)) == 0)
        result = joining_show(&joining, job);
    result = joining_end(&joining, result);
    if (result == 0)
        sources_remove(&joining, job, directory);
    else if (!pieces_are_same(job)) /* another process has joined it */
        result = 0;
    return result;
}

enum { LOCK_TRIES = 40, LOCK_STEP_NS = 50000000 };

/* Locks a file: a file server does so for all nodes, where a lock of the directory is for one. The collector that has
 * made the file keeps its lock until it is on the disk. Returns -1 with EWOULDBLOCK if another process has it for long. */
static int file_lock(const char *path)
{
    int fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    for (int i = 0; fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK; i++) {
        if (i == LOCK_TRIES) {
            close(fd);
            errno = EWOULDBLOCK;
            return -1;
        }
        nanosleep(&(struct timespec){.tv_nsec = LOCK_STEP_NS}, NULL);
    }
    return fd;
}

/* One process at a time joins in a directory. Where a file system has no such locks, the checks above must do. Returns
 * -1 with EWOULDBLOCK while another process joins. */
static int directory_lock(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
        return fd;
    close(fd);
    errno = EWOULDBLOCK;
    return -1;
}

/* The same, but waits for another process for a while. */
static int directory_lock_await(const char *path)
{
    int lock = directory_lock(path);
    for (int i = 1; lock < 0 && errno == EWOULDBLOCK && i < LOCK_TRIES; i++) {
        nanosleep(&(struct timespec){.tv_nsec = LOCK_STEP_NS}, NULL);
        lock = directory_lock(path);
    }
    return lock;
}

int run_job_join(const struct run_dir *dir, const struct run_job *job)
{
    if (!can_be_replaced(dir, job) || (run_job_is_one_file(job) && !job->trace_goes))
        return 0;
    int lock = job->trace_goes ? directory_lock_await(dir->path) : directory_lock(dir->path);
    int first = lock < 0 ? -1 : file_lock(job->pieces[0].path), problem = errno, result = -1;
    if (first >= 0) {
        result = job_files_join(job, lock);
        problem = errno;
        close(first);
    } else if (lock >= 0 && problem == ENOENT) {
        result = 0; /* another process has joined it */
    }
    if (lock >= 0)
        close(lock);
    errno = problem;
    return result;
}

static int section_append(const struct run_piece *piece, const struct section_header *section)
{
    struct stat st;
    struct job_writer writer = {.fd = -1};
    int fd = file_lock(piece->path), result = -1;
    if (fd < 0)
        return -1;
    errno = ESTALE;
    if (fstat(fd, &st) == 0 && piece_is_same(piece, &st) && job_writer_resume(&writer, fd) == 0) {
        result = job_writer_section(&writer, section);
        int problem = errno;
        if (job_writer_end(&writer) != 0) /* without the section, too */
            result = -1;
        else if (result == 0)
            result = fsync(fd);
        else
            errno = problem;
    }
    int problem = errno;
    job_writer_release(&writer);
    close(fd);
    errno = problem;
    return result;
}

int run_job_append(const struct run_dir *dir, const struct run_job *job, const struct section_header *section)
{
    const struct run_piece *piece = NULL;
    for (size_t i = 0; !piece && i < job->piece_count; i++)
        piece = job->pieces[i].kind ? &job->pieces[i] : NULL;
    errno = ENOENT;
    int lock = piece && !dir->named ? directory_lock_await(dir->path) : -1;
    int result = piece && (lock >= 0 || dir->named) ? section_append(piece, section) : -1, problem = errno;
    if (lock >= 0)
        close(lock);
    errno = problem;
    return result;
}

void run_dir_tidy(const struct run_dir *dir)
{
    int lock = dir->named ? -1 : directory_lock(dir->path);
    struct stat st;
    for (size_t i = 0; lock >= 0 && i < dir->spare_count; i++)
        if (is_beside(dir, &dir->spares[i]) && lstat(dir->spares[i].path, &st) == 0 &&
            piece_is_same(&dir->spares[i], &st) && st.st_uid == geteuid())
            unlink(dir->spares[i].path);
    if (lock < 0)
        return;
    parts_remove(dir->path);
    close(lock);
}
