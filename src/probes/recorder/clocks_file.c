#define _GNU_SOURCE
#include "recorder/clocks_file.h"

#include "native.h"
#include "writer/run.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum task_state { TASK_NONE, TASK_RUNS, TASK_DONE, TASK_FAILED };

/* One task at a time. It belongs to the thread while that runs, then to the caller who began it. */
static struct {
    uint32_t state;     /* enum task_state. The waiting caller sleeps on it */
    uint32_t abandoned; /* 1: the caller no longer waits */
    uint32_t looked;    /* the file system has answered */
    char path[PATH_MAX], temporary[PATH_MAX], directory[PATH_MAX];
    unsigned char bytes[CLOCK_FILE_BYTES];
} task;

static void futex_wait(uint32_t *word, uint32_t value, uint64_t ns)
{
    struct timespec most = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, &most, NULL, 0);
}

static void futex_store(uint32_t *word, uint32_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static bool is_abandoned(void)
{
    return __atomic_load_n(&task.abandoned, __ATOMIC_ACQUIRE);
}

/* ---- in the thread: no memory is allocated, and no lock taken ---------------------------------------------------- */

static void *task_end(bool good)
{
    futex_store(&task.state, good ? TASK_DONE : TASK_FAILED);
    return NULL;
}

static void *publish_run(void *unused)
{
    (void)unused;
    char *slash = strrchr(task.directory, '/');
    if (slash)
        *slash = '\0';
    bool made = run_directory_make(task.directory, NULL) == 0;
    unlink(task.temporary); /* of a process that had this number and was killed */
    int fd = !made ? -1 : open(task.temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    bool good = fd >= 0 && write(fd, task.bytes, sizeof task.bytes) == (ssize_t)sizeof task.bytes;
    if (fd >= 0 && close(fd) != 0)
        good = false;
    good = good && rename(task.temporary, task.path) == 0;
    if (!good && fd >= 0)
        unlink(task.temporary);
    if (good && is_abandoned())
        unlink(task.path);
    return task_end(good);
}

/* Reads the file if it is this user's and has the right size. */
static bool reports_read(void)
{
    struct stat st;
    int fd = open(task.path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool good = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
                st.st_size == (off_t)sizeof task.bytes &&
                read(fd, task.bytes, sizeof task.bytes) == (ssize_t)sizeof task.bytes;
    close(fd);
    return good;
}

static void *find_run(void *unused)
{
    (void)unused;
    bool found = false;
    for (uint64_t nap_ns = 1000000; !found && !is_abandoned(); nap_ns += nap_ns / 2) {
        found = reports_read();
        __atomic_store_n(&task.looked, 1, __ATOMIC_RELEASE);
        if (!found)
            futex_wait(&task.abandoned, 0, nap_ns);
    }
    return task_end(found);
}

static void *remove_run(void *unused)
{
    (void)unused;
    return task_end(unlink(task.path) == 0);
}

/* ---- in the caller's thread -------------------------------------------------------------------------------------- */

/* The thread runs without the program's signals. Its stack is small, if that has room for the program's thread-local
 * data. */
static bool thread_make(void *(*run)(void *))
{
    __typeof__(&pthread_create) create = (__typeof__(&pthread_create))native_symbol("pthread_create");
    pthread_t thread;
    pthread_attr_t attributes;
    sigset_t all, old;
    if (!create || pthread_attr_init(&attributes) != 0)
        return false;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, 256 * 1024);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int error = create(&thread, &attributes, run, NULL);
    if (error == EINVAL) {
        pthread_attr_destroy(&attributes);
        pthread_attr_init(&attributes);
        pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
        error = create(&thread, &attributes, run, NULL);
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attributes);
    return error == 0;
}

/* False: another task is stuck. */
static bool task_prepare(const char *path)
{
    if (__atomic_load_n(&task.state, __ATOMIC_ACQUIRE) == TASK_RUNS || strlen(path) >= sizeof task.path)
        return false;
    strcpy(task.path, path);
    task.abandoned = task.looked = 0;
    return true;
}

static bool task_begin(void *(*run)(void *))
{
    __atomic_store_n(&task.state, TASK_RUNS, __ATOMIC_RELEASE);
    if (thread_make(run))
        return true;
    task.state = TASK_NONE;
    return false;
}

/* False: it has failed, or goes on without a waiting caller. */
static bool task_wait(const struct clock_timer *timer)
{
    uint64_t left;
    while (__atomic_load_n(&task.state, __ATOMIC_ACQUIRE) == TASK_RUNS && (left = clock_timer_ns(timer)) > 0)
        futex_wait(&task.state, TASK_RUNS, left);
    uint32_t state = __atomic_load_n(&task.state, __ATOMIC_ACQUIRE);
    if (state == TASK_RUNS)
        futex_store(&task.abandoned, 1);
    return state == TASK_DONE;
}

bool clocks_file_publish(const char *path, const struct clock_server *server)
{
    int bytes = task_prepare(path) ? snprintf(task.temporary, sizeof task.temporary, "%s.part", path) : -1;
    if (bytes < 0 || (size_t)bytes >= sizeof task.temporary)
        return false;
    strcpy(task.directory, path);
    clock_file_pack(server, task.bytes);
    return task_begin(publish_run);
}

bool clocks_file_published(const struct clock_timer *timer)
{
    return task_wait(timer);
}

enum clocks_file_found clocks_file_find(const char *path, struct clock_server *server, const struct clock_timer *timer)
{
    if (!task_prepare(path))
        return CLOCKS_FILE_STUCK;
    if (!task_begin(find_run))
        return CLOCKS_FILE_NO_THREAD;
    if (task_wait(timer))
        return clock_file_unpack(server, task.bytes) ? CLOCKS_FILE_FOUND : CLOCKS_FILE_MISSING;
    return __atomic_load_n(&task.looked, __ATOMIC_ACQUIRE) ? CLOCKS_FILE_MISSING : CLOCKS_FILE_STUCK;
}

void clocks_file_remove(const char *path, const struct clock_timer *timer)
{
    if (task_prepare(path) && task_begin(remove_run))
        task_wait(timer);
}
