#include "format/label.h"

#include "base/textbuffer.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool is_harmless(uint32_t number)
{
    bool control = number < 0x20 || (number >= 0x7f && number < 0xa0);
    bool breaks = number == 0x2028 || number == 0x2029;
    bool turns = number == 0x061c || number == 0x200e || number == 0x200f || (number >= 0x202a && number <= 0x202e) ||
                 (number >= 0x2066 && number <= 0x2069);
    return !control && !breaks && !turns;
}

void label_clean(char *to, size_t size, const char *from, size_t most)
{
    size_t bytes = strnlen(from, most), used = 0;
    for (size_t at = 0, taken; at < bytes; at += taken) {
        if (from[at] >= 0x20 && from[at] < 0x7f) { /* nearly all are */
            if (used + 1 >= size)
                break;
            to[used++] = from[at];
            taken = 1;
            continue;
        }
        unsigned number = 0;
        size_t length = text_character(from + at, bytes - at, &number);
        bool shown = length && is_harmless(number);
        taken = length ? length : 1;
        if (used + (shown ? length : 1) >= size)
            break;
        if (shown)
            memcpy(to + used, from + at, length);
        else
            to[used] = '?';
        used += shown ? length : 1;
    }
    to[used] = '\0';
}

void text_tidy(char *text, size_t size)
{
    char clean[FILTER_BYTES];
    label_clean(clean, size < sizeof clean ? size : sizeof clean, text, size);
    memcpy(text, clean, strlen(clean) + 1);
}

const char *label_quote(char quoted[LABEL_QUOTED_BYTES], const char *label)
{
    char clean[COMM_LABEL_BYTES];
    size_t used = 0;
    label_clean(clean, sizeof clean, label, COMM_LABEL_BYTES);
    quoted[0] = '\0';
    if (!clean[0])
        return quoted;
    quoted[used++] = '"';
    for (const char *at = clean; *at; at++) {
        if (*at == '"' || *at == '\\')
            quoted[used++] = '\\';
        quoted[used++] = *at;
    }
    quoted[used++] = '"';
    quoted[used] = '\0';
    return quoted;
}

const char *comm_title(char title[COMM_TITLE_BYTES], const char *name, const char *label)
{
    char clean[COMM_NAME_BYTES], quoted[LABEL_QUOTED_BYTES];
    label_clean(clean, sizeof clean, name, COMM_NAME_BYTES);
    label_quote(quoted, label);
    snprintf(title, COMM_TITLE_BYTES, "%s%s%s", clean, quoted[0] ? " " : "", quoted);
    return title;
}
