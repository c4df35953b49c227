#include "dump/dumprequest.h"

#include "base/options.h"
#include "base/text.h"
#include "job/rundir.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { THREADS_MOST = 4096 };
enum {
    OPTION_RANKS = 256,
    OPTION_WINDOW,
    OPTION_COMM,
    OPTION_FUNCTIONS,
    OPTION_FAIL,
    OPTION_FLAG /* the others are stored */
};
enum { LIMITS_MOST = 64 };

static struct request request;

static const struct tool_option options[] = {
    {"summary", NULL, MODE_SUMMARY, NULL, NULL},
    {"full", NULL, OPTION_FLAG, NULL, &request.full},
    {"json", NULL, MODE_JSON, "first screen (default), with all tables, as JSON", NULL},
    {"diff", NULL, MODE_DIFF, NULL, NULL},
    {"scaling", NULL, MODE_SCALING, "compare two runs (--fail LIMIT); show scaling (--weak)", NULL},
    {"fail", "LIMIT", OPTION_FAIL, "", NULL},
    {"weak", NULL, OPTION_FLAG + 1, "", &request.scaling.weak},
    {"html", "FILE", MODE_HTML, "a page with figures, also of several runs", NULL},
    {"sqlite", "FILE", MODE_SQLITE, "a new database with all tables, for SQL and pandas", NULL},
    {"events", NULL, MODE_EVENTS, NULL, NULL},
    {"csv", NULL, MODE_CSV, "every event of a trace, ordered by time", NULL},
    {"crash", NULL, MODE_CRASH, NULL, NULL},
    {"callpaths", NULL, MODE_CALLPATHS, "processes that did not end; call paths (--json)", NULL},
    {"analyze", NULL, MODE_ANALYZE, "wait states, critical path; as JSON with --json", NULL},
    {"what-if", "CHANGE", MODE_WHAT_IF, "run time if latency x0.5, bandwidth x2, halo.c:72 free", NULL},
    {"otf2", "DIR [-j N]", MODE_OTF2, "an OTF2 archive; --otf2-callpaths: with functions", NULL},
    {"perfetto", "FILE", MODE_PERFETTO, "trace events; --export goal|simgrid|placement DIR", NULL},
    {"export", "FORMAT DIR", MODE_EXPORT, "", NULL},
    {"profile", NULL, MODE_PROFILE, "profile of the samples; as JSON with --json", NULL},
    {"pprof", "FILE", MODE_PPROF, "export the samples; --internal: with frames inside MPI", NULL},
    {"ranks", "LIST", OPTION_RANKS, "only these ranks: 0,4-7,12-", NULL},
    {"window", "FROM:TO", OPTION_WINDOW, "only this time: 1.5:2.25, 200ms:, :3s", NULL},
    {"comm", "NAME", OPTION_COMM, "only this communicator; * and ? match any characters", NULL},
    {"functions", "LIST", OPTION_FUNCTIONS, "only these functions or classes: p2p,-MPI_Iprobe", NULL},
    {"verify", NULL, MODE_VERIFY, "compare counters and trace", NULL},
    {"any-owner", NULL, OPTION_FLAG + 2, "read files of other users, too", &request.any_owner},
    {"internal", NULL, OPTION_FLAG + 3, "", &request.internal},
    {"otf2-callpaths", NULL, OPTION_FLAG + 4, "", &request.manner.functions},
    {.name = NULL},
};

static const struct command_line command_line = {
    .version = "mpit-dump " MPIT_VERSION "\n",
    .shorts = ":hj:",
    .head = "Usage: mpit-dump [options] RUN\n"
            "Shows a recording of mpit-run. RUN is a directory, or a .mpit file.\n"
            "\n",
    .options = options,
    .column = 26,
    .tail = "Exit status 1: a file could not be read, or counters differ. See man mpit-dump.\n"
            "Example:  mpit-run --trace --output run mpirun ./app && mpit-dump --html x run\n",
};

