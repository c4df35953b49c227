/*
 * A library to preload. Of the calls that a recorder (libmpit-*.so) makes to functions of the C library that may fail, call
 * number NTHFAULT fails. Other callers are not touched. The functions that it called, in this order, go to the file
 * NTHFAULT_LOG when the process ends.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

static uintptr_t low, high;
enum { CALLS_MOST = 4096 };
static long wanted, calls;
static const char *called[CALLS_MOST];
static pid_t process;
static __thread bool looking;

/* The recorder is one piece, from its first to its last segment. */
static int recorder_is(struct dl_phdr_info *info, size_t bytes, void *unused)
{
    const char *slash = strrchr(info->dlpi_name, '/');
    (void)bytes, (void)unused;
    if (!slash || strncmp(slash, "/libmpit-", 9) != 0 || strstr(slash, "sampler"))
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD) {
            uintptr_t begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
            low = low && low < begin ? low : begin;
            high = begin + info->dlpi_phdr[i].p_memsz;
        }
    return 1;
}

static bool fails(const char *name, const void *caller)
{
    uintptr_t from = (uintptr_t)caller;
    if (!high && !looking) {
        looking = true;
        dl_iterate_phdr(recorder_is, NULL);
        looking = false;
    }
    if (!high || from < low || from >= high)
        return false;
    long number = __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
    if (number <= CALLS_MOST)
        called[number - 1] = name;
    return number == wanted;
}

__attribute__((constructor)) static void begin(void)
{
    const char *number = getenv("NTHFAULT");
    wanted = number ? atol(number) : 0;
    process = getpid();
}

__attribute__((destructor)) static void end(void)
{
    const char *path = getenv("NTHFAULT_LOG");
    int fd =
        path && high && getpid() == process ? (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT, 0600) : -1;
    for (long i = 0; fd >= 0 && i < calls && i < CALLS_MOST; i++) {
        char text[64];
        int n = snprintf(text, sizeof text, "%s\n", called[i] ? called[i] : "?");
        (void)!syscall(SYS_write, fd, text, (size_t)n);
    }
}

#define CALLER __builtin_return_address(0)
/* A function that fails with `bad`, and sets errno to `error`. */
#define FAULT(type, name, bad, error, parameters, arguments)                                                           \
    type name parameters                                                                                               \
    {                                                                                                                  \
        static type(*next) parameters;                                                                                 \
        if (fails(#name, CALLER)) {                                                                                    \
            errno = error;                                                                                             \
            return bad;                                                                                                \
        }                                                                                                              \
        if (!next)                                                                                                     \
            *(void **)&next = dlsym(RTLD_NEXT, #name);                                                                 \
        return next arguments;                                                                                         \
    }

/* The C library's own, as dlsym may need memory itself. */
extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *memory, size_t bytes);

void *malloc(size_t bytes)
{
    return fails("malloc", CALLER) ? (errno = ENOMEM, NULL) : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    return fails("calloc", CALLER) ? (errno = ENOMEM, NULL) : __libc_calloc(count, bytes);
}

void *realloc(void *memory, size_t bytes)
{
    return fails("realloc", CALLER) ? (errno = ENOMEM, NULL) : __libc_realloc(memory, bytes);
}

void *mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    if (fails("mmap", CALLER)) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return (void *)syscall(SYS_mmap, at, bytes, protection, flags, fd, offset);
}

