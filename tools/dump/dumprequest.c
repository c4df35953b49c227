#include "dump/dumprequest.h"

#include "check/check_rules.h"
#include "base/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS_MOST = 4096 };
enum { OPTION_RANKS = 256, OPTION_WINDOW, OPTION_COMM, OPTION_FUNCTIONS, OPTION_INTERNAL, OPTION_ANY_OWNER };

static const char help[] = "Usage: mpit-dump [options] RUN\n"
                           "Shows a recording of mpit-run. RUN is a directory, or a .mpit or .summary file.\n"
                           "\n"
                           "  --summary, --json       times, messages and sizes of each job (text: default)\n"
                           "  --callpaths             the call paths of all MPI calls, as a tree\n"
                           "  --html FILE             a page with figures: the summary and more\n"
                           "  --events, --csv         every event of a trace, ordered by time\n"
                           "  --crash                 the processes that did not end normally\n"
                           "  --analyze               wait states, critical path; as JSON with --json\n"
                           "  --otf2 DIR [-j N]       write an OTF2 archive for Vampir, with N threads\n"
                           "  --perfetto FILE         write trace events for Perfetto or speedscope\n"
                           "  --profile               profile of the samples; as JSON with --json\n"
                           "  --folded FILE, --flamegraph FILE, --pprof FILE, --otf2-samples DIR\n"
                           "                          export the samples; --internal: with frames inside MPI\n"
                           "  --ranks LIST            only these ranks: 0,4-7,12-\n"
                           "  --window FROM:TO        only this time: 1.5:2.25, 200ms:, :3s\n"
                           "  --comm NAME             only this communicator; * and ? match any characters\n"
                           "  --functions LIST        only these functions or classes: p2p,-MPI_Iprobe\n"
                           "  --verify, --compact     compare counters and trace; compress the run's files\n"
                           "  --check ARCHIVE         check an OTF2 archive by --check-rules; also --json\n"
                           "  --any-owner             also read files of users other than the run's\n"
                           "  --help, --version\n"
                           "Exit status 1: a file could not be read, or a check failed. See man mpit-dump.\n"
                           "Example:  mpit-run --trace --output run mpirun ./app && mpit-dump --html x run\n";

/* Handles an option that selects a part. Returns false for other options. */
static bool selection_option(struct selection *selection, int option, const char *text)
{
    static const char *const names[] = {"ranks", "window", "comm", "functions"}; /* from OPTION_RANKS */
    char problem[SELECT_PROBLEM_BYTES] = "";
    int result = 0;
    switch (option) {
    case OPTION_RANKS:
        result = selection_ranks(selection, text, problem);
        break;
    case OPTION_WINDOW:
        result = selection_window(selection, text, problem);
        break;
    case OPTION_COMM:
        result = selection_comm(selection, text, problem);
        break;
    case OPTION_FUNCTIONS:
        result = selection_functions(selection, text, problem);
        break;
    default:
        return false;
    }
    if (result != 0)
        usage_reject("%s", problem);
    selection_describe(selection, names[option - OPTION_RANKS], text);
    return true;
}

/* With these modes, --json selects their format. Otherwise it is a separate mode. */
static bool mode_has_json(enum mode mode)
{
    return mode == MODE_ANALYZE || mode == MODE_CHECK || mode == MODE_PROFILE;
}

static bool mode_has_stacks(enum mode mode)
{
    return mode == MODE_PROFILE || mode == MODE_FOLDED || mode == MODE_FLAMEGRAPH || mode == MODE_PPROF ||
           mode == MODE_OTF2_SAMPLES;
}

static bool mode_has_target(enum mode mode)
{
    return mode == MODE_OTF2 || mode == MODE_PERFETTO || mode == MODE_HTML ||
           (mode_has_stacks(mode) && mode != MODE_PROFILE);
}

/* Rejects a mode whose library was missing when the tool was built. */
static void mode_check(enum mode mode)
{
    if (!MPIT_HAS_OTF2 && (mode == MODE_OTF2 || mode == MODE_OTF2_SAMPLES || mode == MODE_CHECK))
        usage_reject("this mpit-dump was built without OTF2 (libotf2-trace-dev), so it has no --otf2, --otf2-samples "
                     "and --check");
    if (!MPIT_HAS_PPROF && mode == MODE_PPROF)
        usage_reject("this mpit-dump was built without protobuf-c and zlib (libprotobuf-c-dev, protobuf-c-compiler, "
                     "zlib1g-dev), so it has no --pprof");
}

