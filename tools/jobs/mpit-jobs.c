/*
 * mpit-jobs: the jobs of a log tree. It reads their summaries, lists and filters them, and says how a job differs from
 * the usual.
 */
#include "base/age.h"
#include "base/options.h"
#include "base/spelling.h"
#include "job/jsonvalue.h"
#include "jobs/historypage.h"
#include "jobs/joblist.h"
#include "jobs/jobtree.h"
#include "jobs/usual.h"
#include "run/installation.h"

#include <err.h>
#include <getopt.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum letter {
    INDEX = 256,
    USER,
    PROGRAM,
    HOST,
    SINCE,
    UNTIL,
    RANKS,
    FINDING,
    DIED,
    WHERE,
    SORT,
    LIMIT,
    USUAL,
    OPEN,
    HTML,
    SQL,
    JSON
};

enum { CONDITIONS_MOST = 32, SQL_BYTES = JOB_REST_BYTES - 128 };

struct request {
    const char *index, *sort, *usual, *open, *page;
    size_t limit;
    bool json, statements;
    char sql[SQL_BYTES]; /* conditions, each with AND before it */
    size_t used;
    struct {
        const char *text; /* or */
        double number;
    } values[CONDITIONS_MOST]; /* of the conditions, in order */
    size_t count;
};

static struct request request = {.sort = "begin", .limit = 50};

static const struct tool_option options[] = {
    {"user", "NAME", USER, "jobs of this user", NULL},
    {"program", "NAME", PROGRAM, "jobs of this program; * matches any characters", NULL},
    {"host", "NAME", HOST, "jobs that ran on this host", NULL},
    {"ranks", "N[-M]", RANKS, "jobs of N, or of N to M ranks", NULL},
    {"since", "TIME", SINCE, "later ones: 2026-11-27, '2026-11-27 08:00', 12h, 7d", NULL},
    {"until", "TIME", UNTIL, "earlier ones", NULL},
    {"finding", "RULE", FINDING, "jobs with this first finding, as in --json", NULL},
    {"died", NULL, DIED, "jobs with processes that died", NULL},
    {"where", "SQL", WHERE, "any condition on the columns: 'mpi_share > 0.5'", NULL},
    {"sort", "COLUMN", SORT, "largest first (default: begin)", NULL},
    {"limit", "N", LIMIT, "at most N jobs (default: 50; 0: all)", NULL},
    {"usual", "JOB", USUAL, "how this job differs from others of its program and size", &request.usual},
    {"open", "JOB", OPEN, "the first screen of this job; with --html FILE its page", &request.open},
    {"index", "FILE", INDEX, "keep the table in FILE, and read only what is new", &request.index},
    {"html", "FILE", HTML, "a page with the history of each program", &request.page},
    {"sql", NULL, SQL, "as statements for PostgreSQL", &request.statements},
    {"json", NULL, JSON, "as JSON", &request.json},
    {.name = NULL},
};

static const struct command_line command_line = {
    .version = "mpit-jobs " MPIT_VERSION "\n",
    .shorts = ":h",
    .head = "Usage: mpit-jobs [options] DIR...\n"
            "Lists the jobs whose summaries are in the directories, or in folders below them.\n"
            "\n",
    .options = options,
    .column = 18,
    .tail = "\n"
            "Exit status: 0; 1: a directory cannot be read; 2: bad options\n"
            "Example:  mpit-jobs --since 7d --sort seconds /logs      (man mpit-jobs)\n",
};

/* Adds a condition with at most one value. */
static void condition_add(const char *condition, const char *text, double number)
{
    request.used += (size_t)snprintf(request.sql + request.used, SQL_BYTES - request.used, " AND (%s)", condition);
    if (request.used >= SQL_BYTES || request.count == CONDITIONS_MOST)
        usage_reject("there are too many conditions");
    if (!strchr(condition, '?'))
        return;
    request.values[request.count].text = text;
    request.values[request.count++].number = number;
}

