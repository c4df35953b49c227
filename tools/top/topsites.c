#include "top/toppage.h"

#include "base/array.h"
#include "job/jsonvalue.h"
#include "top/topjson.h"

#include <stdlib.h>
#include <string.h>

/* A row for a place that calls MPI. */
struct site_row {
    struct keyed keyed; /* 0, 0: it cannot be entered */
    const struct live_site *site;
    char place[CALL_PLACE_BYTES];
    double share, stall, per_second; /* in the last interval: of the time of all threads, and calls */
    bool known;                      /* these are */
    double mean_ns;                  /* of its calls */
};

COLUMN_TEXT(where_text, struct site_row, "%s", item->place)

COLUMN_TEXT(function_text, struct site_row, "%s",
            item->site->function < CALL_COUNT ? call_table[item->site->function].name : "?")

static bool interval_is_known(const void *item)
{
    return ((const struct site_row *)item)->known;
}

#define SITE(how, member) FIGURE(how, struct site_row, member)
#define SITE_SUM(how, member) FIGURE(how, struct live_site, member), .through = offsetof(struct site_row, site)

static const struct top_column columns[] = {
    {"time %", 6, 1, false, SITE(FORM_SHARE, share), .known = interval_is_known},
    {"stalled %", 9, 3, false, SITE(FORM_SHARE, stall), .known = interval_is_known},
    {"calls/s", 7, 2, false, SITE(FORM_NUMBER, per_second), .known = interval_is_known},
    {"mean", 8, 5, false, SITE(FORM_NS, mean_ns)},
    {"time", 8, 6, false, SITE_SUM(FORM_NS, ns)},
    {"calls", 8, 7, false, SITE_SUM(FORM_COUNT, calls)},
    {"function", 18, 4, true, .text = function_text},
    {"place", 20, 1, true, .text = where_text},
};

enum { COLUMNS = sizeof columns / sizeof *columns, COLUMN_STALLED = 1, RANK_HIDDEN = 99 };

static int by_share(const void *one, const void *other)
{
    const struct site_row *a = *(const struct site_row *const *)one, *b = *(const struct site_row *const *)other;
    return ORDER(b->share, a->share) ?: ORDER(b->site->ns, a->site->ns);
}

/* The time of all threads in the last interval. */
static double all_threads_ns(const struct top_job *job)
{
    double ns = 0;
    for (size_t i = 0; i < job->rank_count; i++)
        if (job->ranks[i]->state != TOP_UNREADABLE && job->ranks[i]->now.thread_ns > job->ranks[i]->before.thread_ns)
            ns += (double)(job->ranks[i]->now.thread_ns - job->ranks[i]->before.thread_ns);
    return ns;
}

/* A process may come or go between two looks. Then the interval has no figures. */
static struct site_row site_row_of(const struct top_job *job, const struct live_site *site, double whole)
{
    static const struct live_site none;
    const struct live_site *before = keytable_find(&job->sites_before, site->keyed.key[0], 0);
    uint64_t interval_ns = job->sites_before.count ? job->interval_ns : job->run_ns;
    before = before ? before : &none;
    bool goes_on = site->calls >= before->calls && site->ns >= before->ns && site->stall_ns >= before->stall_ns &&
                   (before == &none || site->ranks == before->ranks) && job->timed && whole > 0 && interval_ns;
    double ns = (double)(site->ns - before->ns), stall = (double)(site->stall_ns - before->stall_ns);
    struct site_row row = {.site = site, .known = goes_on, .mean_ns = (double)site->ns / (double)site->calls};
    if (!goes_on)
        return row;
    row.share = ns < whole ? ns / whole : 1;
    row.stall = stall < ns ? row.share * stall / (ns > 0 ? ns : 1) : row.share;
    row.per_second = (double)(site->calls - before->calls) * 1e9 / (double)interval_ns;
    return row;
}

static uint32_t place_of_site(const struct live_site *site, struct call_places *places)
{
    return call_place_find(places, site->run, site->path);
}

/* All places, the longest of the last interval first. The caller frees both. NULL: no memory. */
static struct site_row *rows_make(const struct top_job *job, struct call_places *places, const void ***items)
{
    struct site_row *rows = calloc(job->sites.count + 1, sizeof *rows);
    double whole = all_threads_ns(job);
    size_t count = 0;
    *items = calloc(job->sites.count + 1, sizeof **items);
    for (size_t i = 0; rows && *items && i < job->sites.capacity; i++)
        for (const struct keyed *keyed = job->sites.buckets[i]; keyed; keyed = keyed->next) {
            rows[count] = site_row_of(job, (const struct live_site *)keyed, whole);
            call_place_text(places, place_of_site(rows[count].site, places), 1, rows[count].place);
            (*items)[count] = &rows[count];
            count++;
        }
    if (count)
        qsort(*items, count, sizeof **items, by_share);
    if (*items)
        return rows;
    free(rows);
    return NULL;
}

void top_sites_add(struct top_page *page, const struct top_view *view, const struct top_job *job,
                   struct call_places *places)
{
    const void **items;
    struct site_row *rows = rows_make(job, places, &items);
    struct top_column shown[COLUMNS];
    size_t count = 0;
    for (size_t i = 0; rows && i < job->sites.count; i++)
        if (strcasestr(((const struct site_row *)items[i])->place, view->filter))
            items[count++] = items[i];
    memcpy(shown, columns, sizeof shown);
    if (!job->stall_known)
        shown[COLUMN_STALLED].rank = RANK_HIDDEN;
    if (count)
        top_table_add(page, view, shown, COLUMNS, items, count);
    else
        top_page_add(page, 0, 0,
                     job->sites.count ? "no place has this text"
                                      : "no place is known: call paths are not recorded, or nothing was called yet");
    free(rows);
    free(items);
}

enum { JSON_SITES = 50 };

static json_t *interval_json(const struct site_row *row, double figure)
{
    return row->known ? json_real(figure) : json_null();
}

json_t *top_sites_json(const struct top_job *job, struct call_places *places)
{
    const void **items;
    struct site_row *rows = rows_make(job, places, &items);
    json_t *list = json_array();
    for (size_t i = 0; rows && i < job->sites.count && i < JSON_SITES; i++) {
        const struct site_row *row = items[i];
        const struct live_site *site = row->site;
        json_array_append_new(list, json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "site",
                                              call_place_json(places, place_of_site(site, places)), "share",
                                              interval_json(row, row->share), "stall_share",
                                              job->stall_known ? interval_json(row, row->stall) : json_null(),
                                              "calls_per_s", interval_json(row, row->per_second), "calls",
                                              count_json(site->calls), "time_ns", count_json(site->ns), "stall_ns",
                                              known_count_json(job->stall_known, site->stall_ns), "ranks",
                                              count_json(site->ranks)));
    }
    free(rows);
    free(items);
    return list;
}
