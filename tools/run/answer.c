#define _GNU_SOURCE
#include "run/answer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void answer_read(int fd, long timeout_ms, char *text, size_t size)
{
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    size_t used = 0;
    while (used + 1 < size) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        long left = timeout_ms - (now.tv_sec - begin.tv_sec) * 1000 - (now.tv_nsec - begin.tv_nsec) / 1000000;
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        if (left <= 0 || poll(&wait, 1, (int)left) <= 0)
            break;
        ssize_t got = read(fd, text + used, size - used - 1);
        if (got <= 0)
            break;
        used += (size_t)got;
    }
    text[used] = '\0';
}

void program_answer(char *const words[], bool errors, long timeout_ms, char *text, size_t size)
{
    int pipe_fds[2];
    text[0] = '\0';
    if (pipe2(pipe_fds, O_CLOEXEC) != 0)
        return;
    pid_t child = fork();
    if (child == 0) {
        int nothing = open("/dev/null", O_RDWR);
        setpgid(0, 0); /* so that the processes that it starts end with it */
        dup2(nothing, STDIN_FILENO);
        dup2(pipe_fds[1], STDOUT_FILENO);
        dup2(errors ? pipe_fds[1] : nothing, STDERR_FILENO);
        unsetenv("LD_PRELOAD");
        unsetenv("LD_AUDIT");
        execv(words[0], words);
        _exit(127);
    }
    close(pipe_fds[1]);
    if (child > 0) {
        setpgid(child, child);
        answer_read(pipe_fds[0], timeout_ms, text, size);
        kill(-child, SIGKILL); /* its answer has been read, or it has none */
        while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
            continue;
    }
    close(pipe_fds[0]);
}
