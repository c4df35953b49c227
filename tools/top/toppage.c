#include "top/toppage.h"

#include "base/array.h"
#include "base/ranklist.h"
#include "base/units.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void top_call_text(char *text, size_t bytes, const struct top_call *call)
{
    char since[UNIT_TEXT_BYTES];
    if (!call->name[0]) {
        snprintf(text, bytes, "%s%s", call->where[0] ? "after " : "-", call->where);
        return;
    }
    int n = snprintf(text, bytes, "%s", call->name);
    if (call->since_ns >= 1000000 && (size_t)n < bytes)
        n += snprintf(text + n, bytes - (size_t)n, " for %s", text_of_ns(since, call->since_ns));
    if (call->peer >= 0 && (size_t)n < bytes)
        n += snprintf(text + n, bytes - (size_t)n, ", %s %" PRId32,
                      call->kind < CALL_COUNT && call_table[call->kind].class == CLASS_COLLECTIVE ? "root" : "peer",
                      call->peer);
    if (call->comm[0] && (size_t)n < bytes)
        n += snprintf(text + n, bytes - (size_t)n, ", on %s", call->comm);
    if (call->where[0] && (size_t)n < bytes)
        snprintf(text + n, bytes - (size_t)n, ", at %s", call->where);
}

bool top_view_wants(const struct top_view *view, int32_t rank, const char *text)
{
    if (view->ranks && !rank_list_has(view->ranks, rank))
        return false;
    if (!view->filter[0])
        return true;
    return rank_list_is_good(view->filter) ? rank_list_has(view->filter, rank) : strcasestr(text, view->filter) != NULL;
}

/* ---- pages ------------------------------------------------------------------------------------------------------- */

void top_page_clear(struct top_page *page)
{
    for (size_t i = 0; i < page->count; i++)
        free(page->rows[i].text);
    free(page->rows);
    page->rows = NULL;
    page->count = page->head = page->column_count = 0;
    page->sorted[0] = '\0';
}

/* Takes over the text, which may be NULL. A row less is shown without memory. */
static void page_row_add(struct top_page *page, uint64_t first, uint64_t second, char *text)
{
    if (text && ARRAY_GROWN(page->rows, page->count))
        page->rows[page->count++] = (struct top_row){text, {first, second}};
    else
        free(text);
}

void top_page_add(struct top_page *page, uint64_t first, uint64_t second, const char *format, ...)
{
    char *whole = NULL, *text = NULL, dots[4];
    va_list args;
    va_start(args, format);
    int made = vasprintf(&whole, format, args);
    va_end(args);
    if (made < 0)
        return;
    size_t bytes = top_text_cut(whole, page->width, dots);
    made = asprintf(&text, "%.*s%s", (int)bytes, whole, dots);
    free(whole);
    page_row_add(page, first, second, made < 0 ? NULL : text);
}

/* Returns the last blank at `end` or before, or the last one behind a comma. 0: there is none. */
static size_t blank_before(const char *text, size_t end, bool after_comma)
{
    while (end > 0 && !(text[end] == ' ' && (!after_comma || text[end - 1] == ',')))
        end--;
    return end;
}

/* Returns how many bytes of a text fit, up to a blank if there is one. The end of a part is better. */
static size_t line_fitting(const char *text, int columns)
{
    size_t fits = top_text_fitting(text, columns);
    if (!text[fits])
        return fits;
    size_t part = blank_before(text, fits, true), word = blank_before(text, fits, false);
    if (part > fits / 2)
        return part;
    return word ? word : fits ? fits : 1;
}

void top_page_wrap(struct top_page *page, enum top_style style, int indent, const char *text)
{
    for (int before = 0; *text; before = indent < page->width / 2 ? indent : 0) {
        size_t bytes = line_fitting(text, page->width - before);
        char *row = NULL;
        page_row_add(page, 0, 0, asprintf(&row, "%c%*s%.*s", style, before, "", (int)bytes, text) < 0 ? NULL : row);
        text += bytes;
        while (*text == ' ')
            text++;
    }
}

void top_page_print(const struct top_page *page, FILE *out)
{
    for (size_t i = 0; i < page->count; i++) {
        size_t end = 0, at = 0;
        char *plain = page->rows[i].text;
        for (; plain[at]; at++)
            if ((unsigned char)plain[at] >= STYLE_END)
                plain[end++] = plain[at];
        while (end && plain[end - 1] == ' ')
            end--;
        plain[end] = '\0';
        fprintf(out, "%s\n", plain);
    }
}

