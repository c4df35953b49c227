#define _GNU_SOURCE
#include "top/toppage.h"

#include "base/array.h"
#include "base/ranklist.h"
#include "base/units.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

/* ---- texts --------------------------------------------------------------------------------------------------------
 */

/* Returns the columns of the character at *text, and moves *text past it. A character outside the locale becomes one
 * '?'. */
static int character_columns(const char **text)
{
    wchar_t wide;
    mbstate_t state = {0};
    if ((unsigned char)**text < STYLE_END) {
        (*text)++;
        return 0;
    }
    size_t n = mbrtowc(&wide, *text, strlen(*text), &state);
    int width = n == 0 || n > 8 ? -1 : wcwidth(wide);
    *text += n == 0 || n > 8 ? 1 : n;
    return width < 0 ? 1 : width;
}

int top_text_columns(const char *text)
{
    int columns = 0;
    while (*text)
        columns += character_columns(&text);
    return columns;
}

size_t top_text_fitting(const char *text, int columns)
{
    const char *at = text;
    for (int used = 0; *at;) {
        const char *next = at;
        used += character_columns(&next);
        if (used > columns)
            break;
        at = next;
    }
    return (size_t)(at - text);
}

const char *top_number(char text[TOP_NUMBER_BYTES], double value)
{
    static const char *const units[] = {"", "k", "M", "G", "T", "P", "E"};
    size_t unit = 0;
    if (value > 0 && value < 0.005) {
        snprintf(text, TOP_NUMBER_BYTES, "<.01");
        return text;
    }
    while (value >= 999.5 && unit + 1 < sizeof units / sizeof *units) {
        value /= 1000;
        unit++;
    }
    int decimals = value == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
    snprintf(text, TOP_NUMBER_BYTES, "%.*f%s", decimals, value, units[unit]);
    return text;
}

const char *top_bar(char *text, size_t bytes, int columns, double work, double stall)
{
    int working = (int)(work * columns + 0.5), both = (int)((work + stall) * columns + 0.5), at = 0;
    if ((size_t)columns + 4 >= bytes)
        columns = (int)bytes - 5;
    text[at++] = STYLE_WORK;
    for (int i = 0; i < columns; i++) {
        if (i == working)
            text[at++] = STYLE_STALL;
        if (i == both)
            text[at++] = STYLE_DIM;
        text[at++] = i < working ? '#' : i < both ? '|' : '.';
    }
    text[at++] = STYLE_PLAIN;
    text[at] = '\0';
    return text;
}