int open(const char *path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    int mode = va_arg(more, int);
    va_end(more);
    return fails("open", CALLER) ? (errno = EMFILE, -1) : (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int openat(int directory, const char *path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    int mode = va_arg(more, int);
    va_end(more);
    return fails("openat", CALLER) ? (errno = EMFILE, -1) : (int)syscall(SYS_openat, directory, path, flags, mode);
}

int clone(int (*function)(void *), void *stack, int flags, void *argument, ...)
{
    static int (*next)(int (*)(void *), void *, int, void *, ...);
    if (fails("clone", CALLER)) {
        errno = EAGAIN;
        return -1;
    }
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "clone");
    return next(function, stack, flags, argument);
}

FAULT(void *, aligned_alloc, NULL, ENOMEM, (size_t align, size_t bytes), (align, bytes))
FAULT(void *, reallocarray, NULL, ENOMEM, (void *memory, size_t count, size_t bytes), (memory, count, bytes))
FAULT(char *, strdup, NULL, ENOMEM, (const char *text), (text))
FAULT(char *, strndup, NULL, ENOMEM, (const char *text, size_t bytes), (text, bytes))
FAULT(int, munmap, -1, ENOMEM, (void *at, size_t bytes), (at, bytes))
FAULT(int, madvise, -1, ENOMEM, (void *at, size_t bytes, int advice), (at, bytes, advice))
FAULT(int, memfd_create, -1, ENFILE, (const char *name, unsigned flags), (name, flags))
FAULT(ssize_t, read, -1, EIO, (int fd, void *data, size_t bytes), (fd, data, bytes))
FAULT(ssize_t, pread, -1, EIO, (int fd, void *data, size_t bytes, off_t at), (fd, data, bytes, at))
FAULT(ssize_t, write, -1, ENOSPC, (int fd, const void *data, size_t bytes), (fd, data, bytes))
FAULT(ssize_t, pwritev, -1, ENOSPC, (int fd, const struct iovec *parts, int count, off_t at), (fd, parts, count, at))
FAULT(int, ftruncate, -1, ENOSPC, (int fd, off_t bytes), (fd, bytes))
FAULT(int, posix_fallocate, ENOSPC, 0, (int fd, off_t at, off_t bytes), (fd, at, bytes))
FAULT(int, fstat, -1, EIO, (int fd, struct stat *st), (fd, st))
FAULT(int, stat, -1, EIO, (const char *path, struct stat *st), (path, st))
FAULT(int, lstat, -1, EIO, (const char *path, struct stat *st), (path, st))
FAULT(int, fstatat, -1, EIO, (int fd, const char *path, struct stat *st, int flags), (fd, path, st, flags))
FAULT(int, statfs, -1, EIO, (const char *path, struct statfs *files), (path, files))
FAULT(int, fstatfs, -1, EIO, (int fd, struct statfs *files), (fd, files))
FAULT(int, access, -1, EIO, (const char *path, int mode), (path, mode))
FAULT(int, mkdir, -1, ENOSPC, (const char *path, mode_t mode), (path, mode))
FAULT(int, symlink, -1, ENOSPC, (const char *target, const char *path), (target, path))
FAULT(ssize_t, readlink, -1, EIO, (const char *path, char *text, size_t bytes), (path, text, bytes))
FAULT(ssize_t, readlinkat, -1, EIO, (int fd, const char *path, char *text, size_t bytes), (fd, path, text, bytes))
FAULT(int, unlink, -1, EIO, (const char *path), (path))
FAULT(int, rename, -1, EIO, (const char *from, const char *to), (from, to))
FAULT(DIR *, opendir, NULL, EMFILE, (const char *path), (path))
FAULT(struct dirent *, readdir, NULL, EIO, (DIR * directory), (directory))
FAULT(int, pipe2, -1, EMFILE, (int ends[2], int flags), (ends, flags))
FAULT(int, flock, -1, ENOLCK, (int fd, int operation), (fd, operation))
FAULT(off_t, lseek, -1, EINVAL, (int fd, off_t at, int whence), (fd, at, whence))
FAULT(char *, getcwd, NULL, ENOENT, (char *path, size_t bytes), (path, bytes))
FAULT(int, gethostname, -1, EFAULT, (char *name, size_t bytes), (name, bytes))
FAULT(int, pthread_key_create, EAGAIN, 0, (pthread_key_t * key, void (*end_)(void *)), (key, end_))
FAULT(int, pthread_getattr_np, ENOMEM, 0, (pthread_t thread, pthread_attr_t *attributes), (thread, attributes))
FAULT(void *, dlopen, NULL, 0, (const char *path, int flags), (path, flags))
FAULT(int, socket, -1, EMFILE, (int domain, int type, int protocol), (domain, type, protocol))
