#include "absent.h"

#include "saying.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Without an MPI its error codes are not known. MPI_SUCCESS is 0, and this is an error in every MPI. */
enum { ABSENT_ERROR = 16 };

static int answer_no(int *flag)
{
    *flag = 0;
    return 0;
}

static int answer_version(int *version, int *subversion)
{
    *version = 3;
    *subversion = 1;
    return 0;
}

static int answer_library_version(char *text, int *bytes)
{
    static const char none[] = "no MPI library is loaded";
    memcpy(text, none, sizeof none);
    *bytes = sizeof none - 1;
    return 0;
}

static int answer_error(void)
{
    return ABSENT_ERROR;
}

/* For the libraries below MPI: a status or a pointer that is an error in each. */
static intptr_t answer_failure(void)
{
    return -1;
}

/* For functions of mpit's own: NULL, or nothing to report. */
static void *answer_nothing(void)
{
    return NULL;
}

static const struct {
    const char *name;
    void *function;
} answers[] = {{"MPI_Initialized", (void *)answer_no},
               {"MPI_Finalized", (void *)answer_no},
               {"MPI_Get_version", (void *)answer_version},
               {"MPI_Get_library_version", (void *)answer_library_version},
               {"mpi_collector_api", (void *)answer_nothing},
               {"ompt_start_tool", (void *)answer_nothing},
               {"mpit_instrument_interface", (void *)answer_nothing},
               {"mpit_monitor_interface", (void *)answer_nothing}};

void *absent_function(const char *name)
{
    char line[256];
    const char *plain = strncmp(name, "PMPI", 4) == 0 ? name + 1 : name;
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++)
        if (strcmp(plain, answers[i].name) == 0)
            return answers[i].function;
    if (strncmp(plain, "MPI", 3) != 0)
        return (void *)answer_failure;
    if (strncmp(plain, "MPI_T_", 6) != 0) {
        snprintf(line, sizeof line, "mpit: the program calls %s, which no library in the process defines", name);
        say_once(line);
    }
    return (void *)answer_error;
}
