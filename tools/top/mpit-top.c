/*
 * mpit-top: the current activity of the user's MPI jobs on this node. It reads their run files, without any effect on
 * the jobs.
 */
#include "format/label.h"
#include "base/options.h"
#include "base/ranklist.h"
#include "base/systemclock.h"
#include "top/topjson.h"
#include "top/topscreen.h"
#include "waiting/ward.h"

#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

struct request {
    bool once, json, all_users;
    double interval;
    const char *ranks;
    char **paths;
    size_t path_count;
};

static struct request request = {.interval = 1};

static const struct tool_option options[] = {
    {"interval", "SECONDS", 'i', "time between updates (0.1 to 3600; default 1)", NULL},
    {"all-users", NULL, 'u', "jobs of all users, for root", &request.all_users},
    {"ranks", "LIST", 'r', "only these ranks: 0,4-7,12-", &request.ranks},
    {"once", NULL, 'o',
     "print one screen as text, after one interval (the default\n"
     "if standard output is not a terminal)",
     &request.once},
    {"json", NULL, 'j',
     "print a line of JSON for each update; with --once one\n"
     "object. With RUN, until the run has ended",
     &request.json},
    {.name = NULL},
};

static const struct command_line command_line = {
    .version = "mpit-top " MPIT_VERSION "\n",
    .shorts = ":h",
    .head = "Usage: mpit-top [options] [RUN|FILE...]\n"
            "Lists your running MPI jobs on this node, newest first. Of a job it shows for\n"
            "each rank: share of time in MPI, at work and stalled; messages and bytes a\n"
            "second; current call; and for a rank that hangs, the ranks it waits for.\n"
            "RUN (a run directory) or FILE (a live file) shows that job. See man mpit-top.\n"
            "\n",
    .options = options,
    .column = 22,
    .tail = "\n"
            "Keys: enter opens a job, j all jobs, r ranks, w where, c communicators, s sizes,\n"
            "v variables, < > sort, / filter, k signal, p pause, h help, q quit.\n"
            "\n"
            "Example:  mpit-run mpirun -n 4 ./app &  mpit-top\n"
            "          mpit-top --once --json | jq '.jobs[].ranks[] | [.rank, .call.name]'\n",
};

enum { WIDTH_WITHOUT_TERMINAL = 200, PAGE_COMMS_MOST = 8, INTERVAL_MOST = 3600 };

static double interval_read(const char *text)
{
    char *end;
    errno = 0;
    double value = strtod(text, &end);
    if (end == text || *end || errno || !(value >= 0.1 && value <= INTERVAL_MOST))
        usage_reject("--interval: allowed are 0.1 to %d seconds, not '%s'", INTERVAL_MOST, text);
    return value;
}

static void top_options_read(int argc, char *argv[])
{
    while (command_line_next(&command_line, argc, argv) != -1)
        request.interval = interval_read(optarg);
    if (request.ranks && !rank_list_is_good(request.ranks))
        usage_reject("--ranks: '%s' is not a list of ranks; " RANK_LIST_ALLOWED, request.ranks);
    request.paths = argv + optind;
    request.path_count = (size_t)(argc - optind);
}

struct looker {
    struct live live;
    char error[512];
};

/* Returns false without memory. If there are no jobs, the page has a message. */
static bool look(void *context, struct top_view *view, struct top_model *model)
{
    struct looker *looker = context;
    uint64_t begin = monotonic_ns();
    int result = live_look(&looker->live, looker->error);
    view->message = result != 0 && !looker->live.job_count ? looker->error : NULL;
    if (top_model_update(model, &looker->live) != 0)
        return false;
    top_view_follow(view, model);
    top_focus_update(view, model);
    model->look_ns = monotonic_ns() - begin;
    return true;
}

static void look_or_end(struct looker *looker, struct top_view *view, struct top_model *model)
{
    if (!look(looker, view, model))
        errx(1, "no memory");
}

