/*
 * The head of a summary: what ran, how long, how much of it in MPI, and what the figures leave out.
 */
#ifndef MPIT_TOOLS_SUMMARY_HEAD_H
#define MPIT_TOOLS_SUMMARY_HEAD_H

#include "summary/summary.h"

#include <stdio.h>

struct run_part;

/* Some times of calls are not known. */
static inline bool summary_is_untimed(const struct summary *summary)
{
    return summary->timed != 1 || summary->timed_mixed;
}

/* None is known. */
static inline bool summary_is_never_timed(const struct summary *summary)
{
    return !summary->timed && !summary->timed_mixed;
}

/* All of it. `part` may be NULL. */
void summary_head_print(const struct summary *summary, const struct run_part *part, FILE *out);
/* What the figures leave out: filters, times without recording, missing ranks, losses. */
void summary_notes_print(const struct summary *summary, const struct run_part *part, FILE *out);
/* The mean share of the recorded time in MPI: "91.3 %", or "-" if no call was timed, or recording was always off. */
const char *summary_share_text(const struct summary *summary, char *text);
/* What it is a share of, in words. */
const char *summary_whole_text(const struct summary *summary);
/* Stalls by reason (enum mpit_state) in the run, without its begin and end. Returns their sum. */
double summary_stalls(const struct summary *summary, uint64_t stall_ns[STATE_COUNT]);

#endif
