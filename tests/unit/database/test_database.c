/* Files and rows of a database. */
#include "unittest.h"

#include "database/callfigures.h"
#include "database/database_job.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char directory[] = "/tmp/mpit-database.XXXXXX", path[64], error[OUTPUT_ERROR_BYTES];

FIXTURE(directory_make)
{
    assert_false(!mkdtemp(directory));
    snprintf(path, sizeof path, "%s/job.db", directory);
}

static int directory_remove(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(directory); /* fails if a temporary file is left */
}

/* Returns the first value of a query as text, which the caller frees. NULL: it is NULL. */
static char *asked(const char *sql)
{
    sqlite3 *file;
    sqlite3_stmt *query;
    assert_int_equal(sqlite3_open_v2(path, &file, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(file, sql, -1, &query, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(query), SQLITE_ROW);
    const char *text = (const char *)sqlite3_column_text(query, 0);
    char *copy = text ? strdup(text) : NULL;
    sqlite3_finalize(query);
    sqlite3_close(file);
    return copy;
}

static void answer_check(const char *sql, const char *answer)
{
    char *is = asked(sql);
    if (answer)
        assert_string_equal(is, answer);
    else
        assert_null(is);
    free(is);
}

static void counter_put(struct database *database, const char *name, uint64_t value)
{
    row_begin(database, TABLE_COUNTERS);
    row_signed(database, -1);
    row_text(database, name);
    row_text(database, "");
    row_word(database, "outside");
    row_count(database, value);
    row_end(database);
}

TESTS_ALL(directory_make, directory_remove)

TEST(rows_have_their_values)
{
    struct database *database = database_open(path, error);
    assert_non_null(database);
    counter_put(database,
                "br\xff"
                "ken",
                7);
    counter_put(database, "huge", UINT64_MAX);
    row_begin(database, TABLE_ABOUT);
    row_ratio(database, true, 0.5);
    row_ratio(database, true, 1e308 * 10);
    row_end(database);
    assert_false(database_is_broken(database));
    assert_int_equal(database_close(database, false, error), 0);
    answer_check("SELECT value FROM counters WHERE counter = 'br?ken' AND job = -1", "7");
    answer_check("SELECT value FROM counters WHERE counter = 'huge'", "9223372036854775807");
    answer_check("SELECT unit FROM counters WHERE counter = 'huge'", NULL);
    answer_check("SELECT value FROM about WHERE name = 0.5", NULL); /* not a number */
    answer_check("PRAGMA integrity_check", "ok");
    unlink(path);
}

/* Only recorded time tells how efficient a job is. And a damaged file may have any time. */
TEST(times_of_a_job_are_told)
{
    struct summary_row row = {.run_ns = 5000, .off_ns = 2000, .threads = 1};
    struct summary_host host = {"node"};
    struct summary summary = {.run_seconds.max = 5e-6,
                              .recorded_seconds.max = 3e-6,
                              .rows = &row,
                              .row_count = 1,
                              .hosts = &host,
                              .host_count = 1};
    struct run_job run = {.summary = &summary};
    struct database *database = database_open(path, error);
    for (int64_t number = 1; number <= 2; number++) {
        struct database_job job = {.database = database, .job = &run, .number = number};
        database_summary_fill(&job);
        summary.run_seconds.max = summary.recorded_seconds.max = 1e300;
    }
    assert_int_equal(database_close(database, false, error), 0);
    answer_check("SELECT run_ns || ' ' || recorded_ns FROM jobs WHERE job = 1", "5000 3000");
    answer_check("SELECT run_ns || ' ' || recorded_ns FROM ranks WHERE job = 1", "5000 3000");
    answer_check("SELECT coalesce(run_ns, recorded_ns) FROM jobs WHERE job = 2", NULL);
    unlink(path);
}

TEST(each_column_is_described)
{
    struct database *database = database_open(path, error);
    assert_int_equal(database_close(database, false, error), 0);
    unsigned columns = 0;
    char number[16];
    for (unsigned i = 0; i < DATABASE_TABLES; i++)
        for (const struct database_column *column = database_tables[i].columns; column->name; column++)
            columns++;
    snprintf(number, sizeof number, "%u", columns + DATABASE_TABLES);
    answer_check(
        "SELECT count(DISTINCT table_name || '.' || coalesce(column_name, '')) FROM described WHERE text <> ''",
        number);
    unlink(path);
}

TEST(an_existing_file_is_refused)
{
    FILE *file = fopen(path, "w");
    fputs("mine", file);
    fclose(file);
    assert_null(database_open(path, error));
    assert_non_null(strstr(error, "exists; remove it"));
    char text[8] = "";
    file = fopen(path, "r");
    assert_non_null(fgets(text, sizeof text, file));
    fclose(file);
    assert_string_equal(text, "mine");
    unlink(path);
}

TEST(a_failure_leaves_no_file)
{
    struct database *database = database_open(path, error);
    counter_put(database, "lost", 1);
    strcpy(error, "the reason");
    assert_int_equal(database_close(database, true, error), -1);
    assert_string_equal(error, "the reason");
    assert_int_not_equal(access(path, F_OK), 0);
}

/* Two rows with the same key: SQLite refuses the second. */
TEST(an_error_of_sqlite_is_told)
{
    struct database *database = database_open(path, error);
    counter_put(database, "twice", 1);
    counter_put(database, "twice", 2);
    assert_true(database_is_broken(database));
    counter_put(database, "more", 3);
    error[0] = '\0';
    assert_int_equal(database_close(database, false, error), -1);
    assert_non_null(strstr(error, "cannot be written: UNIQUE constraint failed"));
    assert_int_not_equal(access(path, F_OK), 0);
}

static struct call_part part(unsigned kind, uint64_t bytes, uint32_t of)
{
    return (struct call_part){
        .event = {.begin = 5, .duration = of, .kind = (uint16_t)kind, .comm = 1, .peer = 1, .bytes = bytes}};
}

TEST(a_call_has_the_figures_of_its_records)
{
    struct call_figures *figures = call_figures_open();
    struct call_part parts[] = {part(RECORD_RECV_DONE, 100, CALL_MPI_Irecv), part(RECORD_RECV_DONE, 50, CALL_MPI_Irecv),
                                part(RECORD_SEND_DONE, 7, CALL_MPI_Isend), part(RECORD_STALL, 3, CALL_MPI_Waitall)};
    struct traced_call wait = {.event = {.begin = 10, .duration = 20, .kind = CALL_MPI_Waitall, .peer = 3, .tag = 3},
                               .end = 30,
                               .parts = parts,
                               .part_count = 4};
    struct traced_call send = {
        .event = {.begin = 40, .duration = 5, .kind = CALL_MPI_Send, .comm = 1, .peer = 1, .bytes = 2048}, .end = 45};
    for (int i = 0; i < 2; i++) { /* the second time, nothing of the first is left */
        const struct path_cells *of = call_figures_of(figures, &wait);
        EQUALS({of->calls, 1}, {of->time, 20}, {of->stall_time, 3}, {of->received, 2}, {of->bytes_in, 150},
               {of->sent, 0});
        of = call_figures_of(figures, &send);
        EQUALS({of->sent, 1}, {of->bytes_out, 2048}, {of->received, 0}, {of->small, 0});
    }
    call_figures_close(figures);
}
