#include "sampler/shield.h"

#include "sampler/behind.h"
#include "gate.h"

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
extern ssize_t __recv_chk(int fd, void *data, size_t bytes, size_t room, int flags);
extern ssize_t __recvfrom_chk(int fd, void *data, size_t bytes, size_t room, int flags, __SOCKADDR_ARG from,
                              socklen_t *from_bytes);

/* headers of older systems lack these */
extern int sem_clockwait(sem_t *restrict semaphore, clockid_t clock, const struct timespec *restrict until);
extern int epoll_pwait2(int epfd, struct epoll_event *events, int most, const struct timespec *timeout,
                        const sigset_t *mask);

GUARDED(select);
int select(int count, fd_set *read, fd_set *write, fd_set *except, struct timeval *timeout)
{
    int result;
    bool looks = timeout && timeout->tv_sec == 0 && timeout->tv_usec == 0; /* and does not wait */
    ASLEEP_IF(!looks, shield_up(), result, behind_select()(count, read, write, except, timeout));
    return result;
}

static bool is_zero(const struct timespec *time)
{
    return time && time->tv_sec == 0 && time->tv_nsec == 0;
}

/* These have a mask for the time of the wait. */
GUARDED(pselect);
int pselect(int count, fd_set *read, fd_set *write, fd_set *except, const struct timespec *timeout,
            const sigset_t *mask)
{
    sigset_t copy;
    int result;
    const sigset_t *during = sampler_is_on() ? shield_with(mask, &copy) : mask;
    ASLEEP_IF(!is_zero(timeout), shield_up(), result, behind_pselect()(count, read, write, except, timeout, during));
    return result;
}

GUARDED(ppoll);
int ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout, const sigset_t *mask)
{
    sigset_t copy;
    int result;
    const sigset_t *during = sampler_is_on() ? shield_with(mask, &copy) : mask;
    ASLEEP_IF(!is_zero(timeout), shield_up(), result, behind_ppoll()(fds, count, timeout, during));
    return result;
}

GUARDED(epoll_pwait);
int epoll_pwait(int epfd, struct epoll_event *events, int most, int timeout, const sigset_t *mask)
{
    sigset_t copy;
    int result;
    const sigset_t *during = sampler_is_on() ? shield_with(mask, &copy) : mask;
    ASLEEP_IF(timeout != 0, shield_up(), result, behind_epoll_pwait()(epfd, events, most, timeout, during));
    return result;
}

GUARDED(clock_nanosleep);
int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time, struct timespec *rest)
{
    int result;
    ASLEEP(shield_up(), result, behind_clock_nanosleep()(clock, flags, time, rest));
    return result;
}

GUARDED(sleep);
unsigned sleep(unsigned seconds)
{
    unsigned result;
    ASLEEP(shield_up(), result, behind_sleep()(seconds));
    return result;
}

GUARDED(thrd_sleep);
int thrd_sleep(const struct timespec *time, struct timespec *rest)
{
    int result;
    ASLEEP(shield_up(), result, behind_thrd_sleep()(time, rest));
    return result;
}

GUARDED(semop);
int semop(int id, struct sembuf *operations, size_t count)
{
    SHIELDED_CALL(int, shield_up(), behind_semop()(id, operations, count));
}

GUARDED(semtimedop);
int semtimedop(int id, struct sembuf *operations, size_t count, const struct timespec *timeout)
{
    SHIELDED_CALL(int, shield_up(), behind_semtimedop()(id, operations, count, timeout));
}

GUARDED(msgsnd);
int msgsnd(int id, const void *message, size_t bytes, int flags)
{
    SHIELDED_CALL(int, shield_up(), behind_msgsnd()(id, message, bytes, flags));
}

GUARDED(msgrcv);
ssize_t msgrcv(int id, void *message, size_t bytes, long type, int flags)
{
    SHIELDED_CALL(ssize_t, shield_up(), behind_msgrcv()(id, message, bytes, type, flags));
}

