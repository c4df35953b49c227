/*
 * Texts: whether one begins or ends with another, and the last part of a path.
 */
#ifndef MPIT_BASE_TEXT_H
#define MPIT_BASE_TEXT_H

#include <stdbool.h>
#include <string.h>

static inline bool text_begins(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Returns whether it begins with one of the words, which blanks separate. */
static inline bool text_begins_with_one(const char *text, const char *words)
{
    for (size_t bytes; *words; words += bytes + (words[bytes] == ' ')) {
        bytes = strcspn(words, " ");
        if (bytes && strncmp(text, words, bytes) == 0)
            return true;
    }
    return false;
}

/* Returns false for a text that is no more than the suffix. */
static inline bool text_ends(const char *text, const char *suffix)
{
    size_t bytes = strlen(text), tail = strlen(suffix);
    return bytes > tail && strcmp(text + bytes - tail, suffix) == 0;
}

/* The last part of the path, or all of it if nothing follows the last slash. */
static inline const char *path_base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

#endif
