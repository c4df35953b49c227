#define _GNU_SOURCE
#include "job/runpieces.h"

#include "base/text.h"
#include "base/username.h"
#include "collect/spools.h"
#include "format/label.h"
#include "format/runfile.h"
#include "job/container.h"
#include "job/runjobs.h"
#include "job/summaryfile.h"
#include "job/summarysums.h"
#include "reader/regularfile.h"
#include "symbols/storednames.h"

#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <inttypes.h>
#include <search.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

__attribute__((format(printf, 2, 3))) static void problem_add(struct run_dir *dir, const char *format, ...)
{
    va_list args;
    dir->problems = array_enlarge(dir->problems, dir->problem_count, sizeof *dir->problems);
    va_start(args, format);
    if (vasprintf(&dir->problems[dir->problem_count], format, args) < 0)
        err(1, "no memory");
    va_end(args);
    text_tidy(dir->problems[dir->problem_count], strlen(dir->problems[dir->problem_count]) + 1); /* a file's name */
    dir->problem_count++;
}

static bool any_owner, brief, no_figures;
static void (*file_look)(struct run_reader *file);

void run_dir_brief(void)
{
    brief = true;
}

void run_dir_no_figures(void)
{
    no_figures = true;
}

void run_dir_look(void (*look)(struct run_reader *file))
{
    file_look = look;
}

void run_dir_any_owner(void)
{
    any_owner = true;
}

static bool owner_is_trusted(const struct run_dir *dir, uid_t owner)
{
    return any_owner || owner == dir->owner || owner == geteuid() || owner == 0;
}

/* Returns whether the file of that owner is accepted. Otherwise adds a problem. */
static bool owner_check(struct run_dir *dir, const char *path, uid_t owner)
{
    char user[USER_BYTES];
    if (dir->named || owner_is_trusted(dir, owner))
        return true;
    user_name(user, owner);
    if (dir->foreign++ == 0)
        problem_add(dir,
                    "%s is left out: it belongs to user %s, not to the owner of the directory; mpit-dump --any-owner "
                    "includes it",
                    path, user);
    return false;
}

/* "PATH", or "PATH, NAME" for a member of a container. */
static const char *piece_title(const struct run_piece *piece, char text[PATH_MAX])
{
    snprintf(text, PATH_MAX, piece->extent.bytes ? "%s, %s" : "%s", piece->path, piece->name);
    return text;
}

/* Adds a copy of the piece. */
static void piece_add(struct run_piece **pieces, size_t *count, const struct run_piece *piece)
{
    struct run_piece copy = *piece;
    copy.path = strdup(piece->path);
    copy.name = strdup(piece->name);
    if (!copy.path || !copy.name)
        err(1, "no memory");
    *pieces = array_enlarge(*pieces, *count, sizeof **pieces);
    (*pieces)[(*count)++] = copy;
}

enum { BRIEF_LEAST = 1000 };

/* Returns whether only the header of the file is kept. */
static bool file_is_parked(const struct run_dir *dir, const struct run_header *header)
{
    return dir->brief && header->phase == RUN_FINALIZED && !header->traced && !header->samples_hz;
}

/* Returns whether the file is no longer there, or another one has its name. */
static bool is_gone(const struct run_piece *piece)
{
    struct stat st;
    return stat(piece->path, &st) != 0 ? errno == ENOENT : piece->extent.inode && st.st_ino != piece->extent.inode;
}

/* Returns whether a file that was read before, or a summary, has the process. */
static bool has_process(const struct run_job *job, const struct run_reader *reader)
{
    const struct run_header *own = &reader->header;
    bool found = false;
    for (size_t i = 0; !found && i < job->file_count; i++) {
        const struct run_header *other = &job->files[i].header;
        found = other->pid == own->pid && other->begin_ticks == own->begin_ticks &&
                other->begin_realtime_ns == own->begin_realtime_ns && strcmp(other->host, own->host) == 0;
    }
    struct summary process = {.ranks = 0};
    if (!found && job->stored_sums && summary_of_run(&process, reader) != 0)
        err(1, "no memory");
    found = found || (job->stored_sums && summary_sums_have(job->stored_sums, &process));
    summary_release(&process);
    return found;
}

