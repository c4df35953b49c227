#include "base/textwrap.h"

#include <string.h>

/* Where to break the text. A word that does not fit is broken after a whole character. */
static size_t line_break(const char *text, size_t room)
{
    size_t cut = room;
    while (cut > 0 && text[cut] != ' ')
        cut--;
    if (cut)
        return cut;
    for (cut = room; cut > 1 && ((unsigned char)text[cut] & 0xc0) == 0x80;)
        cut--;
    return cut;
}

void text_wrap(const char *text, unsigned indent, FILE *out)
{
    size_t room = indent < SCREEN_COLUMNS ? SCREEN_COLUMNS - indent : 1;
    while (strlen(text) > room) {
        size_t cut = line_break(text, room);
        fprintf(out, "%.*s\n%*s", (int)cut, text, (int)indent, "");
        text += cut + (text[cut] == ' ');
    }
    fprintf(out, "%s\n", text);
}

const char *text_cut(char *text, size_t columns, const char *dots)
{
    size_t end = columns - strlen(dots);
    if (strlen(text) <= columns)
        return text;
    while (end > 0 && ((unsigned char)text[end] & 0xc0) == 0x80)
        end--;
    strcpy(text + end, dots);
    return text;
}
