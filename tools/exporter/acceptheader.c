/* The formats that a client accepts (RFC 9110, 12.5.1), of the two available ones. */
#define _GNU_SOURCE
#include "exporter/openmetrics.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *space_skip(const char *at)
{
    return at + strspn(at, " \t");
}

/* Returns the end of a part of a list: the next separator outside quotes. */
static const char *list_part_end(const char *at, const char *separators)
{
    for (bool quoted = false; *at; at++) {
        if (*at == '"')
            quoted = !quoted;
        else if (quoted && *at == '\\' && at[1])
            at++;
        else if (!quoted && strchr(separators, *at))
            break;
    }
    return at;
}

static bool word_is(const char *from, const char *end, const char *word)
{
    while (end > from && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    return (size_t)(end - from) == strlen(word) && strncasecmp(from, word, strlen(word)) == 0;
}

/* Reads a number 0 .. 1 with up to three decimals, in thousandths. strtod would accept more, and depends on the
 * locale. */
static int weight_read(const char *from, const char *end)
{
    if (from == end || (*from != '0' && *from != '1'))
        return 0;
    int weight = (*from++ - '0') * 1000, unit = 100;
    if (from < end && *from == '.')
        for (from++; from < end && *from >= '0' && *from <= '9'; from++, unit /= 10)
            weight += (*from - '0') * unit;
    return weight > 1000 ? 1000 : weight;
}

struct range {
    int weight;
    bool other; /* a version that is not supported */
};

static struct range parameters_read(const char *at, const char *end, const char *version)
{
    struct range range = {.weight = 1000};
    while (at < end && *at == ';') {
        const char *name = space_skip(at + 1), *stop = list_part_end(name, ";,");
        const char *equals = memchr(name, '=', (size_t)(stop - name));
        if (equals) {
            const char *value = space_skip(equals + 1), *last = stop;
            while (last > value && (last[-1] == ' ' || last[-1] == '\t'))
                last--;
            if (last > value + 1 && *value == '"' && last[-1] == '"')
                value++, last--;
            if (word_is(name, equals, "q"))
                range.weight = weight_read(value, last);
            else if (word_is(name, equals, "version"))
                range.other = !version || !word_is(value, last, version);
        }
        at = stop;
    }
    return range;
}

/* Returns the weight of a format for the client. OpenMetrics counts only if it is named, since other clients accept any
 * text. */
enum metric_format format_negotiate(const char *accept)
{
    int open = 0, plain = 0;
    for (const char *at = accept ? space_skip(accept) : ""; *at; at = space_skip(at)) {
        const char *end = list_part_end(at, ","), *type = list_part_end(at, ";,");
        if (word_is(at, type, "application/openmetrics-text")) {
            struct range range = parameters_read(type, end, "1.0.0");
            if (!range.other && range.weight > open)
                open = range.weight;
        } else if (word_is(at, type, "text/plain")) {
            struct range range = parameters_read(type, end, "0.0.4");
            if (!range.other && range.weight > plain)
                plain = range.weight;
        }
        at = *end ? end + 1 : end;
    }
    return open && open >= plain ? FORMAT_OPENMETRICS : FORMAT_TEXT;
}

const char *format_content_type(enum metric_format format)
{
    return format == FORMAT_OPENMETRICS ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                                        : "text/plain; version=0.0.4; charset=utf-8";
}
