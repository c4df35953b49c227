#include "top/toppage.h"

#include "base/units.h"

#include <stdlib.h>
#include <string.h>

enum { BAR_COLUMNS = 20 };

/* A row for the sizes of a bucket. */
struct size_row {
    struct keyed keyed; /* 0, 0: it cannot be entered */
    unsigned bucket;
    uint64_t count[3];
    double rate[3];
    double most; /* the largest rate of all rows */
};

static void size_label_text(const void *item, char *text, size_t bytes)
{
    char label[UNIT_BUCKET_BYTES];
    snprintf(text, bytes, "%s", text_of_bucket(label, ((const struct size_row *)item)->bucket));
}

static void rate_bar(const struct size_row *row, int kind, enum top_style style, char *text, size_t bytes)
{
    double part = row->most > 0 ? row->rate[kind] / row->most : 0;
    char bar[BAR_COLUMNS + 1] = "";
    memset(bar, '#', (size_t)(part * BAR_COLUMNS + 0.5));
    snprintf(text, bytes, "%c%s%c", style, bar, STYLE_PLAIN);
}

static void sent_bar_text(const void *item, char *text, size_t bytes)
{
    rate_bar(item, TOP_SENT, STYLE_WORK, text, bytes);
}

static void coll_bar_text(const void *item, char *text, size_t bytes)
{
    rate_bar(item, TOP_COLLS, STYLE_STALL, text, bytes);
}

#define SIZE(how, member) FIGURE(how, struct size_row, member)

static const struct top_column columns[] = {
    {"size", 20, 1, true, .text = size_label_text, SIZE(FORM_INTEGER, bucket), .rising = true},
    {"sent/s", 6, 2, false, SIZE(FORM_NUMBER, rate[TOP_SENT])},
    {"", BAR_COLUMNS, 5, true, .text = sent_bar_text, SIZE(FORM_NUMBER, rate[TOP_SENT])},
    {"coll/s", 6, 3, false, SIZE(FORM_NUMBER, rate[TOP_COLLS])},
    {"", BAR_COLUMNS, 6, true, .text = coll_bar_text, SIZE(FORM_NUMBER, rate[TOP_COLLS])},
    {"recv/s", 6, 4, false, SIZE(FORM_NUMBER, rate[TOP_RECEIVED])},
    {"sent", 8, 3, false, SIZE(FORM_COUNT, count[TOP_SENT])},
    {"collectives", 11, 4, false, SIZE(FORM_COUNT, count[TOP_COLLS])},
    {"received", 8, 7, false, SIZE(FORM_COUNT, count[TOP_RECEIVED])},
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
        rows[i] = (struct size_row){.bucket = i, .most = most};
        for (int kind = 0; kind < 3; kind++) {
            rows[i].count[kind] = job->now.sizes[kind][i];
            rows[i].rate[kind] = job->sizes[kind][i];
        }
        items[i] = &rows[i];
    }
    top_table_add(page, view, columns, sizeof columns / sizeof *columns, items + first, end - first);
}
