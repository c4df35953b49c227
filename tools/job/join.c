#define _GNU_SOURCE
#include "job/join.h"

#include "base/text.h"
#include "collect/resultfile.h"
#include "collect/resultfolder.h"
#include "format/label.h"
#include "format/runfile.h"
#include "format/sealed.h"
#include "job/compaction.h"
#include "job/container.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* The new file while it is written. The members are of a container. */
struct joining {
    int fd;
    char path[PATH_MAX], temporary[PATH_MAX + 16];
    uint64_t begin; /* of the members, in the file */
    uint64_t end;   /* of the last member, from there */
    struct container_head head;
    struct container_member *members;
};

/* ---- which jobs -------------------------------------------------------------------------------------------------- */

static bool is_in(const struct run_dir *dir, const struct run_piece *piece)
{
    size_t bytes = strlen(dir->path);
    return strncmp(piece->path, dir->path, bytes) == 0 && piece->path[bytes] == '/' &&
           !strchr(piece->path + bytes + 1, '/') && strlen(piece->name) < CONTAINER_NAME_BYTES;
}

static bool is_one_file(const struct run_job *job)
{
    for (size_t i = 1; i < job->piece_count; i++)
        if (strcmp(job->pieces[i].path, job->pieces[0].path) != 0)
            return false;
    return true;
}

static bool can_be_replaced(const struct run_dir *dir, const struct run_job *job)
{
    if (dir->named || job->part || job->torn)
        return false;
    for (size_t i = 0; i < job->piece_count; i++)
        if (!is_in(dir, &job->pieces[i]))
            return false;
    return true;
}

/* ---- pieces ------------------------------------------------------------------------------------------------------ */

/* Returns whether it is the file that was read. */
static bool piece_is_same(const struct run_piece *piece, const struct stat *st)
{
    return S_ISREG(st->st_mode) && st->st_dev == piece->extent.device && st->st_ino == piece->extent.inode &&
           (uint64_t)st->st_size == piece->file_bytes &&
           piece->extent.begin + piece->extent.bytes <= piece->file_bytes &&
           (piece->extent.bytes || modified_ns(st) == piece->modified_ns);
}

/* Opens the file of a piece. ESTALE: it is not the file that was read. */
static int piece_open(const struct run_piece *piece)
{
    struct stat st;
    int fd = open(piece->path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || (fstat(fd, &st) == 0 && piece_is_same(piece, &st)))
        return fd;
    close(fd);
    errno = ESTALE;
    return -1;
}

static bool pieces_are_same(const struct run_job *job)
{
    struct stat st;
    for (size_t i = 0; i < job->piece_count; i++)
        if (lstat(job->pieces[i].path, &st) != 0 || !piece_is_same(&job->pieces[i], &st) || st.st_uid != geteuid())
            return false;
    return true;
}

static uint64_t piece_bytes(const struct run_piece *piece)
{
    return piece->extent.bytes ? piece->extent.bytes : piece->file_bytes;
}

/* ---- the new file ------------------------------------------------------------------------------------------------ */

/* Its name: of a container that is there already, else of the first file with the suffix. */
static const struct run_piece *piece_to_replace(const struct run_job *job, const char *suffix)
{
    const struct run_piece *found = NULL;
    for (size_t i = 0; i < job->piece_count; i++) {
        if (job->pieces[i].extent.bytes)
            return &job->pieces[i];
        if (!found && text_ends(job->pieces[i].name, suffix))
            found = &job->pieces[i];
    }
    return found;
}

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

static int joining_begin(struct joining *joining, const struct run_piece *place)
{
    snprintf(joining->path, sizeof joining->path, "%s", place->path);
    snprintf(joining->temporary, sizeof joining->temporary, "%s.part-XXXXXX", joining->path);
    joining->fd = part_make(joining->temporary);
    if (joining->fd < 0)
        return -1;
    access_take(joining->fd, place->path);
    return 0;
}

static int joining_end(struct joining *joining, int result)
{
    int problem = errno;
    if (joining->fd >= 0 && close(joining->fd) != 0 && result == 0) {
        result = -1;
        problem = errno;
    }
    if (joining->fd >= 0 && result != 0)
        unlink(joining->temporary);
    free(joining->members);
    errno = problem;
    return result;
}

static int joining_show(const struct joining *joining, const struct run_job *job)
{
    if (fsync(joining->fd) != 0)
        return -1;
    errno = ESTALE;
    return pieces_are_same(job) ? rename(joining->temporary, joining->path) : -1;
}

