#include "launchers.h"

#include "forkagent.h"
#include "mcafiles.h"
#include "saying.h"
#include "site/setting.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#define AGENT "MPIT_FORK_AGENT"
#define DONE AGENT "_DONE" /* the process number of a launcher that was started again. Launchers below have others */
#define ENV_LIST "mca_base_env_list"
#define PRELOAD "LD_PRELOAD"
#define SANITIZER "ASAN_OPTIONS"

/* The new words. */
struct line {
    char **words;
    size_t count;
    bool changed;
};

static bool is_begun_by(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool is_one(const char *word, const char *const list[])
{
    for (; *list; list++)
        if (strcmp(word, *list) == 0)
            return true;
    return false;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool is_ours(const char *variable)
{
    return is_begun_by(variable, PRELOAD "=") || is_begun_by(variable, SANITIZER "=") ||
           (is_begun_by(variable, "MPIT_") && !is_begun_by(variable, AGENT) && strchr(variable, '='));
}

/* Hydra has each option also with two dashes. */
static const char *hydra_option(const char *word)
{
    return is_begun_by(word, "--") ? word + 1 : word;
}

static bool hydra_sets(const char *word)
{
    static const char *const options[] = {"-genv", "-env", NULL};
    return is_one(hydra_option(word), options);
}

static bool hydra_restricts(char *argv[])
{
    static const char *const options[] = {"-genvnone", "-genvlist", "-envnone", "-envlist",
                                          "-genvexcl", "-envexcl",  NULL};
    for (; *argv; argv++)
        if (is_one(hydra_option(*argv), options))
            return true;
    return false;
}

/* The daemons of other launchers get the variables in another way. */
static bool srun_restricts(char *argv[])
{
    static const char *const daemons[] = {"hydra_pmi_proxy", "hydra_bstrap_proxy", "orted", "prted", NULL};
    const char *by_environment = getenv("SLURM_EXPORT_ENV");
    bool restricted = by_environment && !is_begun_by(by_environment, "ALL");
    for (; *argv; argv++) {
        if (is_one(base_name(*argv), daemons))
            return false;
        restricted = restricted || (is_begun_by(*argv, "--export=") && !is_begun_by(*argv, "--export=ALL"));
    }
    return restricted;
}

/* Joins a list of the user and the names to forward, in the form of mca_base_env_list. Returns NULL without memory. */
static char *list_extend(const char *list)
{
    char *all = strdup(list);
    for (char **variable = environ; all && *variable; variable++) {
        char *longer;
        if (!is_ours(*variable))
            continue;
        if (asprintf(&longer, "%s%s%.*s", all, *all ? ";" : "", (int)strcspn(*variable, "="), *variable) < 0)
            longer = NULL;
        free(all);
        all = longer;
    }
    return all;
}

/* Returns whether word i sets the variable for the processes, and writes where the value begins in it. */
static bool word_sets(char *argv[], int i, const char *variable, bool hydra, size_t *value)
{
    size_t bytes = strlen(variable);
    const char *before = i > 0 ? argv[i - 1] : "";
    bool named = is_begun_by(argv[i], variable) && argv[i][bytes] == '=';
    *value = named ? bytes + 1 : 0;
    if (named)
        return hydra ? hydra_sets(before) : strcmp(before, "-x") == 0;
    return hydra && i > 1 && hydra_sets(argv[i - 2]) && strcmp(before, variable) == 0;
}

/* Returns the word that replaces word i. mpit's library is put before a value of LD_PRELOAD, and the environment's value
 * behind a value of ASAN_OPTIONS. Other words stay. */
static char *word_extend(char *argv[], int i, bool hydra, const char *preload)
{
    const char *options = getenv(SANITIZER);
    char *word = argv[i];
    size_t value;
    int result = 0;
    if (word_sets(argv, i, PRELOAD, hydra, &value))
        result =
            asprintf(&word, "%.*s%s%s%s", (int)value, argv[i], preload, argv[i][value] ? ":" : "", argv[i] + value);
    else if (options && word_sets(argv, i, SANITIZER, hydra, &value))
        result = asprintf(&word, "%s:%s", argv[i], options);
    return result < 0 ? argv[i] : word;
}

static void word_append(struct line *line, char *word)
{
    line->words[line->count++] = word;
}

/* Adds one option for each variable to forward. An ASAN_OPTIONS among the words stays the only one. */
static void variables_add(struct line *line, bool hydra, char *argv[])
{
    bool sanitizer = false;
    for (; *argv; argv++)
        sanitizer = sanitizer || is_begun_by(*argv, SANITIZER);
    for (char **variable = environ; *variable; variable++) {
        size_t bytes = strcspn(*variable, "=");
        if (!is_ours(*variable) || (sanitizer && is_begun_by(*variable, SANITIZER)))
            continue;
        word_append(line, hydra ? "-genv" : "-x");
        word_append(line, strndup(*variable, bytes));
        if (hydra)
            word_append(line, *variable + bytes + 1);
        line->changed = true;
    }
}

static bool line_make(struct line *line, int argc, char *argv[])
{
    size_t contexts = 1, variables = 0;
    for (int i = 0; i < argc; i++)
        contexts += strcmp(argv[i], ":") == 0;
    for (char **variable = environ; *variable; variable++)
        variables += is_ours(*variable);
    *line = (struct line){.words = calloc((size_t)argc + 1 + 3 * contexts * variables, sizeof *line->words)};
    return line->words;
}

/* Starts the launcher again if its words change, and marks its process. Returns if no word changes, or if the launcher
 * cannot be started again. `adds`: the variables are added to the line. */
static void line_run(int argc, char *argv[], bool hydra, bool adds, const char *preload)
{
    struct line line;
    if (!line_make(&line, argc, argv))
        return;
    for (int i = 0; i < argc; i++) {
        bool is_list = !hydra && i > 0 && strcmp(argv[i - 1], ENV_LIST) == 0;
        char *word = is_list ? list_extend(argv[i]) : word_extend(argv, i, hydra, preload);
        line.changed = line.changed || word != argv[i];
        word_append(&line, word);
        if (adds && (i == 0 || (!hydra && strcmp(argv[i], ":") == 0)))
            variables_add(&line, hydra, argv);
    }
    for (size_t i = 0; i < line.count; i++)
        if (!line.words[i]) /* no memory */
            return;
    char self[16];
    snprintf(self, sizeof self, "%d", (int)getpid());
    if (line.changed && setenv(DONE, self, 1) == 0)
        execv((const char *)getauxval(AT_EXECFN), line.words); /* the process keeps its name */
    unsetenv(DONE);
}

static bool was_started_again(void)
{
    const char *done = getenv(DONE);
    return done && strtol(done, NULL, 10) == (long)getpid();
}

static bool has_word(char *argv[], const char *word)
{
    for (; *argv; argv++)
        if (strcmp(*argv, word) == 0)
            return true;
    return false;
}

/* For an environment with a list. */
static void environment_extend(const char *list)
{
    char *longer = list_extend(list);
    if (longer)
        setenv("OMPI_MCA_" ENV_LIST, longer, 1);
    free(longer);
}

void launcher_prepare(int argc, char *argv[], const char *here)
{
    static const char *const prrte[] = {"prte", "prterun", NULL}; /* prterun may be a link to prte */
    const char *agent = getenv(AGENT), *list = getenv("OMPI_MCA_" ENV_LIST), *samples = setting("MPIT_SAMPLE_HZ");
    char path[PATH_MAX], preload[2 * PATH_MAX + 64];
    bool acts = agent && *agent && argc > 1 && !was_started_again();
    ssize_t bytes = acts ? readlink("/proc/self/exe", path, sizeof path - 1) : -1;
    if (bytes <= 0)
        return;
    path[bytes] = '\0';
    const char *name = base_name(path);
    bool own_list = list || has_word(argv, ENV_LIST), orterun = strcmp(name, "orterun") == 0;
    bool by_file = has_word(argv, "--app") || has_word(argv, "-app"); /* then the file has the contexts */
    snprintf(preload, sizeof preload, "%s%s%slibmpit.so", samples ? here : "", samples ? "libmpit-sampler.so:" : "",
             here);
    if (orterun) {
        if (!own_list && !by_file && !mca_files_forward(argv, path))
            line_run(argc, argv, false, true, preload);
        agent_set(agent, preload, argc, argv); /* also if it cannot be started again */
    } else if (is_one(name, prrte) && strcmp(base_name(argv[0]), "prterun") == 0) {
        if (list)
            environment_extend(list);
        line_run(argc, argv, false, !own_list, preload);
    } else if (strcmp(name, "mpiexec.hydra") == 0) {
        line_run(argc, argv, true, hydra_restricts(argv), preload);
    } else if (strcmp(name, "srun") == 0 && srun_restricts(argv)) {
        say_once("mpit: note: srun passes only a part of the environment (--export), so its processes are not "
                 "recorded: add LD_PRELOAD,MPIT_OUTPUT to --export");
    }
}
