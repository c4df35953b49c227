#define _GNU_SOURCE
#include "mcafile.h"

#include <err.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The value in a line "parameter = value"; NULL: it is another line. The line is changed. */
static char *line_value(char *line, const char *parameter)
{
    static const char blanks[] = " \t\r\n";
    line += strspn(line, blanks);
    size_t length = strlen(parameter);
    if (strncmp(line, parameter, length) != 0)
        return NULL;
    char *value = line + length;
    value += strspn(value, blanks);
    if (*value++ != '=')
        return NULL;
    value += strspn(value, blanks);
    size_t bytes = strlen(value);
    while (bytes && strchr(blanks, value[bytes - 1]))
        bytes--;
    if (bytes > 1 && (*value == '"' || *value == '\'') && value[bytes - 1] == *value) {
        value++;
        bytes -= 2;
    }
    value[bytes] = '\0';
    return value;
}

/* The last line that sets it. */
static char *file_value(const char *path, const char *parameter)
{
    struct stat st;
    char *found = NULL, *line = NULL;
    size_t room = 0;
    FILE *file = stat(path, &st) == 0 && S_ISREG(st.st_mode) ? fopen(path, "re") : NULL;
    while (file && getline(&line, &room, file) >= 0) {
        const char *value = line_value(line, parameter);
        if (!value)
            continue;
        free(found);
        if (!(found = strdup(value)))
            err(2, "no memory");
    }
    free(line);
    if (file)
        fclose(file);
    return found;
}

char *mca_file_value(const char *launcher, const char *parameter)
{
    char places[4][PATH_MAX] = {""}, real[PATH_MAX];
    const char *home = getenv("HOME"), *prefix = getenv("OPAL_PREFIX");
    char *value = NULL, *slash = realpath(launcher, real) ? strrchr(real, '/') : NULL;
    if (home)
        snprintf(places[0], PATH_MAX, "%.3900s/.openmpi/mca-params.conf", home);
    if (prefix)
        snprintf(places[1], PATH_MAX, "%.3900s/etc/openmpi-mca-params.conf", prefix);
    if (slash) /* from bin/mpirun */
        snprintf(places[2], PATH_MAX, "%.*s/../etc/openmpi-mca-params.conf",
                 slash - real < 3900 ? (int)(slash - real) : 0, real);
    snprintf(places[3], PATH_MAX, "/etc/openmpi/openmpi-mca-params.conf"); /* Debian's */
    for (size_t i = 0; !value && i < sizeof places / sizeof *places; i++)
        value = places[i][0] ? file_value(places[i], parameter) : NULL;
    return value;
}
