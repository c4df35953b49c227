/*
 * Windows where something is in their way: each must leave the program as it is. One process, one mode:
 *
 *   here FILE      forks of forks, cancelled threads, outputs that take nothing, periods and words that make no sense
 *   renew          the function opens another window for each that ends
 *   late           another thread opens windows while MPI_Finalize ends one
 *   owned          MPI_Finalize while a window's function has ended that window, and has not returned
 */
#define _GNU_SOURCE
#include "monitorbook.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TIMES = 200, PATIENCE_MS = 30000 };

int rank, failures;
static const char *path;

#define LOAD(flag) __atomic_load_n(&(flag), __ATOMIC_ACQUIRE)
#define STORE(flag, value) __atomic_store_n(&(flag), value, __ATOMIC_RELEASE)

static bool comes(const int *flag)
{
    for (int ms = 0; ms < PATIENCE_MS && !LOAD(*flag); ms++)
        usleep(1000);
    return LOAD(*flag);
}

static void count(const MPIX_Monitor_report *report, void *own)
{
    (void)report;
    __atomic_add_fetch((int *)own, 1, __ATOMIC_ACQ_REL);
}

/* A window works. */
static void works(void)
{
    int reports = 0;
    MPIX_Monitorhandle handle = MPIX_MONITORHANDLE_INIT;
    MPIX_Monitor_request request;
    handle.own = &reports;
    EXPECT(MPIX_Start_monitor(&request, &handle, count), MPIX_MONITOR_OK);
    EXPECT(MPIX_End_monitor(&request, &handle), MPIX_MONITOR_OK);
    EXPECT(reports, 1);
}

/* ---- forks ------------------------------------------------------------------------------------------------------ */

static int child_status(pid_t child)
{
    int status = -1;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}

static void forks(void)
{
    works();
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        for (int i = 0; i < 2; i++) {
            pid_t grandchild = fork();
            if (grandchild == 0)
                _exit(0);
            if (child_status(grandchild) != 0)
                _exit(1);
        }
        _exit(0);
    }
    EXPECT(child_status(child), 0);
    works();
}

/* ---- threads that are cancelled --------------------------------------------------------------------------------- */

static struct {
    MPIX_Monitor_request request;
    int inside, release, asked, ended;
} cancelled;

static void hold(const MPIX_Monitor_report *report, void *own)
{
    (void)own;
    if (report->reason != MPIX_MONITOR_AT_PERIOD || LOAD(cancelled.inside))
        return;
    STORE(cancelled.inside, 1);
    comes(&cancelled.release);
}

static void linger(const MPIX_Monitor_report *report, void *own)
{
    (void)report, (void)own;
    STORE(cancelled.inside, 1);
    comes(&cancelled.release); /* sleeps there */
}

static void *end_window(void *unused)
{
    (void)unused;
    STORE(cancelled.asked, 1);
    EXPECT(MPIX_End_monitor(&cancelled.request, NULL), MPIX_MONITOR_OK);
    STORE(cancelled.ended, 1);
    pthread_testcancel();
    return NULL;
}

static void cancel(MPIX_Monitor_function *function, uint64_t period_ns, int ended)
{
    pthread_t thread;
    void *result = NULL;
    MPIX_Monitorhandle handle = MPIX_MONITORHANDLE_INIT;
    memset(&cancelled, 0, sizeof cancelled);
    handle.period_ns = period_ns;
    EXPECT(MPIX_Start_monitor(&cancelled.request, &handle, function), MPIX_MONITOR_OK);
    if (period_ns)
        EXPECT_TRUE(comes(&cancelled.inside));
    pthread_create(&thread, NULL, end_window, NULL);
    EXPECT_TRUE(comes(&cancelled.asked) && comes(&cancelled.inside));
    usleep(100000); /* it has come to where it waits */
    pthread_cancel(thread);
    usleep(100000);
    if (ended)
        STORE(cancelled.release, 1);
    pthread_join(thread, &result);
    EXPECT_TRUE(result == PTHREAD_CANCELED);
    EXPECT(cancelled.ended, ended);
    STORE(cancelled.release, 1);
    works();
}

