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

#define SIZE_COLUMNS(name, kind)                                                                                       \
    static double name##_rate_key(const void *item)                                                                    \
    {                                                                                                                  \
        return -sizes_row_of(item)->job->sizes[kind][sizes_row_of(item)->bucket];                                      \
    }                                                                                                                  \
    static void name##_rate_text(const void *item, char *text, size_t bytes)                                           \
    {                                                                                                                  \
        char number[TOP_NUMBER_BYTES];                                                                                 \
        snprintf(text, bytes, "%s", top_number(number, -name##_rate_key(item)));                                       \
    }                                                                                                                  \
    static double name##_count_key(const void *item)                                                                   \
    {                                                                                                                  \
        return -(double)sizes_row_of(item)->job->now.sizes[kind][sizes_row_of(item)->bucket];                          \
    }                                                                                                                  \
    static void name##_count_text(const void *item, char *text, size_t bytes)                                          \
    {                                                                                                                  \
        char count[UNIT_TEXT_BYTES];                                                                                   \
        snprintf(text, bytes, "%s",                                                                                    \
                 text_of_count(count, sizes_row_of(item)->job->now.sizes[kind][sizes_row_of(item)->bucket]));          \
    }

SIZE_COLUMNS(sent, TOP_SENT)
SIZE_COLUMNS(received, TOP_RECEIVED)
SIZE_COLUMNS(coll, TOP_COLLS)

static const struct top_column columns[] = {
    {"size", 20, 1, true, size_label_text, size_label_key},
    {"sent/s", 6, 2, false, sent_rate_text, sent_rate_key},
    {"", BAR_COLUMNS, 5, true, sent_bar_text, sent_rate_key},
    {"coll/s", 6, 3, false, coll_rate_text, coll_rate_key},
    {"", BAR_COLUMNS, 6, true, coll_bar_text, coll_rate_key},
    {"recv/s", 6, 4, false, received_rate_text, received_rate_key},
    {"sent", 8, 3, false, sent_count_text, sent_count_key},
    {"collectives", 11, 4, false, coll_count_text, coll_count_key},
    {"received", 8, 7, false, received_count_text, received_count_key},
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
