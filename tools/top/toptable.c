#include "top/toppage.h"

#include "base/array.h"
#include "base/textbuffer.h"
#include "base/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    CELL_BYTES = 2048,
    COLUMNS_MOST = 48,
    RANKS_MOST = 20,
    TITLE_BYTES = 32,
    /* columns that the last text of a page of some width may claim */
    LAST_WIDE_FROM = 76,
    LAST_COLUMNS = 36,
    LAST_WIDER_FROM = 110,
    LAST_WIDER_COLUMNS = 56,
    LAST_NARROW_BELOW = 30,
    LAST_NARROW_COLUMNS = 7
};

/* A table while it is made. cells[] has the text of each item and column, one after the other. */
struct table {
    const struct top_view *view;
    const struct top_column *columns;
    size_t count, last; /* last: the last column that is shown */
    int page_width, width[COLUMNS_MOST];
    int most[COLUMNS_MOST]; /* the columns of the longest text */
    bool shown[COLUMNS_MOST];
    struct textbuffer cells;
};

static const struct top_column *sort_column;
static int sort_sign;

/* NAN: it is not known. */
static double figure_of(const struct top_column *column, const void *item)
{
    const char *object = item;
    if (column->through)
        object = *(const char *const *)(const void *)(object + column->through);
    if (!object || (column->known && !column->known(item)))
        return NAN;
    const void *at = object + column->at;
    switch (column->type) {
    case TYPE_DOUBLE:
        return *(const double *)at;
    case TYPE_U64:
        return (double)*(const uint64_t *)at;
    case TYPE_U32:
        return *(const uint32_t *)at;
    default:
        return *(const int32_t *)at;
    }
}

static const char *cell_figure_text(char text[UNIT_TEXT_BYTES], enum top_form form, double figure)
{
    switch (form) {
    case FORM_NUMBER:
        return top_number(text, figure);
    case FORM_BYTES:
        return top_bytes(text, figure);
    case FORM_COUNT:
        return text_of_count(text, (uint64_t)figure);
    case FORM_NS:
        return text_of_ns(text, (uint64_t)figure);
    default:
        snprintf(text, UNIT_TEXT_BYTES, form == FORM_SHARE ? "%.1f" : "%.0f",
                 form == FORM_SHARE ? 100 * figure : figure);
        return text;
    }
}

static void column_text(const struct top_column *column, const void *item, char *text, size_t bytes)
{
    char number[UNIT_TEXT_BYTES];
    double figure = column->text ? 0 : figure_of(column, item);
    if (column->text)
        column->text(item, text, bytes);
    else
        snprintf(text, bytes, "%s", isnan(figure) ? "-" : cell_figure_text(number, column->form, figure));
}

static double column_key(const struct top_column *column, const void *item)
{
    double figure = figure_of(column, item);
    return isnan(figure) ? INFINITY : column->rising ? figure : -figure;
}

static int item_order(const void *one, const void *other)
{
    const void *a = *(const void *const *)one, *b = *(const void *const *)other;
    char left[CELL_BYTES], right[CELL_BYTES];
    if (sort_column->type) {
        double x = column_key(sort_column, a), y = column_key(sort_column, b);
        return sort_sign * ORDER(x, y);
    }
    column_text(sort_column, a, left, sizeof left);
    column_text(sort_column, b, right, sizeof right);
    return sort_sign * strcmp(left, right);
}

static void title_text(const struct table *table, size_t column, char title[TITLE_BYTES])
{
    snprintf(title, TITLE_BYTES, "%s%s", table->columns[column].title,
             table->view->sort != (int)column ? ""
             : table->view->reverse           ? "^"
                                              : "v");
}

/* Makes all texts. Sets the width of each column: a number is never cut, a text may be. */
static void table_cells_make(struct table *table, const void **items, size_t item_count)
{
    char title[TITLE_BYTES];
    int title_columns = 0;
    int *most = table->most;
    for (size_t k = 0; k < item_count; k++)
        for (size_t i = 0; i < table->count; i++) {
            char text[CELL_BYTES] = "";
            if (table->columns[i].rank < RANKS_MOST)
                column_text(&table->columns[i], items[k], text, sizeof text);
            int columns = top_text_columns(text);
            most[i] = columns > most[i] ? columns : most[i];
            text_put_bytes(&table->cells, text, strlen(text) + 1);
        }
    for (size_t i = 0; i < table->count; i++) {
        const struct top_column *column = &table->columns[i];
        bool fixed = column->left ? most[i] > column->width : most[i] < column->width;
        table->width[i] = fixed ? column->width : most[i];
        title_text(table, i, title);
        title_columns = top_text_columns(title);
        if (table->width[i] < title_columns)
            table->width[i] = title_columns;
    }
    int claim = table->page_width >= LAST_WIDER_FROM     ? LAST_WIDER_COLUMNS
                : table->page_width >= LAST_WIDE_FROM    ? LAST_COLUMNS
                : table->page_width >= LAST_NARROW_BELOW ? table->columns[table->count - 1].width
                                                         : LAST_NARROW_COLUMNS;
    size_t end = table->count - 1;
    if (table->columns[end].left && table->columns[end].rank == 1)
        table->width[end] = most[end] > claim ? claim : most[end] > title_columns ? most[end] : title_columns;
}

