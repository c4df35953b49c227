#include "job/jsonvalue.h"

#include "format/label.h"

#include <err.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

json_t *text_json(const char *text)
{
    json_t *json = text ? json_string(text) : json_null();
    if (json)
        return json;
    size_t bytes = strlen(text);
    char *clean = malloc(bytes + 1);
    if (!clean)
        return json_null();
    label_clean(clean, bytes + 1, text, bytes);
    json = json_string(clean);
    free(clean);
    return json;
}

json_t *count_json(uint64_t count)
{
    return json_integer(count > INT64_MAX ? INT64_MAX : (json_int_t)count);
}

json_t *known_count_json(bool known, uint64_t count)
{
    return known ? count_json(count) : json_null();
}

json_t *known_seconds_json(bool known, uint64_t ns)
{
    return known ? json_real((double)ns * 1e-9) : json_null();
}

json_t *figure_json(double figure)
{
    return isfinite(figure) ? json_real(figure) : json_null();
}

json_t *instant_json(uint64_t ns)
{
    char text[64];
    time_t seconds = (time_t)(ns / 1000000000);
    struct tm utc;
    if (!ns || !gmtime_r(&seconds, &utc) || !strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc))
        return json_null();
    return json_string(text);
}

void json_show(json_t *document, size_t digits, const char *what)
{
    if (!document || json_dumpf(document, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(digits)) != 0 ||
        putchar('\n') == EOF)
        err(1, "%s cannot be written", what);
    json_decref(document);
}