/* Returns seconds since the epoch. */
static double time_bound_read(const char *option, const char *text)
{
    struct tm day = {.tm_isdst = -1};
    double age;
    if (age_read(text, &age))
        return (double)time(NULL) - age;
    const char *rest = strptime(text, "%Y-%m-%d", &day);
    if (rest && *rest)
        rest = strptime(rest, " %H:%M", &day);
    if (!rest || *rest)
        usage_reject(
            "--%s %.40s cannot be used: allowed are times such as 2026-11-27, '2026-11-27 08:00', " AGE_EXAMPLES,
            option, text);
    return (double)mktime(&day);
}

static void size_range_add(const char *text)
{
    char *end;
    unsigned long least = strtoul(text, &end, 10), most = least;
    bool good = *text >= '0' && *text <= '9';
    if (good && *end == '-' && end[1] >= '0' && end[1] <= '9')
        most = strtoul(end + 1, &end, 10);
    if (!good || *end || most < least)
        usage_reject("--ranks %.40s cannot be used: allowed are numbers such as 16, and ranges such as 16-64", text);
    condition_add("size >= ?", NULL, (double)least);
    condition_add("size <= ?", NULL, (double)most);
}

static size_t limit_read(const char *text)
{
    char *end;
    unsigned long limit = strtoul(text, &end, 10);
    if (*text < '0' || *text > '9' || *end)
        usage_reject("--limit %.40s cannot be used: allowed are whole numbers; 0 shows all", text);
    return limit;
}

static const char *column_read(const char *text)
{
    struct spelling like = {.word = text};
    for (int i = 0; i < JOB_COLUMNS; i++) {
        if (strcmp(job_column_names[i], text) == 0)
            return job_column_names[i];
        spelling_try(&like, job_column_names[i]);
    }
    usage_reject("--sort %.40s: there is no such column; %s%s%s", text,
                 like.nearest ? "did you mean " : "man mpit-jobs lists them", like.nearest ? like.nearest : "",
                 like.nearest ? "?" : "");
}

static void option_filter_read(int option)
{
    switch (option) {
    case USER:
        condition_add("user = ?", optarg, 0);
        break;
    case PROGRAM:
        condition_add("program GLOB ?", optarg, 0);
        break;
    case HOST:
        condition_add("' ' || host_names || ' ' GLOB '* ' || ? || ' *'", optarg, 0);
        break;
    case SINCE:
        condition_add("begin >= ?", NULL, time_bound_read("since", optarg));
        break;
    case UNTIL:
        condition_add("begin < ?", NULL, time_bound_read("until", optarg));
        break;
    case RANKS:
        size_range_add(optarg);
        break;
    case FINDING:
        condition_add("? IN (rule, CASE WHEN ended_badly > 0 THEN trim('died ' || coalesce(rule, ''))"
                      " WHEN ranks < size THEN trim('incomplete ' || coalesce(rule, '')) END)",
                      optarg, 0);
        break;
    case DIED:
        condition_add("ended_badly > 0", NULL, 0);
        break;
    }
}

static void jobs_request_read(int argc, char *argv[])
{
    bool limited = false, sorted = false;
    for (int option; (option = command_line_next(&command_line, argc, argv)) != -1;) {
        switch (option) {
        case WHERE:
            if (strpbrk(optarg, "?;"))
                usage_reject("--where: the characters ? and ; are not allowed");
            condition_add(optarg, NULL, 0);
            break;
        case SORT:
            request.sort = column_read(optarg);
            sorted = true;
            break;
        case LIMIT:
            request.limit = limit_read(optarg);
            limited = true;
            break;
        default:
            option_filter_read(option);
        }
    }
    if (request.usual && (request.used || limited || sorted))
        usage_reject("--usual takes no filter, --sort or --limit: it compares with all jobs of the program and size");
    if (request.open && (request.used || limited || sorted || request.usual || request.statements))
        usage_reject("--open takes no filter, --sort, --limit, --usual or --sql: it opens one job");
    if ((request.json || request.page || request.statements) && !limited)
        request.limit = 0;
    if (request.statements && (request.json || request.page || request.usual))
        usage_reject("--sql cannot be combined with --json, --html and --usual");
    if (request.page && (request.json || request.usual || sorted))
        usage_reject(
            "--html takes filters and --limit, and not --json, --usual or --sort: runs stand in the order of time");
    if (optind == argc && !request.index)
        usage_reject("which jobs? A directory with summaries is missing");
}

