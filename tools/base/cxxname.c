#include "base/cxxname.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define ANONYMOUS "(anonymous namespace)::"
#define LAMBDA "{lambda"

struct short_name {
    char text[CXX_NAME_BYTES];
    size_t used;
    size_t last, before; /* where the last part begins, and the one before it */
};

static void name_put(struct short_name *name, char character)
{
    if (name->used + 1 < sizeof name->text)
        name->text[name->used++] = character;
}

/* Returns the text after a bracket that opens here, and all that is in it. */
static const char *bracket_end(const char *at, char open, char close)
{
    int depth = 0;
    for (; *at; at++) {
        depth += *at == open;
        if (*at == close && --depth == 0)
            return at + 1;
    }
    return at;
}

/* An operator's name has brackets and spaces of its own: operator(), operator<, operator new. */
static bool operator_begins(const char *name, const char *at)
{
    return strncmp(at, "operator", 8) == 0 && !isalnum((unsigned char)at[8]) && at[8] != '_' &&
           (at == name || (!isalnum((unsigned char)at[-1]) && at[-1] != '_'));
}

static void operator_put(struct short_name *name, const char *at)
{
    size_t end = 8;
    end += strncmp(at + 8, "()", 2) == 0 ? 2 : strcspn(at + 8, "(");
    for (size_t i = 0; i < end; i++)
        name_put(name, at[i]);
}

/* A part ends with "::". */
static void scope_end(struct short_name *name)
{
    name->before = name->last;
    name_put(name, ':');
    name_put(name, ':');
    name->last = name->used;
}

const char *cxx_name_short(const char *full, char text[CXX_NAME_BYTES])
{
    struct short_name name = {.used = 0};
    bool other = full[0] == '{' || full[0] == '<' || strstr(full, ".<"); /* not of c++filt: Python has f.<lambda> */
    for (const char *at = full; !other && *at && strncmp(at, " [clone", 7) != 0;) {
        if (operator_begins(full, at)) {
            operator_put(&name, at);
            break;
        }
        if (strncmp(at, ANONYMOUS, strlen(ANONYMOUS)) == 0) {
            at += strlen(ANONYMOUS);
        } else if (strncmp(at, "decltype(", 9) == 0) {
            at = bracket_end(at + 8, '(', ')');
        } else if (strncmp(at, LAMBDA, strlen(LAMBDA)) == 0 && name.used) {
            for (const char *lambda = LAMBDA "}"; *lambda; lambda++)
                name_put(&name, *lambda);
            break;
        } else if (*at == '<' && name.used) {
            at = bracket_end(at, '<', '>');
        } else if (*at == '(') {
            break;
        } else if (*at == ' ') { /* before it was the type that it returns */
            name.used = name.last = name.before = 0;
            at++;
        } else if (strncmp(at, "::", 2) == 0) {
            scope_end(&name);
            at += 2;
        } else {
            name_put(&name, *at++);
        }
    }
    name.text[name.used] = '\0';
    snprintf(text, CXX_NAME_BYTES, "%s", name.used ? name.text + name.before : full);
    return text;
}

const char *cxx_name_begin(const char *name)
{
    const char *begin = name;
    for (const char *at = name; *at && !operator_begins(name, at);) {
        if (strncmp(at, ANONYMOUS, strlen(ANONYMOUS)) == 0)
            at += strlen(ANONYMOUS);
        else if (strncmp(at, "decltype(", 9) == 0)
            at = bracket_end(at + 8, '(', ')');
        else if (*at == '<' && at > name)
            at = bracket_end(at, '<', '>');
        else if (*at == '(')
            break;
        else if (*at++ == ' ')
            begin = at;
    }
    return begin;
}
