#include "base/options.h"

#include "base/spelling.h"
#include "base/text.h"

#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void hint_print(void)
{
    fprintf(stderr, "%s --help shows the options\n", program_invocation_short_name);
}

/* The option that the word begins, or that looks most like it, or NULL. */
static const char *option_nearest(const struct command_line *line, const char *word)
{
    struct spelling spelling = {.word = word};
    for (const struct tool_option *option = line->options; option->name; option++) {
        if (*word && text_begins(option->name, word))
            return option->name;
        spelling_try(&spelling, option->name);
    }
    return spelling.nearest;
}

/* An option that the tool has not may be the launcher's. */
static void launcher_hint_print(const char *launcher, char *const words[])
{
    fprintf(stderr, "The launcher comes after %s: %s %s", program_invocation_short_name, program_invocation_short_name,
            launcher);
    for (; *words; words++)
        fprintf(stderr, " %s", *words);
    fputc('\n', stderr);
}

/* For ':' and '?' of getopt_long: names the option, and ends the tool. */
static __attribute__((noreturn)) void option_reject(const struct command_line *line, int result, char *const argv[])
{
    const char *next = argv[optind];
    /* in -np getopt has not passed the word */
    bool inside = optopt && next && next[0] == '-' && next[1] != '-' && next[1] && next[2] && strchr(next, optopt);
    char *const *words = argv + optind - !inside;
    const char *word = *words;
    const char *nearest = strncmp(word, "--", 2) == 0 ? option_nearest(line, word + 2) : NULL;
    if (result == ':')
        fprintf(stderr, "%s: option '%s' needs a value\n", program_invocation_short_name, word);
    else if (optopt && word[0] == '-' && word[1] == '-')
        fprintf(stderr, "%s: option '%s' takes no value\n", program_invocation_short_name, word);
    else if (optopt)
        fprintf(stderr, "%s: unknown option '-%c'\n", program_invocation_short_name, optopt);
    else
        fprintf(stderr, "%s: unknown option '%s'%s%s%s\n", program_invocation_short_name, word,
                nearest ? "; did you mean --" : "", nearest ? nearest : "", nearest ? "?" : "");
    if (line->launcher && result != ':' && !nearest && !strchr(word, '=') && words[1])
        launcher_hint_print(line->launcher, words);
    hint_print();
    exit(EXIT_USAGE);
}

void usage_reject(const char *format, ...)
{
    va_list args;
    fprintf(stderr, "%s: ", program_invocation_short_name);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    hint_print();
    exit(EXIT_USAGE);
}

/* Writes the help or the version, and ends the tool: 0, or 1 when standard output fails. */
__attribute__((noreturn)) static void text_and_exit(const char *text)
{
    fputs(text, stdout);
    output_close();
    exit(0);
}

void output_close(void)
{
    if (ferror(stdout) || fclose(stdout) != 0)
        err(1, "standard output cannot be written");
}

enum { OPTIONS_MOST = 64, WIDTH = 80 };

/* Writes the help of an option after its names, which take `used` columns. It may have several lines. */
static void option_help_print(const char *help, int used, int column)
{
    for (const char *end; help; help = *end ? end + 1 : NULL) {
        end = strchrnul(help, '\n');
        int bytes = (int)(end - help), gap = used + 2 <= column ? column - used : 2;
        if (used + gap + bytes > WIDTH) {
            putchar('\n');
            gap = column;
        }
        printf("%*s%.*s\n", gap, "", bytes, help);
        used = 0;
    }
}

static __attribute__((noreturn)) void help_print(const struct command_line *line)
{
    int used = 0;
    fputs(line->head, stdout);
    for (const struct tool_option *option = line->options; option->name; option++) {
        if (option->help && !*option->help)
            continue;
        used += printf("%s--%s", used ? ", " : "  ", option->name);
        used += option->argument ? printf(" %s", option->argument) : 0;
        if (!option->help)
            continue;
        option_help_print(option->help, used, line->column);
        used = 0;
    }
    fputs("  --help, --version\n", stdout);
    text_and_exit(line->tail);
}

/* getopt_long takes the begin of a name for the name. A slip must not select another option. */
static bool is_cut(const struct option *all, const char *word)
{
    size_t bytes = strcspn(word, "=");
    if (strncmp(word, "--", 2) != 0)
        return false;
    for (; all->name; all++)
        if (strlen(all->name) == bytes - 2 && strncmp(all->name, word + 2, bytes - 2) == 0)
            return false;
    return true;
}

/* Returns whether the tool need not handle the option. */
static bool option_store(const struct tool_option *options, int value)
{
    while (options->name && options->value != value)
        options++;
    if (!options->into)
        return false;
    if (options->argument)
        *(const char **)options->into = optarg;
    else
        *(bool *)options->into = true;
    return true;
}

int command_line_next(const struct command_line *line, int argc, char *argv[])
{
    struct option all[OPTIONS_MOST + 3] = {{"help", no_argument, NULL, 'h'}, {"version", no_argument, NULL, 'v'}};
    for (int i = 0; i < OPTIONS_MOST && line->options[i].name; i++)
        all[2 + i] = (struct option){line->options[i].name, line->options[i].argument ? required_argument : no_argument,
                                     NULL, line->options[i].value};
    opterr = 0;
    int option = getopt_long(argc, argv, line->shorts, all, NULL);
    int at = option == -1 ? 0 : optind - 1 - (optarg && optarg == argv[optind - 1]);
    if (option != -1 && option != ':' && option != '?' && is_cut(all, argv[at])) {
        optind = at + 1;
        optopt = 0;
        option = '?';
    }
    if (option == 'h')
        help_print(line);
    if (option == 'v')
        text_and_exit(line->version);
    if (option == ':' || option == '?')
        option_reject(line, option, argv);
    return option_store(line->options, option) ? command_line_next(line, argc, argv) : option;
}