/* Handles an option that selects a part. Returns false for other options. */
static bool selection_option(struct selection *selection, int option, const char *text)
{
    static const struct {
        const char *name;
        int (*select)(struct selection *selection, const char *text, char problem[SELECT_PROBLEM_BYTES]);
    } parts[] = {{"ranks", selection_ranks},
                 {"window", selection_window},
                 {"comm", selection_comm},
                 {"functions", selection_functions}}; /* from OPTION_RANKS */
    char problem[SELECT_PROBLEM_BYTES] = "";
    if (option < OPTION_RANKS || option > OPTION_FUNCTIONS)
        return false;
    if (parts[option - OPTION_RANKS].select(selection, text, problem) != 0)
        usage_reject("%s", problem);
    selection_describe(selection, parts[option - OPTION_RANKS].name, text);
    return true;
}

/* With these modes, --json selects their format. Otherwise it is a separate mode. */
static bool mode_has_json(enum mode mode)
{
    return mode == MODE_ANALYZE || mode == MODE_WHAT_IF || mode == MODE_PROFILE || mode == MODE_DIFF ||
           mode == MODE_SCALING || mode == MODE_CALLPATHS;
}

static bool mode_has_stacks(enum mode mode)
{
    return mode == MODE_PROFILE || mode == MODE_PPROF;
}

static bool mode_has_target(enum mode mode)
{
    return mode == MODE_OTF2 || mode == MODE_PERFETTO || mode == MODE_HTML || mode == MODE_SQLITE || mode == MODE_PPROF;
}

/* Rejects a mode whose library was missing when the tool was built. */
static void mode_check(enum mode mode)
{
    if (!MPIT_HAS_OTF2 && mode == MODE_OTF2)
        usage_reject("this mpit-dump was built without OTF2 (libotf2-trace-dev), so it has no --otf2");
    if (!MPIT_HAS_PPROF && mode == MODE_PPROF)
        usage_reject("this mpit-dump was built without protobuf-c and zlib (libprotobuf-c-dev, protobuf-c-compiler, "
                     "zlib1g-dev), so it has no --pprof");
    if (!MPIT_HAS_SQLITE && mode == MODE_SQLITE)
        usage_reject("this mpit-dump was built without SQLite (libsqlite3-dev), so it has no --sqlite");
}

/* Returns whether `form` beside `mode` only selects the format of its output. */
static bool mode_is_form(enum mode form, enum mode mode)
{
    return (form == MODE_JSON && mode_has_json(mode)) ||
           (form == MODE_HTML && (mode == MODE_DIFF || mode == MODE_SCALING));
}

static void mode_set(enum mode mode)
{
    mode_check(mode);
    bool is_form = mode_is_form(mode, request.mode), had_form = mode_is_form(request.mode, mode);
    if (is_form || had_form)
        request.json |= mode == MODE_JSON || request.mode == MODE_JSON;
    else if (request.mode != MODE_NONE && request.mode != mode)
        usage_reject(
            "only one of --summary, --json, --callpaths, --diff, --scaling, --events, --csv, --crash, --analyze, "
            "--what-if, --html, --sqlite, --otf2, --export, --perfetto, --profile, --pprof and --verify at a time");
    if (!is_form)
        request.mode = mode;
}

static unsigned threads_option_read(const char *text)
{
    char *end;
    errno = 0;
    unsigned long threads = strtoul(text, &end, 10);
    if (errno || *end || text[0] < '0' || text[0] > '9' || threads < 1 || threads > THREADS_MOST)
        usage_reject("'%s' is not a number of threads; allowed are 1 to %d", text, THREADS_MOST);
    return (unsigned)threads;
}

/* In "--pprof --json RUN" the user forgot the file. "-" is standard output. For a file called --json, use
 * "--pprof=--json". */
static const char *target_read(char *const argv[])
{
    if (optarg[0] == '-' && optarg[1] && optarg == argv[optind - 1])
        usage_reject("option '%s' needs a file or directory to write to, and '%s' is an option (./%s is a file)",
                     argv[optind - 2], optarg, optarg);
    return optarg;
}

bool mode_has_tallies(enum mode mode)
{
    return mode == MODE_HTML || mode == MODE_JSON || mode == MODE_SUMMARY || mode == MODE_NONE;
}

static bool mode_selects(enum mode mode)
{
    return mode_has_tallies(mode) || mode == MODE_EVENTS || mode == MODE_CSV || mode == MODE_CRASH ||
           mode == MODE_ANALYZE || mode == MODE_OTF2 || mode == MODE_PERFETTO || mode_has_stacks(mode);
}

