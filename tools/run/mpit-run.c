/*
 * mpit-run: runs a command with the recorder loaded into the MPI processes that it starts, and shows their summary.
 */
#define _GNU_SOURCE
#include "run/abi.h"
#include "run/child.h"
#include "run/deathwatch.h"
#include "settings/filter.h"
#include "run/installation.h"
#include "settings/settings.h"
#include "site/setting.h"
#include "run/launched.h"
#include "run/launcher.h"
#include "base/options.h"
#include "run/outcome.h"
#include "run/outputdir.h"
#include "run/programs.h"
#include "waiting/postmortem.h"
#include "base/ranklist.h"
#include "base/text.h"
#include "run/runrefusal.h"
#include "writer/spool.h"

#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct request {
    const char *output, *spool, *summary, *sample_ranks;
    const char *knobs[KNOB_COUNT]; /* values of settings. NULL: not given */
    bool otf2, quiet, full;
    bool strict;      /* do not run without recording */
    bool silent;      /* mpit-run is one of several after the launcher (launched.h), and another prints the messages */
    enum mpi_abi abi; /* ABI_NONE: none is named */
    char **words;
};

static struct request request = {.abi = ABI_NONE};

/* An option that gives a setting its value has this number and that of the setting. */
enum { OF_KNOB = 256 };

static const struct tool_option options[] = {
    {"output", "DIR", 'o', "directory of results (default: mpit-run-DATE-TIME-PID)", &request.output},
    {"spool", "DIR", 'd', "local directory of live files (default: /dev/shm)", &request.spool},
    {"trace", NULL, OF_KNOB + KNOB_TRACE, NULL, NULL},
    {"otf2", NULL, 'a', NULL, NULL},
    {"no-trace", NULL, 'c', "keep every event; an archive, too; keep none", NULL},
    {"trace-limit", "BYTES", OF_KNOB + KNOB_TRACE_LIMIT_BYTES, NULL, NULL},
    {"trace-seconds", "N", OF_KNOB + KNOB_TRACE_LIMIT_SECONDS, "limits of the trace of a process", NULL},
    {"trace-policy", "POLICY", OF_KNOB + KNOB_TRACE_POLICY, "at the limit drop new events (stop) or old ones (ring)",
     NULL},
    {"clock-sync", "WAY", OF_KNOB + KNOB_CLOCK_SYNC, "clocks of nodes by tcp, or none", NULL},
    {"filter", "LIST", OF_KNOB + KNOB_FILTER,
     "record only these, or with a leading - all others:\n"
     "\"p2p,coll\", \"-io,-MPI_Iprobe\", \"start*\"; classes are\n"
     "p2p completion coll comm rma io process other",
     NULL},
    {"timing", "0", OF_KNOB + KNOB_TIMING, NULL, NULL},
    {"call-depth", "N", OF_KNOB + KNOB_CALL_DEPTH, "no times; at most N frames of a call path", NULL},
    {"start-paused", NULL, OF_KNOB + KNOB_RECORDING, "begin without recording; MPI_Pcontrol(1) starts it", NULL},
    {"sample", "HZ", OF_KNOB + KNOB_SAMPLE_HZ, "sample the stacks of threads HZ times a second (100)", NULL},
    {"sample-ranks", "LIST", 'r', "sample only these ranks: 0,4-7,12-", &request.sample_ranks},
    {"fabric", NULL, OF_KNOB + KNOB_FABRIC, NULL, NULL},
    {"os", NULL, OF_KNOB + KNOB_OS, NULL, NULL},
    {"papi", "EVENTS", OF_KNOB + KNOB_PAPI_EVENTS, "count below MPI; in the kernel; PAPI events", NULL},
    {"summary", "FILE", 's', "write the summary as text, or JSON if FILE is *.json", &request.summary},
    {"full", NULL, 'u', NULL, &request.full},
    {"quiet", NULL, 'q', NULL, &request.quiet},
    {"strict", NULL, 'x', "all tables; no summary; fail if it cannot record", &request.strict},
    {"mpi", "NAME", 'm', "openmpi or mpich, for programs that load none", NULL},
    {.name = NULL},
};

static const struct command_line command_line = {
    .version = "mpit-run " MPIT_VERSION "\n",
    .shorts = "+:ho:q",
    .head = "Usage: mpit-run [options] COMMAND [arguments]\n"
            "Runs COMMAND (a launcher line, a script, a program) unchanged, records the MPI\n"
            "processes that COMMAND starts, and prints a summary. See man mpit-run.\n"
            "\n",
    .options = options,
    .column = 25,
    .launcher = "mpirun",
    .tail = "Exit status: the command's; 2: bad option, --strict; 126, 127: no such COMMAND\n"
            "Example:  mpit-run --otf2 --output run mpirun -n 4 ./app && mpit-dump run\n",
};