static sqlite3_stmt *jobs_ask(struct job_table *table)
{
    char rest[JOB_REST_BYTES];
    snprintf(rest, sizeof rest, "WHERE 1%s ORDER BY %s DESC, source", request.sql, request.sort);
    sqlite3_stmt *ask = job_rows_ask(table, rest, "--where");
    for (size_t i = 0; i < request.count; i++)
        if (request.values[i].text)
            sqlite3_bind_text(ask, (int)i + 1, request.values[i].text, -1, SQLITE_STATIC);
        else
            sqlite3_bind_double(ask, (int)i + 1, request.values[i].number);
    return ask;
}

static void usual_show(struct job_table *table)
{
    struct usual usual;
    char error[128];
    if (!usual_find(&usual, table, request.usual, error))
        errx(1, "%s", error);
    if (request.json)
        json_show(usual_json(&usual), 16, "the comparison");
    else
        usual_print(&usual, stdout);
    usual_release(&usual);
}

static void jobs_show(struct job_table *table, const struct job_tree *tree)
{
    sqlite3_stmt *ask = jobs_ask(table);
    if (request.json)
        json_show(json_pack("{s:i, s:s, s:i, s:i, s:i, s:o}", "version", 1, "mpit", MPIT_VERSION, "files",
                            (int)tree->files, "read", (int)tree->read, "unreadable", (int)tree->problems, "jobs",
                            job_list_json(ask, request.limit)),
                  16, "the list");
    else if (request.statements)
        job_list_sql(ask, request.limit, stdout);
    else
        job_list_print(ask, request.limit, stdout);
    sqlite3_finalize(ask);
}

/* Becomes mpit-dump, for the file of the job. If the job has several, for their directory. */
static int one_job_show(struct job_table *table)
{
    char error[128], run[PATH_MAX], tool[PATH_MAX];
    sqlite3_stmt *job = job_row_find(table, request.open, error);
    if (!job)
        errx(1, "%s", error);
    const char *source = (const char *)sqlite3_column_text(job, JOB_SOURCE);
    snprintf(run, sizeof run, "%s", job_row_file(job));
    char *slash = strrchr(run, '/');
    if (slash && (!source || strcmp(run, source) != 0))
        *slash = '\0';
    sqlite3_finalize(job);
    job_table_close(table);
    if (!installed_dump(tool))
        errx(1, "%s is missing", tool);
    execl(tool, "mpit-dump",
          request.page   ? "--html"
          : request.json ? "--json"
                         : "--summary",
          request.page ? request.page : "--", request.page ? "--" : run, request.page ? run : NULL, NULL);
    err(1, "%s", tool);
}

/* Returns the exit status. */
static int page_show(struct job_table *table, char *const *directories)
{
    sqlite3_stmt *ask = jobs_ask(table);
    int status = history_page_write(ask, request.limit, directories, request.page);
    sqlite3_finalize(ask);
    return status;
}

int main(int argc, char *argv[])
{
    struct job_tree tree = {.files = 0};
    int failed = 0;
    setlocale(LC_CTYPE, "");
    jobs_request_read(argc, argv);
    struct job_table *table = job_table_open(request.index);
    for (int i = optind; i < argc; i++)
        if (job_tree_read(&tree, table, argv[i]) != 0) {
            warn("%s cannot be read", argv[i]);
            failed = 1;
        }
    job_tree_join(&tree, table);
    if (tree.problems)
        warnx("%zu summaries cannot be read, and are left out", tree.problems);
    if (request.open)
        return one_job_show(table);
    if (request.page)
        failed |= page_show(table, &argv[optind]);
    else if (request.usual)
        usual_show(table);
    else
        jobs_show(table, &tree);
    job_table_close(table);
    output_close();
    return failed;
}
