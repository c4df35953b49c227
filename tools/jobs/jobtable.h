/*
 * The table of jobs: one row a job, in a SQLite database.
 *
 *   jobs    a job, with the columns below. source: the file, or "job NUMBER of user UID" if the job has several
 *           parts
 *   files   the files that were read, so that the next run need not read them again
 *
 * The database is in memory, or in a file, the index, which is kept up to date. Others may read that file with SQLite.
 */
#ifndef MPIT_TOOLS_JOBTABLE_H
#define MPIT_TOOLS_JOBTABLE_H

#include "summary/summary.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <sys/stat.h>

/* X(name here, name in the table, type) */
#define JOB_COLUMN_LIST(X)                                                                                             \
    X(NUMBER, "job", "TEXT")                                                                                           \
    X(SOURCE, "source", "TEXT")                                                                                        \
    X(BEGIN, "begin", "REAL")                                                                                          \
    X(USER, "user", "TEXT")                                                                                            \
    X(SCHEDULER, "scheduler_job", "TEXT")                                                                              \
    X(LABEL, "label", "TEXT")                                                                                          \
    X(PROGRAM, "program", "TEXT")                                                                                      \
    X(PATH, "path", "TEXT")                                                                                            \
    X(COMMAND, "command", "TEXT")                                                                                      \
    X(MPI, "mpi", "TEXT")                                                                                              \
    X(SIZE, "size", "INTEGER")                                                                                         \
    X(RANKS, "ranks", "INTEGER")                                                                                       \
    X(HOSTS, "hosts", "INTEGER")                                                                                       \
    X(HOST_NAMES, "host_names", "TEXT")                                                                                \
    X(ENDED_BADLY, "ended_badly", "INTEGER")                                                                           \
    X(SECONDS, "seconds", "REAL")                                                                                      \
    X(MPI_SHARE, "mpi_share", "REAL")                                                                                  \
    X(PARALLEL, "parallel_efficiency", "REAL")                                                                         \
    X(BALANCE, "load_balance", "REAL")                                                                                 \
    X(COMMUNICATION, "communication_efficiency", "REAL")                                                               \
    X(MESSAGES, "messages", "INTEGER")                                                                                 \
    X(BYTES, "bytes", "INTEGER")                                                                                       \
    X(RULE, "rule", "TEXT")                                                                                            \
    X(FINDING, "finding", "TEXT")

#define JOB_COLUMN(id, ...) JOB_##id,
enum job_column { JOB_COLUMN_LIST(JOB_COLUMN) JOB_COLUMNS };
#undef JOB_COLUMN
extern const char *const job_column_names[JOB_COLUMNS];

struct job_table;

/* Opens the index, or a table in memory: `path` is NULL. Ends the tool if that fails. Changes are written by
 * job_table_close. */
struct job_table *job_table_open(const char *path);
void job_table_close(struct job_table *table);

/* True if the file was read before, and has not changed. */
bool job_table_has_file(struct job_table *table, const char *path, const struct stat *st);
/* Notes a file that was read. `part_of`: the job, and its user. `part`: it has only a part of the ranks. If it has all,
 * it replaces the row that was joined from parts. */
enum { JOB_PART_BYTES = 48 };
void job_table_add_file(struct job_table *table, const char *path, const struct stat *st, const char *part_of,
                        bool part);
/* True if there is a row of this source. */
bool job_table_has(struct job_table *table, const char *source);
/* Adds the row of a job, or replaces the one of the same source. */
void job_table_add(struct job_table *table, const char *source, const struct summary *summary, uid_t owner);

/* Prepares a statement. Ends the tool if it is wrong: `what` says of which option it is a part. */
sqlite3_stmt *job_table_ask(struct job_table *table, const char *sql, const char *what);
/* Asks for rows with all columns. After them come a file of the job, and the source that its row had while it was in
 * parts (NULL: it is still). `rest` is what follows FROM jobs. */
enum { JOB_FILE = JOB_COLUMNS, JOB_PARTS_SOURCE, JOB_REST_BYTES = 8192 };
sqlite3_stmt *job_rows_ask(struct job_table *table, const char *rest, const char *what);
/* Finds the newest job of that number, of the batch system or mpit's own, or the one of that file: such a row, at its
 * first step. NULL with a reason: there is none. */
sqlite3_stmt *job_row_find(struct job_table *table, const char *name, char error[128]);
/* Goes to the next row. Returns false after the last one. */
bool job_row_next(sqlite3_stmt *ask);

#endif
