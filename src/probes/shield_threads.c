/*
 * Threads that the program starts are sampled from their begin, also those that never call MPI. Those that MPI starts
 * inside of its own calls are not: they are no part of the program.
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
#include <stdlib.h>

BEHIND(pthread_create)
BEHIND(dlclose)

struct start {
    void *(*routine)(void *);
    void *argument;
};

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
    if (pthread_setspecific(end_key, &has_key) == 0)
        sampler_thread_begin();
    return start.routine(start.argument);
}

/* Samples may be asked for: by the environment, or they are taken already. */
static bool wanted(void)
{
    static int asked = -1;
    if (asked < 0)
        asked = getenv("MPIT_SAMPLE_HZ") != NULL;
    return asked || sampler_signal;
}

static bool inside_mpi(void)
{
    return book_thread_state && RELAXED_LOAD(&book_thread_state->call);
}

GATE(pthread_create);
int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attributes, void *(*routine)(void *),
                   void *restrict argument)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct start *start = NULL;
    if (wanted() && !inside_mpi()) {
        pthread_once(&once, key_make);
        start = has_key ? malloc(sizeof *start) : NULL;
    }
    if (!start)
        return behind_pthread_create()(thread, attributes, routine, argument);
    *start = (struct start){routine, argument};
    int error = behind_pthread_create()(thread, attributes, thread_run, start);
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
