#include "jobs/jobtable.h"

#include "base/text.h"
#include "base/username.h"
#include "format/label.h"
#include "findings/findings.h"
#include "summary/efficiency.h"

#include <err.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COLUMN_NAME(id, name, type) name,
#define COLUMN_SQL(id, name, type) name " " type ", "
const char *const job_column_names[JOB_COLUMNS] = {JOB_COLUMN_LIST(COLUMN_NAME)};

/* Says that a file is an index of mpit-jobs, and of which version. */
enum { APPLICATION = 0x6d70696a, VERSION = 2 };

static const char schema[] =
    "CREATE TABLE jobs (" JOB_COLUMN_LIST(COLUMN_SQL) "PRIMARY KEY (source));"
                                                      "CREATE INDEX jobs_begin ON jobs (begin);"
                                                      "CREATE INDEX jobs_program ON jobs (program, size);"
                                                      "CREATE TABLE files (file TEXT PRIMARY KEY, changed INTEGER, "
                                                      "bytes INTEGER, part_of TEXT, part INTEGER, joined "
                                                      "INTEGER);"
                                                      "CREATE INDEX files_part ON files (joined, part_of);"
                                                      "PRAGMA application_id = 0x6d70696a; PRAGMA user_version = 2";

struct job_table {
    sqlite3 *database;
    char name[4096];
    sqlite3_stmt *has_file, *add_file, *add, *drop_joined;
};

__attribute__((noreturn)) static void table_fail(const struct job_table *table)
{
    errx(1, "the index %s: %s", table->name, table->database ? sqlite3_errmsg(table->database) : "no memory");
}

static void sql_run(struct job_table *table, const char *sql)
{
    if (sqlite3_exec(table->database, sql, NULL, NULL, NULL) != SQLITE_OK)
        table_fail(table);
}

static int number_ask(struct job_table *table, const char *sql)
{
    sqlite3_stmt *ask = job_table_ask(table, sql, NULL);
    int number = job_row_next(ask) ? sqlite3_column_int(ask, 0) : 0;
    sqlite3_finalize(ask);
    return number;
}

struct job_table *job_table_open(const char *path)
{
    struct job_table *table = calloc(1, sizeof *table);
    char sql[1024], user[USER_BYTES];
    struct stat st;
    if (!table)
        errx(1, "no memory");
    snprintf(table->name, sizeof table->name, "%s", path ? path : "in memory");
    mode_t before = umask(077); /* it has what summaries have, which are the users' alone */
    int opened = sqlite3_open(path ? path : ":memory:", &table->database);
    umask(before);
    if (opened != SQLITE_OK)
        table_fail(table);
    if (path && stat(path, &st) == 0 && st.st_uid != geteuid() && st.st_uid != 0) {
        user_name(user, st.st_uid);
        errx(1, "the index %s belongs to user %s, who reads and changes what is in it; name another file with --index",
             path, user);
    }
    sqlite3_busy_timeout(table->database, 60000);
    sql_run(table, "PRAGMA trusted_schema = OFF; BEGIN IMMEDIATE");
    int application = number_ask(table, "PRAGMA application_id"),
        tables = number_ask(table, "SELECT count(*) FROM sqlite_master");
    if (application == APPLICATION && number_ask(table, "PRAGMA user_version") != VERSION)
        errx(1, "the index %s is of another version of mpit-jobs; remove it, and it is made again", path);
    if (application != APPLICATION && tables)
        errx(1, "%s is not an index of mpit-jobs; name a new file with --index", path);
    if (!tables)
        sql_run(table, schema);
    size_t used = (size_t)snprintf(sql, sizeof sql, "INSERT OR REPLACE INTO jobs VALUES (?");
    for (int i = 1; i < JOB_COLUMNS; i++)
        used += (size_t)snprintf(sql + used, sizeof sql - used, ",?");
    snprintf(sql + used, sizeof sql - used, ")");
    table->add = job_table_ask(table, sql, NULL);
    table->add_file = job_table_ask(table, "INSERT OR REPLACE INTO files VALUES (?1,?2,?3,?4,?5,1-?5)", NULL);
    table->has_file = job_table_ask(table, "SELECT changed, bytes FROM files WHERE file = ?", NULL);
    table->drop_joined = job_table_ask(table, "DELETE FROM jobs WHERE source = 'job ' || ?", NULL);
    return table;
}

