#include "jobs/joblist.h"

#include "base/units.h"
#include "format/label.h"
#include "job/jsonvalue.h"

#include <limits.h>
#include <math.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char *text_of(sqlite3_stmt *row, enum job_column column)
{
    const char *text = (const char *)sqlite3_column_text(row, column);
    return text ? text : "";
}

enum { COLUMN_BYTES = 64 };

/* For a terminal. The index may be somebody else's. */
static const char *clean_of(char text[COLUMN_BYTES], const char *from)
{
    label_clean(text, COLUMN_BYTES, from, strlen(from) + 1);
    return text;
}

static bool column_is_known(sqlite3_stmt *row, enum job_column column)
{
    return sqlite3_column_type(row, column) != SQLITE_NULL;
}

/* The batch system's number of the job in this row, or mpit's own. */
static const char *job_name(sqlite3_stmt *row)
{
    const char *scheduler = strchr(text_of(row, JOB_SCHEDULER), ' ');
    return scheduler ? scheduler + 1 : text_of(row, JOB_NUMBER);
}

void job_row_title_print(sqlite3_stmt *row, FILE *out)
{
    char name[COLUMN_BYTES], user[COLUMN_BYTES], program[COLUMN_BYTES];
    fprintf(out, "%s, %lld ranks, job %s of %s\n", clean_of(program, text_of(row, JOB_PROGRAM)),
            sqlite3_column_int64(row, JOB_SIZE), clean_of(name, job_name(row)), clean_of(user, text_of(row, JOB_USER)));
}

static const char *share_column_text(char text[UNIT_TEXT_BYTES], sqlite3_stmt *row, enum job_column column)
{
    return column_is_known(row, column) ? text_of_share(text, sqlite3_column_double(row, column), 1) : "-";
}

static const char *when_text(char text[32], sqlite3_stmt *row)
{
    const double most = 1e15; /* any number may be in the file */
    double begin = sqlite3_column_double(row, JOB_BEGIN);
    time_t second = fabs(begin) < most ? (time_t)begin : 0;
    struct tm local;
    if (!second || !localtime_r(&second, &local) || !strftime(text, 32, "%Y-%m-%d %H:%M", &local))
        strcpy(text, "-");
    return text;
}

const char *job_row_file(sqlite3_stmt *row)
{
    const char *path = (const char *)sqlite3_column_text(row, JOB_FILE);
    return path ? path : "";
}

/* The directory of the run, from this one if it is below it. */
static void directory_text(sqlite3_stmt *row, char text[PATH_MAX])
{
    char here[PATH_MAX] = "";
    const char *path = job_row_file(row), *slash = strrchr(path, '/');
    size_t bytes = getcwd(here, sizeof here) ? strlen(here) : 0;
    if (bytes && strncmp(path, here, bytes) == 0 && path[bytes] == '/')
        path += bytes + 1;
    label_clean(text, PATH_MAX, slash > path ? path : ".", slash > path ? (size_t)(slash - path) : 1);
}

static void line_print(sqlite3_stmt *row, FILE *out)
{
    char name[COLUMN_BYTES], user[COLUMN_BYTES], program[COLUMN_BYTES], rule[COLUMN_BYTES], found[COLUMN_BYTES + 16];
    char directory[PATH_MAX], when[32], time[UNIT_TEXT_BYTES], mpi[UNIT_TEXT_BYTES], efficiency[UNIT_TEXT_BYTES];
    bool badly = sqlite3_column_int64(row, JOB_ENDED_BADLY) > 0,
         lacks = sqlite3_column_int64(row, JOB_SIZE) > sqlite3_column_int64(row, JOB_RANKS);
    directory_text(row, directory);
    snprintf(found, sizeof found, "%s%s",
             badly   ? "died "
             : lacks ? "incomplete "
                     : "",
             clean_of(rule, text_of(row, JOB_RULE)));
    fprintf(out, "%-16s  %-16s  %-8s  %-16s %6lld %5lld %9s %7s %7s  %-22s  %s\n", when_text(when, row),
            clean_of(name, job_name(row)), clean_of(user, text_of(row, JOB_USER)),
            clean_of(program, text_of(row, JOB_PROGRAM)), sqlite3_column_int64(row, JOB_SIZE),
            sqlite3_column_int64(row, JOB_HOSTS),
            column_is_known(row, JOB_SECONDS) ? text_of_seconds(time, sqlite3_column_double(row, JOB_SECONDS)) : "-",
            share_column_text(mpi, row, JOB_MPI_SHARE), share_column_text(efficiency, row, JOB_PARALLEL), found,
            directory);
}

void job_list_print(sqlite3_stmt *ask, size_t most, FILE *out)
{
    size_t count = 0;
    for (; job_row_next(ask); count++) {
        if (count == 0)
            fprintf(out, "%-16s  %-16s  %-8s  %-16s %6s %5s %9s %7s %7s  %-22s  %s\n", "when", "job", "user", "program",
                    "ranks", "hosts", "time", "in MPI", "effic.", "first finding", "directory");
        if (!most || count < most)
            line_print(ask, out);
    }
    if (!count)
        fprintf(out, "no job fits\n");
    else if (most && count > most)
        fprintf(out, "%zu more: --limit 0 shows all\n", count - most);
}

