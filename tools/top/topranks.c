#include "top/toppage.h"

#include "base/ranklist.h"
#include "base/units.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { CALL_TEXT_BYTES = 2048 };

static bool is_seen(const void *item)
{
    return ((const struct top_rank *)item)->state != TOP_UNREADABLE;
}

static bool rank_has_shares(const void *item)
{
    return top_rank_has_shares(item);
}

static bool rank_knows_stalls(const void *item)
{
    return ((const struct top_rank *)item)->stall_known && top_rank_has_shares(item);
}

static bool is_in_call(const void *item)
{
    const struct top_rank *rank = item;
    return rank->busy && rank->busy->call.name[0];
}

COLUMN_TEXT(rank_number_text, struct top_rank, item->rank < 0 ? "?" : "%" PRId32, item->rank)

COLUMN_TEXT(state_text, struct top_rank, "%c%s%c", item->state >= TOP_ABORTED ? STYLE_BAD : STYLE_PLAIN,
            top_state_name(item->state), STYLE_PLAIN)

static void bar_text(const void *item, char *text, size_t bytes)
{
    const struct top_rank *rank = item;
    if (top_rank_has_shares(rank))
        top_bar(text, bytes, 12, rank->rates.work, rank->rates.stall);
}

COLUMN_TEXT(host_text, struct top_rank, "%s:%" PRIu32, item->host, item->pid)

static void rank_call_text(const void *item, char *text, size_t bytes)
{
    const struct top_rank *rank = item;
    char call[CALL_TEXT_BYTES] = "";
    bool hangs = rank->busy && rank->busy->call.since_ns >= TOP_LONG_NS;
    if (rank->state == TOP_UNREADABLE) {
        label_clean(call, sizeof call, rank->problem, sizeof call);
        snprintf(text, bytes, "%c%s%c", STYLE_BAD, call, STYLE_PLAIN);
        return;
    }
    if (hangs && rank->state == TOP_RUNNING && rank->waits[0]) {
        const struct top_call *in = &rank->busy->call;
        char since[UNIT_TEXT_BYTES];
        snprintf(text, bytes, "%c%s %s, %s%s%s%s%s%c", STYLE_STALL, in->name, text_of_ns(since, in->since_ns),
                 rank->waits, in->comm[0] ? "; on " : "", in->comm, in->where[0] ? "; at " : "", in->where,
                 STYLE_PLAIN);
        return;
    }
    if (rank->busy)
        top_call_text(call, sizeof call, &rank->busy->call);
    snprintf(text, bytes, "%c%s%s%c", hangs && rank->state == TOP_RUNNING ? STYLE_STALL : STYLE_PLAIN,
             rank->state == TOP_DEAD && is_in_call(rank) ? "was in " : "", call, STYLE_PLAIN);
}

#define RANK(how, field) FIGURE(how, struct top_rank, field)
#define RATE(how, field) RANK(how, rates.field), .known = is_seen

static const struct top_column all_columns[] = {
    {"rank", 5, 1, false, .text = rank_number_text, RANK(FORM_INTEGER, rank), .rising = true},
    {"state", 8, 5, true, .text = state_text, RANK(FORM_INTEGER, state)},
    {"MPI %", 6, 1, false, RANK(FORM_SHARE, rates.mpi), .known = rank_has_shares},
    {"work %", 6, 3, false, RANK(FORM_SHARE, rates.work), .known = rank_knows_stalls},
    {"stalled %", 9, 2, false, RANK(FORM_SHARE, rates.stall), .known = rank_knows_stalls},
    {"#work|stall.", 12, 8, true, .text = bar_text, RANK(FORM_SHARE, rates.mpi)},
    {"calls/s", 6, 10, false, RATE(FORM_NUMBER, calls)},
    {"sent/s", 6, 2, false, RATE(FORM_NUMBER, sent)},
    {"sent B/s", 8, 5, false, RATE(FORM_BYTES, sent_bytes)},
    {"recv/s", 6, 4, false, RATE(FORM_NUMBER, received)},
    {"recv B/s", 8, 6, false, RATE(FORM_BYTES, received_bytes)},
    {"coll/s", 6, 4, false, RATE(FORM_NUMBER, colls)},
    /* these exist only on request, so the user wants to see them */
    {"ops/s", 6, 2, false, RATE(FORM_NUMBER, fabric_ops)},
    {"net B/s", 8, 4, false, RATE(FORM_BYTES, fabric_bytes)},
    {"preempt", 7, 4, false, RATE(FORM_NUMBER, counters[COUNTER_SWITCHES_INVOLUNTARY])},
    {"faults", 7, 3, false, RATE(FORM_NUMBER, counters[COUNTER_FAULTS_MINOR])},
    {"", 12, 2, false, RATE(FORM_NUMBER, counters[COUNTER_ASKED])},
    {"", 12, 5, false, RATE(FORM_NUMBER, counters[COUNTER_ASKED + 1])},
    {"", 12, 6, false, RATE(FORM_NUMBER, counters[COUNTER_ASKED + 2])},
    {"", 12, 7, false, RATE(FORM_NUMBER, counters[COUNTER_ASKED + 3])},
    {"thr", 3, 9, false, RANK(FORM_INTEGER, threads_alive)},
    {"host:pid", 16, 9, true, .text = host_text},
    {"call", 14, 1, true, .text = rank_call_text, FIGURE(FORM_NS, struct top_thread, call.since_ns),
     .through = offsetof(struct top_rank, busy), .known = is_in_call},
};
enum { COLUMNS = sizeof all_columns / sizeof *all_columns };
enum { COLUMN_FABRIC = 12, COLUMN_OS = 14, COLUMN_PAPI = 16, PAPI_COLUMNS = 4 };

