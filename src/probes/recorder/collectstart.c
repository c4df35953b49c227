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
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { STACK_BYTES = 64 << 10, DESCRIPTORS_LEAST = 3 };

#ifndef MPIT_BINDIR_FROM_LIBDIR
#define MPIT_BINDIR_FROM_LIBDIR "../bin"
#endif

/* As clone, which the thread sanitizer takes for a fork: then it ignores what this thread locks. */
int __clone(int (*function)(void *), void *stack, int flags, void *argument, ...);

/* For the two processes that are made. It is in shared memory, because one of them may have a memory of its own. */
struct collector {
    char path[4096];
    const char *const *words;
    int told;  /* the descriptor of its output */
    pid_t pid; /* of mpit-collect. 0: it does not exist yet */
    int error;
    _Alignas(16) char stacks[2][STACK_BYTES];
    char *environment[]; /* the program's, without what would load a recorder into mpit-collect */
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

enum { CALL_CLOSE_RANGE = 436 }; /* of all machines; headers of older systems lack it */

static void descriptors_close(unsigned from)
{
    if (syscall(CALL_CLOSE_RANGE, from, ~0U, 0) != 0)
        for (unsigned fd = from; fd < 65536; fd++)
            close((int)fd);
}

/* Runs in a child that shares the memory until it has become mpit-collect. It keeps none of the program's
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
    descriptors_close(DESCRIPTORS_LEAST);
    execve(collector->path, (char *const *)(uintptr_t)collector->words, (char *const *)collector->environment);
    _exit(127);
}

/* The parent of mpit-collect in place of the program. */
static int parent_become(void *argument)
{
    struct collector *collector = argument;
    pid_t pid = __clone(collector_become, collector->stacks + 1, CLONE_VM | CLONE_VFORK | SIGCHLD, collector);
    collector->error = errno;
    __atomic_store_n(&collector->pid, pid, __ATOMIC_RELEASE);
    return 0;
}

/* The same where orphans come to the program. It stays until mpit-collect ends, or the program. */
static int parent_stay(void *argument)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    parent_become(argument);
    descriptors_close(0);
    waitpid(-1, NULL, 0);
    return 0;
}

static bool orphans_come(void)
{
    int reaper = 0;
    return getpid() == 1 || (prctl(PR_GET_CHILD_SUBREAPER, &reaper) == 0 && reaper);
}

/*
 * The program must never learn of mpit-collect. A child that executes a program has SIGCHLD as its signal again, and
 * wait() finds it. So the child is a parent for mpit-collect, and executes nothing: wait() does not find it, and no
 * signal comes when it ends. It ends at once, and mpit-collect belongs to the system.
 */
static void collector_clone(struct collector *collector)
{
    const struct timespec moment = {.tv_nsec = 50000};
    sigset_t all, before;
    bool stays = orphans_come();
    sigfillset(&all);
    sigemptyset(&before);
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, _NSIG / 8); /* no handler may run in the shared memory */
    collector->error = ECHILD;                                          /* if the child is killed */
    pid_t parent = stays ? __clone(parent_stay, collector->stacks + 2, 0, collector)
                         : __clone(parent_become, collector->stacks + 2, CLONE_VM | CLONE_VFORK, collector);
    collector->error = parent < 0 ? errno : collector->error;
    while (parent > 0 && waitpid(parent, NULL, __WCLONE | (stays ? WNOHANG : 0)) == 0 &&
           !__atomic_load_n(&collector->pid, __ATOMIC_ACQUIRE))
        nanosleep(&moment, NULL);
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, _NSIG / 8);
}

pid_t collect_start(const char *const words[], int told)
{
    size_t count = 0, used = 0;
    while (environ && environ[count])
        count++;
    size_t bytes = sizeof(struct collector) + (count + 1) * sizeof *environ;
    struct collector *collector = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (collector == MAP_FAILED)
        return -1;
    collector->words = words;
    collector->told = told;
    for (size_t i = 0; i < count; i++)
        if (strncmp(environ[i], "LD_PRELOAD=", 11) != 0)
            collector->environment[used++] = environ[i];
    collector->error = ENOENT;
    if (collector_find(collector->path))
        collector_clone(collector);
    pid_t pid = collector->pid > 0 ? collector->pid : -1;
    int error = collector->error;
    munmap(collector, bytes);
    errno = error;
    return pid;
}
