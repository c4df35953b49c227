#include "forkagent.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PARAMETER "orte_fork_agent"
enum { NAME_BYTES = 64, WORDS_BYTES = 16384 }; /* limit for the command line to another node */

static bool is_plain(char c)
{
    return isalnum((unsigned char)c) || (c && strchr("_./:,+-=@", c));
}

/*
 * Adds a space and the word. Characters that a remote shell or the launcher could interpret become %XX. Returns false
 * without room.
 */
static bool word_add(char words[WORDS_BYTES], const char *name, const char *value)
{
    size_t used = strlen(words);
    const char *const parts[] = {" ", name, "=", value};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        for (const char *c = parts[i]; *c; c++) {
            if (used + 4 > WORDS_BYTES)
                return false;
            used += (size_t)sprintf(words + used, is_plain(*c) || i == 0 ? "%c" : "%%%02X", (unsigned char)*c);
        }
    }
    return true;
}

/* Returns the value if a string of the environment sets a variable that mpit needs on other nodes, and writes its name.
 * NULL: it does not. */
static const char *variable_of_ours(const char *variable, char name[NAME_BYTES])
{
    const char *equals = strchr(variable, '=');
    if (!equals || (strncmp(variable, "MPIT_", 5) != 0 && strncmp(variable, "ASAN_OPTIONS=", 13) != 0))
        return NULL;
    bool fits = snprintf(name, NAME_BYTES, "%.*s", (int)(equals - variable), variable) < NAME_BYTES;
    return fits ? equals + 1 : NULL;
}

static bool fork_variables_add(char words[WORDS_BYTES])
{
    char name[NAME_BYTES];
    for (char **variable = environ; *variable; variable++) {
        const char *value = variable_of_ours(*variable, name);
        if (value && !word_add(words, name, value))
            return false;
    }
    return true;
}

/* The user's own agent runs the program after ours. With a launcher above this one ours may be there already. */
static bool agent_of_user_add(char words[WORDS_BYTES], const char *agent)
{
    const char *theirs = getenv("OMPI_MCA_" PARAMETER), *behind = theirs;
    if (theirs && strncmp(theirs, agent, strlen(agent)) == 0) {
        behind = strstr(theirs, " -- ");
        behind = behind ? behind + 4 : NULL;
    }
    size_t used = strlen(words);
    return snprintf(words + used, WORDS_BYTES - used, " --%s%s", behind ? " " : "", behind ? behind : "") <
           (int)(WORDS_BYTES - used);
}

bool agent_set(const char *agent, const char *preload, int argc, char *argv[])
{
    char words[WORDS_BYTES];
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], PARAMETER) == 0) /* it would override the environment */
            return false;
    for (const char *c = agent; *c; c++)
        if (!is_plain(*c))
            return false;
    return snprintf(words, sizeof words, "%s", agent) < (int)sizeof words && word_add(words, "LD_PRELOAD", preload) &&
           fork_variables_add(words) && agent_of_user_add(words, agent) && setenv("OMPI_MCA_" PARAMETER, words, 1) == 0;
}
