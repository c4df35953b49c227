/*
 * mpit-dump --html: one page that shows a run. share/doc/report.md defines its figures.
 *
 *   run directory ──> page.c ──> document: the JSON of --json, --analyze and --profile, made by the same code,
 *                       │        and more: page_ranks.c, page_matrix.c, page_timeline.c,
 *                       │        page_waits.c, page_profile.c
 *                       v
 *                 template (share/report, with the plotting library, added when mpit is built) around the document
 *
 * The page loads nothing. Data of a run occurs only in the document. There, '<', '>' and '&' are written as JSON
 * escapes, so that no name can end the document. The page's scripts show names as text.
 *
 * Memory and the page are bounded. Ranks are in at most PAGE_ROWS rows, which are groups of neighbors in larger jobs.
 * Time is in at most PAGE_BINS bins.
 */
#ifndef MPIT_TOOLS_PAGE_H
#define MPIT_TOOLS_PAGE_H

#include "job/jsonvalue.h"
#include "job/rundir.h"
#include "job/select.h"

#include <jansson.h>
#include <stdbool.h>

enum {
    PAGE_ROWS = 512,
    PAGE_BINS = 1000,
    PAGE_LINES = 2000,
    PAGE_PLACES = 300,
    PAGE_CALLS = 10000,
    PAGE_MESSAGES = 10000,
    PAGE_PATH_TURNS = 1000
};

/* Ranks in rows: row i has the ranks from i * per_row on. */
struct page_rows {
    uint32_t ranks, per_row, count;
};

struct page_rows page_rows_of(uint32_t ranks);

/* Returns the document's name of a class of calls. */
const char *page_class_key(unsigned call_class);

/* Returns an object with one member, "unknown": why it is not known. */
json_t *page_unknown(const char *why);
/* The same for data in run files: there are none, or they do not contain their rank. If the user can record them,
 * "record" has the option of mpit-run. */
json_t *page_unknown_files(const struct run_job *job);
json_t *page_unknown_trace(const struct run_job *job);
/* And for a job without any of the selected ranks. */
json_t *page_unknown_ranks(void);
/* Each `step`th of the numbers, `count` of them. */
json_t *page_counts(const uint64_t *list, size_t count, size_t step);

/* Keeps the `most` largest entries of a list. "NAME_left_out" has the number of removed entries, if any. */
int page_list_cut(json_t *object, const char *name, const char *key, size_t most);

/* Returns the part of the job to show. */
const struct selection *page_selection(const struct run_job *job);

/* Each returns a new reference, or NULL without memory. */
json_t *page_ranks(const struct run_job *job);
/* By call site in the order of the summary: the number of the first one of its place. */
json_t *page_site_places(const struct run_job *job);
json_t *page_matrix(const struct run_job *job);
json_t *page_timeline(const struct run_job *job);
json_t *page_analysis(const struct run_job *job);
json_t *page_profile(const struct run_job *job); /* null: there are no samples */

/* The template (page_template.c): the begin and end of the part before the document, and of the part after it. NULL if
 * this mpit was built without a plotting library. */
extern const char *const page_template[4];

/* Writes the page to `target` ("-": standard output). Returns the exit status. Prints errors itself. */
int page_write(const struct run_dir *dir, const char *target);
/* The same with another document, which it releases. NULL: there was no memory for it. */
int page_write_document(json_t *document, const char *target);

#endif