/* Looks for the first time. Reports each missing path of several. Then returns 1, and the others are shown. */
static int paths_first_look(struct looker *looker, struct top_view *view, struct top_model *model)
{
    look_or_end(looker, view, model);
    if (view->message || !looker->error[0])
        return 0;
    warnx("%s", looker->error);
    return 1;
}

/* For scripts: unreadable files are reported, and are a failure. Returns the exit status. */
static int unreadable_report(const struct live *live)
{
    size_t count = 0;
    const struct live_process *first = NULL;
    for (size_t i = 0; i < live->job_count; i++)
        for (size_t k = 0; k < live->jobs[i].count; k++)
            if (!live->jobs[i].processes[k].readable && count++ == 0)
                first = &live->jobs[i].processes[k];
    char text[1024], others[64] = "";
    if (count > 1)
        snprintf(others, sizeof others, " (and the same for %zu others)", count - 1);
    if (count) {
        snprintf(text, sizeof text, "%.400s %.400s%s", first->path, first->problem, others);
        text_tidy(text, sizeof text); /* any user may have named the file */
        warnx("%s", text);
    }
    return count ? 1 : 0;
}

static void interval_pass(double seconds)
{
    struct timespec rest = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    while (nanosleep(&rest, &rest) != 0 && errno == EINTR)
        continue;
}

/* ---- for scripts ------------------------------------------------------------------------------------------------- */

static void json_say(const struct top_model *model, const struct looker *looker)
{
    json_t *document = top_json(model, &looker->live, request.ranks);
    char *text = document ? json_dumps(document, request.once ? JSON_INDENT(2) : JSON_COMPACT) : NULL;
    if (!text)
        errx(1, "no memory");
    if (printf("%s\n", text) < 0 || fflush(stdout) != 0)
        err(1, "standard output cannot be written");
    free(text);
    json_decref(document);
}

static bool rank_is_here(const struct top_model *model, int32_t rank)
{
    for (size_t i = 0; i < model->job_count; i++)
        for (size_t k = 0; k < model->jobs[i].rank_count; k++)
            if (model->jobs[i].ranks[k]->rank == rank)
                return true;
    return false;
}

/* Returns the first selected rank that is in no job, or -1. Of an open range only the first one counts. */
static int32_t rank_missing(const struct top_model *model, const char *list)
{
    for (struct rank_range range; list && rank_range_read(&list, &range); list += *list == ',') {
        int32_t last = range.last == INT32_MAX ? range.first : range.last;
        for (int64_t rank = range.first; rank <= last; rank++)
            if (!rank_is_here(model, (int32_t)rank))
                return (int32_t)rank;
    }
    return -1;
}

/* A selected rank that does not exist makes an empty output. With a single look it is an error, or a warning if others
 * exist. With several, the rank may come later. */
static void ranks_check(const struct top_model *model)
{
    char here[RANKS_TEXT_BYTES] = "";
    bool missed = true;
    for (size_t i = 0; i < model->job_count; i++) {
        missed = missed && top_ranks_missed(&model->jobs[i], request.ranks);
        top_ranks_here(here, &model->jobs[i]);
    }
    int32_t missing = here[0] ? rank_missing(model, request.ranks) : -1;
    if (missing < 0)
        return;
    if (!missed) {
        warnx("rank %" PRId32 " of --ranks %s is not on this node", missing, request.ranks);
        return;
    }
    if (model->job_count > 1)
        errx(EXIT_USAGE, "no rank of --ranks %s is in any of the %zu jobs; the last one has %s", request.ranks,
             model->job_count, here);
    errx(EXIT_USAGE, "no rank of --ranks %s is on this node, only %s", request.ranks, here);
}

/* Returns whether some process lives, or no file can be read yet. A new run file is empty for a moment. */
static bool goes_on(const struct top_model *model)
{
    bool read = false;
    for (size_t i = 0; i < model->job_count; i++) {
        if (model->jobs[i].alive)
            return true;
        for (size_t k = 0; k < model->jobs[i].rank_count; k++)
            read = read || model->jobs[i].ranks[k]->state != TOP_UNREADABLE;
    }
    return !read;
}

