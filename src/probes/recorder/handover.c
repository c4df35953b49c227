#define _GNU_SOURCE
#include "recorder/handover.h"

#include "base/text.h"
#include "registry/book.h"
#include "base/cancel.h"
#include "recorder/collectstart.h"
#include "base/processes.h"
#include "base/systemclock.h"
#include "native.h"
#include "recorder/opening.h"
#include "writer/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { WAIT_MS = 800, WHOLE_MS = 30000, LOOK_MS = 50, TEXT_BYTES = 512 };

/* ---- is it the last? --------------------------------------------------------------------------------------------- */

/* Processes of other PID namespaces are not visible. */
static bool process_is_there(int fd, const struct run_header *header)
{
    const struct run_header *own = book.run.header;
    if (header->pid_namespace != own->pid_namespace)
        return spool_file_is_held(fd);
    return header->pid != own->pid && process_has_program(header->pid);
}

/* A process that has no number of its job yet may be of this one, unless it is in another PID namespace. */
static bool is_of_this_job(const struct run_header *header)
{
    const struct run_header *own = book.run.header;
    return header->job == own->job || (!header->job && header->pid_namespace == own->pid_namespace);
}

static bool is_at_work(int directory, const char *name)
{
    struct run_header header;
    int fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    bool at_work = fd >= 0 && pread(fd, &header, sizeof header, 0) == (ssize_t)sizeof header &&
                   header.phase != RUN_FINALIZED && header.phase != RUN_EXITED && is_of_this_job(&header) &&
                   process_is_there(fd, &header);
    if (fd >= 0)
        close(fd);
    return at_work;
}

/* Each process marks its own end before it looks, so the last one to mark finds all others ended. */
static bool is_last(const char *spool)
{
    bool found = false;
    DIR *directory = opendir(spool);
    for (struct dirent *entry; !found && directory && (entry = readdir(directory));)
        found = text_ends(entry->d_name, RUN_FILE_SUFFIX) && is_at_work(dirfd(directory), entry->d_name);
    if (directory)
        closedir(directory);
    return directory && !found;
}

/* ---- mpit-collect ------------------------------------------------------------------------------------------------ */

static int64_t now_ms(void)
{
    return (int64_t)(monotonic_ns() / 1000000);
}

/* Reads the available output. False: that was the end. */
static bool words_take(int told, char text[TEXT_BYTES])
{
    char dropped[TEXT_BYTES];
    size_t used = strlen(text);
    bool room = used < TEXT_BYTES - 1;
    ssize_t n = read(told, room ? text + used : dropped, room ? TEXT_BYTES - 1 - used : sizeof dropped);
    text[room && n > 0 ? used + (size_t)n : used] = '\0';
    return n > 0;
}

/* Launchers end the other ranks when one ends badly. Without the wait here this rank might have ended by itself before, with a
 * status of its own. So SIGTERM ends the wait first, and the process only if it still exists after END_LATER_MS. */
enum { END_LATER_MS = 500 };
static volatile sig_atomic_t asked_to_end;

static void end_ask(int number)
{
    (void)number;
    asked_to_end = 1;
}

static void end_later(void)
{
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGTERM};
    struct itimerspec after = {.it_value.tv_nsec = END_LATER_MS * 1000000L};
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0 || timer_settime(timer, 0, &after, NULL) != 0)
        raise(SIGTERM);
}

/* Reads the output of mpit-collect until its results can be seen. False: it has done nothing for WAIT_MS, or the whole
 * has taken too long. */
static bool collector_await(pid_t pid, int told, char text[TEXT_BYTES])
{
    int64_t end_ms = now_ms() + WHOLE_MS, idle_since_ms = now_ms();
    uint64_t progress = 0;
    text[0] = '\0';
    while (!asked_to_end && now_ms() < end_ms && now_ms() - idle_since_ms < WAIT_MS) {
        struct pollfd ready = {.fd = told, .events = POLLIN};
        if (poll(&ready, 1, LOOK_MS) > 0) {
            if (!words_take(told, text))
                return true;
            continue;
        }
        uint64_t now = process_moved((uint32_t)pid);
        if (now != progress ||
            process_is_running((uint32_t)pid)) /* without a processor it says nothing of the directory */
            idle_since_ms = now_ms();
        progress = now;
    }
    if (asked_to_end)
        strcpy(text, "\n"); /* the results will be there later, and nobody needs to know */
    return asked_to_end;
}

/* A container may lack its libraries. */
static void words_say(const char *text, const char *spool, const char *output)
{
    static const char loader[] = "mpit-collect: error while loading shared libraries: ";
    if (strncmp(text, loader, sizeof loader - 1) == 0)
        opened_say(
            "mpit: mpit-collect does not run here (%s). The recording stays in %.200s. \"mpit-collect %.200s\" moves "
            "it to the output directory",
            text + sizeof loader - 1, spool, output);
    else if (text[0])
        opened_say("%s", text);
}

