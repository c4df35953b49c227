/*
 * The processes of a job that did not reach their end: how each ended, which calls its threads were in, for how long,
 * and for which ranks they wait. Times are counted until the process's death if mpit-run saw it (deathwatch.h).
 * Otherwise they are counted until the last sign of life of the job, and marked "at least". That sign is the last begin
 * or end of a call, or the end of the command if mpit-run was there. For a running process it is the present time.
 */
#ifndef MPIT_TOOLS_POSTMORTEM_H
#define MPIT_TOOLS_POSTMORTEM_H

#include "job/rundir.h"
#include "job/select.h"

#include <signal.h>
#include <stdio.h>
#include <sys/types.h>

/* Prints one line for each group of threads in the same state, at most `most` lines. Prints no lines for a job that ended
 * well. Returns how many processes of the job did not reach their end, among the processes with run files. */
size_t postmortem_print(const struct run_job *job, size_t most, FILE *out);
/* The same with all lines, for the selection's ranks (NULL: all). firsts[i] becomes true if file i is the first of a line
 * (job->file_count of them). */
size_t postmortem_print_all(const struct run_job *job, const struct selection *selection, bool *firsts, FILE *out);

/* Waits until all processes with run files have reached their end, or one of them has ended otherwise. For processes
 * that cannot be seen from here it waits some seconds at most. */
void postmortem_await(const char *directory);

/* The signal with which the user ends the job. 0: none so far. Processes that die then have it as the reason. */
extern volatile sig_atomic_t postmortem_signal;

/* For mpit-run, when the command has ended. Waits for processes of this node that are just ending, and writes their end
 * to their run files. Removes unfinished parts of a summary. */
void postmortem_seen(const char *directory);

/* Returns the process of a run file if it runs on this node and has not reached its end, or 0 otherwise. */
pid_t postmortem_process(const char *path);
/* The process has just died. Writes this to its run file, unless it had reached its end. */
void postmortem_end(const char *path);

#endif
