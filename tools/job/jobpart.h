/*
 * The accumulators of a selected part of a job: for the summary as text and JSON, and for the page.
 *
 *   ranks alone              the cells of their run files, as they were counted. All figures are there, also without a
 *                            trace.
 *   time, communicators,     the traces of the chosen ranks, counted anew by the code that counted live (replaypart.h).
 *   functions                Figures of whole processes are not known (run_part.anew).
 *
 * One process's cells are in memory at a time.
 */
#ifndef MPIT_TOOLS_JOBPART_H
#define MPIT_TOOLS_JOBPART_H

#include "job/rundir.h"
#include "job/select.h"

struct job_part;

/* From then on, all jobs of the directory show that part. Returns the list for job_parts_close, or NULL with a reason
 * in error: why that part is not known, and a remedy. */
struct job_part *job_parts_open(struct run_dir *dir, const struct selection *selection, char error[512]);
void job_parts_close(struct run_dir *dir, struct job_part *parts);

#endif