void job_table_close(struct job_table *table)
{
    sqlite3_finalize(table->add);
    sqlite3_finalize(table->add_file);
    sqlite3_finalize(table->has_file);
    sqlite3_finalize(table->drop_joined);
    sql_run(table, "COMMIT");
    sqlite3_close(table->database);
    free(table);
}

sqlite3_stmt *job_table_ask(struct job_table *table, const char *sql, const char *what)
{
    sqlite3_stmt *ask;
    if (sqlite3_prepare_v2(table->database, sql, -1, &ask, NULL) == SQLITE_OK)
        return ask;
    if (what)
        errx(2, "%s: %s", what, sqlite3_errmsg(table->database));
    table_fail(table);
}

sqlite3_stmt *job_rows_ask(struct job_table *table, const char *rest, const char *what)
{
    char sql[JOB_REST_BYTES + 256];
    snprintf(sql, sizeof sql,
             "SELECT *, CASE WHEN source LIKE '/%%' THEN source ELSE (SELECT max(file) FROM files WHERE joined = 1 AND "
             "part_of = substr(source, 5)) END, (SELECT 'job ' || part_of FROM files WHERE file = source) FROM jobs %s",
             rest);
    return job_table_ask(table, sql, what);
}

sqlite3_stmt *job_row_find(struct job_table *table, const char *name, char error[128])
{
    char path[PATH_MAX];
    sqlite3_stmt *job = job_rows_ask(table,
                                     "WHERE source = ?2 OR job = ?1 OR substr(scheduler_job, instr(scheduler_job, ' ') "
                                     "+ 1) = ?1 ORDER BY begin DESC LIMIT 1",
                                     NULL);
    sqlite3_bind_text(job, 1, name, -1, SQLITE_TRANSIENT);
    sqlite3_bind_text(job, 2, realpath(name, path) ? path : name, -1, SQLITE_TRANSIENT);
    if (job_row_next(job))
        return job;
    snprintf(error, 128, "there is no job %.60s; mpit-jobs lists the jobs", name);
    sqlite3_finalize(job);
    return NULL;
}

bool job_row_next(sqlite3_stmt *ask)
{
    int result = sqlite3_step(ask);
    if (result != SQLITE_ROW && result != SQLITE_DONE)
        errx(1, "the index: %s", sqlite3_errmsg(sqlite3_db_handle(ask)));
    return result == SQLITE_ROW;
}

