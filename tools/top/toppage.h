/*
 * The output of mpit-top as rows of text. curses paints them (topscreen.h), or they are printed (--once).
 *
 *   page ── rows[] ── text with marks of style inside (toptext.h)
 *
 * No row is wider than the page. A text that is too long ends with "...", and a column that does not fit is left out. So
 * no number is ever cut. Texts from run files are cleaned before they get here (label.h).
 */
#ifndef MPIT_TOOLS_TOPPAGE_H
#define MPIT_TOOLS_TOPPAGE_H

#include "top/topmodel.h"
#include "top/toptext.h"
#include "waiting/ward.h"

#include <stddef.h>
#include <stdio.h>

struct top_row {
    char *text;
    uint64_t key
        [2]; /* of the row's object: a job's number and 1 (top_job_of_key), rank->keyed or comm->keyed. 0, 0: it cannot be chosen */
};

struct top_page {
    int width;
    int height; /* lines for the whole page. 0: any number */
    struct top_row *rows;
    size_t count;
    size_t head;         /* number of rows that always stay visible */
    size_t column_count; /* of the table. 0: there is none */
    uint64_t shown;      /* its columns that are shown, a bit each */
    char sorted[32];     /* the title of the column that it is sorted by, or "" */
};

enum top_view_kind {
    VIEW_JOBS,
    VIEW_RANKS,
    VIEW_COMMS,
    VIEW_SIZES,
    VIEW_VALUES,
    VIEW_SITES,
    VIEW_HELP,
    VIEW_RANK,
    VIEW_COMM
};

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
    bool chosen;      /* a job is, and stays the shown one: */
    uint64_t job;     /* its number */
    uint32_t job_pid; /* a process of it: a job has no number yet while it starts */
    bool direct;      /* if there is only one job, it is chosen */
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
/* Adds a text in as many rows as it needs. All but the first begin in column `indent`. */
void top_page_wrap(struct top_page *page, enum top_style style, int indent, const char *text);
/* Prints it as plain text, without the marks. */
void top_page_print(const struct top_page *page, FILE *out);

/* Makes the whole page for the view. */
void top_page_make(struct top_page *page, struct top_view *view, struct top_model *model);
/* After a look: updates the calls of the rank in focus. */
void top_focus_update(struct top_view *view, const struct top_model *model);
/* Chooses a job for the views of one job. */
void top_view_choose(struct top_view *view, const struct top_job *job);
/* After a look: finds the chosen job again. If it is gone, the view is the list of jobs. */
void top_view_follow(struct top_view *view, const struct top_model *model);
/* Returns the chosen job, or NULL. */
struct top_job *top_view_job(const struct top_view *view, const struct top_model *model);
struct top_rank *top_view_rank(const struct top_view *view, const struct top_job *job);
/* Returns whether a text, or the rank, passes the filter. */
bool top_view_wants(const struct top_view *view, int32_t rank, const char *text);

/* "MPI_Recv for 3.2 s, from 1, on world" */
void top_call_text(char *text, size_t bytes, const struct top_call *call);

/* Defines the function for the text of a column, as of printf. `item` is the object of a row. */
#define COLUMN_TEXT(name, type, ...)                                                                                   \
    static void name(const void *row, char *text, size_t bytes)                                                        \
    {                                                                                                                  \
        const type *item = row;                                                                                        \
        snprintf(text, bytes, __VA_ARGS__);                                                                            \
    }

/* How a figure is written: "12", "12.3k", "12.3 KiB", "12.3" percent, "1,234,567", "1.23 ms". */
enum top_form { FORM_INTEGER, FORM_NUMBER, FORM_BYTES, FORM_SHARE, FORM_COUNT, FORM_NS };
enum top_type { TYPE_NONE, TYPE_DOUBLE, TYPE_U64, TYPE_U32, TYPE_I32 };

/* A figure of a column: a member of its object. */
#define FIGURE(how, object, member)                                                                                    \
    .form = (how), .at = offsetof(object, member),                                                                     \
    .type = _Generic(((object *)0)->member, double                                                                     \
                     : TYPE_DOUBLE, uint64_t                                                                           \
                     : TYPE_U64, uint32_t                                                                              \
                     : TYPE_U32, int32_t                                                                               \
                     : TYPE_I32)

/* A table. If space is short, only its most important columns are shown. */
struct top_column {
    const char *title;
    int width; /* the least of a number, the most of a text. The last shown column takes the rest if it is a text */
    int rank;  /* 1 matters most. The last column is always shown if it has that */
    bool left; /* a text, which may be cut */
    void (*text)(const void *item, char *text, size_t bytes); /* NULL: the figure in its form */
    /* The figure, which is the sort key, too. The highest comes first. */
    enum top_form form;
    enum top_type type;              /* TYPE_NONE: it has none, and the text is the sort key */
    size_t at;                       /* its place in the object */
    size_t through;                  /* the place of a pointer to the object in the item. 0: the item is the object */
    bool (*known)(const void *item); /* NULL: always. An unknown figure is "-", and comes last */
    bool rising;                     /* the lowest comes first */
};
/* Sorts *items by the view's column. Returns the number of the title row. */
void top_table_add(struct top_page *page, const struct top_view *view, const struct top_column *columns, size_t count,
                   const void **items, size_t item_count);

/* topjobs.c, topranks.c, topcomms.c, topsizes.c, topdetail.c */
void top_jobs_add(struct top_page *page, const struct top_view *view, const struct top_model *model);
struct top_job *top_job_of_key(const struct top_model *model, const uint64_t key[2]);
void top_ranks_add(struct top_page *page, const struct top_view *view, const struct top_job *job);
/* Returns whether ranks of the job are known, but none of them is in this list (NULL: all are). */
bool top_ranks_missed(const struct top_job *job, const char *list);
/* Writes the known ranks: "ranks 0-3", or "" for none. */
void top_ranks_here(char text[RANKS_TEXT_BYTES], const struct top_job *job);
void top_comms_add(struct top_page *page, const struct top_view *view, const struct top_job *job);
void top_sizes_add(struct top_page *page, const struct top_view *view, const struct top_job *job);
void top_comm_add(struct top_page *page, const struct top_view *view, const struct top_job *job);
void top_rank_add(struct top_page *page, const struct top_view *view, const struct top_job *job);
void top_values_add(struct top_page *page, const struct top_view *view, const struct top_job *job);
/* topsites.c */
void top_sites_add(struct top_page *page, const struct top_view *view, const struct top_job *job,
                   struct call_places *places);

#endif
