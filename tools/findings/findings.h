/*
 * Findings: what a summary says about the faults of a program, in sentences.
 *
 *   summary ──> facts ──> a rule for each fault ──> findings, the costliest first
 *
 * A rule compares figures, and says how much of the run time the fault costs at most. Rules that cannot be sure say
 * "may". A fault that costs less than 2 % of the run time is no finding.
 */
#ifndef MPIT_TOOLS_FINDINGS_H
#define MPIT_TOOLS_FINDINGS_H

#include "summary/summary.h"

enum { FINDINGS_MAX = 24, FINDING_TEXT_BYTES = 512 };

struct finding {
    const char *rule;                /* its name in JSON */
    const char *advice;              /* what people do about it: a sentence */
    char text[FINDING_TEXT_BYTES];   /* a sentence, with numbers, ranks and place */
    double seconds, share_of_run;    /* what its cure gains. By sums: what it costs at most */
    struct rank_list causes;         /* the ranks that cause it, */
    struct rank_list waiting;        /* and those that wait because of it, if known */
    const struct summary_site *site; /* where it shows: that waits, or costs. NULL: none. It belongs to the summary */
    const struct summary_site *around[2]; /* the calls around what causes it. NULL: not known */
    bool replayed;                        /* of a replay: these stay in their order */
    bool note;                            /* no fault of the program: a "!" line above the findings */
};

struct findings {
    bool known;                    /* false: the figures for it are missing. Then there is no finding */
    char lack[FINDING_TEXT_BYTES]; /* the ranks had no processor when they wanted one: no times are judged. "" = no */
    int lack_fact;                 /* so many bytes of it say why. The rest is on findings */
    double efficiency;             /* parallel */
    bool replayed;                 /* costs are gains of a replay. false: by sums, at most */
    bool of_part;                  /* shares are of the part of the run that was replayed */
    size_t count;
    struct finding list[FINDINGS_MAX]; /* notes first, since they blur the others. Then by cost */
};

/* Without memory the findings are not known. */
void findings_find(struct findings *findings, const struct summary *summary);

#endif