static void mode_set(struct request *request, enum mode mode)
{
    mode_check(mode);
    bool beside =
        (mode == MODE_JSON && mode_has_json(request->mode)) || (mode_has_json(mode) && request->mode == MODE_JSON);
    if (beside)
        request->json = true;
    else if (request->mode != MODE_NONE && request->mode != mode)
        usage_reject(
            "only one of --summary, --json, --callpaths, --events, --csv, --crash, --analyze, --html, --otf2, --perfetto, "
            "--profile, --folded, --flamegraph, --pprof, --otf2-samples, --compact, --verify and --check at a time");
    if (!beside || mode != MODE_JSON)
        request->mode = mode;
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

/* In "--folded --json RUN" the user forgot the file. "-" is standard output. For a file called --json, use
 * "--folded=--json". */
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

struct request request_read(int argc, char *argv[])
{
    static const struct option options[] = {{"summary", no_argument, NULL, MODE_SUMMARY},
                                            {"json", no_argument, NULL, MODE_JSON},
                                            {"callpaths", no_argument, NULL, MODE_CALLPATHS},
                                            {"events", no_argument, NULL, MODE_EVENTS},
                                            {"crash", no_argument, NULL, MODE_CRASH},
                                            {"analyze", no_argument, NULL, MODE_ANALYZE},
                                            {"csv", no_argument, NULL, MODE_CSV},
                                            {"html", required_argument, NULL, MODE_HTML},
                                            {"otf2", required_argument, NULL, MODE_OTF2},
                                            {"perfetto", required_argument, NULL, MODE_PERFETTO},
                                            {"verify", no_argument, NULL, MODE_VERIFY},
                                            {"compact", no_argument, NULL, MODE_COMPACT},
                                            {"profile", no_argument, NULL, MODE_PROFILE},
                                            {"folded", required_argument, NULL, MODE_FOLDED},
                                            {"flamegraph", required_argument, NULL, MODE_FLAMEGRAPH},
                                            {"otf2-samples", required_argument, NULL, MODE_OTF2_SAMPLES},
                                            {"pprof", required_argument, NULL, MODE_PPROF},
                                            {"internal", no_argument, NULL, OPTION_INTERNAL},
                                            {"ranks", required_argument, NULL, OPTION_RANKS},
                                            {"window", required_argument, NULL, OPTION_WINDOW},
                                            {"comm", required_argument, NULL, OPTION_COMM},
                                            {"functions", required_argument, NULL, OPTION_FUNCTIONS},
                                            {"any-owner", no_argument, NULL, OPTION_ANY_OWNER},
                                            {"check", no_argument, NULL, MODE_CHECK},
                                            {"check-rules", no_argument, NULL, MODE_RULES},
                                            {"help", no_argument, NULL, MODE_HELP},
                                            {"version", no_argument, NULL, MODE_VERSION},
                                            {NULL, 0, NULL, 0}};
    struct request request = {.mode = MODE_NONE};
    opterr = 0;
    for (int option; (option = getopt_long(argc, argv, ":hj:", options, NULL)) != -1;) {
        if (option == 'j') {
            request.manner.threads = threads_option_read(optarg);
            continue;
        }
        if (option == MODE_HELP || option == 'h')
            text_and_exit(help);
        if (option == MODE_VERSION)
            text_and_exit("mpit-dump " MPIT_VERSION "\n");
        if (option == ':' || option == '?')
            option_reject(option, argv);
        if (selection_option(&request.selection, option, optarg))
            continue;
        if (option == MODE_RULES) {
            check_rules_print(stdout);
            output_close();
            exit(0);
        }
        if (option == OPTION_ANY_OWNER) {
            request.any_owner = true;
            continue;
        }
        if (option == OPTION_INTERNAL) {
            request.internal = true;
            continue;
        }
        mode_set(&request, (enum mode)option);
        if (mode_has_target((enum mode)option))
            request.target = target_read(argv);
    }
    if (selection_is_given(&request.selection) && !mode_selects(request.mode))
        usage_reject(
            "--ranks, --window, --comm and --functions need --summary, --json, --html, --events, --csv, --crash, "
            "--analyze, --otf2, --perfetto, --profile, --folded, --flamegraph, --pprof or --otf2-samples");
    if (request.internal && !mode_has_stacks(request.mode))
        usage_reject("--internal needs --profile, --folded, --flamegraph, --pprof or --otf2-samples");
    if (request.manner.threads && request.mode != MODE_OTF2)
        usage_reject("-j needs --otf2");
    if (optind == argc)
        usage_reject("no run is named; allowed is a run directory or a file of a run");
    if (optind + 1 < argc)
        usage_reject("more than one run is named ('%s'); allowed is one", argv[optind + 1]);
    request.run = argv[optind];
    return request;
}
