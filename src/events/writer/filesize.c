#include "writer/filesize.h"

#include "base/cancel.h"
#include "writer/room.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { KERNEL_MASK_BYTES = (_NSIG - 1) / 8 };

struct quiet {
    bool held, pending; /* before */
    int cancel;
};

/* Uses the kernel's own calls, since the recorder's functions are in front of the library's. */
static void mask_change(int how, const sigset_t *set, sigset_t *before)
{
    syscall(SYS_rt_sigprocmask, how, set, before, KERNEL_MASK_BYTES);
}

static void set_make(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGXFSZ);
}

static bool is_pending(void)
{
    sigset_t pending;
    sigemptyset(&pending);
    return syscall(SYS_rt_sigpending, &pending, KERNEL_MASK_BYTES) == 0 && sigismember(&pending, SIGXFSZ) == 1;
}

static struct quiet quiet_begin(void)
{
    struct quiet quiet;
    sigset_t set, before;
    quiet.cancel = cancel_hold();
    set_make(&set);
    sigemptyset(&before);
    mask_change(SIG_BLOCK, &set, &before);
    quiet.held = sigismember(&before, SIGXFSZ) == 1;
    quiet.pending = quiet.held && is_pending(); /* else it would have been delivered */
    return quiet;
}

/* The kernel sent SIGXFSZ to this thread. This function removes it. If the thread had one pending before, the two
 * are one signal, and it is sent again. A signal that is pending for the whole process stays. */
static void file_signal_take(const struct quiet *quiet)
{
    siginfo_t info;
    sigset_t set;
    set_make(&set);
    struct timespec none = {0, 0};
    if (syscall(SYS_rt_sigtimedwait, &set, &info, &none, KERNEL_MASK_BYTES) == SIGXFSZ && quiet->pending &&
        !is_pending())
        syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), SIGXFSZ, &info);
}

static void quiet_end(const struct quiet *quiet, int error)
{
    int before = errno;
    if (error == EFBIG)
        file_signal_take(quiet);
    if (!quiet->held) { /* a handler may have changed the others */
        sigset_t set;
        set_make(&set);
        mask_change(SIG_UNBLOCK, &set, NULL);
    }
    cancel_release(quiet->cancel);
    errno = before;
}

bool filesize_permits(uint64_t bytes)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || bytes <= limit.rlim_cur;
}

int filesize_allocate(int fd, uint64_t begin, uint64_t bytes)
{
    enum { PIECE = 1 << 20 }; /* a signal interrupts a call, which begins again. A short one gets finished */
    if (begin + bytes > ROOM_FIRST_BYTES && room_of_files(fd, NULL) < bytes)
        return ENOSPC;
    struct quiet quiet = quiet_begin();
    int error = 0;
    for (uint64_t done = 0; done < bytes && error == 0;) {
        uint64_t piece = bytes - done < PIECE ? bytes - done : PIECE;
        error = posix_fallocate(fd, (off_t)(begin + done), (off_t)piece);
        done += error ? 0 : piece;
        error = error == EINTR ? 0 : error;
    }
    quiet_end(&quiet, error);
    return error;
}

int filesize_set(int fd, uint64_t bytes)
{
    struct quiet quiet = quiet_begin();
    int error = ftruncate(fd, (off_t)bytes) == 0 ? 0 : errno;
    quiet_end(&quiet, error);
    return error;
}

static struct filesize_writes all;

struct filesize_writes filesize_written(void)
{
    return (struct filesize_writes){__atomic_load_n(&all.bytes, __ATOMIC_RELAXED),
                                    __atomic_load_n(&all.calls, __ATOMIC_RELAXED)};
}

ssize_t filesize_write(int fd, const struct iovec *parts, int count, uint64_t offset)
{
    struct quiet quiet = quiet_begin();
    ssize_t written = pwritev(fd, parts, count, (off_t)offset);
    __atomic_fetch_add(&all.bytes, written > 0 ? (uint64_t)written : 0, __ATOMIC_RELAXED);
    __atomic_fetch_add(&all.calls, 1, __ATOMIC_RELAXED);
    quiet_end(&quiet, written < 0 ? errno : 0);
    return written;
}
