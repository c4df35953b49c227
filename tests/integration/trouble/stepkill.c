/*
 * stepkill STEPS COMMAND...: runs a program until it raises SIGURG, then so many instructions of its main thread, and
 * kills it. 0: it was killed there; 1: it ended before; 77: it cannot be traced.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

static int finish(pid_t pid, int status)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, __WALL);
    return status;
}

int main(int argc, char *argv[])
{
    int status, marked = 0;
    if (argc < 3)
        return 64;
    long steps = atol(argv[1]);
    pid_t pid = fork();
    if (pid == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
            _exit(77);
        execvp(argv[2], argv + 2);
        _exit(127);
    }
    while (steps > 0) {
        if (waitpid(pid, &status, __WALL) < 0)
            return 1;
        if (!WIFSTOPPED(status))
            return WIFEXITED(status) && WEXITSTATUS(status) == 77 ? 77 : 1;
        int signal = WSTOPSIG(status);
        steps -= marked;
        marked = marked || signal == SIGURG;
        if (signal == SIGTRAP || signal == SIGURG)
            signal = 0;
        if (steps > 0 && ptrace(marked ? PTRACE_SINGLESTEP : PTRACE_CONT, pid, NULL, (void *)(long)signal) != 0)
            return finish(pid, 1);
    }
    return finish(pid, 0);
}