/* The rate of --sample. If the next word is no number, it is an option or the command, and the rate is 100. A word
 * before others that is none of these may be a mistyped rate. */
static const char *rate_take(char *const argv[])
{
    char path[PATH_MAX];
    bool number = optarg[0] >= '0' && optarg[0] <= '9';
    if (optarg != argv[optind - 1] || number || (optarg[0] == '-' && optarg[1] >= '0' && optarg[1] <= '9'))
        return optarg;
    if (optarg[0] != '-' && argv[optind] && program_find(optarg, path) == ENOENT)
        usage_reject("option --sample: '%.100s' is neither a rate nor a command; a rate is a whole number of samples a "
                     "second (without one: 100)",
                     optarg);
    optind--;
    return "100";
}

/* An error ends mpit-run before the command starts. */
static void knob_take(enum knob knob, char *const argv[])
{
    const struct tool_option *option = options;
    char reason[KNOB_PROBLEM_BYTES];
    uint64_t value;
    while (option->value != OF_KNOB + (int)knob)
        option++;
    if (knob == KNOB_FABRIC && !MPIT_HAS_FABRIC)
        usage_reject(
            "this mpit-run was built without libfabric and UCX (libfabric-dev, libucx-dev), so it has no --fabric");
    const char *text = !option->argument        ? knob == KNOB_RECORDING ? "0" : "1"
                       : knob == KNOB_SAMPLE_HZ ? rate_take(argv)
                                                : optarg;
    if (!knob_value_read(knob, text, &value, reason))
        usage_reject("option --%s: '%.100s'%s cannot be used: %s", option->name, text, strlen(text) > 100 ? "..." : "",
                     reason);
    request.knobs[knob] = text;
    if (knob == KNOB_TRACE_LIMIT_BYTES || knob == KNOB_TRACE_LIMIT_SECONDS || knob == KNOB_TRACE_POLICY)
        request.knobs[KNOB_TRACE] = "1";
}

static void run_options_read(int argc, char *argv[])
{
    for (int option; (option = command_line_next(&command_line, argc, argv)) != -1;) {
        if (option >= OF_KNOB)
            knob_take((enum knob)(option - OF_KNOB), argv);
        else if (option == 'm' && (request.abi = mpi_abi_named(optarg)) == ABI_NONE)
            usage_reject("--mpi: allowed are %s, not '%s'", mpi_abi_choices(), optarg);
        else if (option == 'a' && !MPIT_HAS_OTF2)
            usage_reject("this mpit-run was built without OTF2 (libotf2-trace-dev), so it has no --otf2");
        else if (option == 'c')
            request.knobs[KNOB_TRACE] = "0";
        else if (option == 'a') {
            request.otf2 = true;
            request.knobs[KNOB_TRACE] = "1";
        }
    }
    if (request.output && (!*request.output || strlen(request.output) >= PATH_MAX))
        usage_reject("'%.60s' is not a name for an output directory", request.output);
    if (request.spool && request.spool[0] != '/')
        usage_reject("--spool: '%.100s' cannot be used; allowed is an absolute path, the same on each node",
                     request.spool);
    if (request.sample_ranks && !rank_list_is_good(request.sample_ranks))
        usage_reject("option --sample-ranks: '%.100s' is not a list of ranks; " RANK_LIST_ALLOWED,
                     request.sample_ranks);
    if (request.sample_ranks && !request.knobs[KNOB_SAMPLE_HZ] && !setting("MPIT_SAMPLE_HZ"))
        usage_reject(
            "--sample-ranks needs --sample HZ; with --sample 0 sampling begins when a program sets mpit_sample_hz");
    if (optind == argc)
        usage_reject("no command follows the options");
    request.words = argv + optind;
}

static struct refusal refusal_of(void)
{
    return (struct refusal){.strict = request.strict, .silent = request.silent};
}

static void command_check(const char *word)
{
    char path[PATH_MAX];
    int problem = program_find(word, path);
    if (problem == ENOENT)
        errx(127, "%s: command not found", word);
    if (problem != 0)
        errx(126, "%s: %s", word, strerror(problem));
}

