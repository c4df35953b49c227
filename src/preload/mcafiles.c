#include "mcafiles.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILES_PARAMETER "mca_base_param_files"
#define FILES_SYNONYM "mca_param_files"

static bool file_forwards(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    FILE *file = fd >= 0 && lseek(fd, 0, SEEK_CUR) == 0 ? fdopen(fd, "r") : NULL; /* a pipe is left for the launcher */
    char *line = NULL;
    size_t room = 0;
    bool found = false;
    while (file && !found && getline(&line, &room, file) >= 0) {
        line[strcspn(line, "#")] = '\0';
        found = strstr(line, "mca_base_env_list") || strstr(line, "LD_PRELOAD");
    }
    free(line);
    if (file)
        fclose(file);
    else if (fd >= 0)
        close(fd);
    return found;
}

/* For a list of files, separated by colons or commas. */
static bool list_forwards(const char *list)
{
    char *copy = list ? strdup(list) : NULL, *rest = copy;
    bool found = false;
    for (char *path; rest && !found && (path = strsep(&rest, ":,"));)
        found = *path && file_forwards(path);
    free(copy);
    return found;
}

/* For a file in a directory. `bytes` is the length of the directory's name. */
static bool directory_forwards(const char *directory, size_t bytes, const char *file)
{
    char path[PATH_MAX];
    return directory && snprintf(path, sizeof path, "%.*s%s", (int)bytes, directory, file) < PATH_MAX &&
           file_forwards(path);
}

/* The files that are read by default. */
static bool usual_forward(const char *launcher)
{
    const char *home = getenv("HOME"), *prefix = getenv("OPAL_PREFIX"), *slash = strrchr(launcher, '/');
    return directory_forwards(home, PATH_MAX, "/.openmpi/mca-params.conf") ||
           directory_forwards(prefix, PATH_MAX, "/etc/openmpi-mca-params.conf") ||
           directory_forwards(launcher, slash ? (size_t)(slash - launcher) : 0, "/../etc/openmpi-mca-params.conf") ||
           file_forwards("/etc/openmpi/openmpi-mca-params.conf"); /* of Debian */
}

bool mca_files_forward(char *argv[], const char *launcher)
{
    const char *asked = getenv("OMPI_MCA_" FILES_PARAMETER);
    asked = asked ? asked : getenv("OMPI_MCA_" FILES_SYNONYM);
    for (size_t i = 1; argv[i]; i++) {
        const char *option = argv[i - 1];
        option += option[0] == '-' && option[1] == '-';
        if ((strcmp(option, "-tune") == 0 || strcmp(option, "-am") == 0) && list_forwards(argv[i]))
            return true;
        if (strcmp(option, FILES_PARAMETER) == 0 || strcmp(option, FILES_SYNONYM) == 0)
            asked = argv[i];
    }
    return asked ? list_forwards(asked) : usual_forward(launcher);
}
