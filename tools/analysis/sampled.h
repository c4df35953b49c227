/*
 * Samples and trace of a run, joined: the functions of a rank while other ranks waited for it.
 *
 *   delays (delays.h) ──> samples of the thread in that time ──> by cause of waits: functions, lines
 *
 * A sample counts for a cause with the part of its delay's length that others waited. So the shares of a cause are
 * shares of the time that was waited.
 */
#ifndef MPIT_TOOLS_SAMPLED_H
#define MPIT_TOOLS_SAMPLED_H

#include "analysis/analysis.h"
#include "job/rundir.h"

/* The function that was sampled most, and in it the line. Texts are valid until analysis_release. */
struct sampled_place {
    const char *function;
    const char *file; /* NULL: not known */
    unsigned line;
    double share;     /* of the function */
    uint64_t samples; /* of the cause, in all functions */
};

/* Takes the samples of the job that was analyzed, if it has any. Returns 0, or -1 without memory. */
int analysis_join_samples(struct analysis *analysis, const struct run_job *job);
/* Fills in the place for a cause of waits: its key, and delay_of_function of the root's rank or delay_of_place of the
 * awaited one. Returns false if nothing was sampled there. */
bool sampled_find(const struct analysis *analysis, uint64_t first, uint64_t second, struct sampled_place *place);
void sampled_close(struct sampled *sampled);

#endif