/* Hides columns for which the job has no data. */
static void columns_fit(struct top_column columns[COLUMNS], const struct top_job *job)
{
    memcpy(columns, all_columns, sizeof all_columns);
    for (int i = COLUMN_FABRIC; i < COLUMN_OS; i++)
        columns[i].rank = job->fabric ? columns[i].rank : 99;
    for (int i = COLUMN_OS; i < COLUMN_PAPI; i++)
        columns[i].rank = job->os ? columns[i].rank : 99;
    for (int i = 0; i < PAPI_COLUMNS; i++) {
        const char *name = job->counters[COUNTER_ASKED + i];
        columns[COLUMN_PAPI + i].rank = name ? columns[COLUMN_PAPI + i].rank : 99;
        if (name)
            columns[COLUMN_PAPI + i].title = strncmp(name, "PAPI_", 5) == 0 ? name + 5 : name;
    }
    if (!job->stall_known)
        columns[3].rank = columns[4].rank = 99;
}

static bool rank_matches(const struct top_view *view, const struct top_rank *rank)
{
    char text[2 * CALL_TEXT_BYTES], call[CALL_TEXT_BYTES], host[128];
    rank_call_text(rank, call, sizeof call);
    host_text(rank, host, sizeof host);
    snprintf(text, sizeof text, "%s %s %s", host, top_state_name(rank->state), call);
    return top_view_wants(view, rank->rank, text);
}

void top_ranks_add(struct top_page *page, const struct top_view *view, const struct top_job *job)
{
    struct top_column columns[COLUMNS];
    char titles[PAPI_COLUMNS][16];
    const void **items = calloc(job->rank_count + 1, sizeof *items);
    size_t count = 0;
    columns_fit(columns, job);
    for (int i = 0; i < PAPI_COLUMNS; i++) {
        label_clean(titles[i], sizeof titles[i], columns[COLUMN_PAPI + i].title, 12);
        columns[COLUMN_PAPI + i].title = titles[i];
    }
    for (size_t i = 0; items && i < job->rank_count; i++)
        if (rank_matches(view, job->ranks[i]))
            items[count++] = job->ranks[i];
    if (items)
        top_table_add(page, view, columns, COLUMNS, items, count);
    free(items);
    if (top_ranks_missed(job, view->ranks)) {
        char here[RANKS_TEXT_BYTES];
        top_ranks_here(here, job);
        top_page_add(page, 0, 0, "  no rank of --ranks %s is on this node, only %s", view->ranks, here);
    }
}

void top_ranks_here(char text[RANKS_TEXT_BYTES], const struct top_job *job)
{
    int32_t *ranks = calloc(job->rank_count + 1, sizeof *ranks);
    size_t count = 0;
    for (size_t i = 0; ranks && i < job->rank_count; i++)
        if (job->ranks[i]->rank >= 0)
            ranks[count++] = job->ranks[i]->rank;
    text[0] = '\0';
    if (count)
        ranks_text(text, ranks, count);
    free(ranks);
}

bool top_ranks_missed(const struct top_job *job, const char *list)
{
    bool known = false;
    for (size_t i = 0; list && i < job->rank_count; i++) {
        if (rank_list_has(list, job->ranks[i]->rank))
            return false;
        known = known || job->ranks[i]->rank >= 0;
    }
    return known;
}
