#include "job/runjobs.h"

#include "base/array.h"

#include <search.h>
#include <stdlib.h>

/* An entry of dir->numbers: the index of a job's number. */
struct job_place {
    uint64_t job;
    size_t place;
};

static int job_place_order(const void *one, const void *other)
{
    const struct job_place *a = one, *b = other;
    return ORDER(a->job, b->job);
}

struct run_job *run_job_numbered(struct run_dir *dir, uint64_t number)
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

static bool job_has_rank(const struct run_job *job, int32_t rank)
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
        if (job_has_rank(job, rows[i].rank))
            return true;
    return false;
}

struct run_job *run_job_of(struct run_dir *dir, uint64_t number, struct run_span span, const struct summary_row *rows,
                           size_t count)
{
    struct run_job *job = run_job_numbered(dir, number);
    while (is_apart(job, span, rows, count))
        job = run_job_numbered(dir, ++number);
    job->span.begin = span.begin < job->span.begin ? span.begin : job->span.begin;
    job->span.end = span.end > job->span.end ? span.end : job->span.end;
    for (size_t i = 0; i < count; i++)
        rank_note(job, rows[i].rank);
    return job;
}