/* Returns the job that has the file now, or NULL. */
static struct run_job *run_file_add(struct run_dir *dir, const struct run_piece *piece)
{
    char title[PATH_MAX];
    struct run_reader reader;
    bool opened = (dir->brief && run_reader_scan(&reader, piece->path, piece->extent) == 0) ||
                  run_reader_open_part(&reader, piece->path, piece->extent) == 0;
    if (!opened && is_gone(piece)) {
        dir->vanished = true; /* it was collected, or joined, since it was found */
        return NULL;
    }
    if (!opened) {
        problem_add(dir, "%s %s", piece_title(piece, title), reader.error);
        return NULL;
    }
    if (!owner_check(dir, piece->path, run_reader_owner(&reader))) {
        run_reader_close(&reader);
        return NULL;
    }
    const struct run_header *header = &reader.header;
    const struct summary_row row = {.rank = header->world_rank};
    struct run_span span = {header->begin_realtime_ns,
                            header->end_realtime_ns ? header->end_realtime_ns : header->begin_realtime_ns};
    struct run_job *job = run_job_of(dir, header->job, span, &row, 1);
    if (header->collected && has_process(job, &reader)) {
        piece_add(&dir->brought, &dir->brought_count, piece);
        run_reader_close(&reader);
        return NULL;
    }
    summary_sums_add_file(summary_sums_of(&job->sums), &reader, !no_figures);
    if (file_look)
        file_look(&reader);
    if (file_is_parked(dir, header))
        run_reader_park(&reader);
    else
        run_reader_rest(&reader);
    job->files = array_enlarge(job->files, job->file_count, sizeof *job->files);
    job->files[job->file_count++] = reader;
    piece_add(&job->pieces, &job->piece_count, piece);
    return job;
}

/* A job may have several: one of each node. Returns the job, or NULL. */
static struct run_job *summary_add(struct run_dir *dir, const struct run_piece *piece)
{
    char error[128], title[PATH_MAX];
    uid_t owner = dir->owner;
    struct summary *summary = calloc(1, sizeof *summary);
    if (!summary)
        err(1, "no memory");
    int result = summary_part_read(summary, piece->path, piece->extent, &owner, error);
    bool taken = owner_check(dir, piece->path, owner);
    if (result != 0 || !taken) {
        if (taken)
            problem_add(dir, "%s %s", piece_title(piece, title), error);
        if (result == 0)
            summary_release(summary);
        free(summary);
        return NULL;
    }
    struct run_span span = {summary->origin.begin_ns, summary->origin.end_ns};
    struct run_job *job = run_job_of(dir, summary->job, span, summary->rows, summary->row_count);
    summary->job = job->job;
    summary_sums_add_once(summary_sums_of(&job->stored_sums), summary);
    piece_add(&job->pieces, &job->piece_count, piece);
    return job;
}

/* The names of a job are beside its files. Writes their path without the suffix. */
static void names_stem(const struct run_dir *dir, uint64_t job, char stem[PATH_MAX])
{
    const char *slash = dir->named ? strrchr(dir->path, '/') : NULL;
    int bytes = !dir->named ? (int)strlen(dir->path) : slash ? (int)(slash - dir->path) : 1;
    snprintf(stem, PATH_MAX, "%.*s/%016" PRIx64, bytes, dir->named && !slash ? "." : dir->path, job);
}

int run_job_names_write(const struct run_dir *dir, const struct summary *names)
{
    char stem[PATH_MAX];
    names_stem(dir, names->job, stem);
    return summary_file_add(names, stem, NAMES_SUFFIX);
}

/* Returns NULL with a reason. */
static struct stored_names *names_read(const struct run_dir *dir, const struct run_piece *piece, uint64_t job,
                                       char error[128])
{
    struct summary summary;
    uid_t owner = dir->owner;
    if (summary_part_read(&summary, piece->path, piece->extent, &owner, error) != 0)
        return NULL;
    if (summary.job == job && owner_is_trusted(dir, owner))
        return stored_names_open(&summary, error);
    snprintf(error, 128, summary.job == job ? "belongs to another user" : "is of another job");
    summary_release(&summary);
    return NULL;
}

