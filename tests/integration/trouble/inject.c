/*
 * inject N FAULT REPORT COMMAND...: the Nth system call of a command, of all its threads and children, fails with the
 * error FAULT (a number), or its process is killed there (FAULT 0). N 0: none. Calls count after the command's execve.
 * REPORT gets how many there were. Exits as the command does (128 + its signal); 77: calls cannot be watched here.
 *
 * The kernel asks this process about each call of the command (seccomp, SECCOMP_RET_USER_NOTIF).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SKIPPED = 77, NOT_YET = -1, FAILED = -2 };

/* In the new process, which shares the table of descriptors until its execve. */
__attribute__((noreturn)) static void command_run(char *argv[], volatile int *listener)
{
    struct sock_filter ask = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
    struct sock_fprog program = {.len = 1, .filter = &ask};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    int fd = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
    *listener = fd >= 0 ? fd : FAILED;
    if (fd >= 0)
        execv(argv[0], argv);
    _exit(127);
}

/* Answers all questions. Returns how many calls there were after the execve. */
static long calls_answer(int listener, long wanted, int fault)
{
    long calls = -1;
    struct pollfd ready = {.fd = listener, .events = POLLIN};
    while (poll(&ready, 1, -1) >= 0 && (ready.revents & POLLIN)) {
        struct seccomp_notif ask = {.id = 0};
        struct seccomp_notif_resp answer = {.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
        if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &ask) != 0)
            continue; /* it was killed meanwhile */
        bool hit = ++calls == wanted && calls;
        if (hit && !fault)
            kill((pid_t)ask.pid, SIGKILL);
        if (hit && fault) {
            answer.flags = 0;
            answer.error = -fault;
        }
        answer.id = ask.id;
        ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
    }
    return calls;
}

int main(int argc, char *argv[])
{
    int status;
    if (argc < 5)
        return 64;
    volatile int *listener = mmap(NULL, sizeof *listener, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    *listener = NOT_YET;
    pid_t pid = (pid_t)syscall(SYS_clone, CLONE_FILES | SIGCHLD, NULL, NULL, NULL, NULL);
    if (pid == 0)
        command_run(argv + 4, listener);
    while (*listener == NOT_YET)
        sched_yield();
    if (pid < 0 || *listener == FAILED)
        return SKIPPED;
    long calls = calls_answer(*listener, atol(argv[1]), atoi(argv[2]));
    waitpid(pid, &status, 0);
    FILE *report = fopen(argv[3], "w");
    if (report)
        fprintf(report, "%ld\n", calls);
    if (!report || fclose(report) != 0)
        return 64;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