/* ---- what is looked at ------------------------------------------------------------------------------------------- */

void top_view_choose(struct top_view *view, const struct top_job *job)
{
    view->chosen = true;
    view->job = job->job;
    view->job_pid = job->rank_count ? job->ranks[0]->pid : 0;
}

struct top_job *top_view_job(const struct top_view *view, const struct top_model *model)
{
    for (size_t i = 0; view->chosen && i < model->job_count; i++)
        if (model->jobs[i].job == view->job)
            return &model->jobs[i];
    return NULL;
}

/* A process that was in MPI_Init has a job now. */
static const struct top_job *job_of_process(const struct top_model *model, uint32_t pid)
{
    for (size_t i = 0; i < model->job_count; i++)
        for (size_t k = 0; k < model->jobs[i].rank_count; k++)
            if (model->jobs[i].ranks[k]->pid == pid)
                return &model->jobs[i];
    return NULL;
}

void top_view_follow(struct top_view *view, const struct top_model *model)
{
    const struct top_job *job = top_view_job(view, model);
    if (view->chosen && !view->job)
        job = job_of_process(model, view->job_pid);
    view->direct = view->direct && model->job_count <= 1;
    if (!job && view->direct && model->job_count)
        job = &model->jobs[0];
    if (job) {
        if (view->kind == VIEW_JOBS && !view->chosen)
            view->kind = VIEW_RANKS;
        top_view_choose(view, job);
    } else if (view->chosen) {
        view->chosen = view->reverse = false;
        view->sort = -1;
        view->filter[0] = '\0';
    }
}

struct top_rank *top_view_rank(const struct top_view *view, const struct top_job *job)
{
    for (size_t i = 0; i < job->rank_count; i++)
        if (memcmp(job->ranks[i]->keyed.key, view->focus.key, sizeof view->focus.key) == 0)
            return job->ranks[i];
    return NULL;
}

/* ---- head of a job ----------------------------------------------------------------------------------------------- */

enum { LINE_BYTES = 1024, HEAD_PROGRAM_COLUMNS = 30, SHORT_PAGE_LINES = 12, CIRCLE_LINES = 3 };

static void head_program(char text[LINE_BYTES], const struct top_job *job)
{
    const char *name = top_job_program(job);
    char dots[4];
    size_t bytes = top_text_cut(name, HEAD_PROGRAM_COLUMNS, dots);
    snprintf(text, LINE_BYTES, "%c%.*s%s%c", STYLE_TITLE, (int)bytes, name, dots, STYLE_PLAIN);
}

static void head_ranks(char text[LINE_BYTES], const struct top_job *job)
{
    char dead[40] = "", missing[40] = "";
    if (job->dead)
        snprintf(dead, sizeof dead, ", %c%zu dead%c", STYLE_BAD, job->dead, STYLE_PLAIN);
    if (job->world_size > 0 && (size_t)job->world_size > job->rank_count)
        snprintf(missing, sizeof missing, ", %zu not seen", (size_t)job->world_size - job->rank_count);
    snprintf(text, LINE_BYTES, "%zu of %" PRId32 " ranks running%s%s%s", job->running,
             job->world_size > 0 ? job->world_size : (int32_t)job->rank_count, missing, dead,
             job->alive && job->running ? "" : ", ended");
}

static void head_job(struct top_page *page, const struct top_job *job)
{
    char line[LINE_BYTES], program[LINE_BYTES], ranks[LINE_BYTES],
        owner[USER_BYTES + 8] = "", mpi[40], launcher[40] = "", time[UNIT_TEXT_BYTES];
    head_program(program, job);
    head_ranks(ranks, job);
    if (job->user[0] && !job->own)
        snprintf(owner, sizeof owner, "of %s", job->user);
    snprintf(mpi, sizeof mpi, "%.*s", (int)strcspn(job->mpi, ",\n\t"), job->mpi);
    for (char *at = mpi; *at; at++)
        *at = (unsigned char)*at < ' ' ? ' ' : *at;
    if (job->launcher)
        snprintf(launcher, sizeof launcher, "launcher %" PRIu32, job->launcher);
    const struct top_part parts[] = {
        {program, 1}, {owner, 3},    {ranks, 2},         {text_of_ns(time, job->run_ns), 4},
        {mpi, 6},     {launcher, 5}, {job->directory, 7}};
    top_parts_join(line, sizeof line, page->width, parts, sizeof parts / sizeof *parts);
    top_page_add(page, 0, 0, "%s", line);
}

