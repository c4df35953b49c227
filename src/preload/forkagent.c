/*
 * Takes mpit to other nodes if a script starts Open MPI's mpirun. There mpit-run cannot add -x to the launcher's
 * command line.
 *
 *   mpit-run    MPIT_FORK_AGENT=.../mpit-fork-agent, LD_PRELOAD, MPIT_...
 *   script
 *   mpirun      this library is loaded into it: OMPI_MCA_orte_fork_agent = "AGENT LD_PRELOAD=... MPIT_...=... --"
 *   orted       gets that parameter from mpirun, as all parameters, and starts "AGENT ... -- program" on its node
 *   program     the agent executes it after it has completed the environment
 *
 * The launcher's other ways to forward variables do not work. It refuses -x of the user together with
 * mca_base_env_list. A list set in addition to a file of --tune replaces the file's list.
 *
 * PRRTE, the launcher of Open MPI 5 and later, has no such agent. It gets the list, if the user forwards nothing.
 */
#define _GNU_SOURCE
#include "forkagent.h"
#include "site/setting.h"

#include <ctype.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PARAMETER "orte_fork_agent"
#define LIST "mca_base_env_list"
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

/* For PRRTE, which refuses the list beside -x. */
static void list_set(int argc, char *argv[])
{
    char names[WORDS_BYTES] = "LD_PRELOAD", name[NAME_BYTES];
    size_t used = strlen(names);
    if (getenv("OMPI_MCA_" LIST))
        return;
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "-x") == 0 || strcmp(argv[i], LIST) == 0)
            return;
    for (char **variable = environ; *variable; variable++)
        if (variable_of_ours(*variable, name))
            used += (size_t)snprintf(names + used, used < sizeof names ? sizeof names - used : 0, ";%s", name);
    if (used < sizeof names)
        setenv("OMPI_MCA_" LIST, names, 1);
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

static bool agent_set(const char *agent, const char *preload, int argc, char *argv[])
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

void launcher_prepare(int argc, char *argv[], const char *here)
{
    const char *samples = setting("MPIT_SAMPLE_HZ");
    char preload[2 * PATH_MAX + 64];
    snprintf(preload, sizeof preload, "%s%s%slibmpit.so", samples ? here : "", samples ? "libmpit-sampler.so:" : "",
             here);
    const char *agent = getenv("MPIT_FORK_AGENT");
    char path[4096];
    ssize_t bytes = agent && *agent ? readlink("/proc/self/exe", path, sizeof path - 1) : -1;
    if (bytes <= 0)
        return;
    path[bytes] = '\0';
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    if (strcmp(name, "orterun") == 0)
        agent_set(agent, preload, argc, argv);
    else if (strcmp(name, "prte") == 0 || strcmp(name, "prterun") == 0) /* the latter may be a link to the former */
        list_set(argc, argv);
}
