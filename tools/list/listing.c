#include "list/listing.h"

#include "base/textbuffer.h"
#include "run/installation.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { COLUMNS = 100, INDENT = 4, NAME_COLUMNS = 34 };

/* The walker is an MPI program of one process. It must not record itself, and must not refuse to run as root. */
static void walker_environment_set(const char *library)
{
    const char *present = getenv("LD_PRELOAD");
    char *preload;
    if (library && asprintf(&preload, "%s%s%s", library, present && *present ? ":" : "", present ? present : "") > 0)
        setenv("LD_PRELOAD", preload, 1);
    unsetenv("MPIT_OUTPUT");
    unsetenv("MPIT_TRACE");
    if (geteuid() == 0) {
        setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
        setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
    }
}

static char *all_read(int fd, size_t *bytes)
{
    struct textbuffer text = {0};
    while (text_reserve(&text, 1 << 16)) {
        ssize_t got = TEMP_FAILURE_RETRY(read(fd, text.bytes + text.used, text.room - text.used));
        *bytes = text.used;
        if (got <= 0)
            return text.bytes;
        text.used += (size_t)got;
    }
    text_free(&text);
    return NULL;
}

/* Returns the output of the walker, or NULL with a reason if it failed. */
static char *walker_run(char *walker, const char *library, char **libraries, size_t *bytes, char error[512])
{
    int fds[2];
    size_t count = 0;
    while (libraries[count])
        count++;
    char **arguments = calloc(count + 2, sizeof *arguments);
    if (!arguments) {
        snprintf(error, 512, "no memory");
        return NULL;
    }
    arguments[0] = walker;
    memcpy(arguments + 1, libraries, count * sizeof *arguments);
    if (pipe2(fds, O_CLOEXEC) != 0) {
        snprintf(error, 512, "cannot make a pipe: %s", strerror(errno));
        free(arguments);
        return NULL;
    }
    pid_t pid = fork();
    if (pid == 0) {
        walker_environment_set(library);
        dup2(fds[1], STDOUT_FILENO);
        execv(walker, arguments);
        _exit(127);
    }
    free(arguments);
    close(fds[1]);
    char *text = pid < 0 ? NULL : all_read(fds[0], bytes);
    close(fds[0]);
    int status = -1;
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    if (text && status == 0)
        return text;
    free(text);
    if (pid > 0 && WIFSIGNALED(status))
        snprintf(error, 512, "%.400s was killed by signal %d", walker, WTERMSIG(status));
    else if (pid > 0)
        snprintf(error, 512, "%.400s failed (exit status %d)", walker, WEXITSTATUS(status));
    else
        snprintf(error, 512, "%.400s cannot be started", walker);
    return NULL;
}

json_t *listing_ask(enum mpi_abi abi, bool native, char **libraries, char error[512])
{
    char walker[PATH_MAX], library[PATH_MAX];
    if (!installed_walker(abi, walker) || (!native && !installed_library(abi, library))) {
        snprintf(error, 512,
                 "this mpit was built without %s, or its package mpit-%s is not installed: %.350s does not exist",
                 mpi_abi_title(abi), mpi_abi_name(abi), access(walker, X_OK) == 0 ? library : walker);
        return NULL;
    }
    if (!native && !installed_preload(library)) {
        snprintf(error, 512, "%.400s does not exist", library);
        return NULL;
    }
    size_t bytes = 0;
    char *text = walker_run(walker, native ? NULL : library, libraries, &bytes, error);
    json_error_t reason;
    json_t *listing = text ? json_loadb(text, bytes, 0, &reason) : NULL;
    if (text && !json_is_array(json_object_get(listing, "pvars"))) {
        snprintf(error, 512, "the output of %.300s is not valid: %.160s", walker, reason.text);
        json_decref(listing);
        listing = NULL;
    }
    free(text);
    return listing;
}

static const char *field(const json_t *variable, const char *name)
{
    const char *text = json_string_value(json_object_get(variable, name));
    return text ? text : "";
}

static size_t list_choose(json_t *listing, const char *kind, bool wanted, const char *pattern)
{
    json_t *list = json_object_get(listing, kind);
    if (!wanted) {
        json_object_del(listing, kind);
        return 0;
    }
    for (size_t i = json_array_size(list); i-- > 0;)
        if (pattern && fnmatch(pattern, field(json_array_get(list, i), "name"), FNM_CASEFOLD) != 0)
            json_array_remove(list, i);
    return json_array_size(list);
}

