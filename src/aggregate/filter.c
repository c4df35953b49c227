#include "filter.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const struct {
    const char *name;
    enum call_class class;
} classes[] = {
    {"p2p", CLASS_P2P},           {"completion", CLASS_COMPLETION},
    {"coll", CLASS_COLLECTIVE},   {"collective", CLASS_COLLECTIVE},
    {"comm", CLASS_COMMUNICATOR}, {"communicator", CLASS_COMMUNICATOR},
    {"rma", CLASS_RMA},           {"io", CLASS_IO},
    {"process", CLASS_PROCESS},   {"other", CLASS_OTHER},
    {"local", CLASS_OTHER},
};

/* Does the name fit the pattern of `length` characters, with * for any others? In time that does not explode: a star
 * takes in one more character each time that what is behind it does not fit. */
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

/* Marks what the word names; false: nothing. */
static bool word_mark(const char *word, size_t length, bool marked[CALL_COUNT])
{
    bool any = false;
    for (size_t c = 0; c < sizeof classes / sizeof classes[0]; c++) {
        if (strlen(classes[c].name) != length || strncasecmp(classes[c].name, word, length) != 0)
            continue;
        for (unsigned kind = 1; kind < CALL_COUNT; kind++)
            if (call_table[kind].class == classes[c].class)
                marked[kind] = true;
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
             "'%.*s' is neither a recorded MPI function nor a class (p2p, completion, coll, comm, rma, io, process, "
             "other); allowed are these, separated by commas, with - in front to leave out",
             length > 60 ? 60 : (int)length, word);
    return -1;
}

int filter_select(const char *text, bool left_out[CALL_COUNT], char *problem, size_t size)
{
    bool wanted[CALL_COUNT] = {false}, unwanted[CALL_COUNT] = {false}, only = false;
    memset(left_out, 0, CALL_COUNT * sizeof *left_out);
    for (const char *word = text; *word;) {
        size_t length = strcspn(word, ",");
        const char *next = word + length + (word[length] == ',');
        for (; length && isspace((unsigned char)*word); length--)
            word++;
        while (length && isspace((unsigned char)word[length - 1]))
            length--;
        bool minus = length && *word == '-';
        if (length && !word_mark(word + minus, length - minus, minus ? unwanted : wanted))
            return word_refuse(word, length, problem, size);
        only = only || (length && !minus);
        word = next;
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
