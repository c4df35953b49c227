#define _GNU_SOURCE
#include "recorder/collectstart.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { STACK_BYTES = 64 << 10, DESCRIPTORS_LEAST = 3 };

#ifndef MPIT_BINDIR_FROM_LIBDIR
#define MPIT_BINDIR_FROM_LIBDIR "../bin"
#endif

struct collector {
    char path[4096];
    const char *const *words;
    char **environment;
    int told; /* the descriptor of its output */
};

/* It is in the directory of the library. */
static bool collector_find(char path[4096])
{
    Dl_info own;
    if (!dladdr((const void *)(uintptr_t)collector_find, &own) || !own.dli_fname)
        return false;
    const char *slash = strrchr(own.dli_fname, '/');
    int directory = slash ? (int)(slash - own.dli_fname) : 1;
    static const char *const places[] = {MPIT_BINDIR_FROM_LIBDIR, "../bin", "../../bin"};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        int n = snprintf(path, 4096, "%.*s/%s/mpit-collect", directory, slash ? own.dli_fname : ".", places[i]);
        if (n > 0 && n < 4096 && access(path, X_OK) == 0)
            return true;
    }
    return false;
}

/* Returns the program's environment, without the variables that would load a recorder into mpit-collect. */
static char **environment_make(void)
{
    size_t count = 0, used = 0;
    while (environ && environ[count])
        count++;
    char **copy = calloc(count + 1, sizeof *copy);
    for (size_t i = 0; copy && i < count; i++)
        if (strncmp(environ[i], "LD_PRELOAD=", 11) != 0)
            copy[used++] = environ[i];
    return copy;
}

enum { CALL_CLOSE_RANGE = 436 }; /* of all machines; headers of older systems lack it */

/* Runs in the child, which shares the memory until it has become mpit-collect. It keeps none of the program's
 * descriptors, because a launcher waits for the end of its pipes. */
static int collector_become(void *argument)
{
    const struct collector *collector = argument;
    /* above the targets: dup2 of a descriptor to itself would leave it to be closed */
    int told = fcntl(collector->told, F_DUPFD_CLOEXEC, DESCRIPTORS_LEAST);
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC), high = fcntl(nothing, F_DUPFD_CLOEXEC, DESCRIPTORS_LEAST);
    if (setsid() < 0 || high < 0 || told < 0 || dup2(high, STDIN_FILENO) < 0 || dup2(told, STDOUT_FILENO) < 0 ||
        dup2(told, STDERR_FILENO) < 0)
        _exit(127);
    if (syscall(CALL_CLOSE_RANGE, DESCRIPTORS_LEAST, ~0U, 0) != 0)
        for (int fd = DESCRIPTORS_LEAST; fd < 65536; fd++)
            close(fd);
    execve(collector->path, (char *const *)(uintptr_t)collector->words, collector->environment);
    _exit(127);
}

/* Starts it so that the program never learns of it: it sends no signal when it ends, and wait() does not find it.
 * Returns its number, or -1. */
static pid_t collector_clone(struct collector *collector)
{
    sigset_t all, before;
    char *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED)
        return -1;
    sigfillset(&all);
    sigemptyset(&before);
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, _NSIG / 8); /* no handler may run in the shared memory */
    pid_t pid = clone(collector_become, stack + STACK_BYTES, CLONE_VM | CLONE_VFORK, collector);
    int error = errno;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, _NSIG / 8);
    munmap(stack, STACK_BYTES);
    errno = error;
    return pid;
}

pid_t collect_start(const char *const words[], int told)
{
    struct collector collector = {.words = words, .told = told};
    if (!collector_find(collector.path)) {
        errno = ENOENT;
        return -1;
    }
    collector.environment = environment_make();
    if (!collector.environment)
        return -1;
    pid_t pid = collector_clone(&collector);
    int error = errno;
    free(collector.environment);
    errno = error;
    return pid;
}
