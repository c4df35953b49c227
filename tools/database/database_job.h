/*
 * A job that is being written into a database.
 *
 *   summary ──> database_summary.c ─┐
 *   trace ────> database_trace.c ───┼──> rows with the number of the job
 *   samples ──> database_samples.c ─┘
 */
#ifndef MPIT_TOOLS_DATABASE_JOB_H
#define MPIT_TOOLS_DATABASE_JOB_H

#include "database/database_paths.h"
#include "job/rundir.h"

struct database_job {
    struct database *database;
    const struct run_job *job;
    int64_t number;              /* 1, 2, ... */
    struct database_paths paths; /* of this job, and the last number of all jobs */
    int64_t first_comm;          /* number of the summary's first communicator, */
    int64_t last_comm;           /* and the last number of all jobs. The same of: */
    int64_t last_call, last_message, last_collective;
};

/* Begins a row whose first column is the job. Returns the database, for its values. */
struct database *job_row_begin(struct database_job *job, enum database_table table);
/* Says why a table has no rows of this job, or what it lacks. DATABASE_TABLES: of the whole job. */
void database_note(struct database_job *job, enum database_table table, const char *text);

/* Fills the tables that need neither a trace nor samples. */
void database_summary_fill(struct database_job *job);
/* Fills the tables of a trace. A job without a trace gets notes. Returns 0, or -1 with the reason in `error`. Without
 * memory it may be "". */
int database_trace_fill(struct database_job *job, char error[OUTPUT_ERROR_BYTES]);
/* Fills the table of samples. Likewise. Returns 0, or -1 without memory. */
int database_samples_fill(struct database_job *job);

#endif