static void head_rates(struct top_page *page, const struct top_job *job)
{
    char line[LINE_BYTES], bar[80] = "", shares[80], sent[48], bytes[48], colls[48], number[TOP_NUMBER_BYTES];
    const struct top_rates *rates = &job->rates;
    if (!job->timed)
        snprintf(shares, sizeof shares, "MPI: times are not measured");
    else if (!job->sharing)
        snprintf(shares, sizeof shares, "MPI -");
    else if (job->stall_known)
        snprintf(shares, sizeof shares, "MPI %.1f %% (# work %.1f, | stalled %.1f)", 100 * rates->mpi,
                 100 * rates->work, 100 * rates->stall);
    else
        snprintf(shares, sizeof shares, "MPI %.1f %%", 100 * rates->mpi);
    if (job->sharing)
        top_bar(bar, sizeof bar, page->width >= 100 ? 24 : 12, rates->work, rates->stall);
    snprintf(sent, sizeof sent, "sent/s %s", top_number(number, rates->sent));
    snprintf(bytes, sizeof bytes, "sent B/s %s", top_bytes(number, rates->sent_bytes));
    snprintf(colls, sizeof colls, "coll/s %s", top_number(number, rates->colls));
    const struct top_part parts[] = {{shares, 1}, {bar, 5}, {sent, 2}, {bytes, 4}, {colls, 3}};
    top_parts_join(line, sizeof line, page->width, parts, sizeof parts / sizeof *parts);
    top_page_add(page, 0, 0, "%s", line);
}

/* So long without a pass is told. */
#define NO_PASS_NS UINT64_C(5000000000)

/* If no rank computes for more than this part of the interval, the load balance is noise. */
#define USEFUL_LEAST 0.001

static void head_efficiency(struct top_page *page, const struct top_job *job)
{
    const struct efficiency *is = &job->efficiency;
    char a[UNIT_TEXT_BYTES], b[UNIT_TEXT_BYTES], c[UNIT_TEXT_BYTES];
    if (!is->known)
        return;
    if (is->communication >= USEFUL_LEAST)
        top_page_add(page, 0, 0, "efficiency %s = load balance %s x communication %s",
                     text_of_share(a, is->parallel, 1), text_of_share(b, is->load_balance, 1),
                     text_of_share(c, is->communication, 1));
    if (job->finding[0])
        top_page_add(page, 0, 0, "%c%s%c", STYLE_TITLE, job->finding, STYLE_PLAIN);
}

static void head_passes(struct top_page *page, const struct top_job *job)
{
    char count[UNIT_TEXT_BYTES], rate[TOP_NUMBER_BYTES], time[UNIT_TEXT_BYTES],
        of[UNIT_TEXT_BYTES + 8] = "", rest[UNIT_TEXT_BYTES + 16] = "";
    if (!job->passes.place)
        return;
    text_of_count(count, job->passes.count);
    if (job->passes_wanted)
        snprintf(of, sizeof of, " of %s", text_of_count(time, job->passes_wanted));
    if (top_job_rest_ns(job))
        snprintf(rest, sizeof rest, ", the last in %s", text_of_ns(time, top_job_rest_ns(job)));
    if (job->passes.none_ns >= NO_PASS_NS)
        top_page_add(page, 0, 0, "passes %s%s, none for %s", count, of, text_of_ns(time, job->passes.none_ns));
    else
        top_page_add(page, 0, 0, "passes %s%s, %s a second%s", count, of, top_number(rate, job->passes.per_second),
                     rest);
}

enum { PAST_LEAST = 10, PAST_LABEL_COLUMNS = 24 };

/* The share in MPI in the last minutes: a character an interval, the newest at the right end. */
static void head_past(struct top_page *page, const struct top_job *job)
{
    static const char *const levels[2][8] = {
        {"1", "2", "3", "4", "5", "6", "7", "8"},
        {"\u2581", "\u2582", "\u2583", "\u2584", "\u2585", "\u2586", "\u2587", "\u2588"}};
    const struct top_past *past = &job->past;
    char strip[TOP_PAST * 4] = "", since[UNIT_TEXT_BYTES];
    size_t most = past->count < TOP_PAST ? past->count : TOP_PAST, used = 0;
    size_t columns = page->width > PAST_LABEL_COLUMNS ? (size_t)(page->width - PAST_LABEL_COLUMNS) : 0;
    size_t shown = most < columns ? most : columns;
    if (shown < PAST_LEAST)
        return;
    for (size_t i = past->count - shown; i < past->count; i++) {
        float share = past->share[i % TOP_PAST];
        int level = share >= 1 ? 7 : share > 0 ? (int)(share * 8) : 0;
        used += (size_t)snprintf(strip + used, sizeof strip - used, "%s", levels[text_is_utf8()][level]);
    }
    uint64_t begin = past->since_ns[(past->count - shown) % TOP_PAST],
             ns = job->run_ns > begin ? job->run_ns - begin : 0;
    top_page_add(page, 0, 0, "MPI, last %s %c%s%c", text_of_ns(since, ns), STYLE_WORK, strip, STYLE_PLAIN);
}

