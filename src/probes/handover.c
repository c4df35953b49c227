#define _GNU_SOURCE
#include "handover.h"

#include "book.h"
#include "cancel.h"
#include "native.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WAIT_MS = 1000, STACK_BYTES = 64 << 10, TEXT_BYTES = 512, DESCRIPTORS_LEAST = 3 };

#ifndef MPIT_BINDIR_FROM_LIBDIR
#define MPIT_BINDIR_FROM_LIBDIR "../bin"
#endif

/* ---- is it the last? --------------------------------------------------------------------------------------------- */

/* Of another PID namespace nothing is known: it is taken to be there. A zombie has no program. */
static bool process_is_there(const struct run_header *header)
{
    char path[64], program;
    if (header->pid_namespace != book.run.header->pid_namespace)
        return true;
    snprintf(path, sizeof path, "/proc/%" PRIu32 "/exe", header->pid);
    return readlink(path, &program, 1) > 0 || errno == EACCES;
}

static bool is_at_work(int directory, const char *name)
{
    struct run_header header;
    int fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    bool read = fd >= 0 && pread(fd, &header, sizeof header, 0) == (ssize_t)sizeof header;
    if (fd >= 0)
        close(fd);
    bool other = read && header.pid != book.run.header->pid;
    bool mine = other && (header.job == book.run.header->job || header.world_size == 0);
    return mine && header.phase != RUN_FINALIZED && header.phase != RUN_EXITED && process_is_there(&header);
}

/* Each process marks its own end before it looks, so the last one to mark finds all others ended. */
static bool is_last(const char *spool)
{
    bool found = false;
    size_t suffix = strlen(RUN_FILE_SUFFIX);
    DIR *directory = opendir(spool);
    for (struct dirent *entry; !found && directory && (entry = readdir(directory));) {
        size_t length = strlen(entry->d_name);
        found = length > suffix && strcmp(entry->d_name + length - suffix, RUN_FILE_SUFFIX) == 0 &&
                is_at_work(dirfd(directory), entry->d_name);
    }
    if (directory)
        closedir(directory);
    return directory && !found;
}

/* ---- mpit-collect ------------------------------------------------------------------------------------------------ */

struct collector {
    char path[4096];
    char *words[6];
    char **environment;
    int told; /* where its words go */
};

/* It lies beside the library. */
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

/* The program's environment without what would load a recorder into mpit-collect. */
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

/* In the child, which shares the memory until it has become mpit-collect. It keeps none of the program's descriptors:
 * a launcher waits for the end of its pipes. */
static int collector_become(void *argument)
{
    const struct collector *collector = argument;
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (setsid() < 0 || nothing < 0 || dup2(nothing, STDIN_FILENO) < 0 || dup2(collector->told, STDOUT_FILENO) < 0 ||
        dup2(collector->told, STDERR_FILENO) < 0)
        _exit(127);
    if (syscall(SYS_close_range, DESCRIPTORS_LEAST, ~0U, 0) != 0)
        for (int fd = DESCRIPTORS_LEAST; fd < 65536; fd++)
            close(fd);
    execve(collector->path, collector->words, collector->environment);
    _exit(127);
}

/* Starts it so that the program never learns of it: it sends no signal when it ends, and wait() does not find it.
 * Returns its number, or -1. */
static pid_t collector_start(struct collector *collector)
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

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* What mpit-collect has to say, until it ends. False: it has not ended in time. */
static bool collector_await(int told, char text[TEXT_BYTES])
{
    int64_t until_ms = now_ms() + WAIT_MS;
    size_t used = 0;
    text[0] = '\0';
    for (int64_t rest; (rest = until_ms - now_ms()) > 0;) {
        char dropped[TEXT_BYTES];
        struct pollfd ready = {.fd = told, .events = POLLIN};
        if (poll(&ready, 1, (int)rest) <= 0)
            continue; /* a signal, or the end of the time */
        bool room = used < TEXT_BYTES - 1;
        ssize_t n = read(told, room ? text + used : dropped, room ? TEXT_BYTES - 1 - used : sizeof dropped);
        if (n <= 0)
            return true;
        used += room ? (size_t)n : 0;
        text[used] = '\0';
    }
    return false;
}

static void collector_run(const char *spool, const char *output)
{
    struct collector collector;
    char text[TEXT_BYTES] = "", job[32];
    int pipe_ends[2] = {-1, -1};
    snprintf(job, sizeof job, "%016" PRIx64, book.run.header->job);
    if (!collector_find(collector.path) || !(collector.environment = environment_make())) {
        native_say("mpit: mpit-collect is not beside this library: what was recorded stays in %.200s", spool);
        return;
    }
    char *words[] = {"mpit-collect", "--job", job, (char *)(uintptr_t)output, NULL};
    memcpy(collector.words, words, sizeof words);
    pid_t pid = -1;
    if (pipe2(pipe_ends, O_CLOEXEC) == 0) {
        collector.told = pipe_ends[1];
        pid = collector_start(&collector);
        close(pipe_ends[1]);
    }
    free(collector.environment);
    if (pid < 0)
        native_say("mpit: mpit-collect cannot be started (%s): what was recorded stays in %.200s; mpit-collect %.200s "
                   "brings it there",
                   strerror(errno), spool, output);
    else if (collector_await(pipe_ends[0], text))
        waitpid(pid, NULL, __WCLONE);
    else
        native_say("mpit: the output directory %.200s does not answer: results come later, or stay in %.200s", output,
                   spool);
    close(pipe_ends[0]);
    text[strcspn(text, "\n")] = '\0';
    if (text[0])
        native_say("%s", text);
}

void handover_end(const char *spool, const char *output)
{
    if (!spool[0] || !book.run.header || book.run.detached)
        return;
    int cancel = cancel_hold(), error = errno;
    if (is_last(spool))
        collector_run(spool, output);
    cancel_release(cancel);
    errno = error;
}
