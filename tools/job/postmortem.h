/*
 * What is known of the processes of a job that did not come to their end: how each ended, what its threads were in, for
 * how long, and for whom they wait. A process's times are counted to its death where mpit-run has seen that
 * (deathwatch.h), else to the last sign of life of the job, and "at least" so long: the last call that somebody entered
 * or left, or, where mpit-run was there, the end of the command; now, of one that runs still.
 */
#ifndef MPIT_TOOLS_POSTMORTEM_H
#define MPIT_TOOLS_POSTMORTEM_H

#include "job/rundir.h"
#include "job/select.h"

#include <stdio.h>
#include <sys/types.h>

/* Prints a line for those that were in the same, `most` lines at most, of the selection's ranks (NULL: of all); nothing
 * of a job that ended well. Returns how many processes of the job did not come to their end, among those that left run
 * files. */
size_t postmortem_print(const struct run_job *job, const struct selection *selection, size_t most, FILE *out);

/* Waits until all processes that left run files have come to their ends, or one of them has ended otherwise; for those
 * that cannot be seen from here some seconds at the most. */
void postmortem_await(const char *directory);

/* For mpit-run, when the command has ended: waits for processes of this node that are just ending, and writes that end
 * into their run files; removes what of a summary was not finished. */
void postmortem_seen(const char *directory);

/* The process of a run file, if it is one of this node that has not come to its end, and is there; 0: none. */
pid_t postmortem_process(const char *path);
/* It has just died: writes that into its run file, unless it had come to its end. */
void postmortem_end(const char *path);

#endif