/* With a timeout of the socket these are not restarted, and a write may end with a part of the data. */
GUARDED(accept);
int accept(int fd, __SOCKADDR_ARG address, socklen_t *bytes)
{
    SHIELDED_CALL(int, shield_up_for(fd, 0), behind_accept()(fd, address, bytes));
}

GUARDED(accept4);
int accept4(int fd, __SOCKADDR_ARG address, socklen_t *bytes, int flags)
{
    SHIELDED_CALL(int, shield_up_for(fd, 0), behind_accept4()(fd, address, bytes, flags));
}

GUARDED(connect);
int connect(int fd, __CONST_SOCKADDR_ARG address, socklen_t bytes)
{
    SHIELDED_CALL(int, shield_up_for(fd, 0), behind_connect()(fd, address, bytes));
}

GUARDED(write);
ssize_t write(int fd, const void *data, size_t bytes)
{
    SHIELDED_CALL(ssize_t, shield_up_for(fd, 0), behind_write()(fd, data, bytes));
}

GUARDED(sem_timedwait);
int sem_timedwait(sem_t *restrict semaphore, const struct timespec *restrict until)
{
    SHIELDED_CALL(int, shield_up(), behind_sem_timedwait()(semaphore, until));
}

GUARDED(sem_clockwait);
int sem_clockwait(sem_t *restrict semaphore, clockid_t clock, const struct timespec *restrict until)
{
    SHIELDED_CALL(int, shield_up(), behind_sem_clockwait()(semaphore, clock, until));
}

/* From a socket with a timeout. */
GUARDED(read);
ssize_t read(int fd, void *data, size_t bytes)
{
    SHIELDED_CALL(ssize_t, shield_up_for(fd, 0), behind_read()(fd, data, bytes));
}

GUARDED(__read_chk);
ssize_t __read_chk(int fd, void *data, size_t bytes, size_t room)
{
    SHIELDED_CALL(ssize_t, shield_up_for(fd, 0), behind___read_chk()(fd, data, bytes, room));
}

GUARDED(__recv_chk);
ssize_t __recv_chk(int fd, void *data, size_t bytes, size_t room, int flags)
{
    ssize_t result;
    SHIELDED(shield_up_for(fd, flags), result, behind___recv_chk()(fd, data, bytes, room, flags));
    if (result > 0)
        poll_found();
    return result;
}

GUARDED(__recvfrom_chk);
ssize_t __recvfrom_chk(int fd, void *data, size_t bytes, size_t room, int flags, __SOCKADDR_ARG from,
                       socklen_t *from_bytes)
{
    ssize_t result;
    SHIELDED(shield_up_for(fd, flags), result, behind___recvfrom_chk()(fd, data, bytes, room, flags, from, from_bytes));
    if (result > 0)
        poll_found();
    return result;
}

GUARDED(recvmmsg);
int recvmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags, struct timespec *timeout)
{
    SHIELDED_CALL(int, shield_up_for(fd, flags), behind_recvmmsg()(fd, messages, count, flags, timeout));
}

GUARDED(__poll_chk);
int __poll_chk(struct pollfd *fds, nfds_t count, int timeout, size_t bytes)
{
    int result;
    ASLEEP_IF(timeout != 0, shield_up(), result, behind___poll_chk()(fds, count, timeout, bytes));
    return result;
}

GUARDED(__ppoll_chk);
int __ppoll_chk(struct pollfd *fds, nfds_t count, const struct timespec *timeout, const sigset_t *mask, size_t bytes)
{
    sigset_t copy;
    int result;
    const sigset_t *during = sampler_is_on() ? shield_with(mask, &copy) : mask;
    ASLEEP_IF(!is_zero(timeout), shield_up(), result, behind___ppoll_chk()(fds, count, timeout, during, bytes));
    return result;
}

GUARDED(epoll_pwait2);
int epoll_pwait2(int epfd, struct epoll_event *events, int most, const struct timespec *timeout, const sigset_t *mask)
{
    sigset_t copy;
    int result;
    const sigset_t *during = sampler_is_on() ? shield_with(mask, &copy) : mask;
    ASLEEP_IF(!is_zero(timeout), shield_up(), result, behind_epoll_pwait2()(epfd, events, most, timeout, during));
    return result;
}

