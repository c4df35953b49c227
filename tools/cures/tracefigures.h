/* Figures of a summary that need the trace of its job. */
#ifndef MPIT_TOOLS_TRACEFIGURES_H
#define MPIT_TOOLS_TRACEFIGURES_H

#include "analysis/analysis.h"
#include "job/rundir.h"

/* A trace with more events is not read for a summary: 10 million take about 2 s. mpit-dump --analyze reads any. */
enum { TRACE_FIGURES_EVENTS_MOST = 10000000 };

/* Fills in summary->traced. */
void trace_figures_take(struct summary *summary, const struct analysis *analysis);
/* Fills in summary->traced.mismatch: the first on the first communicator that has one. Of a job that did not end well, others tell
 * (postmortem.h). */
void trace_mismatch_take(const struct run_job *job);
/* Both for each job of a run that has a trace and is shown whole. The job file may have them, from mpit-run. If the trace
 * cannot be analyzed, only `there` is set. If all traces are brief, run_job.trace_goes is set. */
void trace_figures_fill(const struct run_dir *dir);
/* Of the brief traces of a job whose live files are in a spool (TRACE_BRIEF). */
void trace_figures_of_brief(const char *spool, struct summary *summary);

#endif