/* ---- outputs ---------------------------------------------------------------------------------------------------- */

/* To this descriptor, or appended to this file. */
static void report_to(int descriptor, const char *file)
{
    MPIX_Monitorhandle handle = MPIX_MONITORHANDLE_INIT;
    MPIX_Monitor_request request;
    sigset_t pending, blocked;
    handle.descriptor = descriptor;
    handle.file = file;
    EXPECT(MPIX_Start_monitor(&request, &handle, NULL), MPIX_MONITOR_OK);
    errno = 42;
    EXPECT(MPIX_End_monitor(&request, &handle), MPIX_MONITOR_OK);
    EXPECT(errno, 42);
    sigpending(&pending);
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    EXPECT(sigismember(&pending, SIGPIPE) + sigismember(&pending, SIGXFSZ), 0);
    EXPECT(sigismember(&blocked, SIGPIPE) + sigismember(&blocked, SIGXFSZ), 0);
}

static void pipes(void)
{
    int ends[2];
    char rest[4096] = {0};
    EXPECT(pipe(ends), 0);
    close(ends[0]);
    report_to(ends[1], NULL); /* Broken pipe */
    close(ends[1]);
    EXPECT(pipe(ends), 0);
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    while (write(ends[1], rest, sizeof rest) > 0)
        ;
    fcntl(ends[1], F_SETFL, 0);
    report_to(ends[1], NULL); /* nobody reads it */
    close(ends[0]);
    close(ends[1]);
}

static void limited(void)
{
    struct rlimit before, little;
    struct stat st;
    char last = 0;
    getrlimit(RLIMIT_FSIZE, &before);
    report_to(-1, path);
    stat(path, &st);
    little = before;
    little.rlim_cur = (rlim_t)st.st_size + 100;
    setrlimit(RLIMIT_FSIZE, &little);
    report_to(-1, path); /* File too large */
    setrlimit(RLIMIT_FSIZE, &before);
    int descriptor = open(path, O_RDONLY);
    EXPECT(lseek(descriptor, -1, SEEK_END), st.st_size - 1); /* nothing, and no half line */
    EXPECT(read(descriptor, &last, 1), 1);
    EXPECT(last, '\n');
    close(descriptor);
    unlink(path);
}

static void fifos(void)
{
    char text[1 << 16];
    MPIX_Monitorhandle handle = MPIX_MONITORHANDLE_INIT;
    MPIX_Monitor_request request;
    handle.file = path;
    EXPECT(mkfifo(path, 0600), 0);
    EXPECT(MPIX_Start_monitor(&request, &handle, NULL), MPIX_MONITOR_ERR_FILE);
    int reader = open(path, O_RDONLY | O_NONBLOCK);
    report_to(-1, path);
    ssize_t bytes = read(reader, text, sizeof text);
    EXPECT_TRUE(bytes > 2 && text[0] == '{' && text[bytes - 1] == '\n');
    close(reader);
    unlink(path);
}

/* ---- numbers that make no sense --------------------------------------------------------------------------------- */

static void long_periods(void)
{
    int reports = 0;
    MPIX_Monitorhandle handle = MPIX_MONITORHANDLE_INIT;
    MPIX_Monitor_request request = 5;
    handle.own = &reports;
    handle.period_ns = UINT64_MAX;
    EXPECT(MPIX_Start_monitor(&request, &handle, count), MPIX_MONITOR_ERR_PERIOD);
    EXPECT(MPIX_End_monitor(&request, NULL), MPIX_MONITOR_OK);
    handle.period_ns = MPIX_MONITOR_PERIOD_MOST + 1;
    EXPECT(MPIX_Start_monitor(&request, &handle, count), MPIX_MONITOR_ERR_PERIOD);
    EXPECT(MPIX_End_monitor(&request, NULL), MPIX_MONITOR_OK);
    handle.period_ns = MPIX_MONITOR_PERIOD_MOST;
    EXPECT(MPIX_Start_monitor(&request, &handle, count), MPIX_MONITOR_OK);
    usleep(20000);
    EXPECT(LOAD(reports), 0);
    EXPECT(MPIX_End_monitor(&request, NULL), MPIX_MONITOR_OK);
    EXPECT(reports, 1);
}

