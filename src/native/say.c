/* Output of messages and reports of mpit. It raises no signal in the program, and does not wait forever. */
#include "native.h"

#include "base/systemclock.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static struct stat output; /* the destination of lines, as the program found it */

/* Runs before all our constructors that may print. */
__attribute__((constructor(101))) static void output_note(void)
{
    if (fstat(STDERR_FILENO, &output) != 0)
        output = (struct stat){0};
}

static int64_t monotonic_ms(void)
{
    return (int64_t)(monotonic_ns() / 1000000);
}

/* Waits until a pipe or the like is read, but not too long. */
static int output_wait(int descriptor, int64_t until_ms)
{
    struct pollfd ready = {.fd = descriptor, .events = POLLOUT};
    for (;;) {
        int64_t rest = until_ms - monotonic_ms();
        int there = rest < 0 ? 0 : poll(&ready, 1, (int)rest);
        if (there >= 0 || errno != EINTR)
            return there > 0 ? 0 : there == 0 ? EAGAIN : errno;
    }
}

/* Returns how much the file takes. Exceeding the limit of a file's size would leave half a line. */
static int output_takes(int descriptor, const struct stat *st, size_t bytes)
{
    struct rlimit limit;
    if (!S_ISREG(st->st_mode) || getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return 0;
    off_t at = lseek(descriptor, 0, SEEK_CUR);
    uint64_t end = (uint64_t)(at > st->st_size ? at : st->st_size) + bytes;
    return end <= limit.rlim_cur ? 0 : EFBIG;
}

/* Writes in one piece if possible, so that lines of several processes in one file do not mix. Also tries to write
 * the rest, which returns the error. */
static int descriptor_write(int descriptor, bool waits, const char *text, size_t bytes, int wait_ms)
{
    int64_t until_ms = monotonic_ms() + wait_ms;
    for (size_t done = 0; done < bytes;) {
        int error = waits ? output_wait(descriptor, until_ms) : 0;
        if (error)
            return error;
        ssize_t written = write(descriptor, text + done, bytes - done);
        if (written > 0)
            done += (size_t)written;
        else if (written == 0)
            return EIO;
        else if (errno == EAGAIN && !waits)
            return EAGAIN;
        else if (errno != EINTR && errno != EAGAIN)
            return errno;
    }
    return 0;
}

/* A signal about the descriptor would end the program. */
int native_output(int descriptor, const char *text, size_t bytes, int wait_ms)
{
    sigset_t quiet, before, pending;
    struct stat st;
    int error = fstat(descriptor, &st) != 0 ? errno : output_takes(descriptor, &st, bytes);
    if (error)
        return error;
    sigemptyset(&quiet);
    sigaddset(&quiet, SIGPIPE);
    sigaddset(&quiet, SIGXFSZ);
    error = pthread_sigmask(SIG_BLOCK, &quiet, &before);
    if (error)
        return error;
    int cancel = PTHREAD_CANCEL_ENABLE;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel); /* poll and write are cancellation points */
    if (sigpending(&pending) != 0)
        sigemptyset(&pending);
    error = descriptor_write(descriptor, !S_ISREG(st.st_mode), text, bytes, wait_ms);
    int raised = error == EPIPE ? SIGPIPE : error == EFBIG ? SIGXFSZ : 0;
    if (raised && sigismember(&pending, raised) == 0) {
        sigemptyset(&quiet);
        sigaddset(&quiet, raised);
        sigtimedwait(&quiet, NULL, &(struct timespec){0, 0});
    }
    pthread_setcancelstate(cancel, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

/* Does not write if the descriptor's number belongs to another file by now, which may be any file of the program.
 * Does not wait for a reader of a line, either. */
static void line_write(const char *line, size_t bytes)
{
    enum { WAIT_MS = 50 };
    struct stat st;
    if (fstat(STDERR_FILENO, &st) == 0 && st.st_dev == output.st_dev && st.st_ino == output.st_ino)
        (void)native_output(STDERR_FILENO, line, bytes, WAIT_MS);
}

void native_say(const char *format, ...)
{
    char line[1024];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(line, sizeof line - 1, format, args);
    va_end(args);
    if (n < 0)
        return;
    if ((size_t)n > sizeof line - 2)
        n = sizeof line - 2;
    line[n] = '\n';
    line_write(line, (size_t)n + 1);
}
