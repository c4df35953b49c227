#define _GNU_SOURCE
#include "run/launcher.h"

#include "run/answer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { VERSION_TIMEOUT_MS = 5000, VERSION_BYTES = 8192 };

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

const char *path_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
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
    return is_one_of(launcher_names, path_name(word));
}

bool prefix_named(const char *word)
{
    return is_one_of(prefix_names, path_name(word));
}

/* Returns the kind of launcher from the output of --version. */
static enum launcher_kind version_identify(const char *path)
{
    char text[VERSION_BYTES];
    program_answer((char *[]){(char *)path, "--version", NULL}, true, VERSION_TIMEOUT_MS, text, sizeof text);
    const char *version = strstr(text, "Open MPI) ");
    if (strstr(text, "PRTE") || strstr(text, "PRRTE") || (version && atoi(version + strlen("Open MPI) ")) >= 5))
        return LAUNCHER_PRRTE;
    if (strstr(text, "Open MPI") || strstr(text, "OpenRTE"))
        return LAUNCHER_OPENMPI;
    if (strstr(text, "HYDRA") || strstr(text, "Intel(R) MPI") || strstr(text, "MVAPICH") || strstr(text, "MPICH"))
        return LAUNCHER_HYDRA;
    return strcasestr(text, "slurm") ? LAUNCHER_SLURM : LAUNCHER_OTHER;
}

/* Another name may be a link to a usual one. A program whose name only begins like one may be the user's own. */
static enum launcher_kind identify(const char *path)
{
    char real[PATH_MAX];
    bool is = launcher_named(path) || (realpath(path, real) && launcher_named(real));
    return is ? version_identify(path) : LAUNCHER_NONE;
}

size_t launcher_word(char *const words[], enum launcher_kind *kind)
{
    char path[PATH_MAX];
    *kind = LAUNCHER_NONE;
    size_t at = 0;
    if (prefix_named(words[0]))
        while (words[at + 1] && !launcher_named(words[at]))
            at++;
    if (program_find(words[at], path) == 0)
        *kind = identify(path);
    return *kind == LAUNCHER_NONE ? 0 : at;
}