static int64_t changed_of(const struct stat *st)
{
    return (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
}

bool job_table_has_file(struct job_table *table, const char *path, const struct stat *st)
{
    sqlite3_stmt *ask = table->has_file;
    sqlite3_bind_text(ask, 1, path, -1, SQLITE_TRANSIENT);
    bool has = job_row_next(ask) && sqlite3_column_int64(ask, 0) == changed_of(st) &&
               sqlite3_column_int64(ask, 1) == (int64_t)st->st_size;
    sqlite3_reset(ask);
    return has;
}

static void statement_run(sqlite3_stmt *statement)
{
    job_row_next(statement);
    sqlite3_reset(statement);
}

void job_table_add_file(struct job_table *table, const char *path, const struct stat *st, const char *part_of,
                        bool part)
{
    sqlite3_bind_text(table->add_file, 1, path, -1, SQLITE_TRANSIENT);
    sqlite3_bind_int64(table->add_file, 2, changed_of(st));
    sqlite3_bind_int64(table->add_file, 3, (int64_t)st->st_size);
    sqlite3_bind_text(table->add_file, 4, part_of, -1, SQLITE_TRANSIENT);
    sqlite3_bind_int(table->add_file, 5, part);
    statement_run(table->add_file);
    sqlite3_bind_text(table->drop_joined, 1, part_of, -1, SQLITE_TRANSIENT);
    if (!part)
        statement_run(table->drop_joined);
}

bool job_table_has(struct job_table *table, const char *source)
{
    sqlite3_stmt *ask = job_table_ask(table, "SELECT 1 FROM jobs WHERE source = ?", NULL);
    sqlite3_bind_text(ask, 1, source, -1, SQLITE_TRANSIENT);
    bool has = job_row_next(ask);
    sqlite3_finalize(ask);
    return has;
}

/* ---- the row of a job -------------------------------------------------------------------------------------------- */

/* A text from a file: "" becomes NULL. */
static void text_column_set(sqlite3_stmt *row, enum job_column column, const char *text)
{
    char clean[4096];
    label_clean(clean, sizeof clean, text ? text : "", text ? strlen(text) + 1 : 1);
    if (clean[0])
        sqlite3_bind_text(row, column + 1, clean, -1, SQLITE_TRANSIENT);
    else
        sqlite3_bind_null(row, column + 1);
}

static void count_put(sqlite3_stmt *row, enum job_column column, uint64_t count)
{
    sqlite3_bind_int64(row, column + 1, count > INT64_MAX ? INT64_MAX : (int64_t)count);
}

static void figure_put(sqlite3_stmt *row, enum job_column column, bool known, double figure)
{
    if (known && isfinite(figure))
        sqlite3_bind_double(row, column + 1, figure);
    else
        sqlite3_bind_null(row, column + 1);
}

static void hosts_put(sqlite3_stmt *row, const struct summary *summary)
{
    char *names = NULL;
    size_t bytes;
    FILE *out = open_memstream(&names, &bytes);
    for (size_t i = 0; out && i < summary->host_count; i++)
        fprintf(out, "%s%s", i ? " " : "", summary->hosts[i].name);
    if (!out || fclose(out) != 0)
        errx(1, "no memory");
    count_put(row, JOB_HOSTS, summary->host_count);
    sqlite3_bind_text(row, JOB_HOST_NAMES + 1, names, -1, free);
}

/* The file's owner. The name in the summary may be any: it counts only if root has moved the file, or if the site hides
 * names. */
static void user_put(sqlite3_stmt *row, const struct summary_origin *origin, uid_t owner)
{
    char name[USER_BYTES];
    user_name(name, owner);
    bool told = origin->told && (origin->user[0] == '#' || (owner == 0 && origin->user[0]));
    text_column_set(row, JOB_USER, told ? origin->user : name);
}

static void finding_column_set(sqlite3_stmt *row, const struct summary *summary)
{
    struct findings *findings = malloc(sizeof *findings);
    if (!findings)
        errx(1, "no memory");
    findings_find(findings, summary);
    const struct finding *first = findings->known && findings->count ? findings->list : NULL;
    for (size_t i = 0; first && first->note && i < findings->count; i++)
        first = findings->list[i].note ? first : &findings->list[i]; /* as on the first screen */
    text_column_set(row, JOB_RULE, first ? first->rule : NULL);
    text_column_set(row, JOB_FINDING, first ? first->text : NULL);
    free(findings);
}

static void figures_put(sqlite3_stmt *row, const struct summary *summary)
{
    struct efficiency is = summary_efficiency(summary);
    uint64_t messages = 0, bytes = 0;
    for (size_t i = 0; i < summary->row_count; i++) {
        messages += summary->rows[i].sent;
        bytes += summary->rows[i].sent_bytes;
    }
    bool timed = summary->ranks && (summary->timed || summary->timed_mixed);
    figure_put(row, JOB_SECONDS, summary->run_seconds.max > 0, summary->run_seconds.max);
    figure_put(row, JOB_MPI_SHARE, timed && summary->run_seconds.max > 0,
               summary->mpi_share.sum / (summary->ranks ? summary->ranks : 1));
    figure_put(row, JOB_PARALLEL, is.known, is.parallel);
    figure_put(row, JOB_BALANCE, is.known, is.load_balance);
    figure_put(row, JOB_COMMUNICATION, is.known, is.communication);
    count_put(row, JOB_MESSAGES, messages);
    count_put(row, JOB_BYTES, bytes);
}

void job_table_add(struct job_table *table, const char *source, const struct summary *summary, uid_t owner)
{
    const struct summary_origin *origin = &summary->origin;
    sqlite3_stmt *row = table->add;
    char number[24];
    snprintf(number, sizeof number, "%016" PRIx64, summary->job);
    text_column_set(row, JOB_NUMBER, number);
    text_column_set(row, JOB_SOURCE, source);
    figure_put(row, JOB_BEGIN, origin->begin_ns > 0, (double)origin->begin_ns * 1e-9);
    user_put(row, origin, owner);
    text_column_set(row, JOB_SCHEDULER, origin->scheduler_job);
    text_column_set(row, JOB_LABEL, origin->label);
    text_column_set(row, JOB_PROGRAM, path_base(summary->program));
    text_column_set(row, JOB_PATH, summary->program);
    text_column_set(row, JOB_COMMAND, origin->command);
    text_column_set(row, JOB_MPI, summary->mpi);
    count_put(row, JOB_SIZE, summary->world_size);
    count_put(row, JOB_RANKS, summary->ranks);
    hosts_put(row, summary);
    count_put(row, JOB_ENDED_BADLY, summary->ended_badly);
    figures_put(row, summary);
    finding_column_set(row, summary);
    statement_run(row);
}
