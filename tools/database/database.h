/*
 * A SQLite database that is being written.
 *
 *   database_open ──> row_begin, a value for each column, row_end ... ──> database_close: the file has its name
 *
 * The file is written under a temporary name, in one transaction. After a failure or an interrupt no file is left. An
 * error of SQLite is kept, and later rows are ignored. database_close tells it.
 */
#ifndef MPIT_TOOLS_DATABASE_H
#define MPIT_TOOLS_DATABASE_H

#include "base/outputfile.h"
#include "database/database_schema.h"

#include <stdbool.h>
#include <stdint.h>

struct database;

/* Makes the file with its tables, and describes them. NULL: error has the reason, as when the file exists. */
struct database *database_open(const char *path, char error[OUTPUT_ERROR_BYTES]);
/* True if an error has occurred, so that more rows are of no use. */
bool database_is_broken(const struct database *database);
/* Frees it. `failed`: removes the file. Returns 0, or -1 with the reason in `error`. A reason that is there stays. */
int database_close(struct database *database, bool failed, char error[OUTPUT_ERROR_BYTES]);

void row_begin(struct database *database, enum database_table table);
/* The value of the next column. The last one is followed by row_end. */
void row_null(struct database *database);
void row_rest_null(struct database *database); /* of all columns that follow */
void row_signed(struct database *database, int64_t value);
/* A count over 2^63 - 1, which does not occur, becomes 2^63 - 1. */
void row_count(struct database *database, uint64_t count);
void row_known(struct database *database, bool known, uint64_t count); /* not known: NULL */
void row_ratio(struct database *database, bool known, double value);
/* A text from a program or a file: bytes that are not UTF-8 become '?'. NULL or "": NULL. */
void row_text(struct database *database, const char *text);
/* A text of mpit that lives until the end. NULL: NULL. */
void row_word(struct database *database, const char *word);
void row_end(struct database *database);

#endif