/* The sum of the summaries. Readers leave out the summaries that it was made of (summary_sums_has). */
static int sum_write(const struct joining *joining, const struct run_job *job)
{
    size_t bytes;
    void *sum = result_of_summary(job->stored, &bytes);
    int result = sum && bytes_write(joining->fd, sum, bytes) == 0 ? joining_show(joining, job) : -1;
    int problem = errno;
    free(sum);
    errno = problem;
    return result;
}

/* ---- the container ----------------------------------------------------------------------------------------------- */

static uint64_t aligned(uint64_t bytes)
{
    return (bytes + CONTAINER_ALIGN - 1) / CONTAINER_ALIGN * CONTAINER_ALIGN;
}

static void member_note(struct joining *joining, const char *name, int64_t modified, uint64_t bytes)
{
    struct container_member *member = &joining->members[joining->head.count++];
    snprintf(member->name, sizeof member->name, "%s", name);
    member->modified_ns = modified;
    member->begin = joining->end;
    member->bytes = bytes;
    joining->end = aligned(joining->end + bytes);
}

static int members_list(struct joining *joining, const struct run_job *job, size_t total_bytes)
{
    joining->head.job = job->job;
    joining->members = calloc(job->piece_count + 1, sizeof *joining->members);
    if (!joining->members)
        return -1;
    if (total_bytes)
        member_note(joining, CONTAINER_TOTAL, 0, total_bytes);
    for (size_t i = 0; i < job->piece_count; i++)
        member_note(joining, job->pieces[i].name, job->pieces[i].modified_ns, piece_bytes(&job->pieces[i]));
    return 0;
}

/* Writes the header and the table. */
static int table_write(struct joining *joining)
{
    size_t bytes = sizeof joining->head + joining->head.count * sizeof *joining->members, packed = 0;
    char *table = malloc(bytes);
    if (!table)
        return -1;
    memcpy(table, &joining->head, sizeof joining->head);
    memcpy(table + sizeof joining->head, joining->members, bytes - sizeof joining->head);
    void *file = sealed_pack(table, bytes, &packed);
    struct container_header header = {.table_bytes = packed, .members = aligned(sizeof header + packed)};
    memcpy(header.magic, CONTAINER_MAGIC, sizeof header.magic);
    joining->begin = header.members;
    int result = file ? bytes_write(joining->fd, (const char *)&header, sizeof header) : -1;
    if (result == 0)
        result = bytes_write(joining->fd, file, packed);
    free(file);
    free(table);
    return result;
}

static int piece_copy(const struct joining *joining, const struct run_piece *piece, uint64_t begin)
{
    int from = piece_open(piece);
    int result = from >= 0
                     ? extent_copy(joining->fd, joining->begin + begin, from, piece->extent.begin, piece_bytes(piece))
                     : -1;
    int problem = errno;
    if (from >= 0)
        close(from);
    errno = problem;
    return result;
}

static int members_write(struct joining *joining, const struct run_job *job, const void *total, size_t total_bytes)
{
    size_t first = total_bytes != 0;
    if (lseek(joining->fd, (off_t)joining->begin, SEEK_SET) < 0 || bytes_write(joining->fd, total, total_bytes) != 0)
        return -1;
    for (size_t i = 0; i < job->piece_count; i++)
        if (piece_copy(joining, &job->pieces[i], joining->members[first + i].begin) != 0)
            return -1;
    return 0;
}

/* Returns whether all of it can be read again, and be unpacked: no two members have one name. */
static bool container_is_sound(const struct joining *joining)
{
    char error[128];
    struct container container;
    if (container_read(&container, joining->temporary, (struct run_extent){0}, error) != CONTAINER_READ)
        return false;
    bool sound = container.count == joining->head.count;
    qsort(container.members, container.count, sizeof *container.members, container_member_order);
    for (size_t i = 1; i < container.count; i++)
        sound = sound && strcmp(container.members[i - 1].name, container.members[i].name) != 0;
    container_release(&container);
    return sound;
}

static int container_write(struct joining *joining, const struct run_job *job)
{
    size_t total_bytes = 0;
    void *total = job->summary ? result_of_summary(job->summary, &total_bytes) : NULL;
    int result = -1;
    if (members_list(joining, job, total ? total_bytes : 0) == 0 && table_write(joining) == 0 &&
        members_write(joining, job, total, total ? total_bytes : 0) == 0) {
        errno = ESTALE;
        if (container_is_sound(joining))
            result = joining_show(joining, job);
    }
    int problem = errno;
    free(total);
    errno = problem;
    return result;
}

