#include "settings/filter.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const struct {
    const char *name;
    enum call_class class; /* CLASS_COUNT: local functions, most of class other */
} classes[] = {
    {"p2p", CLASS_P2P},           {"completion", CLASS_COMPLETION},
    {"coll", CLASS_COLLECTIVE},   {"collective", CLASS_COLLECTIVE},
    {"comm", CLASS_COMMUNICATOR}, {"communicator", CLASS_COMMUNICATOR},
    {"rma", CLASS_RMA},           {"io", CLASS_IO},
    {"process", CLASS_PROCESS},   {"other", CLASS_OTHER},
    {"local", CLASS_COUNT},
};

/* True if the name fits the pattern of `length` characters, with * for any others. The time stays small: a star
 * takes one more character each time that the rest does not fit. */
static bool fits(const char *pattern, size_t length, const char *name)
{
    size_t at = 0, star = length, kept = 0, i = 0;
    size_t end = strlen(name);
    while (i < end) {
        if (at < length && pattern[at] == '*') {
            star = at++;
            kept = i;
        } else if (at < length && tolower((unsigned char)pattern[at]) == tolower((unsigned char)name[i])) {
            at++;
            i++;
        } else if (star < length) {
            at = star + 1;
            i = ++kept;
        } else {
            return false;
        }
    }
    while (at < length && pattern[at] == '*')
        at++;
    return at == length;
}

static bool always(unsigned kind)
{
    return kind == CALL_MPI_Init || kind == CALL_MPI_Init_thread || kind == CALL_MPI_Finalize ||
           kind == CALL_MPI_Session_init || kind == CALL_MPI_Session_finalize;
}

/* Marks the functions that the word names. Returns false if there are none. */
static bool word_mark(const char *word, size_t length, bool marked[CALL_COUNT])
{
    bool any = false;
    for (size_t c = 0; c < sizeof classes / sizeof classes[0]; c++) {
        if (strlen(classes[c].name) != length || strncasecmp(classes[c].name, word, length) != 0)
            continue;
        for (unsigned kind = 1; kind < CALL_COUNT; kind++)
            marked[kind] |=
                classes[c].class == CLASS_COUNT ? call_table[kind].local : call_table[kind].class == classes[c].class;
        return true;
    }
    for (unsigned kind = 1; kind < CALL_COUNT; kind++) {
        const char *name = call_table[kind].name; /* all begin with MPI_ */
        if (fits(word, length, name) || fits(word, length, name + 4))
            any = marked[kind] = true;
    }
    return any;
}

static int word_refuse(const char *word, size_t length, char *problem, size_t size)
{
    snprintf(problem, size,
             "'%.*s' is neither a recorded MPI function nor a class; allowed are function names (with or without MPI_, "
             "* for any characters) and the classes p2p, completion, coll, comm, rma, io, process, other, separated by "
             "commas, with a leading - to exclude",
             length > 60 ? 60 : (int)length, word);
    return -1;
}

struct word {
    const char *at;
    size_t length;
    bool minus; /* the word had a minus, which is removed */
};

/* Takes the next word that is not empty. `text` moves past it. */
static bool word_next(const char **text, struct word *word)
{
    while (**text) {
        const char *at = *text;
        size_t length = strcspn(at, ",");
        *text = at + length + (at[length] == ',');
        for (; length && isspace((unsigned char)*at); length--)
            at++;
        while (length && isspace((unsigned char)at[length - 1]))
            length--;
        if (!length)
            continue;
        bool minus = *at == '-';
        *word = (struct word){at + minus, length - minus, minus};
        return true;
    }
    return false;
}

int filter_select(const char *text, bool left_out[CALL_COUNT], char *problem, size_t size)
{
    bool wanted[CALL_COUNT] = {false}, unwanted[CALL_COUNT] = {false}, only = false;
    struct word word;
    memset(left_out, 0, CALL_COUNT * sizeof *left_out);
    while (word_next(&text, &word)) {
        if (!word_mark(word.at, word.length, word.minus ? unwanted : wanted))
            return word_refuse(word.at - word.minus, word.length + word.minus, problem, size);
        only = only || !word.minus;
    }
    for (unsigned kind = 1; kind < CALL_COUNT; kind++)
        left_out[kind] = unwanted[kind] || (only && !wanted[kind]);
    return 0;
}

int filter_read(const char *text, bool left_out[CALL_COUNT], char *problem, size_t size)
{
    int result = filter_select(text, left_out, problem, size);
    for (unsigned kind = 1; kind < CALL_COUNT; kind++)
        left_out[kind] = left_out[kind] && !always(kind);
    return result;
}

int filter_check(const char *text, char *problem, size_t size)
{
    bool left_out[CALL_COUNT];
    return filter_read(text, left_out, problem, size);
}

/* The only function that it names without MPI_ in front. CALL_NONE: it names something else. */
static unsigned word_function(const struct word *word)
{
    if (memchr(word->at, '*', word->length))
        return CALL_NONE;
    for (unsigned kind = 1; kind < CALL_COUNT; kind++)
        if (fits(word->at, word->length, call_table[kind].name + 4))
            return kind;
    return CALL_NONE;
}

/* True if it names only local functions. */
static bool word_is_local(const struct word *word)
{
    bool marked[CALL_COUNT] = {false}, any = word_mark(word->at, word->length, marked);
    for (unsigned kind = 1; kind < CALL_COUNT && any; kind++)
        any = !marked[kind] || call_table[kind].local;
    return any;
}

bool filter_wants_local(const char *text, char name[FILTER_WORD_BYTES])
{
    struct word word;
    while (word_next(&text, &word)) {
        if (word.minus || !word_is_local(&word))
            continue;
        snprintf(name, FILTER_WORD_BYTES, "%.*s", (int)word.length, word.at);
        return true;
    }
    return false;
}

bool filter_is_narrow(const char *text, char name[FILTER_WORD_BYTES], const char **meant, const char **other)
{
    struct word word;
    while (word_next(&text, &word)) {
        unsigned function = word_function(&word);
        for (unsigned kind = 1; function != CALL_NONE && kind < CALL_COUNT; kind++) {
            if (kind == function || strncasecmp(call_table[kind].name + 4, word.at, word.length) != 0)
                continue;
            snprintf(name, FILTER_WORD_BYTES, "%.*s", (int)word.length, word.at);
            *meant = call_table[function].name;
            *other = call_table[kind].name;
            return true;
        }
    }
    return false;
}