/* The length of a path without slashes at its end. */
static int path_length(const char *path)
{
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    return (int)length;
}

/* "--html RUN": the page is RUN.html. "--diff --html OLD NEW": it is OLD-NEW.html. Without a new run, `later` is "". */
static const char *page_name(const char *run, const char *later)
{
    static char page[PATH_MAX];
    const char *end = later + path_length(later), *base = end;
    while (base > later && base[-1] != '/')
        base--;
    snprintf(page, sizeof page, "%.*s%s%.*s.html", path_length(run), run, *later ? "-" : "", (int)(end - base), base);
    return page;
}

/* In "--diff --html OLD NEW" the value of --html is a run. */
static bool is_run(const char *path)
{
    struct stat status;
    return (stat(path, &status) == 0 && S_ISDIR(status.st_mode)) || text_ends(path, ".mpit");
}

/* Finds the newest run in this directory, which may be a run itself. NULL: there is none. */
static const char *run_newest(void)
{
    static char newest[NAME_MAX + 1];
    struct stat status;
    struct timespec last = {0, 0};
    DIR *here = run_dir_count(".") > 0 ? NULL : opendir(".");
    if (!here)
        return run_dir_count(".") > 0 ? "." : NULL;
    for (struct dirent *entry; (entry = readdir(here));) {
        const char *name = entry->d_name;
        if (name[0] == '.' || lstat(name, &status) != 0 || !S_ISDIR(status.st_mode) || run_dir_count(name) <= 0)
            continue;
        const struct timespec *is = &status.st_mtim;
        if (is->tv_sec > last.tv_sec || (is->tv_sec == last.tv_sec && is->tv_nsec > last.tv_nsec)) {
            last = *is;
            snprintf(newest, sizeof newest, "%s", name);
        }
    }
    closedir(here);
    return newest[0] ? newest : NULL;
}

static void fail_add(struct diff_request *diff, const char *limit)
{
    static const char *limits[LIMITS_MOST];
    if (diff->limit_count == LIMITS_MOST)
        usage_reject("more than %d --fail", LIMITS_MOST);
    limits[diff->limit_count++] = limit;
    diff->limits = limits;
}

static void question_add(const char *text)
{
    char problem[QUESTION_PROBLEM_BYTES];
    if (request.question_count == QUESTIONS_MOST)
        usage_reject("more than %d --what-if", QUESTIONS_MOST);
    if (question_read(&request.questions[request.question_count++], text, problem) != 0)
        usage_reject("%s", problem);
}

static const char *const export_names[] = {
    [EXPORT_GOAL] = "goal", [EXPORT_SIMGRID] = "simgrid", [EXPORT_PLACEMENT] = "placement"};

static enum export_format format_read(const char *text)
{
    for (size_t i = 0; i < sizeof export_names / sizeof *export_names; i++)
        if (strcmp(text, export_names[i]) == 0)
            return (enum export_format)i;
    usage_reject("'%s' is no format of --export; allowed are goal, simgrid and placement", text);
}

/* How many words come after "--". -1: there is none. getopt moves it. */
static int words_after(int argc, char *argv[])
{
    for (int i = 1; i < argc; i++)
        if (argv[i][0] == '-' && argv[i][1] == '-' && !argv[i][2])
            return argc - i - 1;
    return -1;
}

/* Takes the runs of --diff. `after`: how many are new. -1: two runs are named. */
static void diff_read(int argc, char *argv[], int after)
{
    bool unnamed = request.target && is_run(request.target);
    if (unnamed)
        argv[--optind] = (char *)(uintptr_t)request.target;
    int all = argc - optind, new = after < 0 ? 1 : after;
    if (after < 0 ? all != 2 : new < 1 || all - new < 1)
        usage_reject("--diff needs two runs, or old ones, the word --, and new ones: --diff OLD1 OLD2 -- NEW1 NEW2");
    request.diff.runs = argv + optind;
    request.diff.old = (unsigned)(all - new);
    request.diff.new = (unsigned)new;
    request.diff.json = request.json;
    request.diff.page = unnamed ? page_name(argv[optind], argv[argc - new]) : request.target;
    request.run = argv[optind];
}

