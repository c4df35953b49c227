#include "job/rundir.h"

#include "base/array.h"
#include "base/systemclock.h"
#include "base/text.h"
#include "format/packedrun.h"
#include "format/label.h"
#include "job/runjobs.h"
#include "job/runpieces.h"
#include "job/summarysums.h"
#include "symbols/sitenames.h"
#include "symbols/siteplaces.h"
#include "symbols/storednames.h"

#include <dirent.h>
#include <err.h>
#include <inttypes.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

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
    return text_ends(name, RUN_FILE_SUFFIX);
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

static int run_rank_order(const void *one, const void *other)
{
    const struct run_header *a = &((const struct run_reader *)one)->header;
    const struct run_header *b = &((const struct run_reader *)other)->header;
    return ORDER(a->world_rank, b->world_rank) ?: ORDER(run_rank(a), run_rank(b)) ?: ORDER(a->pid, b->pid);
}

bool run_trace_is_brief(const struct run_header *header)
{
    return header->trace_policy == TRACE_BRIEF && header->traced == TRACED_WHOLE && run_ended_well(header) &&
           !header->samples_hz && !header->apart;
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
        summary_sums_add_file(&sums, file, true);
        run_job_tallies_rest(job, i);
    }
    return summary_sums_end(&sums);
}

/* Adds the processes from summaries and the processes with run files. Each process is in one of the two. */
static void job_summarize(struct run_job *job)
{
    if (job->file_count > 1)
        qsort(job->files, job->file_count, sizeof *job->files, run_rank_order);
    job->stored = summary_sums_take(&job->stored_sums);
    job->summary = job->file_count ? summary_sums_take(&job->sums) : job->stored;
    if (job->summary && job->file_count) {
        job->summary->job = job->job;
        summary_sites_trim(job->summary, SUMMARY_SITES_MAX);
        if (site_names_find(job->summary, job->names) != 0 ||
            (job->stored && summary_merge(job->summary, job->stored) != 0))
            err(1, "no memory");
    }
    if (job->summary && site_places_mark(&job->summary->sites) != 0)
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
    nobody->timed = job->part && job->part->rows ? job->summary->timed : 1;
    memcpy(nobody->program, job->summary->program, sizeof nobody->program);
    memcpy(nobody->mpi, job->summary->mpi, sizeof nobody->mpi);
    return nobody;
}

void run_job_summarize(struct run_job *job)
{
    struct summary *part = files_summary(job);
    if (!part)
        part = nobody_summary(job);
    else if (site_names_find(part, job->names) != 0 || site_places_mark(&part->sites) != 0)
        err(1, "no memory");
    summary_drop(job);
    job->summary = part;
}

/* Traces and samples are read with all files of their job. */
static void job_unpark(struct run_job *job)
{
    bool whole = run_job_has_trace(job);
    for (size_t i = 0; i < job->file_count && !whole; i++)
        whole = job->files[i].header.samples_hz;
    for (size_t i = 0; i < job->file_count && whole; i++)
        if (run_reader_is_parked(&job->files[i]))
            run_reader_rest(run_job_file(job, i));
}

int run_dir_open(struct run_dir *dir, const char *path, char error[512])
{
    enum { TRIES = 5 };
    int result = -1;
    packed_enable();
    for (int i = 0; i < TRIES; i++) { /* results may arrive from the spool during the two reads */
        long before = run_dir_count(path);
        if (i)
            run_dir_close(dir);
        result = run_pieces_read(dir, path, error);
        if (!dir->vanished && (dir->named || before == run_dir_count(path)))
            break;
        if (dir->vanished)
            nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    }
    if (result != 0)
        return -1;
    for (size_t i = 0; i < dir->job_count; i++) {
        run_pieces_read_names(dir, &dir->jobs[i]);
        job_summarize(&dir->jobs[i]);
        job_unpark(&dir->jobs[i]);
    }
    for (size_t i = 0; !dir->named && i < dir->job_count; i++)
        job_note(dir, &dir->jobs[i]);
    if (dir->job_count == 0) {
        snprintf(error, 512, "nothing in %.300s can be read", path);
        return -1;
    }
    return 0;
}

static bool some_are_missing(const struct run_dir *dir)
{
    char ranks[MISSING_TEXT_BYTES];
    for (size_t i = 0; i < dir->job_count; i++)
        if (run_job_ranks_missing(&dir->jobs[i], ranks))
            return true;
    return false;
}

/* Returns whether the number of files has changed before that time. */
static bool files_await(const char *path, long before, uint64_t until_ns)
{
    enum { LOOK_NS = 50000000 };
    while (run_dir_count(path) == before && monotonic_ns() < until_ns)
        nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
    return run_dir_count(path) != before;
}

int run_dir_open_whole(struct run_dir *dir, const char *path, int wait_ms, char error[512])
{
    uint64_t wait_ns = (uint64_t)wait_ms * 1000000, end_ns = monotonic_ns() + RUN_DIR_WAITS * wait_ns;
    long before = run_dir_count(path);
    int opened = run_dir_open(dir, path, error);
    while (opened == 0 && monotonic_ns() < end_ns && some_are_missing(dir) &&
           files_await(path, before, monotonic_ns() + wait_ns)) {
        run_dir_close(dir);
        before = run_dir_count(path);
        opened = run_dir_open(dir, path, error);
    }
    return opened;
}

static void pieces_release(struct run_piece *pieces, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(pieces[i].path);
    free(pieces);
}

void run_dir_close(struct run_dir *dir)
{
    for (size_t i = 0; i < dir->job_count; i++) {
        struct run_job *job = &dir->jobs[i];
        for (size_t k = 0; k < job->file_count; k++)
            run_reader_close(&job->files[k]);
        free(job->files);
        free(job->ranks);
        pieces_release(job->pieces, job->piece_count);
        stored_names_close(job->names);
        summary_drop(job);
        job->summary = summary_sums_take(&job->sums); /* it was not asked for */
        summary_drop(job);
        if (job->stored_sums) /* likewise */
            job->stored = summary_sums_take(&job->stored_sums);
        if (job->stored) {
            summary_release(job->stored);
            free(job->stored);
        }
    }
    for (size_t i = 0; i < dir->problem_count; i++)
        free(dir->problems[i]);
    for (size_t i = 0; i < dir->note_count; i++)
        free(dir->notes[i]);
    pieces_release(dir->spares, dir->spare_count);
    for (size_t i = 0; i < dir->unnamed_count; i++)
        close(dir->unnamed[i]);
    free(dir->unnamed);
    tdestroy(dir->numbers, free);
    tdestroy(dir->processes, free);
    free(dir->problems);
    free(dir->notes);
    free(dir->jobs);
    free(dir->path);
    *dir = (struct run_dir){0};
}