GUARDED(aio_suspend);
int aio_suspend(const struct aiocb *const list[], int count, const struct timespec *restrict timeout)
{
    SHIELDED_CALL(int, shield_up(), behind_aio_suspend()(list, count, timeout));
}

GUARDED(sendmmsg);
int sendmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags)
{
    SHIELDED_CALL(int, shield_up_for(fd, flags), behind_sendmmsg()(fd, messages, count, flags));
}

/* At -1, the place of the file itself, they are readv and writev. */
GUARDED(preadv2);
ssize_t preadv2(int fd, const struct iovec *pieces, int count, off_t offset, int flags)
{
    SHIELDED_CALL(ssize_t, shield_up_for(fd, 0), behind_preadv2()(fd, pieces, count, offset, flags));
}

GUARDED(pwritev2);
ssize_t pwritev2(int fd, const struct iovec *pieces, int count, off_t offset, int flags)
{
    SHIELDED_CALL(ssize_t, shield_up_for(fd, 0), behind_pwritev2()(fd, pieces, count, offset, flags));
}

GUARDED(preadv64v2);
ssize_t preadv64v2(int fd, const struct iovec *pieces, int count, off64_t offset, int flags)
{
    SHIELDED_CALL(ssize_t, shield_up_for(fd, 0), behind_preadv64v2()(fd, pieces, count, offset, flags));
}

GUARDED(pwritev64v2);
ssize_t pwritev64v2(int fd, const struct iovec *pieces, int count, off64_t offset, int flags)
{
    SHIELDED_CALL(ssize_t, shield_up_for(fd, 0), behind_pwritev64v2()(fd, pieces, count, offset, flags));
}

/* A transfer in pieces ends after the piece that the signal met. */
GUARDED(sendfile);
ssize_t sendfile(int to, int from, off_t *offset, size_t bytes)
{
    SHIELDED_CALL(ssize_t, shield_up(), behind_sendfile()(to, from, offset, bytes));
}

GUARDED(sendfile64);
ssize_t sendfile64(int to, int from, off64_t *offset, size_t bytes)
{
    SHIELDED_CALL(ssize_t, shield_up(), behind_sendfile64()(to, from, offset, bytes));
}

GUARDED(splice);
ssize_t splice(int from, off64_t *from_offset, int to, off64_t *to_offset, size_t bytes, unsigned flags)
{
    SHIELDED_CALL(ssize_t, shield_up(), behind_splice()(from, from_offset, to, to_offset, bytes, flags));
}

GUARDED(tee);
ssize_t tee(int from, int to, size_t bytes, unsigned flags)
{
    SHIELDED_CALL(ssize_t, shield_up(), behind_tee()(from, to, bytes, flags));
}

GUARDED(vmsplice);
ssize_t vmsplice(int fd, const struct iovec *pieces, size_t count, unsigned flags)
{
    SHIELDED_CALL(ssize_t, shield_up(), behind_vmsplice()(fd, pieces, count, flags));
}

GUARDED(copy_file_range);
ssize_t copy_file_range(int from, off64_t *from_offset, int to, off64_t *to_offset, size_t bytes, unsigned flags)
{
    SHIELDED_CALL(ssize_t, shield_up(), behind_copy_file_range()(from, from_offset, to, to_offset, bytes, flags));
}

/* Up to 256 bytes come whole, even with signals: getrandom(2). */
GUARDED(getrandom);
ssize_t getrandom(void *data, size_t bytes, unsigned flags)
{
    SHIELDED_CALL(ssize_t, bytes > 256 && shield_up(), behind_getrandom()(data, bytes, flags));
}

__attribute__((constructor)) static void others_pass(void)
{
    PASS_OTHERS(sendfile);
    PASS_OTHERS(splice);
    PASS_OTHERS(tee);
    PASS_OTHERS(vmsplice);
    PASS_OTHERS(copy_file_range);
    PASS_OTHERS(getrandom);
}
