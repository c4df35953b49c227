/*
 * Threads that the program starts are sampled from their begin, also those that never call MPI. Those that MPI starts
 * inside of its own calls are not: they are no part of the program. A signal to the process (kill, alarm) goes to the
 * main thread if that can take it, and else to any; and a thread for which the sampler's signal is pending while it has
 * no processor is one that cannot. So that it does not come to MPI's threads then, where the program's handler has
 * never been, these begin with all signals blocked, which waits for the main thread.
 *
 * And objects that go from where they were: what the unwinder knows of that place does not hold any more.
 */
#define _GNU_SOURCE
#include "behind.h"
#include "book.h"
#include "gate.h"
#include "sampler.h"
#include "unwinder.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

BEHIND(pthread_create)
BEHIND(dlclose)

struct start {
    void *(*routine)(void *);
    void *argument;
    bool internal;
};

static __thread bool internal __attribute__((tls_model("initial-exec"))); /* to MPI, and so are those that it starts */

static pthread_key_t end_key;
static bool has_key;

static void thread_end(void *value)
{
    (void)value;
    sampler_thread_end();
}

static void key_make(void)
{
    has_key = pthread_key_create(&end_key, thread_end) == 0;
}

static void *thread_run(void *value)
{
    struct start start = *(struct start *)value;
    free(value);
    internal = start.internal;
    if (!internal && pthread_setspecific(end_key, &has_key) == 0)
        sampler_thread_begin();
    return start.routine(start.argument);
}

bool sampler_is_wanted(void)
{
    return getenv("MPIT_SAMPLE_HZ") != NULL && !getenv("MPIT_DISABLE");
}

static bool wanted(void)
{
    return shield_always || __atomic_load_n(&sampler_signal, __ATOMIC_RELAXED);
}

static bool inside_mpi(void)
{
    return book_thread_state && RELAXED_LOAD(&book_thread_state->call);
}

/* All but those that a thread brings upon itself. */
static bool signals_block(sigset_t *old)
{
    static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};
    sigset_t all;
    sigfillset(&all);
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        sigdelset(&all, own[i]);
    return pthread_sigmask(SIG_BLOCK, &all, old) == 0;
}

GATE(pthread_create);
int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attributes, void *(*routine)(void *),
                   void *restrict argument)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct start *start = NULL;
    if (wanted()) {
        pthread_once(&once, key_make);
        start = has_key ? malloc(sizeof *start) : NULL;
    }
    if (!start)
        return behind_pthread_create()(thread, attributes, routine, argument);
    *start = (struct start){routine, argument, internal || inside_mpi()};
    sigset_t old;
    bool blocked = start->internal && signals_block(&old);
    int error = behind_pthread_create()(thread, attributes, thread_run, start);
    if (blocked)
        pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (error)
        free(start);
    return error;
}

GATE(dlclose);
int dlclose(void *handle)
{
    int result = behind_dlclose()(handle);
    unwind_forget_all();
    return result;
}
