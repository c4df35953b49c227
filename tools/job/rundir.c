#define _GNU_SOURCE
#include "job/rundir.h"

#include "symbols/sitenames.h"

#include "format/compact.h"
#include "format/label.h"
#include "collect/spools.h"
#include "job/summaryfile.h"
#include "job/summarysums.h"
#include "symbols/storednames.h"
#include "base/array.h"
#include "base/text.h"
#include "base/username.h"

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
#include <time.h>
#include <unistd.h>

/* Makes room for one more than `count` elements. Without memory the tool ends. */
static void *array_enlarge(void *array, size_t count, size_t element)
{
    void *longer = array_grow(array, count, element);
    if (!longer)
        err(1, "no memory");
    return longer;
}

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

bool run_job_ranks_missing(const struct run_job *job, char text[MISSING_TEXT_BYTES])
{
    text[0] = '\0';
    return job->summary && summary_missing(job->summary, text);
}

int32_t run_job_size(const struct run_job *job)
{
    int32_t size = job->stored ? (int32_t)job->stored->world_size : 0;
    for (size_t i = 0; i < job->file_count; i++)
        if (run_size(&job->files[i].header) > size)
            size = run_size(&job->files[i].header);
    return size;
}

/* Returns whether no process of the job has left MPI_Init yet. A missing process may then not have reached it. */
static bool all_are_starting(const struct run_job *job)
{
    for (size_t i = 0; i < job->file_count; i++)
        if (job->files[i].header.world_size > 0)
            return false;
    return !job->stored;
}

/* Notes which processes of a job have no file. */
static void job_note(struct run_dir *dir, const struct run_job *job)
{
    char ranks[MISSING_TEXT_BYTES], text[MISSING_TEXT_BYTES + 16], hosts[256] = "";
    if (!run_job_ranks_missing(job, ranks))
        return;
    bool several = strpbrk(ranks, ",-") != NULL;
    snprintf(text, sizeof text, several ? "s %s are" : " %s is", ranks);
    summary_hosts(job->summary, hosts, sizeof hosts);
    dir->notes = array_enlarge(dir->notes, dir->note_count, sizeof *dir->notes);
    if (asprintf(&dir->notes[dir->note_count],
                 "%s has files of only %zu of the %" PRId32
                 " processes of a job: rank%s missing%s (the files are from %s%s. A missing process ran without mpit "
                 "(another LD_PRELOAD, MPIT_DISABLE) or on another host. On that host mpit must be installed, and "
                 "mpit-collect %s must run",
                 dir->path, job->summary->row_count, run_job_size(job), text,
                 dir->problem_count ? ", or could not be read" : "", hosts,
                 !all_are_starting(job) ? ")"
                 : several ? ", and MPI_Init returned in none of them): the missing ones may not have called MPI_Init"
                           : ", and MPI_Init returned in none of them): the missing one may not have called MPI_Init",
                 dir->path) < 0)
        err(1, "no memory");
    dir->note_count++;
}

bool run_dir_owns(const char *name)
{
    return text_ends(name, RUN_FILE_SUFFIX) || text_ends(name, SUMMARY_SUFFIX);
}

long run_dir_count(const char *path)
{
    DIR *stream = opendir(path);
    if (!stream)
        return -1;
    long count = 0;
    for (struct dirent *entry; (entry = readdir(stream));)
        count += run_dir_owns(entry->d_name);
    closedir(stream);
    return count;
}

/* An entry of dir->numbers: the index of a job's number. */
struct job_place {
    uint64_t job;
    size_t place;
};

static int job_place_order(const void *one, const void *other)
{
    const struct job_place *a = one, *b = other;
    return (a->job > b->job) - (a->job < b->job);
}

static struct run_job *job_of_number(struct run_dir *dir, uint64_t number)
{
    struct job_place *wanted = malloc(sizeof *wanted), **found = NULL;
    if (wanted) {
        *wanted = (struct job_place){number, dir->job_count};
        found = tsearch(wanted, &dir->numbers, job_place_order);
    }
    if (!found)
        err(1, "no memory");
    if (*found != wanted) {
        free(wanted);
        return &dir->jobs[(*found)->place];
    }
    dir->jobs = array_enlarge(dir->jobs, dir->job_count, sizeof *dir->jobs);
    dir->jobs[dir->job_count] = (struct run_job){.job = number, .span = {UINT64_MAX, 0}};
    return &dir->jobs[dir->job_count++];
}

/* A set of ranks. No job has one beyond. */
enum { RANKS_MOST = 1 << 24 };

static bool has_rank(const struct run_job *job, int32_t rank)
{
    return rank >= 0 && (size_t)rank / 8 < job->rank_bytes && job->ranks[rank / 8] >> rank % 8 & 1;
}