/* Makes the command's LD_PRELOAD. Returns false if the libraries cannot be preloaded, which it has reported. */
static bool preload_choose(char preload[2 * PATH_MAX])
{
    char library[PATH_MAX], sampler[PATH_MAX] = "";
    const struct refusal refusal = refusal_of();
    bool sampled = request.knobs[KNOB_SAMPLE_HZ] || setting("MPIT_SAMPLE_HZ");
    if (!installed_preload(library) || (sampled && !installed_sampler(sampler))) {
        refusal_say(&refusal, "this installation of mpit is not complete: %s does not exist",
                    sampler[0] ? sampler : library);
        return false;
    }
    snprintf(preload, 2 * PATH_MAX, "%s%s%s", sampler, sampler[0] ? ":" : "", library);
    if (strchr(preload, ' ') || strchr(library, ':')) {
        refusal_say(&refusal, "%s cannot be preloaded: its path has a space or a colon", library);
        return false;
    }
    return true;
}

/* For programs that load MPI only when they run. Returns false if there is no recorder for it, which it has
 * reported. */
static bool abi_check(void)
{
    char recorder[PATH_MAX];
    const struct refusal refusal = refusal_of();
    if (request.abi == ABI_NONE || installed_library(request.abi, recorder))
        return true;
    refusal_say(&refusal, "--mpi names it, but this mpit was built without %s: %s does not exist",
                mpi_abi_title(request.abi), recorder);
    return false;
}

/* Returns whether the launcher's line disables mpit: -x MPIT_DISABLE=1, -genv MPIT_DISABLE 1. */
static bool line_sets(char *const words[], const char *name)
{
    size_t bytes = strlen(name);
    for (; *words; words++)
        if (strncmp(*words, name, bytes) == 0 && strchr("=", (*words)[bytes]))
            return true;
    return false;
}

/* A program with the address sanitizer requires its runtime to be the first library. Without this check it also runs
 * after mpit's library. */
static bool sanitizer_set(void)
{
    static const char option[] = "verify_asan_link_order=0";
    const char *present = getenv("ASAN_OPTIONS");
    char *both;
    if (present && strstr(present, "verify_asan_link_order"))
        return true;
    if (asprintf(&both, "%s%s%s", present ? present : "", present && *present ? ":" : "", option) < 0)
        return false;
    bool set = setenv("ASAN_OPTIONS", both, 1) == 0;
    free(both);
    return set;
}

/* For the processes, to which % begins a pattern. */
static char *output_quoted(const char *output)
{
    char *quoted = malloc(2 * strlen(output) + 1), *to = quoted;
    if (!quoted)
        err(EXIT_USAGE, "no memory");
    do {
        if (*output == '%')
            *to++ = '%';
        *to++ = *output;
    } while (*output++);
    return quoted;
}

static void variable_set(const char *name, const char *value)
{
    if (setenv(name, value, 1) != 0)
        err(EXIT_USAGE, "no memory");
}

/* Returns whether findings may be made of a short trace: nothing is said of a trace, all calls are recorded and timed, and
 * the run files are not kept. */
static bool brief_is_wanted(void)
{
    static const enum knob knobs[] = {KNOB_TRACE,  KNOB_TRACE_POLICY, KNOB_TRACE_LIMIT_BYTES, KNOB_TRACE_LIMIT_SECONDS,
                                      KNOB_FILTER, KNOB_TIMING,       KNOB_RECORDING,         KNOB_SAMPLE_HZ};
    bool wanted = !setting("MPIT_BRIEF") && !setting("MPIT_REDUCE");
    for (size_t i = 0; i < sizeof knobs / sizeof *knobs; i++) {
        char name[KNOB_VARIABLE_BYTES];
        knob_variable(knobs[i], name);
        wanted = wanted && !request.knobs[knobs[i]] && !setting(name);
    }
    return wanted;
}

static void environment_set(const char *library, const char *output)
{
    const char *present = getenv("LD_PRELOAD");
    char *preload, name[KNOB_VARIABLE_BYTES];
    if (asprintf(&preload, "%s%s%s", library, present && *present ? ":" : "", present ? present : "") < 0)
        err(EXIT_USAGE, "no memory");
    variable_set("LD_PRELOAD", preload);
    free(preload);
    if (!sanitizer_set())
        err(EXIT_USAGE, "no memory");
    if (request.abi != ABI_NONE)
        variable_set("MPIT_MPI", mpi_abi_name(request.abi));
    variable_set("MPIT_OUTPUT", output_quoted(output));
    if (setting_is_of_site("MPIT_SUMMARY_LIMIT_BYTES")) /* the site's bound is not for one's own runs */
        variable_set("MPIT_SUMMARY_LIMIT_BYTES", "0");
    if (brief_is_wanted())
        variable_set("MPIT_BRIEF", "1");
    for (enum knob knob = 0; knob < KNOB_COUNT; knob++) {
        knob_variable(knob, name);
        if (request.knobs[knob])
            variable_set(name, request.knobs[knob]);
    }
    if (request.sample_ranks)
        variable_set("MPIT_SAMPLE_RANKS", request.sample_ranks);
}