/* Without stored names they are looked up in files, so that a problem is only a note. */
static void piece_names_read(struct run_dir *dir, struct run_job *job, const struct run_piece *piece)
{
    char error[128], title[PATH_MAX];
    struct stored_names *names = names_read(dir, piece, job->job, error);
    if (names) {
        stored_names_add(&job->names, names);
        return;
    }
    dir->notes = array_enlarge(dir->notes, dir->note_count, sizeof *dir->notes);
    if (asprintf(&dir->notes[dir->note_count],
                 "%s %s; so names of functions are looked up in the programs on this machine",
                 piece_title(piece, title), error) < 0)
        err(1, "no memory");
    text_tidy(dir->notes[dir->note_count], strlen(dir->notes[dir->note_count]) + 1);
    dir->note_count++;
}

/* The piece that is a whole file. Its texts belong to the caller. */
static struct run_piece file_piece(char *path)
{
    struct stat st = {0};
    stat(path, &st);
    return (struct run_piece){.path = path,
                              .name = basename(path),
                              .modified_ns = modified_ns(&st),
                              .extent = regular_file(&st),
                              .file_bytes = (uint64_t)st.st_size};
}

static struct run_job *piece_read(struct run_dir *dir, const struct run_piece *piece)
{
    return text_ends(piece->name, SUMMARY_SUFFIX) ? summary_add(dir, piece) : run_file_add(dir, piece);
}

static void member_note(struct run_dir *dir, const struct container_member *member)
{
    struct container_member *copy = malloc(sizeof *copy), **found = NULL;
    if (copy) {
        *copy = *member;
        found = tsearch(copy, &dir->members, container_member_order);
    }
    if (!found)
        err(1, "no memory");
    if (*found != copy)
        free(copy);
}

/* Returns whether a container has this file, too. */
static bool is_member(const struct run_dir *dir, const struct run_piece *file)
{
    struct container_member wanted;
    snprintf(wanted.name, sizeof wanted.name, "%s", file->name);
    struct container_member *const *found = tfind(&wanted, &dir->members, container_member_order);
    return found && (*found)->bytes == file->file_bytes && (*found)->modified_ns == file->modified_ns;
}

static void file_add(struct run_dir *dir, char *path)
{
    struct run_piece piece = file_piece(path);
    if (is_member(dir, &piece))
        piece_add(&dir->spares, &dir->spare_count, &piece);
    else
        piece_read(dir, &piece);
}

/* Adds the member to its job. Returns the job, or NULL. Names belong to the job of the members before. */
static struct run_job *member_add(struct run_dir *dir, const struct run_piece *piece, const uint64_t *number)
{
    if (!text_ends(piece->name, NAMES_SUFFIX))
        return piece_read(dir, piece);
    struct run_job *job = number ? run_job_numbered(dir, *number) : NULL;
    if (job)
        piece_add(&job->pieces, &job->piece_count, piece);
    return job;
}

/* Names come last. If members cannot be read, or are of several jobs, no one may replace the container. */
static void members_add(struct run_dir *dir, const struct run_piece *file, const struct container *container)
{
    uint64_t number = container->job;
    bool found = false, torn = false;
    dir->brief = brief && container->count >= BRIEF_LEAST;
    for (int names = 0; names <= 1; names++)
        for (size_t i = 0; i < container->count; i++) {
            struct container_member *member = &container->members[i];
            struct run_piece piece = *file;
            piece.name = member->name;
            piece.extent.begin = member->begin;
            piece.extent.bytes = member->bytes;
            piece.modified_ns = member->modified_ns;
            if (strcmp(member->name, CONTAINER_TOTAL) == 0 || text_ends(member->name, NAMES_SUFFIX) != names)
                continue;
            struct run_job *job = member_add(dir, &piece, found ? &number : NULL);
            torn = torn || !job || (found && job->job != number);
            if (job)
                member_note(dir, member);
            if (job && torn)
                job->torn = true;
            number = job && !found ? job->job : number;
            found = found || job;
        }
    if (found && torn)
        run_job_numbered(dir, number)->torn = true;
}