/* Chooses the columns that fit, the most important first. */
static void columns_choose(struct table *table)
{
    int used = -1;
    size_t end = table->count - 1;
    if (table->columns[end].rank == 1) {
        used += table->width[end] + 1;
        table->shown[end] = true;
    }
    for (int rank = 1; rank < RANKS_MOST; rank++)
        for (size_t i = 0; i < table->count; i++)
            if (!table->shown[i] && table->columns[i].rank == rank && used + table->width[i] + 1 <= table->page_width) {
                table->shown[i] = true;
                used += table->width[i] + 1;
            }
    int rest = table->page_width - used;
    for (size_t i = 0; i < table->count; i++) {
        int cut = table->most[i] - table->width[i], more = cut < rest ? cut : rest;
        if (!table->shown[i])
            continue;
        table->last = i;
        if (more > 0) {
            table->width[i] += more;
            rest -= more;
        }
    }
    if (table->columns[table->last].left)
        table->width[table->last] += rest;
}

static void cell_put(struct textbuffer *row, const struct table *table, size_t column, const char *text)
{
    char dots[4];
    bool left = table->columns[column].left, last = column == table->last;
    size_t bytes = top_text_cut(text, table->width[column], dots);
    int pad = table->width[column] - top_text_columns(text);
    pad = pad < 0 || dots[0] ? 0 : pad;
    text_format(row, "%*s", left ? 0 : pad, "");
    text_put_bytes(row, text, bytes);
    if (dots[0])
        text_format(row, "%s%c", dots, STYLE_PLAIN);
    text_format(row, "%*s%s", left && !last ? pad : 0, "", last ? "" : " ");
}

static void titles_add(struct top_page *page, const struct table *table)
{
    struct textbuffer row = {.bytes = NULL};
    text_format(&row, "%c", STYLE_HEAD);
    for (size_t i = 0; i < table->count; i++) {
        char title[TITLE_BYTES];
        title_text(table, i, title);
        if (table->shown[i])
            cell_put(&row, table, i, title);
    }
    int missing = row.failed ? 0 : page->width - top_text_columns(row.bytes);
    if (!row.failed)
        top_page_add(page, 0, 0, "%s%*s", row.bytes, missing > 0 ? missing : 0, "");
    text_free(&row);
}

static void items_add(struct top_page *page, const struct table *table, const void **items, size_t item_count)
{
    struct textbuffer row = {.bytes = NULL};
    const char *text = table->cells.bytes;
    for (size_t k = 0; k < item_count && !row.failed; k++) {
        text_clear(&row);
        for (size_t i = 0; i < table->count; i++, text += strlen(text) + 1)
            if (table->shown[i])
                cell_put(&row, table, i, text);
        const struct keyed *keyed = items[k]; /* each item begins with its key */
        if (!row.failed)
            top_page_add(page, keyed->key[0], keyed->key[1], "%s", row.bytes ? row.bytes : "");
    }
    text_free(&row);
}

void top_table_add(struct top_page *page, const struct top_view *view, const struct top_column *columns, size_t count,
                   const void **items, size_t item_count)
{
    struct table table = {.view = view, .columns = columns, .count = count, .page_width = page->width};
    bool sorted = view->sort >= 0 && (size_t)view->sort < count;
    if (sorted && item_count > 1) {
        sort_column = &columns[view->sort];
        sort_sign = view->reverse ? -1 : 1;
        qsort(items, item_count, sizeof *items, item_order);
    }
    table_cells_make(&table, items, item_count);
    columns_choose(&table);
    page->column_count = count;
    page->shown = 0;
    for (size_t i = 0; i < count; i++)
        page->shown |= (uint64_t)table.shown[i] << i;
    snprintf(page->sorted, sizeof page->sorted, "%s", sorted ? columns[view->sort].title : "");
    titles_add(page, &table);
    page->head = page->count;
    if (!table.cells.failed && table.cells.bytes) /* without memory the table has no rows */
        items_add(page, &table, items, item_count);
    text_free(&table.cells);
}