static void rank_note(struct run_job *job, int32_t rank)
{
    if (rank < 0 || rank >= RANKS_MOST)
        return;
    if ((size_t)rank / 8 >= job->rank_bytes) {
        size_t bytes = 2 * ((size_t)rank / 8 + 32);
        job->ranks = array_extend(job->ranks, job->rank_bytes, bytes, 1);
        if (!job->ranks)
            err(1, "no memory");
        job->rank_bytes = bytes;
    }
    job->ranks[rank / 8] |= (unsigned char)(1 << rank % 8);
}

/* True if it is another job of this number, which ran before or after. `rows`: its ranks. */
static bool is_apart(const struct run_job *job, struct run_span span, const struct summary_row *rows, size_t count)
{
    bool apart = span.begin > job->span.end || span.end < job->span.begin;
    for (size_t i = 0; apart && i < count; i++)
        if (has_rank(job, rows[i].rank))
            return true;
    return false;
}

static struct run_job *job_of(struct run_dir *dir, uint64_t number, struct run_span span,
                              const struct summary_row *rows, size_t count)
{
    struct run_job *job = job_of_number(dir, number);
    while (is_apart(job, span, rows, count))
        job = job_of_number(dir, ++number);
    job->span.begin = span.begin < job->span.begin ? span.begin : job->span.begin;
    job->span.end = span.end > job->span.end ? span.end : job->span.end;
    for (size_t i = 0; i < count; i++)
        rank_note(job, rows[i].rank);
    return job;
}

static bool any_owner;

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

static void run_file_add(struct run_dir *dir, const char *path)
{
    struct run_reader reader;
    bool opened = run_reader_open(&reader, path) == 0;
    if (!opened && access(path, F_OK) != 0 && errno == ENOENT) {
        dir->vanished = true; /* it was collected since it was found */
        return;
    }
    if (!opened) {
        problem_add(dir, "%s %s", path, reader.error);
        return;
    }
    if (!owner_check(dir, path, run_reader_owner(&reader))) {
        run_reader_close(&reader);
        return;
    }
    if (reader.header.collected) { /* a result in the directory has its figures, or soon will */
        dir->passing++;
        run_reader_close(&reader);
        return;
    }
    run_reader_rest(&reader);
    const struct run_header *header = &reader.header;
    const struct summary_row row = {.rank = header->world_rank};
    struct run_span span = {header->begin_realtime_ns,
                            header->end_realtime_ns ? header->end_realtime_ns : header->begin_realtime_ns};
    struct run_job *job = job_of(dir, header->job, span, &row, 1);
    job->files = array_enlarge(job->files, job->file_count, sizeof *job->files);
    job->files[job->file_count++] = reader;
}

static int run_rank_order(const void *one, const void *other)
{
    const struct run_header *a = &((const struct run_reader *)one)->header;
    const struct run_header *b = &((const struct run_reader *)other)->header;
    if (a->world_rank != b->world_rank)
        return a->world_rank < b->world_rank ? -1 : 1;
    if (run_rank(a) != run_rank(b))
        return run_rank(a) < run_rank(b) ? -1 : 1;
    return (a->pid > b->pid) - (a->pid < b->pid);
}

/* A job may have several: one of each node. */
static void summary_add(struct run_dir *dir, const char *path)
{
    char error[128];
    uid_t owner = dir->owner;
    struct summary *summary = calloc(1, sizeof *summary);
    if (!summary)
        err(1, "no memory");
    int result = summary_file_read(summary, path, &owner, error);
    bool taken = owner_check(dir, path, owner);
    if (result != 0 || !taken) {
        if (taken)
            problem_add(dir, "%s %s", path, error);
        if (result == 0)
            summary_release(summary);
        free(summary);
        return;
    }
    struct run_span span = {summary->origin.begin_ns, summary->origin.end_ns};
    struct run_job *job = job_of(dir, summary->job, span, summary->rows, summary->row_count);
    summary->job = job->job;
    job->stored = summary_join(job->stored, summary);
    job->parts = array_enlarge(job->parts, job->part_count, sizeof *job->parts);
    if (!(job->parts[job->part_count++] = strdup(path)))
        err(1, "no memory");
}

