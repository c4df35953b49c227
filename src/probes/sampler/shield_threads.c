/*
 * Threads that the program starts are sampled from their begin, also the ones that never call MPI. Threads that MPI
 * starts inside of its own calls are not sampled, because they are not part of the program.
 *
 * A signal to the process (kill, alarm) goes to the main thread if that can take it, else to any thread. While the
 * sampler's signal is pending for a thread without a processor, that thread cannot take it. The signal must not go to
 * MPI's threads then, where the program's handler has never run. So these threads begin with all signals blocked, and
 * the signal waits for the main thread.
 */
#include "sampler/behind.h"
#include "registry/book.h"
#include "gate.h"
#include "sampler/sampler.h"
#include "sampler/shield.h"
#include "unwinder/loaded.h"
#include "site/setting.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>

extern int pthread_attr_setsigmask_np(pthread_attr_t *attributes,
                                      const sigset_t *set); /* headers of older systems lack it */

struct start {
    union {
        void *(*posix)(void *);
        thrd_start_t standard;
    } routine;
    void *argument;
    bool internal;
};

THREAD_OWN(bool, thread_is_internal); /* to MPI. So are threads that it starts */

static pthread_key_t end_key;
static bool has_key;

static void shielded_thread_end(void *value)
{
    (void)value;
    if (thread_is_internal)
        __atomic_fetch_sub(&sampler_internal, 1, __ATOMIC_RELAXED);
    sampler_thread_end();
}

static void key_make(void)
{
    has_key = pthread_key_create(&end_key, shielded_thread_end) == 0;
}

static struct start thread_begin(void *value)
{
    struct start start = *(struct start *)value;
    free(value);
    thread_is_internal = start.internal;
    bool ends = pthread_setspecific(end_key, &has_key) == 0;
    if (start.internal && ends)
        __atomic_fetch_add(&sampler_internal, 1, __ATOMIC_RELAXED);
    else if (ends)
        sampler_thread_begin();
    return start;
}

static void *posix_run(void *value)
{
    struct start start = thread_begin(value);
    return start.routine.posix(start.argument);
}

static int standard_run(void *value)
{
    struct start start = thread_begin(value);
    return start.routine.standard(start.argument);
}

bool sampler_is_wanted(void)
{
    return setting("MPIT_SAMPLE_HZ") != NULL && !setting_disabled();
}

static bool wanted(void)
{
    return shield_always || __atomic_load_n(&sampler_signal, __ATOMIC_RELAXED);
}

static bool inside_mpi(void)
{
    return book_thread_state && RELAXED_LOAD(&book_thread_state->call);
}

/*
 * MPI calls the program: operations, attributes, error handlers. Threads that these start belong to the program, from
 * any library. MPI's own threads run functions of its own libraries, and of the libraries that it uses.
 */
static bool is_of_mpi(const void *routine)
{
    static const char *const names[] = {
        "libmpi.",   "libmpi_",  "libmpich",  "libopen-rte.", "libopen-pal.", "libmca_",        "mca_",
        "libpmi.",   "libpmi2.", "libpmix.",  "libprrte.",    "libevent",     "libfabric.",     "libucp.",
        "libucs.",   "libuct.",  "libucm.",   "libucc.",      "libpsm",       "libhwloc.",      "libibverbs.",
        "librdmacm", "libmlx",   "libefa.",   "libhcoll.",    "libocoms.",    "libsharp",       "libxpmem.",
        "libcxi.",   "libcuda.", "libnvidia", "libhsa-",      "libze_",       "libinfinipath.",
    };
    struct image image;
    if (!image_find((uintptr_t)routine, &image))
        return true; /* it is not known */
    const char *slash = strrchr(image.path, '/'), *name = slash ? slash + 1 : image.path;
    bool is = false;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        is |= strncmp(name, names[i], strlen(names[i])) == 0;
    return is;
}

/* Blocks all signals except the ones that a thread causes itself. */
static bool signals_block(sigset_t *old)
{
    static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};
    sigset_t all;
    sigfillset(&all);
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        sigdelset(&all, own[i]);
    return pthread_sigmask(SIG_BLOCK, &all, old) == 0;
}

/* Returns NULL if the thread begins without mpit. */
static struct start *start_make(const void *routine, void *argument)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (!wanted())
        return NULL;
    pthread_once(&once, key_make);
    struct start *start = has_key ? malloc(sizeof *start) : NULL;
    if (start)
        *start = (struct start){.argument = argument,
                                .internal = thread_is_internal || (inside_mpi() && is_of_mpi(routine))};
    return start;
}

/* `result` of the call that starts it: 0 if it runs, and has `start`. */
#define STARTED(start, result, call)                                                                                   \
    do {                                                                                                               \
        sigset_t old;                                                                                                  \
        bool blocked = (start)->internal && signals_block(&old);                                                       \
        result = (call);                                                                                               \
        if (blocked)                                                                                                   \
            pthread_sigmask(SIG_SETMASK, &old, NULL);                                                                  \
        if (result)                                                                                                    \
            free(start);                                                                                               \
    } while (0)

GUARDED(pthread_create);
int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attributes, void *(*routine)(void *),
                   void *restrict argument)
{
    int error;
    struct start *start = start_make((const void *)(uintptr_t)routine, argument);
    if (!start)
        return behind_pthread_create()(thread, attributes, routine, argument);
    start->routine.posix = routine;
    STARTED(start, error, behind_pthread_create()(thread, attributes, posix_run, start));
    return error;
}

/* The C library's own thrd_create does not call pthread_create. */
GUARDED(thrd_create);
int thrd_create(thrd_t *thread, thrd_start_t routine, void *argument)
{
    int error;
    struct start *start = start_make((const void *)(uintptr_t)routine, argument);
    if (!start)
        return behind_thrd_create()(thread, routine, argument);
    start->routine.standard = routine;
    STARTED(start, error, behind_thrd_create()(thread, standard_run, start));
    return error;
}

GUARDED(pthread_attr_setsigmask_np);
int pthread_attr_setsigmask_np(pthread_attr_t *attributes, const sigset_t *set)
{
    sigset_t copy;
    return behind_pthread_attr_setsigmask_np()(attributes, shield_without(set, &copy));
}

/* The function of another library may report success by another number. */
__attribute__((constructor)) static void others_pass(void)
{
    PASS_OTHERS(thrd_create);
}
