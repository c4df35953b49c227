#define _GNU_SOURCE
#include "run/deathwatch.h"

#include "base/text.h"
#include "waiting/postmortem.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A file's header is written within a moment. If its process is not found by then, it belongs to another node. */
enum { WATCHED_MOST = 4096, TRY_MS = 50, TRIES_MOST = 40 };

struct watched {
    char *path;
    unsigned tries;
};

struct deathwatch {
    pthread_t thread;
    char *directory;
    int stop[2]; /* a pipe: its write end closes when the command has ended */
    int changes; /* inotify */
    size_t count;
    /* polls[0] is the stop, polls[1] the changes. The process of list[i] has polls[2 + i], with fd -1 until it is found
     */
    struct pollfd polls[2 + WATCHED_MOST];
    struct watched list[WATCHED_MOST];
};

static void name_add(struct deathwatch *watch, const char *name)
{
    char *path;
    if (!text_ends(name, RUN_FILE_SUFFIX) || watch->count == WATCHED_MOST ||
        asprintf(&path, "%s/%s", watch->directory, name) < 0)
        return;
    watch->list[watch->count] = (struct watched){.path = path};
    watch->polls[2 + watch->count++] = (struct pollfd){.fd = -1, .events = POLLIN};
}

static void dead_names_read(struct deathwatch *watch)
{
    _Alignas(struct inotify_event) char text[16 * (sizeof(struct inotify_event) + NAME_MAX + 1)];
    for (ssize_t n; (n = read(watch->changes, text, sizeof text)) > 0;)
        for (const char *at = text; at < text + n;) {
            const struct inotify_event *event = (const void *)at;
            if (event->len)
                name_add(watch, event->name);
            at += sizeof *event + event->len;
        }
}

/* Removes entry i. The last entry moves to its place. */
static void watched_drop(struct deathwatch *watch, size_t i)
{
    if (watch->polls[2 + i].fd >= 0)
        close(watch->polls[2 + i].fd);
    free(watch->list[i].path);
    watch->list[i] = watch->list[--watch->count];
    watch->polls[2 + i] = watch->polls[2 + watch->count];
}

/* Looks for the processes of new files. Returns true if some do not exist yet. */
static bool processes_find(struct deathwatch *watch)
{
    bool some = false;
    for (size_t i = watch->count; i-- > 0;) {
        struct pollfd *poll = &watch->polls[2 + i];
        if (poll->fd >= 0)
            continue;
        pid_t pid = postmortem_process(watch->list[i].path);
        if (pid > 0)
            poll->fd = (int)syscall(SYS_pidfd_open, pid, 0);
        bool tries_on = pid <= 0 && ++watch->list[i].tries < TRIES_MOST;
        some = some || tries_on;
        if (poll->fd < 0 && !tries_on)
            watched_drop(watch, i);
    }
    return some;
}

static void deaths_note(struct deathwatch *watch)
{
    for (size_t i = watch->count; i-- > 0;)
        if (watch->polls[2 + i].fd >= 0 && watch->polls[2 + i].revents) {
            postmortem_end(watch->list[i].path);
            watched_drop(watch, i);
        }
}

static void *watch_run(void *argument)
{
    struct deathwatch *watch = argument;
    for (bool some = false;;) {
        int ready = poll(watch->polls, (nfds_t)(2 + watch->count), some ? TRY_MS : -1);
        if (ready < 0 && errno != EINTR)
            break;
        if (ready > 0)
            deaths_note(watch); /* before polls move */
        if (ready > 0 && watch->polls[0].revents)
            break;
        dead_names_read(watch);
        some = processes_find(watch);
    }
    return NULL;
}

static void watch_free(struct deathwatch *watch)
{
    while (watch->count)
        watched_drop(watch, watch->count - 1);
    if (watch->changes >= 0)
        close(watch->changes);
    close(watch->stop[0]);
    if (watch->stop[1] >= 0)
        close(watch->stop[1]);
    free(watch->directory);
    free(watch);
}

struct deathwatch *deathwatch_start(const char *directory)
{
    struct deathwatch *watch = calloc(1, sizeof *watch);
    if (!watch || pipe2(watch->stop, O_CLOEXEC) != 0) {
        free(watch);
        return NULL;
    }
    watch->directory = strdup(directory);
    watch->changes = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    watch->polls[0] = (struct pollfd){.fd = watch->stop[0], .events = POLLIN};
    watch->polls[1] = (struct pollfd){.fd = watch->changes, .events = POLLIN};
    sigset_t all, before; /* signals go to the thread that passes them on */
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    bool good = watch->directory && watch->changes >= 0 &&
                inotify_add_watch(watch->changes, directory, IN_CREATE | IN_MOVED_TO) >= 0 &&
                pthread_create(&watch->thread, NULL, watch_run, watch) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (good)
        return watch;
    watch_free(watch);
    return NULL;
}

void deathwatch_stop(struct deathwatch *watch)
{
    if (!watch)
        return;
    close(watch->stop[1]);
    watch->stop[1] = -1;
    pthread_join(watch->thread, NULL);
    watch_free(watch);
}
