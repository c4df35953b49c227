#define _GNU_SOURCE
#include "run/mcafile.h"

#include "run/launcher.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FILES_PARAMETER "mca_base_param_files"
#define FILES_SYNONYM "mca_param_files"

static bool is_part_of_name(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Returns whether the line has it as a whole word, and not after a #. */
static bool line_names(char *line, const char *parameter)
{
    line[strcspn(line, "#")] = '\0';
    size_t bytes = strlen(parameter);
    for (const char *at = line; (at = strstr(at, parameter)); at += bytes)
        if ((at == line || !is_part_of_name(at[-1])) && !is_part_of_name(at[bytes]))
            return true;
    return false;
}

static bool file_names(const char *path, const char *parameter)
{
    struct stat st; /* a pipe is left for the launcher */
    FILE *file = stat(path, &st) == 0 && S_ISREG(st.st_mode) ? fopen(path, "re") : NULL;
    char *line = NULL;
    size_t room = 0;
    bool found = false;
    while (file && !found && getline(&line, &room, file) >= 0)
        found = line_names(line, parameter);
    free(line);
    if (file)
        fclose(file);
    return found;
}

/* Returns whether any file of a list, separated by colons or commas, names the parameter. */
static bool list_names(const char *list, const char *parameter)
{
    char *copy = list ? strdup(list) : NULL, *rest = copy;
    bool found = false;
    for (char *path; rest && !found && (path = strsep(&rest, ":,"));)
        found = *path && file_names(path, parameter);
    free(copy);
    return found;
}

/* The files that are read by default. */
static bool usual_names(const char *launcher, const char *parameter)
{
    static const char debian[] = "/etc/openmpi/openmpi-mca-params.conf";
    char path[PATH_MAX], found[PATH_MAX], real[PATH_MAX];
    const char *home = getenv("HOME"), *prefix = getenv("OPAL_PREFIX");
    if (home && snprintf(path, sizeof path, "%s/.openmpi/mca-params.conf", home) < PATH_MAX &&
        file_names(path, parameter))
        return true;
    if (prefix && snprintf(path, sizeof path, "%s/etc/openmpi-mca-params.conf", prefix) < PATH_MAX &&
        file_names(path, parameter))
        return true;
    if (program_find(launcher, found) == 0 && realpath(found, real)) { /* from bin/mpirun */
        int directory = (int)(path_name(real) - real);
        if (snprintf(path, sizeof path, "%.*s../etc/openmpi-mca-params.conf", directory, real) < PATH_MAX &&
            file_names(path, parameter))
            return true;
    }
    return file_names(debian, parameter);
}

bool mca_files_name(char *const words[], const char *parameter)
{
    const char *asked = getenv("OMPI_MCA_" FILES_PARAMETER);
    asked = asked ? asked : getenv("OMPI_MCA_" FILES_SYNONYM);
    for (size_t i = 1; words[i]; i++) {
        const char *option = words[i - 1];
        option += option[0] == '-' && option[1] == '-';
        if ((strcmp(option, "-tune") == 0 || strcmp(option, "-am") == 0) && list_names(words[i], parameter))
            return true;
        if (strcmp(words[i - 1], FILES_PARAMETER) == 0 || strcmp(words[i - 1], FILES_SYNONYM) == 0)
            asked = words[i];
    }
    return asked ? list_names(asked, parameter) : usual_names(words[0], parameter);
}
