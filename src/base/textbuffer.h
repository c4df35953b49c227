/*
 * Text that grows while it is written. Without memory it fails as a whole, because a part of it would be misleading.
 */
#ifndef MPIT_BASE_TEXTBUFFER_H
#define MPIT_BASE_TEXTBUFFER_H

#include <stdbool.h>
#include <stddef.h>

struct textbuffer {
    char *bytes; /* ends with NUL, if it is not NULL */
    size_t used, room;
    bool failed; /* memory was short */
};

/* Makes room for more than `more` bytes. Returns false without memory. */
bool text_reserve(struct textbuffer *text, size_t more);
void text_put(struct textbuffer *text, const char *piece);
void text_put_bytes(struct textbuffer *text, const void *bytes, size_t count);
__attribute__((format(printf, 2, 3))) void text_format(struct textbuffer *text, const char *format, ...);
void text_clear(struct textbuffer *text);
void text_free(struct textbuffer *text);

/* Returns the number of bytes of the character (RFC 3629) at `from`, and its code. 0: invalid. `left` bytes can be
 * read. SIZE_MAX: up to a NUL. */
size_t text_character(const char *from, size_t left, unsigned *number);

#endif
