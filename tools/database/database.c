#include "database/database.h"

#include "format/label.h"

#include <assert.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SQL_BYTES = 4096, TEXT_BYTES = 4096 };

struct database {
    sqlite3 *file;
    char path[PATH_MAX];
    sqlite3_stmt *inserts[DATABASE_TABLES]; /* NULL: the table has no row yet */
    sqlite3_stmt *row;                      /* the open one, */
    int column;                             /* and how many of its values are set */
    char trouble[OUTPUT_ERROR_BYTES];       /* "": none */
};

/* Notes the first error. */
static void trouble_note(struct database *database, const char *what)
{
    if (!database->trouble[0])
        snprintf(database->trouble, sizeof database->trouble, "%.300s cannot be written: %.150s (%s)", database->path,
                 database->file ? sqlite3_errmsg(database->file) : "no memory", what);
}

static void sql_run(struct database *database, const char *sql)
{
    if (!database->trouble[0] && sqlite3_exec(database->file, sql, NULL, NULL, NULL) != SQLITE_OK)
        trouble_note(database, "table");
}

static void table_make(struct database *database, const struct database_table_text *table)
{
    char sql[SQL_BYTES];
    size_t used = (size_t)snprintf(sql, sizeof sql, "CREATE TABLE %s (", table->name);
    const char *between = "";
    for (const struct database_column *column = table->columns; column->name && used < sizeof sql; column++) {
        used += (size_t)snprintf(sql + used, sizeof sql - used, "%s%s %s", between, column->name, column->type);
        between = ", ";
    }
    /* A primary key of one integer is the row's own number. Others are in the order of the key. */
    if (used < sizeof sql && table->key)
        used += (size_t)snprintf(sql + used, sizeof sql - used, ", PRIMARY KEY (%s)", table->key);
    if (used < sizeof sql)
        used += (size_t)snprintf(sql + used, sizeof sql - used, ")%s",
                                 table->key && strchr(table->key, ',') ? " WITHOUT ROWID" : "");
    assert(used < sizeof sql);
    sql_run(database, sql);
}

static void table_describe(struct database *database, const struct database_table_text *table)
{
    row_begin(database, TABLE_DESCRIBED);
    row_word(database, table->name);
    row_null(database);
    row_word(database, "");
    row_word(database, table->text);
    row_end(database);
    for (const struct database_column *column = table->columns; column->name; column++) {
        row_begin(database, TABLE_DESCRIBED);
        row_word(database, table->name);
        row_word(database, column->name);
        row_word(database, column->unit);
        row_word(database, column->text);
        row_end(database);
    }
}

static void settings_make(struct database *database)
{
    char version[64];
    /* The file has a temporary name until it is complete, so nothing needs to survive a crash. */
    sql_run(database, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE;"
                      "PRAGMA page_size = 16384; PRAGMA cache_size = -65536; PRAGMA temp_store = MEMORY");
    snprintf(version, sizeof version, "PRAGMA user_version = %d", DATABASE_VERSION);
    sql_run(database, version);
    sql_run(database, "BEGIN");
}

struct database *database_open(const char *path, char error[OUTPUT_ERROR_BYTES])
{
    const char *name = output_name_open(path, error);
    struct database *database = name ? calloc(1, sizeof *database) : NULL;
    if (!database) {
        if (name)
            output_name_close(path, 1, error);
        return NULL;
    }
    snprintf(database->path, sizeof database->path, "%s", path);
    if (sqlite3_open_v2(name, &database->file, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK)
        trouble_note(database, "file");
    settings_make(database);
    for (int i = 0; i < DATABASE_TABLES; i++)
        table_make(database, &database_tables[i]);
    for (int i = 0; i < DATABASE_TABLES; i++)
        table_describe(database, &database_tables[i]);
    return database;
}

bool database_is_broken(const struct database *database)
{
    return database->trouble[0] != '\0';
}

int database_close(struct database *database, bool failed, char error[OUTPUT_ERROR_BYTES])
{
    for (int i = 0; i < DATABASE_TABLES; i++)
        sqlite3_finalize(database->inserts[i]);
    if (!failed)
        sql_run(database, "COMMIT");
    if (sqlite3_close(database->file) != SQLITE_OK)
        trouble_note(database, "end");
    if (!failed && database->trouble[0])
        snprintf(error, OUTPUT_ERROR_BYTES, "%s", database->trouble);
    int result = output_name_close(database->path, failed || database->trouble[0], error);
    free(database);
    return result;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static sqlite3_stmt *insert_make(struct database *database, const struct database_table_text *table)
{
    char sql[SQL_BYTES];
    sqlite3_stmt *insert = NULL;
    size_t used = (size_t)snprintf(sql, sizeof sql, "INSERT INTO %s VALUES (?", table->name);
    for (const struct database_column *column = table->columns + 1; column->name; column++)
        used += (size_t)snprintf(sql + used, sizeof sql - used, ", ?");
    snprintf(sql + used, sizeof sql - used, ")");
    if (!database->trouble[0] && sqlite3_prepare_v2(database->file, sql, -1, &insert, NULL) != SQLITE_OK)
        trouble_note(database, table->name);
    return insert;
}

void row_begin(struct database *database, enum database_table table)
{
    if (!database->inserts[table])
        database->inserts[table] = insert_make(database, &database_tables[table]);
    database->row = database->inserts[table];
    database->column = 0;
}

/* Values of a row without a statement are ignored. */
static void value_check(struct database *database, int result)
{
    if (result != SQLITE_OK && database->row)
        trouble_note(database, "value");
}

void row_null(struct database *database)
{
    value_check(database, sqlite3_bind_null(database->row, ++database->column));
}

void row_rest_null(struct database *database)
{
    while (database->row && database->column < sqlite3_bind_parameter_count(database->row))
        row_null(database);
}

void row_signed(struct database *database, int64_t value)
{
    value_check(database, sqlite3_bind_int64(database->row, ++database->column, value));
}

void row_count(struct database *database, uint64_t count)
{
    row_signed(database, count > INT64_MAX ? INT64_MAX : (int64_t)count);
}

void row_known(struct database *database, bool known, uint64_t count)
{
    if (known)
        row_count(database, count);
    else
        row_null(database);
}

void row_ratio(struct database *database, bool known, double value)
{
    if (known && value - value == 0)
        value_check(database, sqlite3_bind_double(database->row, ++database->column, value));
    else
        row_null(database);
}

void row_text(struct database *database, const char *text)
{
    char clean[TEXT_BYTES];
    if (!text || !text[0]) {
        row_null(database);
        return;
    }
    label_clean(clean, sizeof clean, text, strlen(text));
    value_check(database, sqlite3_bind_text(database->row, ++database->column, clean, -1, SQLITE_TRANSIENT));
}

void row_word(struct database *database, const char *word)
{
    value_check(database, sqlite3_bind_text(database->row, ++database->column, word, -1, SQLITE_STATIC));
}

void row_end(struct database *database)
{
    if (!database->row)
        return;
    assert(database->column == sqlite3_bind_parameter_count(database->row));
    if (!database->trouble[0] && sqlite3_step(database->row) != SQLITE_DONE)
        trouble_note(database, "row");
    sqlite3_reset(database->row);
}
