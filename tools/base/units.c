#include "base/units.h"

#include "figures/bucket.h"

#include <mpit/instrument_interface.h>

#include <inttypes.h>
#include <langinfo.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *three_digits(char text[UNIT_TEXT_BYTES], double value, const char *unit)
{
    int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    snprintf(text, UNIT_TEXT_BYTES, "%.*f %s", decimals, value, unit);
    return text;
}

const char *text_of_seconds(char text[UNIT_TEXT_BYTES], double seconds)
{
    static const struct {
        double factor, below;
        const char *unit;
    } steps[] = {{1e9, 999.5e-9, "ns"}, {1e6, 999.5e-6, "us"}, {1e3, 999.5e-3, "ms"}, {1, HUGE_VAL, "s"}};
    if (seconds <= 0) {
        snprintf(text, UNIT_TEXT_BYTES, "0 s");
        return text;
    }
    size_t step = 0;
    while (step + 1 < sizeof steps / sizeof steps[0] && seconds >= steps[step].below)
        step++;
    return three_digits(text, seconds * steps[step].factor, steps[step].unit);
}

const char *text_of_ns(char text[UNIT_TEXT_BYTES], uint64_t ns)
{
    return text_of_seconds(text, (double)ns * 1e-9);
}

const char *text_of_bytes(char text[UNIT_TEXT_BYTES], uint64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    size_t unit = 0;
    uint64_t factor = 1;
    while (unit + 1 < sizeof units / sizeof *units && bytes / factor >= 1024) {
        factor *= 1024;
        unit++;
    }
    if (bytes % factor == 0)
        snprintf(text, UNIT_TEXT_BYTES, "%llu %s", (unsigned long long)(bytes / factor), units[unit]);
    else
        three_digits(text, (double)bytes / (double)factor, units[unit]);
    return text;
}

const char *text_of_bucket(char text[UNIT_BUCKET_BYTES], unsigned bucket)
{
    char low[UNIT_TEXT_BYTES], high[UNIT_TEXT_BYTES];
    uint64_t from = bucket ? UINT64_C(1) << (bucket - 1) : 0;
    if (bucket <= 1)
        snprintf(text, UNIT_BUCKET_BYTES, "%u B", bucket);
    else if (bucket == BUCKET_COUNT - 1)
        snprintf(text, UNIT_BUCKET_BYTES, "%s and more", text_of_bytes(low, from));
    else
        snprintf(text, UNIT_BUCKET_BYTES, "%s .. < %s", text_of_bytes(low, from), text_of_bytes(high, from * 2));
    return text;
}

const char *text_of_count(char text[UNIT_TEXT_BYTES], uint64_t count)
{
    char digits[UNIT_TEXT_BYTES];
    int length = snprintf(digits, sizeof digits, "%llu", (unsigned long long)count);
    char *out = text;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            *out++ = ',';
        *out++ = digits[i];
    }
    *out = '\0';
    return text;
}

const char *text_of_rank(char text[UNIT_TEXT_BYTES], int32_t rank)
{
    snprintf(text, UNIT_TEXT_BYTES, rank < 0 ? "-" : "%" PRId32, rank);
    return text;
}

uint64_t whole_of(double figure)
{
    return figure > 0 ? figure < 0x1p63 ? (uint64_t)figure : INT64_MAX : 0;
}

const char *text_of_share(char text[UNIT_TEXT_BYTES], double part, double whole)
{
    double percent = whole > 0 ? part / whole * 100 : 0;
    snprintf(text, UNIT_TEXT_BYTES, "%.1f %%", percent);
    return text;
}

static bool is_inside_character(const char *at)
{
    return ((unsigned char)*at & 0xc0) == 0x80; /* UTF-8 */
}

const char *text_of_name(char text[UNIT_NAME_BYTES], const char *name)
{
    size_t length = strlen(name), begin = UNIT_NAME_BEGIN, end = length - UNIT_NAME_END;
    if (length < UNIT_NAME_BYTES)
        return name;
    while (begin > 0 && is_inside_character(name + begin))
        begin--;
    while (is_inside_character(name + end))
        end++;
    snprintf(text, UNIT_NAME_BYTES, "%.*s...%s", (int)begin, name, name + end);
    return text;
}

bool text_is_utf8(void)
{
    return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

const char *text_of_number(char text[UNIT_TEXT_BYTES], uint32_t type, uint64_t number)
{
    double real;
    memcpy(&real, &number, sizeof real);
    if (type == MPIT_TYPE_DOUBLE)
        snprintf(text, UNIT_TEXT_BYTES, "%.6g", real);
    else if (type == MPIT_TYPE_INT)
        snprintf(text, UNIT_TEXT_BYTES, "%" PRId64, (int64_t)number);
    else
        snprintf(text, UNIT_TEXT_BYTES, "%" PRIu64, number);
    return text;
}

bool ns_of_text(const char **text, int64_t *ns)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"", 1e9}};
    char *end;
    if ((**text < '0' || **text > '9') && **text != '.')
        return false;
    double value = strtod(*text, &end);
    size_t letters = strcspn(end, ":");
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strlen(units[i].name) == letters && strncmp(end, units[i].name, letters) == 0) {
            *text = end + letters;
            value = value * units[i].ns;
            if (!(value < 9e18))
                return false;
            *ns = (int64_t)(value + 0.5);
            return true;
        }
    return false;
}

const char *ordinal_end(uint64_t number)
{
    static const char *const ends[] = {"th", "st", "nd", "rd"};
    bool teen = number % 100 / 10 == 1;
    return number % 10 < 4 && !teen ? ends[number % 10] : "th";
}
