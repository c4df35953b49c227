#include "base/textbuffer.h"

#include "base/invariant.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool textbuffer_is_valid(const struct textbuffer *text)
{
    return text->bytes ? text->used < text->room : !text->used && !text->room;
}

bool text_reserve(struct textbuffer *text, size_t more)
{
    MPIT_ASSERT(textbuffer_is_valid(text));
    if (text->failed)
        return false;
    if (text->room - text->used > more)
        return true;
    size_t room = text->room ? 2 * text->room : 256;
    while (room - text->used <= more)
        room *= 2;
    char *bytes = realloc(text->bytes, room);
    text->failed = !bytes;
    if (!bytes)
        return false;
    text->bytes = bytes;
    text->room = room;
    return true;
}

void text_put_bytes(struct textbuffer *text, const void *bytes, size_t count)
{
    if (!text_reserve(text, count))
        return;
    memcpy(text->bytes + text->used, bytes, count);
    text->used += count;
    text->bytes[text->used] = '\0';
}

void text_put(struct textbuffer *text, const char *piece)
{
    text_put_bytes(text, piece, strlen(piece));
}

void text_format(struct textbuffer *text, const char *format, ...)
{
    va_list args;
    for (size_t more = 64;;) {
        if (!text_reserve(text, more))
            return;
        va_start(args, format);
        int length = vsnprintf(text->bytes + text->used, text->room - text->used, format, args);
        va_end(args);
        if (length < 0) {
            text->failed = true;
            return;
        }
        if ((size_t)length < text->room - text->used) {
            text->used += (size_t)length;
            return;
        }
        more = (size_t)length + 1;
    }
}

void text_clear(struct textbuffer *text)
{
    MPIT_ASSERT(textbuffer_is_valid(text));
    text->used = 0;
    if (text->bytes)
        text->bytes[0] = '\0';
}

void text_free(struct textbuffer *text)
{
    MPIT_ASSERT(textbuffer_is_valid(text));
    free(text->bytes);
    *text = (struct textbuffer){0};
}

size_t text_character(const char *text, size_t left, unsigned *number)
{
    static const unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *from = (const unsigned char *)text;
    size_t bytes = from[0] < 0x80 ? 1 : from[0] < 0xc2 ? 0 : from[0] < 0xe0 ? 2 : from[0] < 0xf0 ? 3 : 4;
    if (bytes == 0 || bytes > left || from[0] > 0xf4)
        return 0;
    *number = bytes == 1 ? from[0] : from[0] & (0x7fu >> bytes);
    for (size_t i = 1; i < bytes; i++) {
        if ((from[i] & 0xc0) != 0x80)
            return 0;
        *number = *number << 6 | (from[i] & 0x3f);
    }
    bool surrogate = *number >= 0xd800 && *number < 0xe000;
    return *number < least[bytes] || *number > 0x10ffff || surrogate ? 0 : bytes;
}