int run_job_unite(struct run_job *job)
{
    char *slash = job->part_count > 1 ? strrchr(job->parts[0], '/') : NULL;
    if (!slash)
        return 0;
    char *directory = strndup(job->parts[0], (size_t)(slash - job->parts[0]));
    int stem = (int)(strlen(slash + 1) - strlen(SUMMARY_SUFFIX));
    int result = directory ? summary_file_write(job->stored, directory, slash + 1, stem, SUMMARY_SUFFIX) : -1;
    for (size_t i = 0; result == 0 && i < job->part_count; i++)
        unlink(job->parts[i]);
    free(directory);
    return result;
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
static struct stored_names *names_read(const struct run_dir *dir, const char *path, uint64_t job, char error[128])
{
    struct summary summary;
    uid_t owner = dir->owner;
    if (summary_file_read(&summary, path, &owner, error) != 0)
        return NULL;
    if (summary.job == job && owner_is_trusted(dir, owner))
        return stored_names_open(&summary, error);
    snprintf(error, 128, summary.job == job ? "belongs to another user" : "is of another job");
    summary_release(&summary);
    return NULL;
}

/* Without stored names they are looked up in files, so that a problem is only a note. */
static void job_names_read(struct run_dir *dir, struct run_job *job)
{
    char error[128], stem[PATH_MAX], path[PATH_MAX];
    names_stem(dir, job->job, stem);
    for (unsigned number = 0;; number++) {
        summary_file_path(path, stem, number, NAMES_SUFFIX);
        if (access(path, F_OK) != 0)
            return;
        struct stored_names *names = names_read(dir, path, job->job, error);
        if (names) {
            stored_names_add(&job->names, names);
            continue;
        }
        dir->notes = array_enlarge(dir->notes, dir->note_count, sizeof *dir->notes);
        if (asprintf(&dir->notes[dir->note_count],
                     "%s %s; so names of functions are looked up in the programs on this machine", path, error) < 0)
            err(1, "no memory");
        text_tidy(dir->notes[dir->note_count], strlen(dir->notes[dir->note_count]) + 1);
        dir->note_count++;
    }
}

static void file_add(struct run_dir *dir, const char *path)
{
    if (text_ends(path, SUMMARY_SUFFIX))
        summary_add(dir, path);
    else
        run_file_add(dir, path);
}

bool run_job_has_trace(const struct run_job *job)
{
    for (size_t i = 0; i < job->file_count; i++)
        if (job->files[i].header.traced)
            return true;
    return false;
}

bool run_job_converts(const struct run_job *job)
{
    for (size_t i = 0; i < job->file_count; i++)
        if (job->files[i].header.world_rank >= 0)
            return run_job_has_trace(job);
    return false;
}

size_t run_dir_converts(const struct run_dir *dir, size_t *left_out, char error[512])
{
    size_t traced = 0, converted = 0;
    for (size_t i = 0; i < dir->job_count; i++) {
        traced += run_job_has_trace(&dir->jobs[i]);
        converted += run_job_converts(&dir->jobs[i]);
    }
    if (traced)
        snprintf(error, 512, "nothing to convert: MPI_Init returned in none of the processes");
    else
        snprintf(error, 512, "%.300s has no events to convert; mpit-run --trace records events", dir->path);
    *left_out = traced - converted;
    return converted;
}

bool run_job_is_complete(const struct run_job *job)
{
    return job->file_count > 0 && job->files[0].header.world_size > 0 &&
           job->file_count == (size_t)job->files[0].header.world_size;
}

void run_job_file_reject(const struct run_job *job, size_t i, const char *reason)
{
    const struct run_header *header = &job->files[i].header;
    char host[sizeof header->host];
    label_clean(host, sizeof host, header->host, sizeof header->host);
    errx(1, "the run file of rank %" PRId32 " (process %" PRIu32 " on %s) %s", header->world_rank, header->pid, host,
         reason);
}

const struct run_reader *run_job_file(const struct run_job *job, size_t i)
{
    char reason[128];
    if (run_reader_wake(&job->files[i], reason) != 0)
        run_job_file_reject(job, i, reason);
    return &job->files[i];
}

const struct run_reader *run_job_tallies(const struct run_job *job, size_t i)
{
    return job->part ? job->part->take(job->part, i) : run_job_file(job, i);
}

void run_job_tallies_rest(const struct run_job *job, size_t i)
{
    if (job->part)
        job->part->give_back(job->part, i);
    run_reader_rest(&job->files[i]);
}

static struct summary *files_summary(const struct run_job *job)
{
    struct summary_sums sums = {{NULL}};
    for (size_t i = 0; i < job->file_count; i++) {
        const struct run_reader *file = run_job_tallies(job, i);
        if (!file)
            continue;
        struct summary *sum = calloc(1, sizeof *sum);
        if (!sum || summary_of_run(sum, file) != 0)
            err(1, "no memory");
        run_job_tallies_rest(job, i);
        summary_sums_add(&sums, sum);
    }
    return summary_sums_end(&sums);
}

/* Adds the processes from summaries and the processes with run files. Each process is in one of the two. */
static void job_summarize(struct run_job *job)
{
    if (job->file_count > 1)
        qsort(job->files, job->file_count, sizeof *job->files, run_rank_order);
    job->from_files = job->file_count > 0 && !job->stored;
    job->summary = job->stored;
    if (!job->file_count)
        return;
    job->summary = files_summary(job);
    if (job->summary) {
        job->summary->job = job->job;
        summary_sites_trim(job->summary, SUMMARY_SITES_MAX);
    }
    if (job->summary && (site_names_find(job->summary, job->names) != 0 ||
                         (job->stored && summary_merge(job->summary, job->stored) != 0)))
        err(1, "no memory");
}

static void summary_drop(struct run_job *job)
{
    if (job->summary && job->summary != job->stored) {
        summary_release(job->summary);
        free(job->summary);
    }
    job->summary = NULL;
}

/* If no process of the job has data of the part: the job, and zeros. */
static struct summary *nobody_summary(const struct run_job *job)
{
    struct summary *nobody = calloc(1, sizeof *nobody);
    if (!nobody)
        err(1, "no memory");
    if (!job->summary)
        return nobody;
    nobody->job = job->job;
    nobody->world_size = job->summary->world_size;
    nobody->spawned = job->summary->spawned;
    nobody->parent_job = job->summary->parent_job;
    nobody->sampling = job->part && job->part->rows ? job->summary->sampling : 1;
    memcpy(nobody->program, job->summary->program, sizeof nobody->program);
    memcpy(nobody->mpi, job->summary->mpi, sizeof nobody->mpi);
    return nobody;
}

void run_job_summarize(struct run_job *job)
{
    struct summary *part = files_summary(job);
    if (!part)
        part = nobody_summary(job);
    else if (site_names_find(part, job->names) != 0)
        err(1, "no memory");
    summary_drop(job);
    job->summary = part;
    job->from_files = true;
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

/* Returns how many of its files are mpit's, or -1 with errno. */
static int files_add(struct run_dir *dir, const char *path)
{
    struct dirent **entries;
    int count = scandir(path, &entries, entry_wanted, entry_order);
    if (count < 0)
        return -1;
    for (int i = 0; i < count; i++) {
        char *file;
        if (asprintf(&file, "%s/%s", path, entries[i]->d_name) < 0)
            err(1, "no memory");
        file_add(dir, file);
        free(file);
        free(entries[i]);
    }
    free(entries);
    return count;
}

/* Reads the files of the directory, and its files in the spools of this node that were not collected yet. */
static int run_files_read(struct run_dir *dir, const char *path, char error[512])
{
    struct spool_list spools;
    int count = files_add(dir, path), problem = count < 0 ? errno : 0;
    if (spools_find(&spools, path) != 0)
        err(1, "no memory");
    for (size_t i = 0; i < spools.count; i++) {
        int more = files_add(dir, spools.list[i].path);
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

/* All files, not yet grouped by job. */
static int contents_read(struct run_dir *dir, const char *path, char error[512])
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
    file_add(dir, path);
    return 0;
}

int run_dir_open(struct run_dir *dir, const char *path, char error[512])
{
    enum { TRIES = 5 };
    int result = -1;
    compact_enable();
    for (int i = 0; i < TRIES; i++) { /* results may arrive from the spool during the two reads */
        long before = run_dir_count(path);
        if (i)
            run_dir_close(dir);
        result = contents_read(dir, path, error);
        bool missed = dir->vanished || (dir->passing && !dir->job_count);
        if (dir->named || (before == run_dir_count(path) && !missed))
            break;
        if (missed)
            nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    }
    if (result != 0)
        return -1;
    for (size_t i = 0; i < dir->job_count; i++) {
        job_names_read(dir, &dir->jobs[i]);
        job_summarize(&dir->jobs[i]);
    }
    for (size_t i = 0; !dir->named && i < dir->job_count; i++)
        job_note(dir, &dir->jobs[i]);
    if (dir->job_count == 0) {
        snprintf(error, 512, "nothing in %.300s can be read", path);
        return -1;
    }
    return 0;
}

void run_dir_close(struct run_dir *dir)
{
    for (size_t i = 0; i < dir->job_count; i++) {
        struct run_job *job = &dir->jobs[i];
        for (size_t k = 0; k < job->file_count; k++)
            run_reader_close(&job->files[k]);
        free(job->files);
        free(job->ranks);
        for (size_t k = 0; k < job->part_count; k++)
            free(job->parts[k]);
        free(job->parts);
        stored_names_close(job->names);
        summary_drop(job);
        if (job->stored) {
            summary_release(job->stored);
            free(job->stored);
        }
    }
    for (size_t i = 0; i < dir->problem_count; i++)
        free(dir->problems[i]);
    for (size_t i = 0; i < dir->note_count; i++)
        free(dir->notes[i]);
    tdestroy(dir->numbers, free);
    free(dir->problems);
    free(dir->notes);
    free(dir->jobs);
    free(dir->path);
    *dir = (struct run_dir){0};
}
