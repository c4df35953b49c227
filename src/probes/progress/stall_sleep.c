/*
 * Sleeps of a thread: inside of a call that may wait it is stalled, whoever makes it sleep. These are the C library's
 * functions that MPI libraries use to sleep.
 */
#include "sampler/behind.h"
#include "gate.h"
#include "sampler/shield.h"
#include "progress/stall.h"

#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

GUARDED(sched_yield);
int sched_yield(void)
{
    int result;
    ASLEEP(false, result, behind_sched_yield()());
    return result;
}

/* With a timeout of 0 they do not wait. */
GUARDED(poll);
int poll(struct pollfd *fds, nfds_t count, int timeout)
{
    int result;
    ASLEEP_IF(timeout != 0, shield_up(), result, behind_poll()(fds, count, timeout));
    return result;
}

GUARDED(epoll_wait);
int epoll_wait(int epfd, struct epoll_event *events, int most, int timeout)
{
    int result;
    if (timeout == 0)
        return behind_epoll_wait()(epfd, events, most, timeout);
    ASLEEP(shield_up(), result, behind_epoll_wait()(epfd, events, most, timeout));
    return result;
}

GUARDED(nanosleep);
int nanosleep(const struct timespec *time, struct timespec *rest)
{
    int result;
    ASLEEP(shield_up(), result, behind_nanosleep()(time, rest));
    return result;
}

GUARDED(usleep);
int usleep(useconds_t time)
{
    int result;
    ASLEEP(shield_up(), result, behind_usleep()(time));
    return result;
}
