#define _GNU_SOURCE
#include "run/launcher.h"

#include "base/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const launcher_names[] = {
    "mpirun",         "mpiexec",         "orterun",      "prterun",       "prun", "srun", "mpiexec.hydra",
    "mpirun.openmpi", "mpiexec.openmpi", "mpirun.mpich", "mpiexec.mpich", /* of Debian */
    "aprun",          "jsrun",           "ibrun",        "mpirun_rsh",    NULL};

/* Commands that run the rest of their own command line, unchanged. */
static const char *const prefix_names[] = {"env",    "timeout", "nice",   "nohup", "time", "taskset", "numactl",
                                           "stdbuf", "setsid",  "ionice", "chrt",  "sudo", "strace",  NULL};

static bool is_one_of(const char *const names[], const char *name)
{
    for (; *names; names++)
        if (strcmp(*names, name) == 0)
            return true;
    return false;
}

static int executable_check(const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return errno == EACCES ? EACCES : ENOENT;
    return S_ISREG(st.st_mode) && access(path, X_OK) == 0 ? 0 : EACCES;
}

int program_find(const char *word, char path[PATH_MAX])
{
    if (!*word)
        return ENOENT;
    if (strchr(word, '/'))
        return snprintf(path, PATH_MAX, "%s", word) < PATH_MAX ? executable_check(path) : ENOENT;
    const char *list = getenv("PATH");
    int result = ENOENT;
    for (list = list ? list : "/bin:/usr/bin"; *list;) {
        int bytes = (int)strcspn(list, ":");
        int length = snprintf(path, PATH_MAX, "%.*s%s%s", bytes, list, bytes ? "/" : "./", word);
        int answer = length < PATH_MAX ? executable_check(path) : ENOENT;
        if (answer == 0)
            return 0;
        struct stat st;
        if (answer == EACCES && stat(path, &st) == 0 && S_ISREG(st.st_mode))
            result = EACCES;
        list += bytes + (list[bytes] == ':');
    }
    return result;
}

bool launcher_named(const char *word)
{
    return is_one_of(launcher_names, path_base(word));
}

bool prefix_named(const char *word)
{
    return is_one_of(prefix_names, path_base(word));
}

bool shell_named(const char *word)
{
    static const char *const shells[] = {"sh", "bash", "dash", "ksh", "zsh", "csh", NULL};
    return is_one_of(shells, path_base(word));
}

bool launcher_begins(char *const words[])
{
    char path[PATH_MAX], real[PATH_MAX];
    size_t at = 0;
    if (prefix_named(words[0]))
        while (words[at + 1] && !launcher_named(words[at]))
            at++;
    return launcher_named(words[at]) ||
           (program_find(words[at], path) == 0 && realpath(path, real) && launcher_named(real));
}
