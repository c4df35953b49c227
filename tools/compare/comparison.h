/*
 * The comparison of two sets of runs, an old one and a new one.
 *
 *   summary of each run ──> rows, by name: the run, MPI functions, call sites, communicators, ranks, efficiencies, findings
 *                             │  values of each run: count, time, bytes
 *                             v
 *                           medians of both sets, and whether the sets overlap
 *
 * Names align the rows, not addresses or line numbers. So runs of two versions of a program can be compared. Counts
 * that differ are facts. Times differ only if they differ beyond their noise.
 */
#ifndef MPIT_TOOLS_COMPARISON_H
#define MPIT_TOOLS_COMPARISON_H

#include "summary/summary.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum comparison_kind {
    COMPARED_RUN,
    COMPARED_FUNCTION,
    COMPARED_SITE,
    COMPARED_COMM,
    COMPARED_RANK,
    COMPARED_TIMED, /* the kinds before have times, and those after it have shares of the run in their place */
    COMPARED_EFFICIENCY = COMPARED_TIMED,
    COMPARED_FINDING,
    COMPARED_KINDS
};
enum comparison_value { VALUE_TIME, VALUE_COUNT, VALUE_BYTES, VALUE_KINDS };

/* A value in one set. */
struct compared_set {
    double median, least, most;
    unsigned runs; /* that have the row */
};

struct comparison_row {
    enum comparison_kind kind;
    char *name;
    struct compared_set sets[2][VALUE_KINDS]; /* old and new. Seconds, calls or messages, bytes */
    double *values;                           /* by run and value: VALUE_KINDS each */
    bool *has;                                /* by run */
};

struct comparison {
    struct comparison_row *rows;
    size_t count;
    unsigned runs[2];                 /* in each set */
    uint32_t least_ranks, most_ranks; /* of any run. 0: not known */
    const char *programs[2];          /* file names of different ones, of the summaries. NULL: all have the same */
};

/* Compares the summaries, the old ones first. Returns 0, or -1 without memory. Release it in both cases. */
int comparison_make(struct comparison *comparison, const struct summary *const *summaries, unsigned old, unsigned new);
void comparison_release(struct comparison *comparison);

/* The row of the whole run, which every comparison has. */
const struct comparison_row *comparison_run(const struct comparison *comparison);

/* True if the runs have different numbers of ranks. Then times and counts cannot be compared directly. */
bool comparison_ranks_differ(const struct comparison *comparison);
/* True if the times of the row differ beyond their noise: by more than 1 % of the run. Of sets with several runs: the
 * sets do not overlap. Of single runs: by more than 5 %. */
bool comparison_time_differs(const struct comparison *comparison, const struct comparison_row *row);
/* What became of a finding: "gone", "new", "smaller", "larger" or "same", which is within a tenth. */
const char *comparison_finding_word(const struct comparison_row *row);
/* True if counts or bytes differ. */
bool comparison_counts_differ(const struct comparison_row *row);

enum { LIMIT_REASON_BYTES = 256 };
/* Judges a limit: "time>5%", "MPI_Send.count>0%". Returns 1 if it is broken, 0 if it holds, or -1 if the text is no
 * limit. `reason` says why, or what is allowed. */
int comparison_judge(const struct comparison *comparison, const char *limit, char reason[LIMIT_REASON_BYTES]);

void comparison_print(const struct comparison *comparison, FILE *out);
/* Only the first lines: different numbers of ranks, and the run time. */
void comparison_head_print(const struct comparison *comparison, FILE *out);
json_t *comparison_json(const struct comparison *comparison);
/* Writes a page to `target` ("-": standard output). `runs` has the names, the old ones first. Returns 0, or 1 after a
 * message. */
int comparison_page(const struct comparison *comparison, char *const *runs, const char *target);

#endif