/* For launchers, which take the environment to other nodes (src/preload/launchers.h). */
static void fork_agent_set(void)
{
    char agent[PATH_MAX];
    unsetenv("MPIT_FORK_AGENT");
    if (installed_agent(agent))
        variable_set("MPIT_FORK_AGENT", agent);
}

/* If the command begins with `env LD_PRELOAD=...`, puts mpit's library before the value. */
static void env_extend(char *words[], const char *library)
{
    static const char name[] = "LD_PRELOAD=";
    for (size_t i = 1; strcmp(path_base(words[0]), "env") == 0 && words[i]; i++) {
        const char *value = words[i] + sizeof name - 1;
        if (strncmp(words[i], name, sizeof name - 1) == 0 &&
            asprintf(&words[i], "%s%s%s%s", name, library, *value ? ":" : "", value) < 0)
            err(EXIT_USAGE, "no memory");
    }
}

/* Reports variables without effect. Another program may own them, so they stay. */
static void environment_check(void)
{
    static const char prefix[] = "MPIT_";
    for (char **variable = environ; *variable; variable++) {
        size_t bytes = strcspn(*variable, "=");
        char hint[SETTINGS_HINT_BYTES];
        if (strncmp(*variable, prefix, sizeof prefix - 1) != 0 || settings_know(*variable, bytes))
            continue;
        settings_hint(*variable, bytes, false, hint);
        warnx("%.*s in the environment has no effect: mpit has no such variable%s", (int)bytes, *variable, hint);
    }
    const char *reduce = getenv("MPIT_REDUCE");
    if (!reduce || strcmp(reduce, "0") == 0 || strcmp(reduce, "1") == 0)
        return;
    warnx("MPIT_REDUCE is '%s'; allowed are 0 and 1. The default, 1, is used", reduce);
    unsetenv("MPIT_REDUCE");
}

/* Returns whether another mpit-run above this one, or another preload, has set mpit's variables. */
static bool is_below_another(void)
{
    const char *preload = getenv("LD_PRELOAD");
    return preload && strstr(preload, "libmpit.so");
}

static const char *output_of_environment(void)
{
    const char *output = getenv("MPIT_OUTPUT");
    bool pattern = output && strchr(output, '%'); /* for programs without mpit-run */
    return output && *output && !pattern && !is_below_another() ? output : NULL;
}

/* Returns false if there is no directory for the recording, which it has reported. */
static bool output_choose(const struct launched *place, struct output_dir *output)
{
    return output_dir_make(output, &(struct output_wish){.directory = request.output,
                                                         .summary = request.silent ? NULL : request.summary,
                                                         .archive = request.otf2,
                                                         .launched = place,
                                                         .refusal = refusal_of()});
}

static void policy_explain(void)
{
    if (!request.quiet && request.knobs[KNOB_TRACE_POLICY] && strcmp(request.knobs[KNOB_TRACE_POLICY], "ring") == 0 &&
        !request.knobs[KNOB_TRACE_LIMIT_BYTES] && !request.knobs[KNOB_TRACE_LIMIT_SECONDS] &&
        !setting("MPIT_TRACE_LIMIT_BYTES") && !setting("MPIT_TRACE_LIMIT_SECONDS"))
        warnx("note: --trace-policy ring has no effect without a limit; --trace-limit and --trace-seconds set one");
}

/* Reports invalid settings once, so that the processes, which then use the default, need not. */
static void settings_check(bool silent)
{
    for (enum knob knob = 0; knob < KNOB_COUNT; knob++) {
        char name[KNOB_VARIABLE_BYTES], problem[KNOB_PROBLEM_BYTES];
        uint64_t value;
        knob_variable(knob, name);
        if (setting_is_of_site(name) || knob_from_environment(knob, &value, problem) || !problem[0])
            continue;
        if (!silent)
            warnx("%s", problem);
        unsetenv(name);
    }
}

/* Explains a filter that the user may have misunderstood. The processes then do not report it again. They do so only if
 * MPIT_RECORD_LOCAL_CALLS is not set. */
