/* The chosen jobs, as a table for people, as JSON, or as SQL for another database. share/doc/jobs.md describes both. */
#ifndef MPIT_TOOLS_JOBLIST_H
#define MPIT_TOOLS_JOBLIST_H

#include "jobs/jobtable.h"

#include <jansson.h>
#include <stdio.h>

/* `ask` is of job_rows_ask. Prints at most `most` lines (0: all), and how many there are more. */
void job_list_print(sqlite3_stmt *ask, size_t most, FILE *out);
/* Prints statements that bring a table of PostgreSQL up to date, with the columns of this one. */
void job_list_sql(sqlite3_stmt *ask, size_t most, FILE *out);
/* Returns a list of objects: a new reference. */
json_t *job_list_json(sqlite3_stmt *ask, size_t most);
/* One row as an object: a new reference. */
json_t *job_json(sqlite3_stmt *row);
/* A file of the job in a row of job_rows_ask, or "". */
const char *job_row_file(sqlite3_stmt *row);
/* Program, ranks, job and user of a row, in a line. */
void job_row_title_print(sqlite3_stmt *row, FILE *out);

#endif
