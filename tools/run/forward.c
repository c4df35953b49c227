#define _GNU_SOURCE
#include "run/forward.h"

#include "run/mcafile.h"
#include "base/text.h"

#include <err.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ENV_LIST "mca_base_env_list"
#define ENV_LIST_DELIMITER ENV_LIST "_delimiter"
#define PRELOAD "LD_PRELOAD"
#define SANITIZER "ASAN_OPTIONS"

/* The new words. */
struct line {
    char **words;
    size_t count;
};

static void output_line_add(struct line *line, const char *word)
{
    line->words = realloc(line->words, (line->count + 2) * sizeof *line->words);
    if (!line->words || !(line->words[line->count] = strdup(word)))
        err(2, "no memory");
    line->words[++line->count] = NULL;
}

__attribute__((format(printf, 2, 3))) static void line_add_formatted(struct line *line, const char *format, ...)
{
    va_list args;
    char *word;
    va_start(args, format);
    if (vasprintf(&word, format, args) < 0)
        err(2, "no memory");
    va_end(args);
    output_line_add(line, word);
    free(word);
}

static bool is_ours(const char *variable)
{
    return text_begins(variable, PRELOAD "=") || text_begins(variable, "MPIT_") || text_begins(variable, SANITIZER "=");
}

static bool any_begins(char *const words[], const char *prefix)
{
    for (size_t i = 0; words[i]; i++)
        if (text_begins(words[i], prefix))
            return true;
    return false;
}

/* Adds one option for each variable to forward. If the user has an ASAN_OPTIONS among the words, it stays the only one.
 */
static void variables_add(struct line *line, const char *option, bool with_value, char *const words[])
{
    bool sanitizer = any_begins(words, SANITIZER);
    for (char **variable = environ; *variable; variable++) {
        char *equals = strchr(*variable, '=');
        if (!equals || !is_ours(*variable) || (sanitizer && text_begins(*variable, SANITIZER)))
            continue;
        output_line_add(line, option);
        line_add_formatted(line, "%.*s", (int)(equals - *variable), *variable);
        if (with_value)
            output_line_add(line, equals + 1);
    }
}

/* Returns the separator between the names of that list. PRRTE knows no other one than its own. */
static const char *delimiter_of(enum launcher_kind kind, char *const words[])
{
    if (kind == LAUNCHER_PRRTE)
        return ";";
    const char *delimiter = getenv("OMPI_MCA_" ENV_LIST_DELIMITER);
    for (size_t i = 0; words[i]; i++)
        if (strcmp(words[i], ENV_LIST_DELIMITER) == 0 && words[i + 1])
            delimiter = words[i + 1];
    return delimiter && *delimiter ? delimiter : ";";
}

/* Joins `list` and the names to forward, in the form of mca_base_env_list. */
static char *env_list(const char *list, const char *delimiter)
{
    char *all = strdup(list);
    for (char **variable = environ; all && *variable; variable++) {
        char *equals = strchr(*variable, '='), *longer;
        if (!equals || !is_ours(*variable))
            continue;
        if (asprintf(&longer, "%s%.*s%.*s", all, *all ? 1 : 0, delimiter, (int)(equals - *variable), *variable) < 0)
            err(2, "no memory");
        free(all);
        all = longer;
    }
    if (!all)
        err(2, "no memory");
    return all;
}

static bool hydra_sets(const char *word)
{
    const char *option = text_begins(word, "--") ? word + 1 : word;
    return strcmp(option, "-genv") == 0 || strcmp(option, "-env") == 0;
}

/*
 * Adds a word of the command. If the word sets LD_PRELOAD for the processes, adds the library in front of the value. If
 * the word sets ASAN_OPTIONS, appends the environment's value. The options do not depend on the launcher, because a
 * script may pass its words to any launcher.
 */