/* "--html RUN RUN": the value of --html is a run, and the page is RUN-RUN.html. "--html RUN": it is RUN.html. */
static void page_read(int argc, char *argv[])
{
    if (!request.target || !is_run(request.target))
        return;
    argv[--optind] = (char *)(uintptr_t)request.target;
    request.target = page_name(argv[optind], argc - optind > 1 ? argv[argc - 1] : "");
}

/* Takes the runs of --scaling. */
static void scaling_read(int argc, char *argv[])
{
    page_read(argc, argv);
    if (argc - optind < 2)
        usage_reject("--scaling needs two runs or more, with different numbers of ranks");
    request.scaling.runs = argv + optind;
    request.scaling.count = (unsigned)(argc - optind);
    request.scaling.json = request.json;
    request.scaling.page = request.target;
    request.run = argv[optind];
}

/* Takes several runs of --html. */
static void runs_read(char *argv[])
{
    if (!MPIT_HAS_SQLITE)
        usage_reject("this mpit-dump was built without SQLite (libsqlite3-dev), so --html takes one run");
    if (selection_is_given(&request.selection))
        usage_reject("--ranks, --window, --comm and --functions are for the page of one run");
    request.history = argv + optind;
    request.run = argv[optind];
}

/* Handles options that stand beside a mode. Returns false for other options. */
static bool detail_option(int option)
{
    switch (option) {
    case 'j':
        request.manner.threads = threads_option_read(optarg);
        return true;
    case OPTION_FAIL:
        fail_add(&request.diff, optarg);
        return true;
    default:
        return selection_option(&request.selection, option, optarg);
    }
}

/* Rejects options that the mode does not have. */
static void details_check(void)
{
    if (selection_is_given(&request.selection) && !mode_selects(request.mode))
        usage_reject(
            "--ranks, --window, --comm and --functions need --summary, --json, --html, --events, --csv, --crash, "
            "--analyze, --otf2, --perfetto, --profile or --pprof");
    if (request.full && request.mode != MODE_NONE && request.mode != MODE_SUMMARY)
        usage_reject("--full is for the summary as text; the other outputs always have everything");
    if (request.internal && !mode_has_stacks(request.mode))
        usage_reject("--internal needs --profile or --pprof");
    if (request.manner.threads && request.mode != MODE_OTF2)
        usage_reject("-j needs --otf2");
    if (request.manner.functions && request.mode != MODE_OTF2)
        usage_reject("--otf2-callpaths needs --otf2");
    if ((request.mode == MODE_DIFF || request.mode == MODE_SCALING) && request.json && request.target)
        usage_reject("--diff and --scaling write JSON or a page: --json or --html FILE, not both");
    if (request.diff.limit_count && request.mode != MODE_DIFF)
        usage_reject("--fail needs --diff");
    if (request.scaling.weak && request.mode != MODE_SCALING)
        usage_reject("--weak needs --scaling");
}

struct request request_read(int argc, char *argv[])
{
    int after = words_after(argc, argv);
    for (int option; (option = command_line_next(&command_line, argc, argv)) != -1;) {
        if (detail_option(option))
            continue;
        mode_set((enum mode)option);
        if (mode_has_target((enum mode)option))
            request.target = target_read(argv);
        if (option == MODE_WHAT_IF)
            question_add(optarg);
        if (option == MODE_EXPORT)
            request.format = format_read(optarg);
    }
    details_check();
    if (request.mode == MODE_SCALING) {
        scaling_read(argc, argv);
        return request;
    }
    if (request.mode == MODE_DIFF) {
        diff_read(argc, argv, after);
        return request;
    }
    if (request.mode == MODE_HTML)
        page_read(argc, argv);
    if (request.mode == MODE_HTML && argc - optind > 1) {
        runs_read(argv);
        return request;
    }
    if (request.mode == MODE_EXPORT && optind == argc)
        usage_reject("--export %s needs a new directory to write to", export_names[request.format]);
    if (request.mode == MODE_EXPORT)
        request.target = argv[optind++];
    request.unnamed = optind == argc;
    if (request.unnamed && (request.run = run_newest()))
        return request;
    if (request.unnamed)
        usage_reject(
            "no run is named, and there is none in this directory; allowed is a run directory or a file of a run");
    if (optind + 1 < argc)
        usage_reject("more than one run is named ('%s'); allowed is one", argv[optind + 1]);
    request.run = argv[optind];
    return request;
}