size_t listing_choose(json_t *listing, const struct listing_choice *choice)
{
    return list_choose(listing, "pvars", choice->pvars, choice->pattern) +
           list_choose(listing, "cvars", choice->cvars, choice->pattern);
}

/* Breaks lines at spaces. Tabs and line ends in native descriptions become spaces. */
static void wrapped_print(const char *text, FILE *out)
{
    size_t column = 0;
    for (;;) {
        text += strspn(text, " \t\r\n");
        size_t bytes = strcspn(text, " \t\r\n");
        if (!bytes)
            break;
        if (column && column + 1 + bytes > COLUMNS) {
            fputc('\n', out);
            column = 0;
        }
        column += (size_t)fprintf(out, "%*s%.*s", column ? 1 : INDENT, "", (int)bytes, text);
        text += bytes;
    }
    if (column)
        fputc('\n', out);
}

/* Names mpit, the MPI library, or the file that registered it. */
static const char *owner(const json_t *variable)
{
    const char *component = field(variable, "component");
    if (component[0])
        return component;
    return json_is_true(json_object_get(variable, "mpit")) ? "mpit" : "native";
}

static void pvar_print(const json_t *pvar, FILE *out)
{
    char count[24] = "-", flags[4];
    const json_t *number = json_object_get(pvar, "count");
    if (json_is_integer(number))
        snprintf(count, sizeof count, "%" JSON_INTEGER_FORMAT, json_integer_value(number));
    snprintf(flags, sizeof flags, "%c%c%c", json_is_true(json_object_get(pvar, "readonly")) ? 'r' : '-',
             json_is_true(json_object_get(pvar, "continuous")) ? 'c' : '-',
             json_is_true(json_object_get(pvar, "atomic")) ? 'a' : '-');
    fprintf(out, "%-*s %-13s %-18s %-10s %5s %s %s\n", NAME_COLUMNS, field(pvar, "name"), field(pvar, "class"),
            field(pvar, "type"), field(pvar, "bind"), count, flags, owner(pvar));
    wrapped_print(field(pvar, "description"), out);
}

static void cvar_print(const json_t *cvar, FILE *out)
{
    const json_t *value = json_object_get(cvar, "value");
    fprintf(out, "%-*s %-18s %-10s %-10s %s", NAME_COLUMNS, field(cvar, "name"), field(cvar, "type"),
            field(cvar, "bind"), field(cvar, "scope"), owner(cvar));
    if (json_is_integer(value))
        fprintf(out, " = %" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_string(value))
        fprintf(out, " = \"%s\"", json_string_value(value));
    fputc('\n', out);
    wrapped_print(field(cvar, "description"), out);
}

static size_t ours_count(const json_t *list)
{
    size_t ours = 0;
    for (size_t i = 0; i < json_array_size(list); i++)
        ours += json_is_true(json_object_get(json_array_get(list, i), "mpit"));
    return ours;
}

void listing_print(const json_t *listing, FILE *out)
{
    const json_t *pvars = json_object_get(listing, "pvars"), *cvars = json_object_get(listing, "cvars");
    fputs("# ", out);
    for (const char *at = field(listing, "mpi"); *at; at++) /* MPICH writes a tab */
        fputc(*at == '\t' ? ' ' : *at, out);
    fputc('\n', out);
    if (json_array_size(pvars)) {
        fprintf(out, "\n# %zu performance variables, %zu of them mpit's; flags: r read-only, c continuous, a atomic\n",
                json_array_size(pvars), ours_count(pvars));
        fprintf(out, "# %-*s %-13s %-18s %-10s %5s %s %s\n", NAME_COLUMNS - 2, "name", "class", "type", "bind", "count",
                "rca", "whose");
    }
    for (size_t i = 0; i < json_array_size(pvars); i++)
        pvar_print(json_array_get(pvars, i), out);
    if (json_array_size(cvars)) {
        fprintf(out, "\n# %zu control variables, %zu of them mpit's\n", json_array_size(cvars), ours_count(cvars));
        fprintf(out, "# %-*s %-18s %-10s %-10s %s\n", NAME_COLUMNS - 2, "name", "type", "bind", "scope", "whose");
    }
    for (size_t i = 0; i < json_array_size(cvars); i++)
        cvar_print(json_array_get(cvars, i), out);
}