static void filter_explain(void)
{
    char word[FILTER_WORD_BYTES], problem[KNOB_PROBLEM_BYTES];
    static const char name[] = "MPIT_RECORD_LOCAL_CALLS";
    const char *meant, *other;
    uint64_t local = 0;
    if (!request.knobs[KNOB_FILTER])
        return;
    if (!request.quiet && !request.silent && filter_is_narrow(request.knobs[KNOB_FILTER], word, &meant, &other))
        warnx("note: --filter: '%s' selects only the function %s; use %s* to include %s", word, meant, word, other);
    if (!filter_wants_local(request.knobs[KNOB_FILTER], word) || line_sets(request.words, name) ||
        (knob_from_environment(KNOB_RECORD_LOCAL_CALLS, &local, problem) && local))
        return;
    if (!request.silent)
        warnx("--filter: '%s' selects only local functions, which are not recorded; set %s=1 to record them", word,
              name);
    variable_set(name, "0");
}

/* Sets all variables of the command's environment. */
static void command_prepare(const char *library, const struct output_dir *output)
{
    environment_set(library, output->path);
    fork_agent_set();
    env_extend(request.words, library);
    settings_check(request.silent);
    filter_explain();
}

/* Prepares the place of the live files of this node's processes, so that their deaths are seen. Reports a place that
 * cannot be used, and the processes that see the mark do not. If there is no place, they report what that means. */
static void spool_prepare(struct output_dir *output)
{
    char problem[SPOOL_PROBLEM_BYTES];
    if (spool_make(output->path, output->spool, problem) != 0)
        return;
    spool_watch(output->spool);
    if (problem[0])
        warnx("%s", problem);
}

/* For the ranks after the first, which have no work when the program ends. */
__attribute__((noreturn)) static void program_become(char *const words[])
{
    execvp(words[0], words);
    err(errno == ENOENT ? 127 : 126, "%s", words[0]);
}

/* Runs the command with the environment of mpit, and then restores mpit-run's own. */
static int command_run(const char *library, const struct output_dir *output, int *killed_by)
{
    const char *before = getenv("LD_PRELOAD");
    char *restored = before ? strdup(before) : NULL;
    command_prepare(library, output);
    struct deathwatch *watch = output->spool[0] ? deathwatch_start(output->spool) : NULL;
    int status = child_run(request.words, killed_by);
    deathwatch_stop(watch);
    if (restored) /* later commands of mpit-run are not recorded */
        setenv("LD_PRELOAD", restored, 1);
    else
        unsetenv("LD_PRELOAD");
    free(restored);
    return status;
}

/* A program of libfabric or UCX without MPI has nothing else to record. */
static void below_choose(void)
{
    char library[PROGRAM_WORD_BYTES];
    const char *program = request.knobs[KNOB_FABRIC] ? NULL : program_below(request.words, library);
    if (!program)
        return;
    request.knobs[KNOB_FABRIC] = "1";
    if (!request.quiet && !request.silent)
        warnx("note: %s itself is linked to no MPI library, but to %s, whose calls are recorded (--fabric)", program,
              library);
}

int main(int argc, char *argv[])
{
    struct launched launched;
    char library[2 * PATH_MAX];
    setlocale(LC_CTYPE, "");
    run_options_read(argc, argv);
    command_check(request.words[0]);
    /* before a launcher it does not count as a process of a job, even if it is inside one */
    const struct launched *place = launched_find(&launched) && !launcher_begins(request.words) ? &launched : NULL;
    request.silent = place && place->rank > 0;
    if (!request.silent && !is_below_another())
        environment_check();
    if (!request.silent)
        policy_explain();
    if (!request.output)
        request.output = output_of_environment();
    below_choose();
    struct output_dir output;
    if (!preload_choose(library) || !abi_check() || !output_choose(place, &output))
        program_become(request.words);
    if (request.spool)
        variable_set("MPIT_SPOOL", request.spool);
    if (!request.silent)
        spool_prepare(&output);
    if (request.silent) {
        command_prepare(library, &output);
        program_become(request.words);
    }
    int killed_by, status = command_run(library, &output, &killed_by);
    if (place && status == 0) /* otherwise the launcher must see the status, and ends the others */
        postmortem_await(output.spool);

    struct outcome outcome = {.output = &output,
                              .words = request.words,
                              .status = status,
                              .killed_by = killed_by,
                              .disabled = setting_disabled() || line_sets(request.words, "MPIT_DISABLE"),
                              .behind = place != NULL,
                              .summary = request.summary,
                              .sample_ranks = request.knobs[KNOB_SAMPLE_HZ] ? request.sample_ranks : NULL,
                              .otf2 = request.otf2,
                              .quiet = request.quiet,
                              .full = request.full};
    outcome_show(&outcome);
    if (place && killed_by)
        child_follow(killed_by); /* the launcher reports the signal to its user */
    return status;
}