/* Names of functions: members of a container, which are pieces of the job already, and files. */
void run_pieces_read_names(struct run_dir *dir, struct run_job *job)
{
    char stem[PATH_MAX], path[PATH_MAX];
    for (size_t i = 0; i < job->piece_count; i++)
        if (text_ends(job->pieces[i].name, NAMES_SUFFIX))
            piece_names_read(dir, job, &job->pieces[i]);
    names_stem(dir, job->job, stem);
    for (unsigned number = 0;; number++) {
        summary_file_path(path, stem, number, NAMES_SUFFIX);
        if (access(path, F_OK) != 0)
            return;
        struct run_piece piece = file_piece(path);
        if (is_member(dir, &piece)) {
            piece_add(&dir->spares, &dir->spare_count, &piece);
            continue;
        }
        piece_names_read(dir, job, &piece);
        piece_add(&job->pieces, &job->piece_count, &piece);
    }
}

/* If the file is a container, adds its members, and notes their names. */
static bool container_add(struct run_dir *dir, char *path)
{
    char error[128];
    struct container container;
    if (!text_ends(path, RUN_FILE_SUFFIX))
        return false;
    struct run_piece file = file_piece(path);
    enum container_kind kind = container_read(&container, path, file.extent, error);
    if (kind == CONTAINER_BROKEN)
        problem_add(dir, "%s %s", path, error);
    if (kind != CONTAINER_READ)
        return kind == CONTAINER_BROKEN;
    if (owner_check(dir, path, container.owner))
        members_add(dir, &file, &container);
    container_release(&container);
    return true;
}

static int entry_order(const struct dirent **a, const struct dirent **b)
{
    return strverscmp((*a)->d_name, (*b)->d_name); /* for one host by the process numbers, so that jobs mostly are in
                                                    * their order of begin */
}

static int entry_wanted(const struct dirent *entry)
{
    return run_dir_owns(entry->d_name);
}

static char *path_of(const char *directory, const char *name)
{
    char *path;
    if (asprintf(&path, "%s/%s", directory, name) < 0)
        err(1, "no memory");
    return path;
}

/* Returns how many of its files are mpit's, or -1 with errno. A file that a container has, too, is left out. */
static int files_add(struct run_dir *dir, const char *path)
{
    struct dirent **entries;
    int count = scandir(path, &entries, entry_wanted, entry_order);
    dir->brief = brief && count >= BRIEF_LEAST;
    for (int i = 0; i < count; i++) {
        char *file = path_of(path, entries[i]->d_name);
        if (container_add(dir, file))
            entries[i]->d_name[0] = '\0';
        free(file);
    }
    for (int i = 0; i < count; i++) {
        char *file = path_of(path, entries[i]->d_name);
        if (entries[i]->d_name[0])
            file_add(dir, file);
        free(file);
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    return count;
}

static int run_files_read(struct run_dir *dir, const char *path, char error[512])
{
    struct spool_list spools;
    int count = files_add(dir, path), problem = count < 0 ? errno : 0;
    if (spools_find(&spools, path) != 0)
        err(1, "no memory");
    for (size_t i = 0; i < spools.count; i++) {
        int more = files_add(dir, spools.list[i].path);
        if (more > 0 && problem && problem != ENOENT)
            problem_add(dir, "%s cannot be read: %s", path, strerror(problem));
        problem = more > 0 ? 0 : problem;
        count = more > 0 ? (count > 0 ? count : 0) + more : count;
    }
    spools_release(&spools);
    if (problem) {
        snprintf(error, 512, problem == ENOENT ? "%.300s does not exist" : "%.300s cannot be read: %s", path,
                 strerror(problem));
        return -1;
    }
    if (dir->foreign > 1)
        problem_add(dir, "%s: %zu more files of other users are left out", path, dir->foreign - 1);
    if (count == 0) {
        snprintf(error, 512,
                 "%.300s is not a run directory: it has no *" RUN_FILE_SUFFIX " and no *" SUMMARY_SUFFIX " file", path);
        return -1;
    }
    return 0;
}

int run_pieces_read(struct run_dir *dir, const char *path, char error[512])
{
    struct stat st;
    bool exists = stat(path, &st) == 0;
    *dir = (struct run_dir){0};
    error[0] = '\0';
    if (!(dir->path = strdup(path)))
        err(1, "no memory");
    dir->named = exists && !S_ISDIR(st.st_mode);
    dir->owner = exists ? st.st_uid : geteuid(); /* it is made when the job ends */
    if (!dir->named)
        return run_files_read(dir, path, error);
    if (!container_add(dir, dir->path))
        file_add(dir, dir->path);
    return 0;
}
