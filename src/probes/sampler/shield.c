#include "sampler/shield.h"

#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/random.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

/* The kernel's form of a mask, without the C library: these functions run in signal handlers, and often. */
static uint64_t signal_bit(void)
{
    return UINT64_C(1) << (__atomic_load_n(&sampler_signal, __ATOMIC_RELAXED) - 1);
}

bool shield_up(void)
{
    uint64_t bit, old = 0;
    if (!sampler_is_on())
        return false;
    bit = signal_bit();
    if (syscall(SYS_rt_sigprocmask, SIG_BLOCK, &bit, &old, sizeof bit) != 0)
        return false;
    /* this one also ends a guard that a jump out of the program's handler has left active */
    bool mine = !(old & bit) || sampled_self.shielded;
    sampled_self.shielded = mine;
    return mine;
}

bool shield_up_for(int fd, int flags)
{
    if (!sampler_is_on() || flags & MSG_DONTWAIT)
        return false;
    int error = errno, status = fcntl(fd, F_GETFL);
    errno = error;
    return status >= 0 && !(status & O_NONBLOCK) && shield_up();
}

void shield_down(void)
{
    int error = errno;
    uint64_t bit = signal_bit();
    sampled_self.shielded = false;
    syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &bit, NULL, sizeof bit);
    errno = error;
}

const sigset_t *shield_without(const sigset_t *set, sigset_t *copy)
{
    int number = __atomic_load_n(&sampler_signal, __ATOMIC_RELAXED);
    if (!number || !set || sigismember(set, number) != 1)
        return set;
    *copy = *set;
    sigdelset(copy, number);
    return copy;
}

const sigset_t *shield_with(const sigset_t *set, sigset_t *copy)
{
    int number = __atomic_load_n(&sampler_signal, __ATOMIC_RELAXED);
    if (!number || !set)
        return set;
    *copy = *set;
    sigaddset(copy, number);
    return copy;
}

/* The functions of programs that were compiled with _FORTIFY_SOURCE. */
extern int __poll_chk(struct pollfd *fds, nfds_t count, int timeout, size_t bytes);
extern int __ppoll_chk(struct pollfd *fds, nfds_t count, const struct timespec *timeout, const sigset_t *mask,
                       size_t bytes);
extern ssize_t __read_chk(int fd, void *data, size_t bytes, size_t room);

/* headers of older systems lack these */
extern int sem_clockwait(sem_t *restrict semaphore, clockid_t clock, const struct timespec *restrict until);
extern int epoll_pwait2(int epfd, struct epoll_event *events, int most, const struct timespec *timeout,
                        const sigset_t *mask);

GUARDED(select);
int select(int count, fd_set *read, fd_set *write, fd_set *except, struct timeval *timeout)
{
    bool looks = timeout && timeout->tv_sec == 0 && timeout->tv_usec == 0; /* and does not wait */
    return ASLEEP(!looks, shield_up(), behind_select()(count, read, write, except, timeout));
}

static bool is_zero(const struct timespec *time)
{
    return time && time->tv_sec == 0 && time->tv_nsec == 0;
}

