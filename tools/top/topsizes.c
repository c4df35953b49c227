#include "top/toppage.h"

#include "base/units.h"

#include <stdlib.h>
#include <string.h>

enum { BAR_COLUMNS = 20 };

/* A row for the sizes of a bucket. */
struct size_row {
    struct keyed keyed; /* 0, 0: it cannot be entered */
    const struct top_job *job;
    unsigned bucket;
    double most; /* the largest rate of all rows */
};

static const struct size_row *sizes_row_of(const void *item)
{
    return item;
}

static void size_label_text(const void *item, char *text, size_t bytes)
{
    char label[UNIT_BUCKET_BYTES];
    snprintf(text, bytes, "%s", text_of_bucket(label, sizes_row_of(item)->bucket));
}

static double size_label_key(const void *item)
{
    return sizes_row_of(item)->bucket;
}

static void rate_bar(const struct size_row *row, int kind, enum top_style style, char *text, size_t bytes)
{
    double part = row->most > 0 ? row->job->sizes[kind][row->bucket] / row->most : 0;
    char bar[BAR_COLUMNS + 1] = "";
    memset(bar, '#', (size_t)(part * BAR_COLUMNS + 0.5));
    snprintf(text, bytes, "%c%s%c", style, bar, STYLE_PLAIN);
}

static void sent_bar_text(const void *item, char *text, size_t bytes)
{
    rate_bar(sizes_row_of(item), TOP_SENT, STYLE_WORK, text, bytes);
}

static void coll_bar_text(const void *item, char *text, size_t bytes)
{
    rate_bar(sizes_row_of(item), TOP_COLLS, STYLE_STALL, text, bytes);
}

/* At `kind` (TOP_SENT ...) of the sizes. */
static double size_rate(const void *item, size_t kind)
{
    return sizes_row_of(item)->job->sizes[kind][sizes_row_of(item)->bucket];
}

static void size_rate_text(const void *item, size_t kind, char *text, size_t bytes)
{
    char number[TOP_NUMBER_BYTES];
    snprintf(text, bytes, "%s", top_number(number, size_rate(item, kind)));
}

static double size_count(const void *item, size_t kind)
{
    return (double)sizes_row_of(item)->job->now.sizes[kind][sizes_row_of(item)->bucket];
}

static void size_count_text(const void *item, size_t kind, char *text, size_t bytes)
{
    char count[UNIT_TEXT_BYTES];
    snprintf(text, bytes, "%s",
             text_of_count(count, sizes_row_of(item)->job->now.sizes[kind][sizes_row_of(item)->bucket]));
}

static const struct top_column columns[] = {
    {"size", 20, 1, true, .text = size_label_text, .key = size_label_key},
    {"sent/s", 6, 2, false, .value_text = size_rate_text, .value = size_rate, .at = TOP_SENT},
    {"", BAR_COLUMNS, 5, true, .text = sent_bar_text, .value = size_rate, .at = TOP_SENT},
    {"coll/s", 6, 3, false, .value_text = size_rate_text, .value = size_rate, .at = TOP_COLLS},
    {"", BAR_COLUMNS, 6, true, .text = coll_bar_text, .value = size_rate, .at = TOP_COLLS},
    {"recv/s", 6, 4, false, .value_text = size_rate_text, .value = size_rate, .at = TOP_RECEIVED},
    {"sent", 8, 3, false, .value_text = size_count_text, .value = size_count, .at = TOP_SENT},
    {"collectives", 11, 4, false, .value_text = size_count_text, .value = size_count, .at = TOP_COLLS},
    {"received", 8, 7, false, .value_text = size_count_text, .value = size_count, .at = TOP_RECEIVED},
};

void top_sizes_add(struct top_page *page, const struct top_view *view, const struct top_job *job)
{
    struct size_row rows[BUCKET_COUNT];
    const void *items[BUCKET_COUNT];
    double most = 0;
    unsigned first = BUCKET_COUNT, end = 0;
    for (unsigned i = 0; i < BUCKET_COUNT; i++)
        for (int kind = 0; kind < 3; kind++) {
            if (job->now.sizes[kind][i]) {
                first = i < first ? i : first;
                end = i + 1;
            }
            most = kind != TOP_RECEIVED && job->sizes[kind][i] > most ? job->sizes[kind][i] : most;
        }
    if (!end) {
        top_page_add(page, 0, 0, "no message and no collective yet");
        return;
    }
    for (unsigned i = first; i < end; i++) {
        rows[i] = (struct size_row){.job = job, .bucket = i, .most = most};
        items[i] = &rows[i];
    }
    top_table_add(page, view, columns, sizeof columns / sizeof *columns, items + first, end - first);
}
