#define _GNU_SOURCE
#include "run/collectchild.h"

#include "base/processes.h"
#include "job/rundir.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LOOK_MS = 100 };

/* The result of the child, sent at its end. */
struct verdict {
    int result;
    struct collected sum;
    char problem[COLLECT_PROBLEM_BYTES];
};

static struct verdict verdict;
static int verdict_told = -1; /* where it is sent */

static void verdict_tell(void)
{
    verdict.result = verdict.problem[0] ? -1 : 0;
    for (size_t done = 0; verdict_told >= 0 && done < sizeof verdict;) {
        ssize_t n = write(verdict_told, (const char *)&verdict + done, sizeof verdict - done);
        if (n <= 0 && errno != EINTR)
            break;
        done += n > 0 ? (size_t)n : 0;
    }
    if (verdict_told >= 0)
        close(verdict_told);
    verdict_told = -1;
}

/* The verdict is sent as soon as the results are visible. */
__attribute__((noreturn)) static void child_run(const char *output, const struct collect_wish *wish, int told)
{
    struct collect_wish own = *wish;
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; nothing >= 0 && fd <= STDERR_FILENO; fd++) /* other processes wait for these to be closed */
        dup2(nothing, fd);
    setsid();
    verdict_told = told;
    run_dir_choice.totals = true; /* it moves sections */
    own.visible = verdict_tell;
    collect_output(output, &own, &verdict.sum, verdict.problem);
    verdict_tell();
    _exit(0);
}

/* Returns true if the child has sent its whole verdict. */
static bool verdict_await(pid_t pid, int told, int patience_ms)
{
    uint64_t progress = 0;
    size_t used = 0;
    for (int idle = 0; idle < 16 * patience_ms;) {
        struct pollfd ready = {.fd = told, .events = POLLIN};
        if (poll(&ready, 1, LOOK_MS) > 0) {
            ssize_t n = read(told, (char *)&verdict + used, sizeof verdict - used);
            if (n <= 0)
                return used == sizeof verdict;
            used += (size_t)n;
            continue;
        }
        uint64_t now = process_moved((uint32_t)pid);
        /* without a processor it says little of the directory: it has 16 times as long */
        idle = now != progress ? 0 : idle + (process_is_running((uint32_t)pid) ? LOOK_MS : 16 * LOOK_MS);
        progress = now;
    }
    return false;
}

enum collect_end collect_child(const char *output, const struct collect_wish *wish, int patience_ms,
                               struct collected *sum, char problem[COLLECT_PROBLEM_BYTES])
{
    int ends[2];
    pid_t pid = pipe2(ends, O_CLOEXEC) == 0 ? fork() : -1;
    if (pid < 0) /* without a separate process it may have to wait */
        return collect_output(output, wish, sum, problem) == 0 ? COLLECT_DONE : COLLECT_FAILED;
    if (pid == 0)
        child_run(output, wish, ends[1]);
    close(ends[1]);
    bool told = verdict_await(pid, ends[0], patience_ms);
    close(ends[0]);
    if (!told)
        return COLLECT_STUCK;
    waitpid(pid, NULL, WNOHANG); /* it may still wait for the disk */
    *sum = verdict.sum;
    memcpy(problem, verdict.problem, COLLECT_PROBLEM_BYTES);
    return verdict.result == 0 ? COLLECT_DONE : COLLECT_FAILED;
}
