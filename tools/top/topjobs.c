#define _GNU_SOURCE
#include "top/toppage.h"

#include "base/units.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A row for a job. */
struct job_row {
    struct keyed keyed; /* its number, 1 */
    const struct top_job *job;
};

static const struct top_job *top_job_of(const void *item)
{
    return ((const struct job_row *)item)->job;
}

static void job_program_text(const void *item, char *text, size_t bytes)
{
    const struct top_job *job = top_job_of(item);
    const char *slash = strrchr(job->program, '/');
    const char *program = slash && slash[1] ? slash + 1 : job->program[0] ? job->program : "(starting)";
    snprintf(text, bytes, "%s%s%s%s", program, job->user[0] && !job->own ? " (" : "",
             job->user[0] && !job->own ? job->user : "", job->user[0] && !job->own ? ")" : "");
}

static void job_launcher_text(const void *item, char *text, size_t bytes)
{
    if (top_job_of(item)->launcher)
        snprintf(text, bytes, "%" PRIu32, top_job_of(item)->launcher);
    else
        snprintf(text, bytes, "-");
}

static double launcher_key(const void *item)
{
    return top_job_of(item)->launcher;
}

/* The time of today, or the date. */
static void job_begin_text(const void *item, char *text, size_t bytes)
{
    time_t begin = (time_t)(top_job_of(item)->begin_ns / 1000000000), now = time(NULL);
    struct tm local, today;
    snprintf(text, bytes, "-");
    if (!begin || !localtime_r(&begin, &local) || !localtime_r(&now, &today))
        return;
    bool same = local.tm_yday == today.tm_yday && local.tm_year == today.tm_year;
    strftime(text, bytes, same ? "%H:%M:%S" : "%Y-%m-%d", &local);
}

static double begin_key(const void *item)
{
    return -(double)top_job_of(item)->begin_ns;
}

static void job_ranks_text(const void *item, char *text, size_t bytes)
{
    const struct top_job *job = top_job_of(item);
    size_t size = job->world_size > 0 ? (size_t)job->world_size : job->rank_count;
    if (job->running == size)
        snprintf(text, bytes, "%zu", size);
    else
        snprintf(text, bytes, "%zu of %zu", job->running, size);
}

static double jobs_ranks_key(const void *item)
{
    return -(double)top_job_of(item)->running;
}

static void job_share_text(bool known, double share, char *text, size_t bytes)
{
    if (known)
        snprintf(text, bytes, "%.1f", 100 * share);
    else
        snprintf(text, bytes, "-");
}

static void job_mpi_text(const void *item, char *text, size_t bytes)
{
    job_share_text(top_job_of(item)->sharing, top_job_of(item)->rates.mpi, text, bytes);
}

static double mpi_key(const void *item)
{
    return -top_job_of(item)->rates.mpi;
}

static void job_stall_text(const void *item, char *text, size_t bytes)
{
    const struct top_job *job = top_job_of(item);
    job_share_text(job->sharing && job->stall_known, job->rates.stall, text, bytes);
}

static double stall_key(const void *item)
{
    return -top_job_of(item)->rates.stall;
}

static void job_efficiency_text(const void *item, char *text, size_t bytes)
{
    job_share_text(top_job_of(item)->efficiency.known, top_job_of(item)->efficiency.parallel, text, bytes);
}

static double efficiency_key(const void *item)
{
    return top_job_of(item)->efficiency.parallel;
}

/* "MPI_Recv 5.7 s, rank 3" */
static void job_call_text(const void *item, char *text, size_t bytes)
{
    const struct top_job *job = top_job_of(item);
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

static double call_key(const void *item)
{
    const struct top_rank *longest = top_job_of(item)->longest;
    return longest ? -(double)longest->busy->call.since_ns : 1;
}

static void job_directory_text(const void *item, char *text, size_t bytes)
{
    snprintf(text, bytes, "%s", top_job_of(item)->directory[0] ? top_job_of(item)->directory : "-");
}

static const struct top_column columns[] = {
    {"program", 14, 1, true, .text = job_program_text},
    {"launcher", 8, 2, false, .text = job_launcher_text, .key = launcher_key},
    {"start", 8, 3, false, .text = job_begin_text, .key = begin_key},
    {"ranks", 5, 2, false, .text = job_ranks_text, .key = jobs_ranks_key},
    {"MPI %", 5, 1, false, .text = job_mpi_text, .key = mpi_key},
    {"stalled %", 9, 2, false, .text = job_stall_text, .key = stall_key},
    {"efficiency %", 12, 6, false, .text = job_efficiency_text, .key = efficiency_key},
    {"longest call", 24, 4, true, .text = job_call_text, .key = call_key},
    {"directory", 24, 5, true, .text = job_directory_text},
};

/* The newest first. */
static int top_job_order(const void *one, const void *other)
{
    const struct top_job *a = top_job_of(*(const void *const *)one), *b = top_job_of(*(const void *const *)other);
    if (a->begin_ns != b->begin_ns)
        return a->begin_ns > b->begin_ns ? -1 : 1;
    return (a->job > b->job) - (a->job < b->job);
}

static bool job_matches(const struct top_view *view, const struct job_row *row)
{
    char program[512];
    job_program_text(row, program, sizeof program);
    return !view->filter[0] || strcasestr(program, view->filter) || strcasestr(row->job->directory, view->filter);
}

void top_jobs_add(struct top_page *page, const struct top_view *view, const struct top_model *model)
{
    struct job_row *rows = calloc(model->job_count + 1, sizeof *rows);
    const void **items = calloc(model->job_count + 1, sizeof *items);
    size_t count = 0;
    for (size_t i = 0; rows && items && i < model->job_count; i++) {
        rows[i] = (struct job_row){.keyed = {.key = {model->jobs[i].job, 1}}, .job = &model->jobs[i]};
        if (job_matches(view, &rows[i]))
            items[count++] = &rows[i];
    }
    if (count)
        qsort(items, count, sizeof *items, top_job_order);
    if (rows && items)
        top_table_add(page, view, columns, sizeof columns / sizeof *columns, items, count);
    free(rows);
    free(items);
}

struct top_job *top_job_of_key(const struct top_model *model, const uint64_t key[2])
{
    for (size_t i = 0; key[1] == 1 && i < model->job_count; i++)
        if (model->jobs[i].job == key[0])
            return &model->jobs[i];
    return NULL;
}
