/*
 * The output of mpit-top as rows of text. curses paints them (topscreen.h), or they are printed (--once).
 *
 *   page ── rows[] ── text with marks of style inside      a byte of enum top_style: the style of the next text
 *
 * No row is wider than the page. Texts from run files are cleaned before they get here (label.h).
 */
#ifndef MPIT_TOOLS_TOPPAGE_H
#define MPIT_TOOLS_TOPPAGE_H

#include "top/topmodel.h"
#include "job/ward.h"

#include <stdio.h>

/* 0 ends a text, and 9 and 10 are a tab and a newline. */
enum top_style { STYLE_PLAIN = 1, STYLE_TITLE, STYLE_DIM, STYLE_BAD, STYLE_STALL, STYLE_WORK, STYLE_HEAD, STYLE_END };

struct top_row {
    char *text;
    uint64_t key[2]; /* of the row's object: rank->keyed or comm->keyed, or 0, 0 if it cannot be chosen */
};

struct top_page {
    int width;
    struct top_row *rows;
    size_t count;
    size_t head;    /* number of rows that always stay visible */
    uint64_t shown; /* columns of the table, a bit each */
};

enum top_view_kind { VIEW_RANKS, VIEW_COMMS, VIEW_SIZES, VIEW_VALUES, VIEW_HELP, VIEW_RANK, VIEW_COMM };

enum { TOP_CALLS_MOST = 1024, TOP_FILTER_BYTES = 80 };

/* The calls of the rank in focus, at this look and the one before. */
struct top_focus {
    uint64_t key[2]; /* of the rank */
    uint64_t count[TOP_CALLS_MOST], time_ns[TOP_CALLS_MOST];
    uint64_t count_before[TOP_CALLS_MOST], time_before[TOP_CALLS_MOST];
    uint64_t ns, ns_before; /* time since the process began */
    bool known;
};

struct top_view {
    enum top_view_kind kind;
    uint64_t job;
    uint64_t comm[2]; /* the one in focus */
    struct top_focus focus;
    int sort; /* column, or -1 for the default order */
    bool reverse, paused;
    char filter[TOP_FILTER_BYTES];
    const char *ranks; /* the wanted ranks, or NULL for all */
    double interval;
    const char *message; /* instead of all else, or NULL for none */
};

void top_page_clear(struct top_page *page);
__attribute__((format(printf, 4, 5))) void top_page_add(struct top_page *page, uint64_t first, uint64_t second,
                                                        const char *format, ...);
/* Prints it as plain text, without the marks. */
void top_page_print(const struct top_page *page, FILE *out);
/* Returns how many columns a text takes on the screen. The second function returns how many bytes of it fit into a
 * number of columns. */
int top_text_columns(const char *text);
size_t top_text_fitting(const char *text, int columns);

/* Makes the whole page for the view. */
void top_page_make(struct top_page *page, struct top_view *view, struct top_model *model);
/* After a look: updates the calls of the rank in focus. */
void top_focus_update(struct top_view *view, const struct top_model *model);
struct top_job *top_view_job(const struct top_view *view, const struct top_model *model);
struct top_rank *top_view_rank(const struct top_view *view, const struct top_job *job);
/* Returns whether a text, or the rank, passes the filter. */
bool top_view_wants(const struct top_view *view, int32_t rank, const char *text);

/* "12.3k": six columns at most. */
enum { TOP_NUMBER_BYTES = 16 };
const char *top_number(char text[TOP_NUMBER_BYTES], double value);
/* "####||||....": work, stall, the rest. */
const char *top_bar(char *text, size_t bytes, int columns, double work, double stall);
/* "MPI_Recv for 3.2 s, from 1, on world" */
void top_call_text(char *text, size_t bytes, const struct top_call *call);

/* A table. If space is short, only its most important columns are shown. */
struct top_column {
    const char *title;
    int width; /* the last shown column takes the rest */
    int rank;  /* 1 matters most */
    bool left; /* aligned */
    void (*text)(const void *item, char *text, size_t bytes);
    double (*key)(const void *item); /* sort key, or NULL to sort by the text */
};
/* Sorts *items by the view's column. Returns the number of the title row. */
void top_table_add(struct top_page *page, const struct top_view *view, const struct top_column *columns, size_t count,
                   const void **items, size_t item_count);

/* topranks.c, topcomms.c, topdetail.c */
void top_ranks_add(struct top_page *page, const struct top_view *view, const struct top_job *job);
/* Returns whether ranks of the job are known, but none of them is in this list (NULL: all are). */
bool top_ranks_missed(const struct top_job *job, const char *list);
/* Writes the known ranks: "ranks 0-3", or "" for none. */
void top_ranks_here(char text[RANKS_TEXT_BYTES], const struct top_job *job);
void top_comms_add(struct top_page *page, const struct top_view *view, const struct top_job *job);
void top_sizes_add(struct top_page *page, const struct top_job *job);
void top_comm_add(struct top_page *page, const struct top_view *view, const struct top_job *job);
void top_rank_add(struct top_page *page, const struct top_view *view, const struct top_job *job);
void top_values_add(struct top_page *page, const struct top_view *view, const struct top_job *job);
size_t top_columns_count(enum top_view_kind kind);
const char *top_column_title(enum top_view_kind kind, int column);

#endif
