/*
 * The events of a job as text, one line each, those of all threads merged by the time at which the calls began.
 */
#ifndef MPIT_TOOLS_EVENTLIST_H
#define MPIT_TOOLS_EVENTLIST_H

#include "rundir.h"

#include <stdio.h>

/* Returns 0, or -1 without memory. */
int events_print(const struct run_job *job, FILE *out);

#endif
