#include "top/toptext.h"

#include "base/units.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

/* Returns the columns of the character at *text, and moves *text past it. A character outside the locale becomes one
 * '?'. */
static int character_columns(const char **text)
{
    wchar_t wide;
    mbstate_t state = {0};
    if ((unsigned char)**text < STYLE_END) {
        (*text)++;
        return 0;
    }
    size_t n = mbrtowc(&wide, *text, strlen(*text), &state);
    int width = n == 0 || n > 8 ? -1 : wcwidth(wide);
    *text += n == 0 || n > 8 ? 1 : n;
    return width < 0 ? 1 : width;
}

int top_text_columns(const char *text)
{
    int columns = 0;
    while (*text)
        columns += character_columns(&text);
    return columns;
}

size_t top_text_fitting(const char *text, int columns)
{
    const char *at = text;
    for (int used = 0; *at;) {
        const char *next = at;
        used += character_columns(&next);
        if (used > columns)
            break;
        at = next;
    }
    return (size_t)(at - text);
}

static bool in_number(char character)
{
    return isdigit((unsigned char)character) || character == '.' || character == ',';
}

size_t top_text_cut(const char *text, int columns, char dots[4])
{
    size_t fits = top_text_fitting(text, columns);
    dots[0] = '\0';
    if (!text[fits])
        return fits;
    strcpy(dots, "...");
    dots[columns < 0 ? 0 : columns < 3 ? columns : 3] = '\0';
    fits = top_text_fitting(text, columns > 3 ? columns - 3 : 0);
    if (in_number(text[fits]))
        while (fits > 0 && in_number(text[fits - 1]))
            fits--;
    return fits;
}

const char *top_number(char text[TOP_NUMBER_BYTES], double value)
{
    static const char *const units[] = {"", "k", "M", "G", "T", "P", "E"};
    size_t unit = 0;
    if (value > 0 && value < 0.005) {
        snprintf(text, TOP_NUMBER_BYTES, "<.01");
        return text;
    }
    while (value >= 999.5 && unit + 1 < sizeof units / sizeof *units) {
        value /= 1000;
        unit++;
    }
    int decimals = value == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
    snprintf(text, TOP_NUMBER_BYTES, "%.*f%s", decimals, value, units[unit]);
    return text;
}

const char *top_bytes(char text[TOP_NUMBER_BYTES], double value)
{
    if (value > 0 && value < 0.5)
        snprintf(text, TOP_NUMBER_BYTES, "<1 B");
    else
        text_of_bytes(text, value < 1e18 ? (uint64_t)(value + 0.5) : (uint64_t)1e18);
    return text;
}

const char *top_bar(char *text, size_t bytes, int columns, double work, double stall)
{
    int working = (int)(work * columns + 0.5), both = (int)((work + stall) * columns + 0.5), at = 0;
    if ((size_t)columns + 4 >= bytes)
        columns = (int)bytes - 5;
    text[at++] = STYLE_WORK;
    for (int i = 0; i < columns; i++) {
        if (i == working)
            text[at++] = STYLE_STALL;
        if (i == both)
            text[at++] = STYLE_DIM;
        text[at++] = i < working ? '#' : i < both ? '|' : '.';
    }
    text[at++] = STYLE_PLAIN;
    text[at] = '\0';
    return text;
}

void top_parts_join(char *text, size_t bytes, int columns, const struct top_part *parts, size_t count)
{
    bool taken[TOP_PARTS_MOST] = {false};
    int used = -2;
    for (int rank = 1; rank < TOP_PARTS_MOST; rank++)
        for (size_t i = 0; i < count && i < TOP_PARTS_MOST; i++) {
            if (parts[i].rank != rank || !parts[i].text || !parts[i].text[0])
                continue;
            int wide = 2 + top_text_columns(parts[i].text);
            taken[i] = used < 0 || used + wide <= columns;
            used += taken[i] ? wide : 0;
        }
    size_t at = 0;
    text[0] = '\0';
    for (size_t i = 0; i < count && i < TOP_PARTS_MOST && at < bytes; i++)
        if (taken[i])
            at += (size_t)snprintf(text + at, bytes - at, "%s%s", at ? "  " : "", parts[i].text);
}
