/*
 * The events of a job as text, one line each, those of all threads merged by the time at which the calls began; behind
 * them the calls that processes which did not come to their end are in.
 */
#ifndef MPIT_TOOLS_EVENTLIST_H
#define MPIT_TOOLS_EVENTLIST_H

#include "job/rundir.h"
#include "job/select.h"

#include <stdio.h>

/* What is selected of them. `csv_job`: 0, or as comma-separated values (eventcsv.h) of the job with this number.
 * Returns 0, or -1 without memory. Nothing is printed of a job that left no run files. */
int events_print(const struct run_job *job, const struct selection *selection, size_t csv_job, FILE *out);
/* The same as text, of the last `records` of each thread of the processes that did not come to their end. */
int events_print_last(const struct run_job *job, const struct selection *selection, uint64_t records, FILE *out);

#endif