json_t *job_json(sqlite3_stmt *row)
{
    json_t *object = json_object();
    for (int i = 0; i < JOB_COLUMNS; i++) {
        int type = sqlite3_column_type(row, i);
        json_t *value = type == SQLITE_INTEGER ? json_integer(sqlite3_column_int64(row, i))
                        : type == SQLITE_FLOAT ? figure_json(sqlite3_column_double(row, i))
                        : type == SQLITE_TEXT  ? text_json(text_of(row, (enum job_column)i))
                                               : json_null();
        json_object_set_new(object, job_column_names[i], value);
    }
    return object;
}

/* With the directory of its file, where mpit-dump finds the job. */
static json_t *listed_json(sqlite3_stmt *row)
{
    json_t *object = job_json(row);
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s", job_row_file(row));
    char *slash = strrchr(path, '/');
    if (slash)
        *slash = '\0';
    json_object_set_new(object, "directory", slash ? text_json(path) : json_null());
    return object;
}

json_t *job_list_json(sqlite3_stmt *ask, size_t most)
{
    json_t *list = json_array();
    while (job_row_next(ask) && (!most || json_array_size(list) < most))
        json_array_append_new(list, listed_json(ask));
    return list;
}

/* ---- SQL --------------------------------------------------------------------------------------------------------- */

enum { ROWS_A_STATEMENT = 500 };

#define COLUMN_TYPE(id, name, type) type,
static const char *const column_types[JOB_COLUMNS] = {JOB_COLUMN_LIST(COLUMN_TYPE)};

static const char *postgres_type(const char *type)
{
    return strcmp(type, "REAL") == 0 ? "DOUBLE PRECISION" : strcmp(type, "INTEGER") == 0 ? "BIGINT" : "TEXT";
}

/* A text is in quotes, and a quote in it stands twice. */
static void text_sql_print(const char *text, FILE *out)
{
    char clean[PATH_MAX];
    label_clean(clean, sizeof clean, text, strlen(text) + 1);
    fputc('\'', out);
    for (const char *at = clean; *at; at++) {
        if (*at == '\'')
            fputc('\'', out);
        fputc(*at, out);
    }
    fputc('\'', out);
}

static void row_sql_print(sqlite3_stmt *row, FILE *out)
{
    for (int i = 0; i < JOB_COLUMNS; i++) {
        int type = sqlite3_column_type(row, i);
        double number = sqlite3_column_double(row, i);
        fputs(i ? ", " : "(", out);
        if (type == SQLITE_INTEGER)
            fprintf(out, "%lld", sqlite3_column_int64(row, i));
        else if (type == SQLITE_FLOAT && isfinite(number))
            fprintf(out, "%.17g", number);
        else if (type == SQLITE_TEXT)
            text_sql_print(text_of(row, (enum job_column)i), out);
        else
            fputs("NULL", out);
    }
    fputc(')', out);
}

static void statement_end(FILE *out)
{
    fputs("\nON CONFLICT (source) DO UPDATE SET", out);
    for (int i = 0; i < JOB_COLUMNS; i++)
        fprintf(out, "%s \"%s\" = excluded.\"%s\"", i ? "," : "", job_column_names[i], job_column_names[i]);
    fputs(";\n", out);
}

/* A job that is in one file now has no row of its parts any more. */
static void parts_sql_print(sqlite3_stmt *ask, size_t most, FILE *out)
{
    size_t gone = 0;
    sqlite3_reset(ask);
    for (size_t count = 0; (!most || count < most) && job_row_next(ask); count++) {
        if (sqlite3_column_type(ask, JOB_PARTS_SOURCE) != SQLITE_TEXT)
            continue;
        fputs(gone % ROWS_A_STATEMENT ? ",\n"
              : gone                  ? ");\nDELETE FROM jobs WHERE source IN (\n"
                                      : "DELETE FROM jobs WHERE source IN (\n",
              out);
        text_sql_print((const char *)sqlite3_column_text(ask, JOB_PARTS_SOURCE), out);
        gone++;
    }
    fputs(gone ? ");\n" : "", out);
}

void job_list_sql(sqlite3_stmt *ask, size_t most, FILE *out)
{
    size_t count = 0;
    fputs("BEGIN;\nSET LOCAL client_min_messages = warning;\nCREATE TABLE IF NOT EXISTS jobs (", out);
    for (int i = 0; i < JOB_COLUMNS; i++)
        fprintf(out, "%s\"%s\" %s%s", i ? ", " : "", job_column_names[i], postgres_type(column_types[i]),
                i == JOB_SOURCE ? " PRIMARY KEY" : "");
    fprintf(out, ");\nCREATE INDEX IF NOT EXISTS jobs_begin ON jobs (\"%s\");\n", job_column_names[JOB_BEGIN]);
    for (; (!most || count < most) && job_row_next(ask); count++) {
        if (count && count % ROWS_A_STATEMENT == 0)
            statement_end(out);
        fputs(count % ROWS_A_STATEMENT ? ",\n" : "INSERT INTO jobs VALUES\n", out);
        row_sql_print(ask, out);
    }
    if (count)
        statement_end(out);
    parts_sql_print(ask, most, out);
    fputs("COMMIT;\n", out);
}
