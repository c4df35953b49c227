#include "saying.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static bool is_first(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID",
                                        "FLUX_TASK_RANK"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (getenv(names[i]))
            return strcmp(getenv(names[i]), "0") == 0;
    return true;
}

/* A pipe without a reader, or a file that may not grow, would raise a signal. */
void say_once(const char *line)
{
    static bool said;
    sigset_t quiet, before, pending;
    if (getauxval(AT_SECURE) || !is_first() || __atomic_exchange_n(&said, true, __ATOMIC_RELAXED))
        return;
    sigemptyset(&quiet);
    sigaddset(&quiet, SIGPIPE);
    sigaddset(&quiet, SIGXFSZ);
    sigemptyset(&pending);
    if (sigprocmask(SIG_BLOCK, &quiet, &before) != 0)
        return;
    sigpending(&pending);
    struct iovec parts[] = {{(void *)line, strlen(line)}, {(void *)"\n", 1}};
    bool written = writev(STDERR_FILENO, parts, 2) >= 0;
    for (int number = SIGPIPE; !written; number = SIGXFSZ) {
        sigemptyset(&quiet);
        sigaddset(&quiet, number);
        if (!sigismember(&pending, number))
            sigtimedwait(&quiet, NULL, &(struct timespec){0, 0});
        if (number == SIGXFSZ)
            break;
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
}
