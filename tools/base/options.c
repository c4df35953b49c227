#define _GNU_SOURCE
#include "base/options.h"

#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static void hint_print(void)
{
    fprintf(stderr, "%s --help shows the options\n", program_invocation_short_name);
}

void option_reject(int result, char *const argv[])
{
    const char *word = argv[optind - 1];
    if (result == ':')
        fprintf(stderr, "%s: option '%s' needs a value\n", program_invocation_short_name, word);
    else if (optopt && word[0] == '-' && word[1] == '-')
        fprintf(stderr, "%s: option '%s' takes no value\n", program_invocation_short_name, word);
    else if (optopt)
        fprintf(stderr, "%s: unknown option '-%c'\n", program_invocation_short_name, optopt);
    else
        fprintf(stderr, "%s: unknown option '%s'\n", program_invocation_short_name, word);
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

void text_and_exit(const char *text)
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
