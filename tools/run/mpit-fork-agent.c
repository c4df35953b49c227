/*
 * mpit-fork-agent: Open MPI's daemons run it on each node in place of the program, if mpirun cannot forward with -x
 * (src/preload/forkagent.h). It completes the environment and becomes the program.
 *
 *   mpit-fork-agent LD_PRELOAD=LIBRARY[:LIBRARY] [MPIT_NAME=VALUE]... -- PROGRAM [arguments]
 *
 * Values have %XX for characters that are special to shells. The libraries come before earlier preloads. A variable
 * that is already set stays as it is: mpirun -x wins.
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void decode(char *text)
{
    char *to = text;
    for (char *from = text; *from; from++) {
        unsigned byte;
        if (*from == '%' && sscanf(from + 1, "%2X", &byte) == 1 && from[1] && from[2]) {
            *to++ = (char)byte;
            from += 2;
        } else {
            *to++ = *from;
        }
    }
    *to = '\0';
}

static bool library_is_listed(const char *list, const char *library)
{
    size_t bytes = strlen(library);
    for (; *list; list += strspn(list, ": ")) {
        size_t word = strcspn(list, ": ");
        if (word == bytes && strncmp(list, library, bytes) == 0)
            return true;
        list += word;
    }
    return false;
}

static void library_check(const char *library)
{
    char host[HOST_NAME_MAX + 1] = "this host";
    if (access(library, R_OK) == 0)
        return;
    int reason = errno;
    gethostname(host, sizeof host - 1);
    errx(127, "%s on %s: %s; mpit must be at the same path on every node", library, host, strerror(reason));
}

static void preload_one(const char *library)
{
    const char *present = getenv("LD_PRELOAD");
    char *both;
    library_check(library);
    if (present && library_is_listed(present, library))
        return;
    if (asprintf(&both, "%s%s%s", library, present && *present ? ":" : "", present ? present : "") < 0 ||
        setenv("LD_PRELOAD", both, 1) != 0)
        err(126, "no memory");
    free(both);
}

/* `libraries` are paths with colons between them. They keep this order. */
static void preload(char *libraries)
{
    for (char *library; (library = strrchr(libraries, ':')); *library = '\0')
        preload_one(library + 1);
    preload_one(libraries);
}

/* Searches a name without a slash where Open MPI does: in the directories of --path and of PATH, and at last in the
 * working directory. */
static void program_search(char *words[])
{
    const char *const lists[] = {getenv("OMPI_exec_path"), getenv("PATH"), "."};
    if (strchr(words[0], '/')) {
        execv(words[0], words);
        return;
    }
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        for (const char *list = lists[i] ? lists[i] : ""; *list; list += strspn(list, ":")) {
            char path[PATH_MAX];
            size_t bytes = strcspn(list, ":");
            if (snprintf(path, sizeof path, "%.*s/%s", (int)bytes, list, words[0]) < PATH_MAX)
                execv(path, words);
            list += bytes;
        }
    }
}

int main(int argc, char *argv[])
{
    int at = 1;
    for (; at < argc && strcmp(argv[at], "--") != 0; at++) {
        char *equals = strchr(argv[at], '=');
        if (!equals)
            errx(126, "'%s' is not NAME=VALUE", argv[at]);
        *equals = '\0';
        decode(equals + 1);
        if (strcmp(argv[at], "LD_PRELOAD") == 0)
            preload(equals + 1);
        else if (setenv(argv[at], equals + 1, 0) != 0)
            err(126, "%s cannot be set", argv[at]);
    }
    if (at + 1 >= argc)
        errx(126,
             "no program is named. Only daemons of Open MPI run this program, for mpit-run; do not run it directly");
    program_search(argv + at + 1);
    int reason = errno;
    warn("cannot run %s", argv[at + 1]);
    return reason == ENOENT ? 127 : 126;
}
