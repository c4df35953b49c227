#include "base/script.h"

#include <stdio.h>
#include <string.h>

/* The next word of a command, without its quotes. Returns its length, or 0 at the end. */
static size_t command_word_next(const char **command, const char **word)
{
    const char *at = *command + strspn(*command, " ");
    bool quoted = *at == '\'';
    *word = at + quoted;
    size_t length = strcspn(*word, quoted ? "'" : " ");
    *command = *word + length + (quoted && (*word)[length]);
    return length;
}

bool script_of(char *text, size_t bytes, const char *program, const char *command)
{
    const char *base = strrchr(program, '/'), *word;
    if (strncmp(base ? base + 1 : program, "python", strlen("python")) != 0)
        return false;
    command_word_next(&command, &word); /* the interpreter */
    for (size_t length; (length = command_word_next(&command, &word)) > 0;) {
        bool option = word[0] == '-' && length > 1, module = option && word[length - 1] == 'm';
        bool value = option && strchr("WX", word[length - 1]);
        if (option && word[length - 1] == 'c')
            return false;
        if (module || value)
            length = command_word_next(&command, &word);
        if (option && !module)
            continue;
        snprintf(text, bytes, "%.*s", (int)length, word);
        return length > 0;
    }
    return false;
}