static void head_add(struct top_page *page, const struct top_job *job)
{
    head_job(page, job);
    head_rates(page, job);
    if (!page->height || page->height >= SHORT_PAGE_LINES) {
        head_efficiency(page, job);
        head_passes(page, job);
        head_past(page, job);
    }
    const char *why = job->mismatch[0] ? job->mismatch : job->circle;
    char text[TOP_WAITS_BYTES + 4], dots[4];
    size_t bytes = top_text_cut(why, CIRCLE_LINES * page->width - CIRCLE_LINES, dots);
    snprintf(text, sizeof text, "%.*s%s", (int)bytes, why, dots);
    top_page_wrap(page, STYLE_BAD, 0, text);
}

/* ---- the page ---------------------------------------------------------------------------------------------------- */

static void help_add(struct top_page *page)
{
    static const char *const lines[] = {
        "j  all jobs       r  ranks       c  communicators       s  sizes of messages",
        "w  where: places in the program         v  variables",
        "h, ?  this help                         q  quit",
        "up, down, page up, page down, home, end: choose a row",
        "enter: open the job, rank or communicator.   escape, backspace: back",
        "<  >  sort by another column            R  reverse the order",
        "/  filter: ranks (0,4-7) or a part of the text.   Empty: no filter",
        "p, space  pause                         +  -  shorter or longer interval",
        "k  send a signal to the chosen rank (it asks which)",
        "",
        "MPI %      share of time in MPI calls, of all threads that have called MPI",
        "work %     share of time at work in MPI",
        "stalled %  share of time in which MPI found nothing to do: it waited",
        "bars       # work   | stalled   . outside of MPI",
        "sent/s     messages sent in a second, counted when they are posted",
        "recv/s     messages received in a second, counted when they are complete",
        "efficiency share of the last interval outside of MPI, mean of the ranks. It is",
        "load balance (mean / longest rank) x communication (longest rank / interval)",
    };
    page->head = page->count;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (lines[i][0])
            top_page_wrap(page, STYLE_PLAIN, 11, lines[i]);
        else
            top_page_add(page, 0, 0, "%s", "");
}

static void job_views_add(struct top_page *page, const struct top_view *view, const struct top_job *job,
                          struct call_places *places)
{
    switch (view->kind) {
    case VIEW_COMMS:
        top_comms_add(page, view, job);
        break;
    case VIEW_SIZES:
        top_sizes_add(page, view, job);
        break;
    case VIEW_COMM:
        top_comm_add(page, view, job);
        break;
    case VIEW_RANK:
        top_rank_add(page, view, job);
        break;
    case VIEW_VALUES:
        top_values_add(page, view, job);
        break;
    case VIEW_SITES:
        top_sites_add(page, view, job, places);
        break;
    default:
        top_ranks_add(page, view, job);
        break;
    }
}

void top_page_make(struct top_page *page, struct top_view *view, struct top_model *model)
{
    struct top_job *job = top_view_job(view, model);
    top_page_clear(page);
    if (view->kind == VIEW_HELP) {
        help_add(page);
        return;
    }
    if (!job)
        view->kind = VIEW_JOBS;
    if (view->message || !model->job_count) {
        top_page_wrap(page, STYLE_PLAIN, 0,
                      view->message ? view->message : "no job of yours runs with mpit on this node");
        return;
    }
    if (job)
        head_add(page, job);
    if (view->filter[0] || view->paused)
        top_page_add(page, 0, 0, "%c%s%s%s%c", STYLE_STALL, view->paused ? "paused " : "",
                     view->filter[0] ? "only: " : "", view->filter, STYLE_PLAIN);
    if (job)
        job_views_add(page, view, job, model->places);
    else
        top_jobs_add(page, view, model);
}
