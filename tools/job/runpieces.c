#include "job/runpieces.h"

#include "base/array.h"
#include "base/username.h"
#include "base/spools.h"
#include "format/label.h"
#include "format/packedrun.h"
#include "format/runfile.h"
#include "job/drainedrun.h"
#include "jobfile/jobindex.h"
#include "job/runjobs.h"
#include "jobfile/summaryfile.h"
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

struct run_dir_choice run_dir_choice;

static bool owner_is_trusted(const struct run_dir *dir, uid_t owner)
{
    return run_dir_choice.any_owner || owner == dir->owner || owner == geteuid() || owner == 0;
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

/* "PATH", or "PATH, byte N" for a section. */
static const char *piece_title(const struct run_piece *piece, char text[PATH_MAX])
{
    if (piece->kind)
        snprintf(text, PATH_MAX, "%.3900s, byte %" PRIu64, piece->path, piece->extent.begin);
    else
        snprintf(text, PATH_MAX, "%s", piece->path);
    return text;
}

/* Adds a copy of the piece. */
static void piece_add(struct run_piece **pieces, size_t *count, const struct run_piece *piece)
{
    struct run_piece copy = *piece;
    copy.path = strdup(piece->path);
    if (!copy.path)
        err(1, "no memory");
    *pieces = array_enlarge(*pieces, *count, sizeof **pieces);
    (*pieces)[(*count)++] = copy;
}

enum { BRIEF_LEAST = 1000, YOUNG_SECONDS = 10 };

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

/* A process that was read: where. */
struct known_process {
    uint64_t process;
    struct run_piece piece; /* its path belongs to a piece of a job */
};

static const struct known_process *process_known(const struct run_dir *dir, uint64_t process)
{
    struct known_process *const *found = tfind(&process, &dir->processes, uint64_order);
    return found ? *found : NULL;
}

bool run_dir_reads(const struct run_dir *dir, uint64_t process)
{
    const struct known_process *known = process_known(dir, process);
    struct run_reader run;
    if (!known || run_reader_open_part(&run, known->piece.path, known->piece.extent) != 0)
        return false;
    enum packed_trouble before = packed_trouble_seen();
    packed_trouble_forget(PACKED_SOUND);
    for (uint32_t thread = 0; thread < run.thread_count; thread++) {
        struct event_cursor cursor;
        event_cursor_open(&cursor, &run, thread);
        cursor.whole = cursor.raw = true;
        while (event_cursor_next(&cursor)) {
        }
        event_cursor_close(&cursor);
    }
    bool sound = packed_trouble_seen() == PACKED_SOUND;
    packed_trouble_forget(before);
    run_reader_close(&run);
    return sound;
}

/* Notes a process that the last piece of the job has. */
static void process_note(struct run_dir *dir, uint64_t process, const struct run_job *job)
{
    struct known_process *copy = malloc(sizeof *copy), **found = NULL;
    if (copy) {
        *copy = (struct known_process){process, job->pieces[job->piece_count - 1]};
        found = tsearch(copy, &dir->processes, uint64_order);
    }
    if (!found)
        err(1, "no memory");
    if (*found != copy)
        free(copy);
}

/* Returns whether two sections have the same bytes. One of two copies may be damaged. */
static bool pieces_are_equal(const struct run_piece *one, const struct run_piece *other)
{
    enum { STEP = 1 << 16 };
    static char a[STEP], b[STEP];
    struct stat st;
    int left = regular_open(one->path, one->extent, &st), right = regular_open(other->path, other->extent, &st);
    uint64_t bytes = one->extent.bytes, done = 0;
    bool same = left >= 0 && right >= 0 && bytes && bytes == other->extent.bytes;
    for (size_t n; same && done < bytes; done += n) {
        n = bytes - done < STEP ? (size_t)(bytes - done) : STEP;
        same = pread(left, a, n, (off_t)(one->extent.begin + done)) == (ssize_t)n &&
               pread(right, b, n, (off_t)(other->extent.begin + done)) == (ssize_t)n && memcmp(a, b, n) == 0;
    }
    if (left >= 0)
        close(left);
    if (right >= 0)
        close(right);
    return same;
}

/* Returns whether a stored summary has the process. */
static bool process_is_summed(const struct run_job *job, const struct run_reader *reader)
{
    struct summary process = {.ranks = 0};
    if (job->stored_sums && summary_of_run(&process, reader) != 0)
        err(1, "no memory");
    bool summed = job->stored_sums && summary_sums_have(job->stored_sums, &process);
    summary_release(&process);
    return summed;
}

static void file_add(struct run_dir *dir, char *path);

/* Adds the live file together with the part of its trace that was drained. Returns false if that is not there. */
static bool drained_add(struct run_dir *dir, const struct run_header *header, const char *path)
{
    char whole[64];
    const uint64_t process = run_identity(header);
    int fd = run_dir_choice.totals
                 ? -1
                 : drained_run_open(header, path, &dir->busy); /* who moves sections has the lock of the spool */
    if (fd < 0)
        return false;
    dir->unnamed = array_enlarge(dir->unnamed, dir->unnamed_count, sizeof *dir->unnamed);
    dir->unnamed[dir->unnamed_count++] = fd;
    snprintf(whole, sizeof whole, "/proc/self/fd/%d", fd);
    file_add(dir, whole);
    return process_known(dir, process) != NULL;
}

/* What became of a piece. */
enum piece_end { PIECE_TAKEN, PIECE_KNOWN, PIECE_UNREAD };

static enum piece_end run_file_add(struct run_dir *dir, const struct run_piece *piece, struct run_job **job_of)
{
    char title[PATH_MAX];
    struct run_reader reader;
    bool opened = run_reader_open_part(&reader, piece->path, piece->extent) == 0;
    if (!opened && is_gone(piece)) {
        dir->vanished = true; /* it was collected, or joined, since it was found */
        return PIECE_UNREAD;
    }
    if (!opened) {
        problem_add(dir, "%s %s", piece_title(piece, title), reader.error);
        return PIECE_UNREAD;
    }
    const struct run_header *header = &reader.header;
    const uint64_t process = run_identity(header);
    bool known = process_known(dir, process);
    if (known || !owner_check(dir, piece->path, run_reader_owner(&reader))) {
        run_reader_close(&reader);
        return known ? PIECE_KNOWN : PIECE_UNREAD;
    }
    if (!piece->kind && drained_add(dir, header, piece->path)) {
        run_reader_close(&reader);
        return PIECE_KNOWN;
    }
    const struct summary_row row = {.rank = header->world_rank};
    struct run_span span = {header->begin_realtime_ns,
                            header->end_realtime_ns ? header->end_realtime_ns : header->begin_realtime_ns};
    struct run_job *job = run_job_of(dir, header->job, span, &row, 1);
    if (process_is_summed(job, &reader)) {
        run_reader_close(&reader);
        return PIECE_KNOWN;
    }
    summary_sums_add_file(summary_sums_of(&job->sums), &reader, !run_dir_choice.no_figures);
    if (run_dir_choice.look)
        run_dir_choice.look(&reader);
    if (file_is_parked(dir, header))
        run_reader_park(&reader);
    else
        run_reader_rest(&reader);
    job->files = array_enlarge(job->files, job->file_count, sizeof *job->files);
    job->files[job->file_count++] = reader;
    piece_add(&job->pieces, &job->piece_count, piece);
    process_note(dir, process, job);
    *job_of = job;
    return PIECE_TAKEN;
}

/* A job may have several: one of each node. */
static enum piece_end summary_add(struct run_dir *dir, const struct run_piece *piece, struct run_job **job_of)
{
    char error[128], title[PATH_MAX];
    uid_t owner;
    struct summary *summary = calloc(1, sizeof *summary);
    if (!summary)
        err(1, "no memory");
    if (summary_part_read(summary, piece->path, piece->extent, &owner, error) != 0) {
        free(summary);
        if (is_gone(piece)) {
            dir->vanished = true;
            return PIECE_UNREAD;
        }
        problem_add(dir, "%s %s", piece_title(piece, title), error);
        return PIECE_UNREAD;
    }
    struct run_span span = {summary->origin.begin_ns, summary->origin.end_ns};
    struct run_job *job = run_job_of(dir, summary->job, span, summary->rows, summary->row_count);
    summary->job = job->job;
    if (!summary_sums_add_once(summary_sums_of(&job->stored_sums), summary))
        return PIECE_KNOWN;
    piece_add(&job->pieces, &job->piece_count, piece);
    *job_of = job;
    return PIECE_TAKEN;
}

/* Returns NULL with a reason. */
static struct stored_names *names_read(const struct run_piece *piece, char error[128])
{
    struct summary summary;
    uid_t owner;
    if (summary_part_read(&summary, piece->path, piece->extent, &owner, error) != 0)
        return NULL;
    return stored_names_open(&summary, error);
}

/* Without stored names they are looked up in files, so that a problem is only a note. */
static void piece_names_read(struct run_dir *dir, struct run_job *job, const struct run_piece *piece)
{
    char error[128], title[PATH_MAX];
    struct stored_names *names = names_read(piece, error);
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

/* The piece that is a whole file. Its path belongs to the caller. */
static struct run_piece file_piece(char *path)
{
    struct stat st = {0};
    stat(path, &st);
    return (struct run_piece){.path = path, .extent = regular_file(&st), .file_bytes = (uint64_t)st.st_size};
}

static enum piece_end section_add(struct run_dir *dir, const struct run_piece *piece, uint64_t process,
                                  struct run_job **job_of)
{
    char title[PATH_MAX];
    if (piece->kind == SECTION_SUMMARY)
        return summary_add(dir, piece, job_of);
    const struct known_process *known = process_known(dir, process);
    if (!known)
        return run_file_add(dir, piece, job_of);
    if (pieces_are_equal(piece, &known->piece))
        return PIECE_KNOWN;
    if (known->piece.kind)
        problem_add(dir, "%s has a process that %s has, too, with other contents: one of them is damaged",
                    piece_title(piece, title), known->piece.path);
    return PIECE_UNREAD; /* so that nobody removes the file */
}

/* Adds the sections of a job file. If some cannot be read, or are of several jobs, no one may replace the file. */
static void sections_add(struct run_dir *dir, const struct run_piece *file, const struct job_index *index)
{
    struct run_job *first = NULL;
    uint64_t number = 0; /* of that job: a later one may move the array */
    bool torn = index->cut;
    size_t known = 0;
    dir->brief = dir->brief || (run_dir_choice.brief && index->count >= BRIEF_LEAST);
    for (size_t i = 0; i < index->count; i++) {
        const struct section_entry *entry = &index->list[i];
        struct run_job *job = NULL;
        struct run_piece piece = *file;
        piece.kind = entry->kind;
        piece.extent = job_index_extent(index, entry);
        if (entry->kind == SECTION_TOTAL || entry->kind == SECTION_NAMES)
            continue;
        enum piece_end end = section_add(dir, &piece, entry->process, &job);
        known += end == PIECE_KNOWN;
        torn = torn || end == PIECE_UNREAD || (job && first && job->job != number);
        if (job && torn)
            job->torn = true;
        if (job && !first)
            number = job->job;
        first = job && !first ? job : first;
    }
    if (!first && known && !torn)
        piece_add(&dir->spares, &dir->spare_count, file);
    first = first ? run_job_numbered(dir, number) : NULL;
    for (size_t i = 0; first && i < index->count; i++) {
        struct run_piece piece = *file;
        piece.kind = index->list[i].kind;
        piece.extent = job_index_extent(index, &index->list[i]);
        if (piece.kind == SECTION_NAMES || piece.kind == SECTION_TOTAL)
            piece_add(&first->pieces, &first->piece_count, &piece);
    }
    if (first && torn)
        first->torn = true;
}

/* Returns whether a process of the file was read before. */
static bool some_are_known(const struct run_dir *dir, const struct job_index *index)
{
    for (size_t i = 0; i < index->count; i++)
        if (index->list[i].process && process_known(dir, index->list[i].process))
            return true;
    return false;
}

/* Adds the sections of a job file, without a look at its processes: its total says which there are. Returns false if there is
 * no total, or if a process of the file is known already. */
static bool total_add(struct run_dir *dir, const struct run_piece *file, const struct job_index *index)
{
    const struct section_entry *total = job_index_total(index);
    struct run_job *job = NULL;
    if (!total || index->cut || some_are_known(dir, index))
        return false;
    struct run_piece piece = *file;
    piece.kind = total->kind;
    piece.extent = job_index_extent(index, total);
    enum piece_end end = summary_add(dir, &piece, &job);
    if (end == PIECE_UNREAD)
        return false;
    if (end == PIECE_KNOWN)
        piece_add(&dir->spares, &dir->spare_count, file);
    for (size_t i = 0; job && i < index->count; i++) {
        if (&index->list[i] == total)
            continue;
        piece.kind = index->list[i].kind;
        piece.extent = job_index_extent(index, &index->list[i]);
        piece_add(&job->pieces, &job->piece_count, &piece);
        if (index->list[i].process)
            process_note(dir, index->list[i].process, job);
    }
    return true;
}

void run_pieces_read_names(struct run_dir *dir, struct run_job *job)
{
    for (size_t i = 0; i < job->piece_count; i++)
        if (job->pieces[i].kind == SECTION_NAMES)
            piece_names_read(dir, job, &job->pieces[i]);
}

static void file_add(struct run_dir *dir, char *path)
{
    char error[128];
    struct job_index index;
    struct run_job *job;
    struct run_piece file = file_piece(path);
    switch (job_index_read(&index, path, file.extent, error)) {
    case JOB_INDEX_NONE:
        run_file_add(dir, &file, &job);
        return;
    case JOB_INDEX_BROKEN:
        problem_add(dir, "%s %s", path, error);
        return;
    case JOB_INDEX_READ:
        break;
    }
    if (owner_check(dir, path, index.owner) && (!run_dir_choice.totals || !total_add(dir, &file, &index))) {
        sections_add(dir, &file, &index);
        dir->vanished =
            dir->vanished || (index.cut && file_is_young(path, YOUNG_SECONDS)); /* somebody may be writing it */
        if (index.cut)
            problem_add(dir, "%s is truncated: only its first %zu sections can be read, up to byte %" PRIu64, path,
                        index.count, index.end);
    }
    job_index_release(&index);
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

static char *piece_path(const char *directory, const char *name)
{
    char *path;
    if (asprintf(&path, "%s/%s", directory, name) < 0)
        err(1, "no memory");
    return path;
}

/* Returns how many of its files are mpit's, or -1 with errno. */
static int files_add(struct run_dir *dir, const char *path)
{
    struct dirent **entries;
    int count = scandir(path, &entries, entry_wanted, entry_order);
    dir->brief = run_dir_choice.brief && count >= BRIEF_LEAST;
    for (int i = 0; i < count; i++) {
        char *file = piece_path(path, entries[i]->d_name);
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
        snprintf(error, 512, "%.300s is not a run directory: it has no *" RUN_FILE_SUFFIX " file", path);
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
    file_add(dir, dir->path);
    return 0;
}