/* ---- the job ----------------------------------------------------------------------------------------------------- */

/* Run files become a container. Of summaries alone the sum stays, and names of functions stay a file. */
static int files_join(const struct run_job *job)
{
    struct joining joining = {.fd = -1};
    bool whole = job->file_count > 0;
    const char *suffix = whole ? RUN_FILE_SUFFIX : SUMMARY_SUFFIX;
    int result = pieces_are_same(job) ? joining_begin(&joining, piece_to_replace(job, suffix)) : (errno = ESTALE, -1);
    if (result == 0)
        result = whole ? container_write(&joining, job) : sum_write(&joining, job);
    result = joining_end(&joining, result);
    for (size_t i = 0; result == 0 && i < job->piece_count; i++)
        if (strcmp(job->pieces[i].path, joining.path) != 0 && (whole || text_ends(job->pieces[i].name, suffix)))
            unlink(job->pieces[i].path);
    return result != 0 && (errno == ESTALE || errno == ENOENT) ? 0 : result; /* another process has joined it */
}

static bool has_several(const struct run_job *job)
{
    size_t summaries = 0;
    for (size_t i = 0; i < job->piece_count; i++)
        summaries += text_ends(job->pieces[i].name, SUMMARY_SUFFIX);
    return job->file_count ? !is_one_file(job) : summaries > 1;
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

/* A file that cannot be compressed stays as it is. */
static void files_compress(const struct run_dir *dir, const struct run_job *job)
{
    struct compaction result;
    char error[512];
    if (pieces_are_same(job) && compaction_run(dir, job, 0, &result, error) != 0)
        warnx("note: the files of a job are not all compressed: %s", error);
}

int run_job_join(const struct run_dir *dir, const struct run_job *job, bool compress)
{
    bool several = has_several(job);
    bool packed = compress && job->file_count > 0 && (several || !job->pieces[0].extent.bytes);
    if (!can_be_replaced(dir, job) || (!several && !packed))
        return 0;
    int lock = directory_lock(dir->path);
    if (lock < 0)
        return -1;
    if (packed)
        files_compress(dir, job);
    int result = several ? files_join(job) : 0, problem = errno;
    close(lock);
    errno = problem;
    return result;
}

void run_dir_tidy(const struct run_dir *dir)
{
    int lock = dir->named ? -1 : directory_lock(dir->path);
    struct stat st;
    for (size_t i = 0; lock >= 0 && i < dir->spare_count; i++)
        if (lstat(dir->spares[i].path, &st) == 0 && piece_is_same(&dir->spares[i], &st) && st.st_uid == geteuid())
            unlink(dir->spares[i].path);
    if (lock < 0)
        return;
    parts_remove(dir->path);
    close(lock);
}

/* ---- back to files ----------------------------------------------------------------------------------------------- */

static int piece_unpack(const struct run_piece *piece, const char *to, char error[512])
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%.3800s/%.255s", to, piece->name);
    int from = piece_open(piece);
    int fd = from >= 0 ? open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600) : -1;
    int result = fd >= 0 ? extent_copy(fd, 0, from, piece->extent.begin, piece->extent.bytes) : -1;
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, /* of the original */
                                      {piece->modified_ns / 1000000000, piece->modified_ns % 1000000000}};
    if (result == 0)
        futimens(fd, times);
    if (fd >= 0 && close(fd) != 0)
        result = -1;
    if (result != 0) {
        snprintf(error, 512, "%.300s cannot be %s: %s", from < 0 ? piece->path : path, from < 0 ? "read" : "written",
                 strerror(errno));
        text_tidy(error, strlen(error) + 1);
    }
    if (result != 0 && fd >= 0)
        unlink(path);
    if (from >= 0)
        close(from);
    return result;
}

int run_dir_unpack(const struct run_dir *dir, const char *to, char error[512])
{
    size_t count = 0;
    int problem = result_folder_make(to);
    if (problem && problem != EPERM) { /* the user names it, and the container stays */
        snprintf(error, 512, "%.300s cannot be made: %s", to, strerror(problem));
        return -1;
    }
    for (size_t i = 0; i < dir->job_count; i++)
        for (size_t k = 0; k < dir->jobs[i].piece_count; k++) {
            const struct run_piece *piece = &dir->jobs[i].pieces[k];
            if (piece->extent.bytes && piece_unpack(piece, to, error) != 0)
                return -1;
            count += piece->extent.bytes != 0;
        }
    if (count)
        return 0;
    snprintf(error, 512, "%.300s has no container: its files are apart already", dir->path);
    return -1;
}
