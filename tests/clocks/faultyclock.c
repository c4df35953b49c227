/*
 * Makes the processes of a job on this machine look to mpit as if each were on a node of its own, with a clock of its
 * own. A library to preload before mpit's: it stands between that one and the C library, and no code of mpit's knows.
 *
 *   FAULT_BEGIN_NS   when, on the true CLOCK_MONOTONIC, all clocks showed the truth but for their offsets
 *   FAULT_NODES      the ranks go round these: "OFFSET_NS:DRIFT_PPM[:WOBBLE_NS],..."
 *
 *   FAULT_STOP       "RANK:listen" or "RANK:accept": the process stops for 4 s where mpit does that the first time
 *
 * A node's clock shows t + OFFSET + (t - BEGIN) * DRIFT + WOBBLE * sin(2 pi (t - BEGIN) / 2 s). Only what mpit asks for
 * is changed: the program, MPI and the C library live in the true time.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "fault.h"

static struct fault fault;
static struct {
    uintptr_t begin, end;
} mpit;
static int ready;
static char local_size[16], local_rank[16];

static int library_find(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size, (void)data;
    const char *name = strrchr(info->dlpi_name, '/');
    if (!name || strncmp(name, "/libmpit-", 9) != 0)
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type == PT_LOAD && part->p_flags & PF_X) {
            mpit.begin = info->dlpi_addr + part->p_vaddr;
            mpit.end = mpit.begin + part->p_memsz;
        }
    }
    return 0;
}

static const char *variable(const char *name)
{
    static char *(*real)(const char *);
    if (!real)
        real = (char *(*)(const char *))dlsym(RTLD_NEXT, "getenv");
    return real(name);
}

/* What the launcher says of the processes on the node. */
static void neighbours_count(int rank, int size)
{
    int all = 0, before = 0;
    for (int other = 0; other < size; other++) {
        all += other % fault.nodes == fault.node;
        before += other < rank && other % fault.nodes == fault.node;
    }
    snprintf(local_size, sizeof local_size, "%d", all);
    snprintf(local_rank, sizeof local_rank, "%d", before);
}

static int is_mpit(const void *caller)
{
    if (!ready) {
        const char *rank = variable("OMPI_COMM_WORLD_RANK"), *size = variable("OMPI_COMM_WORLD_SIZE");
        rank = rank ? rank : variable("PMI_RANK");
        size = size ? size : variable("PMI_SIZE");
        ready = rank && size && fault_read(&fault, atoi(rank)) == 0 ? 1 : -1;
        if (ready > 0)
            neighbours_count(atoi(rank), atoi(size));
    }
    if (ready > 0 && !mpit.begin) /* it is loaded when MPI is there */
        dl_iterate_phdr(library_find, NULL);
    return ready > 0 && (uintptr_t)caller >= mpit.begin && (uintptr_t)caller < mpit.end;
}

int clock_gettime(clockid_t id, struct timespec *time)
{
    static int (*real)(clockid_t, struct timespec *);
    if (!real)
        real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(id, time);
    if (result != 0 || !is_mpit(__builtin_return_address(0)))
        return result;
    struct timespec monotonic;
    real(CLOCK_MONOTONIC, &monotonic);
    int64_t ns = (int64_t)time->tv_sec * 1000000000 + time->tv_nsec;
    ns += fault_ns(&fault, (int64_t)monotonic.tv_sec * 1000000000 + monotonic.tv_nsec);
    time->tv_sec = ns / 1000000000;
    time->tv_nsec = ns % 1000000000;
    return 0;
}

/* The launcher's words for a job on several nodes. */
char *getenv(const char *name)
{
    static const char *const sizes[] = {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"};
    static const char *const ranks[] = {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID"};
    const char *value = variable(name);
    for (int i = 0; value && i < 2; i++) {
        if (strcmp(name, sizes[i]) == 0 && is_mpit(__builtin_return_address(0)))
            return local_size;
        if (strcmp(name, ranks[i]) == 0 && is_mpit(__builtin_return_address(0)))
            return local_rank;
    }
    return (char *)value;
}

/* No counter that the kernel trusts, and a kernel of its own. */
int open(const char *path, int flags, ...)
{
    static int (*real)(const char *, int, ...);
    va_list list;
    va_start(list, flags);
    mode_t mode = flags & O_CREAT ? va_arg(list, mode_t) : 0;
    va_end(list);
    if (!real)
        real = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open");
    if (is_mpit(__builtin_return_address(0))) {
        if (strstr(path, "/current_clocksource"))
            return real("/dev/null", flags);
        if (strcmp(path, "/proc/sys/kernel/random/boot_id") == 0) {
            char text[40];
            int fd = memfd_create("boot_id", MFD_CLOEXEC), n = snprintf(text, sizeof text, "node-%d\n", fault.node);
            if (fd >= 0 && (write(fd, text, (size_t)n) != n || lseek(fd, 0, SEEK_SET) != 0))
                return -1;
            return fd;
        }
    }
    return real(path, flags, mode);
}

static void stop_at(const char *place)
{
    static int stopped;
    const char *wanted = variable("FAULT_STOP"), *rank = variable("OMPI_COMM_WORLD_RANK");
    char here[64];
    snprintf(here, sizeof here, "%s:%s", rank ? rank : variable("PMI_RANK"), place);
    if (stopped || !wanted || strcmp(wanted, here) != 0)
        return;
    stopped = 1;
    pid_t process = getpid(), waker = fork();
    if (waker == 0) {
        sleep(4);
        kill(process, SIGCONT);
        _exit(0);
    }
    if (waker > 0)
        raise(SIGSTOP);
}

int listen(int fd, int backlog)
{
    static int (*real)(int, int);
    if (!real)
        real = (int (*)(int, int))dlsym(RTLD_NEXT, "listen");
    if (is_mpit(__builtin_return_address(0)))
        stop_at("listen");
    return real(fd, backlog);
}

int accept4(int fd, struct sockaddr *address, socklen_t *bytes, int flags)
{
    static int (*real)(int, struct sockaddr *, socklen_t *, int);
    if (!real)
        real = (int (*)(int, struct sockaddr *, socklen_t *, int))dlsym(RTLD_NEXT, "accept4");
    if (is_mpit(__builtin_return_address(0)))
        stop_at("accept");
    return real(fd, address, bytes, flags);
}