static void command_word_add(struct line *line, char *const words[], size_t i, const char *library)
{
    const char *word = words[i], *before = i > 0 ? words[i - 1] : "", *ours = getenv(SANITIZER);
    bool by_x = strcmp(before, "-x") == 0, by_env = strcmp(path_name(words[0]), "env") == 0;
    bool with_name = text_begins(word, PRELOAD "=") && (by_x || by_env || hydra_sets(before));
    if (with_name || (i > 1 && hydra_sets(words[i - 2]) && strcmp(before, PRELOAD) == 0)) {
        size_t value = with_name ? sizeof PRELOAD : 0;
        line_add_formatted(line, "%.*s%s%s%s", (int)value, word, library, word[value] ? ":" : "", word + value);
    } else if (by_x && text_begins(word, SANITIZER "=")) {
        line_add_formatted(line, "%s%s%s", word, ours ? ":" : "", ours ? ours : "");
    } else {
        output_line_add(line, word);
    }
}

/* `launcher` is the index of the launcher's word, at which this begins. */
static void openmpi_words(struct line *line, enum launcher_kind kind, char *const words[], size_t launcher,
                          const char *library)
{
    bool by_agent = forward_by_agent(kind, words + launcher), by_list = false;
    const char *delimiter = delimiter_of(kind, words + launcher), *list = getenv("OMPI_MCA_" ENV_LIST);
    if (!by_agent && list) {
        char *longer = env_list(list, delimiter);
        setenv("OMPI_MCA_" ENV_LIST, longer, 1);
        free(longer);
        by_list = true;
    }
    for (size_t i = launcher; words[i]; i++)
        by_list = by_list || strcmp(words[i], ENV_LIST) == 0;
    for (size_t i = launcher; words[i]; i++) {
        if (!by_agent && i > launcher && strcmp(words[i - 1], ENV_LIST) == 0) {
            char *longer = env_list(words[i], delimiter);
            output_line_add(line, longer);
            free(longer);
        } else {
            command_word_add(line, words, i, library);
        }
        bool context = i == launcher || strcmp(words[i], ":") == 0;
        if (context && words[i + 1] && !by_list && !by_agent)
            variables_add(line, "-x", false, words + launcher);
    }
}

static bool hydra_restricts(char *const words[])
{
    static const char *const options[] = {"-genvnone", "-genvlist", "-envnone", "-envlist", "-genvexcl", "-envexcl"};
    for (; *words; words++) {
        const char *option = text_begins(*words, "--") ? *words + 1 : *words;
        for (size_t i = 0; i < sizeof options / sizeof *options; i++)
            if (strcmp(option, options[i]) == 0)
                return true;
    }
    return false;
}

static bool slurm_restricts(char *const words[])
{
    const char *by_environment = getenv("SLURM_EXPORT_ENV");
    bool restricted = by_environment && !text_begins(by_environment, "ALL");
    for (; *words; words++)
        restricted = restricted || (text_begins(*words, "--export=") && !text_begins(*words, "--export=ALL"));
    return restricted;
}

bool forward_by_agent(enum launcher_kind kind, char *const words[])
{
    if (kind == LAUNCHER_PRRTE) /* it has no such agent, and takes no variables from parameter files */
        return false;
    return kind != LAUNCHER_OPENMPI || mca_files_name(words, ENV_LIST) || mca_files_name(words, ENV_LIST_DELIMITER);
}

char **forward_words(char *const words[], size_t launcher, enum launcher_kind kind, const char *library, char note[512])
{
    struct line line = {0};
    note[0] = '\0';
    for (size_t i = 0; i < launcher; i++)
        command_word_add(&line, words, i, library);
    if (kind == LAUNCHER_OPENMPI || kind == LAUNCHER_PRRTE) {
        openmpi_words(&line, kind, words, launcher, library);
        return line.words;
    }
    for (size_t i = launcher; words[i]; i++) {
        command_word_add(&line, words, i, library);
        if (i == launcher && kind == LAUNCHER_HYDRA && hydra_restricts(words + i))
            variables_add(&line, "-genv", true, words);
    }
    if (kind == LAUNCHER_SLURM && slurm_restricts(words))
        snprintf(
            note, 512,
            "srun passes only a part of the environment (--export), so its processes are not recorded: add " PRELOAD
            ",MPIT_OUTPUT to --export");
    return line.words;
}

void forward_free(char **words)
{
    for (size_t i = 0; words && words[i]; i++)
        free(words[i]);
    free(words);
}