/* These have a mask for the time of the wait, `during` among the arguments. */
#define MASKED_FUNCTION(name, parameters, arguments, waits)                                                            \
    GUARDED_FUNCTION(int, name, parameters, ({                                                                         \
                         sigset_t copy;                                                                                \
                         const sigset_t *during = sampler_is_on() ? shield_with(mask, &copy) : mask;                   \
                         ASLEEP(waits, shield_up(), behind_##name() arguments);                                        \
                     }))

MASKED_FUNCTION(pselect,
                (int count, fd_set *read, fd_set *write, fd_set *except, const struct timespec *timeout,
                 const sigset_t *mask),
                (count, read, write, except, timeout, during), !is_zero(timeout))
MASKED_FUNCTION(ppoll, (struct pollfd * fds, nfds_t count, const struct timespec *timeout, const sigset_t *mask),
                (fds, count, timeout, during), !is_zero(timeout))
MASKED_FUNCTION(epoll_pwait, (int epfd, struct epoll_event *events, int most, int timeout, const sigset_t *mask),
                (epfd, events, most, timeout, during), timeout != 0)
ASLEEP_FUNCTION(int, clock_nanosleep, (clockid_t clock, int flags, const struct timespec *time, struct timespec *rest),
                (clock, flags, time, rest), true, shield_up())
ASLEEP_FUNCTION(unsigned, sleep, (unsigned seconds), (seconds), true, shield_up())
ASLEEP_FUNCTION(int, thrd_sleep, (const struct timespec *time, struct timespec *rest), (time, rest), true, shield_up())
SHIELDED_FUNCTION(int, semop, (int id, struct sembuf *operations, size_t count), (id, operations, count), shield_up())
SHIELDED_FUNCTION(int, semtimedop, (int id, struct sembuf *operations, size_t count, const struct timespec *timeout),
                  (id, operations, count, timeout), shield_up())
SHIELDED_FUNCTION(int, msgsnd, (int id, const void *message, size_t bytes, int flags), (id, message, bytes, flags),
                  shield_up())
SHIELDED_FUNCTION(ssize_t, msgrcv, (int id, void *message, size_t bytes, long type, int flags),
                  (id, message, bytes, type, flags), shield_up())

/* With a timeout of the socket these are not restarted, and a write may end with a part of the data. */
SHIELDED_FUNCTION(int, accept, (int fd, __SOCKADDR_ARG address, socklen_t *bytes), (fd, address, bytes),
                  shield_up_for(fd, 0))
SHIELDED_FUNCTION(int, accept4, (int fd, __SOCKADDR_ARG address, socklen_t *bytes, int flags),
                  (fd, address, bytes, flags), shield_up_for(fd, 0))
SHIELDED_FUNCTION(int, connect, (int fd, __CONST_SOCKADDR_ARG address, socklen_t bytes), (fd, address, bytes),
                  shield_up_for(fd, 0))
SHIELDED_FUNCTION(ssize_t, write, (int fd, const void *data, size_t bytes), (fd, data, bytes), shield_up_for(fd, 0))
SHIELDED_FUNCTION(int, sem_timedwait, (sem_t *restrict semaphore, const struct timespec *restrict until),
                  (semaphore, until), shield_up())
SHIELDED_FUNCTION(int, sem_clockwait,
                  (sem_t *restrict semaphore, clockid_t clock, const struct timespec *restrict until),
                  (semaphore, clock, until), shield_up())

/* From a socket with a timeout. */
SHIELDED_FUNCTION(ssize_t, read, (int fd, void *data, size_t bytes), (fd, data, bytes), shield_up_for(fd, 0))
SHIELDED_FUNCTION(ssize_t, __read_chk, (int fd, void *data, size_t bytes, size_t room), (fd, data, bytes, room),
                  shield_up_for(fd, 0))
SHIELDED_FUNCTION(int, recvmmsg,
                  (int fd, struct mmsghdr *messages, unsigned count, int flags, struct timespec *timeout),
                  (fd, messages, count, flags, timeout), shield_up_for(fd, flags))
ASLEEP_FUNCTION(int, __poll_chk, (struct pollfd * fds, nfds_t count, int timeout, size_t bytes),
                (fds, count, timeout, bytes), timeout != 0, shield_up())
MASKED_FUNCTION(__ppoll_chk,
                (struct pollfd * fds, nfds_t count, const struct timespec *timeout, const sigset_t *mask, size_t bytes),
                (fds, count, timeout, during, bytes), !is_zero(timeout))
MASKED_FUNCTION(epoll_pwait2,
                (int epfd, struct epoll_event *events, int most, const struct timespec *timeout, const sigset_t *mask),
                (epfd, events, most, timeout, during), !is_zero(timeout))
SHIELDED_FUNCTION(int, aio_suspend,
                  (const struct aiocb *const list[], int count, const struct timespec *restrict timeout),
                  (list, count, timeout), shield_up())
SHIELDED_FUNCTION(int, sendmmsg, (int fd, struct mmsghdr *messages, unsigned count, int flags),
                  (fd, messages, count, flags), shield_up_for(fd, flags))

/* At -1, the place of the file itself, they are readv and writev. */
SHIELDED_FUNCTION(ssize_t, preadv2, (int fd, const struct iovec *pieces, int count, off_t offset, int flags),
                  (fd, pieces, count, offset, flags), shield_up_for(fd, 0))
SHIELDED_FUNCTION(ssize_t, pwritev2, (int fd, const struct iovec *pieces, int count, off_t offset, int flags),
                  (fd, pieces, count, offset, flags), shield_up_for(fd, 0))
SHIELDED_FUNCTION(ssize_t, preadv64v2, (int fd, const struct iovec *pieces, int count, off64_t offset, int flags),
                  (fd, pieces, count, offset, flags), shield_up_for(fd, 0))
SHIELDED_FUNCTION(ssize_t, pwritev64v2, (int fd, const struct iovec *pieces, int count, off64_t offset, int flags),
                  (fd, pieces, count, offset, flags), shield_up_for(fd, 0))

/* A transfer in pieces ends after the piece that the signal met. */
SHIELDED_FUNCTION(ssize_t, sendfile, (int to, int from, off_t *offset, size_t bytes), (to, from, offset, bytes),
                  shield_up())
SHIELDED_FUNCTION(ssize_t, sendfile64, (int to, int from, off64_t *offset, size_t bytes), (to, from, offset, bytes),
                  shield_up())
SHIELDED_FUNCTION(ssize_t, splice,
                  (int from, off64_t *from_offset, int to, off64_t *to_offset, size_t bytes, unsigned flags),
                  (from, from_offset, to, to_offset, bytes, flags), shield_up())
SHIELDED_FUNCTION(ssize_t, tee, (int from, int to, size_t bytes, unsigned flags), (from, to, bytes, flags), shield_up())
SHIELDED_FUNCTION(ssize_t, vmsplice, (int fd, const struct iovec *pieces, size_t count, unsigned flags),
                  (fd, pieces, count, flags), shield_up())
SHIELDED_FUNCTION(ssize_t, copy_file_range,
                  (int from, off64_t *from_offset, int to, off64_t *to_offset, size_t bytes, unsigned flags),
                  (from, from_offset, to, to_offset, bytes, flags), shield_up())

/* Up to 256 bytes come whole, even with signals: getrandom(2). */
SHIELDED_FUNCTION(ssize_t, getrandom, (void *data, size_t bytes, unsigned flags), (data, bytes, flags),
                  bytes > 256 && shield_up())

__attribute__((constructor)) static void others_pass(void)
{
    PASS_OTHERS(sendfile);
    PASS_OTHERS(splice);
    PASS_OTHERS(tee);
    PASS_OTHERS(vmsplice);
    PASS_OTHERS(copy_file_range);
    PASS_OTHERS(getrandom);
}
