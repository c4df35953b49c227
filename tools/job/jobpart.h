/*
 * The accumulators of a selected part of a job: for the summary as text and JSON, and for the page.
 *
 *   ranks alone              the counters of their run files, unchanged. All figures are known, even without a
 *                            trace.
 *   ranks alone, if the      the rows of the summary: only figures by rank (run_part.rows).
 *   run kept no files
 *   time, communicators,     the traces of the chosen ranks, counted again by the same fold (replaypart.h).
 *   functions                Figures of whole processes are unknown (run_part.anew).
 *
 * The counters of one process are in memory at a time.
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
