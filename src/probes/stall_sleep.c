/*
 * What lets a thread sleep: inside of a call that may wait it is stalled, whoever makes it sleep. The C library's functions
 * that MPI libraries use for it.
 */
#define _GNU_SOURCE
#include "behind.h"
#include "gate.h"
#include "stall.h"

#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

BEHIND(sched_yield)
BEHIND(poll)
BEHIND(epoll_wait)
BEHIND(nanosleep)
BEHIND(usleep)

GATE(sched_yield);
int sched_yield(void)
{
    sleep_begin();
    return behind_sched_yield()();
}

/* With a timeout of 0 they only look. */
GATE(poll);
int poll(struct pollfd *fds, nfds_t count, int timeout)
{
    if (timeout != 0)
        sleep_begin();
    return behind_poll()(fds, count, timeout);
}

GATE(epoll_wait);
int epoll_wait(int epfd, struct epoll_event *events, int most, int timeout)
{
    if (timeout != 0)
        sleep_begin();
    return behind_epoll_wait()(epfd, events, most, timeout);
}

GATE(nanosleep);
int nanosleep(const struct timespec *time, struct timespec *rest)
{
    sleep_begin();
    return behind_nanosleep()(time, rest);
}

GATE(usleep);
int usleep(useconds_t time)
{
    sleep_begin();
    return behind_usleep()(time);
}
