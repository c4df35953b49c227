/*
 * Stores the names of all functions in a job's stacks, when the job has ended.
 *
 *   samples, call paths ──> addresses ──> symbols ──> a section of the job file (storednames.h)
 *
 * From then on the outputs need neither the program nor its libraries.
 */
#ifndef MPIT_TOOLS_JOBNAMES_H
#define MPIT_TOOLS_JOBNAMES_H

#include "job/rundir.h"

/* The longest time for all jobs of a directory. Names that were not found by then are looked up by each reader. */
enum { JOB_NAMES_SECONDS = 20 };

/* Stores the names of each job that has run files. Reports problems, and says when it takes long unless `quiet`. */
void job_names_store(const struct run_dir *dir, bool quiet);

#endif