static void counted_collectives(const MPIX_Monitor_report *report, void *own)
{
    *(uint64_t *)own = report->whole->sum.collectives;
}

/* Of the word, the program may have written no more than the handle. */
static void upper_half(void)
{
    const MPI_Comm comms[] = {MPI_COMM_SELF, MPI_COMM_NULL};
    for (int i = 0; i < 2; i++) {
        uint64_t collectives = 77;
        MPIX_Monitorhandle handle = MPIX_MONITORHANDLE_INIT;
        MPIX_Monitor_request request;
        handle.communicator_word = ~UINT64_C(0);
        handle.communicator = comms[i];
        handle.own = &collectives;
        EXPECT(MPIX_Start_monitor(&request, &handle, counted_collectives), MPIX_MONITOR_OK);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_SELF);
        EXPECT(MPIX_End_monitor(&request, NULL), MPIX_MONITOR_OK);
        EXPECT(collectives, 1 + i);
    }
}

static void here(void)
{
    forks();
    cancel(hold, 1000000, 1);
    cancel(linger, 0, 0);
    pipes();
    limited();
    fifos();
    long_periods();
    upper_half();
}

/* ---- MPI_Finalize ----------------------------------------------------------------------------------------------- */

static int renewed, refused = -1, reports, done, inside;
static MPIX_Monitor_request again;

static void renew(const MPIX_Monitor_report *report, void *own)
{
    (void)own;
    if (report->last && ++renewed < TIMES)
        refused = MPIX_Start_monitor(&again, NULL, renew);
}

static void *open_windows(void *unused)
{
    MPIX_Monitorhandle handle = MPIX_MONITORHANDLE_INIT;
    MPIX_Monitor_request request;
    handle.own = &reports;
    handle.period_ns = 1000000;
    for (int i = 0; i < TIMES && refused <= 0; i++)
        refused = MPIX_Start_monitor(&request, &handle, count);
    STORE(done, 1);
    return unused;
}

static void let_open(const MPIX_Monitor_report *report, void *own)
{
    pthread_t thread;
    (void)report, (void)own;
    pthread_create(&thread, NULL, open_windows, NULL);
    pthread_detach(thread);
    EXPECT_TRUE(comes(&done));
}

static void end_own(const MPIX_Monitor_report *report, void *own)
{
    (void)own;
    if (++reports > 1)
        return;
    EXPECT(report->reason, MPIX_MONITOR_AT_PERIOD);
    EXPECT(MPIX_End_monitor(&again, NULL), MPIX_MONITOR_OK);
    STORE(inside, 1);
    sleep(2); /* MPI_Finalize comes and waits */
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    MPIX_Monitorhandle handle = MPIX_MONITORHANDLE_INIT;
    int provided;
    alarm(100);
    path = argc > 2 ? argv[2] : "";
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    if (strcmp(mode, "here") == 0)
        here();
    if (strcmp(mode, "renew") == 0)
        EXPECT(MPIX_Start_monitor(&again, NULL, renew), MPIX_MONITOR_OK);
    if (strcmp(mode, "late") == 0)
        EXPECT(MPIX_Start_monitor(&again, NULL, let_open), MPIX_MONITOR_OK);
    handle.period_ns = 1000000;
    if (strcmp(mode, "owned") == 0) {
        EXPECT(MPIX_Start_monitor(&again, &handle, end_own), MPIX_MONITOR_OK);
        EXPECT_TRUE(comes(&inside));
    }
    MPI_Finalize();
    int told = LOAD(reports);
    usleep(20000);
    EXPECT(LOAD(reports), told);
    if (strcmp(mode, "owned") == 0)
        EXPECT(told, 2);
    if (strcmp(mode, "renew") == 0)
        EXPECT(renewed, 1);
    if (strcmp(mode, "renew") == 0 || strcmp(mode, "late") == 0)
        EXPECT(refused, MPIX_MONITOR_ERR_TIME);
    return failures != 0;
}
