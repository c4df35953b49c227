/*
 * Sockets: if a poll has read or written through one, a message has moved on. This holds even if the poll completes
 * nothing and so returns as empty (Open MPI's btl tcp, libfabric's providers on TCP).
 */
#include "sampler/behind.h"
#include "gate.h"
#include "sampler/shield.h"
#include "progress/stall.h"

#include <sys/socket.h>
#include <sys/uio.h>

static inline ssize_t moved(ssize_t bytes)
{
    if (bytes > 0)
        poll_found();
    return bytes;
}

/* The sampler's signal may interrupt the ones that wait (shield.h). */
#define MOVED(fd, flags, call)                                                                                         \
    do {                                                                                                               \
        ssize_t result;                                                                                                \
        SHIELDED(shield_up_for(fd, flags), result, call);                                                              \
        return moved(result);                                                                                          \
    } while (0)

GUARDED(recv);
ssize_t recv(int fd, void *buf, size_t size, int flags)
{
    MOVED(fd, flags, behind_recv()(fd, buf, size, flags));
}

GUARDED(recvfrom);
ssize_t recvfrom(int fd, void *buf, size_t size, int flags, __SOCKADDR_ARG from, socklen_t *from_size)
{
    MOVED(fd, flags, behind_recvfrom()(fd, buf, size, flags, from, from_size));
}

GUARDED(recvmsg);
ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
    MOVED(fd, flags, behind_recvmsg()(fd, message, flags));
}

GUARDED(readv);
ssize_t readv(int fd, const struct iovec *pieces, int count)
{
    MOVED(fd, 0, behind_readv()(fd, pieces, count));
}

GUARDED(send);
ssize_t send(int fd, const void *buf, size_t size, int flags)
{
    MOVED(fd, flags, behind_send()(fd, buf, size, flags));
}

GUARDED(sendto);
ssize_t sendto(int fd, const void *buf, size_t size, int flags, __CONST_SOCKADDR_ARG to, socklen_t to_size)
{
    MOVED(fd, flags, behind_sendto()(fd, buf, size, flags, to, to_size));
}

GUARDED(sendmsg);
ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    MOVED(fd, flags, behind_sendmsg()(fd, message, flags));
}

GUARDED(writev);
ssize_t writev(int fd, const struct iovec *pieces, int count)
{
    MOVED(fd, 0, behind_writev()(fd, pieces, count));
}
