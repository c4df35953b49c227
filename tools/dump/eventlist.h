/*
 * The events of a job as text, one line each. The events of all threads are merged by the begin of the calls. At the
 * end come the open calls of processes that did not reach their end.
 */
#ifndef MPIT_TOOLS_EVENTLIST_H
#define MPIT_TOOLS_EVENTLIST_H

#include "job/rundir.h"
#include "job/select.h"

#include <stdio.h>

/* Prints the selected events. `csv_job` is 0, or the number of the job for comma-separated values (eventcsv.h). Returns
 * 0, or -1 without memory. Prints no events of a job without run files. */
int events_print(const struct run_job *job, const struct selection *selection, size_t csv_job, FILE *out);
/* Prints the last `records` of each thread as text, for the processes that did not reach their end. Of more than
 * EVENTS_LAST_MOST such processes only those that are in `firsts`, by file. */
enum { EVENTS_LAST_MOST = 256 };
int events_print_last(const struct run_job *job, const struct selection *selection, uint64_t records,
                      const bool *firsts, FILE *out);

#endif
