#include "site/outputpattern.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { VALUE_BYTES = 64 };

/* Returns the value of a letter in `text`, or NULL: there is no such letter. */
static const char *letter_value(char letter, const struct output_values *values, char text[VALUE_BYTES])
{
    const char *value = NULL;
    struct tm day;
    char format[] = {'%', letter, '\0'};
    switch (letter) {
    case 'Y':
    case 'm':
    case 'd':
        if (!localtime_r(&values->time, &day) || !strftime(text, VALUE_BYTES, format, &day))
            text[0] = '\0';
        return text;
    case 'u':
        value = values->user;
        break;
    case 'p':
        value = values->program;
        break;
    case 'j':
        value = values->job;
        break;
    case 'h':
        value = values->host;
        break;
    default:
        return NULL;
    }
    snprintf(text, VALUE_BYTES, "%s", value && *value ? value : "unknown");
    for (char *c = text; *c; c++)
        if (!isalnum((unsigned char)*c) && (!strchr("._-", *c) || (*c == '.' && c == text)))
            *c = '_';
    return text;
}

bool output_expand(const char *pattern, const struct output_values *values, char *path, size_t bytes, char reason[128])
{
    char text[VALUE_BYTES], plain[2] = "";
    size_t used = 0;
    reason[0] = path[0] = '\0';
    for (const char *at = pattern; *at; at++) {
        plain[0] = *at;
        const char *piece = plain;
        if (*at == '%' && at[1] == '%')
            at++;
        else if (*at == '%')
            piece = letter_value(*++at, values, text);
        if (!piece)
            snprintf(reason, 128, "'%%%.1s' is not known; allowed are %%Y %%m %%d %%u %%p %%j %%h %%%%", at);
        else if (used + strlen(piece) >= bytes)
            snprintf(reason, 128, "the path is too long");
        if (reason[0]) {
            path[0] = '\0';
            return false;
        }
        used += (size_t)snprintf(path + used, bytes - used, "%s", piece);
    }
    return true;
}