/* Runs as long as the output has a reader. For a named run, it stops when the run has ended. */
static int json_run(struct looker *looker, struct top_view *view, struct top_model *model)
{
    int missing = paths_first_look(looker, view, model);
    if (view->message)
        errx(1, "%s", view->message);
    do {
        interval_pass(request.interval);
        look_or_end(looker, view, model);
        if (request.once)
            ranks_check(model);
        json_say(model, looker);
    } while (!request.once && (!request.path_count || goes_on(model)));
    output_close();
    return missing | (request.once ? unreadable_report(&looker->live) : 0);
}

static int page_width(void)
{
    struct winsize size;
    const char *columns = getenv("COLUMNS");
    int width = columns ? atoi(columns) : 0;
    if (width < 20 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
        width = size.ws_col;
    return width < 20 ? WIDTH_WITHOUT_TERMINAL : width;
}

static void jobs_list_print(struct top_view *view, struct top_model *model)
{
    struct top_page page = {.width = page_width()};
    view->chosen = false;
    view->kind = VIEW_JOBS;
    top_page_make(&page, view, model);
    top_page_print(&page, stdout);
    top_page_clear(&page);
}

static void job_print(struct top_view *view, struct top_model *model, const struct top_job *job)
{
    struct top_page page = {.width = page_width()};
    top_view_choose(view, job);
    view->kind = VIEW_RANKS;
    top_page_make(&page, view, model);
    top_page_add(&page, 0, 0, "%s", "");
    size_t ranks = page.count;
    top_comms_add(&page, view, job);
    for (; page.count > ranks + 1 + PAGE_COMMS_MOST; page.count--)
        free(page.rows[page.count - 1].text);
    top_page_print(&page, stdout);
    top_page_clear(&page);
}

static int text_run(struct looker *looker, struct top_view *view, struct top_model *model)
{
    int missing = paths_first_look(looker, view, model);
    interval_pass(view->interval);
    look_or_end(looker, view, model);
    if (view->message || !model->job_count)
        errx(1, "%s",
             view->message       ? view->message
             : request.all_users ? "no job that this user can see runs with mpit on this node"
                                 : "no job of yours runs with mpit on this node");
    ranks_check(model);
    bool list = !request.path_count || model->job_count > 1;
    if (list)
        jobs_list_print(view, model);
    for (size_t i = 0; i < 2 * model->job_count; i++) { /* running jobs come first, and the newest of them */
        const struct top_job *job = &model->jobs[model->job_count - 1 - i % model->job_count];
        if ((job->running != 0) != (i < model->job_count))
            continue;
        if (list)
            putchar('\n');
        list = true;
        job_print(view, model, job);
    }
    output_close();
    return missing | unreadable_report(&looker->live);
}

int main(int argc, char *argv[])
{
    static struct top_view view = {.kind = VIEW_JOBS, .sort = -1};
    struct top_model model = {0};
    struct looker looker;
    int number = 0, status = 0;
    top_options_read(argc, argv);
    setlocale(LC_CTYPE, "");
    view.interval = request.interval;
    view.ranks = request.ranks;
    view.direct = request.path_count > 0;
    if (live_files_open(&looker.live, (const char *const *)request.paths, request.path_count) != 0)
        errx(1, "no memory");
    if (request.all_users)
        live_of_all_users(&looker.live);
    if (request.json)
        status = json_run(&looker, &view, &model);
    else if (request.once || !top_screen_open())
        status = text_run(&looker, &view, &model);
    else {
        number = top_screen_run(&view, &model, look, &looker);
        top_screen_close();
    }
    top_model_release(&model);
    live_close(&looker.live);
    if (number) { /* for a reader that waits */
        signal(number, SIG_DFL);
        raise(number);
    }
    return status;
}
