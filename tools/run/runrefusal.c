#define _GNU_SOURCE
#include "run/runrefusal.h"

#include "base/options.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

__attribute__((format(printf, 3, 0))) static void reason_print(const struct refusal *refusal, const char *end,
                                                               const char *format, va_list args)
{
    if (!refusal->silent || refusal->strict) {
        fprintf(stderr, "%s: ", program_invocation_short_name);
        vfprintf(stderr, format, args);
        fprintf(stderr, "%s\n", refusal->strict ? "" : end);
    }
    if (refusal->strict)
        exit(EXIT_USAGE);
}

void refusal_say(const struct refusal *refusal, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    reason_print(refusal, "; the program runs without recording", format, args);
    va_end(args);
}

void refusal_warn(const struct refusal *refusal, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    reason_print(refusal, "", format, args);
    va_end(args);
}
