/*
 * What lets a thread sleep: inside of a call that may wait it is stalled, whoever makes it sleep. The C library's functions
 * that MPI libraries use for it.
 */
#define _GNU_SOURCE
#include "gate.h"
#include "stall.h"

#include <dlfcn.h>
#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#define NEXT_DEFINITION(name)                                                                                          \
    static __typeof__(&name) next_##name;                                                                              \
    static inline __typeof__(&name) behind_##name(void)                                                                \
    {                                                                                                                  \
        __typeof__(&name) behind = __atomic_load_n(&next_##name, __ATOMIC_RELAXED);                                    \
        if (__builtin_expect(!behind, 0)) {                                                                            \
            behind = (__typeof__(&name))dlsym(RTLD_NEXT, #name);                                                       \
            __atomic_store_n(&next_##name, behind, __ATOMIC_RELAXED);                                                  \
        }                                                                                                              \
        return behind;                                                                                                 \
    }

NEXT_DEFINITION(sched_yield)
NEXT_DEFINITION(poll)
NEXT_DEFINITION(epoll_wait)
NEXT_DEFINITION(nanosleep)
NEXT_DEFINITION(usleep)

/* They may be called in signal handlers, where dlsym may not. */
__attribute__((constructor)) static void find_all(void)
{
    behind_sched_yield();
    behind_poll();
    behind_epoll_wait();
    behind_nanosleep();
    behind_usleep();
}

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
