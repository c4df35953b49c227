#define _GNU_SOURCE
#include "run/launcher.h"

#include "run/answer.h"
#include "run/elfkind.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { VERSION_TIMEOUT_MS = 5000, VERSION_BYTES = 8192 };

static const char *const launcher_names[] = {"mpirun",        "mpiexec", "orterun", "prterun", "prun",       "srun",
                                             "mpiexec.hydra", "aprun",   "jsrun",   "ibrun",   "mpirun_rsh", NULL};

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

/* Names of alternatives, in Debian and elsewhere: mpirun.openmpi, mpiexec-mpich */
static bool alternative_named(const char *name)
{
    return (strncmp(name, "mpirun", 6) == 0 && (name[6] == '.' || name[6] == '-')) ||
           (strncmp(name, "mpiexec", 7) == 0 && (name[7] == '.' || name[7] == '-'));
}

bool launcher_named(const char *word)
{
    const char *name = path_name(word);
    return is_one_of(launcher_names, name) || alternative_named(name);
}

/* Returns whether a line of a script reads single words or chooses its program. Only the script knows the result
 * then. */
static bool line_looks(const char *line)
{
    static const char *const looks[] = {"$1", "$2",    "${1}",   "${1:",  "${2",    "$#",
                                        "$*", "shift", "getopt", "PATH=", "module "};
    for (size_t i = 0; i < sizeof looks / sizeof *looks; i++)
        if (strstr(line, looks[i]))
            return true;
    return false;
}

/* Finds a line that passes all words to a launcher, and no others: [exec] mpirun.mpich "$@". Writes its path, or "".
 * Changes the line. */
static void line_hands_on(char *line, char launcher[PATH_MAX])
{
    static const char blanks[] = " \t\n";
    char *rest;
    const char *word = strtok_r(line, blanks, &rest);
    if (word && strcmp(word, "exec") == 0)
        word = strtok_r(NULL, blanks, &rest);
    const char *all = word ? strtok_r(NULL, blanks, &rest) : NULL;
    bool hands_on =
        all && (strcmp(all, "\"$@\"") == 0 || strcmp(all, "${1+\"$@\"}") == 0) && !strtok_r(NULL, blanks, &rest);
    if (!hands_on || !launcher_named(word) || program_find(word, launcher) != 0)
        launcher[0] = '\0';
}

/* For a script, writes the launcher that gets all its words, or "". Returns false if it is not a script. */
static bool script_read(const char *path, char launcher[PATH_MAX])
{
    FILE *file = fopen(path, "re");
    char *line = NULL, found[PATH_MAX];
    size_t room = 0;
    bool looks = false, is = file && getline(&line, &room, file) > 1 && strncmp(line, "#!", 2) == 0;
    launcher[0] = '\0';
    while (is && getline(&line, &room, file) >= 0) {
        looks = looks || line_looks(line);
        line_hands_on(line, found);
        looks = looks || (found[0] && launcher[0] && strcmp(found, launcher) != 0); /* one of several */
        if (found[0])
            memcpy(launcher, found, PATH_MAX);
    }
    if (looks)
        launcher[0] = '\0';
    free(line);
    if (file)
        fclose(file);
    return is;
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

/* `scripts` is the number of scripts that may start one another. */
static enum launcher_kind identify(const char *path, int scripts)
{
    struct elf_kind kind;
    char launcher[PATH_MAX];
    const char *name = path_name(path);
    bool elf = elf_kind_read(&kind, path) == 0, alternative = !is_one_of(launcher_names, name);
    if (elf && (kind.openmpi_launcher || kind.prrte_launcher))
        return kind.prrte_launcher ? LAUNCHER_PRRTE : LAUNCHER_OPENMPI;
    if (!launcher_named(path) || (elf && alternative && kind.library[0]))
        return LAUNCHER_NONE;
    if (elf || !alternative || !script_read(path, launcher))
        return version_identify(path);
    return launcher[0] && scripts > 0 && strcmp(launcher, path) != 0 ? identify(launcher, scripts - 1) : LAUNCHER_NONE;
}

enum launcher_kind launcher_identify(const char *path)
{
    return identify(path, 4);
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
        *kind = launcher_identify(path);
    return *kind == LAUNCHER_NONE ? 0 : at;
}
