/*
 * To be preloaded behind mpit: ends the process at a certain call that mpit makes of the system or of the MPI library.
 *
 *     KILLAT=CALL:N:PLACE     the N-th such call (1, 2, ...); before it, half way through it (pwritev), or after it
 */
#define _GNU_SOURCE
#include <mpi.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

enum place { NOWHERE, BEFORE, HALF, AFTER };

/* Where to end in this call of `name` that is made from `here`. */
static enum place place(const char *name, const void *here)
{
    static long seen;
    const char *wanted = getenv("KILLAT");
    size_t length = strlen(name);
    Dl_info caller;
    if (!wanted || strncmp(wanted, name, length) != 0 || wanted[length] != ':')
        return NOWHERE;
    if (!dladdr(here, &caller) || (!strstr(caller.dli_fname, "/libmpit-") && !strstr(caller.dli_fname, "mpit-collect")))
        return NOWHERE;
    char *behind;
    if (__atomic_add_fetch(&seen, 1, __ATOMIC_RELAXED) != strtol(wanted + length + 1, &behind, 10))
        return NOWHERE;
    return strcmp(behind, ":before") == 0 ? BEFORE : strcmp(behind, ":half") == 0 ? HALF : AFTER;
}

static void end_here(void)
{
    raise(SIGKILL);
}

/* result NAME(parameters), whose next definition is called with the arguments */
#define PASS(result, name, parameters, arguments)                                                                      \
    result name parameters                                                                                             \
    {                                                                                                                  \
        enum place where = place(#name, __builtin_return_address(0));                                                  \
        result(*next) parameters = (result(*) parameters)dlsym(RTLD_NEXT, #name);                                      \
        if (where == BEFORE)                                                                                           \
            end_here();                                                                                                \
        result value = next arguments;                                                                                 \
        if (where != NOWHERE)                                                                                          \
            end_here();                                                                                                \
        return value;                                                                                                  \
    }

PASS(int, posix_fallocate, (int fd, off_t offset, off_t bytes), (fd, offset, bytes))
PASS(void *, mmap, (void *at, size_t bytes, int protection, int flags, int fd, off_t offset),
     (at, bytes, protection, flags, fd, offset))
PASS(int, renameat2, (int from_folder, const char *from, int to_folder, const char *to, unsigned flags),
     (from_folder, from, to_folder, to, flags))
PASS(int, unlink, (const char *path), (path))
PASS(int, fsync, (int fd), (fd))
PASS(ssize_t, write, (int fd, const void *data, size_t bytes), (fd, data, bytes))
PASS(int, PMPI_Comm_split, (MPI_Comm comm, int color, int key, MPI_Comm *fresh), (comm, color, key, fresh))
PASS(int, PMPI_Send, (const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm),
     (data, count, type, to, tag, comm))
PASS(int, PMPI_Bcast, (void *data, int count, MPI_Datatype type, int root, MPI_Comm comm),
     (data, count, type, root, comm))

ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset)
{
    enum place where = place("pwritev", __builtin_return_address(0));
    ssize_t (*next)(int, const struct iovec *, int, off_t) =
        (ssize_t(*)(int, const struct iovec *, int, off_t))dlsym(RTLD_NEXT, "pwritev");
    if (where == BEFORE)
        end_here();
    if (where == HALF) {
        size_t bytes = 0;
        for (int i = 0; i < count; i++)
            bytes += parts[i].iov_len;
        for (int i = 0; i < count && bytes > 0; i++) { /* the first half of them all */
            size_t most = i == 0 ? bytes / 2 : bytes, part = parts[i].iov_len < most ? parts[i].iov_len : most;
            bytes = most - part;
            offset += pwrite(fd, parts[i].iov_base, part, offset);
        }
        end_here();
    }
    ssize_t value = next(fd, parts, count, offset);
    if (where == AFTER)
        end_here();
    return value;
}
