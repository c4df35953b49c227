#include "top/toppage.h"

#include "base/array.h"
#include "base/units.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void job_program_text(const void *item, char *text, size_t bytes)
{
    const struct top_job *job = item;
    bool foreign = job->user[0] && !job->own;
    snprintf(text, bytes, "%s%s%s%s", top_job_program(job), foreign ? " (" : "", foreign ? job->user : "",
             foreign ? ")" : "");
}

/* The time of today, or the date. */
static void job_begin_text(const void *item, char *text, size_t bytes)
{
    time_t begin = (time_t)(((const struct top_job *)item)->begin_ns / 1000000000), now = time(NULL);
    struct tm local, today;
    snprintf(text, bytes, "-");
    if (!begin || !localtime_r(&begin, &local) || !localtime_r(&now, &today))
        return;
    bool same = local.tm_yday == today.tm_yday && local.tm_year == today.tm_year;
    strftime(text, bytes, same ? "%H:%M:%S" : "%Y-%m-%d", &local);
}

static void job_ranks_text(const void *item, char *text, size_t bytes)
{
    const struct top_job *job = item;
    size_t size = job->world_size > 0 ? (size_t)job->world_size : job->rank_count;
    if (job->running == size)
        snprintf(text, bytes, "%zu", size);
    else
        snprintf(text, bytes, "%zu of %zu", job->running, size);
}

static bool job_has_launcher(const void *item)
{
    return ((const struct top_job *)item)->launcher;
}

static bool job_has_shares(const void *item)
{
    return ((const struct top_job *)item)->sharing;
}

static bool job_knows_stalls(const void *item)
{
    return job_has_shares(item) && ((const struct top_job *)item)->stall_known;
}

static bool job_has_efficiency(const void *item)
{
    return ((const struct top_job *)item)->efficiency.known;
}

/* "MPI_Recv 5.7 s, rank 3" */
static void job_call_text(const void *item, char *text, size_t bytes)
{
    const struct top_job *job = item;
    char dead[40] = "", since[UNIT_TEXT_BYTES], rank[24] = "";
    const struct top_rank *longest = job->longest;
    if (job->dead)
        snprintf(dead, sizeof dead, "%c%zu dead%c", STYLE_BAD, job->dead, STYLE_PLAIN);
    if (!job->alive || !job->running) {
        snprintf(text, bytes, "%s%sended", dead, dead[0] ? ", " : "");
        return;
    }
    if (!longest) {
        snprintf(text, bytes, "%s", dead[0] ? dead : "-");
        return;
    }
    const struct top_call *call = &longest->busy->call;
    bool hangs = call->since_ns >= TOP_LONG_NS && longest->state == TOP_RUNNING;
    if (longest->rank >= 0 && job->rank_count > 1)
        snprintf(rank, sizeof rank, ", rank %" PRId32, longest->rank);
    snprintf(text, bytes, "%s%s%c%s %s%s%c", dead, dead[0] ? ", " : "", hangs ? STYLE_STALL : STYLE_PLAIN, call->name,
             text_of_ns(since, call->since_ns), rank, STYLE_PLAIN);
}

COLUMN_TEXT(job_directory_text, struct top_job, "%s", item->directory[0] ? item->directory : "-")

#define JOB(how, field) FIGURE(how, struct top_job, field)

static const struct top_column columns[] = {
    {"program", 14, 1, true, .text = job_program_text},
    {"launcher", 8, 2, false, JOB(FORM_INTEGER, launcher), .known = job_has_launcher, .rising = true},
    {"start", 8, 3, false, .text = job_begin_text, JOB(FORM_NS, begin_ns)},
    {"ranks", 5, 2, false, .text = job_ranks_text, JOB(FORM_INTEGER, running)},
    {"MPI %", 5, 1, false, JOB(FORM_SHARE, rates.mpi), .known = job_has_shares},
    {"stalled %", 9, 2, false, JOB(FORM_SHARE, rates.stall), .known = job_knows_stalls},
    {"efficiency %", 12, 6, false, JOB(FORM_SHARE, efficiency.parallel), .known = job_has_efficiency, .rising = true},
    {"longest call", 24, 4, true, .text = job_call_text, JOB(FORM_NS, longest_ns)},
    {"directory", 24, 5, true, .text = job_directory_text},
};

/* The newest first. */
static int top_job_order(const void *one, const void *other)
{
    const struct top_job *a = *(const struct top_job *const *)one, *b = *(const struct top_job *const *)other;
    return ORDER(b->begin_ns, a->begin_ns) ?: ORDER(a->job, b->job);
}

static bool job_matches(const struct top_view *view, const struct top_job *job)
{
    char program[512];
    job_program_text(job, program, sizeof program);
    return !view->filter[0] || strcasestr(program, view->filter) || strcasestr(job->directory, view->filter);
}

void top_jobs_add(struct top_page *page, const struct top_view *view, const struct top_model *model)
{
    const void **items = calloc(model->job_count + 1, sizeof *items);
    size_t count = 0;
    for (size_t i = 0; items && i < model->job_count; i++)
        if (job_matches(view, &model->jobs[i]))
            items[count++] = &model->jobs[i];
    if (count)
        qsort(items, count, sizeof *items, top_job_order);
    if (items)
        top_table_add(page, view, columns, sizeof columns / sizeof *columns, items, count);
    free(items);
}

struct top_job *top_job_of_key(const struct top_model *model, const uint64_t key[2])
{
    for (size_t i = 0; key[1] == 1 && i < model->job_count; i++)
        if (model->jobs[i].job == key[0])
            return &model->jobs[i];
    return NULL;
}