static void collector_run(const char *spool, const char *output)
{
    char text[TEXT_BYTES] = "";
    const char *const words[] = {"mpit-collect", "--handover", output, NULL};
    int pipe_ends[2] = {-1, -1};
    pid_t pid = pipe2(pipe_ends, O_CLOEXEC) == 0 ? collect_start(words, pipe_ends[1]) : -1;
    int error = errno;
    if (pipe_ends[1] >= 0)
        close(pipe_ends[1]);
    bool ended = pid > 0 && collector_await(pid, pipe_ends[0], text);
    if (pid < 0)
        opened_say("mpit: mpit-collect cannot be started (%s). The recording stays in %.200s. \"mpit-collect %.200s\" "
                   "moves it to the output directory",
                   strerror(error), spool, output);
    else if (!ended)
        opened_say("mpit: the output directory %.200s is slow, and mpit does not wait for it. The results will be "
                   "there later; until then they are in %.200s. \"mpit-collect %.200s\" moves them",
                   output, spool, output);
    else if (!text[0]) /* where all is well it says an empty line */
        opened_say("mpit: mpit-collect crashed or was killed. The recording stays in %.200s. \"mpit-collect %.200s\" "
                   "moves it to the output directory",
                   spool, output);
    if (pipe_ends[0] >= 0)
        close(pipe_ends[0]);
    text[strcspn(text, "\n")] = '\0';
    words_say(text, spool, output);
}

/* True for the first process of a node, if the launcher tells which one that is. */
static bool is_first_of_node(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID",
                                        "PMI_LOCAL_RANK", "FLUX_TASK_LOCAL_ID"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (getenv(names[i]))
            return atoi(getenv(names[i])) == 0;
    return true;
}

void handover_drain(const char *spool, const char *output)
{
    const char *const words[] = {"mpit-collect", "--drain", output, NULL};
    if (!spool[0] || !is_first_of_node())
        return;
    int cancel = cancel_hold(), error = errno, nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nothing < 0 || collect_start(words, nothing) < 0)
        opened_say("mpit: mpit-collect cannot be started (%s): the trace stops at MPIT_SPOOL_LIMIT_BYTES",
                   strerror(errno));
    if (nothing >= 0)
        close(nothing);
    cancel_release(cancel);
    errno = error;
}

static bool is_collected(void)
{
    return __atomic_load_n(&book.run.header->collected, __ATOMIC_ACQUIRE); /* mpit-collect writes it into the file */
}

/* A process has lately found that the output directory does not answer. */
static bool is_given_up(int claim)
{
    struct stat st;
    time_t age = fstat(claim, &st) == 0 && st.st_size > 0 ? time(NULL) - st.st_mtime : -1;
    return age >= 0 && age < WHOLE_MS / 1000;
}

/*
 * Processes that end at once may all be the last. One of them starts mpit-collect. If all did, each would ask for the
 * output directory. The others wait until their files are collected. If the first one gives up, all others do.
 */
static void collector_run_once(const char *spool, const char *output)
{
    enum { LOOK_MOST_NS = 50000000 };
    char path[PATH_MAX];
    int64_t begin_ms = now_ms();
    struct timespec look = {.tv_nsec = 1000000};
    snprintf(path, sizeof path, "%.3900s/ending-%016" PRIx64, spool, book.run.header->job);
    int claim = is_collected() ? -1 : open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    bool mine = claim < 0;
    while (!mine && !is_collected() && now_ms() - begin_ms < WHOLE_MS) {
        mine = flock(claim, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK; /* some file systems have no locks */
        if (!mine && asked_to_end)
            break; /* another one has started mpit-collect */
        if (!mine) {
            nanosleep(&look, NULL);
            look.tv_nsec = look.tv_nsec < LOOK_MOST_NS / 2 ? 2 * look.tv_nsec : LOOK_MOST_NS;
        }
    }
    if (mine && !is_collected() && !(claim >= 0 && is_given_up(claim))) {
        collector_run(spool, output);
        if (claim >= 0 && !is_collected() && write(claim, "x", 1) != 1)
            opened_say("mpit: %.200s cannot be written: %s", path, strerror(errno));
    }
    if (claim >= 0) {
        flock(claim, LOCK_UN); /* a child that the program forked meanwhile has the descriptor, too */
        close(claim);
    }
}

void handover_end(const char *spool, const char *output)
{
    if (!spool[0] || !book.run.header || book.run.detached)
        return;
    int cancel = cancel_hold(), error = errno;
    struct sigaction before, now;
    bool usual = sigaction(SIGTERM, NULL, &before) == 0 && before.sa_handler == SIG_DFL &&
                 sigaction(SIGTERM, &(struct sigaction){.sa_handler = end_ask}, NULL) == 0;
    if (is_last(spool))
        collector_run_once(spool, output);
    if (usual && sigaction(SIGTERM, NULL, &now) == 0 && now.sa_handler == end_ask)
        sigaction(SIGTERM, &before, NULL);
    if (asked_to_end)
        end_later();
    cancel_release(cancel);
    errno = error;
}