void top_call_text(char *text, size_t bytes, const struct top_call *call)
{
    char since[UNIT_TEXT_BYTES];
    if (!call->name[0]) {
        snprintf(text, bytes, "-");
        return;
    }
    int n = snprintf(text, bytes, "%s", call->name);
    if (call->since_ns >= 1000000 && (size_t)n < bytes)
        n += snprintf(text + n, bytes - (size_t)n, " for %s", text_of_ns(since, call->since_ns));
    if (call->peer >= 0 && (size_t)n < bytes)
        n += snprintf(text + n, bytes - (size_t)n, ", peer %" PRId32, call->peer);
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

/* ---- pages --------------------------------------------------------------------------------------------------------
 */

void top_page_clear(struct top_page *page)
{
    for (size_t i = 0; i < page->count; i++)
        free(page->rows[i].text);
    free(page->rows);
    page->rows = NULL;
    page->count = page->head = 0;
}

void top_page_add(struct top_page *page, uint64_t first, uint64_t second, const char *format, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, format);
    int made = vasprintf(&text, format, args);
    va_end(args);
    struct top_row *rows = array_grow(page->rows, page->count, sizeof *rows);
    if (rows)
        page->rows = rows;
    if (made < 0 || !rows) { /* one row less is shown */
        free(made < 0 ? NULL : text);
        return;
    }
    text[top_text_fitting(text, page->width)] = '\0';
    rows[page->count++] = (struct top_row){text, {first, second}};
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

/* ---- tables -------------------------------------------------------------------------------------------------------
 */

enum {
    CELL_BYTES = 512,
    COLUMNS_MOST = 48,
    LAST_WIDE_FROM = 76,
    LAST_COLUMNS = 36,
    LAST_WIDER_FROM = 110,
    LAST_WIDER_COLUMNS = 56,
    LAST_NARROW_BELOW = 30,
    LAST_NARROW_COLUMNS = 7
};

static const struct top_column *sort_column;
static int sort_sign;

static int item_order(const void *one, const void *other)
{
    const void *a = *(const void *const *)one, *b = *(const void *const *)other;
    char left[CELL_BYTES], right[CELL_BYTES];
    if (sort_column->key) {
        double x = sort_column->key(a), y = sort_column->key(b);
        return sort_sign * ((x > y) - (x < y));
    }
    sort_column->text(a, left, sizeof left);
    sort_column->text(b, right, sizeof right);
    return sort_sign * strcmp(left, right);
}

/* Chooses the columns that fit, the most important first. The last column is always shown. */
static void columns_choose(const struct top_column *columns, size_t count, int width, bool shown[COLUMNS_MOST])
{
    int used = width >= LAST_WIDER_FROM     ? LAST_WIDER_COLUMNS
               : width >= LAST_WIDE_FROM    ? LAST_COLUMNS
               : width >= LAST_NARROW_BELOW ? columns[count - 1].width
                                            : LAST_NARROW_COLUMNS;
    memset(shown, 0, COLUMNS_MOST * sizeof *shown);
    shown[count - 1] = true;
    for (int rank = 1; rank < 20; rank++)
        for (size_t i = 0; i + 1 < count; i++)
            if (columns[i].rank == rank && used + columns[i].width + 1 <= width) {
                shown[i] = true;
                used += columns[i].width + 1;
            }
}

static void field_add(char *row, size_t bytes, const char *text, const struct top_column *column, bool last)
{
    size_t used = strlen(row), fits = last ? strlen(text) : top_text_fitting(text, column->width);
    int pad = last ? 0 : column->width - top_text_columns(text);
    if (pad < 0)
        pad = 0;
    snprintf(row + used, bytes - used, "%*s%.*s%*s%s", column->left ? 0 : pad, "", (int)fits, text,
             column->left ? pad : 0, "", last ? "" : " ");
}

static void titles_add(struct top_page *page, const struct top_view *view, const struct top_column *columns,
                       size_t count, const bool shown[COLUMNS_MOST])
{
    char row[2 * CELL_BYTES] = {STYLE_HEAD, '\0'};
    for (size_t i = 0; i < count; i++) {
        char title[64];
        snprintf(title, sizeof title, "%s%s", columns[i].title, view->sort == (int)i ? view->reverse ? "^" : "v" : "");
        if (shown[i])
            field_add(row, sizeof row, title, &columns[i], i + 1 == count);
    }
    size_t used = strlen(row);
    int missing = page->width - top_text_columns(row);
    if (missing > 0)
        snprintf(row + used, sizeof row - used, "%*s", missing, "");
    top_page_add(page, 0, 0, "%s", row);
}

void top_table_add(struct top_page *page, const struct top_view *view, const struct top_column *columns, size_t count,
                   const void **items, size_t item_count)
{
    bool shown[COLUMNS_MOST];
    columns_choose(columns, count, page->width, shown);
    page->shown = 0;
    for (size_t i = 0; i < count; i++)
        page->shown |= (uint64_t)shown[i] << i;
    if (view->sort >= 0 && (size_t)view->sort < count && item_count > 1) {
        sort_column = &columns[view->sort];
        sort_sign = view->reverse ? -1 : 1;
        qsort(items, item_count, sizeof *items, item_order);
    }
    titles_add(page, view, columns, count, shown);
    page->head = page->count;
    for (size_t k = 0; k < item_count; k++) {
        char row[3 * CELL_BYTES] = "";
        for (size_t i = 0; i < count; i++) {
            char text[CELL_BYTES] = "";
            if (!shown[i])
                continue;
            columns[i].text(items[k], text, sizeof text);
            field_add(row, sizeof row, text, &columns[i], i + 1 == count);
        }
        const struct keyed *keyed = items[k]; /* each item begins with its key */
        top_page_add(page, keyed->key[0], keyed->key[1], "%s", row);
    }
}

/* ---- what is looked at --------------------------------------------------------------------------------------------
 */

struct top_job *top_view_job(const struct top_view *view, const struct top_model *model)
{
    for (size_t i = 0; i < model->job_count; i++)
        if (model->jobs[i].job == view->job)
            return &model->jobs[i];
    for (size_t i = 0; i < model->job_count; i++) /* without a choice: the job that has run longest */
        if (model->jobs[i].running)
            return &model->jobs[i];
    return model->job_count ? &model->jobs[model->job_count - 1] : NULL;
}

struct top_rank *top_view_rank(const struct top_view *view, const struct top_job *job)
{
    for (size_t i = 0; i < job->rank_count; i++)
        if (memcmp(job->ranks[i]->keyed.key, view->focus.key, sizeof view->focus.key) == 0)
            return job->ranks[i];
    return NULL;
}

static void head_job(struct top_page *page, const struct top_job *job, const struct top_model *model)
{
    const char *slash = strrchr(job->program, '/');
    char time[UNIT_TEXT_BYTES], more[64] = "", dead[40] = "", ended[40] = "", mpi[24];
    size_t number = (size_t)(job - model->jobs);
    bool foreign = job->user[0] && !job->own;
    if (model->job_count > 1)
        snprintf(more, sizeof more, "  [job %zu of %zu]", number + 1, model->job_count);
    if (job->dead)
        snprintf(dead, sizeof dead, ", %c%zu dead%c", STYLE_BAD, job->dead, STYLE_PLAIN);
    if (!job->alive || !job->running)
        snprintf(ended, sizeof ended, ", ended");
    snprintf(mpi, sizeof mpi, "%.*s", (int)strcspn(job->mpi, ",\n\t"), job->mpi);
    for (char *at = mpi; *at; at++)
        *at = (unsigned char)*at < ' ' ? ' ' : *at;
    top_page_add(page, 0, 0, "%c%s%c  %s%s%s%zu of %" PRId32 " ranks running%s%s  %s  %s%s", STYLE_TITLE,
                 slash && slash[1] ? slash + 1
                 : job->program[0] ? job->program
                                   : "(starting)",
                 STYLE_PLAIN, foreign ? "of " : "", foreign ? job->user : "", foreign ? "  " : "", job->running,
                 job->world_size > 0 ? job->world_size : (int32_t)job->rank_count, dead, ended, mpi,
                 text_of_ns(time, job->run_ns), more);
}

static void head_rates(struct top_page *page, const struct top_view *view, const struct top_job *job)
{
    char bar[80], a[TOP_NUMBER_BYTES], b[TOP_NUMBER_BYTES], c[TOP_NUMBER_BYTES], shares[80];
    const struct top_rates *rates = &job->rates;
    int columns = page->width >= 100 ? 24 : page->width >= 60 ? 12 : 0;
    if (!job->timed)
        snprintf(shares, sizeof shares, "times not measured");
    else if (job->stall_known)
        snprintf(shares, sizeof shares, "%.1f %% (work %.0f, stall %.0f)", 100 * rates->mpi, 100 * rates->work,
                 100 * rates->stall);
    else
        snprintf(shares, sizeof shares, "%.1f %%", 100 * rates->mpi);
    top_page_add(page, 0, 0, "MPI %s%s%s  %s msg/s  %s B/s  %s coll/s",
                 columns ? top_bar(bar, sizeof bar, columns, rates->work, rates->stall) : "", columns ? " " : "",
                 shares, top_number(a, rates->sent), top_number(b, rates->sent_bytes), top_number(c, rates->colls));
    if (job->circle[0])
        top_page_add(page, 0, 0, "%c%s%c", STYLE_BAD, job->circle, STYLE_PLAIN);
    if (view->filter[0] || view->paused)
        top_page_add(page, 0, 0, "%c%s%s%s%s%c", STYLE_STALL, view->paused ? "paused " : "",
                     view->filter[0] ? "only: " : "", view->filter, "", STYLE_PLAIN);
}

static void help_add(struct top_page *page)
{
    static const char *const lines[] = {
        "  r  ranks            c  communicators     s  sizes of messages     v  variables",
        "  up, down, page up, page down, home, end   move between rows",
        "  enter               details of a rank or communicator;  backspace, escape: back",
        "  <  >                sort by another column;  R: reverse order",
        "  /                   filter: ranks (0,4-7) or a part of the text; empty: none",
        "  p, space            pause             j, tab  the next job",
        "  +  -                shorter or longer interval",
        "  h, ?  this help     q  quit",
        "",
        "  MPI    share of time in MPI calls, of all threads that have called MPI; includes calls in progress",
        "  work   share at work in MPI;  stall: share in which MPI found nothing to do",
        "  bars   # work  | stall  . outside of MPI",
        "  rates  by second, over the last interval; sent counts when posted, received when complete",
    };
    page->head = page->count;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        top_page_add(page, 0, 0, "%s", lines[i]);
}

void top_page_make(struct top_page *page, struct top_view *view, struct top_model *model)
{
    struct top_job *job = top_view_job(view, model);
    top_page_clear(page);
    if (view->message || !job) {
        top_page_add(page, 0, 0, "%s", view->message ? view->message : "no job of yours runs with mpit on this node");
        return;
    }
    head_job(page, job, model);
    head_rates(page, view, job);
    switch (view->kind) {
    case VIEW_RANKS:
        top_ranks_add(page, view, job);
        break;
    case VIEW_COMMS:
        top_comms_add(page, view, job);
        break;
    case VIEW_SIZES:
        top_sizes_add(page, job);
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
    case VIEW_HELP:
        help_add(page);
        break;
    }
}
