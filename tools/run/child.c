#define _GNU_SOURCE
#include "run/child.h"

#include "waiting/postmortem.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static const int passed_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
enum { PASSED = sizeof passed_signals / sizeof *passed_signals };

static volatile sig_atomic_t child_pid; /* 0: none */

static void signal_pass_on(int signal, siginfo_t *info, void *context)
{
    (void)context;
    int saved = errno;
    pid_t child = (pid_t)child_pid;
    if (signal != SIGUSR1 && signal != SIGUSR2)
        postmortem_signal = signal;
    /* the terminal has already signaled its process group. timeout and setsid have their own */
    if (child > 0 && (info->si_code != SI_KERNEL || getpgid(child) != getpgrp()))
        kill(child, signal);
    errno = saved;
}

struct dispositions {
    struct sigaction signals[PASSED];
    struct sigaction child_signal;
    sigset_t mask;
};

/* Blocks the signals until the child is known, so that none is lost between the fork and the handler. */
static void child_signals_take(struct dispositions *before)
{
    sigset_t block;
    sigemptyset(&block);
    for (int i = 0; i < PASSED; i++)
        sigaddset(&block, passed_signals[i]);
    sigprocmask(SIG_BLOCK, &block, &before->mask);
    for (int i = 0; i < PASSED; i++) {
        struct sigaction action = {.sa_sigaction = signal_pass_on, .sa_flags = SA_SIGINFO | SA_RESTART};
        sigemptyset(&action.sa_mask);
        sigaction(passed_signals[i], NULL, &before->signals[i]);
        if (before->signals[i].sa_handler != SIG_IGN) /* nohup's SIGHUP stays ignored */
            sigaction(passed_signals[i], &action, NULL);
    }
    struct sigaction normal = {.sa_handler = SIG_DFL}; /* else there would be nothing to wait for */
    sigaction(SIGCHLD, &normal, &before->child_signal);
}

static void signals_give_back(const struct dispositions *before)
{
    for (int i = 0; i < PASSED; i++)
        sigaction(passed_signals[i], &before->signals[i], NULL);
    sigaction(SIGCHLD, &before->child_signal, NULL);
    sigprocmask(SIG_SETMASK, &before->mask, NULL);
}

static int child_wait(pid_t pid, int *signal)
{
    int status;
    siginfo_t ended;
    while (waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOWAIT) < 0 && errno == EINTR)
        continue;
    child_pid = 0; /* before another process can get its number */
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return 126;
    *signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    return *signal ? 128 + *signal : WEXITSTATUS(status);
}

void child_follow(int number)
{
    sigset_t one;
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    signal(number, SIG_DFL);
    sigemptyset(&one);
    sigaddset(&one, number);
    sigprocmask(SIG_UNBLOCK, &one, NULL);
    raise(number);
    _exit(128 + number);
}

int child_run(char *const words[], int *signal)
{
    *signal = 0;
    int failure[2]; /* gets the reason of a failed exec, or is closed by a good one */
    if (pipe2(failure, O_CLOEXEC) != 0) {
        warn("cannot make a pipe");
        return 126;
    }
    struct dispositions before;
    child_signals_take(&before);
    pid_t pid = fork();
    if (pid == 0) {
        signals_give_back(&before);
        execvp(words[0], words);
        int reason = errno;
        ssize_t sent = write(failure[1], &reason, sizeof reason);
        _exit(sent == (ssize_t)sizeof reason ? 127 : 126);
    }
    close(failure[1]);
    if (pid < 0) {
        warn("cannot start a process");
        sigprocmask(SIG_SETMASK, &before.mask, NULL);
        close(failure[0]);
        return 126;
    }
    child_pid = (sig_atomic_t)pid;
    sigprocmask(SIG_SETMASK, &before.mask, NULL);
    int reason = 0;
    ssize_t got;
    while ((got = read(failure[0], &reason, sizeof reason)) < 0 && errno == EINTR)
        continue;
    close(failure[0]);
    int status = child_wait(pid, signal);
    signals_give_back(&before);
    if (got == (ssize_t)sizeof reason) {
        warnx("cannot run '%s': %s", words[0], strerror(reason));
        return reason == ENOENT ? 127 : 126;
    }
    return status;
}
