/*
 * Sleeps of a thread: inside of a call that may wait it is stalled, whoever makes it sleep. These are the C library's
 * functions that MPI libraries use to sleep.
 */
#include "sampler/shield.h"
#include "progress/stall.h"

#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

ASLEEP_FUNCTION(int, sched_yield, (void), (), true, false)

/* With a timeout of 0 they do not wait. */
ASLEEP_FUNCTION(int, poll, (struct pollfd * fds, nfds_t count, int timeout), (fds, count, timeout), timeout != 0,
                shield_up())

GUARDED(epoll_wait);
int epoll_wait(int epfd, struct epoll_event *events, int most, int timeout)
{
    if (timeout == 0)
        return behind_epoll_wait()(epfd, events, most, timeout);
    return ASLEEP(true, shield_up(), behind_epoll_wait()(epfd, events, most, timeout));
}

ASLEEP_FUNCTION(int, nanosleep, (const struct timespec *time, struct timespec *rest), (time, rest), true, shield_up())
ASLEEP_FUNCTION(int, usleep, (useconds_t time), (time), true, shield_up())
