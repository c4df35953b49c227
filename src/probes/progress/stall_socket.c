/*
 * Sockets: if a poll has read or written through one, a message has moved on. This holds even if the poll completes
 * nothing and so returns as empty (Open MPI's btl tcp, libfabric's providers on TCP).
 */
#include "sampler/shield.h"
#include "progress/stall.h"

#include <sys/socket.h>
#include <sys/uio.h>

/* The functions of programs that were compiled with _FORTIFY_SOURCE. */
extern ssize_t __recv_chk(int fd, void *data, size_t bytes, size_t room, int flags);
extern ssize_t __recvfrom_chk(int fd, void *data, size_t bytes, size_t room, int flags, __SOCKADDR_ARG from,
                              socklen_t *from_bytes);

static inline ssize_t moved(ssize_t bytes)
{
    if (bytes > 0)
        poll_found();
    return bytes;
}

/* The sampler's signal may interrupt the ones that wait (shield.h). */
#define MOVED_FUNCTION(name, parameters, arguments, flags)                                                             \
    GUARDED_FUNCTION(ssize_t, name, parameters, moved(SHIELDED(shield_up_for(fd, flags), behind_##name() arguments)))

MOVED_FUNCTION(recv, (int fd, void *buf, size_t size, int flags), (fd, buf, size, flags), flags)
MOVED_FUNCTION(recvfrom, (int fd, void *buf, size_t size, int flags, __SOCKADDR_ARG from, socklen_t *from_size),
               (fd, buf, size, flags, from, from_size), flags)
MOVED_FUNCTION(recvmsg, (int fd, struct msghdr *message, int flags), (fd, message, flags), flags)
MOVED_FUNCTION(readv, (int fd, const struct iovec *pieces, int count), (fd, pieces, count), 0)
MOVED_FUNCTION(send, (int fd, const void *buf, size_t size, int flags), (fd, buf, size, flags), flags)
MOVED_FUNCTION(sendto, (int fd, const void *buf, size_t size, int flags, __CONST_SOCKADDR_ARG to, socklen_t to_size),
               (fd, buf, size, flags, to, to_size), flags)
MOVED_FUNCTION(sendmsg, (int fd, const struct msghdr *message, int flags), (fd, message, flags), flags)
MOVED_FUNCTION(writev, (int fd, const struct iovec *pieces, int count), (fd, pieces, count), 0)
MOVED_FUNCTION(__recv_chk, (int fd, void *data, size_t bytes, size_t room, int flags), (fd, data, bytes, room, flags),
               flags)
MOVED_FUNCTION(__recvfrom_chk,
               (int fd, void *data, size_t bytes, size_t room, int flags, __SOCKADDR_ARG from, socklen_t *from_bytes),
               (fd, data, bytes, room, flags, from, from_bytes), flags)
